/**
 * Collects the numbers of `stats()`. It changes nothing.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
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

/** What the kernel says of many values: its summary, and the counts between the edges. */
interface Summed {
  readonly summary: Float64Array;
  readonly counts: Float64Array;
}

/** A call that sums values up. */
type Sum = (edges: Float64Array<ArrayBuffer>) => Summed;

/** The noted draws of a selector, as the kernel has them. */
interface Log {
  readonly drawnCount: number;
  readonly ages: Float64Array;
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
  const number = (index: number): number => info[index] ?? 0;
  const stored = number(abi.EXRP_INFO_RECORD_COUNT);
  const written = number(abi.EXRP_INFO_RECORDED_COUNT);
  const { capacity, capacityBytes } = core.config;
  const logs = register.entries.map((entry) => readLog(core, register, entry));
  const sumAges = agesOf(core);
  const all = sumAges(new Float64Array(0)).summary;
  const oldest = logs.reduce(
    (largest, { ages }) => ages.reduce((a, b) => Math.max(a, b), largest),
    all[abi.EXRP_SUMMARY_LARGEST] ?? 0,
  );
  const edges = ageEdges(oldest);
  const perRecord = (count: number): number => written === 0 ? 0 : count / written;
  const drawnCount = register.entries.reduce(
    (sum, { selector }, k) => sum + (logs[k]?.drawnCount ?? 0) - register.drawnAsPart(selector.id),
    0,
  );
  return withText({
    records: { stored, capacity, fill: stored / capacity, written },
    bytes: {
      stored: number(abi.EXRP_INFO_STORED_BYTES),
      capacity: capacityBytes === 0 ? undefined : capacityBytes,
      memory: number(abi.EXRP_INFO_MEMORY_BYTES),
    },
    episodes: {
      ...episodeStats(core),
      evicted: number(abi.EXRP_INFO_EVICTED_COUNT),
    },
    ages: storedAges(sumAges, all, edges),
    drawnCount,
    drawsPerRecord: perRecord(drawnCount),
    rateLimiter: rateLimiterState(core, OPERATION),
    selectors: register.entries.map((entry, k): SelectorStats => {
      const { id, kind, view: view } = entry.selector;
      const pickCount = register.pickCount(view);
      const native = entry.native === undefined
        ? undefined
        : (what: number): Sum => nativeSums(core, entry.nativeId, what);
      const told = native?.(abi.EXRP_SUMS_PRIORITIES) ?? (entry.custom && customSums(entry.custom));
      const log = logs[k] as Log;
      return {
        id,
        kind,
        view,
        parts: entry.selector.parts.map((part) => part.id),
        pickCount,
        drawnCount: log.drawnCount,
        drawsPerRecord: perRecord(log.drawnCount),
        noted: notedDraws(log, edges),
        weights: native && keptNumbers(native(abi.EXRP_SUMS_WEIGHTS), (_, sum, squares) => (
          { effectiveCount: squares === 0 ? 0 : sum ** 2 / squares }
        )),
        priorities: told && keptNumbers(told, (count) => ({ unknownCount: pickCount - count })),
      };
    }),
  });
}

function episodeStats(core: ReplayCore): Omit<ReplayStats["episodes"], "evicted"> {
  const { size: count, length, end } = core.episodes(OPERATION);
  const sorted = length.sort();
  const open = end.filter((each) => each === EPISODE_END.open).length;
  return {
    stored: count,
    open,
    ended: count - open,
    meanLength: meanOf(sorted),
    medianLength: medianOf(sorted),
    longestLength: sorted[count - 1] ?? 0,
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
  const ages = Float64Array.from({ length: count }, (_, k) => draws[3 * k + 2] ?? 0).sort();
  return { drawnCount: register.drawnCount(OPERATION, entry), ages, picks };
}

function notedDraws({ ages, picks }: Log, edges: Float64Array): NotedDraws {
  const times = new Map<bigint, number>();
  for (const pick of picks) times.set(pick, (times.get(pick) ?? 0) + 1);
  const repeats = Array.from({ length: REPEATS }, () => 0);
  let mostCount = 0;
  for (const count of times.values()) {
    mostCount = Math.max(mostCount, count);
    const at = Math.min(count, REPEATS) - 1;
    repeats[at] = (repeats[at] ?? 0) + 1;
  }
  const counts = Array.from({ length: lengthOf(edges) - 1 }, () => 0);
  const width = edges[1] ?? 1;
  for (const age of ages) {
    const at = Math.floor(age / width);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return {
    count: picks.length,
    distinctCount: times.size,
    mostCount,
    repeats,
    ages: {
      count: ages.length,
      mean: meanOf(ages),
      median: medianOf(ages),
      largest: ages.at(-1) ?? 0,
      histogram: { edges: [...edges], counts },
    },
  };
}

/** Sums that the kernel makes; `call` has it write them. */
function kernelSums(
  core: ReplayCore,
  call: (
    edges: Float64Array<ArrayBuffer>,
    counts: Float64Array<ArrayBuffer>,
    summary: Float64Array<ArrayBuffer>,
  ) => number,
): Sum {
  return (edges) => {
    const counts = new Float64Array(lengthOf(edges) + 1);
    const summary = new Float64Array(abi.EXRP_SUMMARY_NUMBERS);
    core.check(OPERATION, call(edges, counts, summary));
    return { summary, counts };
  };
}

/** The ages of all stored records. */
function agesOf(core: ReplayCore): Sum {
  const { id, kernel: { symbols } } = core;
  return kernelSums(
    core,
    (edges, counts, summary) =>
      symbols.exrp_record_ages(id, edges, lengthOf(edges), counts, summary, lengthOf(summary)),
  );
}

function storedAges(
  sum: Sum,
  summary: Float64Array,
  edges: Float64Array<ArrayBuffer>,
): AgeStats {
  const count = summary[abi.EXRP_SUMMARY_COUNT] ?? 0;
  const { counts } = sum(edges);
  return {
    count,
    mean: count === 0 ? 0 : (summary[abi.EXRP_SUMMARY_SUM] ?? 0) / count,
    median: count === 0 ? 0 : medianBySearch(sum, count, summary[abi.EXRP_SUMMARY_LARGEST] ?? 0),
    largest: summary[abi.EXRP_SUMMARY_LARGEST] ?? 0,
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

/**
 * Sums up the weights or priorities of a selector; undefined if it keeps none. `own` makes what only one of them has, of how many there are,
 * their sum and that of their squares.
 */
function keptNumbers<T>(
  sum: Sum,
  own: (count: number, sum: number, squares: number) => T,
): PickNumbers & T | undefined {
  const { summary, counts } = sum(new Float64Array(0));
  const at = (index: number): number => summary[index] ?? 0;
  if (at(abi.EXRP_SUMMARY_EXISTS) === 0) return undefined;
  const [smallest, largest] = [at(abi.EXRP_SUMMARY_SMALLEST), at(abi.EXRP_SUMMARY_LARGEST)];
  const edges = logEdges(smallest, largest);
  const binned = lengthOf(edges) === 0 ? counts : sum(edges).counts;
  const all = at(abi.EXRP_SUMMARY_SUM);
  return {
    sum: all,
    largest,
    smallest,
    zeroCount: binned[0] ?? 0,
    histogram: { edges: [...edges], counts: [...binned.subarray(1, lengthOf(edges))] },
    ...own(at(abi.EXRP_SUMMARY_COUNT), all, at(abi.EXRP_SUMMARY_SQUARES)),
  };
}

/** What a selector of the kernel keeps of its picks: weights or priorities. */
function nativeSums(core: ReplayCore, selector: number, what: number): Sum {
  const { id, kernel: { symbols } } = core;
  return kernelSums(core, (edges, counts, summary) =>
    symbols.exrp_selector_sums(
      id,
      selector,
      what,
      edges,
      lengthOf(edges),
      counts,
      summary,
      lengthOf(summary),
    ));
}

/** The priorities that a rule in TypeScript keeps; undefined if it does not tell them. */
function customSums(custom: CustomSelector): Sum | undefined {
  if (custom.rule.getPriority === undefined) return undefined;
  custom.checkSound();
  const values = Float64Array.from(
    custom.readPriorities(Uint32Array.from({ length: custom.count }, (_, k) => k)),
  ).filter((value) => value >= 0 && value < Infinity);
  return (edges) => {
    const counts = new Float64Array(lengthOf(edges) + 1);
    for (const value of values) {
      const above = edges.findIndex((edge) => value < edge);
      const bin = above < 0 ? lengthOf(edges) : above;
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    const summary = new Float64Array(abi.EXRP_SUMMARY_NUMBERS);
    summary[abi.EXRP_SUMMARY_EXISTS] = 1;
    summary[abi.EXRP_SUMMARY_COUNT] = values.length;
    summary[abi.EXRP_SUMMARY_SUM] = values.reduce((sum, value) => sum + value, 0);
    summary[abi.EXRP_SUMMARY_SQUARES] = values.reduce((sum, value) => sum + value * value, 0);
    summary[abi.EXRP_SUMMARY_LARGEST] = values.reduce((a, b) => Math.max(a, b), 0);
    const least = values.reduce((a, b) => b > 0 ? Math.min(a, b) : a, Infinity);
    summary[abi.EXRP_SUMMARY_SMALLEST] = least === Infinity ? 0 : least;
    return { summary, counts };
  };
}

function meanOf(values: Float64Array | Uint32Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length === 0 ? 0 : sum / values.length;
}

/** The smallest of the sorted values that at least half of them do not exceed. */
function medianOf(sorted: Float64Array | Uint32Array): number {
  return sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
}
