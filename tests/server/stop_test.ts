/** How a server stops, and what it says of its health. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { connect } from "node:http2";
import { ReplayError } from "@exrp/replay";
import { ReverbClient, ReverbError } from "@exrp/replay/reverb";
import { serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { smallChunk, smallItem } from "../reverb/_grpc.ts";
import { insert, sample, served } from "./_served.ts";
import { inTime, pause, until } from "../_wait.ts";

/** Calls gRPC's health service. `statuses` gathers what it says; `done` settles with the status of the call. */
function health(
  port: number,
  method: "Check" | "Watch",
  service: string,
): { statuses: (number | undefined)[]; done: Promise<number> } {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": `/grpc.health.v1.Health/${method}`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  const name = new TextEncoder().encode(service);
  const message = name.length > 0 ? [10, name.length, ...name] : [];
  stream.end(Uint8Array.from([0, 0, 0, 0, message.length, ...message]));
  const statuses: (number | undefined)[] = [];
  let rest: number[] = [];
  stream.on("data", (part: Uint8Array) => {
    rest.push(...part);
    while (rest.length >= 5 && rest.length >= 5 + (rest[4] ?? 0)) {
      statuses.push(rest[4] === 0 ? 0 : rest[6]);
      rest = rest.slice(5 + (rest[4] ?? 0));
    }
  });
  const done = new Promise<number>((resolve) => {
    const read = (headers: Record<string, unknown>): void => {
      if (headers["grpc-status"] !== undefined) resolve(Number(headers["grpc-status"]));
    };
    stream.on("response", read);
    stream.on("trailers", read);
    stream.on("error", () => resolve(-1));
  }).finally(() => session.close());
  return { statuses, done };
}

const reverb = "deepmind.reverb.ReverbService";

Deno.test("the health check says SERVING for the server and its service, and NOT_FOUND for others", async () => {
  await using site = await served();
  for (const service of ["", reverb]) {
    const { statuses, done } = health(site.server.port, "Check", service);
    assertEquals([await done, statuses], [0, [1]]);
  }
  assertEquals(await health(site.server.port, "Check", "nobody").done, 5);
  const watch = health(site.server.port, "Watch", "nobody");
  await until("it is answered", () => watch.statuses.length > 0);
  assertEquals(watch.statuses, [3]);
});

Deno.test("whoever watches its health hears that a server stops", async () => {
  await using site = await served();
  const { statuses, done } = health(site.server.port, "Watch", reverb);
  await until("it is answered", () => statuses.length > 0);
  await site.server.stop();
  assertEquals([await done, statuses], [0, [1, 2]]);
});

Deno.test("a server that stops has in its tables whatever it confirmed, and tells clients to try elsewhere", async () => {
  await using site = await served();
  const { server } = site;
  const confirmed = new Set<bigint>();
  const clients = Array.from({ length: 4 }, () => site.connect());
  let isStopped = false;
  const endings = clients.map(async (client, k) => {
    const call = client.open("InsertStream");
    const reading = (async () => {
      for (let message; (message = await call.receive());) {
        for (const key of message["keys"]) confirmed.add(key);
      }
    })();
    for (let n = 0; !isStopped && n < 100_000; n++) {
      const key = BigInt(k * 1_000_000 + n + 1);
      call.send({ chunks: [smallChunk(key)], items: [smallItem(key, "u", 1, key)] });
      if (n % 20 === 0) await pause(1);
    }
    const { code } = await call.ending;
    await reading;
    return code;
  });
  const waiting = site.connection.open("SampleStream");
  waiting.send({ table: "q", num_samples: 1n });
  await until("some are confirmed", () => confirmed.size > 500);
  const stopping = server.stop();
  isStopped = true;
  await stopping;
  assertEquals((await waiting.ending).code, 14);
  for (const code of await Promise.all(endings)) assert(code === 14 || code === -1, `${code}`);
  const table = server.figures().tables.find(({ name }) => name === "u");
  assert(confirmed.size > 500);
  assert((table?.inserts ?? 0) >= confirmed.size, `${table?.inserts} of ${confirmed.size}`);
  await assertRejects(() => fetch(`http://${server.address}/healthz`));
});

Deno.test("a stop lets a client finish the inserts that it has begun", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  for (let key = 1n; key <= 4n; key++) {
    call.send({ chunks: [smallChunk(key)], items: [smallItem(key, "q", 1, key)] });
  }
  const keys: bigint[] = [];
  while (keys.length < 3) keys.push(...(await call.receive())?.["keys"] ?? []);
  // The fourth waits for the rate limiter, so the stop waits for it, and no longer than it may.
  const start = performance.now();
  await site.server.stop({ graceMs: 300 });
  const took = performance.now() - start;
  assert(took >= 290, `${took} ms`);
  assertEquals((await call.ending).code, 14);
});

Deno.test("a stop of a server that nobody calls waits for nothing, and a second stop is the same", async () => {
  await using site = await served();
  await insert(site.connection, "u", 1n);
  assertEquals((await sample(site.connection, "u", 1)).length, 1);
  const never = { graceMs: 2 ** 30 };
  await inTime("the server stops", Promise.all([site.server.stop(never), site.server.stop(never)]));
});

Deno.test("a server whose tables are disposed before it says so to each client, and in one line of its log", async () => {
  const errors: unknown[] = [];
  const tables = await Tables.create({ tables: { t: { maxSize: 9 } } });
  await using server = await serve({ tables, onError: (error) => errors.push(error) });
  await using client = await ReverbClient.connect(server.address);
  const writer = client.writer({ maxSequenceLength: 1 });
  writer.append([1]);
  await writer.createItem("t", 1, 1);
  await writer.flush();
  tables[Symbol.dispose]();
  const words = "the server's tables are disposed; a program must stop its server before";
  for (
    const call of [
      () => ReverbClient.connect(server.address),
      () => client.getBatch("t", 1),
      () => client.insert(1, { t: 1 }),
      () => client.clear("t"),
    ]
  ) {
    const error = await assertRejects(call, ReverbError, words);
    assertEquals(error.code, "failed-precondition");
  }
  // A stream that was open before has ended.
  const error = await assertRejects(
    () => writer.createItem("t", 1, 1),
    ReverbError,
    "the tables are disposed",
  );
  assertEquals(error.code, "failed-precondition");
  await assertRejects(() => writer.close(), ReverbError, "the tables are disposed");
  for (const path of ["", "metrics", "healthz"]) {
    const answer = await fetch(`http://${server.address}/${path}`);
    assertEquals([answer.status, (await answer.text()).includes(words)], [503, true]);
  }
  assertEquals(errors.map((one) => one instanceof ReplayError && one.code), ["disposed"]);
});
