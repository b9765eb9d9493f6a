/**
 * The list of a replay's episodes: which ones you want, and what you get of them.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { checkOptions, type OptionHints } from "../base/option_names.ts";
import * as abi from "../ffi/symbols.ts";
import type { Column } from "./columns.ts";
import { REWARD_TYPES } from "./pick_options.ts";
import { checkTags } from "./pick_where.ts";

/**
 * How episodes ended, as the numbers of the column `end` of {@linkcode EpisodeColumns}.
 *
 * @example
 * ```ts
 * import { EPISODE_END, ExperienceReplay, float32 } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2, truncated: true });
 * const open = replay.record(replay.newEpisode(), 1, 0, 0);
 * const { handle, end } = replay.episodes();
 * console.log(end[0] === EPISODE_END.truncated); // true
 * console.log(handle[1] === open, end[1] === EPISODE_END.open); // true true
 * ```
 */
export const EPISODE_END: {
  /** It goes on. */
  readonly open: 0;
  /** The task ended it. */
  readonly terminated: 1;
  /** It was cut off. */
  readonly truncated: 2;
} = Object.freeze({ open: 0, terminated: 1, truncated: 2 });

/**
 * Which episodes {@linkcode ReplayView.episodes} lists: those to which all that you give applies. Without options, it lists all.
 *
 * @example The best of the episodes that ended by themselves
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { EpisodeFilter } from "@exrp/replay/types";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * for (const reward of [3, 9, 5]) replay.record(replay.newEpisode(), 0, 0, reward, { finalState: 1 });
 * const best: EpisodeFilter = { ended: "terminated", best: 2 };
 * console.log([...replay.episodes(best).handle]); // [1, 2]
 * ```
 */
export interface EpisodeFilter {
  /** The tag of the episodes, or a list of 1 to 16 tags; each a whole number from -2^31 to 2^31 - 1. */
  readonly tag?: number | readonly number[];
  /** `true` for those that have ended, `"terminated"` or `"truncated"` for those that ended so, `false` for open ones. */
  readonly ended?: boolean | "terminated" | "truncated";
  /** How many stored records they have at least: a whole number from 0. Give 1 to leave out those without a record. */
  readonly lengthMin?: number;
  /** How many stored records they have at most: a whole number from 0. */
  readonly lengthMax?: number;
  /**
   * Asks for the column `return`: the sum over k of `discount ** k` times the reward of the k-th stored record, counted from 0. It is a number
   * from 0 to 1, and 1 gives plain sums. The rewards must be single numbers, of any dtype.
   */
  readonly discount?: number;
  /**
   * Only the k episodes with the largest returns, a whole number from 1; the best first, and of equal ones the older first. The list then has
   * the column `return`. The `discount` is 1 unless you give one.
   */
  readonly best?: number;
}

/**
 * The episodes of a replay as columns, with a row for each episode. {@linkcode ReplayView.episodes} returns them. Row k of each column is of
 * the same episode. The columns are yours.
 */
export interface EpisodeColumns {
  /** How many episodes these are. */
  readonly size: number;
  /** `[size]`: their handles. */
  readonly handle: Float64Array<ArrayBuffer>;
  /** `[size]`: how many records of each are stored. */
  readonly length: Uint32Array<ArrayBuffer>;
  /** `[size]`: the position of the oldest of them, or of the next record if there is none. It is 0 until the replay trims the episode. */
  readonly firstPosition: Uint32Array<ArrayBuffer>;
  /** `[size]`: their tags. */
  readonly tag: Int32Array<ArrayBuffer>;
  /** `[size]`: how they ended: 0 for open, 1 for terminated, 2 for truncated, as {@linkcode EPISODE_END} names them. */
  readonly end: Uint8Array<ArrayBuffer>;
  /**
   * `[size]`: how many records were written to the replay since the newest one of each; NaN if none is stored. If episodes are recorded in turn,
   * it may be a little too high, as {@linkcode AgeStats} says.
   */
  readonly age: Float64Array<ArrayBuffer>;
  /** `[size]`: their returns; undefined unless you asked for them by `discount` or `best`. */
  readonly return?: Float64Array<ArrayBuffer> | undefined;
}

/** {@linkcode EpisodeColumns} with returns. */
export interface EpisodeReturns extends EpisodeColumns {
  /** `[size]`: the return of each: the discounted sum of its stored rewards. */
  readonly return: Float64Array<ArrayBuffer>;
}

/** The same columns, each with other rows, `size` of them. `map` gives the new array of a column, which is of the same class. */
export function mapColumns(
  columns: EpisodeColumns,
  size: number,
  map: (column: EpisodeArray) => EpisodeArray,
): EpisodeColumns {
  const { size: _, ...arrays } = columns;
  const mapped = Object.entries<EpisodeArray>(arrays).map(([name, of]) => [name, map(of)]);
  return { size, ...Object.fromEntries(mapped) };
}

/** An {@linkcode EpisodeFilter} that asks for returns. */
export type ReturnsFilter =
  & EpisodeFilter
  & ({ readonly discount: number } | { readonly best: number });

/** A column of {@linkcode EpisodeColumns}. */
type EpisodeArray =
  | Float64Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

const OPTIONS = ["tag", "ended", "lengthMin", "lengthMax", "discount", "best"] as const;

const HINTS: OptionHints = {
  returns: "discount: 1 asks for plain returns",
  return: "discount: 1 asks for plain returns",
  tags: "tag takes a list, too",
  where: "give tag itself",
  ending: "use ended",
  terminated: 'use ended: "terminated"',
  truncated: 'use ended: "truncated"',
  open: "use ended: false",
};

const ALL_ENDS = 1 << EPISODE_END.open | 1 << EPISODE_END.terminated | 1 << EPISODE_END.truncated;

/** The bits of the ends that each value of `ended` asks for. */
const ENDS = new Map<unknown, number>([
  [undefined, ALL_ENDS],
  [false, 1 << EPISODE_END.open],
  [true, ALL_ENDS - (1 << EPISODE_END.open)],
  ["terminated", 1 << EPISODE_END.terminated],
  ["truncated", 1 << EPISODE_END.truncated],
]);

/** The numbers by which the kernel lists episodes of these tags. */
export function filterNumbers(tags: readonly number[] = []): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(abi.EXRP_EPISODES_COUNT);
  numbers[abi.EXRP_EPISODES_ENDS] = ALL_ENDS;
  numbers[abi.EXRP_EPISODES_LENGTH_MAX] = abi.EXRP_LIMIT_CAPACITY;
  numbers[abi.EXRP_EPISODES_TAG_COUNT] = tags.length;
  numbers.set(tags, abi.EXRP_EPISODES_TAG);
  return numbers;
}

/** A filter, checked: the numbers for the kernel, and how many of the best are wanted. `reward` is the replay's column. */
export function checkEpisodeFilter(
  where: string,
  filter: unknown,
  reward: Column,
): { readonly numbers: Float64Array<ArrayBuffer>; readonly best: number | undefined } {
  checkOptions(where, filter, OPTIONS, HINTS);
  const { tag, ended, lengthMin, lengthMax, discount, best } = filter as Partial<
    Record<(typeof OPTIONS)[number], unknown>
  >;
  const numbers = filterNumbers(tag === undefined ? [] : checkTags(`${where}: tag`, tag));
  const ends = ENDS.get(ended);
  if (ends === undefined) {
    throw new TypeError(
      `${where}: ended must be true, false, "terminated" or "truncated", got ${show(ended)}`,
    );
  }
  numbers[abi.EXRP_EPISODES_ENDS] = ends;
  const length = (name: string, value: unknown, other: number): number =>
    value === undefined
      ? other
      : checkInteger(`${where}: ${name}`, value, 0, abi.EXRP_LIMIT_CAPACITY);
  const least = length("lengthMin", lengthMin, 0);
  const most = length("lengthMax", lengthMax, abi.EXRP_LIMIT_CAPACITY);
  if (least > most) {
    throw new RangeError(
      `${where}: lengthMin is ${least} and lengthMax is ${most}, so no episode fits; lengthMin must be at most lengthMax`,
    );
  }
  numbers[abi.EXRP_EPISODES_LENGTH_MIN] = least;
  numbers[abi.EXRP_EPISODES_LENGTH_MAX] = most;
  const count = best === undefined
    ? undefined
    : checkInteger(`${where}: best`, best, 1, abi.EXRP_LIMIT_CAPACITY);
  if (discount === undefined && count === undefined) return { numbers, best: undefined };
  numbers[abi.EXRP_EPISODES_DISCOUNT] = discount === undefined
    ? 1
    : checkNumber(`${where}: discount`, discount, 0, 1);
  if (reward.shape.length > 0) {
    throw new TypeError(
      `${where}: ${
        discount === undefined ? "best" : "discount"
      } asks for returns, which need rewards that are single numbers; the rewards here are ${reward}`,
    );
  }
  numbers[abi.EXRP_EPISODES_REWARD_TYPE] = REWARD_TYPES[reward.dtype];
  return { numbers, best: count };
}
