/**
 * What a learner's end of shards is called with, and what it gives back.
 *
 * @module
 */

import type { WaitOptions } from "../mod.ts";
import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";

/** What happened to a shard, as `onChange` of {@linkcode ConnectShardsOptions} hears of it. */
export interface ShardChange {
  /** `came`: it is there, for the first time or again. `left`: it said nothing for 0.9 s, or it has ended. `differs`: it is another replay, and not drawn from. */
  readonly kind: "came" | "left" | "differs";
  /** The shard's name. */
  readonly shard: string;
  /** What differs, of a shard that does. */
  readonly text: string;
}

/** The options of {@linkcode connectShards}, which has an example. */
export interface ConnectShardsOptions extends WaitOptions {
  /** What the subjects of the shards begin with; `"exrp"` by default. */
  readonly prefix?: string;
  /** How many shards must be there at first; 1 by default. More may come later. */
  readonly shards?: number;
  /** The number of the selector, in the order in which the shards' replays made them; 0 by default. */
  readonly selector?: number;
  /** The seed by which draws are split over shards; random by default. */
  readonly seed?: number;
  /** Holds back records and draws, counted over all shards; none by default. The draws are those of this learner. */
  readonly rateLimiter?: RateLimiter;
  /** Called when a shard comes or goes. */
  readonly onChange?: (change: ShardChange) => void;
}

/** The options of {@linkcode Shards.getBatch}, as in the example of {@linkcode connectShards}. */
export interface ShardsGetBatchOptions extends WaitOptions {
  /** The exponent of importance weights, at least 0; 1 by default. */
  readonly beta?: number;
}

/** The options of {@linkcode Shards.batches}, as in the example of {@linkcode Shards}. */
export interface ShardsBatchesOptions {
  /** The exponent of importance weights, at least 0; 1 by default. A function is called at each draw. */
  readonly beta?: number | (() => number);
  /** How many batches are asked for ahead: 0 to 16; 1 by default. */
  readonly prefetch?: number;
  /** Ends the batches when it aborts. */
  readonly signal?: AbortSignal;
}

/** A shard, as {@linkcode Shards.figures} lists it. */
export interface ShardState {
  /** Its name. */
  readonly name: string;
  /** Whether it is drawn from. */
  readonly isAlive: boolean;
  /** Why it is not, if its replay differs. */
  readonly differs: string | undefined;
  /** Records that it holds. */
  readonly records: number;
  /** Records that were ever written to it. */
  readonly recorded: number;
  /** Writers that sent it something within the last 10 s. */
  readonly writers: number;
  /** Picks of the selector. */
  readonly picks: number;
  /** The sum of their weights. */
  readonly sum: number;
}

/** What a {@linkcode Shards} knows and has done. */
export interface ShardsFigures {
  /** All shards that were ever there. */
  readonly shards: readonly ShardState[];
  /** Picks that it drew. */
  readonly drawn: number;
  /** Parts of batches that another shard had to give, because one had died, or had nothing. */
  readonly redrawn: number;
  /** Messages that were not what they must be. */
  readonly damaged: number;
}

/** A range of the picks of a batch that are of one shard, in {@linkcode ShardKeys}. */
export interface ShardPicks {
  /** The shard's name. */
  readonly shard: string;
  /** The random name of its process. */
  readonly incarnation: string;
  /** The first of the picks. */
  readonly first: number;
  /** How many they are. */
  readonly count: number;
}

/** Which picks a batch has: what {@linkcode Shards.setPriority} needs. It may be posted to another thread and back. */
export interface ShardKeys {
  /** Which picks are whose, one range after the other. */
  readonly origins: readonly ShardPicks[];
  /** `[size]`: the handles of the picks' episodes, in their shards. */
  readonly pickEpisode: Float64Array<ArrayBuffer>;
  /** `[size]`: their positions. */
  readonly pickPosition: Int32Array<ArrayBuffer>;
}
