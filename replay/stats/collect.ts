/**
 * Collects the numbers of `stats()`. It changes nothing.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import type { KernelSymbols } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import {
  type AgeStats,
  type NotedDraws,
  type PickNumbers,
  type ReplayStats,
  type SelectorStats,
  withText,
} from "../../stats/replay_stats.ts";
import { EPISODE_END } from "../../schema/episode_filter.ts";
import type { ReplayCore } from "../core.ts";
import { rateLimiterState } from "../rate_limiter/rate_limiter.ts";
import type { Register, SelectorEntry } from "../register/register.ts";
import type { CustomSelector } from "../rules/custom_selectors.ts";
import { ageEdges, logEdges } from "./edges.ts";

const OPERATION = "stats()";

/** `repeats` has as many elements. */
const REPEATS = 8;

/** How many bins one search for a median has. */
const SEARCH_BINS = 256;

/** What is said of many values: of all together, and how many lie between the edges. */
interface Summed {
  /** False where a selector keeps no such values. */
  readonly exists: boolean;
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
  readonly largest: number;
  /** The smallest above 0; 0 if there is none. */
  readonly smallest: number;
  /** Those below the first edge, those between two edges, and those from the last edge on. */
  readonly counts: Float64Array;
}

/** A call that sums values up. */
type Sum = (edges: Float64Array<ArrayBuffer>) => Summed;

const NO_EDGES = new Float64Array(0);

/** The noted draws of a selector, as the kernel has them. */
interface Log {
  readonly drawnCount: number;
  readonly ages: Sum;
  /** One number for each pick that was drawn; the same pick has the same number. */
  readonly picks: BigUint64Array;
}

/** Collects the numbers of a replay. */
export function collectStats(core: ReplayCore, register: Register): ReplayStats {
  core.checkUsable(OPERATION);
  return core.together(OPERATION, () => collect(core, register));
}

function collect(core: ReplayCore, register: Register): ReplayStats {
  // Rules in TypeScript hear of changes late.
  register.tellRules();
  const info = core.info(OPERATION);
  const at = (index: number): number => info[index] ?? 0;
  const stored = at(abi.EXRP_INFO_RECORD_COUNT);
  const written = at(abi.EXRP_INFO_RECORDED_COUNT);
  const { capacity, capacityBytes } = core.config;
  const logs = register.entries.map((entry) => readLog(core, register, entry));
  const { id, kernel: { symbols } } = core;
  const ages = kernelSums(core, (...last) => symbols.exrp_record_ages(id, ...last));
  const edges = ageEdges(
    Math.max(...[ages, ...logs.map((log) => log.ages)].map((sum) => sum(NO_EDGES).largest)),
  );
  const perRecord = (count: number): number => written === 0 ? 0 : count / written;
  const drawnCount = register.entries.reduce(
    (sum, { selector }, k) => sum + (logs[k]?.drawnCount ?? 0) - register.drawnAsPart(selector.id),
    0,
  );
  return withText({
    records: { stored, capacity, fill: stored / capacity, written },
    bytes: {
      stored: at(abi.EXRP_INFO_STORED_BYTES),
      capacity: capacityBytes === 0 ? undefined : capacityBytes,
      memory: at(abi.EXRP_INFO_MEMORY_BYTES),
    },
    episodes: {
      ...episodeStats(core),
      evicted: at(abi.EXRP_INFO_EVICTED_COUNT),
    },
    ages: ageStats(ages, edges),
    drawnCount,
    drawsPerRecord: perRecord(drawnCount),
    rateLimiter: rateLimiterState(core, OPERATION),
    selectors: register.entries.map((entry, k): SelectorStats => {
      const { id: number, kind, view, parts } = entry.selector;
      const pickCount = register.pickCount(view);
      const native = entry.native === undefined
        ? undefined
        : (what: number): Sum =>
          kernelSums(core, (...last) =>
            symbols.exrp_selector_sums(id, entry.nativeId, what, ...last));
      const told = native?.(abi.EXRP_SUMS_PRIORITIES) ?? (entry.custom && customSums(entry.custom));
      const log = logs[k] as Log;
      return {
        id: number,
        kind,
        view,
        parts: parts.map((part) => part.id),
        pickCount,
        drawnCount: log.drawnCount,
        drawsPerRecord: perRecord(log.drawnCount),
        noted: notedDraws(log, edges),
        weights: native && keptNumbers(native(abi.EXRP_SUMS_WEIGHTS), ({ sum, squares }) => (
          { effectiveCount: squares === 0 ? 0 : sum ** 2 / squares }
        )),
        priorities: told && keptNumbers(told, ({ count }) => ({ unknownCount: pickCount - count })),
      };
    }),
  });
}

function episodeStats(core: ReplayCore): Omit<ReplayStats["episodes"], "evicted"> {
  const { length, end } = core.episodes(OPERATION);
  const open = end.filter((each) => each === EPISODE_END.open).length;
  const { count, mean, median, largest } = spreadOf(sumsOf(length));
  return {
    stored: count,
    open,
    ended: count - open,
    meanLength: mean,
    medianLength: median,
    longestLength: largest,
  };
}

function readLog(core: ReplayCore, register: Register, entry: SelectorEntry): Log {
  const { log } = entry;
  const info = new Float64Array(abi.EXRP_DRAWS_INFO_COUNT);
  const { symbols } = core.kernel;
  core.check(OPERATION, symbols.exrp_draws_info(core.id, log, info, lengthOf(info)));
  const count = info[abi.EXRP_DRAWS_NOTED_COUNT] ?? 0;
  const draws = new Uint32Array(3 * Math.max(1, count));
  core.check(OPERATION, symbols.exrp_draws_read(core.id, log, draws, lengthOf(draws)));
  const picks = BigUint64Array.from(
    { length: count },
    (_, k) => BigInt(draws[3 * k] ?? 0) << 32n | BigInt(draws[3 * k + 1] ?? 0),
  );
  const ages = sumsOf(Float64Array.from({ length: count }, (_, k) => draws[3 * k + 2] ?? 0));
  return { drawnCount: register.drawnCount(OPERATION, entry), ages, picks };
}

function notedDraws({ ages, picks }: Log, edges: Float64Array<ArrayBuffer>): NotedDraws {
  const times = new Map<bigint, number>();
  for (const pick of picks) times.set(pick, (times.get(pick) ?? 0) + 1);
  const repeats = Array.from({ length: REPEATS }, () => 0);
  let mostCount = 0;
  for (const count of times.values()) {
    mostCount = Math.max(mostCount, count);
    const at = Math.min(count, REPEATS) - 1;
    repeats[at] = (repeats[at] ?? 0) + 1;
  }
  return {
    count: picks.length,
    distinctCount: times.size,
    mostCount,
    repeats,
    ages: ageStats(ages, edges),
  };
}

/** What a call of the kernel that sums up takes last. */
type Last<F> = F extends (replay: number, ...last: infer L) => number ? L : never;

/** Sums that the kernel makes; `call` has it write them. */
function kernelSums(
  core: ReplayCore,
  call: (...last: Last<KernelSymbols["exrp_record_ages"]>) => number,
): Sum {
  return (edges) => {
    const counts = new Float64Array(lengthOf(edges) + 1);
    const summary = new Float64Array(abi.EXRP_SUMMARY_NUMBERS);
    const size = lengthOf(summary);
    core.check(OPERATION, call(edges, lengthOf(edges), counts, summary, size));
    const at = (index: number): number => summary[index] ?? 0;
    return {
      exists: at(abi.EXRP_SUMMARY_EXISTS) !== 0,
      count: at(abi.EXRP_SUMMARY_COUNT),
      sum: at(abi.EXRP_SUMMARY_SUM),
      squares: at(abi.EXRP_SUMMARY_SQUARES),
      largest: at(abi.EXRP_SUMMARY_LARGEST),
      smallest: at(abi.EXRP_SUMMARY_SMALLEST),
      counts,
    };
  };
}

/** The same of values that are here. */
function sumsOf(values: Iterable<number>): Sum {
  const sorted = Float64Array.from(values).sort();
  const count = lengthOf(sorted);
  const add = (all: number, value: number): number => all + value;
  const all = {
    exists: true,
    count,
    sum: sorted.reduce(add, 0),
    squares: sorted.map((value) => value ** 2).reduce(add, 0),
    largest: sorted.at(-1) ?? 0,
    smallest: sorted.find((value) => value > 0) ?? 0,
  };
  return (edges) => {
    let at = 0;
    const countBelow = (edge: number): number => {
      const from = at;
      while (at < count && (sorted[at] as number) < edge) at++;
      return at - from;
    };
    return { ...all, counts: Float64Array.from([...edges, Infinity], countBelow) };
  };
}

/** The mean of whole numbers, their median and the largest; zeros if there are none. */
function spreadOf(sum: Sum): Pick<AgeStats, "count" | "mean" | "median" | "largest"> {
  const { count, sum: all, largest } = sum(NO_EDGES);
  const median = count === 0 ? 0 : medianBySearch(sum, count, largest);
  return { count, mean: count === 0 ? 0 : all / count, median, largest };
}

function ageStats(sum: Sum, edges: Float64Array<ArrayBuffer>): AgeStats {
  const { counts } = sum(edges);
  return {
    ...spreadOf(sum),
    histogram: { edges: [...edges], counts: [...counts.subarray(1, lengthOf(edges))] },
  };
}

/** The smallest whole value that half of `count` values, of at most `largest`, do not exceed. */
function medianBySearch(sum: Sum, count: number, largest: number): number {
  let [first, end] = [0, largest + 1];
  while (end - first > 1) {
    const width = Math.ceil((end - first) / SEARCH_BINS);
    const bins = Math.ceil((end - first) / width);
    const { counts } = sum(Float64Array.from({ length: bins }, (_, k) => first + k * width));
    let below = counts[0] ?? 0;
    let bin = 0;
    while (2 * (below + (counts[bin + 1] ?? 0)) < count) below += counts[++bin] ?? 0;
    first += bin * width;
    end = first + width;
  }
  return first;
}

/** Sums up the weights or priorities of a selector; undefined if it keeps none. `own` makes what only one of them has. */
function keptNumbers<T>(sum: Sum, own: (all: Summed) => T): PickNumbers & T | undefined {
  const all = sum(NO_EDGES);
  if (!all.exists) return undefined;
  const { smallest, largest } = all;
  const edges = logEdges(smallest, largest);
  const { counts } = lengthOf(edges) === 0 ? all : sum(edges);
  return {
    sum: all.sum,
    largest,
    smallest,
    zeroCount: counts[0] ?? 0,
    histogram: { edges: [...edges], counts: [...counts.subarray(1, lengthOf(edges))] },
    ...own(all),
  };
}

/** The priorities that a rule in TypeScript keeps; undefined if it does not tell them. */
function customSums(custom: CustomSelector): Sum | undefined {
  if (custom.rule.getPriority === undefined) return undefined;
  custom.checkSound();
  const values = custom.readPriorities(Uint32Array.from({ length: custom.count }, (_, k) => k));
  return sumsOf(Float64Array.from(values).filter((value) => value >= 0 && value < Infinity));
}
