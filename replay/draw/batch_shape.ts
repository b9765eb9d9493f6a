/**
 * The shapes of a batch's parts.
 *
 * @module
 */

import type { Column, Columns, KeptColumn } from "../../schema/columns.ts";

/** The shape of a column in a batch: `[batch, length, ...shape]`, or `[batch, ...shape]` for a column of {@linkcode every}. */
export type BatchColumnShape<C extends Column> = C extends KeptColumn
  ? readonly [number, ...C["shape"]]
  : readonly [number, number, ...C["shape"]];

/** The shapes of a batch's parts. */
export interface BatchShape<
  S extends Column = Column,
  A extends Column = Column,
  R extends Column = Column,
  X extends Columns = Columns,
> {
  /** `[batch, length, ...shape]` */
  readonly state: BatchColumnShape<S>;
  /** `[batch, length, ...shape]` */
  readonly action: BatchColumnShape<A>;
  /** `[batch, length, ...shape]` */
  readonly reward: BatchColumnShape<R>;
  /** `[batch, length, ...shape]`, or `[batch, 0, ...shape]` where next states are not copied. */
  readonly nextState: BatchColumnShape<S>;
  /** `[batch, length, ...shape]` of each extra. */
  readonly extras: { readonly [K in keyof X]: BatchColumnShape<X[K]> };
  /** `[batch]` */
  readonly seqLen: readonly [number];
  /** `[batch]` */
  readonly nextSeqLen: readonly [number];
  /** `[batch]` */
  readonly pickEpisode: readonly [number];
  /** `[batch]` */
  readonly pickPosition: readonly [number];
  /** `[batch]` */
  readonly probability: readonly [number];
  /** `[batch]` */
  readonly importanceWeight: readonly [number];
  /** `[batch, length]` */
  readonly discount: readonly [number, number];
  /** `[batch, length]`, or `[batch, 0]` without masks. */
  readonly learnMask: readonly [number, number];
  /** `[batch, length]`, or `[batch, 0]` without masks. */
  readonly contextMask: readonly [number, number];
}
