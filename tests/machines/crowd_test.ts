/**
 * Many actors and many shards in one process, on a simulated network: each record is there once, no actor starves, and what a learner draws of each shard follows the
 * sums of weights. `EXRP_CROWD_ACTORS` and `EXRP_CROWD_SHARDS` make it larger, and `EXRP_MACHINE_SEED` is its seed.
 *
 * @module
 */

import { connectShards } from "@exrp/replay/shards";
import { assert, assertEquals } from "../_assert.ts";
import { pause } from "../_wait.ts";
import { Fabric } from "../shards/_fabric.ts";
import { type Numbered, numbersOf } from "../shards/_numbered.ts";
import { ChiSquare } from "../whole/statistics/chi_square.ts";
import { SimulatedActor } from "./_simulated_actor.ts";
import { priorityOf } from "./_simulated_learner.ts";
import { SimulatedShard } from "./_simulated_shard.ts";

const ACTORS = Number(Deno.env.get("EXRP_CROWD_ACTORS") ?? 24);
const SHARDS = Number(Deno.env.get("EXRP_CROWD_SHARDS") ?? 4);
const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
/** Long beside the second in which actors begin, and the one in which an actor stands still whose message was lost. */
const WRITE_MS = 3000;
const [BATCHES, SIZE] = [40, 50 * SHARDS];

/** The least, the median and the largest of some numbers. */
function spread(
  numbers: readonly number[],
): readonly [least: number, median: number, largest: number] {
  const sorted = numbers.toSorted((a, b) => a - b);
  return [sorted[0] ?? 0, sorted[sorted.length >> 1] ?? 0, sorted.at(-1) ?? 0];
}

function mebibytes(): number {
  return Math.round(Deno.memoryUsage().rss / 2 ** 20);
}

Deno.test({
  name: `${ACTORS} actors, ${SHARDS} shards and a learner (seed ${SEED})`,
  ignore: Deno.env.get("EXRP_BACKEND") === "wasm",
  fn: async () => {
    const fabric = new Fabric({ seed: SEED, loss: 0.001, twice: 0.001, delayMs: [0.05, 2] });
    const folder = await Deno.makeTempDir({ prefix: "exrp-crowd-" });
    const memory = [mebibytes()];
    const told: string[] = [];
    try {
      await fabric.run(() => crowd(fabric, folder, memory, told));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
    console.log(`${ACTORS} actors, ${SHARDS} shards, seed ${SEED}: ${told.join("; ")}`);
    console.log(`MiB before, with shards, with actors, at the end: ${memory.join(", ")}`);
  },
});

async function crowd(
  fabric: Fabric,
  folder: string,
  memory: number[],
  told: string[],
): Promise<void> {
  const shards = Array.from(
    { length: SHARDS },
    (_, k) => new SimulatedShard(fabric, `shard-${k}`, `${folder}/${k}`),
  );
  for (const shard of shards) shard.begin();
  await fabric.until("all shards serve", () => shards.every(({ isServing }) => isServing));
  memory.push(mebibytes());
  const actors = Array.from(
    { length: ACTORS },
    (_, k) =>
      new SimulatedActor(fabric, fabric.peer(`actor-${k}`), {
        ...{ first: 2 * k, environments: 2, records: 5000, isPlain: true },
        ...{ chunkBytes: 2 ** 14, unconfirmedBytes: 2 ** 18 },
      }),
  );
  // They begin within a second, as where a job of many processes is started.
  for (const actor of actors) {
    await fabric.pause(1000 / ACTORS);
    actor.begin();
  }
  await fabric.until("all actors write", () => actors.every(({ written }) => written[0] !== 0));
  memory.push(mebibytes());
  const { count, bytes } = fabric.messages;
  await fabric.pause(WRITE_MS);
  const later = fabric.messages;
  const seconds = WRITE_MS / 1000;
  told.push(
    `${Math.round((later.count - count) / seconds)} messages and ${
      ((later.bytes - bytes) / seconds / 2 ** 20).toFixed(1)
    } MiB a second over all links`,
  );
  const sum = (of: readonly number[]): number => of.reduce((all, each) => all + each, 0);
  const confirmed = actors.map((actor) => sum(actor.confirmed));
  told.push(`an actor's confirmed records: ${spread(confirmed).join(", ")}`);
  // Each waits as often, so all write about as much. One whose message was lost in a flush stands still for a second.
  const [fewest, median] = spread(actors.map(({ written }) => sum(written)));
  assert(fewest > median / 5, `an actor wrote ${fewest} records, and the median is ${median}`);
  for (const actor of actors) actor.isEnough = true;
  for (const { options } of actors) Object.assign(options, { records: 0 });
  await fabric.until("all actors are done", () => actors.every(({ isDone }) => isDone));
  const records = shards.map(({ replay }) => replay?.recordCount ?? 0);
  told.push(`a shard's records: ${spread(records).join(", ")}`);
  assert(records.every((each) => each > 0), `a shard has no record: ${records.join()}`);
  check(shards, actors);
  await draw(fabric, shards, told);
  for (const { writer } of actors) writer?.abandon();
  for (const shard of shards) {
    shard.peer.kill();
    await shard.bury();
  }
  memory.push(mebibytes());
}

/** Each record that was written is there once. */
function check(shards: readonly SimulatedShard[], actors: readonly SimulatedActor[]): void {
  const there = new Map<number, number[]>();
  for (const { replay } of shards) {
    if (replay === undefined) throw new Error("a shard is gone");
    for (const [environment, numbers] of numbersOf(replay)) {
      there.set(environment, [...there.get(environment) ?? [], ...numbers]);
    }
  }
  for (const { options, written } of actors) {
    for (const [k, count] of written.entries()) {
      const numbers = (there.get(options.first + k) ?? []).sort((a, b) => a - b);
      assertEquals(numbers, Array.from({ length: count }, (_, number) => number));
    }
  }
}

/** Draws, with priorities that no two shards have the same of, and compares the counts with the sums. */
async function draw(
  fabric: Fabric,
  shards: readonly SimulatedShard[],
  told: string[],
): Promise<void> {
  for (const [k, { replay }] of shards.entries()) {
    const [selector] = replay?.selectors ?? [];
    if (replay === undefined || selector === undefined) throw new Error("a shard is gone");
    for (const episode of replay.episodes().handle) {
      const { recordCount } = replay.episode(episode);
      const positions = Int32Array.from({ length: recordCount }, (_, at) => at);
      replay.setPriority(
        selector,
        new Float64Array(recordCount).fill(episode),
        positions,
        Float64Array.from(positions, (at) => priorityOf(k, at) ** (1 + k % 5)),
      );
    }
  }
  const peer = fabric.peer("learner");
  let isDone = false;
  peer.run(async () => {
    const learner = await connectShards<Numbered>(peer.connect(), {
      shards: SHARDS,
      seed: SEED,
      timeoutMs: 600_000,
    });
    await pause(1000);
    const sums = learner.figures().shards.map(({ name, sum }) => [name, sum] as const);
    const total = sums.reduce((all, [, sum]) => all + sum, 0);
    const counts = new Map<string, number>();
    const { redrawn } = learner.figures();
    for (let k = 0; k < BATCHES; k++) {
      const batch = await learner.getBatch(SIZE);
      for (const { shard, count } of learner.keysOf(batch as never).origins) {
        counts.set(shard, (counts.get(shard) ?? 0) + count);
      }
      batch[Symbol.dispose]();
    }
    const test = new ChiSquare();
    const drawn = sums.map(([name]) => counts.get(name) ?? 0);
    const expected = sums.map(([, sum]) => BATCHES * SIZE * sum / total);
    test.add(drawn, expected);
    const lost = learner.figures().redrawn - redrawn;
    told.push(
      `${BATCHES * SIZE} picks follow the sums of ${SHARDS} shards, which are ${
        spread(sums.map(([, sum]) => sum)).map((sum) => sum.toFixed(1)).join(", ")
      }: chi-square tail ${test.tail.toFixed(4)}, ${lost} parts were drawn again`,
    );
    // Where a message was lost, other shards gave the part of one for three seconds.
    if (lost === 0) assert(test.tail > 1e-4, `the tail is ${test.tail}`);
    await learner.close();
    isDone = true;
  }).catch((error) => fabric.fail(error));
  // From here on, no message is lost.
  for (const each of [peer, ...shards.map((shard) => shard.peer)]) each.link({ loss: 0, twice: 0 });
  await fabric.until("the learner is done", () => isDone, 600_000);
}
