/**
 * What the tests of returns/ share: random rows, and how results are compared.
 *
 * @module
 */

import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { testRandom } from "../replay/_helpers.ts";

/** Rows as a batch has them, and the numbers of a learner for each step. */
export interface Rows {
  readonly batch: number;
  readonly length: number;
  readonly seqLen: Int32Array<ArrayBuffer>;
  readonly reward: Float32Array<ArrayBuffer>;
  readonly discount: Float32Array<ArrayBuffer>;
  readonly value: Float32Array<ArrayBuffer>;
  readonly nextValue: Float32Array<ArrayBuffer>;
  /** The next value of each row's last step. */
  readonly lastValue: Float32Array<ArrayBuffer>;
  readonly logProbBehaviour: Float32Array<ArrayBuffer>;
  readonly logProbTarget: Float32Array<ArrayBuffer>;
}

/** How a row's steps are numbered in the arrays: from `first` to before `end`. */
export interface Row {
  readonly first: number;
  readonly end: number;
}

/**
 * Random rows of random lengths, some of them empty, some terminated. What must not be read is NaN: all past the end,
 * and the next value of a step that terminated.
 */
export function randomRows(seed: number): Rows {
  const random = testRandom(seed);
  const between = (low: number, high: number): number => low + (high - low) * random(10_001) / 1e4;
  const batch = 1 + random(5);
  const length = 1 + random(12);
  const make = (): Float32Array<ArrayBuffer> => new Float32Array(batch * length).fill(NaN);
  const rows: Rows = {
    batch,
    length,
    seqLen: Int32Array.from({ length: batch }, () => random(length + 1)),
    reward: make(),
    discount: make(),
    value: make(),
    nextValue: make(),
    lastValue: new Float32Array(batch).fill(NaN),
    logProbBehaviour: make(),
    logProbTarget: make(),
  };
  for (const [row, { first, end }] of listRows(rows).entries()) {
    const gamma = between(0.5, 1);
    for (let k = first; k < end; k++) {
      rows.reward[k] = between(-2, 2);
      rows.discount[k] = gamma;
      rows.value[k] = between(-3, 3);
      rows.logProbBehaviour[k] = between(-3, 0);
      rows.logProbTarget[k] = between(-3, 0);
    }
    if (end === first) continue;
    rows.nextValue.set(rows.value.subarray(first + 1, end), first);
    if (random(2) === 0) rows.discount[end - 1] = 0;
    else rows.lastValue[row] = rows.nextValue[end - 1] = between(-3, 3);
  }
  return rows;
}

/** The places of the rows. */
export function listRows({ length, seqLen }: Pick<Rows, "length" | "seqLen">): Row[] {
  return [...seqLen].map((steps, row) => ({ first: row * length, end: row * length + steps }));
}

/** What one step's formula gives for all steps, and 0 past the ends. */
export function eachStep(
  rows: Rows,
  formula: (k: number, end: number) => number,
): Float64Array<ArrayBuffer> {
  const result = new Float64Array(rows.batch * rows.length);
  for (const { first, end } of listRows(rows)) {
    for (let k = first; k < end; k++) result[k] = formula(k, end);
  }
  return result;
}

/** discount × value of the next state, which counts for nothing after a terminated step. */
export function bootstrap(rows: Rows, k: number): number {
  const gamma = rows.discount[k] as number;
  return gamma === 0 ? 0 : gamma * (rows.nextValue[k] as number);
}

/** The one-step TD error of V. */
export function tdError(rows: Rows, k: number): number {
  return (rows.reward[k] as number) + bootstrap(rows, k) - (rows.value[k] as number);
}

/** π / μ of a step. */
export function ratioOf(rows: Rows, k: number): number {
  return Math.exp((rows.logProbTarget[k] as number) - (rows.logProbBehaviour[k] as number));
}

/** The n-step return by its recursion on n. */
export function nStepByRecursion(rows: Rows, k: number, end: number, n: number): number {
  const reward = rows.reward[k] as number;
  const gamma = rows.discount[k] as number;
  if (gamma === 0) return reward;
  if (n === 1 || k + 1 === end) return reward + bootstrap(rows, k);
  return reward + gamma * nStepByRecursion(rows, k + 1, end, n - 1);
}

/** Asserts that float32 results are those numbers: half a unit in the last place, and what doubles add to it. */
export function assertResults(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  text = "",
  tolerance = 0,
): void {
  assertStrictEquals(actual.length, expected.length, text);
  for (let k = 0; k < expected.length; k++) {
    const [is, due] = [actual[k] as number, expected[k] as number];
    const bound = Math.abs(due) * 2 ** -24 + 1e-13 + tolerance;
    assert(Math.abs(is - due) <= bound, `${text}: [${k}] is ${is}, should be ${due}`);
  }
}

/** Runs a test on the rows of 300 seeds; a failure names its seed. */
export function forRandomRows(
  check: (rows: Rows, random: (bound: number) => number) => void,
): void {
  for (let seed = 1; seed <= 300; seed++) {
    try {
      check(randomRows(seed), testRandom(seed + 10_000));
    } catch (error) {
      throw new Error(`seed ${seed}: ${error}`, { cause: error });
    }
  }
}

/** A call that must be refused: what it takes, the class of the error and what its text has in it. */
export type Refused<T> = readonly [
  Partial<Record<keyof T | "unknown", unknown>>,
  typeof TypeError | typeof RangeError,
  string,
];

/** Asserts that a call with one option changed is refused, and that it has written nothing into `results`. */
export function assertRefused<T extends object>(
  call: (options: T) => unknown,
  good: T,
  cases: readonly Refused<T>[],
  results: readonly Float32Array[],
): void {
  for (const result of results) result.fill(7);
  for (const [change, kind, text] of cases) {
    assertThrows(() => call({ ...good, ...change } as T), kind, text);
  }
  for (const result of results) assertEquals(new Set(result), new Set([7]));
}
