/**
 * The one error class of the library.
 *
 * @module
 */

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
  | "file"
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
 * | `kernel-missing`, `kernel-version` | the kernel cannot be opened |
 * | `file` | a snapshot's file cannot be read or written; `cause` is the system's own error |
 * | `permission` | the program may not open the kernel, or not read or write a snapshot's file; the text names the flag |
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
