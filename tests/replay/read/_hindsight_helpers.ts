/**
 * What the tests of hindsight need: replays whose goals say which record achieved them.
 *
 * @module
 */

import {
  type Column,
  ExperienceReplay,
  float32,
  float64,
  type HindsightStrategy,
} from "@exrp/replay";

/** Two numbers. */
export type Goal = Column<"float32", [2]>;

/** A replay whose steps have an achieved and a desired goal. */
export type GoalReplay = ExperienceReplay<GoalSchema>;

/** Its contents. */
export type GoalSchema = {
  state: Column<"float32", [1]>;
  extras: { readonly achieved: Goal; readonly desired: Goal };
};

/** A batch of it. */
export type GoalBatch = Parameters<ReturnType<GoalReplay["newHindsight"]>["relabel"]>[0];

/** Every strategy. */
export const STRATEGIES: readonly HindsightStrategy[] = ["future", "final", "episode", "random"];

/** A replay whose record t of the nth episode achieved the goal [n, t + 1], and desired [-1, -1]. */
export function goalReplay(
  options: {
    length?: number;
    capacity?: number;
    seed?: number;
    allowOpenEnd?: boolean;
    ends?: boolean;
  } = {},
): Promise<GoalReplay> {
  const { length = 1, capacity = 1000, seed = 1, allowOpenEnd = false, ends = false } = options;
  return ExperienceReplay.create({
    capacity,
    segmentLength: capacity,
    state: float32(1),
    extras: { achieved: float32(2), desired: float32(2) },
    pick: { length, allowShort: true, allowOpenEnd, discount: 0.5, ends },
    seed,
  });
}

/** Records `count` steps of the nth episode, which ends unless it is told not to; its handle. */
export function recordGoals(replay: GoalReplay, nth: number, count: number, ends = true): number {
  let episode = replay.newEpisode();
  for (let step = 0; step < count; step++) {
    episode = replay.record(episode, [step], 0, -1, {
      extras: { achieved: [nth, step + 1], desired: [-1, -1] },
      ...(ends && step === count - 1 ? { finalState: [count] } : {}),
    });
  }
  return episode;
}

/** 0 where both goals are one, else -1. */
export function sparse(achieved: Float32Array, desired: Float32Array): Float32Array {
  const reached = (_: number, k: number): boolean =>
    achieved[2 * k] === desired[2 * k] && achieved[2 * k + 1] === desired[2 * k + 1];
  return Float32Array.from({ length: achieved.length / 2 }, (_, k) => reached(0, k) ? 0 : -1);
}

/** States [x, achieved, desired], as an environment with a flattened observation gives them. */
export async function flatReplay(allowOpenEnd = false): Promise<
  ExperienceReplay<{ state: Column<"float64", [3]> }>
> {
  return await ExperienceReplay.create({
    capacity: 100,
    state: float64(3),
    pick: { length: 2, allowShort: true, allowOpenEnd, discount: 0.5 },
    seed: 3,
  });
}
