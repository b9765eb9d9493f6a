/**
 * What transforms are, and what TypeScript knows of a column after them.
 *
 * @module
 */

import type { Column, DType, KeptColumn } from "./columns.ts";
import type { AnyState, IsAny, LeafOption } from "./state.ts";

/** Where the channels of a picture stand in the shape of its column: before the height and the width, or behind them. {@linkcode randomShift} takes it. */
export type Channels = "first" | "last";

/** Numbers as float32 or float16, times `scale`, plus `offset`. {@linkcode toFloat32}, {@linkcode toFloat16} and {@linkcode scale} make it. */
export interface LinearTransform<
  Kind extends "toFloat32" | "toFloat16" = "toFloat32" | "toFloat16",
> {
  /** What it makes. */
  readonly kind: Kind;
  /** The factor. */
  readonly scale: number;
  /** What is added to the product. */
  readonly offset: number;
}

/** Numbers within bounds. {@linkcode clip} makes it. */
export interface ClipTransform {
  /** What it does. */
  readonly kind: "clip";
  /** What smaller numbers become. */
  readonly min: number;
  /** What larger numbers become. */
  readonly max: number;
}

/** Numbers less their running mean, divided by their running deviation. {@linkcode normalize} makes it. */
export interface NormalizeTransform {
  /** What it does. */
  readonly kind: "normalize";
  /** What is added to the variance. */
  readonly epsilon: number;
  /** The largest size of a result; false for no limit. */
  readonly clip: number | false;
}

/** Pictures moved by some pixels. {@linkcode randomShift} makes it. */
export interface ShiftTransform {
  /** What it does. */
  readonly kind: "randomShift";
  /** By how many pixels at most. */
  readonly pad: number;
  /** Where the channels are. */
  readonly channels: Channels;
}

/** A part of each picture. {@linkcode randomCrop} and {@linkcode centerCrop} make it. */
export interface CropTransform<
  Height extends number = number,
  Width extends number = number,
  C extends Channels = Channels,
> {
  /** Which part. */
  readonly kind: "randomCrop" | "centerCrop";
  /** Its height in pixels. */
  readonly height: Height;
  /** Its width in pixels. */
  readonly width: Width;
  /** Where the channels are. */
  readonly channels: C;
}

/** What a batch does with the values of a column. {@linkcode PickTransforms} has lists of them. */
export type Transform =
  | LinearTransform
  | ClipTransform
  | NormalizeTransform
  | ShiftTransform
  | CropTransform;

/** Transforms of a column, in the order in which they are done. {@linkcode PickTransforms} has them. */
export type TransformList = readonly Transform[];

/**
 * The transforms of columns, by their names: the option `transform` of {@linkcode PickOptions}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { type PickTransforms, toFloat32 } from "@exrp/replay/transforms";
 *
 * const transform = { state: [toFloat32({ scale: 1 / 255 })] } satisfies PickTransforms;
 * using replay = await ExperienceReplay.create({ capacity: 10, state: uint8(2), pick: { transform } });
 * replay.record(replay.newEpisode(), [0, 255], 0, 1, { finalState: [51, 102] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log([...batch.state]); // [0, 1]
 * ```
 */
export interface PickTransforms {
  /**
   * Those of the state: in `state`, `nextState` and the next states of `nStep`. If the state has several leaves, each has a list, in the structure of the
   * state.
   */
  readonly state?: LeafOption<TransformList>;
  /** Those of the action. */
  readonly action?: TransformList;
  /** Those of the reward. Returns of `nStep` and `returnToGo` are sums of the transformed rewards. */
  readonly reward?: TransformList;
  /** Those of extras, by their names. */
  readonly extras?: Readonly<Record<string, TransformList>>;
}

/** No {@linkcode PickTransforms} at all. */
export type NoTransforms = Readonly<Record<never, never>>;

/** The transforms by this name; an empty list without any. {@linkcode PickTransforms} has them. */
export type ListOf<T, K> = K extends keyof T ? T[K] : readonly [];

/** A column of another dtype and shape, which as many records keep as `C`. {@linkcode PickTransforms} make it. */
export type Like<C extends Column, D extends DType, S extends readonly number[]> = C extends
  KeptColumn ? KeptColumn<D, S>
  : Column<D, S>;

/** The shape of pictures after a crop, as {@linkcode randomCrop} makes it. */
export type CroppedShape<S extends readonly number[], T extends CropTransform> = number extends
  S["length"] ? readonly number[]
  : T["channels"] extends "last"
    ? S extends readonly [...infer Lead extends number[], number, number, infer C extends number]
      ? [...Lead, T["height"], T["width"], C]
    : readonly number[]
  : S extends readonly [...infer Lead extends number[], number, number]
    ? [...Lead, T["height"], T["width"]]
  : readonly number[];

/** The shape of a column, which {@linkcode toFloat32} leaves as it is. */
export type ShapeOf<C extends Column> = C extends Column<DType, infer S> ? S : readonly number[];

/** A column after one transform, of which {@linkcode PickTransforms} has lists. */
export type AfterOne<C extends Column, T extends Transform> = T extends CropTransform
  ? Like<C, C["dtype"], CroppedShape<C["shape"], T>>
  : T extends ShiftTransform ? C
  : T extends LinearTransform<"toFloat16"> ? Like<C, "float16", ShapeOf<C>>
  : Like<C, "float32", ShapeOf<C>>;

/**
 * A column as a batch shows it after these transforms, which are those of {@linkcode PickTransforms}. Where TypeScript does not know them, it is any column.
 */
export type Transformed<C, T> = C extends Column
  ? T extends readonly [infer First extends Transform, ...infer Rest extends TransformList]
    ? Transformed<AfterOne<C, First>, Rest>
  : T extends readonly [] ? C
  : Column
  : Column;

/** A state as a batch shows it after these transforms of its leaves, which are those of {@linkcode PickTransforms}. */
export type TransformedState<C, T> = IsAny<C> extends true ? AnyState
  : C extends Column ? Transformed<C, T>
  : { readonly [K in keyof C]: K extends keyof T ? TransformedState<C[K], T[K]> : C[K] };
