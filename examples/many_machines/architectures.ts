/**
 * The architectures, and the replays that they learn from.
 *
 * @module
 */
import { type Column, prioritized, samplesPerInsert } from "@exrp/replay";
import type { RateLimiter } from "@exrp/replay/types";
import * as apex from "../apex_cartpole/learner.ts";
import * as r2d2 from "../r2d2_memory/agent.ts";

/** What `--as` takes. */
export const ARCHITECTURES = ["apex", "r2d2", "impala", "impact", "seed"] as const;

/** One of {@linkcode ARCHITECTURES}. */
export type Architecture = typeof ARCHITECTURES[number];

/** Steps of all actors at most, where the user says nothing else. */
export const STEPS: Readonly<Record<Architecture, number>> = {
  apex: 60_000,
  r2d2: 50_000,
  impala: 120_000,
  impact: 120_000,
  seed: 60_000,
};

/** Environments of each actor of SEED RL. */
export const SEED_ENVIRONMENTS = 4;

/** How many actors there may be: those of R2D2, IMPALA and IMPACT share eight environments. */
export function actorsMax(as: Architecture): number {
  return as === "apex" || as === "seed" ? 10_000 : 8;
}

/** How many actors of the paper's schedule there are: each explores as much as its number says. */
export function explorersOf(as: Architecture, actors: number): number {
  return as === "seed" ? actors * SEED_ENVIRONMENTS : actors;
}

/** What shards store. IMPALA and IMPACT have none: their learner takes each step once, out of a queue of its own. */
export const STORED = {
  apex: { options: apex.OPTIONS, alpha: apex.SETTINGS.alpha },
  seed: { options: apex.OPTIONS, alpha: apex.SETTINGS.alpha },
  r2d2: { options: r2d2.OPTIONS, alpha: r2d2.SETTINGS.alpha },
} as const;

/** An architecture that learns from shards. */
export type StoredArchitecture = keyof typeof STORED;

/** Whether an architecture learns from shards. */
export function isStored(as: Architecture): as is StoredArchitecture {
  return as in STORED;
}

/** The rule by which shards draw. */
export function ruleOf(as: StoredArchitecture): ReturnType<typeof prioritized> {
  return prioritized({ alpha: STORED[as].alpha });
}

/** Who is ahead waits: the learner, or the actors. */
export function rateLimiterOf(as: StoredArchitecture): RateLimiter {
  if (as === "r2d2") {
    const { batchSize, stepsPerUpdate, warmupSteps } = r2d2.SETTINGS;
    const ratio = batchSize / stepsPerUpdate;
    return samplesPerInsert(ratio, { minSize: warmupSteps, error: 500 * ratio });
  }
  const { batchSize, updatesPerStep, warmupSteps } = apex.SETTINGS;
  const ratio = batchSize * updatesPerStep;
  return samplesPerInsert(ratio, { minSize: warmupSteps, error: 200 * ratio });
}

/** The same replay as the file that `deno task shard` takes. */
export function shardFile(as: StoredArchitecture, prefix: string): object {
  const { options: { state, pick, capacity, ...options }, alpha } = STORED[as];
  const extras = "extras" in options ? Object.entries<Column>(options.extras) : [];
  return {
    name: "a",
    prefix,
    directory: "replay",
    replay: {
      capacity,
      state: String(state),
      ...extras.length === 0 ? {} : {
        extras: Object.fromEntries(extras.map(([name, column]) => [name, String(column)])),
      },
      pick,
    },
    selectors: [{ prioritized: { alpha } }],
  };
}
