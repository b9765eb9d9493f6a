/**
 * The small replay of the checks. Its states are single numbers, so a state identifies its record.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  type CreateOptions,
  ExperienceReplay,
  float32,
  type Selector,
} from "../mod.ts";

/** A replay of one-number states. */
export type SmallReplay = ExperienceReplay<{ state: Column<"float32", [1]> }>;

/** A batch of a small replay. */
export type SmallBatch = Batch<{ state: Column<"float32", [1]> }>;

/** A selector of a small replay. */
export type SmallSelector = Selector<{ state: Column<"float32", [1]> }>;

/** Which kernel a replay runs on, as the options of `ExperienceReplay.create` say it. */
export type KernelChoice = Pick<CreateOptions, "kernelPath" | "backend">;

/** The options of a small replay. */
export interface SmallOptions extends
  Partial<
    Pick<
      CreateOptions,
      "capacity" | "seed" | "segmentLength" | "eviction" | "capacityBytes" | "maxAge"
    >
  > {
  readonly length?: number;
  readonly allowShort?: boolean;
  readonly kernel?: KernelChoice;
}

/** Makes a small replay. */
export function smallReplay(options: SmallOptions = {}): Promise<SmallReplay> {
  const { length = 1, allowShort = false, kernel, ...others } = options;
  return ExperienceReplay.create({
    capacity: 100,
    seed: 1,
    ...others,
    ...kernel,
    state: float32(1),
    pick: { length, allowShort },
  });
}

/** Records an ended episode of `count` steps, with states `first`, `first + 1`, …. Returns its handle. */
export function recordEpisode(replay: SmallReplay, count: number, first = 0): number {
  let episode = replay.newEpisode();
  for (let step = 0; step < count; step++) {
    const options = step === count - 1 ? { finalState: [first + count] } : undefined;
    episode = replay.record(episode, [first + step], step, 1, options);
  }
  return episode;
}
