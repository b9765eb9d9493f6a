/**
 * What a table is made of.
 *
 * @module
 */

import { checkInteger, show, showUnlike } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkForTable, checkRateLimiter } from "../rate_limiters/checks.ts";
import { minSize } from "../rate_limiters/min_size.ts";
import { queue as queueRateLimiter } from "../rate_limiters/queue.ts";
import { kernelNumbers, type RateLimiter } from "../rate_limiters/rate_limiter.ts";
import { type Signature, structuredOf } from "../reverb/signature.ts";
import { oldest } from "../selectors/age_end.ts";
import { NativeSelector } from "../selectors/native_selector.ts";
import { uniform } from "../selectors/uniform.ts";
import type { KernelTableOptions } from "./kernel_tables.ts";

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
 * using tables = await Tables.create({ tables: { best, all: { maxSize: 1000, rateLimiter: minSize(10) } } });
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
  readonly rateLimiter?: RateLimiter;
  /** The most bytes of the items' data, as it is stored; no limit by default. Data that several items share counts once. */
  readonly maxBytes?: number;
  /** An item goes once it was sampled so often, 1 to 2^31 - 1; no limit by default. */
  readonly maxTimesSampled?: number;
  /** The dtype and shape of each column of an item, rows first: what is inserted must fit. Clients of the server see it too. */
  readonly signature?: Signature;
}

/** {@linkcode TableOptions} with the defaults filled in: what `options` of a table are. */
export type FilledTableOptions =
  & Required<Pick<TableOptions, "maxSize" | "sampler" | "remover" | "rateLimiter">>
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
  const rateLimiter = queueRateLimiter(maxSize);
  return { maxSize, sampler: end, remover: end, rateLimiter, maxTimesSampled: 1, ...options };
}

const NAMES = [
  "maxSize",
  "sampler",
  "remover",
  "rateLimiter",
  "maxBytes",
  "maxTimesSampled",
  "signature",
];

/** The largest limits: of bytes, and of samples of one item. */
export const LIMITS_MAX = { maxBytes: Number.MAX_SAFE_INTEGER, maxTimesSampled: 2 ** 31 - 1 };

/**
 * Checks the options of a table, and fills the defaults in.
 *
 * @param isNew False for a table of a checkpoint: its rate limiter is taken as it is, as its clients may delete items.
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
  const { sampler = uniform(), remover = oldest(), rateLimiter = minSize(1) } = options;
  checkInteger(`${where}: maxSize`, options.maxSize, 1, TABLE_SIZE_MAX);
  checkRule(`${where}: sampler`, sampler);
  checkRule(`${where}: remover`, remover);
  checkRateLimiter(`${where}: rateLimiter`, rateLimiter);
  for (const name of ["maxBytes", "maxTimesSampled"] as const) {
    if (options[name] !== undefined) {
      checkInteger(`${where}: ${name}`, options[name], 1, LIMITS_MAX[name]);
    }
  }
  if (options.signature !== undefined) structuredOf(`${where}: signature`, options.signature);
  if (isNew) checkForTable(`${where}: rateLimiter`, rateLimiter, options);
  return { ...options, sampler, remover, rateLimiter };
}

function checkRule(where: string, rule: unknown): void {
  if (rule instanceof NativeSelector) return;
  throw new TypeError(
    `${where} must be a selector that runs in the kernel, such as uniform(), got ${
      showUnlike(rule, NativeSelector)
    }`,
  );
}

/** A table as the kernel takes it. */
export function kernelTable(name: string, options: FilledTableOptions): KernelTableOptions {
  return { ...options, name, rateLimiter: kernelNumbers(options.rateLimiter.numbers) };
}
