export type {
  AgeStats,
  Histogram,
  NotedDraws,
  ReplayStats,
  SelectorStats,
  WeightStats,
} from "./replay_stats.ts";
