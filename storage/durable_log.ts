/**
 * What the logs of a durable replay and of durable tables have in common: how the kernel opens one, writes on by a timer, and says what it is like.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { unref } from "../base/platform.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import { browserFolder } from "../ffi/browser_folder.ts";
import * as abi from "../ffi/symbols.ts";
import type { CheckedDurable } from "./durable_options.ts";
import { ignoreErrors } from "./file.ts";

/** A wait of the kernel's for the disk. Then it is asked again, so that a wait ends with what is durable. */
const WAIT_MS = 1000;

/** The call of the kernel that makes a log, or reads one: the path, the numbers of the options, and the report, each with its length. */
type OpenCall = (
  path: Uint8Array<ArrayBuffer>,
  pathSize: number,
  numbers: Float64Array<ArrayBuffer>,
  numberCount: number,
  report: Float64Array<ArrayBuffer>,
  reportCount: number,
) => void;

/** Makes a log, or reads one. Returns the report, as `EXRP_RECOVERY_` orders it. `more` are further numbers, by `EXRP_DURABLE_` constants. */
export function openLog(
  path: string,
  options: CheckedDurable,
  isNew: boolean,
  open: OpenCall,
  more: ReadonlyMap<number, number> = new Map(),
): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(abi.EXRP_DURABLE_OPTION_COUNT);
  numbers[abi.EXRP_DURABLE_IS_NEW] = options.readsOnly ? abi.EXRP_DURABLE_READS : Number(isNew);
  numbers[abi.EXRP_DURABLE_FLUSH_INTERVAL_MS] = options.flushIntervalMs;
  numbers[abi.EXRP_DURABLE_SEGMENT_BYTES] = options.segmentBytes;
  numbers[abi.EXRP_DURABLE_QUEUE_BYTES] = options.queueBytes;
  numbers[abi.EXRP_DURABLE_CHECKPOINT_BYTES] = options.segmentBytes;
  numbers[abi.EXRP_DURABLE_GOES_ON] = Number(options.whenDiskFails === "memory");
  for (const [index, value] of more) numbers[index] = value;
  const report = new Float64Array(abi.EXRP_RECOVERY_COUNT);
  const bytes = new TextEncoder().encode(path);
  open(bytes, lengthOf(bytes), numbers, lengthOf(numbers), report, lengthOf(report));
  return report;
}

/** Makes a log by `open(true)`, or takes one in which nothing happened yet: a crash came before the file that describes the folder. */
export function beginLog(
  open: (isNew: boolean) => Float64Array<ArrayBuffer>,
): Float64Array<ArrayBuffer> {
  try {
    return open(true);
  } catch (error) {
    const hasLog = error instanceof ReplayError && error.status === abi.EXRP_STATUS_LOG &&
      error.detail[0] === abi.EXRP_LOG_EXISTS;
    if (!hasLog) throw error;
    let report: Float64Array<ArrayBuffer> | undefined;
    ignoreErrors(() => report = open(false));
    if (report?.[abi.EXRP_RECOVERY_GROUPS] !== 0) throw error;
    return report;
  }
}

/**
 * Calls `tick` every so many milliseconds, until it returns false or its owner was forgotten. The timer keeps neither it nor the program. 0 ms is no timer.
 */
export function startTimer(
  owner: { tick(): boolean },
  milliseconds: number,
): ReturnType<typeof setInterval> | undefined {
  if (milliseconds === 0) return undefined;
  const kept = new WeakRef(owner);
  const timer = setInterval(() => {
    if (kept.deref()?.tick() !== true) clearInterval(timer);
  }, milliseconds);
  unref(timer);
  return timer;
}

/**
 * Waits until all that was written before is on the disk. `wait` waits so many milliseconds at most, and gives a status; `again` is called while it is not 0, and
 * throws where no wait will help.
 */
export async function waitForDisk(
  directory: string | undefined,
  wait: (milliseconds: number) => Promise<number>,
  again: () => void,
): Promise<void> {
  while (await wait(WAIT_MS) !== 0) again();
  // A browser opens the next files meanwhile.
  if (directory !== undefined) await browserFolder(directory)?.settled;
}

/** What the numbers of `EXRP_DURABLE_INFO_` say of a log. */
export function logState(
  info: Float64Array,
): Readonly<Record<"logBytes" | "writtenBytes" | "queuedBytes", number> & { hasFailed: boolean }> {
  return {
    logBytes: info[abi.EXRP_DURABLE_INFO_LOG_BYTES] ?? 0,
    writtenBytes: info[abi.EXRP_DURABLE_INFO_WRITTEN_BYTES] ?? 0,
    queuedBytes: info[abi.EXRP_DURABLE_INFO_QUEUED_BYTES] ?? 0,
    hasFailed: info[abi.EXRP_DURABLE_INFO_FAILED] !== 0,
  };
}
