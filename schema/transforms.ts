/**
 * Transforms: what a batch does with the values of a column while they are copied.
 *
 * @module
 */

import { checkInteger, checkNumber, checkWord } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type {
  Channels,
  ClipTransform,
  CropTransform,
  LinearTransform,
  NormalizeTransform,
  ShiftTransform,
} from "./transform_types.ts";

/** The options of {@linkcode toFloat32} and {@linkcode toFloat16}. */
export interface LinearOptions {
  /** The factor: any finite number; 1 by default. */
  readonly scale?: number;
  /** What is added to the product: any finite number; 0 by default. */
  readonly offset?: number;
}

/** The options of {@linkcode normalize}. */
export interface NormalizeOptions {
  /** What is added to the variance: above 0, 1e-8 by default. */
  readonly epsilon?: number;
  /** Results are clipped to the numbers from `-clip` to `clip`: above 0, 10 by default; `false` clips nothing. */
  readonly clip?: number | false;
}

/** The options of {@linkcode randomShift}, {@linkcode randomCrop} and {@linkcode centerCrop}. */
export interface PictureOptions<C extends Channels = Channels> {
  /** `"first"` for columns of shape `[…, height, width]`, the default; `"last"` for `[…, height, width, channels]`. */
  readonly channels?: C;
}

const FLOAT32_MAX = 2 ** 128 - 2 ** 104;
const SIZE_MAX = 2 ** 24;

/** Makes the transform that multiplies and adds. */
export function linear<Kind extends "toFloat32" | "toFloat16">(
  kind: Kind,
  options: LinearOptions,
): LinearTransform<Kind> {
  checkOptions(`${kind}()`, options, ["scale", "offset"]);
  const number = (name: keyof LinearOptions, standard: number): number =>
    checkNumber(`${kind}(): ${name}`, options[name] ?? standard, -FLOAT32_MAX, FLOAT32_MAX);
  return Object.freeze({ kind, scale: number("scale", 1), offset: number("offset", 0) });
}

/**
 * Makes numbers of any dtype float32: x · `scale` + `offset`. The batch's array is then a `Float32Array`.
 *
 * Numbers are computed in single precision. `scale` and `offset` are rounded to it first, and so is each result. float64 and large whole numbers lose what
 * does not fit.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} If a number is NaN, or not finite as a float32.
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { toFloat32 } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: uint8(2),
 *   pick: { transform: { state: [toFloat32({ scale: 1 / 51, offset: -1 })] } },
 * });
 * replay.record(replay.newEpisode(), [0, 51], 0, 1, { finalState: [102, 255] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log(batch.state); // Float32Array(2) [-1, 0]
 * console.log(batch.nextState); // Float32Array(2) [1, 4]
 * ```
 */
export function toFloat32(options: LinearOptions = {}): LinearTransform<"toFloat32"> {
  return linear("toFloat32", options);
}

/**
 * Makes numbers of any dtype float16: x · `scale` + `offset` as a float32, and then the nearest float16, ties to even. It comes last in its list.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind. If the engine has no `Float16Array`, `create` throws it.
 * @throws {RangeError} If a number is NaN, or not finite as a float32.
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { toFloat16 } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: uint8(2),
 *   pick: { transform: { state: [toFloat16({ scale: 0.25 })] } },
 * });
 * replay.record(replay.newEpisode(), [1, 2], 0, 1, { finalState: [3, 4] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log(batch.state); // Float16Array(2) [0.25, 0.5]
 * ```
 */
export function toFloat16(options: LinearOptions = {}): LinearTransform<"toFloat16"> {
  return linear("toFloat16", options);
}

/**
 * Multiplies by a factor: the same as `toFloat32({ scale: factor })`.
 *
 * @throws {TypeError} If the factor is not a number.
 * @throws {RangeError} If it is NaN, or not finite as a float32.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { scale } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(),
 *   pick: { transform: { reward: [scale(0.5)] } },
 * });
 * replay.record(replay.newEpisode(), 0, 0, 7, { finalState: 1 });
 * console.log(replay.getBatch(1, replay.newPickSelector(uniform())).reward); // Float32Array(1) [3.5]
 * ```
 */
export function scale(factor: number): LinearTransform<"toFloat32"> {
  checkNumber("scale(): factor", factor, -FLOAT32_MAX, FLOAT32_MAX);
  return linear("toFloat32", { scale: factor });
}

/**
 * Makes smaller numbers `min`, and larger ones `max`. The result is float32. A NaN stays NaN.
 *
 * @throws {TypeError} If a bound is not a number.
 * @throws {RangeError} If a bound is NaN, or not finite as a float32, or if `min` is above `max`.
 * @example Rewards between -1 and 1, as for Atari
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { clip } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(),
 *   pick: { transform: { reward: [clip(-1, 1)] } },
 * });
 * replay.record(replay.newEpisode(), 0, 0, 400, { finalState: 1 });
 * console.log(replay.getBatch(1, replay.newPickSelector(uniform())).reward); // Float32Array(1) [1]
 * ```
 */
export function clip(min: number, max: number): ClipTransform {
  checkNumber("clip(): min", min, -FLOAT32_MAX, FLOAT32_MAX);
  checkNumber("clip(): max", max, -FLOAT32_MAX, FLOAT32_MAX);
  if (min > max) throw new RangeError(`clip(): min must be at most max, got ${min} and ${max}`);
  return Object.freeze({ kind: "clip", min, max });
}

/**
 * Takes the running mean from each element, and divides by its running standard deviation: (x − mean) / √(variance + `epsilon`), clipped. The result is
 * float32. It comes first in its list.
 *
 * The replay keeps the mean and the variance of each element of the column. They begin with the records that are stored when the first view asks for them, and
 * take each record that comes. A record stays in them when it is evicted or updated. Final states are not in them. Values that are not finite count as the
 * mean. A snapshot has them, and {@linkcode ReplayView.columnStatistics} shows them. A batch is made with those of the moment when it is drawn.
 *
 * `epsilon` and `clip` are those of Stable-Baselines3's `VecNormalize`. Note that this one divides rewards by the deviation of the discounted return.
 *
 * Cost: about 2 ns an element for each record.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { normalize } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(2),
 *   pick: { transform: { state: [normalize({ clip: 10 })] } },
 *   seed: 1,
 * });
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10, 1], 0, 0);
 * replay.record(episode, [20, 1], 0, 0, { finalState: [30, 1] });
 * const { count, mean, variance } = replay.columnStatistics("state") ?? {};
 * console.log(count, mean, variance); // 2 Float64Array(2) [15, 1] Float64Array(2) [25, 0]
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log(batch.state[0] === (batch.pickPosition[0] === 0 ? -1 : 1)); // true
 * ```
 */
export function normalize(options: NormalizeOptions = {}): NormalizeTransform {
  checkOptions("normalize()", options, ["epsilon", "clip"]);
  const { epsilon = 1e-8, clip = 10 } = options;
  return Object.freeze({
    kind: "normalize",
    epsilon: checkNumber("normalize(): epsilon", epsilon, Number.MIN_VALUE, 2 ** 53),
    clip: clip !== false && checkNumber("normalize(): clip", clip, Number.MIN_VALUE, FLOAT32_MAX),
  });
}

function channelsOf<C extends Channels>(where: string, options: PictureOptions<C>): C {
  checkOptions(where, options, ["channels"]);
  return checkWord(`${where}: channels`, options.channels ?? "first", ["first", "last"]) as C;
}

/**
 * Moves pictures by some pixels at random, as in DrQ: it adds `pad` pixels on each side, which repeat the edge, and cuts out a picture of the old size at a
 * random place. Shape and dtype stay.
 *
 * Each pick of a batch is moved by its own. All frames of its stacks and all of its rows move together. Its states, its next states and those of `nStep` move
 * independently, as in the code of DrQ. The places follow from the replay's seed, so the same calls give the same batches. A snapshot keeps that.
 *
 * Source: Yarats et al., "Image Augmentation Is All You Need: Regularizing Deep Reinforcement Learning from Pixels" (ICLR 2021), section 3.1.
 *
 * @param pad The most pixels by which a picture moves: a whole number from 1; 4 by default.
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { randomShift } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: uint8(1, 3), // one line of three pixels
 *   pick: { transform: { state: [randomShift(1)] } },
 *   seed: 1,
 * });
 * replay.record(replay.newEpisode(), [1, 2, 3], 0, 0, { finalState: [4, 5, 6] });
 * const { state } = replay.getBatch(100, replay.newPickSelector(uniform()));
 * const pictures = Array.from({ length: 100 }, (_, k) => state.slice(3 * k, 3 * k + 3).join(""));
 * console.log([...new Set(pictures)].sort()); // ["112", "123", "233"]
 * ```
 */
export function randomShift(pad = 4, options: PictureOptions = {}): ShiftTransform {
  const where = "randomShift()";
  checkInteger(`${where}: pad`, pad, 1, SIZE_MAX);
  return Object.freeze({ kind: "randomShift", pad, channels: channelsOf(where, options) });
}

/** Makes the transform that cuts out. */
export function crop<Height extends number, Width extends number, C extends Channels>(
  kind: CropTransform["kind"],
  height: Height,
  width: Width,
  options: PictureOptions<C>,
): CropTransform<Height, Width, C> {
  const where = `${kind}()`;
  checkInteger(`${where}: height`, height, 1, SIZE_MAX);
  checkInteger(`${where}: width`, width, 1, SIZE_MAX);
  return Object.freeze({ kind, height, width, channels: channelsOf(where, options) });
}

/**
 * Cuts a part out of each picture, at a random place. It changes the shape of the column in the batch. What it says of places is as for
 * {@linkcode randomShift}.
 *
 * @param height Its height: a whole number from 1, at most that of the picture.
 * @param width Its width, likewise.
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { randomCrop } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: uint8(100, 100, 3),
 *   pick: { transform: { state: [randomCrop(84, 84, { channels: "last" })] } },
 * });
 * replay.record(replay.newEpisode(), new Uint8Array(30000), 0, 0, { finalState: new Uint8Array(30000) });
 * const batch = replay.getBatch(5, replay.newPickSelector(uniform()));
 * console.log(batch.shape.state); // [5, 1, 84, 84, 3]
 * ```
 */
export function randomCrop<
  const Height extends number,
  const Width extends number,
  const C extends Channels = "first",
>(
  height: Height,
  width: Width,
  options: PictureOptions<C> = {},
): CropTransform<Height, Width, C> {
  return crop("randomCrop", height, width, options);
}

/**
 * Cuts the middle out of each picture. It changes the shape of the column in the batch. Where there is one line too many, it goes below, and one pixel too
 * many goes on the right.
 *
 * @param height Its height: a whole number from 1, at most that of the picture.
 * @param width Its width, likewise.
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { centerCrop } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: uint8(1, 4),
 *   pick: { transform: { state: [centerCrop(1, 2)] } },
 * });
 * replay.record(replay.newEpisode(), [1, 2, 3, 4], 0, 0, { finalState: [5, 6, 7, 8] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log([...batch.state, ...batch.nextState]); // [2, 3, 6, 7]
 * ```
 */
export function centerCrop<
  const Height extends number,
  const Width extends number,
  const C extends Channels = "first",
>(
  height: Height,
  width: Width,
  options: PictureOptions<C> = {},
): CropTransform<Height, Width, C> {
  return crop("centerCrop", height, width, options);
}
