/**
 * The columns of steps that are no batch: drained ones, those of an episode, those of an actor.
 *
 * @module
 */

import type { Column, ColumnArray, ColumnArrays, Columns } from "./columns.ts";
import type { AnySchema, ColumnOf, ExtrasOf, Known, known, Schema, StateOf } from "./schema.ts";
import type { AnyState, IsAny, StateArrays } from "./state.ts";

/** The columns of some steps, such as those of {@linkcode Drained}: arrays in row-major order, with a row for each step, `[size, ...shape]`. */
export interface StepArrays<S extends Schema = AnySchema> {
  /** The type of the steps; only for TypeScript. */
  readonly [known]?: Known<S>;
  /** The states. If the state has several leaves, each has an array, here and in other parts that are states: `state.image`. */
  readonly state: StateArrays<StateOf<S>>;
  /** The actions. */
  readonly action: ColumnArray<ColumnOf<S, "action">>;
  /** The rewards. */
  readonly reward: ColumnArray<ColumnOf<S, "reward">>;
  /** The extras, by name. For an extra of {@linkcode every}, each step has the newest value that was kept. */
  readonly extras: ColumnArrays<ExtrasOf<S>>;
}

/** The shapes of the columns of some steps: those of the rows, such as `[size]` in {@linkcode Drained} or `[T, N]` in {@linkcode TimeMajor}, and then those of the columns. */
export interface StepsShape<S extends Schema, Rows extends readonly number[]> {
  /** The type of the steps; only for TypeScript. */
  readonly [known]?: Known<S>;
  /** `[...rows, ...shape]` */
  readonly state: StepsStateShape<StateOf<S>, Rows>;
  /** `[...rows, ...shape]` */
  readonly action: StepsColumnShape<ColumnOf<S, "action">, Rows>;
  /** `[...rows, ...shape]` */
  readonly reward: StepsColumnShape<ColumnOf<S, "reward">, Rows>;
  /** `[...rows, ...shape]` of each extra. */
  readonly extras: StepsColumnShapes<ExtrasOf<S>, Rows>;
}

/** The shape of a column in {@linkcode StepsShape}. */
export type StepsColumnShape<C extends Column, Rows extends readonly number[]> = readonly [
  ...Rows,
  ...C["shape"],
];

/** The shapes of columns in {@linkcode StepsShape}, by name. */
export type StepsColumnShapes<X extends Columns, Rows extends readonly number[]> = {
  readonly [K in keyof X]: StepsColumnShape<X[K], Rows>;
};

/** The shape of a state in {@linkcode StepsShape}, or that of each leaf. */
export type StepsStateShape<T, Rows extends readonly number[]> = IsAny<T> extends true ? AnyState
  : T extends Column ? StepsColumnShape<T, Rows>
  : { readonly [K in keyof T]: StepsStateShape<T[K], Rows> };
