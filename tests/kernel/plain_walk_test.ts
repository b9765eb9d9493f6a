/**
 * Batches that kernel/plain_walk.hpp copies hold what the general ways copy: a twin with one wide column more, which the walk
 * doesn't take, draws the same picks.
 *
 * @module
 */

import {
  type Column,
  ExperienceReplay,
  float32,
  float64,
  int16,
  int32,
  type PickOptions,
  RandomStream,
  uint8,
  uniform,
} from "@exrp/replay";
import { assert, assertEquals } from "@std/assert";

type Numbers = ExperienceReplay<
  Column<"float32", readonly number[]>,
  Column,
  Column<"float32", readonly []>,
  { wide: Column<"uint8", readonly [number]> }
>;

// 1 to 128 bytes: every width that the walk has a way of its own for, and those between.
const actions: Column[] = [
  uint8(),
  int16(),
  uint8(3),
  uint8(7),
  int32(),
  float64(),
  uint8(9),
  float32(3),
  uint8(15),
  float32(4),
  uint8(17),
  float32(7),
  float32(8),
  float32(12),
  uint8(65),
  float64(12),
  uint8(101),
  uint8(128),
];
const picks: PickOptions[] = [
  { length: 1 },
  { length: 1, allowOpenEnd: true },
  { length: 2, stride: 3 },
  { length: 8, allowShort: true, discount: 0.5 },
  { length: 17, allowShort: true, allowOpenEnd: true },
  { length: 40 },
  { length: 1, nextState: "overlap" },
  { length: 6, nextState: "overlap", allowShort: true },
  { length: 8, nextState: false, allowOpenEnd: true },
  { length: 1, nStep: 3, discount: 0.9 },
  { length: 1, nStep: [1, 3, 5], discount: 0.99, nextState: "copy" },
  { length: 1, nStep: [7, 2], discount: 0.7, allowShort: true, allowOpenEnd: true },
  { length: 4, nStep: [2, 30], discount: 0.95, nextState: "overlap" },
  { length: 3, nStep: [1, 64], discount: 0.97, allowShort: true, stride: 2 },
  { length: 1, nStep: [65, 4], discount: 1 },
];
const parts = [
  "state",
  "action",
  "reward",
  "nextState",
  "discount",
  "seqLen",
  "nextSeqLen",
  "pickEpisode",
  "pickPosition",
  "probability",
  "importanceWeight",
] as const;

async function make(
  state: number,
  action: Column,
  pick: PickOptions,
  wide: number,
  blockLength: number,
): Promise<Numbers> {
  return await ExperienceReplay.create({
    capacity: 600,
    state: float32(state),
    action,
    // The walk takes up to 32 bytes beside the state; a column of more than 128 stands alone.
    extras: { wide: uint8(wide) },
    pick,
    segmentLength: 90,
    blockLength,
    seed: 11,
  }) as unknown as Numbers;
}

/** Every part of a batch, by name. */
function partsOf(batch: ReturnType<Numbers["getBatch"]>): [string, ArrayLike<number>][] {
  return [
    ...parts.map((part): [string, ArrayLike<number>] => [part, batch[part]]),
    ...batch.nStep.flatMap(({ n, reward, nextState, discount }): [string, ArrayLike<number>][] => [
      [`${n}-step reward`, reward],
      [`${n}-step nextState`, nextState],
      [`${n}-step discount`, discount],
    ]),
  ];
}

/** The same records into both, by three actors in turn, so that episodes lie torn over the pool; some are left open. */
function recordInto(
  replay: Numbers,
  seed: number,
  { size, action, wide }: { size: number; action: Column; wide: number },
): void {
  const random = new RandomStream(seed, 0);
  const actionSize = action.shape.reduce((product, n) => product * n, 1);
  const numbers = (count: number) =>
    Array.from({ length: count }, () => Math.floor(100 * random.uniform()));
  const episodes = [0, 1, 2].map(() => replay.newEpisode());
  for (let step = 0; step < 1500; step++) {
    const actor = Math.floor(3 * random.uniform());
    const handle = episodes[actor] ?? -1;
    const [state, taken] = [numbers(size), numbers(actionSize)];
    const value = action.shape.length === 0 ? taken[0] ?? 0 : taken;
    const end = random.uniform();
    const extras = { wide: new Uint8Array(wide) };
    const reward = random.uniform() - 0.5;
    if (end > 0.012) {
      episodes[actor] = replay.record(handle, state, value as number, reward, { extras });
      continue;
    }
    const finalState = numbers(size);
    replay.record(handle, state, value as number, reward, {
      extras,
      finalState,
      truncated: end < 0.004,
    });
    episodes[actor] = replay.newEpisode();
  }
}

Deno.test("the plain walk copies what the general ways copy", async () => {
  const seed = Math.floor(2 ** 31 * Math.random());
  console.log(`seed ${seed}`);
  const random = new RandomStream(seed, 1);
  for (let state = 1; state <= 32; state++) {
    const action = actions[state % actions.length] ?? uint8();
    // Each policy with every other width: all of both, with half the pairs.
    for (const pick of picks.filter((_, k) => (k + state) % 2 === 0)) {
      const blockLength = [2, 16, 64][Math.floor(3 * random.uniform())] ?? 16;
      using walked = await make(state, action, pick, 8, blockLength);
      using general = await make(state, action, pick, 129, blockLength);
      recordInto(walked, seed, { size: state, action, wide: 8 });
      recordInto(general, seed, { size: state, action, wide: 129 });
      const [one, two] = [walked.newPickSelector(uniform()), general.newPickSelector(uniform())];
      assert(walked.pickCount > 0, `state of ${state}, ${JSON.stringify(pick)}`);
      for (const size of [1, 31, 64, 200]) {
        const into = walked.getBatch(size, one);
        into.bytes.fill(0xee);
        general.getBatch(size, two);
        // One more draw of both: into memory that isn't zero, and into fresh one.
        walked.getBatch(size, one, { into });
        const expected = new Map(partsOf(general.getBatch(size, two)));
        for (const [part, value] of partsOf(into)) {
          assertEquals(
            value,
            expected.get(part),
            `${part} of ${size}: state of ${state} numbers, ${action.dtype} ${action.shape}, ${
              JSON.stringify(pick)
            }`,
          );
        }
      }
    }
  }
});
