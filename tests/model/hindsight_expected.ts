/**
 * What a batch must hold once it is relabelled: the bytes it had, with what must have changed written over.
 *
 * @module
 */

import type { AnyColumnArray } from "@exrp/replay";
import { answerOf, type ModelGoal } from "./hindsight_model.ts";
import type { AnyBatch } from "./library_subject.ts";
import { elementCount, type ProgramConfig } from "./program.ts";

/** The batch, and what the callback must have been given. */
export interface Expected {
  readonly bytes: Uint8Array;
  /** For how many steps rewards were asked. */
  readonly asked: number;
  readonly achieved: Uint8Array;
  readonly desired: Uint8Array;
}

/** `before` with `goals`, one for each pick that has a new one. Where parts lie is the batch's to say, what is in them is not. */
export function expectRelabelled(
  { hindsight, state, extras, pick }: ProgramConfig,
  batch: AnyBatch,
  before: Uint8Array,
  goals: readonly (ModelGoal & object | undefined)[],
): Expected {
  const bytes = before.slice();
  const view = new DataView(bytes.buffer);
  const at = (array: AnyColumnArray, row: number, width: number): number =>
    array.byteOffset + row * width * array.BYTES_PER_ELEMENT - batch.bytes.byteOffset;
  const inState = hindsight?.inState;
  const width = elementCount(state);
  const mask = batch.extras.mask ?? batch.state;
  const wanted = batch.extras.goal ?? batch.state;
  const goalWidth = elementCount(extras.goal ?? state);
  const achieved: number[] = [];
  const desired: number[] = [];
  let asked = 0;
  for (const [k, own] of goals.entries()) {
    if (own === undefined) continue;
    const size = own.goal.length;
    for (let step = 0; step < (batch.seqLen[k] ?? 0); step++, asked++) {
      const row = k * batch.length + step;
      const answer = answerOf(asked);
      const isKnown = step < (batch.nextSeqLen[k] ?? 0);
      const from = inState === undefined
        ? at(mask, row, goalWidth)
        : at(batch.nextState, row, width);
      achieved.push(...bytes.subarray(from, from + size));
      desired.push(...own.goal);
      if (inState === undefined) bytes.set(own.goal, at(wanted, row, goalWidth));
      else {
        const offset = (width - inState) * batch.state.BYTES_PER_ELEMENT;
        bytes.set(own.goal, at(batch.state, row, width) + offset);
        if (isKnown) bytes.set(own.goal, from + offset);
      }
      const place = at(batch.reward, row, 1);
      if (batch.reward.BYTES_PER_ELEMENT === 8) view.setFloat64(place, answer.reward, true);
      else view.setFloat32(place, answer.reward, true);
      if (!isKnown) continue;
      view.setFloat32(at(batch.discount, row, 1), answer.terminated ? 0 : pick.discount, true);
    }
  }
  return {
    bytes,
    asked,
    achieved: Uint8Array.from(achieved),
    desired: Uint8Array.from(desired),
  };
}
