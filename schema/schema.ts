/**
 * What TypeScript knows about a replay: the options of `create` that decide the types of records and batches, with the same names.
 *
 * @module
 */

import type { ListOf, NoTransforms, Transformed, TransformedState } from "./transform_types.ts";
import type { ArrayValue, Column, Columns, ColumnValue, NoColumns } from "./columns.ts";
import type { AnyState, LeafOption, StateColumns, StateValue, StateValues } from "./state.ts";

/** Those of the {@linkcode PickOptions} that decide the types of batches. An option that you leave out has its default. */
export interface PickSchema {
  /** How many frames make one state, or those of each leaf. */
  readonly stack?: LeafOption<number>;
  /** Whether a batch has each frame once instead of stacks, or of which leaves. */
  readonly stackCompact?: LeafOption<boolean>;
  /** n of the n-step returns. */
  readonly nStep?: number | readonly number[];
  /** The columns that transforms change, as a batch shows them. */
  readonly shown?: ShownColumns;
}

/** Columns as a batch shows them, where transforms change them: a part of {@linkcode PickSchema}. With extras, it has all of them. */
export interface ShownColumns {
  /** The state. */
  readonly state?: StateColumns;
  /** The action. */
  readonly action?: Column;
  /** The reward. */
  readonly reward?: Column;
  /** All extras, by name. */
  readonly extras?: Columns;
}

/**
 * What a replay holds, as the parameter of its type: `ExperienceReplay<{ state: Column<"float32", [4]> }>`. The names are those of the
 * options of {@linkcode ExperienceReplay.create}. What you leave out has its default.
 *
 * @example
 * ```ts
 * import { type Column, ExperienceReplay, float32 } from "@exrp/replay";
 *
 * type Schema = { state: Column<"float32", [2]> };
 * function fill(replay: ExperienceReplay<Schema>): void {
 *   replay.record(replay.newEpisode(), [1, 2], 0, 1, { finalState: [3, 4] });
 * }
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 * fill(replay);
 * console.log(replay.recordCount); // 1
 * ```
 */
export interface Schema {
  /** The state: a column, or columns by name or in a list. */
  readonly state: StateColumns;
  /** The action; `Column<"int32", []>` by default. */
  readonly action?: Column | undefined;
  /** The reward; `Column<"float32", []>` by default. */
  readonly reward?: Column | undefined;
  /** Further columns by name; none by default. */
  readonly extras?: Columns | undefined;
  /** The pick options that decide the types of batches. */
  readonly pick?: PickSchema | undefined;
}

/** The key that marks {@linkcode AnySchema}; nothing at run time. */
export declare const anySchema: unique symbol;

/** The schema of any replay. It is the default parameter of {@linkcode ExperienceReplay}, {@linkcode Batch} and {@linkcode Selector}. */
export interface AnySchema {
  /** Any state. */
  readonly state: StateColumns;
  /** Any action. */
  readonly action: Column;
  /** Any reward. */
  readonly reward: Column;
  /** Any extras. */
  readonly extras: Columns;
  /** Any pick policy. */
  readonly pick: AnyPick;
  /** Distinguishes it from a schema whose columns are only known at run time. It does not exist at run time. */
  readonly [anySchema]?: true;
}

/** The {@linkcode PickSchema} of any pick view. */
export interface AnyPick {
  /** Any number of frames. */
  readonly stack: LeafOption<number>;
  /** Compact stacks or not. */
  readonly stackCompact: LeafOption<boolean>;
  /** Any n-step returns. */
  readonly nStep: number | readonly number[];
}

/** The column of the action or reward of a {@linkcode Schema}. */
export type ColumnOf<S extends Schema, K extends "action" | "reward"> = S extends
  { readonly [P in K]: infer C extends Column } ? C
  : K extends "action" ? Column<"int32", []>
  : Column<"float32", []>;

/** What the state of a {@linkcode Schema} is made of. */
export type StateOf<S extends Schema> = typeof anySchema extends keyof S ? AnyState : OwnState<S>;

/** The same, and not {@linkcode AnyState} for a replay of any schema. */
export type OwnState<S extends Schema> = S extends { readonly state: infer C } ? C : never;

/** The extras of a {@linkcode Schema}, by name. */
export type ExtrasOf<S extends Schema> = S extends { readonly extras: infer X extends Columns } ? X
  : NoColumns;

/** The column of the action or reward of a {@linkcode Schema} as a batch shows it. */
export type ShownColumn<S extends Schema, K extends "action" | "reward"> = S extends
  { readonly pick: { readonly shown: { readonly [P in K]: infer C extends Column } } } ? C
  : ColumnOf<S, K>;

/** What the state of a {@linkcode Schema} is made of as a batch shows it. */
export type ShownState<S extends Schema> = S extends
  { readonly pick: { readonly shown: { readonly state: infer C } } } ? C : StateOf<S>;

/** The extras of a {@linkcode Schema} as a batch shows them. */
export type ShownExtras<S extends Schema> = S extends
  { readonly pick: { readonly shown: { readonly extras: infer X extends Columns } } } ? X
  : ExtrasOf<S>;

/** How many frames make one state of a {@linkcode Schema}, or those of each leaf. */
export type StackOf<S extends Schema> = S extends
  { readonly pick: { readonly stack: infer K extends LeafOption<number> } } ? K : 1;

/** Whether the stacks of a {@linkcode Schema} are compact, or of which leaves they are. */
export type CompactOf<S extends Schema> = S extends
  { readonly pick: { readonly stackCompact: infer C extends LeafOption<boolean> } } ? C : false;

/** A list as one that nothing changes: `[1, 3]` and `readonly [1, 3]` are the same list of n. {@linkcode NStepOf} uses it. */
export type Frozen<N extends number | readonly number[]> = N extends readonly number[] ? Readonly<N>
  : N;

/** n of the n-step returns of a {@linkcode Schema}. */
export type NStepOf<S extends Schema> = S extends
  { readonly pick: { readonly nStep: infer N extends number | readonly number[] } } ? Frozen<N>
  : readonly [];

/**
 * What a replay takes to record, such as the state of {@linkcode ExperienceReplay.record}. No value fits a replay of any schema. To record
 * into a replay, say in its type what it holds, as in `ExperienceReplay<{ state: Column<"float32", [4]> }>`.
 */
export type Recordable<S extends Schema, Value> = typeof anySchema extends keyof S ? never : Value;

/** What {@linkcode ExperienceReplay.record} takes for the state, action or reward. */
export type RecordValue<S extends Schema, K extends "state" | "action" | "reward"> = Recordable<
  S,
  K extends "action" | "reward" ? ColumnValue<ColumnOf<S, K>> : StateValue<StateOf<S>>
>;

/**
 * What {@linkcode ExperienceReplay.recordMany} and {@linkcode ExperienceReplay.recordBatch} take for the states, actions or rewards of many
 * steps.
 */
export type RecordArray<S extends Schema, K extends "state" | "action" | "reward"> = K extends
  "action" | "reward" ? ArrayValue<ColumnOf<S, K>> : StateValues<StateOf<S>>;

/** Writes out a type, so that an editor shows what is in it and not the name of what made it. {@linkcode SchemaOf} uses it. */
export type Written<T> = { [K in keyof T]: T[K] } & unknown;

/** The key where two types differ, and no key where they are the same. {@linkcode SchemaOf} uses it. */
export type KeyUnless<K extends string, A, B> = [A] extends [B] ? [B] extends [A] ? never : K : K;

/** The {@linkcode ShownColumns} of these columns and transforms. */
export type ShownOf<State, Action, Reward, Extras, T> = Written<
  & { readonly [K in keyof T & "state"]: TransformedState<State, T[K]> }
  & { readonly [K in keyof T & "action"]: Transformed<Action, T[K]> }
  & { readonly [K in keyof T & "reward"]: Transformed<Reward, T[K]> }
  & {
    readonly [K in keyof T & "extras"]: {
      readonly [P in keyof Extras]: Transformed<Extras[P], ListOf<T[K], P>>;
    };
  }
>;

/** The {@linkcode PickSchema} of these options, without those that have their defaults. */
export type PickSchemaOf<Stack, Compact, NStep, Shown = NoTransforms> = Written<
  & { readonly [K in KeyUnless<"stack", Stack, 1>]: Stack }
  & { readonly [K in KeyUnless<"stackCompact", Compact, false>]: Compact }
  & { readonly [K in KeyUnless<"nStep", NStep, readonly []>]: NStep }
  & { readonly [K in KeyUnless<"shown", keyof Shown, never>]: Shown }
>;

/** The {@linkcode Schema} of these columns and this pick schema, without those that have their defaults. */
export type SchemaOf<State, Action, Reward, Extras, Pick> = Written<
  & { readonly state: State }
  & { readonly [K in KeyUnless<"action", Action, Column<"int32", []>>]: Action }
  & { readonly [K in KeyUnless<"reward", Reward, Column<"float32", []>>]: Reward }
  & { readonly [K in KeyUnless<"extras", keyof Extras, never>]: Extras }
  & { readonly [K in KeyUnless<"pick", keyof Pick, never>]: Pick }
>;

/** The {@linkcode Schema} of another pick view of a replay: the same columns, and a pick schema of its own. */
export type ViewSchema<S extends Schema, Pick> = Written<
  & { readonly [K in keyof S as K extends "pick" ? never : K]: S[K] }
  & { readonly [K in KeyUnless<"pick", keyof Pick, never>]: Pick }
>;

/** The {@linkcode Schema} of a pick view that {@linkcode ExperienceReplay.newPickView} makes by these options. */
export type NewViewSchema<S extends Schema, Stack, Compact, NStep, Transforms> = ViewSchema<
  S,
  PickSchemaOf<
    Stack,
    Compact,
    NStep,
    ShownOf<
      OwnState<S>,
      ColumnOf<S, "action">,
      ColumnOf<S, "reward">,
      ExtrasOf<S>,
      Transforms
    >
  >
>;

/** The key of {@linkcode Known}; nothing at run time. */
export declare const known: unique symbol;

/**
 * The parts of a {@linkcode Schema}, with the defaults filled in. TypeScript compares types with a schema by them. `labels` makes
 * TypeScript compare these parts, and not the schemas as they are written.
 */
export type Known<S extends Schema> = {
  readonly state: OwnState<S>;
  readonly action: ColumnOf<S, "action">;
  readonly reward: ColumnOf<S, "reward">;
  readonly extras: ExtrasOf<S>;
  readonly stack: StackOf<S>;
  readonly compact: CompactOf<S>;
  readonly nStep: NStepOf<S>;
  readonly shownState: S extends { readonly pick: { readonly shown: { readonly state: infer C } } }
    ? C
    : OwnState<S>;
  readonly shown: readonly [ShownColumn<S, "action">, ShownColumn<S, "reward">];
  readonly shownExtras: ShownExtras<S>;
  readonly labels: { readonly [K in keyof S]?: unknown };
};
