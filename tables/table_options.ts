/**
 * What a table is made of.
 *
 * @module
 */

import { checkInteger, show, showUnlike } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkLimiter, neverDeadlocks, wideEnough } from "../pace/limiter.ts";
import { minSize } from "../pace/min_size.ts";
import type { PaceRule } from "../pace/pace_rule.ts";
import { queue as queuePace } from "../pace/queue.ts";
import { encodeSignature, type Signature } from "../reverb/signature.ts";
import { oldest } from "../selectors/age_end.ts";
import { NativeSelector } from "../selectors/native_selector.ts";
import { uniform } from "../selectors/uniform.ts";
import type { LowLimiter, LowTableOptions } from "./low.ts";

/** The most items of a table. */
export const TABLE_SIZE_MAX = 2 ** 28;

/**
 * The options of one table of {@linkcode Tables.create}.
 *
 * @example
 * ```ts
 * import { lowestPriority, minSize, oldest, prioritized } from "@exrp/replay";
 * import { type TableOptions, Tables } from "@exrp/replay/tables";
 *
 * const best: TableOptions = { sampler: prioritized(), remover: lowestPriority(), maxSize: 2 };
 * using tables = await Tables.create({ tables: { best, all: { maxSize: 1000, limiter: minSize(10) } } });
 * console.log(tables.names); // ["best", "all"]
 * console.log(tables.table("all").options.remover); // oldest()
 * ```
 */
export interface TableOptions {
  /** Items, 1 to 2^28. One more makes the remover's choice go; that may be the new item itself. */
  readonly maxSize: number;
  /** What chooses the items to sample; `uniform()` by default. */
  readonly sampler?: NativeSelector;
  /** What chooses the item that goes; `oldest()` by default. */
  readonly remover?: NativeSelector;
  /**
   * How inserts and samples keep pace: `minSize()`, `samplesPerInsert()` or `queue()` of `@exrp/replay`, which are Reverb's rate limiters;
   * `minSize(1)` by default. Items count as its records do, and samples as its picks.
   */
  readonly limiter?: PaceRule;
  /** The most bytes of the items' data, as it is stored; no limit by default. Data that several items share counts once. */
  readonly maxBytes?: number;
  /** An item goes once it was sampled so often, 1 to 2^31 - 1; no limit by default. */
  readonly maxTimesSampled?: number;
  /** The dtype and shape of each column of an item, rows first: what is inserted must fit. Clients of the server see it too. */
  readonly signature?: Signature;
}

/** {@linkcode TableOptions} with the defaults filled in: what `options` of a table are. */
export type FilledTableOptions =
  & Required<Pick<TableOptions, "maxSize" | "sampler" | "remover" | "limiter">>
  & Pick<TableOptions, "maxBytes" | "maxTimesSampled" | "signature">;

/** The options that {@linkcode Table.queue} and {@linkcode Table.stack} leave open. */
export type QueueOptions = Pick<TableOptions, "maxBytes" | "signature">;

/** A table that gives each item once, from one end. */
export function onceFrom(
  where: string,
  end: NativeSelector,
  maxSize: number,
  options: QueueOptions,
): TableOptions {
  checkInteger(`${where}: maxSize`, maxSize, 1, TABLE_SIZE_MAX);
  checkOptions(where, options, ["maxBytes", "signature"]);
  const limiter = queuePace(maxSize);
  return { maxSize, sampler: end, remover: end, limiter, maxTimesSampled: 1, ...options };
}

const NAMES = [
  "maxSize",
  "sampler",
  "remover",
  "limiter",
  "maxBytes",
  "maxTimesSampled",
  "signature",
];

/** The largest limits: of bytes, and of samples of one item. */
export const LIMITS_MAX = { maxBytes: Number.MAX_SAFE_INTEGER, maxTimesSampled: 2 ** 31 - 1 };

/**
 * Checks the options of a table, and fills the defaults in.
 *
 * @param isNew False for a table of a checkpoint: its limiter is taken as it is, as its clients may delete items.
 */
export function fillTableOptions(
  where: string,
  options: TableOptions,
  isNew = true,
): FilledTableOptions {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `${where} must be an object with the table's options, got ${show(options)}`,
    );
  }
  checkOptions(where, options, NAMES);
  const { sampler = uniform(), remover = oldest(), limiter = minSize(1) } = options;
  checkInteger(`${where}: maxSize`, options.maxSize, 1, TABLE_SIZE_MAX);
  checkRule(`${where}: sampler`, sampler);
  checkRule(`${where}: remover`, remover);
  checkLimiter(`${where}: limiter`, limiter);
  for (const name of ["maxBytes", "maxTimesSampled"] as const) {
    if (options[name] !== undefined) {
      checkInteger(`${where}: ${name}`, options[name], 1, LIMITS_MAX[name]);
    }
  }
  if (options.signature !== undefined) encodeSignature(`${where}: signature`, options.signature);
  if (isNew) checkLimiterFor(`${where}: limiter`, limiter, options);
  return { ...options, sampler, remover, limiter };
}

function checkRule(where: string, rule: unknown): void {
  if (rule instanceof NativeSelector) return;
  throw new TypeError(
    `${where} must be a selector that runs in the kernel, such as uniform(), got ${
      showUnlike(rule, NativeSelector)
    }`,
  );
}

/**
 * Throws where a limiter is none for the table: it waits for more items than the table may hold, a queue loses items, or its band is so
 * narrow that inserts and samples could deadlock.
 */
export function checkLimiterFor(
  where: string,
  limiter: PaceRule,
  { maxSize, maxTimesSampled }: Pick<TableOptions, "maxSize" | "maxTimesSampled">,
): void {
  const { ratio, minSize, differenceMin, differenceMax } = limiter.numbers;
  const holds = `but the table holds at most ${maxSize} (maxSize); so`;
  if (minSize > maxSize) {
    throw new RangeError(
      `${where} waits for ${minSize} items, ${holds} nothing could ever be sampled`,
    );
  }
  if (limiter.name === "queue" && maxTimesSampled === 1 && differenceMax > maxSize) {
    throw new RangeError(
      `${where} lets ${differenceMax} items wait, ${holds} items would be removed that were never sampled`,
    );
  }
  if (!neverDeadlocks(limiter.numbers)) {
    throw new RangeError(
      `${where}: ${limiter} could deadlock, as inserts × ${ratio} - samples must stay from ${differenceMin} to ${differenceMax}; make error at least ${
        wideEnough(limiter.numbers)
      } wide`,
    );
  }
}

/** A limiter as the kernel takes it. Infinities become the largest numbers, as Reverb has them. */
export function lowLimiter({ numbers }: PaceRule): LowLimiter {
  const { ratio, minSize, differenceMin, differenceMax } = numbers;
  const largest = Number.MAX_VALUE;
  return [ratio, minSize, Math.max(differenceMin, -largest), Math.min(differenceMax, largest)];
}

/** A table as the kernel takes it. */
export function lowTable(name: string, options: FilledTableOptions): LowTableOptions {
  const { maxSize, sampler, remover, limiter, maxBytes = 0, maxTimesSampled = 0 } = options;
  return {
    name,
    maxSize,
    sampler,
    remover,
    limiter: lowLimiter(limiter),
    maxBytes,
    maxTimesSampled,
  };
}
