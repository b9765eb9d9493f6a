/**
 * Transforms: what a batch does with the values of a column while they are copied. The option `transform` of {@linkcode PickOptions} takes them.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { randomShift, toFloat32 } from "@exrp/replay/transforms";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: uint8(84, 84),
 *   pick: { transform: { state: [randomShift(4), toFloat32({ scale: 1 / 255 })] } },
 * });
 * const frame = new Uint8Array(84 * 84).fill(255);
 * replay.record(replay.newEpisode(), frame, 0, 1, { finalState: frame });
 * const batch = replay.getBatch(8, replay.newPickSelector(uniform()));
 * console.log(batch.state[0]); // 1
 * ```
 *
 * @module
 */

export {
  centerCrop,
  clip,
  normalize,
  randomCrop,
  randomShift,
  scale,
  toFloat16,
  toFloat32,
} from "./schema/transforms.ts";
export type { LinearOptions, NormalizeOptions, PictureOptions } from "./schema/transforms.ts";
export type { PickTransforms, Transform } from "./schema/transform_types.ts";
