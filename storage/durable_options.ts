/**
 * How something durable writes: a replay, or tables.
 *
 * @module
 */

import { checkInteger, checkWord, show } from "../base/checks.ts";

/** How a durable replay or durable tables write, for {@linkcode ExperienceReplay.open} and `Tables.open`. {@linkcode ExperienceReplay.durability} has an example. */
export interface DurableOptions {
  /**
   * What is recorded, drawn or changed is on the disk after so many milliseconds, without a call of `flush`. They end with the next call, or while the program awaits something. 0 leaves it to `flush`. Default: 1000.
   */
  readonly flushIntervalMs?: number;
  /**
   * What a record, or an insert, does once the disk has failed, for instance because it is full. `"throw"`, the default: it throws a `ReplayError` with code `disk`. `"memory"`: the replay or the tables go on in memory, and only `flush` throws.
   */
  readonly whenDiskFails?: "throw" | "memory";
  /** The bytes of one file of the log. Default: 64 MiB, at least 1 MiB and at most 1 GiB. */
  readonly segmentBytes?: number;
  /**
   * How many bytes may wait for the disk. A call that would exceed it waits. Default: 64 MiB.
   */
  readonly queueBytes?: number;
}

const READS_ONLY = Symbol("reads only");

/** Options of the library's own: the folder is read, and nothing in it changes. Whoever opens one so records nothing. */
export const READ_ONLY = Object.freeze({ [READS_ONLY]: true }) as DurableOptions;

/** Options of {@linkcode ExperienceReplay.open} that `create` does not have; {@linkcode Residency} has an example. */
export interface DurableReplayOptions extends DurableOptions {
  /**
   * How many bytes of memory the rows of records take, at most. Then the replay may be larger than memory: blocks of records that are on the disk leave memory, and are
   * read back when they are drawn. Default: no limit.
   *
   * Only columns of more than 128 bytes a record leave memory. Other columns, rewards and extras of `every()` count, but stay. The index of episodes, picks and
   * priorities stays too, and does not count. The limit holds as long as the replay is open; another time, give another one.
   */
  readonly resident?: number;
}

/** The options with their defaults. */
export type CheckedDurable = Required<DurableOptions> & { readonly readsOnly: boolean };

/** The names of the options. */
export const DURABLE_NAMES: readonly (keyof DurableOptions)[] = [
  ...["flushIntervalMs", "whenDiskFails", "segmentBytes", "queueBytes"] as const,
];

const MIB = 2 ** 20;

/** Takes these options out of all options, and checks them. */
export function splitOptions<T extends object>(
  where: string,
  options: T & DurableOptions,
): readonly [CheckedDurable, Omit<T, keyof DurableOptions>] {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${where}: the options must be an object, got ${show(options)}`);
  }
  const {
    flushIntervalMs = 1000,
    whenDiskFails = "throw",
    segmentBytes = 64 * MIB,
    queueBytes = 64 * MIB,
    ...rest
  } = options;
  checkInteger(`${where}: flushIntervalMs`, flushIntervalMs, 0, 2 ** 31 - 1);
  checkInteger(`${where}: segmentBytes`, segmentBytes, MIB, 1024 * MIB);
  checkInteger(`${where}: queueBytes`, queueBytes, MIB, 2 ** 40);
  checkWord(`${where}: whenDiskFails`, whenDiskFails, ["throw", "memory"]);
  return [{
    flushIntervalMs,
    whenDiskFails,
    segmentBytes,
    queueBytes,
    readsOnly: READS_ONLY in options,
  }, rest];
}

/** The option `resident`, checked; 0 where it is not given. */
export function checkResident(where: string, resident: number | undefined): number {
  if (resident === undefined) return 0;
  return checkInteger(`${where}: resident`, resident, 1, Number.MAX_SAFE_INTEGER);
}
