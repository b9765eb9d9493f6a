/**
 * Assertions for the checks of selectors and eviction policies. A failure speaks in the words of the public API.
 *
 * @module
 */

import { type Batch, type ExperienceReplay, ReplayError, type ReplayErrorCode } from "../mod.ts";

/** The parts of a batch that a failure shows. */
type AnyBatch = Pick<
  Batch,
  "bytes" | "size" | "pickEpisode" | "pickPosition" | "probability" | "importanceWeight"
>;

/** A hint for a selector that leaves picks out on purpose. */
export const SOME_ONLY_HINT = "; a rule that never draws some picks says so by someOnly: true";

/** Fails with the message when `holds` is false. */
export function expect(holds: boolean, message: () => string): void {
  if (!holds) throw new Error(message());
}

/** Fails when two values are not the same. */
export function expectSame(what: string, actual: unknown, expected: unknown): void {
  expect(Object.is(actual, expected), () => `${what} must be ${expected}, is ${actual}`);
}

/** Fails when two lists of numbers differ. */
export function expectSameNumbers(
  what: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
): void {
  const text = (list: ArrayLike<number>): string => {
    const shown = Array.from({ length: Math.min(list.length, 20) }, (_, k) => list[k]).join(", ");
    return `[${shown}${list.length > 20 ? ", …" : ""}]`;
  };
  let same = actual.length === expected.length;
  for (let k = 0; same && k < actual.length; k++) same = Object.is(actual[k], expected[k]);
  expect(same, () => `${what} must be ${text(expected)}, are ${text(actual)}`);
}

/** Fails when two batches differ, and says where. */
export function expectSameBatch(what: string, actual: AnyBatch, expected: AnyBatch): void {
  const [a, b] = [actual.bytes, expected.bytes];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (a.length === b.length && at === a.length) return;
  for (let k = 0; k < actual.size; k++) {
    const [one, other] = [actual, expected].map((batch) =>
      `record ${batch.pickPosition[k]} of episode ${batch.pickEpisode[k]} with probability ${
        batch.probability[k]
      } and importance weight ${batch.importanceWeight[k]}`
    );
    expect(one === other, () => `${what}: pick ${k} is ${one}, must be ${other}`);
  }
  throw new Error(`${what}: byte ${at} of the batch differs`);
}

/** Fails unless `call` throws a `ReplayError` with this code. Returns the error. */
export function expectCode(what: string, call: () => unknown, code: ReplayErrorCode): ReplayError {
  try {
    call();
  } catch (error) {
    if (error instanceof ReplayError && error.code === code) return error;
    throw new Error(`${what} must be an error with code ${code}, is ${error}`, { cause: error });
  }
  throw new Error(`${what} must be an error with code ${code}, is none`);
}

/** Fails when the counts of a replay disagree with its episodes, or exceed its capacity. */
export function expectSoundCounts(replay: ExperienceReplay, capacity: number): void {
  const live = replay.episodes().handle;
  let records = 0;
  for (const handle of live) records += replay.episode(handle).recordCount;
  expectSame("the number of episodes", live.length, replay.episodeCount);
  expectSame("the number of records", records, replay.recordCount);
  expect(records <= capacity, () => `there are ${records} records in a store for ${capacity}`);
}
