/**
 * What a batch must hold once it is relabelled: the bytes it had, with what must have changed written over.
 *
 * @module
 */

import type { AnyColumnArray } from "@exrp/replay";
import type { AnyPickPolicy } from "@exrp/replay/types";
import { answerOf, type ModelGoal } from "./hindsight_model.ts";
import type { AnyBatch } from "./library_subject.ts";
import { elementCount, type ProgramConfig } from "./program_config.ts";
import { leafView, leavesIn } from "./state_leaves.ts";

/** The batch, and what the callback must have been given. */
export interface Expected {
  readonly bytes: Uint8Array;
  /** For how many steps rewards were asked. */
  readonly asked: number;
  readonly achieved: Uint8Array;
  readonly desired: Uint8Array;
}

/** Whether hindsight takes batches of this policy. */
export function canRelabel(policy: AnyPickPolicy, inState: boolean): boolean {
  const { nStep, stack, stackCompact, nextState, returnToGo, transform } = leafView(policy, 0);
  if (nStep.length > 0 || returnToGo) return false;
  const { state, reward, extras: { mask, goal } = {} } = transform ?? {};
  // Goals in the state are in its first leaf.
  const first = state === undefined || Array.isArray(state) ? state : leavesIn(2, state)[0];
  const changed = inState ? [first, reward] : [mask, goal, reward];
  if (changed.some((list) => list !== undefined)) return false;
  return !inState || (stack === 1 && !stackCompact && nextState === "copy");
}

/** The rows of pick k that hold a record, and that record's position, one step after the other. */
export function realRows(policy: AnyPickPolicy, batch: AnyBatch, k: number): Map<number, number> {
  const begin = batch.pickPosition[k] ?? 0;
  const end = batch.seqLen[k] ?? 0;
  const rows = new Map<number, number>();
  for (let row = 0; row < end; row++) {
    // Rows before a pick's own: where they are for windows, each row has its distance to the pick, records or not.
    const position = policy.before > 0
      ? begin - policy.before + row
      : policy.reversed
      ? begin + end - 1 - row
      : begin - Math.min(begin, policy.burnIn) + row;
    if (position >= 0) rows.set(row, position);
  }
  return rows;
}

/**
 * `before` with `goals`, one for each pick that has a new one. The batch determines the places of the parts, the model
 * their contents.
 */
export function expectRelabelled(
  { hindsight, state, moreLeaves, extras, reward }: ProgramConfig,
  { batch, bytes: before, policy }: {
    readonly batch: AnyBatch;
    readonly bytes: Uint8Array;
    readonly policy: AnyPickPolicy;
  },
  goals: readonly (ModelGoal & object | undefined)[],
): Expected {
  const bytes = before.slice();
  const view = new DataView(bytes.buffer);
  const at = (array: AnyColumnArray, row: number, width: number): number =>
    array.byteOffset + row * width * array.BYTES_PER_ELEMENT - batch.bytes.byteOffset;
  const inState = hindsight?.inState;
  const width = elementCount(state);
  const firstLeaf = (of: unknown): AnyColumnArray =>
    leavesIn<AnyColumnArray>(1 + moreLeaves.length, of)[0] as AnyColumnArray;
  const [states, nextStates] = [firstLeaf(batch.state), firstLeaf(batch.nextState)];
  const mask = batch.extras.mask ?? states;
  const wanted = batch.extras.goal ?? states;
  const goalWidth = elementCount(extras.goal ?? state);
  const achieved: number[] = [];
  const desired: number[] = [];
  let asked = 0;
  for (const [k, own] of goals.entries()) {
    if (own === undefined) continue;
    const size = own.goal.length;
    for (const step of realRows(policy, batch, k).keys()) {
      const row = k * batch.length + step;
      const answer = answerOf(asked++);
      const isKnown = step < (batch.nextSeqLen[k] ?? 0);
      const from = inState === undefined ? at(mask, row, goalWidth) : at(nextStates, row, width);
      achieved.push(...bytes.subarray(from, from + size));
      desired.push(...own.goal);
      if (inState === undefined) bytes.set(own.goal, at(wanted, row, goalWidth));
      else {
        const offset = (width - inState) * states.BYTES_PER_ELEMENT;
        bytes.set(own.goal, at(states, row, width) + offset);
        if (isKnown) bytes.set(own.goal, from + offset);
      }
      const each = elementCount(reward);
      const kind = batch.reward.constructor as Float32ArrayConstructor;
      new kind(bytes.buffer, at(batch.reward, row, each), each).fill(answer.reward);
      if (!isKnown) continue;
      view.setFloat32(at(batch.discount, row, 1), answer.terminated ? 0 : policy.discount, true);
      if (policy.ends) bytes[at(batch.terminated, row, 1)] = answer.terminated ? 1 : 0;
    }
  }
  return {
    bytes,
    asked,
    achieved: Uint8Array.from(achieved),
    desired: Uint8Array.from(desired),
  };
}
