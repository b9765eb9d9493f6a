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

/** What a call makes one more of. */
const COUNTED: ReadonlyMap<string, string> = new Map([
  ["newPickView()", " pick views"],
  ["newPickSelector()", " selectors"],
  ["share()", " tickets"],
  ["ExperienceReplay.attach()", " threads at one replay"],
]);

/** A code, and what happened in words. */
type Fault = `${ReplayErrorCode}: ${string}`;

/** Words for a status, from the kernel's numbers of detail. */
type FaultOf = (
  a: number,
  b: number,
  c: number,
  d: number,
  call: { readonly operation: string; readonly backend: "native" | "wasm" },
) => Fault;

const FAULTS: Readonly<Partial<Record<number, FaultOf>>> = {
  [abi.EXRP_STATUS_ARGUMENT]: (a, b) =>
    `argument: argument ${a} of the kernel's call is out of its range: ${b}`,
  [abi.EXRP_STATUS_REPLAY_UNKNOWN]: () => "disposed: the replay is disposed",
  [abi.EXRP_STATUS_EPISODE_UNKNOWN]: (a, b) =>
    Number.isInteger(a) && a >= 0 && a < b
      ? `episode-unknown: the episode with handle ${a} has gone: it was evicted`
      : b === 0
      ? `episode-unknown: no episode has handle ${a}: no episode has begun yet; newEpisode() begins one`
      : `episode-unknown: no episode has handle ${a}: handles given out so far are 0 to ${b - 1}`,
  [abi.EXRP_STATUS_SELECTOR_UNKNOWN]: (a, b) =>
    `selector-unknown: no selector has id ${a}: there are ${b}`,
  [abi.EXRP_STATUS_PRIORITY_INVALID]: (a, b) =>
    `invalid-priority: priority[${a}] is ${b}; a priority must be finite and not negative`,
  [abi.EXRP_STATUS_BATCH_SIZE]: (a, b) =>
    `batch-size: a batch must have 1 to ${b} picks, ${
      b < abi.EXRP_LIMIT_BATCH ? `because the selector draws each of ${b} picks at most once, ` : ""
    }got ${a}`,
  [abi.EXRP_STATUS_BUFFER_SIZE]: (a, b) =>
    `buffer-size: a buffer has ${a} elements or bytes, but the call needs ${b}`,
  [abi.EXRP_STATUS_CAPACITY]: (a, b, c) =>
    `capacity: capacity must be ${b} to ${c} records, ${
      b > 1 ? `because one pick has ${b} (pick.length), ` : ""
    }got ${a}`,
  [abi.EXRP_STATUS_PICK_INDEX]: (a, b, c) =>
    `pick-index: index[${a}] is ${b}, but the pick view has ${c} picks`,
  [abi.EXRP_STATUS_EPISODE_TWICE]: (a, b, c) =>
    `episode-twice: environments ${b} and ${c} both record into episode ${a}; newEpisode() begins one for each`,
  [abi.EXRP_STATUS_EMPTY]: (a) => `empty: there is no pick to draw yet (records stored: ${a})`,
  [abi.EXRP_STATUS_EPISODE_ENDED]: (a, b, _c, _d, { operation }) =>
    `episode-ended: episode ${a} ${
      b < 0
        ? "is not in the replay any more, and no record"
        : `has ended with ${numberOf(b, "record")}, and no other`
    } can go to it; newEpisode() begins another (if you did not end it, use ${
      handleOf(operation)
    })`,
  [abi.EXRP_STATUS_FULL]: (a, b) => `full: the store is full (${a} of ${b} records)`,
  [abi.EXRP_STATUS_ORDER]: (a, b, c) =>
    b === c
      ? "order: the tables take the pieces of a snapshot only before anything else, all of them, and can be used after loadEnd() only"
      : `order: section ${a} of the snapshot needs item ${b} next, got ${c}`,
  [abi.EXRP_STATUS_RECORD_UNKNOWN]: (_a, b, c, d) =>
    d < 0
      ? `record-unknown: the records of episode ${b} before position ${-d} made room for newer ones, but the call needs position ${c}`
      : d > 0
      ? `record-unknown: episode ${b} has rows before position ${d}, but the call needs rows from ${c} on`
      : `record-unknown: episode ${b} was evicted, or has no record yet`,
  [abi.EXRP_STATUS_NOT_SHARABLE]: (a) =>
    `not-sharable: ${
      NOT_SHARABLE[a] ??
        "rules written in TypeScript can't be shared, as no other thread can call them"
    }`,
  [abi.EXRP_STATUS_TICKET]: (a) =>
    `ticket: ${TICKETS[a] ?? "the replay of the ticket is gone, as all who used it have left"}`,
  [abi.EXRP_STATUS_REVOKED]: () =>
    "revoked: the ticket by which this thread attached was revoked; ask for another one",
  [abi.EXRP_STATUS_HELD]: () =>
    "held: this thread is in the middle of another operation of the same replay, by another object",
  [abi.EXRP_STATUS_MEMORY]: (a, b, _c, _d, { operation, backend }) =>
    `memory: ${backend === "wasm" ? wasmMemoryText(operation, a) : memoryText(operation, a, b)}`,
  [abi.EXRP_STATUS_LIMIT]: (a, _b, _c, _d, { operation }) =>
    `limit: too many${COUNTED.get(operation) ?? ""}: the limit is ${a}`,
  [abi.EXRP_STATUS_JOURNAL_FULL]: (a, b) =>
    `limit: a pick view has ${a} unread changes, and its journal holds at most ${b}`,
  [abi.EXRP_STATUS_ORDERS_FULL]: (a) =>
    `limit: too many batches are ordered and not yet taken: the limit is ${a}`,
  [abi.EXRP_STATUS_RATE_LIMITER]: (a, b, c, d) => {
    const [asks, awaited] = a === abi.EXRP_ALLOW_INSERTS
      ? [`has ${numberOf(b, "record")}`, "picks were drawn"]
      : [`asks for ${numberOf(b, "pick")}`, "records were stored"];
    return `rate-limiter: the rate limiter allows ${c} more now, and the call ${asks}; it can go on when more ${awaited}, and whenReady() waits for that (records stored: ${d})`;
  },
  [abi.EXRP_STATUS_RATE_LIMITER_SIZE]: (a, b, c, d) =>
    `rate-limiter-size: ${rateLimiterSizeText(a === abi.EXRP_ALLOW_INSERTS, b, c, d)}`,
  [abi.EXRP_STATUS_DATA_CORRUPT]: (a, b, c) =>
    `snapshot-corrupt: the snapshot holds an impossible value: section ${a}, item ${b}, rule ${c}`,
  [abi.EXRP_STATUS_DATA_MISMATCH]: (a, b, c) =>
    `snapshot-mismatch: the snapshot belongs to another configuration: section ${a}, expected ${b}, found ${c}`,
  [abi.EXRP_STATUS_LOG]: (a, b, c, d) => logText(a, b, c, d),
  [abi.EXRP_STATUS_DAMAGED]: (a, b, c) =>
    `message-damaged: sample ${b}, column ${c}: ${DAMAGES[a] ?? `damage ${a}`}`,
  [abi.EXRP_STATUS_TABLES_UNKNOWN]: () => "disposed: the tables are disposed",
  [abi.EXRP_STATUS_TABLE_UNKNOWN]: (a, _b, c) =>
    a === -1
      ? `table-unknown: there is no such table among the ${numberOf(c, "table")}`
      : `table-unknown: items[${a}] names a table that is not among the ${numberOf(c, "table")}`,
  [abi.EXRP_STATUS_STREAM_UNKNOWN]: () => "disposed: the stream is closed",
  [abi.EXRP_STATUS_MESSAGE]: (a) =>
    `message-damaged: the message is damaged: ${numberOf(a, "byte")} of it cannot be read`,
  [abi.EXRP_STATUS_MESSAGE_EMPTY]: () => "message-empty: the message has neither chunks nor items",
  [abi.EXRP_STATUS_CHUNK_UNKNOWN]: (a, b, c) =>
    `chunk-unknown: items[${a}] refers to chunk ${
      key(b, c)
    }, which this stream does not hold; send a chunk before its items, and keep its key until the last of them`,
  [abi.EXRP_STATUS_CHUNKS_KEPT]: (a, b, c, d) =>
    `chunks-kept: the message keeps chunk ${
      key(c, d)
    }, which this stream does not hold (keys listed: ${a}, chunks held: ${b})`,
  [abi.EXRP_STATUS_ITEM_PRIORITY]: (a, b, c, d) =>
    `invalid-priority: the priority of item ${
      key(c, d)
    } (number ${a} of the message) is ${b}; a priority must be finite and not negative`,
  [abi.EXRP_STATUS_ITEM_BYTES]: (a, b, c) =>
    `item-bytes: the chunks of items[${a}] have ${bytesText(b)}, but its table may have ${
      bytesText(c)
    } (maxBytes)`,
  [abi.EXRP_STATUS_ITEM_EMPTY]: (a, b, c) =>
    `item-empty: item ${key(b, c)} (items[${a}]) refers to no chunk`,
  [abi.EXRP_STATUS_ITEM_SLICE]: (a, b, c) =>
    `item-slice: a slice of items[${a}] reaches beyond chunk ${
      key(b, c)
    }: its rows and its tensor must be among those of the chunk`,
};

/** The error for a status of the kernel. `detail` are the numbers from `exrp_error_detail`, and `hint` comes after the text. */
export function errorOfStatus(
  operation: string,
  status: number,
  detail: readonly number[],
  backend: "native" | "wasm" = "native",
  hint = "",
): ReplayError {
  const [a = 0, b = 0, c = 0, d = 0] = detail;
  const fault: Fault = FAULTS[status]?.(a, b, c, d, { operation, backend }) ??
    `unknown: status ${status} (${detail.join(", ")})`;
  const codeEnd = fault.indexOf(": ");
  const message = `${operation}${fault.slice(codeEnd)}${hint}`;
  return new ReplayError(fault.slice(0, codeEnd) as ReplayErrorCode, message, { status, detail });
}

/** What was being done when the disk failed. */
const DISK_CALLS: Readonly<Partial<Record<number, string>>> = {
  [abi.EXRP_DISK_OPEN_FOLDER]: "open the folder",
  [abi.EXRP_DISK_OPEN]: "open a file",
  [abi.EXRP_DISK_CLOSE]: "close a file",
  [abi.EXRP_DISK_SIZE]: "read the size of a file",
  [abi.EXRP_DISK_READ]: "read",
  [abi.EXRP_DISK_WRITE]: "write",
  [abi.EXRP_DISK_SYNC]: "sync a file",
  [abi.EXRP_DISK_TRUNCATE]: "cut a file",
  [abi.EXRP_DISK_RENAME]: "rename a file",
  [abi.EXRP_DISK_REMOVE]: "remove a file",
  [abi.EXRP_DISK_LIST]: "list the folder",
  [abi.EXRP_DISK_SYNC_FOLDER]: "sync the folder",
  [abi.EXRP_DISK_FREE_BYTES]: "ask for free space",
  [abi.EXRP_DISK_LOCK]: "lock the folder",
  [abi.EXRP_DISK_LINK]: "link a file",
};

/** The system's numbers that people meet: those of Linux, most of which macOS and Windows share. */
const SYSTEM_ERRORS: Readonly<Partial<Record<number, string>>> = {
  2: "no such folder",
  5: "the device failed (EIO)",
  13: "not permitted (EACCES)",
  20: "it is no folder",
  23: "the system has too many open files (ENFILE)",
  24: "the program has too many open files (EMFILE)",
  27: "the file would be too large (EFBIG)",
  28: "the disk is full (ENOSPC)",
  30: "the disk can only be read (EROFS)",
  122: "the quota is used up (EDQUOT)",
};

/** The numbers of those by which a system refuses to write: EPERM, EACCES and EROFS. */
const UNWRITABLE: readonly number[] = [1, 13, 30];

/** The name of a file of a log. */
export function segmentFile(segment: number): string {
  return `log-${String(segment).padStart(8, "0")}.exrp`;
}

/** Where the first damage lies that was not repaired, by the numbers of EXRP_RECOVERY_*; undefined if there is none. */
export function damagePlace(
  numbers: Float64Array,
  at = abi.EXRP_RECOVERY_DAMAGE_SEGMENT,
): string | undefined {
  const [segment = 0, offset = 0] = numbers.subarray(at);
  return segment === 0 ? undefined : `${segmentFile(segment)}, byte ${offset}`;
}

/** What is wrong with the log of a durable replay. */
function logText(what: number, call: number, system: number, last: number): Fault {
  switch (what) {
    case abi.EXRP_LOG_TAKEN:
      return "log-taken: this folder is open already, by another replay or other tables of this program or of another one; dispose those first";
    case abi.EXRP_LOG_UNFIT:
      return "log-mismatch: the log of the folder does not fit these options, or another version of the library wrote it";
    case abi.EXRP_LOG_BUSY:
      return "busy: another snapshot of this replay is being made; await it first";
    case abi.EXRP_LOG_SPACE:
      return `disk: the disk has too little free space for it: ${
        bytesText(call)
      } are missing; nothing was written`;
    case abi.EXRP_LOG_ROWS: {
      const name = `log-${String(call).padStart(8, "0")}.exrp`;
      return last === 0
        ? `log-damaged: rows of the replay can't be read: ${name} is damaged at byte ${system}. Other rows can; open the folder again, and the episode of these is evicted`
        : `disk: rows of the replay can't be read: ${name}, at byte ${system}: ${
          SYSTEM_ERRORS[last] ?? `error ${last}`
        }. Other rows can, and these may be read later`;
    }
    case abi.EXRP_LOG_RESIDENT:
      return `memory: the option resident is too small: rows need ${call} bytes of memory here, and may take ${system}. Narrow columns, open episodes, and what is not on the disk yet stay in memory`;
    case abi.EXRP_LOG_VERSION:
      return "log-mismatch: a newer version of the library wrote the log of the folder";
    case abi.EXRP_LOG_EXISTS:
      return "log-mismatch: the folder has a log, but not the file that describes it, replay.json or tables.json; restore that file, or take another folder";
    case abi.EXRP_LOG_EMPTY:
      return "log-damaged: the folder has the file that describes it, but no file of its log";
    case abi.EXRP_LOG_DAMAGED:
      return `log-damaged: the log is damaged at ${
        segmentFile(call)
      }, byte ${system}, and what follows cannot be read without it`;
    case abi.EXRP_LOG_TIMEOUT:
      return "timeout: the disk took too long";
    case abi.EXRP_LOG_MEMORY:
      return "memory: there was no memory for the log, which ends there; open the folder again";
    case abi.EXRP_LOG_ARGUMENT:
      return `not-savable: ${
        call > 0
          ? `a block of records has ${call} bytes, and the log takes ${system} at most; give a smaller blockLength`
          : "a call has more bytes than the log takes"
      }`;
    case abi.EXRP_LOG_DISK:
      if (call === abi.EXRP_DISK_CHECK) {
        return "disk: the folder, the newest file of its log, or lock.exrp was removed; everything goes on in memory, and serialize() can save it";
      }
      if (call === abi.EXRP_DISK_LOCK && UNWRITABLE.includes(system)) {
        return `permission: the folder can't be written (${
          SYSTEM_ERRORS[system] ?? `error ${system}`
        }), and an open replay needs that; allow it, or copy the folder to where you may write`;
      }
      return `disk: the system could not ${DISK_CALLS[call] ?? "use the disk"}: ${
        SYSTEM_ERRORS[system] ?? `error ${system}`
      }; what was flushed before is there, and nothing later is written`;
    default:
      return `disk: the log refused the call (${what})`;
  }
}

/** What is wrong with samples or a tensor. */
const DAMAGES: Readonly<Partial<Record<number, string>>> = {
  [abi.EXRP_DAMAGE_PROTOBUF]: "the bytes are no protobuf message",
  [abi.EXRP_DAMAGE_ITEM]: "the sample comes without its item",
  [abi.EXRP_DAMAGE_CHUNK]: "it needs a chunk that did not come with the sample",
  [abi.EXRP_DAMAGE_TENSOR]: "it needs a tensor that its chunk does not have",
  [abi.EXRP_DAMAGE_SLICE]: "it needs rows that its tensor does not have",
  [abi.EXRP_DAMAGE_SQUEEZE]: "a squeezed column must have exactly one row",
  [abi.EXRP_DAMAGE_MIXED]: "its rows have different dtypes or shapes",
  [abi.EXRP_DAMAGE_DTYPE]: "its dtype is unknown, or has elements without a fixed size",
  [abi.EXRP_DAMAGE_SHAPE]: "its shape is unknown or too large, or has no rows",
  [abi.EXRP_DAMAGE_CONTENT]: "its elements do not unpack to what its shape says",
  [abi.EXRP_DAMAGE_LAYOUT]: "the samples are not those that were looked at before",
};

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

/** Why a replay can't be shared, or a shared one can't do something, beside that it has a rule of TypeScript. */
const NOT_SHARABLE: Readonly<Partial<Record<number, string>>> = {
  [abi.EXRP_SHARE_NO_THREADS]:
    "a replay of WebAssembly can't be shared, as each thread has a memory of its own",
  [abi.EXRP_SHARE_LOADING]:
    "a shared replay loads no snapshot; load it before you share the replay",
};

/** Why nobody can attach by a ticket, beside that its replay is gone. */
const TICKETS: Readonly<Partial<Record<number, string>>> = {
  [abi.EXRP_TICKET_OTHER_KERNEL]:
    "the ticket is of another kernel: of another file, of another build of it, or of another process",
  [abi.EXRP_TICKET_REVOKED]: "the ticket was revoked; ask for another one",
};

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
