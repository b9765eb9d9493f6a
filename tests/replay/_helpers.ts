/**
 * What many tests of the facade need.
 *
 * @module
 */

import { assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from "../_assert.ts";
import { type ExperienceReplay, ReplayError, type ReplayErrorCode } from "@exrp/replay";
import type { PickSelector } from "@exrp/replay/selectors";

export { recordEpisode, type SmallReplay, smallReplay } from "../../testing/_small_replay.ts";

/** Asserts that `call` throws a ReplayError of this code, and gives it. */
export function assertReplayError(call: () => unknown, code: ReplayErrorCode): ReplayError {
  const error = assertThrows(call);
  assertInstanceOf(error, ReplayError);
  assertStrictEquals(error.code, code, error.message);
  return error;
}

/** Asserts that a promise is rejected with a ReplayError of this code, and gives it. */
export async function assertReplayRejects(
  promise: Promise<unknown>,
  code: ReplayErrorCode,
): Promise<ReplayError> {
  try {
    await promise;
  } catch (error) {
    assertInstanceOf(error, ReplayError);
    assertStrictEquals(error.code, code, error.message);
    return error;
  }
  throw new Error(`no error; ${code} was expected`);
}

/** A number generator for tests: the same for a seed. */
export function testRandom(seed: number): (bound: number) => number {
  let state = seed + 0x9e3779b9;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let z = Math.imul(state ^ (state >>> 15), 1 | state);
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
    return ((z ^ (z >>> 14)) >>> 0) % bound;
  };
}

/** Everything of a replay that can be seen without changing it. */
export function visibleState(replay: ExperienceReplay): unknown {
  // Memory is left out: a failed call may have taken some for views that are empty still.
  const { memory: _memory, ...description } = replay.describe();
  return {
    ...description,
    episodes: [...replay.episodes().handle].map((handle) => replay.episode(handle)),
  };
}

/**
 * Asserts that two replays hold the same. Their snapshots may differ in the actors: an episode that a call of one step or of many began
 * goes on from another, and one of `newEpisode()` does not.
 */
export function assertSameContents(one: ExperienceReplay, other: ExperienceReplay): void {
  assertEquals(visibleState(one), visibleState(other));
  for (const handle of one.episodes().handle) {
    assertEquals(one.episodeRecords(handle), other.episodeRecords(handle));
  }
}

/** A rule in TypeScript that always draws the first pick, and counts what it is told of. */
export function firstPick(): PickSelector & { count: number } {
  return {
    name: "first",
    count: 0,
    pushed(): void {
      this.count++;
    },
    moved: () => {},
    popped(): void {
      this.count--;
    },
    setPriority: () => {},
    select(_count, out): void {
      out.index.fill(0);
      out.probability.fill(1);
    },
  };
}
