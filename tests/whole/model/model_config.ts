/**
 * What the model is made with, and how it refuses a call.
 *
 * @module
 */

import type { AnyPickPolicy } from "@exrp/replay/types";
import type { EvictionKind } from "./eviction_models.ts";
import type { StoredColumns } from "./transforms_model.ts";
import type { RewardSpec } from "./window_model.ts";

/** The options of the model's replay. */
export interface ModelConfig extends StoredColumns {
  readonly capacity: number;
  /** Undefined: no episode is cut. */
  readonly segmentLength?: number;
  /** Slots in a block of the kernel. */
  readonly blockLength: number;
  readonly seed: number;
  /** The pick policy of the first pick view. */
  readonly pick: AnyPickPolicy;
  /** Bytes of each leaf of the state. */
  readonly leafBytes: readonly number[];
  /** Bytes of each column of one record: the state with all its leaves, the action, the reward, extras. */
  readonly columnBytes: readonly number[];
  /** For each column n, if only every nth record keeps it; else 1. */
  readonly every: readonly number[];
  readonly reward: RewardSpec;
  readonly eviction: EvictionKind;
  /** The option of `afterDraws`. */
  readonly evictionDraws: number;
  /** Bytes of records and final states. */
  readonly capacityBytes?: number;
  /** Records that may be written since a record that is stored. */
  readonly maxAge?: number;
}

/** A call that must be refused. */
export class ModelError extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}
