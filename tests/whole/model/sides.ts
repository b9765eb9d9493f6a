/**
 * The library and the model side by side, in the middle of a program.
 *
 * @module
 */

import { ReplayError } from "@exrp/replay";
import type { AnyPickPolicy } from "@exrp/replay/types";
import type { AnyBatch, AnyReplay } from "./library_subject.ts";
import type { ProgramConfig } from "./program_config.ts";
import { ModelError } from "./model_config.ts";
import type { ReplayModel } from "./replay_model.ts";
import { same } from "./same.ts";

/** Counts of what happened in a run, so that a test can check that enough happened. */
export interface Tally {
  operations: number;
  batches: number;
  picksCompared: number;
  picksTransformed: number;
  evictions: number;
  cuts: number;
  trims: number;
  loads: number;
  refusals: number;
  stepsDrained: number;
  stepsLost: number;
  picksRelabelled: number;
  prioritiesRead: number;
  recordsUpdated: number;
  stepsUnknown: number;
  episodesListed: number;
}

export function emptyTally(): Tally {
  return {
    operations: 0,
    batches: 0,
    picksCompared: 0,
    picksTransformed: 0,
    evictions: 0,
    cuts: 0,
    trims: 0,
    loads: 0,
    refusals: 0,
    stepsDrained: 0,
    stepsLost: 0,
    picksRelabelled: 0,
    prioritiesRead: 0,
    recordsUpdated: 0,
    stepsUnknown: 0,
    episodesListed: 0,
  };
}

/** An object that operations run on. Loading puts others in their place. */
export interface Sides {
  /** Where the replay lives, if it is durable. */
  readonly folder?: string | undefined;
  /** Whether other threads may attach: the library then copies large rows after it has given the lock back. */
  readonly isShared: boolean;
  readonly config: ProgramConfig;
  readonly tally: Tally;
  replay: AnyReplay;
  model: ReplayModel;
  /** The handle that each actor writes to. */
  actors: Map<number, number>;
}

/** A batch that the learner still holds, and what it held when it was drawn. */
export interface Held {
  readonly batch: AnyBatch;
  readonly bytes: Uint8Array;
  readonly policy: AnyPickPolicy;
  /** The replay that drew it. */
  readonly replay: AnyReplay;
}

/** Calls the library, then the model: both succeed or both refuse, with the same code. */
export function both<A, E>(
  actual: () => A,
  expected: (actual: A) => E,
): { actual: A; expected: E } | undefined {
  let refusal: unknown;
  let result: { value: A } | undefined;
  try {
    result = { value: actual() };
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    refusal = error;
  }
  try {
    // A refused call has no value to follow; the model refuses before it would look.
    const made = expected(result?.value as A);
    if (result === undefined) throw refusal;
    return { actual: result.value, expected: made };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (refusal === undefined) {
      throw new Error(`the library accepted what the model refuses: ${error.message}`);
    }
    same("the error's code", refusal instanceof ReplayError ? refusal.code : "", error.code);
    return undefined;
  }
}
