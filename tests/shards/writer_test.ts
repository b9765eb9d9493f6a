/** What an actor records through. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import { until } from "../_wait.ts";
import { bool, ExperienceReplay, float32, int32, uint8, uniform } from "@exrp/replay";
import { ActorWriter } from "@exrp/replay/actors";
import { replayWriter } from "@exrp/replay/learner";
import {
  type Connection,
  connectShards,
  localConnection,
  serveShard,
  type ShardWriter,
  shardWriter,
} from "@exrp/replay/shards";
import { LossyNet } from "./_lossy.ts";
import { localShard } from "./_local.ts";
import { testRandom } from "../replay/_helpers.ts";

/** What writes one record, which is an episode. */
function recorderOf(writer: ShardWriter): () => number {
  const replay = writer.replay as unknown as Recording;
  return () => replay.record(replay.newEpisode(), [1, 0], 1, 1, { finalState: [2, 0] });
}

/** A writer that has written a record. */
async function writerOf(connection: Connection, options: object): Promise<ShardWriter> {
  const writer = await shardWriter(connection, options);
  recorderOf(writer)();
  await writer.flush();
  return writer;
}

interface Recording {
  newEpisode(options?: object): number;
  record(...of: unknown[]): number;
  recordMany(...of: unknown[]): number;
  recordFlat(...of: unknown[]): { episode: number };
}

Deno.test("wide columns are packed on the way, and come as they were (seed 5)", async () => {
  const random = testRandom(5);
  const connection = localConnection();
  const options = {
    capacity: 5000,
    state: { image: uint8(40, 40), speed: float32(2) },
    action: float32(60),
    extras: { mask: bool(200), id: int32() },
    compression: "small",
  } as const;
  using replay = await ExperienceReplay.create(options);
  using twin = await ExperienceReplay.create(options);
  replay.newPickSelector(uniform());
  await using shard = await serveShard(replay as never, connection, { name: "a" });
  await using writer = await shardWriter(connection, { chunkBytes: 2 ** 16 });
  const sizes = [1, 2, 15, 16, 17, 33, 100];
  for (const into of [writer.replay as unknown as Recording, twin as unknown as Recording]) {
    const again = testRandom(9);
    let episode = into.newEpisode({ tag: 4 });
    for (const count of sizes) {
      const image = new Uint8Array(1600 * count).fill(9);
      for (let k = 0; k < 40 * count; k++) image[again(image.length)] = again(256);
      const noise = count === 33;
      if (noise) image.forEach((_, k) => image[k] = again(256));
      const truncated = Array.from({ length: count }, (_, k) => k % 20 === 19);
      const state = { image, speed: new Float32Array(2 * count).map(() => again(100)) };
      episode = into.recordFlat(episode, {
        state,
        action: new Float32Array(60 * count).map(() => again(3)),
        reward: new Float32Array(count).map((_, k) => k),
        extras: {
          mask: new Uint8Array(200 * count).map(() => again(2)),
          id: new Int32Array(count),
        },
        truncated,
        nextState: state,
        priority: new Float32Array(count).map(() => again(5)),
      }).episode;
    }
  }
  await writer.flush();
  assertEquals(replay.recordCount, sizes.reduce((a, b) => a + b));
  const [own, other] = [replay.episodes(), twin.episodes()];
  assertEquals([...own.tag], [...other.tag]);
  assertEquals([...own.length], [...other.length]);
  for (const [k, episode] of own.handle.entries()) {
    const { episode: _a, ...mine } = replay.episodeRecords(episode) as unknown as {
      episode: number;
    };
    const { episode: _b, ...its } = twin.episodeRecords(other.handle[k] ?? -1) as unknown as {
      episode: number;
    };
    assertEquals(mine, its);
  }
  assertEquals(shard.figures().damaged, 0);
  assert(random(2) < 2);
});

Deno.test("an ActorWriter and a replayWriter take the replay of a shard's writer", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", []);
  await using writer = await shardWriter(connection);
  {
    using actor = new ActorWriter(writer.replay, { flushSteps: 3 });
    for (let k = 0; k < 10; k++) {
      actor.step(
        {
          state: [k, 0],
          action: k % 7,
          reward: k,
          terminated: false,
          nextState: [k + 1, 0],
        } as never,
      );
    }
  }
  const steps = replayWriter(writer.replay);
  await steps.append(
    { state: [70, 0], action: 0, reward: 70, terminated: true, nextState: [71, 0] } as never,
  );
  await steps.close();
  await writer.flush();
  const { length, end } = a.replay.episodes() as unknown as { length: Uint32Array; end: unknown[] };
  assertEquals([...length], [10, 1]);
  assertEquals(a.replay.episode(a.replay.episodes().handle[0] ?? -1).ending, "truncated");
  assert(end !== undefined);
});

Deno.test("calls that a replay refuses are refused, and reach no shard", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", []);
  await using writer = await shardWriter(connection);
  const replay = writer.replay as unknown as Recording & ExperienceReplay;
  assertThrows(() => replay.record(replay.newEpisode(), [1], 0, 0), RangeError);
  const episode = replay.newEpisode();
  replay.record(episode, [1, 0], 1, 1, { finalState: [2, 0] });
  assertThrows(() => replay.record(episode, [1, 0], 1, 1), Error, "is not in the replay any more");
  assertThrows(() => replay.record(99, [1, 0], 1, 1), Error, "99");
  const steps = { state: [1, 0, 1, 0], action: [1, 1], reward: [1, 1] };
  const handle = replay.newEpisode();
  assertThrows(
    () => replay.recordBatch(Float64Array.of(handle, handle), steps as never),
    Error,
    "both record into",
  );
  assertThrows(
    () => replay.getBatch(1, replay.newPickSelector(uniform())),
    Error,
    "no pick to draw",
  );
  await writer.flush();
  assertEquals(a.replay.recordCount, 1);
});

Deno.test("a writer holds records back while too much is not confirmed, and goes on with another shard", async () => {
  const net = new LossyNet(testRandom(3), { lost: 0, doubled: 0, delayMs: 0 });
  await using a = await localShard(net.node("a"), "a", []);
  await using writer = await shardWriter(net.node("w"), {
    unconfirmedBytes: 2 ** 16,
    sendIntervalMs: 1,
  });
  const replay = writer.replay as unknown as Recording & ExperienceReplay;
  let episode = replay.newEpisode();
  const step = { state: [7, 0], action: 0, reward: 7, nextState: [8, 0], terminated: false };
  replay.recordStep(episode, step as never);
  await writer.flush();
  net.cut("a");
  let taken = 1;
  assertThrows(
    () => {
      for (;; taken++) episode = replay.recordStep(episode, step as never);
    },
    Error,
    "and 65536 may wait (unconfirmedBytes); record again once it has",
  );
  await assertRejects(() => writer.flush({ timeoutMs: 10 }), Error, "not confirmed within 10 ms");
  await using b = await localShard(net.node("b"), "b", []);
  await until("it has moved", () => writer.figures().shard === "b");
  net.cut("a", false);
  await replay.whenReady(() => episode = replay.recordStep(episode, step as never), {
    timeoutMs: 100_000,
  });
  await writer.flush();
  assertEquals([a.replay.recordCount, b.replay.recordCount], [taken, 1]);
  // The episode in the old shard has ended where the actor left it.
  const [old = -1] = a.replay.episodes().handle;
  assertEquals(a.replay.episode(old).ending, "truncated");
  assertEquals(writer.figures().moves, 1);
});

Deno.test("a writer takes the shard with fewer writers, whichever answers first", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", []);
  await using _first = await writerOf(connection, { shard: "a" });
  await using _b = await localShard(connection, "b", [1, 2, 3]);
  for (let k = 0; k < 8; k++) {
    const writer = await shardWriter(connection);
    assertEquals(writer.figures(), { ...writer.figures(), shard: "b", moves: 0 });
    writer.abandon();
  }
});

Deno.test("a shard that comes back without its records gets what is left under another name", async () => {
  const net = new LossyNet(testRandom(3), { lost: 0, doubled: 0, delayMs: 0 });
  await using writerShard = await localShard(net.node("a1"), "a", []);
  await using writer = await shardWriter(net.node("w"), { sendIntervalMs: 1, shard: "a" });
  const record = recorderOf(writer);
  record();
  await writer.flush();
  net.cut("a1");
  record();
  record();
  await using again = await localShard(net.node("a2"), "a", []);
  record();
  await writer.flush();
  assertEquals([writerShard.replay.recordCount, again.replay.recordCount], [1, 3]);
});

Deno.test("a shard that comes back with other columns costs its writer one error, and no wait", async () => {
  for (const shard of ["a", undefined]) {
    const net = new LossyNet(testRandom(3), { lost: 0, doubled: 0, delayMs: 0 });
    await using _before = await localShard(net.node("a1"), "a", []);
    const options = { sendIntervalMs: 1, ...shard === undefined ? {} : { shard } };
    const writer = await shardWriter(net.node("w"), options);
    const record = recorderOf(writer);
    record();
    await writer.flush();
    net.cut("a1");
    record();
    await assertRejects(() => writer.flush({ timeoutMs: 1 }), Error, "not confirmed within");
    const { unconfirmedBytes } = writer.figures();
    using changed = await ExperienceReplay.create({ capacity: 10, state: float32(5) });
    changed.newPickSelector(uniform());
    await using _after = await serveShard(changed as never, net.node("a2"), { name: "a" });
    const words = `the shard a has other columns than before: ${unconfirmedBytes} bytes`;
    await assertRejects(() => writer.flush(), Error, words);
    assertEquals(writer.figures().unconfirmedBytes, 0);
    await writer.flush();
    if (shard === undefined) {
      // Another one takes what comes, and the writer is as free to go as any.
      await using b = await localShard(net.node("b"), "b", []);
      await until("it has moved", () => writer.figures().shard === "b");
      record();
      await writer.flush();
      assertEquals(b.replay.recordCount, 1);
      await writer.close();
      continue;
    }
    record();
    await assertRejects(() => writer.close(), Error, "the shard a has other columns than before");
    await writer.close();
  }
});

Deno.test("a writer may go on while a shard that it left has other columns", async () => {
  const net = new LossyNet(testRandom(3), { lost: 0, doubled: 0, delayMs: 0 });
  await using _before = await localShard(net.node("a1"), "a", []);
  await using writer = await shardWriter(net.node("w"), { sendIntervalMs: 1, stayMs: 100 });
  const record = recorderOf(writer);
  record();
  await writer.flush();
  net.cut("a1");
  record();
  await using _b = await localShard(net.node("b"), "b", []);
  await until("it has moved", () => writer.figures().shard === "b");
  using changed = await ExperienceReplay.create({ capacity: 10, state: float32(5) });
  changed.newPickSelector(uniform());
  await using _after = await serveShard(changed as never, net.node("a2"), { name: "a" });
  await assertRejects(() => writer.flush(), Error, "the shard a has other columns than before");
  record();
  await writer.flush();
  const crowd = await Promise.all([1, 2, 3].map(() => writerOf(net.node("x"), { shard: "b" })));
  await using _c = await localShard(net.node("c"), "c", []);
  await until("it has gone to the empty shard", () => writer.figures().shard === "c");
  for (const each of crowd) await each.close();
});

Deno.test("connecting without a shard ends by its timeout", async () => {
  const connection = localConnection();
  await assertRejects(
    () => shardWriter(connection, { timeoutMs: 5 }),
    Error,
    "no shard was there within 5 ms",
  );
  await assertRejects(
    () => connectShards(connection, { timeoutMs: 5 }),
    Error,
    "0 of 1 shards were there",
  );
  await assertRejects(() => shardWriter(connection, { chunkBytes: 3 }), RangeError, "chunkBytes");
  await assertRejects(() => connectShards(connection, { shard: 3 } as never), TypeError, "shard");
});
