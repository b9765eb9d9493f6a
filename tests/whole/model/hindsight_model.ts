/**
 * Hindsight, plain: which picks get which goals. It is written from what `Hindsight` promises; the random numbers are the library's
 * own stream, which has tests of its own.
 *
 * @module
 */

import type { HindsightStrategy } from "@exrp/replay";
import { RandomStream } from "@exrp/replay/selectors";

/** The options of a hindsight. */
export interface HindsightSpec {
  readonly strategy: HindsightStrategy;
  readonly share: number;
  /** Elements of the state that are the achieved and the desired goal; undefined: the extras `mask` and `goal`. */
  readonly inState: number | undefined;
}

/** The part of an episode that hindsight reads: the goals that its steps achieved, where known. */
export interface EpisodeGoals {
  readonly handle: number;
  /** The position of the first of them. */
  readonly first: number;
  readonly goals: readonly Uint8Array[];
}

/** The part of a pick that hindsight reads. */
export interface PickOfBatch {
  readonly episode: number;
  readonly position: number;
  /** By row: the positions of its records in the batch. */
  readonly rows: ReadonlyMap<number, number>;
  /** Whether the next states of all of them are known. */
  readonly isKnown: boolean;
}

/** A goal for a pick; `kept` where there is none. */
export type ModelGoal =
  | { readonly episode: number; readonly position: number; readonly goal: Uint8Array }
  | "kept"
  | undefined;

/** The hindsights of a replay have streams from this number on. */
const STREAM = 2 ** 31;

export class HindsightModel {
  readonly #random: RandomStream;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = new RandomStream(seed, STREAM);
  }

  /** The same random numbers, going their own way from here. */
  clone(anew: boolean): HindsightModel {
    const copy = new HindsightModel(this.#seed);
    if (!anew) copy.#random.load(this.#random.save());
    return copy;
  }

  /** A goal for each pick. `fromFirst`: the fault of looking ahead from a pick's first row. */
  choose(
    spec: HindsightSpec,
    picks: readonly PickOfBatch[],
    episodes: readonly EpisodeGoals[],
    fromFirst: boolean,
  ): ModelGoal[] {
    return picks.map((pick) => {
      if (this.#random.uniform() >= spec.share) return undefined;
      const own = episodes.find(({ handle }) => handle === pick.episode);
      const isKnown = spec.inState === undefined || pick.isKnown;
      const last = Math.max(...pick.rows.values());
      // Evicted; or of before a load, after which another episode has its handle, or none yet.
      if (own === undefined || own.first + own.goals.length <= last || !isKnown) return "kept";
      // Its records are gone.
      if (last < own.first) return "kept";
      const all = episodes.flatMap(({ handle, first, goals }) =>
        goals.map((goal, k) => ({ episode: handle, position: first + k, goal }))
      );
      const mine = all.filter(({ episode }) => episode === pick.episode);
      switch (spec.strategy) {
        case "final":
          return mine.at(-1);
        case "future":
          return this.#any(
            mine.filter(({ position }) => position >= (fromFirst ? pick.position : last)),
          );
        case "episode":
          return this.#any(mine);
        case "random":
          return this.#any(all);
      }
    });
  }

  #any<T>(among: readonly T[]): T | undefined {
    return among[this.#random.below(among.length)];
  }
}

/** The result of the runner's callback for the kth step. */
export function answerOf(k: number): { reward: number; terminated: boolean } {
  return { reward: k % 2, terminated: k % 3 === 0 };
}
