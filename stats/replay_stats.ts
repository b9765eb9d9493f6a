/**
 * What `stats()` returns: what is in a replay, and what its selectors draw, in numbers.
 *
 * @module
 */

import { count, group } from "../base/inspect.ts";
import { showAsTable, type TextRow } from "../base/notebook.ts";
import type { RateLimiterState } from "../rate_limiters/rate_limiter.ts";

/** How many values lie between which edges. {@linkcode AgeStats.histogram} is one. */
export interface Histogram {
  /** `[bins + 1]`, rising. */
  readonly edges: readonly number[];
  /** `[bins]`: `counts[k]` values are at least `edges[k]` and less than `edges[k + 1]`. */
  readonly counts: readonly number[];
}

/**
 * Ages, in records: how many records were written to the replay after one was. The newest record has age 0.
 * {@linkcode ReplayStats.ages} has those of the stored records.
 *
 * The replay knows the time of the first record of each block of records. So if episodes are recorded in turn, an age is an upper bound:
 * with 16 records a block and m open episodes, it is too high by at most 15 · (m - 1). If one episode is recorded at a time, it is exact.
 */
export interface AgeStats {
  /** How many ages these are. */
  readonly count: number;
  /** Their mean; 0 if there are none. */
  readonly mean: number;
  /** The smallest age that at least half of them do not exceed; 0 if there are none. */
  readonly median: number;
  /** The largest; 0 if there are none. */
  readonly largest: number;
  /** Bins of equal width. All ages of one `stats()` have the same edges. */
  readonly histogram: Histogram;
}

/** What a selector keeps for each pick. {@linkcode SelectorStats.weights} and {@linkcode SelectorStats.priorities} have such numbers. */
export interface PickNumbers {
  /** The sum of all. */
  readonly sum: number;
  /** The largest; 0 if there is none. */
  readonly largest: number;
  /** The smallest above 0; 0 if there is none. */
  readonly smallest: number;
  /** How many are 0. */
  readonly zeroCount: number;
  /** Those above 0. Bins are equal steps of the logarithm: 1, 2, 4 or 8 for each factor of ten. */
  readonly histogram: Histogram;
}

/**
 * The weights that a selector draws by: a pick is drawn with the probability weight / sum. A pick of weight 0 is drawn only if all
 * weights are 0. {@linkcode SelectorStats.weights} has them.
 */
export interface WeightStats extends PickNumbers {
  /**
   * The effective sample size, (Σw)² / Σw², in picks. Uniform draws from that many picks would repeat picks as often as these draws do.
   * It is the number of picks if all weights are equal, and 1 if one pick has all the weight.
   */
  readonly effectiveCount: number;
}

/** The priorities of a selector's picks, as {@linkcode ExperienceReplay.getPriority} reads them. */
export interface PriorityStats extends PickNumbers {
  /** How many picks have no priority that the rule knows. They are in none of the other numbers. */
  readonly unknownCount: number;
}

/**
 * The latest draws of a selector, by a sample. {@linkcode SelectorStats.noted} has them. The replay notes up to 32 picks of each batch, evenly
 * spread. Once it has noted 1,024 picks of a selector, it notes up to 8 of every eighth batch. It keeps the newest 2,048.
 */
export interface NotedDraws {
  /** How many draws were noted. */
  readonly count: number;
  /** How many different picks they are. */
  readonly distinctCount: number;
  /** How often the pick that was noted most was noted. */
  readonly mostCount: number;
  /** `repeats[k]` different picks were noted k + 1 times; the last element is of those noted 8 times or more. */
  readonly repeats: readonly number[];
  /**
   * The age of each pick's first record when the pick was drawn. Its record may be gone since then. So the largest may be above that of
   * the stored records.
   */
  readonly ages: AgeStats;
}

/** One selector of {@linkcode ReplayStats.selectors}, in numbers. */
export interface SelectorStats {
  /** Its number. */
  readonly id: number;
  /** The rule's name. */
  readonly kind: string;
  /** The number of its pick view. */
  readonly view: number;
  /** The numbers of the selectors that it draws with. */
  readonly parts: readonly number[];
  /** How many picks its view has. */
  readonly pickCount: number;
  /** How many picks it ever drew. Of a composed selector they are those of its batches; its parts count their own draws. */
  readonly drawnCount: number;
  /** The sample-to-insert ratio: picks drawn for each record ever written. 0 if none was written. */
  readonly drawsPerRecord: number;
  /** Its latest draws. */
  readonly noted: NotedDraws;
  /** What it draws by; undefined if its rule draws by no fixed weights, is composed of others, or is written in TypeScript. */
  readonly weights: WeightStats | undefined;
  /** Its priorities; undefined if its rule keeps none, is composed of others, or is your own without `getPriority()`. */
  readonly priorities: PriorityStats | undefined;
}

/** A replay in numbers, as {@linkcode ReplayView.stats} returns them. `String(stats)` is a table for people. */
export interface ReplayStats {
  /** Records. */
  readonly records: {
    /** How many are stored. */
    readonly stored: number;
    /** How many can be stored. */
    readonly capacity: number;
    /** `stored` / `capacity`, 0 to 1. */
    readonly fill: number;
    /** How many were ever written. */
    readonly written: number;
  };
  /** Bytes. */
  readonly bytes: {
    /** Those of the records and final states that are stored. */
    readonly stored: number;
    /** `capacityBytes`; undefined without this limit. */
    readonly capacity: number | undefined;
    /** All memory that the replay takes in the kernel. */
    readonly memory: number;
  };
  /** Episodes. */
  readonly episodes: {
    /** How many are stored. */
    readonly stored: number;
    /** How many of them go on. */
    readonly open: number;
    /** How many of them have ended. */
    readonly ended: number;
    /** How many were ever evicted. */
    readonly evicted: number;
    /** Stored records of an episode: their mean; 0 without episodes. */
    readonly meanLength: number;
    /** The smallest length that at least half of the episodes do not exceed; 0 without episodes. */
    readonly medianLength: number;
    /** The most; 0 without episodes. */
    readonly longestLength: number;
  };
  /** The ages of the stored records. */
  readonly ages: AgeStats;
  /** How many picks were drawn in all. What selectors drew as parts of others does not count besides. */
  readonly drawnCount: number;
  /** The sample-to-insert ratio: `drawnCount` for each record ever written. 0 if none was written. */
  readonly drawsPerRecord: number;
  /** The rate limiter and its counts; undefined without one. */
  readonly rateLimiter: RateLimiterState | undefined;
  /** The selectors, in order of creation. */
  readonly selectors: readonly SelectorStats[];
}

/** Adds the text for people, which loops, JSON and comparisons don't see. */
export function withText(stats: ReplayStats): ReplayStats {
  return showAsTable(stats, "ReplayStats", statsRows);
}

/** The rows of the table: a name and a text. */
function statsRows(stats: ReplayStats): TextRow[] {
  const { records, bytes, episodes, ages } = stats;
  return [
    [
      "records",
      `${group(records.stored)} of ${group(records.capacity)} (${percent(records.fill)}); ${
        group(records.written)
      } written`,
    ],
    [
      "bytes",
      `${group(bytes.stored)}${
        bytes.capacity === undefined ? "" : ` of ${group(bytes.capacity)}`
      } of records; ${group(bytes.memory)} of memory`,
    ],
    [
      "episodes",
      `${group(episodes.ended)} ended, ${group(episodes.open)} open, ${
        group(episodes.evicted)
      } evicted; length: mean ${short(episodes.meanLength)}, median ${
        short(episodes.medianLength)
      }, longest ${short(episodes.longestLength)}`,
    ],
    ["ages", `stored records: ${agesText(ages)}`],
    ["draws", drawsText(stats.drawnCount, stats.drawsPerRecord)],
    ...rateLimiterRows(stats),
    ...stats.selectors.map((each): TextRow => [`selector ${each.id}`, selectorText(each)]),
  ];
}

function selectorText(stats: SelectorStats): string {
  const { noted, weights, pickCount } = stats;
  const parts = stats.parts.length === 0 ? "" : ` of selectors ${stats.parts.join(", ")}`;
  const texts = [
    `${stats.kind}${parts}${stats.view === 0 ? "" : ` on pick view ${stats.view}`}: ${
      drawsText(stats.drawnCount, stats.drawsPerRecord)
    }`,
  ];
  if (noted.count > 0) {
    texts.push(
      `drawn ages: ${agesText(noted.ages)}`,
      `${count(noted.distinctCount, "different pick")} among ${group(noted.count)} draws`,
    );
  }
  if (weights !== undefined && pickCount > 0) {
    texts.push(
      `weights: sum ${short(weights.sum)}, largest ${short(weights.largest)}, effective ${
        short(weights.effectiveCount)
      } of ${group(pickCount)} picks`,
    );
  }
  return texts.join("; ");
}

function agesText({ count: ageCount, mean, median, largest }: AgeStats): string {
  if (ageCount === 0) return "none";
  return `mean ${short(mean)}, median ${short(median)}, largest ${short(largest)}`;
}

function rateLimiterRows({ rateLimiter }: ReplayStats): TextRow[] {
  if (rateLimiter === undefined) return [];
  const { recorded, drawn, difference, differenceMin, differenceMax } = rateLimiter;
  const text = `${count(drawn, "pick")} drawn for ${count(recorded, "record")}`;
  if (differenceMax === Infinity) return [["rate limiter", text]];
  const held = [differenceMin, difference, differenceMax].map((value) => short(value));
  return [[
    "rate limiter",
    `${text}; the difference is ${held[1]}, held from ${held[0]} to ${held[2]}`,
  ]];
}

function drawsText(drawnCount: number, drawsPerRecord: number): string {
  return `${count(drawnCount, "pick")} drawn, ${short(drawsPerRecord)} for each record written`;
}

/** A number with three digits that count. */
export function short(value: number, write: (value: number) => string = group): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e9) return write(Math.round(value));
  if (Number.isInteger(value) && size < 1000) return String(value);
  return String(Number(value.toPrecision(3)));
}

/** A share of one, in percent. */
export function percent(share: number): string {
  return `${short(100 * share)} %`;
}
