/**
 * What `replay.stats()` returns, and one picture of it: {@linkcode statsSvg}.
 *
 * @example What a prioritized learner sees
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { type ReplayStats, statsSvg } from "@exrp/replay/stats";
 * import { assert, assertStringIncludes } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(1) });
 * const selector = replay.newPickSelector(prioritized());
 * let episode = replay.newEpisode();
 * for (let t = 0; t < 100; t++) episode = replay.record(episode, [t], 0, 0);
 * const batch = replay.getBatch(32, selector);
 * replay.setPriority(selector, batch, batch.state); // newer records get larger priorities
 * replay.getBatch(32, selector);
 *
 * const stats: ReplayStats = replay.stats();
 * const [prioritizedDraws] = stats.selectors;
 * assert((prioritizedDraws?.weights?.effectiveCount ?? 0) < 99); // 99 picks, not all drawn alike
 * assertStringIncludes(statsSvg(stats), "<svg");
 * ```
 *
 * @module
 */

export type {
  AgeStats,
  Histogram,
  NotedDraws,
  PaceStats,
  PickNumbers,
  PriorityStats,
  ReplayStats,
  SelectorStats,
  WeightStats,
} from "./replay_stats.ts";
export { statsSvg, type StatsSvgOptions } from "./stats_svg.ts";
