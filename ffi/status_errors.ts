/**
 * Makes an error of the library, with code and text, from a status of the kernel.
 *
 * @module
 */

import { ReplayError, type ReplayErrorCode } from "../base/errors.ts";
import { bytesText, numberOf } from "../base/inspect.ts";
import * as abi from "./symbols.ts";

/** The operation that makes a replay. */
const CREATE = "ExperienceReplay.create()";
/** The operation that makes one, too, and puts it in the place of another. */
const LOAD = "unserialize()";

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
  [abi.EXRP_STATUS_NOT_SHARABLE, "not-sharable"],
  [abi.EXRP_STATUS_TICKET, "ticket"],
  [abi.EXRP_STATUS_REVOKED, "revoked"],
  [abi.EXRP_STATUS_HELD, "held"],
  [abi.EXRP_STATUS_MEMORY, "memory"],
  [abi.EXRP_STATUS_LIMIT, "limit"],
  [abi.EXRP_STATUS_JOURNAL_FULL, "limit"],
  [abi.EXRP_STATUS_ORDERS_FULL, "limit"],
  [abi.EXRP_STATUS_RATE_LIMITER, "rate-limiter"],
  [abi.EXRP_STATUS_RATE_LIMITER_SIZE, "rate-limiter-size"],
  [abi.EXRP_STATUS_DATA_CORRUPT, "snapshot-corrupt"],
  [abi.EXRP_STATUS_DATA_MISMATCH, "snapshot-mismatch"],
  [abi.EXRP_STATUS_DAMAGED, "message-damaged"],
  [abi.EXRP_STATUS_TABLES_UNKNOWN, "disposed"],
  [abi.EXRP_STATUS_TABLE_UNKNOWN, "table-unknown"],
  [abi.EXRP_STATUS_STREAM_UNKNOWN, "disposed"],
  [abi.EXRP_STATUS_MESSAGE, "message-damaged"],
  [abi.EXRP_STATUS_MESSAGE_EMPTY, "message-empty"],
  [abi.EXRP_STATUS_CHUNK_UNKNOWN, "chunk-unknown"],
  [abi.EXRP_STATUS_CHUNKS_KEPT, "chunks-kept"],
  [abi.EXRP_STATUS_ITEM_PRIORITY, "invalid-priority"],
  [abi.EXRP_STATUS_ITEM_BYTES, "item-bytes"],
  [abi.EXRP_STATUS_ITEM_EMPTY, "item-empty"],
  [abi.EXRP_STATUS_ITEM_SLICE, "item-slice"],
]);

/** What a call makes one more of. */
const COUNTED: ReadonlyMap<string, string> = new Map([
  ["newPickView()", " pick views"],
  ["newPickSelector()", " selectors"],
  ["share()", " tickets"],
  ["ExperienceReplay.attach()", " threads at one replay"],
]);

/** The error for a status of the kernel. `detail` are the numbers from `exrp_error_detail`, and `hint` comes after the text. */
export function errorOfStatus(
  operation: string,
  status: number,
  detail: readonly number[],
  backend: "native" | "wasm" = "native",
  hint = "",
): ReplayError {
  const code = CODES.get(status) ?? "unknown";
  const message = `${operation}: ${text(operation, status, detail, backend)}${hint}`;
  return new ReplayError(code, message, { status, detail });
}

function text(
  operation: string,
  status: number,
  detail: readonly number[],
  backend: "native" | "wasm",
): string {
  const [a = 0, b = 0, c = 0, d = 0] = detail;
  switch (status) {
    case abi.EXRP_STATUS_ARGUMENT:
      return `argument ${a} of the kernel's call is out of its range: ${b}`;
    case abi.EXRP_STATUS_REPLAY_UNKNOWN:
      return "the replay is disposed";
    case abi.EXRP_STATUS_EPISODE_UNKNOWN:
      if (Number.isInteger(a) && a >= 0 && a < b) {
        return `the episode with handle ${a} has gone: it was evicted`;
      }
      return b === 0
        ? `no episode has handle ${a}: no episode has begun yet; newEpisode() begins one`
        : `no episode has handle ${a}: handles given out so far are 0 to ${b - 1}`;
    case abi.EXRP_STATUS_SELECTOR_UNKNOWN:
      return `no selector has id ${a}: there are ${b}`;
    case abi.EXRP_STATUS_PRIORITY_INVALID:
      return `priority[${a}] is ${b}; a priority must be finite and not negative`;
    case abi.EXRP_STATUS_BATCH_SIZE:
      return b < abi.EXRP_LIMIT_BATCH
        ? `a batch must have 1 to ${b} picks, because the selector draws each of ${b} picks at most once, got ${a}`
        : `a batch must have 1 to ${b} picks, got ${a}`;
    case abi.EXRP_STATUS_BUFFER_SIZE:
      return `a buffer has ${a} elements or bytes, but the call needs ${b}`;
    case abi.EXRP_STATUS_CAPACITY:
      return b > 1
        ? `capacity must be ${b} to ${c} records, because one pick has ${b} (pick.length), got ${a}`
        : `capacity must be ${b} to ${c} records, got ${a}`;
    case abi.EXRP_STATUS_PICK_INDEX:
      return `index[${a}] is ${b}, but the pick view has ${c} picks`;
    case abi.EXRP_STATUS_EPISODE_TWICE:
      return `environments ${b} and ${c} both record into episode ${a}; newEpisode() begins one for each`;
    case abi.EXRP_STATUS_EMPTY:
      return `there is no pick to draw yet (records stored: ${a})`;
    case abi.EXRP_STATUS_EPISODE_ENDED:
      return `episode ${a} ${
        b < 0
          ? "is not in the replay any more, and no record"
          : `has ended with ${numberOf(b, "record")}, and no other`
      } can go to it; newEpisode() begins another (if you did not end it, use ${
        handleOf(operation)
      })`;
    case abi.EXRP_STATUS_FULL:
      return `the store is full (${a} of ${b} records)`;
    case abi.EXRP_STATUS_ORDER:
      if (b === c) {
        return "the tables take the pieces of a snapshot only before anything else, all of them, and can be used after loadEnd() only";
      }
      return `section ${a} of the snapshot needs item ${b} next, got ${c}`;
    case abi.EXRP_STATUS_RECORD_UNKNOWN:
      if (d < 0) {
        return `the records of episode ${b} before position ${-d} made room for newer ones, but the call needs position ${c}`;
      }
      return d > 0
        ? `episode ${b} has rows before position ${d}, but the call needs rows from ${c} on`
        : `episode ${b} was evicted, or has no record yet`;
    case abi.EXRP_STATUS_NOT_SHARABLE:
      return notSharableText(a);
    case abi.EXRP_STATUS_TICKET:
      return ticketText(a);
    case abi.EXRP_STATUS_REVOKED:
      return "the ticket by which this thread attached was revoked; ask for another one";
    case abi.EXRP_STATUS_HELD:
      return "this thread is in the middle of another operation of the same replay, by another object";
    case abi.EXRP_STATUS_MEMORY:
      return backend === "wasm" ? wasmMemoryText(operation, a) : memoryText(operation, a, b);
    case abi.EXRP_STATUS_LIMIT:
      return `too many${COUNTED.get(operation) ?? ""}: the limit is ${a}`;
    case abi.EXRP_STATUS_JOURNAL_FULL:
      return `a pick view has ${a} unread changes, and its journal holds at most ${b}`;
    case abi.EXRP_STATUS_ORDERS_FULL:
      return `too many batches are ordered and not yet taken: the limit is ${a}`;
    case abi.EXRP_STATUS_RATE_LIMITER: {
      const [asks, awaited] = a === abi.EXRP_ALLOW_INSERTS
        ? [`has ${numberOf(b, "record")}`, "picks were drawn"]
        : [`asks for ${numberOf(b, "pick")}`, "records were stored"];
      return `the rate limiter allows ${c} more now, and the call ${asks}; it can go on when more ${awaited}, and whenReady() waits for that (records stored: ${d})`;
    }
    case abi.EXRP_STATUS_RATE_LIMITER_SIZE:
      return rateLimiterSizeText(a === abi.EXRP_ALLOW_INSERTS, b, c, d);
    case abi.EXRP_STATUS_DATA_CORRUPT:
      return `the snapshot holds an impossible value: section ${a}, item ${b}, rule ${c}`;
    case abi.EXRP_STATUS_DATA_MISMATCH:
      return `the snapshot belongs to another configuration: section ${a}, expected ${b}, found ${c}`;
    case abi.EXRP_STATUS_DAMAGED:
      return `sample ${b}, column ${c}: ${DAMAGES.get(a) ?? `damage ${a}`}`;
    case abi.EXRP_STATUS_TABLES_UNKNOWN:
      return "the tables are disposed";
    case abi.EXRP_STATUS_TABLE_UNKNOWN:
      return a === -1
        ? `there is no such table among the ${numberOf(c, "table")}`
        : `items[${a}] names a table that is not among the ${numberOf(c, "table")}`;
    case abi.EXRP_STATUS_STREAM_UNKNOWN:
      return "the stream is closed";
    case abi.EXRP_STATUS_MESSAGE:
      return `the message is damaged: ${numberOf(a, "byte")} of it cannot be read`;
    case abi.EXRP_STATUS_MESSAGE_EMPTY:
      return "the message has neither chunks nor items";
    case abi.EXRP_STATUS_CHUNK_UNKNOWN:
      return `items[${a}] refers to chunk ${
        key(b, c)
      }, which this stream does not hold; send a chunk before its items, and keep its key until the last of them`;
    case abi.EXRP_STATUS_CHUNKS_KEPT:
      return `the message keeps chunk ${
        key(c, d)
      }, which this stream does not hold (keys listed: ${a}, chunks held: ${b})`;
    case abi.EXRP_STATUS_ITEM_PRIORITY:
      return `the priority of item ${
        key(c, d)
      } (number ${a} of the message) is ${b}; a priority must be finite and not negative`;
    case abi.EXRP_STATUS_ITEM_BYTES:
      return `the chunks of items[${a}] have ${bytesText(b)}, but its table may have ${
        bytesText(c)
      } (maxBytes)`;
    case abi.EXRP_STATUS_ITEM_EMPTY:
      return `item ${key(b, c)} (items[${a}]) refers to no chunk`;
    case abi.EXRP_STATUS_ITEM_SLICE:
      return `a slice of items[${a}] reaches beyond chunk ${
        key(b, c)
      }: its rows and its tensor must be among those of the chunk`;
    default:
      return `status ${status} (${detail.join(", ")})`;
  }
}

/** What is wrong with samples or a tensor. */
const DAMAGES: ReadonlyMap<number, string> = new Map([
  [abi.EXRP_DAMAGE_PROTOBUF, "the bytes are no protobuf message"],
  [abi.EXRP_DAMAGE_ITEM, "the sample comes without its item"],
  [abi.EXRP_DAMAGE_CHUNK, "it needs a chunk that did not come with the sample"],
  [abi.EXRP_DAMAGE_TENSOR, "it needs a tensor that its chunk does not have"],
  [abi.EXRP_DAMAGE_SLICE, "it needs rows that its tensor does not have"],
  [abi.EXRP_DAMAGE_SQUEEZE, "a squeezed column must have exactly one row"],
  [abi.EXRP_DAMAGE_MIXED, "its rows have different dtypes or shapes"],
  [abi.EXRP_DAMAGE_DTYPE, "its dtype is unknown, or has elements without a fixed size"],
  [abi.EXRP_DAMAGE_SHAPE, "its shape is unknown or too large, or has no rows"],
  [abi.EXRP_DAMAGE_CONTENT, "its elements do not unpack to what its shape says"],
  [abi.EXRP_DAMAGE_LAYOUT, "the samples are not those that were looked at before"],
]);
/** A key of 64 bits, of which the kernel gives the high and the low half. */
function key(high: number, low: number): string {
  return String(BigInt(high) << 32n | BigInt(low));
}

/** Why a rate limiter can never let a call in: it alone is too large, or it and a call of the other kind wait for each other. */
function rateLimiterSizeText(records: boolean, asked: number, other: number, band: number): string {
  const call = records ? `a call of ${numberOf(asked, "record")}` : numberOf(asked, "pick");
  const pair = records
    ? `${call} and a draw of ${numberOf(other, "pick")}`
    : `${call} and a call of ${numberOf(other, "record")}`;
  const why = other === 0
    ? `the rate limiter never allows ${call} at once: that needs a band of at least ${band}`
    : `${pair} wait for each other: together they need a band of at least ${band}`;
  return `${why}; make the calls smaller, or the error of samplesPerInsert() at least ${
    band / 2
  }, or the size of queue() at least ${band}`;
}

/** Why a replay can't be shared, or a shared one can't do something. */
function notSharableText(reason: number): string {
  switch (reason) {
    case abi.EXRP_SHARE_NO_THREADS:
      return "a replay of WebAssembly can't be shared, as each thread has a memory of its own";
    case abi.EXRP_SHARE_LOADING:
      return "a shared replay loads no snapshot; load it before you share the replay";
    default:
      return "rules written in TypeScript can't be shared, as no other thread can call them";
  }
}

/** Why nobody can attach by a ticket. */
function ticketText(reason: number): string {
  switch (reason) {
    case abi.EXRP_TICKET_OTHER_KERNEL:
      return "the ticket is of another kernel: of another file, of another build of it, or of another process";
    case abi.EXRP_TICKET_REVOKED:
      return "the ticket was revoked; ask for another one";
    default:
      return "the replay of the ticket is gone, as all who used it have left";
  }
}

/** In WebAssembly the machine's memory is not what is short. */
function wasmMemoryText(operation: string, needed: number): string {
  const [what, changes] = operation === CREATE
    ? ["the replay needs", ""]
    : ["the call needs", "; nothing has changed"];
  return `${what} ${
    bytesText(needed)
  } more, but all replays on WebAssembly together can have up to 4 GiB, or less where the system gives less${changes}; dispose replays that you no longer need, take a smaller capacity, or run the native kernel: in Deno with --allow-env, --allow-read, --allow-write and --allow-ffi`;
}

/** What `needed` bytes are for, what there is (0: the system has refused them), and which options make it less. */
function memoryText(operation: string, needed: number, available: number): string {
  const size = bytesText(needed);
  if (operation !== CREATE && !(operation === LOAD && available > 0)) {
    return available > 0
      ? `a batch of so many picks needs ${size}, but this machine has ${
        bytesText(available)
      }; ask for fewer picks, or make pick.length smaller`
      : `no memory for ${size} more; nothing has changed`;
  }
  const advice =
    "take a smaller capacity, set capacityBytes, or make records smaller: uint8() or float16() instead of float32(), every() for what changes slowly";
  return available > 0
    ? `the records need ${size}, but this machine has ${bytesText(available)}; ${advice}`
    : `the system gives no ${size}; ${advice}`;
}

/** Where the handle is that a call which records needs next. */
function handleOf(operation: string): string {
  if (operation === "recordBatch()") return "the handles that the last recordBatch() wrote";
  const call = operation.startsWith("record") ? operation : "call that recorded";
  return `the handle that the last ${call} returned`;
}
