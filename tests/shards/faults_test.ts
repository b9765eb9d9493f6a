/** What goes wrong between an actor and its shard: episodes that end elsewhere, answers that are lost, messages that overtake others, names that are taken. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import { inTime, until } from "../_wait.ts";
import { ExperienceReplay, ReplayError, samplesPerInsert, uniform } from "@exrp/replay";
import {
  type Connection,
  connectShards,
  localConnection,
  serveShard,
  type Shard,
  type ShardWriter,
  shardWriter,
} from "@exrp/replay/shards";
import { coreOf } from "../../replay/replay_view.ts";
import { CALL, readChunk, writeCall, writeChunk } from "../../shards/_chunk_message.ts";
import { readBeat } from "../../shards/_announcement.ts";
import { Ledger } from "../../shards/_actor_ledger.ts";
import { LIMIT, SharedRateLimiter } from "../../shards/_shared_rate_limiter.ts";
import { CONFIRM } from "../../shards/_confirm_message.ts";
import { ChunkSender } from "../../shards/_chunk_sender.ts";
import { testRandom } from "../replay/_helpers.ts";
import { LossyNet } from "./_lossy.ts";
import { localShard } from "./_local.ts";
import { NUMBERED, openNumbered } from "./_numbered.ts";

type Recording = Pick<ExperienceReplay, "newEpisode" | "whenReady"> & {
  record(...of: unknown[]): number;
  recordMany(...of: unknown[]): unknown;
  recordBatch(...of: unknown[]): unknown;
  endEpisode(...of: unknown[]): unknown;
};

function replayOf(writer: ShardWriter): Recording {
  return writer.replay as unknown as Recording;
}

function record(writer: ShardWriter, n: number): void {
  const replay = replayOf(writer);
  replay.record(replay.newEpisode(), [n, 0], n % 7, n, { finalState: [n + 1, 0] });
}

/** A connection that loses the messages of which `isLost` says so. */
function losing(
  hub: Connection,
  isLost: (subject: string, data: Uint8Array) => boolean,
): Connection {
  return new Proxy(hub, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name !== "publish") return typeof value === "function" ? value.bind(target) : value;
      return (subject: string, data = new Uint8Array(0), options?: object) => {
        if (!isLost(subject, data)) target.publish(subject, data, options as never);
      };
    },
  });
}

/** The random name of the only shard's process. */
function incarnationOf(connection: Connection): Promise<string> {
  return new Promise((resolve) => {
    const heard = connection.subscribe("exrp.beat.a", {
      callback: (_error, { data }) => {
        heard.unsubscribe();
        resolve(readBeat(data).incarnation);
      },
    });
  });
}

const BATCH = { state: [1, 0, 2, 0], action: [1, 2], reward: [1, 2] };

Deno.test("an actor that ends no episodes is told so, and its shard can be opened again", async () => {
  const folder = await Deno.makeTempDir();
  {
    const connection = localConnection();
    using replay = await openNumbered(folder);
    await using _shard = await serveShard(replay as unknown as ExperienceReplay, connection, {
      name: "a",
    });
    const writer = await shardWriter(connection);
    const to = replayOf(writer);
    const write = async (): Promise<void> => {
      for (let n = 0; n < 65_537; n++) {
        await to.whenReady(() => to.record(to.newEpisode(), [n, 0], n % 7, n));
      }
      await writer.flush();
    };
    await assertRejects(write, Error, "65536 open episodes");
    writer.abandon();
  }
  using replay = await openNumbered(folder);
  await using shard = await serveShard(
    replay as unknown as ExperienceReplay,
    localConnection(),
    { name: "a" },
  );
  assertEquals(shard.figures().actors, 1);
  await shard.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("what a shard knows of actors comes back with the reason of a refusal", () => {
  const [ledger, again] = [new Ledger(), new Ledger()];
  const entry = ledger.entry("ab".repeat(16));
  entry.last = 7;
  entry.refused = { number: 5, text: "it is späť" };
  entry.streams.set(3, 9);
  ledger.changed();
  again.load(ledger.save());
  const { last, refused, streams } = again.entry(entry.id);
  assertEquals([last, refused, [...streams]], [7, entry.refused, [[3, 9]]]);
});

Deno.test("an actor hears that a call was refused, though an answer is lost, and its other calls are made", async () => {
  const hub = localConnection();
  using replay = await ExperienceReplay.create(NUMBERED);
  const { symbols } = coreOf("test", replay).kernel;
  let lost = 0;
  const served = losing(hub, (_subject, { 0: a, 1: b, 2: c, 4: kind }) => {
    const isRefusal = a === 0x58 && b === 0x43 && c === 0x46 && kind === 2;
    return isRefusal && lost++ === 0;
  });
  await using shard = await serveShard(replay as never, served, { name: "a" });
  // The first row of each chunk says that it has no records.
  let isSpoilt = false;
  const spoiling = losing(hub, (subject, data) => {
    if (!isSpoilt || !subject.endsWith(".chunk")) return false;
    const schema = new DataView(data.buffer, data.byteOffset).getUint32(4, true);
    const { calls, actor, number } = readChunk(symbols, schema, data);
    const bad = calls.findIndex(({ kind }) => kind === CALL.row);
    const spoilt = calls.map((call, k) => writeCall(k === bad ? { ...call, count: 0 } : call));
    data.set(writeChunk(symbols, schema, actor, number, spoilt));
    isSpoilt = false;
    return false;
  });
  await using writer = await shardWriter(spoiling);
  record(writer, 1);
  await writer.flush();
  isSpoilt = true;
  for (const n of [2, 3, 4]) record(writer, n);
  await assertRejects(() => writer.flush(), Error, "could not take records");
  assertEquals([replay.recordCount, shard.figures().damaged], [3, 1]);
  assert(lost >= 2, `${lost}`);
  // It hears of it once.
  record(writer, 5);
  await writer.flush();
  assertEquals(replay.recordCount, 4);
});

Deno.test("episodes that ended in the shard cost no record of others", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", []);
  await using writer = await shardWriter(connection);
  const to = replayOf(writer);
  const episodes = Float64Array.of(to.newEpisode(), to.newEpisode());
  to.recordBatch(episodes, BATCH);
  await writer.flush();
  const [first = -1] = a.replay.episodes().handle;
  a.replay.endEpisode(first, { finalState: [9, 9], truncated: true } as never);
  for (let k = 0; k < 2; k++) {
    to.recordBatch(episodes, BATCH);
    await writer.flush();
  }
  assertEquals([...a.replay.episodes().length].toSorted(), [1, 2, 3]);
  // The actor ends one that has ended.
  const third = a.replay.episodes().handle.at(-1) ?? -1;
  a.replay.endEpisode(third, { finalState: [9, 9], truncated: true } as never);
  to.endEpisode(episodes[0] ?? -1, { finalState: [3, 0] });
  record(writer, 5);
  await writer.flush();
  assertEquals([a.replay.recordCount, a.shard.figures().damaged], [7, 0]);
});

Deno.test("a chunk that comes again behind the end of its actor is dropped", async () => {
  const hub = localConnection();
  await using a = await localShard(hub, "a", []);
  const chunks: (readonly [string, Uint8Array])[] = [];
  const connection = losing(hub, (subject, data) => {
    if (subject.endsWith(".chunk")) chunks.push([subject, data.slice()]);
    return false;
  });
  const writer = await shardWriter(connection);
  record(writer, 1);
  await writer.close();
  await until("the shard has heard of the end", () => a.shard.figures().actors === 0);
  for (const [subject, data] of chunks) hub.publish(subject, data, { reply: "nobody" });
  await until("the chunk came again", () => a.shard.figures().repeated + a.replay.recordCount > 1);
  assertEquals([a.replay.recordCount, a.shard.figures().actors], [1, 0]);
});

Deno.test("of two shards that begin with one name, one ends", async () => {
  const connection = localConnection();
  using first = await ExperienceReplay.create(NUMBERED);
  using second = await ExperienceReplay.create(NUMBERED);
  const shards = await Promise.all(
    [first, second].map((replay) => serveShard(replay as never, connection, { name: "a" })),
  );
  const error = await Promise.race(shards.map(({ closed }) => closed));
  assert(error instanceof ReplayError && error.code === "shard-taken", String(error));
  await using writer = await shardWriter(connection);
  for (let n = 0; n < 10; n++) record(writer, n);
  await writer.flush();
  assertEquals([first.recordCount, second.recordCount].toSorted(), [0, 10].toSorted());
  for (const shard of shards) await shard.close();
});

Deno.test("a replay is served by one shard at a time", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", []);
  const serve = (): Promise<Shard> => serveShard(a.replay, connection, { name: "b" });
  await assertRejects(serve, Error, "another shard serves this replay");
  await a.shard.close();
  await using b = await serve();
  assertEquals(b.name, "b");
});

Deno.test("a chunk of more records than a learner allows at once comes in", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", []);
  const rateLimiter = samplesPerInsert(1, { minSize: 10, error: 20 });
  await using _learner = await connectShards(connection, { rateLimiter });
  await using writer = await shardWriter(connection);
  const to = replayOf(writer);
  const count = 300;
  to.recordMany(to.newEpisode(), {
    ...{ state: new Int32Array(2 * count), action: new Int32Array(count) },
    reward: new Float32Array(count),
  });
  await writer.flush({ timeoutMs: 60_000 });
  assertEquals(a.replay.recordCount, count);
});

Deno.test("records that were there at first count for no draw, and a dead shard holds no credit", () => {
  const numbers = samplesPerInsert(1, { minSize: 10, error: 20 });
  const limits = new SharedRateLimiter(numbers);
  const incarnation = "0".repeat(32);
  const a = { name: "a", incarnation, recorded: 5000, records: 5000 };
  const b = { name: "b", incarnation, recorded: 5000, records: 5000 };
  const [[, before = 0] = []] = limits.credits([a], [a], true);
  assert(before > 5000, `${before}`);
  assertEquals(limits.mayDraw(1000, [a, b], [a, b]), false);
  assertEquals(limits.credits([a, b], [a, b], true).length, 2);
  const sum = (of: ReturnType<SharedRateLimiter["credits"]>): number =>
    of.reduce((all, [, most]) => all + most - 5000, 0);
  // Whoever dies, the next one gets as much as it had.
  const helping = sum(limits.credits([b], [a, b], true));
  for (let k = 0; k < 20; k++) {
    const next = { name: `c${k}`, incarnation, recorded: 5000, records: 5000 };
    assertEquals(sum(limits.credits([next], [a, b, next], true)), helping);
  }
});

Deno.test("where few records may come, each shard gets its turn", () => {
  const [batch, chunk] = [64, 100];
  const limits = new SharedRateLimiter(
    samplesPerInsert(batch, { minSize: 500, error: 200 * batch }),
  );
  const incarnation = "0".repeat(32);
  const shards = ["a", "b", "c"].map((name) => ({ name, incarnation, recorded: 0, records: 0 }));
  const credits = new Map<string, number>();
  for (let k = 0; k < 10_000; k++) {
    if (limits.mayDraw(batch, shards, shards)) limits.drew(batch);
    for (const [{ name }, most] of limits.credits(shards, shards, false)) credits.set(name, most);
    // Each always has a chunk that waits, and takes the whole of it once it may record one more.
    for (const shard of shards) {
      if ((credits.get(shard.name) ?? 0) <= shard.recorded) continue;
      shard.recorded += chunk;
      shard.records += chunk;
    }
  }
  const recorded = shards.map((shard) => shard.recorded);
  assert(Math.max(...recorded) > 2000, `${recorded}`);
  assert(Math.max(...recorded) <= 1.5 * Math.min(...recorded), `${recorded}`);
});

Deno.test("a limit that was lost on its way is sent again", async () => {
  const hub = localConnection();
  await using a = await localShard(hub, "a", []);
  let lost = 0;
  const connection = losing(hub, (subject) => subject.endsWith(".limit") && lost++ < 2);
  hub.publish(
    "exrp.shard.a.limit",
    LIMIT.write({ incarnation: await incarnationOf(hub), most: 0 }),
  );
  const rateLimiter = samplesPerInsert(1, { minSize: 10, error: 20 });
  await using _learner = await connectShards(connection, { rateLimiter });
  await using writer = await shardWriter(hub);
  record(writer, 1);
  await writer.flush({ timeoutMs: 60_000 });
  assertEquals([a.replay.recordCount, lost >= 3], [1, true]);
});

Deno.test("a shard that comes back without its records gets no credit for them", () => {
  const limits = new SharedRateLimiter(samplesPerInsert(1, { minSize: 10, error: 20 }));
  const incarnation = "0".repeat(32);
  const empty = { name: "a", incarnation, recorded: 0, records: 0 };
  limits.credits([empty], [empty], true);
  const a = { ...empty, recorded: 1000, records: 1000 };
  limits.drew(1000 - 30);
  assertEquals(limits.credits([a], [a], true)[0]?.[1], 1000);
  // Only so many may come that there can be draws again.
  const again = { name: "a", incarnation: "1".repeat(32), recorded: 0, records: 0 };
  const [[, most = NaN] = []] = limits.credits([again], [again], true);
  assert(most > 0 && most <= 10, `${most}`);
  const full = { ...again, recorded: 10, records: 10 };
  assertEquals(limits.credits([full], [full], true)[0]?.[1], 10);
  assertEquals([50, 51].map((count) => limits.mayDraw(count, [full], [full])), [true, false]);
});

Deno.test("a dead shard that had all records does not hold the records of others back", () => {
  const limits = new SharedRateLimiter(samplesPerInsert(1, { minSize: 10, error: 20 }));
  const incarnation = "0".repeat(32);
  const [a, b] = ["a", "b"].map((name) => ({ name, incarnation, recorded: 0, records: 0 }));
  assert(a !== undefined && b !== undefined);
  limits.credits([a, b], [a, b], true);
  const dead = { ...a, recorded: 30, records: 30 };
  assertEquals(limits.mayDraw(10, [dead, b], [dead, b]), true);
  assertEquals(limits.mayDraw(10, [b], [dead, b]), false);
  const [[, most = NaN] = []] = limits.credits([b], [dead, b], true);
  assertEquals(most, 10);
  const full = { ...b, recorded: 10, records: 10 };
  assertEquals(limits.mayDraw(10, [full], [dead, full]), true);
});

Deno.test("a limit for an earlier process of a shard is none", async () => {
  const hub = localConnection();
  await using a = await localShard(hub, "a", []);
  hub.publish("exrp.shard.a.limit", LIMIT.write({ incarnation: "0".repeat(32), most: 0 }));
  await using writer = await shardWriter(hub);
  record(writer, 1);
  await writer.flush({ timeoutMs: 60_000 });
  assertEquals([a.replay.recordCount, a.shard.figures().damaged], [1, 0]);
});

Deno.test("a shard that only tells of gaps is sent no more than others", async () => {
  using replay = await ExperienceReplay.create(NUMBERED);
  let sent = 0;
  const sender = new ChunkSender("a", {
    symbols: coreOf("test", replay).kernel.symbols,
    schema: 0,
    send: () => sent++,
    refused: () => {},
  });
  for (let k = 0; k < 3; k++) {
    sender.add(new Uint8Array(24));
    sender.seal();
  }
  const tell = (expected: number): void => {
    for (let round = 0; round < 50; round++) {
      const rest = { shard: "a", incarnation: "", text: "", number: 3, expected };
      sender.hear({ ...rest, kind: CONFIRM.gap, actor: sender.actor, round });
    }
  };
  tell(1);
  assertEquals(sent, 3 + 3);
  tell(0);
  assertEquals([sent, sender.repeated], [6, 3]);
  // Progress shows that it means it.
  const rest = { shard: "a", incarnation: "", actor: sender.actor, text: "" };
  sender.hear({ ...rest, kind: CONFIRM.stored, number: 1, expected: 2, round: 1 });
  tell(2);
  assertEquals(sent, 6 + 2);
});

Deno.test("fifty thousand episodes end in the shard that an actor has left", async () => {
  const net = new LossyNet(testRandom(3), { lost: 0, doubled: 0, delayMs: 0 });
  await using a = await localShard(net.node("a"), "a", []);
  await using writer = await shardWriter(net.node("w"));
  const to = replayOf(writer);
  const count = 50_000;
  const episodes = Float64Array.from({ length: count }, () => to.newEpisode());
  const part = 5000;
  const state = new Int32Array(2 * part);
  const rest = { action: new Int32Array(part), reward: new Float32Array(part), nextState: state };
  for (let from = 0; from < count; from += part) {
    to.recordBatch(episodes.subarray(from, from + part), { state, ...rest });
  }
  await writer.flush();
  net.cut("a");
  await using _b = await localShard(net.node("b"), "b", []);
  await until("it has moved", () => writer.figures().shard === "b");
  net.cut("a", false);
  await until("all have ended", () => a.replay.episodes({ ended: true }).size === count);
  assertEquals(a.replay.episodeCount, count);
});

Deno.test("a draw that is on its way ends by its timeout, and by its signal", async () => {
  const hub = localConnection();
  let onHeld = (): void => {};
  const served = losing(hub, (_subject, { 0: a, 1: b, 2: c }) => {
    const isPicks = a === 0x58 && b === 0x50 && c === 0x4b;
    if (isPicks) onHeld();
    return isPicks;
  });
  using replay = await ExperienceReplay.create(NUMBERED);
  replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), [1, 0], 1, 1, { finalState: [2, 0] });
  await using _a = await serveShard(replay as never, served, { name: "a" });
  await using learner = await connectShards(hub);
  const control = new AbortController();
  onHeld = () => control.abort(new Error("enough"));
  await assertRejects(() => learner.getBatch(4, { signal: control.signal }), Error, "enough");
  await assertRejects(() => learner.getBatch(4, { timeoutMs: 1 }), Error, "after 1 ms");
  // Nobody had waited for it to be given up. A slow machine may end the second draw before it has asked.
  assertEquals(learner.figures().redrawn, 0);
});

Deno.test("a shard closes though nobody takes its last words", async () => {
  const hub = localConnection();
  const mute = new Proxy(hub, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name === "flush") return () => new Promise(() => {});
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  using replay = await ExperienceReplay.create(NUMBERED);
  const shard = await serveShard(replay as never, mute, { name: "a" });
  await inTime("it is closed", shard.close());
  assertEquals(await shard.closed, undefined);
});

Deno.test("an actor at its bound goes on with another shard", async () => {
  const net = new LossyNet(testRandom(3), { lost: 0, doubled: 0, delayMs: 0 });
  await using _a = await localShard(net.node("a"), "a", []);
  const writer = await shardWriter(net.node("w"), { unconfirmedBytes: 2 ** 16 });
  record(writer, 0);
  await writer.flush();
  net.cut("a");
  assertThrows(
    () => {
      for (;;) record(writer, 1);
    },
    ReplayError,
    "the shard a has not confirmed",
  );
  await using b = await localShard(net.node("b"), "b", []);
  await until("it has moved", () => writer.figures().shard === "b");
  record(writer, 2);
  await until("the other shard has it", () => b.replay.recordCount === 1);
  writer.abandon();
});

Deno.test("if all priorities are 0, shards are drawn from as one replay", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", [0]);
  await using learner = await connectShards(connection);
  const { probability } = await learner.getBatch(2, { timeoutMs: 60_000 });
  assertEquals([...probability], [1, 1]);
});

Deno.test("a heartbeat with an infinite sum, or an impossible count of writers, is damaged", async () => {
  const connection = localConnection();
  let beat = "";
  connection.subscribe("exrp.beat.a", {
    callback: (_error, { data }) => beat = new TextDecoder().decode(data),
  });
  await using _a = await localShard(connection, "a", [1]);
  await until("a heartbeat came", () => beat !== "");
  const bad = beat.replace(/"sum":[\d.]+/, '"sum":1e999');
  assertThrows(() => readBeat(new TextEncoder().encode(bad)), Error, "sum is");
  for (const writers of ["-1", "0.5", "65537", "1e300", "null"]) {
    const lie = beat.replace(/"writers":\d+/, `"writers":${writers}`);
    assertThrows(() => readBeat(new TextEncoder().encode(lie)), Error, "writers is");
  }
});
