/**
 * What many tests of the facade need.
 *
 * @module
 */

import { assert, assertInstanceOf, assertStrictEquals, assertThrows } from "@std/assert";
import {
  type AnyReplay,
  type Batch,
  type Column,
  type EvictionRule,
  ExperienceReplay,
  float32,
  highestPriority,
  type NoColumns,
  type PickOptions,
  type PickTable,
  ReplayError,
  type ReplayErrorCode,
  type Selector,
  withoutReplacement,
} from "@exrp/replay";

/** A replay of one-number states, as many tests use. */
export type SmallReplay = ExperienceReplay<Column<"float32", readonly [1]>>;

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

/** A replay of one-number states. */
export function smallReplay(
  options: {
    capacity?: number;
    length?: number;
    seed?: number;
    segmentLength?: number;
    eviction?: EvictionRule;
    allowShort?: boolean;
  } = {},
): Promise<SmallReplay> {
  const { capacity = 100, length = 1, seed = 1, eviction, allowShort = false } = options;
  const { segmentLength = capacity } = options;
  return ExperienceReplay.create({
    capacity,
    state: float32(1),
    pick: { length, allowShort },
    seed,
    segmentLength,
    ...(eviction === undefined ? {} : { eviction }),
  });
}

/** Records `count` steps of an episode whose states are `first`, `first + 1`, …, and ends it; gives its handle. */
export function recordEpisode(
  replay: SmallReplay,
  count: number,
  first = 0,
): number {
  let episode = replay.newEpisode();
  for (let step = 0; step < count; step++) {
    const options = step === count - 1 ? { finalState: [first + count] } : undefined;
    episode = replay.record(episode, [first + step], step, 1, options);
  }
  return episode;
}

/** Everything of a replay that can be seen without changing it. */
export function visibleState(replay: AnyReplay): unknown {
  // Memory is left out: a failed call may have taken some for tables that are empty still.
  const { memory: _memory, ...description } = replay.describe();
  return {
    ...description,
    episodes: [...replay.episodes()].map((handle) => replay.episode(handle)),
  };
}

/** What such a replay's states are in a batch: the number of axes hangs on the pick policy. */
type SteppedColumn = Column<"float32", readonly number[]>;

type SteppedReplay = ExperienceReplay<
  Column<"float32", readonly []>,
  Column<"int32", readonly []>,
  Column<"float32", readonly []>,
  NoColumns,
  SteppedColumn
>;

/** A replay whose batches come from one pick policy, of which single picks can be drawn by name. */
export interface Steps extends Disposable {
  readonly replay: SteppedReplay;
  readonly table: PickTable;
  /** Records one episode of these rewards; state k of episode e (counted here from 1) is 10 e + k. */
  record(rewards: readonly number[], end: "terminated" | "truncated" | "open"): number;
  /** The batch that holds nothing but the pick at `position` of an episode. */
  draw(episode: number, position: number): Batch<SteppedColumn>;
}

let priority = 1;

/** Makes a pick the next one that a `highestPriority()` selector draws. */
export function choose(
  replay: AnyReplay,
  selector: Selector,
  episode: number,
  position: number,
): void {
  assertStrictEquals(replay.setPriority(selector, [episode], [position], [++priority]), 1);
}

/** Makes a replay of one-number states with this pick policy. */
export async function stepsReplay(
  pick: PickOptions,
  options: { segmentLength?: number } = {},
): Promise<Steps> {
  const replay = await ExperienceReplay.create({
    capacity: 100,
    segmentLength: 100,
    seed: 1,
    state: float32(),
    ...options,
    pick,
  }) as unknown as SteppedReplay;
  const [table] = replay.pickTables;
  assert(table);
  const selector = replay.newPickSelector(highestPriority());
  let named = 0;
  return {
    replay,
    table,
    record(rewards, end): number {
      const name = ++named;
      let episode = replay.newEpisode();
      for (const [step, reward] of rewards.entries()) {
        const last = step === rewards.length - 1 && end !== "open";
        const ends = { finalState: 10 * name + step + 1, truncated: end === "truncated" };
        episode = replay.record(episode, 10 * name + step, 0, reward, last ? ends : {});
      }
      return episode;
    },
    draw(episode, position): Batch<SteppedColumn> {
      choose(replay, selector, episode, position);
      return replay.getBatch(1, selector);
    },
    [Symbol.dispose]: () => replay[Symbol.dispose](),
  };
}

/** The positions of all picks of a table, in order; with several episodes, one episode after the other. */
export function positions(replay: AnyReplay, table: PickTable): number[] {
  if (table.pickCount === 0) return [];
  const selector = table.newPickSelector(withoutReplacement());
  const { pickEpisode, pickPosition } = replay.getBatch(table.pickCount, selector) as Batch;
  const order = [...pickEpisode.keys()].sort((a, b) =>
    (pickEpisode[a] ?? 0) - (pickEpisode[b] ?? 0) || (pickPosition[a] ?? 0) - (pickPosition[b] ?? 0)
  );
  return order.map((k) => pickPosition[k] ?? -1);
}
