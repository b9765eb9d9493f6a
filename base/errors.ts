/**
 * The one error class of the library.
 *
 * @module
 */

/** The failures that a caller can handle. {@linkcode ReplayError.code} is one of them. The words stay the same between versions. */
export type ReplayErrorCode =
  | "argument"
  | "batch-size"
  | "buffer-size"
  | "busy"
  | "capacity"
  | "chunk-unknown"
  | "chunks-kept"
  | "data-set"
  | "device"
  | "disk"
  | "disposed"
  | "empty"
  | "episode-ended"
  | "episode-twice"
  | "episode-unknown"
  | "file"
  | "foreign-selector"
  | "full"
  | "held"
  | "invalid-priority"
  | "item-bytes"
  | "item-empty"
  | "item-slice"
  | "kernel-missing"
  | "kernel-version"
  | "limit"
  | "log-damaged"
  | "log-mismatch"
  | "log-taken"
  | "memory"
  | "message-damaged"
  | "message-empty"
  | "not-savable"
  | "not-sharable"
  | "order"
  | "rate-limiter"
  | "rate-limiter-size"
  | "permission"
  | "pick-index"
  | "record-unknown"
  | "refused"
  | "revoked"
  | "rule"
  | "samples-differ"
  | "selector-unknown"
  | "shard-message"
  | "shard-mismatch"
  | "shard-refused"
  | "shard-taken"
  | "snapshot-corrupt"
  | "snapshot-foreign"
  | "snapshot-mismatch"
  | "snapshot-truncated"
  | "snapshot-version"
  | "table-unknown"
  | "ticket"
  | "ticket-mismatch"
  | "timeout"
  | "unknown";

/**
 * The details of a {@linkcode ReplayError}, beside its code and text.
 *
 * @example
 * ```ts
 * import { ReplayError } from "@exrp/replay";
 *
 * // In a test of your own code, throw what a replay would throw.
 * const error = new ReplayError("file", "cannot write", { cause: new Error("disk full") });
 * console.log(error.status); // 0
 * ```
 */
export interface ReplayErrorOptions {
  /** The kernel's status, as `kernel/exrp.h` numbers it; 0 when the error is not the kernel's. */
  readonly status?: number;
  /** Up to four numbers about the failure. `kernel/exrp.h` lists them for each status. */
  readonly detail?: readonly number[];
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/**
 * An error that you may want to handle. Its {@linkcode ReplayError.code} says which it is.
 *
 * Arguments of the wrong type throw a `TypeError` instead, and arguments of the wrong size a `RangeError`: those are mistakes
 * in a program. A call that throws changes nothing in the replay, with one exception: an error in the middle of a call that runs a
 * selector or eviction policy of your own. Tables differ: if an insert of many items times out, those that the rate limiter let in stay.
 *
 * | code | when |
 * |---|---|
 * | `empty` | a batch from a pick view without picks |
 * | `batch-size` | a batch of `withoutReplacement` is larger than the table |
 * | `episode-ended`, `episode-unknown` | a record for an episode that has ended, stored or not, or with a handle that no episode has had |
 * | `record-unknown` | the records of an episode that was evicted |
 * | `episode-twice` | two environments of `recordBatch` name the same open episode |
 * | `rate-limiter`, `rate-limiter-size` | the rate limiter holds the call back for now, or for ever, because the call is too large for it |
 * | `invalid-priority` | a priority that is NaN, negative or infinite |
 * | `foreign-selector` | a selector of another replay |
 * | `disposed` | the replay, the tables or a stream of them was freed |
 * | `busy` | the replay or the tables are being saved or loaded; a rule of your own calls the replay that calls it; two threads publish by one `Broadcast` |
 * | `timeout` | a wait took longer than its `timeoutMs` |
 * | `rule` | a selector or eviction policy of your own broke its contract |
 * | `pick-index` | a rule of your own named a pick that does not exist |
 * | `not-savable` | a selector or eviction policy of your own has no `save()` |
 * | `not-sharable` | what a shared replay can't have: a rule with functions, WebAssembly, `unserialize()` |
 * | `ticket`, `ticket-mismatch` | nobody can attach by this ticket, or the replay has another schema than you asked for |
 * | `revoked`, `held` | the ticket by which this replay came was revoked; this thread holds the replay by another object |
 * | `capacity`, `limit`, `memory` | too small, too many, no memory left |
 * | `device` | the device of a GPU was lost, or refuses a shader |
 * | `refused` | a server of another machine did not do what was asked; the text says why |
 * | `table-unknown` | there is no table of this name |
 * | `message-empty` | a message for tables has nothing in it |
 * | `chunk-unknown`, `chunks-kept` | an item refers to a chunk, or a writer keeps one, that it did not send |
 * | `item-empty`, `item-slice`, `item-bytes` | an item refers to no chunk, to rows that its chunk does not have, or to more bytes than its table may have |
 * | `message-damaged`, `samples-differ` | data of Reverb's protocol is damaged, or does not fit into one batch |
 * | `shard-taken`, `shard-mismatch` | two shards have one name, or shards have different replays |
 * | `shard-message`, `shard-refused` | what a shard, an actor or a learner sent is damaged, or a shard can't do it |
 * | `kernel-missing`, `kernel-version` | the kernel cannot be opened |
 * | `permission` | Deno lacks the permission to open the kernel, or to read or write a snapshot file; the text names the flag |
 * | `file` | a snapshot file cannot be read or written; `cause` is the system's error |
 * | `data-set` | a file with episodes is damaged, has not what its format needs, or does not fit the replay |
 * | `disk` | the disk of a durable replay or of durable tables is full or has failed; the text says what it said |
 * | `log-taken`, `log-mismatch`, `log-damaged` | a folder is open elsewhere, is of a replay or of tables with other options, or is damaged |
 * | `snapshot-foreign`, `snapshot-version`, `snapshot-truncated`, `snapshot-corrupt`, `snapshot-mismatch` | why a snapshot was refused: it is none, of a newer version, incomplete, damaged, or of another configuration |
 * | `order` | a server can't load or write a checkpoint now |
 * | `argument`, `buffer-size`, `full`, `selector-unknown`, `unknown` | the kernel refused what the library should have refused before: please report it |
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, ReplayError, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
 * try {
 *   replay.getBatch(32, replay.newPickSelector(uniform()));
 * } catch (error) {
 *   if (!(error instanceof ReplayError)) throw error;
 *   console.log(error.code); // empty
 * }
 * ```
 */
export class ReplayError extends Error {
  /** `"ReplayError"`. */
  override readonly name: string = "ReplayError";
  /** The failure, as a word that stays the same between versions. */
  readonly code: ReplayErrorCode;
  /** The kernel's status, or 0 when the error is not the kernel's. */
  readonly status: number;
  /** Up to four numbers about the failure. */
  readonly detail: readonly number[];

  /** Makes an error. The library does this; you need not. */
  constructor(code: ReplayErrorCode, message: string, options: ReplayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.detail = options.detail ?? [];
  }
}

/** What an error says, or anything else that was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
