/**
 * The small replay that rules are tried with: states of one number, so that a record says which it is.
 *
 * @module
 */

import { type Column, ExperienceReplay, float32 } from "../mod.ts";
import type { EvictionRule } from "../eviction/mod.ts";

/** A replay of one-number states. */
export type SmallReplay = ExperienceReplay<{ state: Column<"float32", [1]> }>;

/** What a small replay may differ in. */
export interface SmallOptions {
  readonly capacity?: number;
  readonly length?: number;
  readonly seed?: number;
  readonly segmentLength?: number;
  readonly eviction?: EvictionRule;
  readonly allowShort?: boolean;
  readonly capacityBytes?: number;
  readonly maxAge?: number;
  readonly kernelPath?: string | URL | undefined;
}

/** Makes one. */
export function smallReplay(options: SmallOptions = {}): Promise<SmallReplay> {
  const { capacity = 100, length = 1, seed = 1, allowShort = false } = options;
  const { segmentLength = capacity, eviction, kernelPath, capacityBytes, maxAge } = options;
  return ExperienceReplay.create({
    capacity,
    state: float32(1),
    pick: { length, allowShort },
    seed,
    segmentLength,
    ...(eviction === undefined ? {} : { eviction }),
    ...(kernelPath === undefined ? {} : { kernelPath }),
    ...(capacityBytes === undefined ? {} : { capacityBytes }),
    ...(maxAge === undefined ? {} : { maxAge }),
  });
}

/** Records `count` steps of an episode whose states are `first`, `first + 1`, …, and ends it; gives its handle. */
export function recordEpisode(replay: SmallReplay, count: number, first = 0): number {
  let episode = replay.newEpisode();
  for (let step = 0; step < count; step++) {
    const options = step === count - 1 ? { finalState: [first + count] } : undefined;
    episode = replay.record(episode, [first + step], step, 1, options);
  }
  return episode;
}
