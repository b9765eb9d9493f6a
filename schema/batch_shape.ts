/**
 * The shapes of a batch's parts.
 *
 * @module
 */

import type { Column, Columns, KeptColumn } from "./columns.ts";
import type { AnyState, IsAny, OptionOf } from "./state.ts";
import type {
  AnySchema,
  ColumnOf,
  CompactOf,
  Known,
  known,
  Schema,
  ShownColumn,
  ShownExtras,
  ShownState,
  StackOf,
} from "./schema.ts";

/** The shape of a column in a batch: `[batch, length, ...shape]`, or `[batch, ...shape]` for a column of {@linkcode every}. */
export type BatchColumnShape<C extends Column> = C extends KeptColumn
  ? readonly [number, ...C["shape"]]
  : readonly [number, number, ...C["shape"]];

/** The shapes of columns in a {@linkcode Batch}, by name. */
export type BatchColumnShapes<X extends Columns> = {
  readonly [K in keyof X]: BatchColumnShape<X[K]>;
};

/**
 * The shape of the states of a {@linkcode Batch} with all of their frames: `[batch, length, ...shape]`, or
 * `[batch, length, stack, ...shape]`. If TypeScript does not know the number of frames, it is a list of numbers. A state of several leaves
 * has a shape for each.
 */
export type StackShape<S extends Schema> = StackShapeOf<ShownState<S>, StackOf<S>>;

/** The {@linkcode StackShape} of a state or of a part of it. */
export type StackShapeOf<C, Stack> = IsAny<C> extends true ? AnyState
  : C extends Column ? Stack extends 1 ? BatchColumnShape<C>
    : Stack extends number
      ? number extends Stack ? readonly number[] : readonly [number, number, Stack, ...C["shape"]]
    : readonly number[]
  : { readonly [K in keyof C]: StackShapeOf<C[K], OptionOf<Stack, K, 1>> };

/** The shape of {@linkcode Batch.state}: that of its stacks, or `[batch, frames, ...shape]` with `stackCompact`. */
export type StateShape<S extends Schema> = StateShapeOf<ShownState<S>, StackOf<S>, CompactOf<S>>;

/** The {@linkcode StateShape} of a state or of a part of it. */
export type StateShapeOf<C, Stack, Compact> = IsAny<C> extends true ? AnyState
  : C extends Column ? [Compact] extends [true] ? BatchColumnShape<C>
    : [Compact] extends [false] ? StackShapeOf<C, Stack>
    : [Stack] extends [1] ? StackShapeOf<C, Stack>
    : readonly number[]
  : {
    readonly [K in keyof C]: StateShapeOf<C[K], OptionOf<Stack, K, 1>, OptionOf<Compact, K, false>>;
  };

/** The shapes of the parts of a {@linkcode Batch}. */
export interface BatchShape<S extends Schema = AnySchema> {
  /** The type of the shapes; only for TypeScript. Without it, TypeScript 5 takes no batch where any batch will do. */
  readonly [known]?: Known<S>;
  /** `[batch, length, ...shape]`. {@linkcode Batch.state} says how stacks and next states change it. */
  readonly state: StateShape<S>;
  /** `[batch, length, ...shape]` */
  readonly action: BatchColumnShape<ShownColumn<S, "action">>;
  /** `[batch, length, ...shape]` */
  readonly reward: BatchColumnShape<ShownColumn<S, "reward">>;
  /** `[batch, length, ...shape]`, or `[batch, 0, ...shape]` unless `nextState` is `"copy"`. */
  readonly nextState: StackShape<S>;
  /** `[batch, length, ...shape]` of each extra, or `[batch, ...shape]` of one made by {@linkcode every}. */
  readonly extras: BatchColumnShapes<ShownExtras<S>>;
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
  /** `[batch, length]`, or `[batch, 0]` without `ends`. */
  readonly terminated: readonly [number, number];
  /** `[batch, length]`, or `[batch, 0]` without `ends`. */
  readonly truncated: readonly [number, number];
  /** `[batch, length, ...shape]`, or `[batch, 0, ...shape]` without `returnToGo`. */
  readonly returnToGo: BatchColumnShape<ColumnOf<S, "reward">>;
}
