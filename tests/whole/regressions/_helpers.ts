/**
 * A small replay whose records say where they come from: the state of step k of episode e is `100 * e + k`.
 *
 * @module
 */

import {
  type Column,
  type CreateOptions,
  ExperienceReplay,
  float32,
  type PickOptions,
  ReplayError,
  type ReplayErrorCode,
  type Selector,
  uniform,
} from "@exrp/replay";
import type { AnyPick } from "@exrp/replay/types";
import { assertStrictEquals, assertThrows } from "../../_assert.ts";

/** A replay of one number a state. */
export type Small = ExperienceReplay<{ state: Column<"float32", []>; pick: AnyPick }>;

/** Makes a small replay, of which no episode is cut unless `segmentLength` says so. */
export async function small(
  options: Omit<CreateOptions, "state" | "action" | "reward" | "extras"> = { capacity: 100 },
): Promise<Small> {
  return await ExperienceReplay.create({
    seed: 7,
    segmentLength: options.capacity,
    ...options,
    state: float32(),
  });
}

/** Records a whole episode, number `name`, of `count` records; its final state is `100 * name + count`. */
export function recordEpisode(
  replay: Small,
  name: number,
  count: number,
  end: "terminated" | "truncated" | "open" = "terminated",
): number {
  let episode = replay.newEpisode();
  for (let step = 0; step < count; step++) {
    const last = step === count - 1 && end !== "open";
    const options = last ? { finalState: 100 * name + count, truncated: end === "truncated" } : {};
    episode = replay.record(episode, 100 * name + step, step, step, options);
  }
  return episode;
}

/** All picks there are, each drawn once: [pickEpisode, pickPosition]. */
export function allPicks(replay: Small, selector: Selector): [number, number][] {
  const found = new Map<string, [number, number]>();
  for (let round = 0; round < 400 && found.size < replay.pickCount; round++) {
    const { pickEpisode, pickPosition } = replay.getBatch(64, selector);
    for (const [k, episode] of pickEpisode.entries()) {
      const pick: [number, number] = [episode, pickPosition[k] ?? -1];
      found.set(pick.join(), pick);
    }
  }
  return [...found.values()].toSorted(([a, b], [c, d]) => a - c || b - d);
}

/** The call throws a `ReplayError` of this code. */
export function assertCode(call: () => unknown, code: ReplayErrorCode): void {
  assertStrictEquals(assertThrows(call, ReplayError).code, code);
}

/** Integers 0 to count - 1. */
export function range(count: number): number[] {
  return Array.from({ length: count }, (_, k) => k);
}

/**
 * One step of each environment. Episode `name` of environment k has 3 + k steps. Its first state is 1000 * name + 100 *
 * k, and each step adds 1. Rewards are 1, 2, …. The episode is terminated where `name` is even, truncated where it is
 * odd.
 */
export function stepAll(
  replay: Small,
  episodes: Float64Array,
  clocks: number[],
  name: number[],
): void {
  const state = clocks.map((clock, k) => 1000 * (name[k] ?? 0) + 100 * k + clock);
  const done = clocks.map((clock, k) => clock === 2 + k);
  replay.recordBatch(episodes, {
    state: Float32Array.from(state),
    action: Int32Array.from(clocks.keys()),
    reward: Float32Array.from(clocks, (clock) => clock + 1),
    nextState: Float32Array.from(state, (value) => value + 1),
    terminated: done.map((isDone, k) => isDone && (name[k] ?? 0) % 2 === 0),
    truncated: done.map((isDone, k) => isDone && (name[k] ?? 0) % 2 === 1),
  });
  for (const k of clocks.keys()) {
    clocks[k] = done[k] ? 0 : (clocks[k] ?? 0) + 1;
    if (done[k]) name[k] = (name[k] ?? 0) + 1;
  }
}

/** `steps` steps of `count` environments in a new replay. */
export async function manyEnvironments(
  count: number,
  steps: number,
  capacity: number,
  pick: PickOptions,
): Promise<[replay: Small, selector: Selector]> {
  const replay = await small({ capacity, pick: { discount: 0.5, ...pick } });
  const selector = replay.newPickSelector(uniform());
  const episodes = Float64Array.from({ length: count }, () => replay.newEpisode());
  const [clocks, names] = [range(count).map(() => 0), range(count).map(() => 0)];
  for (const _ of range(steps)) stepAll(replay, episodes, clocks, names);
  return [replay, selector];
}
