/** A learner that draws from shards that live and are slow, or over a slow network, gets its batches. */
import { assert, assertStrictEquals } from "../_assert.ts";
import { ExperienceReplay, uniform } from "@exrp/replay";
import {
  type Connection,
  connectShards,
  localConnection,
  serveShard,
  type ShardsFigures,
} from "@exrp/replay/shards";
import { Fabric } from "./_fabric.ts";
import { localShard } from "./_local.ts";
import { NUMBERED } from "./_numbered.ts";

/** What is slow. */
interface Slow {
  readonly shards: number;
  readonly size: number;
  readonly prefetch?: number;
  /** How many bytes go through the cable of each shard, and that of the learner, in a ms. */
  readonly bytesPerMs?: number;
  readonly learnerBytesPerMs?: number;
  /** How long a shard takes for an answer. */
  readonly answerMs?: number;
}

const BATCHES = 10;
const PATIENCE_MS = 600_000;

/** Delays the answers of a shard, one after the other, and not its heartbeats. */
function slowly<T extends Connection>(connection: T, answerMs: number): T {
  const publish = connection.publish.bind(connection);
  let freeAt = 0;
  connection.publish = (subject, data, options) => {
    const isPicks = data?.[0] === 0x58 && data[1] === 0x50 && data[2] === 0x4b;
    if (!isPicks) return publish(subject, data, options);
    freeAt = Math.max(freeAt, performance.now()) + answerMs;
    setTimeout(() => publish(subject, data, options), freeAt - performance.now());
  };
  return connection;
}

/** Draws ten batches. Returns how long it took, in virtual ms, and what the learner and the shards say of it. */
async function draw(slow: Slow): Promise<
  {
    readonly ms: number;
    readonly figures: ShardsFigures;
    readonly drawn: number;
    readonly left: number;
  }
> {
  const { shards: count, size, prefetch = 0, answerMs = 0 } = slow;
  const { bytesPerMs = Infinity, learnerBytesPerMs = Infinity } = slow;
  const fabric = new Fabric({ seed: 1 });
  const replays = await Promise.all(Array.from({ length: count }, async () => {
    const replay = await ExperienceReplay.create(NUMBERED);
    replay.newPickSelector(uniform());
    replay.recordMany(replay.newEpisode(), { state: [1, 0, 2, 0], action: [1, 2], reward: [1, 2] });
    return replay as unknown as ExperienceReplay;
  }));
  try {
    return await fabric.run(async () => {
      const served = await Promise.all(replays.map((replay, k) => {
        const peer = fabric.peer(`shard-${k}`, { bytesPerMs });
        const name = `shard-${k}`;
        return peer.run(() => serveShard(replay, slowly(peer.connect(), answerMs), { name }));
      }));
      const learner = fabric.peer("learner", { bytesPerMs: learnerBytesPerMs });
      return await learner.run(async () => {
        let left = 0;
        await using shards = await connectShards(learner.connect(), {
          shards: count,
          seed: 1,
          onChange: ({ kind }) => left += kind === "left" ? 1 : 0,
        });
        const begin = fabric.now;
        const signal = AbortSignal.timeout(PATIENCE_MS);
        let batches = 0;
        for await (const batch of shards.batches(size, { prefetch, signal })) {
          assertStrictEquals(batch.size, size);
          if (++batches === BATCHES) break;
        }
        const drawn = served.reduce((sum, shard) => sum + shard.figures().drawn, 0) / size;
        return { ms: fabric.now - begin, figures: shards.figures(), drawn, left };
      });
    });
  } finally {
    for (const replay of replays) replay[Symbol.dispose]();
  }
}

Deno.test("batches come over a cable on which a whole message takes two seconds, and nothing is drawn twice", async () => {
  const { figures: { redrawn }, drawn, left } = await draw({
    shards: 1,
    size: 50_000,
    bytesPerMs: 500,
  });
  assertStrictEquals(redrawn, 0);
  assertStrictEquals(drawn, BATCHES);
  assertStrictEquals(left, 0);
});

Deno.test("a shard whose answers wait behind another one's on the learner's cable is not dead", async () => {
  const { figures: { redrawn }, left } = await draw({
    shards: 2,
    size: 100_000,
    learnerBytesPerMs: 1000,
  });
  assertStrictEquals(redrawn, 0);
  assertStrictEquals(left, 0);
});

Deno.test("requests that wait for those before them are not given up", async () => {
  const { figures: { redrawn }, ms } = await draw({
    shards: 1,
    size: 32,
    prefetch: 2,
    answerMs: 300,
  });
  assertStrictEquals(redrawn, 0);
  assert(ms < (BATCHES + 1) * 300, `it took ${ms} ms`);
});

Deno.test("where all shards take longer than is waited for at first, batches come all the same", async () => {
  for (const answerMs of [900, 1500, 2500]) {
    for (const [shards, prefetch] of [[1, 0], [3, 0], [1, 2]] as const) {
      const { ms, drawn } = await draw({ shards, size: 32, prefetch, answerMs });
      assert(ms < 3 * BATCHES * answerMs, `${shards} shards, ${prefetch} ahead: it took ${ms} ms`);
      assert(drawn < 3 * BATCHES, `shards drew ${drawn} batches`);
    }
  }
});

Deno.test("a learner that computes for seconds does not give up a batch that came meanwhile", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", [1, 2, 3]);
  await using shards = await connectShards(connection, { seed: 1 });
  const drawn = shards.getBatch(32);
  // The request is on its way, and the answer waits to be read.
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  await drawn;
  assertStrictEquals(shards.figures().redrawn, 0);
});
