/**
 * The one error class of the library, and how a status of the kernel becomes such an error.
 *
 * @module
 */

import * as abi from "../ffi/symbols.ts";

/** What may go wrong in a way that a caller can handle; stable between versions. */
export type ReplayErrorCode =
  | "argument"
  | "batch-size"
  | "buffer-size"
  | "busy"
  | "capacity"
  | "disposed"
  | "empty"
  | "episode-ended"
  | "episode-twice"
  | "episode-unknown"
  | "foreign-selector"
  | "full"
  | "invalid-priority"
  | "kernel-missing"
  | "kernel-version"
  | "limit"
  | "memory"
  | "not-savable"
  | "order"
  | "permission"
  | "pick-index"
  | "record-unknown"
  | "rule"
  | "selector-unknown"
  | "snapshot-corrupt"
  | "snapshot-foreign"
  | "snapshot-mismatch"
  | "snapshot-truncated"
  | "snapshot-version"
  | "unknown";

/** What a {@linkcode ReplayError} carries besides code and text. */
export interface ReplayErrorOptions {
  /** The kernel's status, pinned in `kernel/exrp.h`; 0 when the kernel was not asked. */
  readonly status?: number;
  /** Up to four numbers about the failure; `kernel/exrp.h` says what they are. */
  readonly detail?: readonly number[];
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/**
 * An error that a caller may want to handle, told apart by its {@linkcode ReplayError.code}.
 *
 * Arguments of the wrong kind are a `TypeError` and of the wrong size a `RangeError` instead: those are mistakes in a
 * program rather than events in its life. Whatever is thrown, the replay is as it was before the call, unless a user's own rule
 * threw in the middle of it.
 *
 * | code | when |
 * |---|---|
 * | `empty` | a batch was asked of a table without picks |
 * | `batch-size` | a batch of `withoutReplacement` is larger than the table |
 * | `episode-ended`, `episode-unknown` | a record for an episode that has ended, or for a handle never given out |
 * | `record-unknown` | the records of an episode that was evicted |
 * | `episode-twice` | one open episode for two environments of `recordBatch` |
 * | `invalid-priority` | a priority that is NaN, negative or infinite |
 * | `foreign-selector` | a selector of another replay |
 * | `disposed`, `busy` | the replay was freed, or is being saved or loaded through a stream |
 * | `rule` | a selector or eviction policy written by the user broke its contract |
 * | `not-savable` | a user's rule has no `save()` |
 * | `capacity`, `limit`, `memory` | too small or large, too many, no memory left |
 * | `kernel-missing`, `kernel-version`, `permission` | the kernel cannot be opened |
 * | `snapshot-…` | `foreign`, `version`, `truncated`, `corrupt`, `mismatch`: why a snapshot was refused |
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, ReplayError, uniform } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
 * try {
 *   replay.getBatch(32, replay.newPickSelector(uniform()));
 * } catch (error) {
 *   if (error instanceof ReplayError) assertStrictEquals(error.code, "empty");
 *   else throw error;
 * }
 * ```
 */
export class ReplayError extends Error {
  /** `"ReplayError"`. */
  override readonly name: string = "ReplayError";
  /** What went wrong, as a stable word. */
  readonly code: ReplayErrorCode;
  /** The kernel's status, or 0 when the kernel was not asked. */
  readonly status: number;
  /** Up to four numbers about the failure. */
  readonly detail: readonly number[];

  /** Makes an error; the library does, a caller need not. */
  constructor(code: ReplayErrorCode, message: string, options: ReplayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.detail = options.detail ?? [];
  }
}

const CODES: ReadonlyMap<number, ReplayErrorCode> = new Map<number, ReplayErrorCode>([
  [abi.EXRP_STATUS_ARGUMENT, "argument"],
  [abi.EXRP_STATUS_REPLAY_UNKNOWN, "disposed"],
  [abi.EXRP_STATUS_EPISODE_UNKNOWN, "episode-unknown"],
  [abi.EXRP_STATUS_SELECTOR_UNKNOWN, "selector-unknown"],
  [abi.EXRP_STATUS_PRIORITY_INVALID, "invalid-priority"],
  [abi.EXRP_STATUS_BATCH_SIZE, "batch-size"],
  [abi.EXRP_STATUS_BUFFER_SIZE, "buffer-size"],
  [abi.EXRP_STATUS_CAPACITY, "capacity"],
  [abi.EXRP_STATUS_PICK_INDEX, "pick-index"],
  [abi.EXRP_STATUS_EPISODE_TWICE, "episode-twice"],
  [abi.EXRP_STATUS_EMPTY, "empty"],
  [abi.EXRP_STATUS_EPISODE_ENDED, "episode-ended"],
  [abi.EXRP_STATUS_FULL, "full"],
  [abi.EXRP_STATUS_ORDER, "order"],
  [abi.EXRP_STATUS_RECORD_UNKNOWN, "record-unknown"],
  [abi.EXRP_STATUS_MEMORY, "memory"],
  [abi.EXRP_STATUS_LIMIT, "limit"],
  [abi.EXRP_STATUS_DATA_CORRUPT, "snapshot-corrupt"],
  [abi.EXRP_STATUS_DATA_MISMATCH, "snapshot-mismatch"],
]);

/** The error for a status of the kernel, with the numbers that {@linkcode exrp_error_detail} told about it. */
export function errorOfStatus(
  operation: string,
  status: number,
  detail: readonly number[],
): ReplayError {
  const code = CODES.get(status) ?? "unknown";
  return new ReplayError(code, `${operation}: ${text(status, detail)}`, { status, detail });
}

function text(status: number, detail: readonly number[]): string {
  const [a, b, c, d] = detail;
  switch (status) {
    case abi.EXRP_STATUS_ARGUMENT:
      return `argument ${a} of the kernel's call is out of its range: ${b}`;
    case abi.EXRP_STATUS_REPLAY_UNKNOWN:
      return "the replay is disposed";
    case abi.EXRP_STATUS_EPISODE_UNKNOWN:
      return b === 0
        ? `no episode has handle ${a}: none was begun yet, newEpisode() begins one`
        : `no episode has handle ${a}: handles given out so far are 0 to ${Number(b) - 1}`;
    case abi.EXRP_STATUS_SELECTOR_UNKNOWN:
      return `no selector has id ${a}: there are ${b}`;
    case abi.EXRP_STATUS_PRIORITY_INVALID:
      return `priority[${a}] is ${b}; a priority must be finite and not negative`;
    case abi.EXRP_STATUS_BATCH_SIZE:
      return `a batch must have 1 to ${b} picks, got ${a}`;
    case abi.EXRP_STATUS_BUFFER_SIZE:
      return `a buffer has ${a}, needed are ${b}`;
    case abi.EXRP_STATUS_CAPACITY:
      return `capacity must be ${b} to ${c} records here, got ${a}`;
    case abi.EXRP_STATUS_PICK_INDEX:
      return `index[${a}] is ${b}, but the pick table has ${c} picks`;
    case abi.EXRP_STATUS_EPISODE_TWICE:
      return `environments ${b} and ${c} both record into episode ${a}; newEpisode() begins one for each`;
    case abi.EXRP_STATUS_EMPTY:
      return `there is no pick to draw yet (${
        a === 1 ? "1 record is" : `${a} records are`
      } stored): a pick takes pick.length records of one episode, and the state after them (with pick.nStep, so many records on) unless pick.allowOpenEnd is set; with pick.whole, an episode that has ended`;
    case abi.EXRP_STATUS_EPISODE_ENDED:
      return `episode ${a} has ended with ${b} records; newEpisode() begins another (if it was not ended by you, it was cut at segmentLength: go on with the handle that the last record() returned)`;
    case abi.EXRP_STATUS_FULL:
      return `the store is full (${a} of ${b} records)`;
    case abi.EXRP_STATUS_ORDER:
      return `the snapshot's section ${a} goes on with item ${b}, got ${c}`;
    case abi.EXRP_STATUS_RECORD_UNKNOWN:
      return Number(d) > 0
        ? `episode ${b} has ${d} rows, asked for was one from ${c} on`
        : `episode ${b} was evicted, or has no record yet`;
    case abi.EXRP_STATUS_MEMORY:
      return Number(b) > 0
        ? `the records need ${a} bytes, but this machine has ${b}; take a smaller capacity`
        : `no memory for ${a} bytes`;
    case abi.EXRP_STATUS_LIMIT:
      return `too many: the limit is ${a}`;
    case abi.EXRP_STATUS_DATA_CORRUPT:
      return `the snapshot says what cannot be: section ${a}, item ${b}, rule ${c}`;
    case abi.EXRP_STATUS_DATA_MISMATCH:
      return `the snapshot is of other rules: section ${a}, expected ${b}, found ${c}`;
    default:
      return `status ${status} (${detail.join(", ")})`;
  }
}
