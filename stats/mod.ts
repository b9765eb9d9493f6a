/**
 * What `replay.stats()` returns, and one picture of it: {@linkcode statsSvg}.
 *
 * @example What a prioritized learner sees
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { type ReplayStats, statsSvg } from "@exrp/replay/stats";
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
 * console.log((prioritizedDraws?.weights?.effectiveCount ?? 0) < 99); // true: 99 picks, not all drawn alike
 * console.log(statsSvg(stats).includes("<svg")); // true
 * ```
 *
 * @module
 */

export type {
  AgeStats,
  Histogram,
  NotedDraws,
  PickNumbers,
  PriorityStats,
  ReplayStats,
  SelectorStats,
  WeightStats,
} from "./replay_stats.ts";
export { statsSvg, type StatsSvgOptions } from "./stats_svg.ts";
