/**
 * Replays with episodes for tests, and what they hold, to compare.
 *
 * @module
 */

import {
  bool,
  ExperienceReplay,
  float16,
  float32,
  float64,
  int16,
  int32,
  int8,
  uint8,
} from "@exrp/replay";
import type { EpisodeFormat } from "@exrp/replay/interchange";
import { testRandom } from "../replay/_helpers.ts";
import { checkColumns } from "../../schema/record_columns.ts";
import { leavesOf } from "../../schema/state.ts";

/** The formats of one file that are read and written. */
export const FILES: readonly EpisodeFormat[] = [
  ...["d4rl", "minari", "npz", "parquet", "arrow", "tfrecord"] as const,
];

/** A replay of plain states, with continuous actions, extras and tags. */
export async function plainReplay(seed: number, episodes = 12): Promise<ExperienceReplay> {
  const random = testRandom(seed);
  const replay = await ExperienceReplay.create({
    capacity: 10_000,
    state: float32(3),
    action: float32(2),
    extras: { logProb: float64(), flags: uint8(2), isGood: bool(), depth: int8() },
  });
  const numbers = (count: number): number[] =>
    Array.from({ length: count }, () => random(4096) / 8 - 256);
  for (let k = 0; k < episodes; k++) {
    const count = 1 + random(40);
    replay.recordMany(replay.newEpisode({ tag: random(3) - 1 }), {
      state: numbers(3 * count),
      action: numbers(2 * count),
      reward: numbers(count),
      extras: {
        logProb: numbers(count),
        flags: Array.from({ length: 2 * count }, () => random(256)),
        isGood: Array.from({ length: count }, () => random(2)),
        depth: Array.from({ length: count }, () => random(256) - 128),
      },
      finalState: numbers(3),
      truncated: random(2) === 1,
    });
  }
  return replay as unknown as ExperienceReplay;
}

/** A replay of states with several leaves, with discrete actions. */
export async function nestedReplay(seed: number, episodes = 8): Promise<ExperienceReplay> {
  const random = testRandom(seed);
  const replay = await ExperienceReplay.create({
    capacity: 10_000,
    state: { image: uint8(4, 5), body: [float64(3), int16(), { half: float16(2) }] },
    action: int32(),
    reward: float64(),
  });
  const many = (count: number, bound: number): number[] =>
    Array.from({ length: count }, () => random(bound));
  const states = (count: number) => ({
    image: many(20 * count, 256),
    body: [many(3 * count, 1000), many(count, 1000), { half: many(2 * count, 64) }] as const,
  });
  for (let k = 0; k < episodes; k++) {
    const count = 1 + random(30);
    const { image, body: [place, [speed = 0], half] } = states(1);
    replay.recordMany(replay.newEpisode(), {
      state: states(count),
      action: many(count, 6).map((action) => action - 1),
      reward: many(count, 100),
      finalState: { image, body: [place, speed, half] },
      truncated: random(2) === 1,
    });
  }
  return replay as unknown as ExperienceReplay;
}

/** All of a replay's episodes, as plain numbers. */
export function contentsOf(replay: ExperienceReplay): unknown[] {
  const { tree, leaves, extraNames } = checkColumns("test", replay.columns);
  const all = replay.episodes();
  /** Files have the parts of a state in an order of their own. */
  const named = (values: readonly ArrayLike<number>[]): Record<string, number[]> =>
    Object.fromEntries(
      leaves.map(({ name }, k) => [name, Array.from(values[k] ?? [])] as const)
        .toSorted(([one], [other]) => one < other ? -1 : 1),
    );
  return [...all.handle].map((handle, k) => {
    const { state, action, reward, extras, finalState, ending } = replay.episodeRecords(handle);
    const plain = (values: ArrayLike<number>): number[] => Array.from(values);
    return {
      states: named(leavesOf<ArrayLike<number>>(tree, state)),
      finalStates: named(leavesOf<ArrayLike<number>>(tree, finalState)),
      action: plain(action),
      reward: plain(reward),
      extras: extraNames.toSorted().map((name) => [name, plain(extras[name] ?? [])]),
      ending,
      tag: all.tag[k],
    };
  });
}

/** Runs a test with a folder of its own. */
export async function withFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "exrp_interchange_" });
  try {
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
