/** Rate limiters that clients change while the server runs. */
import { assert, assertEquals, assertRejects, assertStrictEquals } from "../_assert.ts";
import http2 from "node:http2";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { minSize, queue, samplesPerInsert } from "../../mod.ts";
import type { RateLimiter } from "../../types.ts";
import { Channel } from "../../reverb/channel.ts";
import { Limiters, SetLimiterRequestSchema } from "../../reverb/messages/limiter_pb.ts";
import { ReverbClient, ReverbError } from "../../reverb/mod.ts";
import { kernelTablesOf } from "../../tables/tables.ts";
import { Tables } from "../../tables/mod.ts";
import { serve } from "../../server/mod.ts";
import { besideReverb, plainTable, startReal } from "../reverb/_real.ts";
import { insert, sample, served } from "./_served.ts";
import { until } from "../_wait.ts";

const tables = {
  slow: { maxSize: 100, rateLimiter: { minSize: 50 }, sampler: "fifo" },
  line: { maxSize: 100, rateLimiter: { queue: 2 }, sampler: "fifo", maxTimesSampled: 1 },
};

const onlyOurs =
  "setRateLimiter(): the server can't change a rate limiter while it runs; only a server of @exrp/replay can (SetLimiter at 127.0.0.1:";

async function failure(call: () => Promise<unknown>): Promise<ReverbError> {
  return await assertRejects(call, ReverbError);
}

Deno.test("samplers that wait go on at once when a client gives the table another rate limiter", async () => {
  await using site = await served(tables);
  await using client = await ReverbClient.connect(site.server.address);
  await insert(site.connection, "slow", 1n);
  const [first, second] = [client.getBatch("slow", 3), sample(site.connect(), "slow", 2)];
  const figures = () => site.server.figures().tables.find(({ name }) => name === "slow");
  await until("both wait", () => figures()?.samplersWaiting === 2);
  await client.setRateLimiter("slow", minSize(1));
  assertEquals([(await first).size, (await second).length], [3, 2]);
  assertEquals(figures()?.rateLimiter.minSize, 1);
  const { slow } = await client.serverInfo();
  assertEquals([slow?.rateLimiter.minSize, slow?.rateLimiter.inserts, slow?.rateLimiter.samples], [
    1,
    1,
    5,
  ]);
});

Deno.test("inserts that wait go on as far as the new rate limiter lets them, in order", async () => {
  await using site = await served(tables);
  await using client = await ReverbClient.connect(site.server.address);
  const inserts = Promise.all(
    Array.from({ length: 6 }, (_, k) => client.insert([k], { line: 1 })),
  );
  const figures = () => site.server.figures().tables.find(({ name }) => name === "line");
  await until("four wait", () => figures()?.insertsWaiting === 4);
  await client.setRateLimiter("line", queue(4));
  assertEquals([figures()?.size, figures()?.insertsWaiting], [4, 2]);
  const open = samplesPerInsert(1, { minSize: 1, error: [0, Infinity] });
  await client.setRateLimiter("line", open);
  await inserts;
  const { columns } = await client.getBatch("line", 6);
  assertEquals([...columns[0]?.data ?? []].map(Number).sort(), [0, 1, 2, 3, 4, 5]);
  assertEquals(figures()?.rateLimiter, {
    ratio: 1,
    minSize: 1,
    differenceMin: 0,
    differenceMax: Infinity,
  });
  // It holds samples back as before.
  const late = await failure(() => client.getBatch("line", 1, { timeoutMs: 30 }));
  assertStrictEquals(late.code, "deadline-exceeded");
});

Deno.test("calls of the serving program go on, too, and see the new rate limiter", async () => {
  using own = await Tables.create({ tables: { t: { maxSize: 9, rateLimiter: queue(1) } } });
  await using server = await serve({ tables: own });
  await using client = await ReverbClient.connect(server.address);
  const table = own.table("t");
  await table.insert(0);
  const waiting = table.insert(1);
  await client.setRateLimiter("t", minSize(3));
  await waiting;
  assertEquals(table.options.rateLimiter, minSize(3));
  const samples = table.getBatch(4);
  await client.setRateLimiter("t", samplesPerInsert(2, { minSize: 1, error: [0, 9] }));
  assertEquals((await samples).size, 4);
  assertEquals(kernelTablesOf(own).canSample(0, 1), false);
});

Deno.test("a rate limiter that the table can't keep is refused, and the table keeps its own", async () => {
  await using site = await served(tables);
  await using client = await ReverbClient.connect(site.server.address);
  const before = (await client.serverInfo()).slow?.rateLimiter;
  for (
    const [table, rateLimiter, code, words] of [
      [
        "slow",
        minSize(101),
        "invalid-argument",
        'the rate limiter of table "slow" waits for 101 items, but the table holds at most 100 (maxSize); so nothing could ever be sampled',
      ],
      [
        "slow",
        samplesPerInsert(1, { minSize: 1, error: [0.5, 1.9] }),
        "invalid-argument",
        "could deadlock, as inserts × 1 - samples must stay from 0.5 to 1.9; make error at least 2 wide",
      ],
      [
        "slower",
        minSize(1),
        "not-found",
        'setRateLimiter(): the server has no table "slower"; it has "line", "slow"',
      ],
    ] as const
  ) {
    const error = await failure(() => client.setRateLimiter(table, rateLimiter));
    assertStrictEquals(error.code, code);
    assert(error.message.includes(words), error.message);
  }
  assertEquals((await client.serverInfo()).slow?.rateLimiter, before);
  const loose = client as unknown as { setRateLimiter(...values: unknown[]): Promise<void> };
  await assertRejects(
    () => loose.setRateLimiter("slow", 3),
    TypeError,
    "setRateLimiter(): rateLimiter must be",
  );
  await assertRejects(
    () => loose.setRateLimiter("", minSize(1)),
    TypeError,
    "setRateLimiter(): table",
  );
  await assertRejects(() => loose.setRateLimiter("slow", minSize(1), { ms: 1 }), TypeError, "ms");
});

Deno.test("numbers that no rate limiter has are refused by the server", async () => {
  await using site = await served(tables);
  const channel = new Channel(site.server.address);
  const call = (
    changes: MessageInitShape<typeof SetLimiterRequestSchema>,
  ): Promise<ReverbError> => {
    const good = { table: "slow", samplesPerInsert: 1, minSize: 1n, minDiff: 0, maxDiff: 9 };
    const message = create(SetLimiterRequestSchema, { ...good, ...changes });
    const bytes = toBinary(SetLimiterRequestSchema, message);
    return failure(() => channel.unary("SetLimiter", bytes, {}, Limiters.typeName));
  };
  const most = Number.MAX_SAFE_INTEGER;
  for (
    const [changes, words] of [
      [{ samplesPerInsert: 0 }, 'table "slow": ratio must be above 0, got 0'],
      [{ samplesPerInsert: NaN }, "got NaN"],
      [{ samplesPerInsert: Infinity }, "got Infinity"],
      [{ minSize: 0n }, "minSize must be an integer of at least 1, got 0"],
      [{ minSize: -1n }, "got -1"],
      [{ minSize: 2n ** 60n }, "got 1152921504606847000"],
      [{ minDiff: NaN }, `error[0] must be a number from -Infinity to ${most}, got NaN`],
      [{ minDiff: Infinity, maxDiff: Infinity }, "got Infinity"],
      [{ maxDiff: NaN }, `error[1] must be a number from -${most} to Infinity, got NaN`],
      [{ maxDiff: -1 }, "error must have its least number first, got [0, -1]"],
    ] as const
  ) {
    const error = await call(changes);
    assertStrictEquals(error.code, "invalid-argument");
    assert(error.message.includes(words), error.message);
  }
  const damaged = (): Promise<unknown> =>
    channel.unary("SetLimiter", Uint8Array.of(255), {}, Limiters.typeName);
  assertStrictEquals((await failure(damaged)).code, "internal");
  channel.close();
});

Deno.test("a rate limiter that clients change again and again is always whole", async () => {
  await using site = await served(tables);
  await using client = await ReverbClient.connect(site.server.address);
  const rules: readonly RateLimiter[] = [
    minSize(1),
    samplesPerInsert(2, { minSize: 1, error: [-Infinity, 40] }),
    samplesPerInsert(0.5, { minSize: 2, error: [-30, Infinity] }),
    queue(20),
  ];
  let isDone = false;
  const changing = (async (): Promise<void> => {
    for (let k = 0; !isDone; k++) {
      await client.setRateLimiter("slow", rules[k % rules.length] ?? minSize(1));
    }
  })();
  const inserting = (async (): Promise<void> => {
    for (let k = 0; k < 300; k++) await client.insert([k], { slow: 1 });
  })();
  const sampling = (async (): Promise<number> => {
    let count = 0;
    while (count < 300) count += (await client.getBatch("slow", 5)).size;
    return count;
  })();
  assertEquals([await sampling, await inserting], [300, undefined]);
  isDone = true;
  await changing;
});

Deno.test("a server that lacks the call is no server of this library, and the error says so", async () => {
  // Reverb's server answers unknown calls like this.
  const other = http2.createServer();
  other.on("stream", (stream: http2.ServerHttp2Stream, { ":path": path }) => {
    const isKnown = path?.endsWith("/ServerInfo");
    const status = isKnown ? "0" : "12";
    stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": status });
    stream.end(new Uint8Array(isKnown ? 5 : 0)); // the prefix of a message without a table
  });
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  const { port } = other.address() as { port: number };
  const client = await ReverbClient.connect(`127.0.0.1:${port}`);
  const error = await failure(() => client.setRateLimiter("t", minSize(2)));
  assertStrictEquals(error.code, "unimplemented");
  assert(error.message.startsWith(onlyOurs), error.message);
  await client.close();
  await new Promise((done) => other.close(done));
});

besideReverb("Reverb's own server has no such call, and the error says who has", async () => {
  await using server = await startReal([plainTable("t")]);
  await using client = await ReverbClient.connect(`127.0.0.1:${server.port}`);
  const error = await failure(() => client.setRateLimiter("t", minSize(2)));
  assertStrictEquals(error.code, "unimplemented");
  assert(error.message.startsWith(onlyOurs), error.message);
  await client.insert([1], { t: 1 });
  assertEquals((await client.getBatch("t", 2)).size, 2);
});
