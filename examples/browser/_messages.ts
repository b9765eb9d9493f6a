/**
 * What the page and its worker say to each other.
 *
 * @module
 */
import type { ReplayStats } from "@exrp/replay/stats";
import type { CurvePoint } from "../_curve.ts";
import type { Options } from "../_dqn_options.ts";

/** What the page asks of the worker. A worker trains once; for another run, the page starts another worker. */
export type Request =
  /** Train. */
  | { readonly do: "train"; readonly options: Pick<Options, "selector" | "seed" | "steps"> }
  /** Wait with training, or go on. */
  | { readonly do: "pause" | "resume" }
  /** Play an episode without exploring, for the picture of the cart. */
  | { readonly do: "play" };

/** How far training is. */
export interface Progress {
  readonly kind: "progress";
  /** Environment steps so far. */
  readonly step: number;
  /** Steps in a second, since the progress before. */
  readonly stepsPerSecond: number;
  /** The share of the time that the replay took, 0 to 1. */
  readonly replayShare: number;
  /** Points of the learning curve that came since the progress before. */
  readonly episodes: readonly CurvePoint[];
  /** The same, of greedy evaluations. */
  readonly evaluations: readonly CurvePoint[];
  /** The best greedy evaluation so far. */
  readonly best: CurvePoint;
  /** What the replay holds, and what was drawn. */
  readonly stats: ReplayStats;
  /** The line of `describe().backend`. */
  readonly backend: string;
}

/** An episode that the network played without exploring. */
export interface Episode {
  readonly kind: "episode";
  /** Environment steps that the network had learned from. */
  readonly step: number;
  /** `[length + 1, 4]`: the states, the last one included. */
  readonly states: Float32Array<ArrayBuffer>;
  /** `[length]`: the actions. */
  readonly actions: Uint8Array<ArrayBuffer>;
}

/** The end of training. */
export interface Done {
  readonly kind: "done";
  /** Whether the task was solved; else the steps ran out. */
  readonly isSolved: boolean;
}

/** What went wrong, in words. */
export interface Failed {
  readonly kind: "failed";
  readonly message: string;
  /** Whether a newer browser would help. */
  readonly lacksFeatures: boolean;
}

/** What the worker tells the page. */
export type Report = Progress | Episode | Done | Failed;
