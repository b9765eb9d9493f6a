/** Rate limiters, timeouts and back-pressure as clients see them; cancelled calls; readers that do not read. */
import { assert, assertEquals, assertExists } from "../_assert.ts";
import { ReverbClient } from "../../reverb/mod.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";
import { smallChunk, smallItem } from "../reverb/_grpc.ts";
import type { Message } from "../reverb/_proto.ts";
import { timeoutWords } from "../../server/calls/sample_call.ts";
import { infoOf, insert, plainTables, sample, served } from "./_served.ts";
import { PATIENCE_MS, pause, until } from "../_wait.ts";
import { noise } from "../_noise.ts";

type Site = Awaited<ReturnType<typeof served>>;

Deno.test("the timeout of a rate limiter has the words by which Reverb's clients know it", () => {
  assertEquals(
    timeoutWords,
    "Rate Limiter: Timeout exceeded before the right to insert was acquired.",
  );
});

for (const milliseconds of [0n, 50n]) {
  Deno.test(`a sample that may wait ${milliseconds} ms ends with DEADLINE_EXCEEDED`, async () => {
    await using site = await served();
    const call = site.connection.open("SampleStream");
    call.send({ table: "u", num_samples: 1n, rate_limiter_timeout: { milliseconds } });
    assertEquals(await call.ending, { code: 4, message: timeoutWords });
    // The stream was that client's only.
    await insert(site.connection, "u", 1n);
    assertEquals((await sample(site.connection, "u", 1)).length, 1);
  });
}

Deno.test("what came before the timeout is sent", async () => {
  await using site = await served();
  await insert(site.connection, "q", 1n);
  const call = site.connection.open("SampleStream");
  call.send({ table: "q", num_samples: 3n, rate_limiter_timeout: { milliseconds: 50n } });
  assertEquals((await call.receive())?.["entries"].length, 1);
  assertEquals(await call.ending, { code: 4, message: timeoutWords });
});

for (const timeout of [{}, { rate_limiter_timeout: { milliseconds: -1n } }]) {
  Deno.test(`a sample with ${JSON.stringify(Object.keys(timeout))} waits until another client inserts`, async () => {
    await using site = await served();
    const call = site.connection.open("SampleStream");
    call.send({ table: "u", num_samples: 1n, ...timeout });
    assertEquals(await call.receive(100), undefined);
    await insert(site.connect(), "u", 4n);
    assertEquals((await call.receive())?.["entries"][0].info.item.key, 4n);
    call.end();
    assertEquals((await call.ending).code, 0);
  });
}

Deno.test("a full queue withholds confirmations, in order, until somebody samples", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  for (let key = 1n; key <= 5n; key++) {
    call.send({ chunks: [smallChunk(key)], items: [smallItem(key, "q", 1, key)] });
  }
  const keys: bigint[] = [];
  while (keys.length < 3) keys.push(...(await call.receive())?.["keys"] ?? []);
  assertEquals(await call.receive(100), undefined);
  const other = site.connect();
  const samples = await sample(other, "q", 2);
  assertEquals(samples.map(({ info }) => info.item.key), [1n, 2n]);
  while (keys.length < 5) keys.push(...(await call.receive())?.["keys"] ?? []);
  assertEquals(keys, [1n, 2n, 3n, 4n, 5n]);
  call.end();
  assertEquals((await call.ending).code, 0);
});

Deno.test("half-closed inserts end only once all are confirmed", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  for (let key = 1n; key <= 4n; key++) {
    call.send({ chunks: [smallChunk(key)], items: [smallItem(key, "q", 1, key)] });
  }
  call.end();
  let isOver = false;
  call.ending.then(() => isOver = true);
  await until(
    "three are in",
    async () => (await infoOf(site.connection, "q"))["current_size"] === 3n,
  );
  await pause(50);
  assertEquals(isOver, false);
  await sample(site.connection, "q", 1);
  assertEquals((await call.ending).code, 0);
});

Deno.test("items that wait when their client is cut off still go in, each once", async () => {
  await using site = await served({ line: { queue: 30 } });
  const client = site.connect();
  const call = client.open("InsertStream");
  for (let key = 1n; key <= 32n; key++) {
    call.send({ chunks: [smallChunk(key)], items: [smallItem(key, "line", 1, key)] });
  }
  const figures = () => site.server.figures().tables.find(({ name }) => name === "line");
  await until("two wait", () => figures()?.insertsWaiting === 2);
  client.close();
  await until("it is gone", () => site.server.figures().connections === 1);
  const samples = await sample(site.connection, "line", 32);
  assertEquals(
    samples.map(({ info }) => info.item.key),
    Array.from({ length: 32 }, (_, k) => BigInt(k + 1)),
  );
});

Deno.test("a sampler that is cancelled takes nothing more", async () => {
  await using site = await served();
  const client = site.connect();
  client.open("SampleStream").send({ table: "q", num_samples: 5n });
  const figures = () => site.server.figures().tables.find(({ name }) => name === "q");
  await until("it waits", () => figures()?.samplersWaiting === 1);
  client.close();
  await until("it waits no more", () => figures()?.samplersWaiting === 0);
  await insert(site.connection, "q", 1n);
  assertEquals((await infoOf(site.connection, "q"))["current_size"], 1n);
});

Deno.test("a client that never stops to write into a full queue is held back, and others are not", async () => {
  await using site = await served({ ...plainTables, narrow: { queue: 10 } });
  const writer = site.connect();
  const call = writer.open("InsertStream");
  const big = new Uint8Array(100_000);
  const chunk = (key: bigint): Message => ({ ...smallChunk(key), data: { tensors: [big] } });
  const count = 300n;
  for (let key = 1n; key <= count; key++) {
    call.send({ chunks: [chunk(key)], items: [smallItem(key, "narrow", 1, key)] });
  }
  await until("the queue is full", async () => {
    return (await infoOf(site.connection, "narrow"))["current_size"] === 10n;
  });
  await insert(site.connection, "u", 1n);
  await pause(200);
  const { receivedBytes, memoryBytes } = site.server.figures();
  assert(receivedBytes < 5_000_000, `${receivedBytes} bytes of 30 MB came`);
  assert(memoryBytes < 5_000_000, `${memoryBytes} bytes of memory`);
  // All of it comes through in the end, in order.
  const samples = await sample(site.connection, "narrow", Number(count));
  assertEquals(
    samples.map(({ info }) => info.item.key),
    Array.from({ length: Number(count) }, (_, k) => BigInt(k + 1)),
  );
  call.cancel();
});

Deno.test("for a client that does not read, only a bounded number of samples is drawn", async () => {
  await using site = await served();
  const big = new Uint8Array(50_000);
  const writer = site.connection.open("InsertStream");
  writer.send({
    chunks: [{ ...smallChunk(1n), data: { tensors: [big] } }],
    items: [smallItem(1n, "u", 1, 1n)],
  });
  await writer.receive();
  writer.cancel();
  const reader = site.connect();
  const call = reader.open("SampleStream");
  call.isReading = false;
  call.send({ table: "u", num_samples: 2000n });
  const drawn = () => site.server.figures().tables.find(({ name }) => name === "u")?.samples ?? 0;
  await until("some are drawn", () => drawn() > 0);
  await pause(300);
  const held = drawn();
  assert(held < 200, `${held} of 2,000 were drawn for a client that reads nothing`);
  call.isReading = true;
  let entries = 0;
  while (entries < 2000) {
    const message = await call.receive();
    assert(message !== undefined, `${entries} came`);
    entries += message["entries"].length;
  }
  assertEquals(drawn(), 2000);
  call.cancel();
});

Deno.test("requests of one stream are served one after another, also of two tables", async () => {
  await using site = await served();
  await insert(site.connection, "u", 1n);
  await insert(site.connection, "p", 2n);
  const call = site.connection.open("SampleStream");
  for (const table of ["u", "p", "u"]) call.send({ table, num_samples: 2n });
  call.end();
  const keys: bigint[] = [];
  for (let message; (message = await call.receive());) {
    for (const { info } of message["entries"]) keys.push(info.item.key);
  }
  assertEquals(keys, [1n, 1n, 2n, 2n, 1n, 1n]);
  assertEquals((await call.ending).code, 0);
});

// A queue that holds writers back, of a server that has room for what four of them send meanwhile.
const crowded = { limits: { messageBytes: 2 << 20, bytesInFlight: 4 << 20 } };
const writers = 8;
const itemsOfEach = 10;
const itemBytes = 200_000;

/** Reads the items of all writers, which may send some of them twice. */
async function readCrowd(site: Site, writing: Promise<unknown>): Promise<void> {
  const ends = () => site.server.figures().calls.filter(({ method }) => method === "InsertStream");
  await until("they have filled the room, and a call was sent back", () => {
    return ends().some(({ code }) => code === 14);
  });
  const keys = new Set<bigint>();
  const reading = until("all items were read", async () => {
    try {
      for (const { info } of await sample(site.connection, "q", 1, 300)) keys.add(info.item.key);
    } catch {
      // Nothing more came in time.
    }
    return keys.size === writers * itemsOfEach;
  });
  await Promise.all([writing, reading]);
  assertEquals(ends().filter(({ code }) => ![0, 1, 14].includes(code)), []);
}

Deno.test("writers that a rate limiter holds back, more than the server has room for, all come in", async () => {
  await using site = await served({ q: { queue: 1 } }, crowded);
  const write = async (): Promise<void> => {
    const client = await ReverbClient.connect(site.server.address);
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 1 });
    for (let k = 0; k < itemsOfEach; k++) {
      writer.append({ x: noise(itemBytes) });
      const { x } = writer.history;
      assertExists(x);
      await writer.createItem("q", 1, { x: x.slice(-1) });
    }
    await writer.flush({ timeoutMs: PATIENCE_MS });
    await client.close();
  };
  await readCrowd(site, Promise.all(Array.from({ length: writers }, write)));
});

besideReverb(
  "Reverb's Python writers that a rate limiter holds back, more than the server has room for, come back and all come in",
  async () => {
    await using site = await served({ q: { queue: 1 } }, crowded);
    const script = `
import sys, threading
import numpy as np, reverb
port, writers, items, size = sys.argv[1:]
written = []
def write():
  client = reverb.Client("localhost:" + port)
  writer = client.trajectory_writer(num_keep_alive_refs=1)
  random = np.random.default_rng(1)
  for k in range(int(items)):
    writer.append([random.integers(0, 255, int(size), np.uint8)])
    writer.create_item("q", 1.0, [writer.history[0][-1:]])
  writer.flush(0, 60000)
  written.append(1)
  writer.close()
threads = [threading.Thread(target=write) for _ in range(int(writers))]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(written) == len(threads), written
`;
    const args = [site.server.port, writers, itemsOfEach, itemBytes];
    await readCrowd(site, runPython(script, args));
  },
);
