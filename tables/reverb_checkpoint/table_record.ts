/**
 * What a checkpoint says of a table, as options of a table here.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { reasonOf, ReplayError } from "../../base/errors.ts";
import { rateLimiterOf } from "../../rate_limiters/of_numbers.ts";
import type { RateLimiter } from "../../rate_limiters/rate_limiter.ts";
import {
  type CheckpointTable,
  type OldItems,
  readTable,
} from "../../reverb/checkpoint/messages.ts";
import type { SelectorInfo } from "../../reverb/table_info.ts";
import { newest, oldest } from "../../selectors/age_end.ts";
import type { NativeSelector } from "../../selectors/native_selector.ts";
import { power } from "../../selectors/power.ts";
import { highestPriority, lowestPriority } from "../../selectors/priority_end.ts";
import { uniform } from "../../selectors/uniform.ts";
import type { TableOptions } from "../table_options.ts";

/** A table of a checkpoint. */
export interface TableRecord {
  readonly name: string;
  readonly options: TableOptions;
  /** What it has counted since its last reset. */
  readonly inserts: number;
  readonly samples: number;
  readonly deletes: number;
  readonly uniqueSamples: number;
  readonly episodesDeleted: number;
  /** Its items, as the first versions have them. */
  readonly oldItems: OldItems;
}

/**
 * Reads the record of a table.
 *
 * @param where What stands before the words of an error: the file and the record.
 */
export function readTableRecord(where: string, record: Uint8Array): TableRecord {
  const read = <T>(make: () => T): T => {
    try {
      return make();
    } catch (cause) {
      const why = `${where} can't be read: ${reasonOf(cause)}`;
      throw new ReplayError("snapshot-corrupt", why, { cause });
    }
  };
  const { message, sampler, remover, signature, oldItems } = read(() => readTable(record));
  const { tableName: name, rateLimiter: rateLimiter, maxTimesSampled } = message;
  const wrong = (why: string): never => {
    throw new ReplayError("snapshot-corrupt", `${where}: table ${show(name)} ${why}`);
  };
  if (rateLimiter === undefined) return wrong("has no rate limiter");
  const count = (what: string, value: bigint): number =>
    value >= 0n && value <= 2n ** 53n ? Number(value) : wrong(`has ${value} ${what}`);
  const inserts = count("inserts", rateLimiter.insertCount);
  const deletes = count("deletes", rateLimiter.deleteCount);
  if (deletes > inserts) wrong(`has ${deletes} deletes, but ${inserts} inserts`);
  if (oldItems.count > inserts - deletes) {
    wrong(`has ${oldItems.count} items, but ${inserts} inserts and ${deletes} deletes`);
  }
  return {
    name,
    options: {
      maxSize: count("for max_size", message.maxSize),
      ...maxTimesSampled > 0 ? { maxTimesSampled } : {},
      sampler: read(() => selectorOf(sampler)) ?? wrong("has an unknown sampler"),
      remover: read(() => selectorOf(remover)) ?? wrong("has an unknown remover"),
      rateLimiter: readRateLimiter(
        rateLimiter,
        count("for min_size_to_sample", rateLimiter.minSizeToSample),
        wrong,
      ),
      ...signature === undefined ? {} : { signature },
    },
    inserts,
    samples: count("samples", rateLimiter.sampleCount),
    deletes,
    uniqueSamples: count("unique samples", message.numUniqueSamples),
    episodesDeleted: count("deleted episodes", message.numDeletedEpisodes),
    oldItems,
  };
}

/** The rules by Reverb's names. */
const SELECTORS: ReadonlyMap<string, (exponent: number) => NativeSelector> = new Map([
  ["fifo", () => oldest()],
  ["lifo", () => newest()],
  ["uniform", () => uniform()],
  ["prioritized", (exponent: number) => power({ exponent })],
  ["min-heap", () => lowestPriority()],
  ["max-heap", () => highestPriority()],
]);

function selectorOf({ kind, exponent = 1 }: SelectorInfo): NativeSelector | undefined {
  return SELECTORS.get(kind)?.(exponent);
}

function readRateLimiter(
  { samplesPerInsert: ratio, minDiff, maxDiff }: NonNullable<
    CheckpointTable["message"]["rateLimiter"]
  >,
  size: number,
  wrong: (why: string) => never,
): RateLimiter {
  if (!(ratio > 0 && Number.isFinite(ratio))) {
    return wrong(`has a rate limiter of ${ratio} samples for an insert`);
  }
  if (!(minDiff <= maxDiff)) {
    return wrong(`has a rate limiter without room between ${minDiff} and ${maxDiff}`);
  }
  return rateLimiterOf({ ratio, minSize: size, differenceMin: minDiff, differenceMax: maxDiff });
}
