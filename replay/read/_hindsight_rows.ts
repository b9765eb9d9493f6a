/**
 * The rows of a batch that the hindsight callback is asked about, and its answer.
 *
 * @module
 */

import { checkNumbers, show } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import type { Batch } from "../../schema/batch.ts";
import {
  type AnyPickPolicy,
  contextCount,
  firstRow,
  type LeafPolicy,
} from "../../schema/pick_options.ts";
import { transformedNames } from "../../schema/pick_transforms.ts";
import { allocateRows } from "./records.ts";
import type { AnyColumnArray, Column } from "../../schema/columns.ts";

/** A batch of any columns. */
export type AnyBatch = Batch;

/** Whether the next state of a row is known. */
export function hasNext(batch: AnyBatch, row: number): boolean {
  return row % batch.length < (batch.nextSeqLen[Math.floor(row / batch.length)] as number);
}

/**
 * Refuses batches that would hold parts of the old goals after relabelling. `goals` are the leaves of the state that have goals, and `names` those of the
 * reward and of the columns of goals.
 */
export function checkPolicy(
  operation: string,
  policy: AnyPickPolicy,
  goals: readonly LeafPolicy[],
  names: readonly string[],
): void {
  const changed = transformedNames(policy.transform).find((name) => names.includes(name));
  if (changed !== undefined) {
    throw new TypeError(
      `${operation}: a batch with transforms of ${changed} can't be relabelled, as new goals and rewards are stored values: take a pick view without them`,
    );
  }
  if (policy.nStep.length > 0) {
    throw new TypeError(
      `${operation}: a batch with n-step returns can't be relabelled, as they are of the rewards before: take picks of length n, and nStepReturn()`,
    );
  }
  if (policy.returnToGo) {
    throw new TypeError(
      `${operation}: a batch with returnToGo can't be relabelled, as it is the sum of the rewards before: leave the option out`,
    );
  }
  const isPlain = goals.every(({ stack, stackCompact, nextState }) =>
    stack === 1 && !stackCompact && nextState === "copy"
  );
  if (isPlain) return;
  throw new TypeError(
    `${operation}: goals in the state need single states and next states of their own: no stack, and nextState "copy"; or keep goals in extras`,
  );
}

/** The position of the last record that pick k has in the batch. */
export function lastPosition(policy: AnyPickPolicy, batch: AnyBatch, k: number): number {
  const position = batch.pickPosition[k] as number;
  const first = position - contextCount(policy, position);
  return first + (batch.seqLen[k] as number) - firstRow(policy, position) - 1;
}

/** The real rows of the relabelled picks, and the index of each row's goal. */
export function rowsOf(
  policy: AnyPickPolicy,
  batch: AnyBatch,
  picks: readonly number[],
): { row: Int32Array<ArrayBuffer>; goal: Int32Array<ArrayBuffer> } {
  const rows: number[] = [];
  const goals: number[] = [];
  for (const [goal, pick] of picks.entries()) {
    const end = batch.seqLen[pick] as number;
    for (let step = firstRow(policy, batch.pickPosition[pick] as number); step < end; step++) {
      rows.push(pick * batch.length + step);
      goals.push(goal);
    }
  }
  return { row: Int32Array.from(rows), goal: Int32Array.from(goals) };
}

function arrayLike(
  operation: string,
  name: string,
  value: unknown,
  count: number,
  hint = "",
): ArrayLike<unknown> {
  const needed = `must return ${name} as a plain or typed array${hint}`;
  const array = checkNumbers(operation, "reward()", value, needed);
  if (array.length === count) return array;
  throw new RangeError(
    `${operation}: reward() must return ${count} ${name}, got ${array.length}`,
  );
}

/** What `reward()` may return instead of rewards alone. */
const PARTS = ["reward", "terminated"] as const;

/** The answer of the callback, checked: rewards in the column's own array, and which steps terminate. */
export function checkAnswer(
  operation: string,
  answer: unknown,
  count: number,
  column: Column,
): { rewards: AnyColumnArray; terminated: ArrayLike<unknown> | undefined } {
  const isParts = typeof answer === "object" && answer !== null && !Array.isArray(answer) &&
    !ArrayBuffer.isView(answer);
  if (isParts) checkOptions(`${operation}: what reward() returned`, answer, PARTS);
  const parts: { readonly reward?: unknown; readonly terminated?: unknown } = isParts
    ? answer
    : { reward: answer };
  const hint = isParts && "reward" in answer ? "" : ", or { reward, terminated }";
  const wanted = count * column.elementCount;
  const values = arrayLike(operation, "rewards", parts.reward, wanted, hint);
  const rewards = allocateRows(operation, column, count);
  for (let k = 0; k < values.length; k++) {
    const value = values[k];
    if (typeof value !== "number") {
      throw new TypeError(
        `${operation}: reward() must return numbers, got ${show(value)} at ${k}`,
      );
    }
    rewards[k] = value;
    // Floats may be rounded; whole numbers must stay as they are.
    const fits = column.dtype.startsWith("float") ||
      (rewards[k] === value && (column.dtype !== "bool" || value <= 1));
    if (!fits) {
      throw new RangeError(
        `${operation}: reward() returned ${value} at ${k}, which is no ${column.dtype}`,
      );
    }
  }
  if (parts.terminated === undefined) return { rewards, terminated: undefined };
  const terminated = arrayLike(operation, "terminated", parts.terminated, count);
  for (let k = 0; k < count; k++) {
    const flag = terminated[k];
    if (flag === 0 || flag === 1 || typeof flag === "boolean") continue;
    throw new TypeError(
      `${operation}: terminated[${k}] must be true, false, 1 or 0, got ${show(flag)}`,
    );
  }
  return { rewards, terminated };
}
