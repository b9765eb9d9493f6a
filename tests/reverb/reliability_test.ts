/** What goes wrong with one client goes unnoticed by the others, and its memory comes back. `EXRP_REVERB_SEED` sets the seed. */
import { assert, assertEquals } from "../_assert.ts";
import { joinBytes } from "../../base/bytes.ts";
import * as abi from "../../ffi/symbols.ts";
import { greeting, message, opening, Socket } from "./_bad_clients.ts";
import { Connection, smallChunk, smallItem } from "./_grpc.ts";
import { type Ours, startTables } from "./_ours.ts";
import { plainTable } from "./_real.ts";
import { randomOf } from "./_side_by_side.ts";
import { pause, until } from "../_wait.ts";
import { noise } from "../_noise.ts";

const seed = Number(Deno.env.get("EXRP_REVERB_SEED") ?? 261123);

/** A client that behaves well: it inserts and samples, and each call must be answered. */
class Citizen {
  calls = 0;
  readonly #connection: Connection;
  readonly #table: string;
  readonly #random: (n: number) => number;
  #goes = true;
  readonly #work: Promise<void>;

  constructor(port: number, table: string, number: number) {
    this.#connection = new Connection(port);
    this.#table = table;
    this.#random = randomOf(seed + number);
    this.#work = this.#run();
    // Whoever waits for it gets the error; until then it is nobody's.
    this.#work.catch(() => {});
  }

  async #run(): Promise<void> {
    const inserts = this.#connection.open("InsertStream");
    const samples = this.#connection.open("SampleStream");
    while (this.#goes) {
      const key = BigInt(this.#random(2 ** 32)) << 32n | BigInt(this.#random(2 ** 32));
      inserts.send({ chunks: [smallChunk(key)] });
      inserts.send({ items: [smallItem(key, this.#table, 1, key)] });
      assertEquals((await inserts.receive())?.["keys"], [key]);
      samples.send({ table: this.#table, num_samples: 4n });
      for (let left = 4; left > 0;) {
        const entries = (await samples.receive())?.["entries"];
        assert(entries !== undefined, "samples came to an end");
        left -= entries.length;
      }
      this.calls += 2;
      await pause(1);
    }
  }

  /** Ends it. An error of its is thrown. */
  async stop(): Promise<void> {
    this.#goes = false;
    await this.#work;
    this.#connection.close();
  }
}

/** Each makes some more calls, and is answered; then they end. */
async function goOn(citizens: readonly Citizen[]): Promise<void> {
  const before = citizens.map(({ calls }) => calls);
  await until(
    "each made more calls",
    () => citizens.every(({ calls }, k) => calls > 50 + (before[k] ?? 0)),
  );
  for (const one of citizens) await one.stop();
}

/** Streams of clients, and chunks and bytes of the server's tables. */
function usage(
  { kernelTables, clientStreams }: Ours,
): { streams: number; chunks: number; bytes: number } {
  const info = kernelTables.storeInfo();
  const at = (index: number): number => info[index] ?? NaN;
  return {
    streams: clientStreams(),
    chunks: at(abi.EXRP_TABLES_STORE_CHUNKS),
    bytes: at(abi.EXRP_TABLES_STORE_CHUNK_BYTES),
  };
}

const tables = [plainTable("small", { max_size: 200 }), plainTable("large", { max_size: 2000 })];

Deno.test(`64 clients at once: each gets its own confirmations and samples, seed ${seed}`, async () => {
  await using ours = await startTables(tables);
  const citizens = Array.from({ length: 64 }, (_, k) => new Citizen(ours.port, "small", k));
  await until("each made its calls", () => citizens.every(({ calls }) => calls > 20));
  for (const one of citizens) await one.stop();
  await until("all streams are closed", () => usage(ours).streams === 0);
  assertEquals(usage(ours).chunks, 200);
});

Deno.test(`a client that is killed in the middle of an item, 240 times, is noticed by nobody, seed ${seed}`, async () => {
  await using ours = await startTables(tables);
  const random = randomOf(seed);
  const citizens = [0, 1].map((k) => new Citizen(ours.port, "small", k));
  // The citizens fill their table first, so that the counts below are steady.
  await until("the table is full", () => usage(ours).chunks === 200);
  for (let kill = 0; kill < 240; kill++) {
    using socket = await Socket.open(ours.port);
    const key = BigInt(kill + 1);
    // A whole item first, then one that is cut anywhere: within a frame, within a message, or between the chunk and its item.
    const whole = joinBytes([
      greeting(),
      opening(1, "InsertStream"),
      message(1, "InsertStreamRequest", { chunks: [smallChunk(key << 8n)] }),
      message(1, "InsertStreamRequest", {
        items: [smallItem(key << 8n, "large", 1, key << 8n)],
        keep_chunk_keys: [key << 8n],
      }),
    ]);
    const rest = joinBytes([
      message(1, "InsertStreamRequest", { chunks: [smallChunk(key << 8n | 1n)] }),
      message(1, "InsertStreamRequest", {
        items: [smallItem(key << 8n | 1n, "large", 1, key << 8n | 1n)],
      }),
    ]);
    await socket.write(joinBytes([whole, rest.subarray(0, 1 + random(rest.length - 1))]));
    if (random(2) === 0) await socket.read();
  }
  // Whole items went in, the cut ones did not, and what only their clients kept is gone.
  const size = (): unknown => ours.kernelTables.info(1)[abi.EXRP_TABLES_INFO_SIZE];
  await until("240 whole items are in", () => size() === 240);
  await until("only the citizens' streams are open", () => usage(ours).streams === 4);
  assertEquals(usage(ours).chunks, 200 + 240);
  await goOn(citizens);
});

Deno.test("clients that read nothing, or say nothing more, hold up themselves only", async () => {
  await using ours = await startTables(tables);
  const before = new Connection(ours.port);
  const inserts = before.open("InsertStream");
  const big = { ...smallChunk(7n), data: { tensors: [new Uint8Array(100_000)] } };
  inserts.send({ chunks: [big] });
  inserts.send({ items: [smallItem(7n, "large", 1, 7n)] });
  assertEquals((await inserts.receive())?.["keys"], [7n]);
  const sockets: Socket[] = [];
  const memory = Deno.memoryUsage().rss;
  for (let k = 0; k < 20; k++) {
    // It asks for 100 GB with the largest windows, and reads nothing.
    const slow = await Socket.open(ours.port);
    const window = new Uint8Array([0x7f, 0, 0, 0]);
    await slow.write(joinBytes([
      greeting(0x7fff_ffff),
      new Uint8Array([0, 0, 4, 8, 0, 0, 0, 0, 0, ...window]),
      opening(1, "SampleStream"),
      message(1, "SampleStreamRequest", { table: "large", num_samples: 1_000_000n }),
    ]));
    // It says hello, or half of a frame, and nothing more.
    const silent = await Socket.open(ours.port);
    await silent.write(greeting().subarray(0, 10 + k));
    const half = await Socket.open(ours.port);
    await half.write(
      joinBytes([greeting(), opening(1, "InsertStream"), new Uint8Array([0, 0, 99])]),
    );
    sockets.push(slow, silent, half);
  }
  const citizens = [0, 1].map((k) => new Citizen(ours.port, "small", k));
  await goOn(citizens);
  // 20 of them may have some megabytes each on the way, and not the 100 GB.
  const grown = Deno.memoryUsage().rss - memory;
  assert(grown < 400e6, `memory grew by ${grown} bytes`);
  for (const socket of sockets) socket[Symbol.dispose]();
  before.close();
  await until("all streams are closed", () => usage(ours).streams === 0);
});

Deno.test("a writer whose inserts wait is held back, and others go on", async () => {
  const queue = plainTable("queue", { rateLimiter: { kind: "queue", size: 10 }, max_size: 100 });
  await using ours = await startTables([...tables, queue]);
  using greedy = await Socket.open(ours.port);
  // 60 MB of items that the rate limiter refuses, as fast as they are taken. Frames have at most 16 KiB.
  const large = { tensors: [noise(15_000)] };
  const pieces: Uint8Array[] = [greeting(), opening(1, "InsertStream")];
  for (let key = 1n; key <= 4000n; key++) {
    const chunk = key << 40n;
    pieces.push(
      message(1, "InsertStreamRequest", { chunks: [{ ...smallChunk(chunk), data: large }] }),
      message(1, "InsertStreamRequest", { items: [smallItem(key, "queue", 1, chunk)] }),
    );
  }
  const all = joinBytes(pieces);
  const citizens = [0, 1].map((k) => new Citizen(ours.port, "small", k));
  await until("the table is full", () => usage(ours).chunks >= 200);
  // What is beyond its windows ends its connection, as HTTP/2 says. What had come until then may wait.
  greedy.write(all).catch(() => {});
  const info = (at: number): number => ours.kernelTables.info(2)[at] ?? NaN;
  await until("some wait", () => info(abi.EXRP_TABLES_INFO_INSERTS_WAITING) > 0);
  await pause(500);
  const waiting = info(abi.EXRP_TABLES_INFO_INSERTS_WAITING);
  const bytes = info(abi.EXRP_TABLES_INFO_BYTES_WAITING);
  assert(waiting > 0 && waiting < 1000 && bytes < 16e6, `${waiting} items wait, ${bytes} bytes`);
  await goOn(citizens);
});
