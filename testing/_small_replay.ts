/**
 * The small replay of the checks. Its states are single numbers, so a state identifies its record.
 *
 * @module
 */

import { type Column, ExperienceReplay, float32 } from "../mod.ts";
import type { EvictionRule } from "../eviction/mod.ts";

/** A replay of one-number states. */
export type SmallReplay = ExperienceReplay<{ state: Column<"float32", [1]> }>;

/** Which kernel a replay runs on, as the options of `ExperienceReplay.create` say it. */
export interface KernelChoice {
  readonly kernelPath?: string | URL;
  readonly backend?: "auto" | "native" | "wasm";
}

/** The options of a small replay. */
export interface SmallOptions {
  readonly capacity?: number;
  readonly length?: number;
  readonly seed?: number;
  readonly segmentLength?: number;
  readonly eviction?: EvictionRule;
  readonly allowShort?: boolean;
  readonly capacityBytes?: number;
  readonly maxAge?: number;
  readonly kernel?: KernelChoice;
}

/** Makes a small replay. */
export function smallReplay(options: SmallOptions = {}): Promise<SmallReplay> {
  const { capacity = 100, length = 1, seed = 1, allowShort = false } = options;
  const { segmentLength, eviction, kernel, capacityBytes, maxAge } = options;
  return ExperienceReplay.create({
    capacity,
    state: float32(1),
    pick: { length, allowShort },
    seed,
    ...(segmentLength === undefined ? {} : { segmentLength }),
    ...(eviction === undefined ? {} : { eviction }),
    ...kernel,
    ...(capacityBytes === undefined ? {} : { capacityBytes }),
    ...(maxAge === undefined ? {} : { maxAge }),
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
