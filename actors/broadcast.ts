/**
 * Weights from a learner to its actors, over shared memory.
 *
 * The class checks what users pass, and knows arrays by their names. `_slots.ts` has the shared memory, and says why no reader ever gets
 * a torn version.
 *
 * @module
 */

import { changeOf, SharedBell } from "../base/bell.ts";
import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { bytesOf, checkHonest, kindOf, lengthOf } from "../base/typed_arrays.ts";
import { checkWait } from "../base/waits.ts";
import type { WaitOptions } from "../replay/rate_limiter/waiting.ts";
import { type AnyColumnArray, type DType, DTYPES, viewOf, VIEWS } from "../schema/columns.ts";
import { Slots, VERSION_MASK } from "./_slots.ts";

/** Typed arrays by name, for {@linkcode Broadcast.create}: those of the dtypes that columns have. */
export type BroadcastArrays = Readonly<Record<string, AnyColumnArray>>;

/** What another thread needs to attach to a broadcast: plain data for `postMessage`. It is made by {@linkcode Broadcast.ticket}. */
export interface BroadcastTicket<A extends BroadcastArrays = BroadcastArrays> {
  /** The shared memory. */
  readonly memory: SharedArrayBuffer;
  /** The names, dtypes and lengths of the arrays, in the order of the memory. */
  readonly arrays: readonly BroadcastArray[];
  /** Carries the type of the arrays. It does not exist at run time. */
  readonly types?: A;
}

/** One array of a {@linkcode BroadcastTicket}. */
export interface BroadcastArray {
  /** Its name. */
  readonly name: string;
  /** The type of its numbers: `uint8` for a `Uint8Array`. */
  readonly dtype: Exclude<DType, "bool">;
  /** How many elements it has. */
  readonly length: number;
}

/** What {@linkcode Broadcast.read} returns. */
export interface BroadcastRead<A extends BroadcastArrays = BroadcastArrays> {
  /** The number of the version that the arrays have. */
  readonly version: number;
  /** Whether this call copied. False if the arrays had this version already. */
  readonly changed: boolean;
  /** The arrays. Their memory is not shared. The next `read` of a newer version writes to it. */
  readonly arrays: A;
}

const WAIT_OPTIONS = ["signal", "timeoutMs"] as const;

/**
 * Typed arrays that one thread publishes and any number of threads read, such as the weights of a network. A learner publishes them, and
 * its actors read the newest version between two steps. Nothing is sent, and a read copies only if there is a newer version.
 *
 * Each version has a number; that of the first one is 1, unless you give another. A reader gets whole versions only, never a mixture of two. It may miss versions
 * if it reads seldom.
 *
 * The memory is shared by all threads of a process, and takes four times the bytes of the arrays. `ticket` goes to another thread by
 * `postMessage`, where {@linkcode Broadcast.attach} makes a broadcast of it. Every attached broadcast can read and publish, but
 * only one thread may publish at a time. There is nothing to free: the memory goes when no thread has it any more.
 *
 * @example A learner publishes, and an actor reads
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 *
 * // The learner. The first arrays are version 1.
 * const broadcast = Broadcast.create({ weights: new Float32Array(3), epsilon: new Float64Array(1) });
 *
 * // An actor: in a Worker, the ticket comes as a message.
 * const reader = Broadcast.attach(structuredClone(broadcast.ticket));
 * console.log(reader.read().version); // 1
 *
 * broadcast.publish({ weights: Float32Array.of(1, 2, 3), epsilon: Float64Array.of(0.1) });
 * const { version, changed, arrays } = reader.read();
 * console.log([version, changed]); // [2, true]
 * console.log([...arrays.weights]); // [1, 2, 3]
 * console.log(reader.read().changed); // false: no copy
 * ```
 */
export class Broadcast<A extends BroadcastArrays = BroadcastArrays> {
  /** What another thread needs to attach: plain data that `postMessage` and `structuredClone` take. */
  readonly ticket: BroadcastTicket<A>;
  readonly #slots: Slots;
  /** The arrays that it reads into by itself. */
  #own: A | undefined;
  /** What the last read gave; the next one gives the same if there is nothing new. */
  #last: BroadcastRead<A> | undefined;
  /** The bytes of its arrays. */
  #readViews: readonly Uint8Array[] = [];

  private constructor(ticket: BroadcastTicket<A>) {
    const sizes = ticket.arrays.map(({ dtype, length }) => VIEWS[dtype].BYTES_PER_ELEMENT * length);
    this.ticket = ticket;
    this.#slots = new Slots(ticket.memory, sizes);
  }

  /**
   * Makes a broadcast, and publishes `arrays` as its first version. Their names, kinds and lengths are those of all later versions.
   *
   * @param arrays Typed arrays by name, of the dtypes that columns have: `Float32Array`, `Float64Array`, `Float16Array`, `Int8Array`,
   * `Int16Array`, `Int32Array` or `Uint8Array`. They are copied.
   * @param version The number of the first version; 1 by default. A learner that goes on from a checkpoint may go on counting.
   * @throws {TypeError} If there is no array, if one is of another kind, or if the platform has no `SharedArrayBuffer`.
   * @throws {RangeError} If the memory can't be had, or `version` is not a whole number from 1.
   * @example
   * ```ts
   * import { Broadcast } from "@exrp/replay/actors";
   *
   * const broadcast = Broadcast.create({ weights: Float32Array.of(0.5, -0.5) });
   * console.log(broadcast.version); // 1
   * ```
   */
  static create<A extends BroadcastArrays>(arrays: A, version = 1): Broadcast<A> {
    const where = "Broadcast.create()";
    checkInteger(`${where}: version`, version, 1, Number.MAX_SAFE_INTEGER);
    checkShared(where);
    if (typeof arrays !== "object" || arrays === null || kindOf(arrays) !== undefined) {
      throw new TypeError(
        `${where} takes an object of typed arrays by name, got ${show(arrays)}`,
      );
    }
    const described = Object.entries<unknown>(arrays).map(([name, array]) =>
      describeArray(`${where}: ${name}`, name, array)
    );
    if (described.length === 0) {
      throw new TypeError(`${where} takes one or more typed arrays by name, got none`);
    }
    const sizes = described.map(({ dtype, length }) => VIEWS[dtype].BYTES_PER_ELEMENT * length);
    const memory = new SharedArrayBuffer(Slots.bytesFor(sizes));
    const broadcast = new Broadcast<A>(Object.freeze({ memory, arrays: described }));
    broadcast.#slots.write(viewsOf(where, described, arrays), version);
    return broadcast;
  }

  /**
   * Makes a broadcast of a ticket, in any thread of the process.
   *
   * @throws {TypeError} If `ticket` is not one that {@linkcode Broadcast.ticket} gave, or a clone of it.
   * @example In a Worker
   * ```ts
   * import { Broadcast, type BroadcastTicket } from "@exrp/replay/actors";
   *
   * // The type of `data` is `any`, so say what is in it.
   * function onMessage(data: BroadcastTicket<{ weights: Float32Array<ArrayBuffer> }>): number[] {
   *   return [...Broadcast.attach(data).read().arrays.weights];
   * }
   * console.log(onMessage(Broadcast.create({ weights: Float32Array.of(7) }).ticket)); // [7]
   * ```
   */
  static attach<A extends BroadcastArrays>(ticket: BroadcastTicket<A>): Broadcast<A> {
    return new Broadcast(checkTicket(ticket) as BroadcastTicket<A>);
  }

  /** The number of the newest version, from 1. It costs one atomic load. */
  get version(): number {
    return this.#slots.version;
  }

  /**
   * Publishes a version: copies the arrays, makes them the newest version, and wakes who waits for it.
   *
   * Cost: one copy of the bytes. It never waits for readers.
   *
   * @param version Its number, above that of the newest version by less than 2^30; the next one by default.
   * @returns The number of the version.
   * @throws {TypeError} If an array is missing, unknown, or of another kind.
   * @throws {RangeError} If an array has another length, or `version` is out of its range.
   * @throws {ReplayError} `busy` if another thread is in the middle of `publish`, or called `takeOver` meanwhile. Nothing was published
   * then.
   * @example
   * ```ts
   * import { Broadcast } from "@exrp/replay/actors";
   *
   * const broadcast = Broadcast.create({ weights: new Float32Array(100) });
   * console.log(broadcast.publish({ weights: new Float32Array(100).fill(0.1) })); // 2
   * ```
   */
  publish(arrays: A, version?: number): number {
    const views = viewsOf("publish()", this.ticket.arrays, arrays);
    if (version === undefined) return this.#slots.write(views);
    const newest = this.version;
    checkInteger("publish(): version", version, newest + 1, newest + VERSION_MASK);
    return this.#slots.write(views, version);
  }

  /**
   * Reads the newest version. It copies only if there is a newer one than the last call read, or if `into` is another object or has another
   * array.
   *
   * @param into Where to copy to: arrays of the same names, kinds and lengths. By default, the broadcast has arrays of its own, which it
   * returns each time.
   * @throws {TypeError} If an array of `into` is missing, unknown, of another kind, or lies in shared memory. Also if it has lost its memory,
   * because its buffer was transferred.
   * @throws {RangeError} If an array of `into` has another length.
   * @example
   * ```ts
   * import { Broadcast } from "@exrp/replay/actors";
   *
   * const broadcast = Broadcast.create({ weights: Float32Array.of(1, 2) });
   * const mine = { weights: new Float32Array(2) };
   * console.log(broadcast.read(mine).changed); // true
   * console.log([...mine.weights]); // [1, 2]
   * console.log(broadcast.read(mine).changed); // false
   * ```
   */
  read(into?: A): BroadcastRead<A> {
    const arrays = into ?? this.#ownArrays();
    const last = this.#last;
    const isKnown = into === undefined && arrays === last?.arrays;
    const views = isKnown ? this.#readViews : viewsOf("read(): into", this.ticket.arrays, arrays);
    if (into !== undefined) checkOwn(views);
    const isSame = arrays === last?.arrays && areSame(views, this.#readViews);
    if (isSame && last.version === this.#slots.version) return last;
    const version = this.#slots.read(views);
    this.#readViews = views;
    this.#last = Object.freeze({ version, changed: false, arrays });
    return Object.freeze({ version, changed: true, arrays });
  }

  /** New arrays at first, and where one has lost its memory. */
  #ownArrays(): A {
    const { arrays } = this.ticket;
    const own: BroadcastArrays | undefined = this.#own;
    if (own === undefined || arrays.some(({ name, length }) => own[name]?.length !== length)) {
      const made = arrays.map(({ name, dtype, length }) => {
        const memory = new ArrayBuffer(VIEWS[dtype].BYTES_PER_ELEMENT * length);
        return [name, viewOf(dtype, memory, 0, length)];
      });
      this.#own = Object.freeze(Object.fromEntries(made)) as A;
    }
    return this.#own as A;
  }

  /**
   * Waits until version `version` or a newer one is there.
   *
   * No thread spins meanwhile. Where the platform lacks `Atomics.waitAsync`, the broadcast looks every 5 ms.
   *
   * @param options `signal` ends the wait, and `timeoutMs` limits it.
   * @returns The number of the newest version.
   * @throws {TypeError} If an argument is of the wrong kind, or an option is unknown.
   * @throws {RangeError} If `version` is not a whole number from 0.
   * @throws {ReplayError} `timeout` if the version did not come within `timeoutMs`.
   * @example
   * ```ts
   * import { Broadcast } from "@exrp/replay/actors";
   *
   * const broadcast = Broadcast.create({ weights: new Float32Array(2) });
   * const waiting = broadcast.waitFor(2, { timeoutMs: 1000 });
   * broadcast.publish({ weights: Float32Array.of(1, 2) });
   * console.log(await waiting); // 2
   * ```
   */
  async waitFor(version: number, options: WaitOptions = {}): Promise<number> {
    checkOptions("waitFor()", options, WAIT_OPTIONS);
    const { signal, timeoutMs } = options;
    if (checkNumber("waitFor(): version", version, 0) % 1 !== 0) {
      throw new RangeError(`waitFor(): version must be an integer of at least 0, got ${version}`);
    }
    checkWait("waitFor()", options);
    const end = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
    for (;;) {
      signal?.throwIfAborted();
      // The head is loaded before the version. So if a version comes in between, the wait below ends at once.
      const { head } = this.#slots;
      const newest = this.version;
      if (newest >= version) return newest;
      const leftMs = end - performance.now();
      if (leftMs <= 0) {
        throw new ReplayError(
          "timeout",
          `waitFor(): version ${version} did not come within ${timeoutMs} ms; the newest one is ${newest}`,
        );
      }
      // A thread may end between its change and its notice.
      const ms = Math.min(leftMs, SharedBell.netMs);
      const { changed, end: stop } = changeOf(this.#slots.words, 0, head, ms);
      signal?.addEventListener("abort", stop);
      await changed;
      signal?.removeEventListener("abort", stop);
    }
  }

  /**
   * Takes the place of a writer that ended in the middle of `publish`, so that this thread can publish. Readers keep the last whole
   * version meanwhile.
   *
   * Call it only if the other writer's thread has ended, or was told to end: after `worker.terminate()`, for example. If that thread
   * still runs for a moment, its own `publish` throws `busy`, and it disturbs no reader. Deno ends a Worker only where it awaits something.
   * So let a thread that publishes await now and then.
   *
   * @returns Whether a writer was in the middle of `publish`.
   * @example
   * ```ts
   * import { Broadcast } from "@exrp/replay/actors";
   *
   * const broadcast = Broadcast.create({ weights: new Float32Array(2) });
   * console.log(broadcast.takeOver()); // false: nobody was publishing
   * ```
   */
  takeOver(): boolean {
    return this.#slots.takeOver();
  }
}

function checkShared(where: string): void {
  if (typeof SharedArrayBuffer === "function") return;
  throw new TypeError(
    `${where} needs SharedArrayBuffer, which this page does not have. A browser has it only if the page is served with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp`,
  );
}

function describeArray(where: string, name: string, array: unknown): BroadcastArray {
  checkHonest(where, array);
  const dtype = kindOf(array)?.replace("Array", "").toLowerCase();
  if (!isDType(dtype)) {
    throw new TypeError(
      `${where} must be one of Uint8Array, Int8Array, Int16Array, Int32Array, Float16Array, Float32Array, Float64Array, got ${
        show(array)
      }`,
    );
  }
  return Object.freeze({ name, dtype, length: lengthOf(array as ArrayBufferView) });
}

/** The bytes of arrays that must be as described. */
function viewsOf(
  where: string,
  described: readonly BroadcastArray[],
  arrays: BroadcastArrays,
): Uint8Array[] {
  checkOptions(where, arrays, described.map(({ name }) => name));
  return described.map(({ name, dtype, length }) => {
    const array: unknown = arrays[name];
    if (array === undefined) {
      throw new TypeError(`${where}: ${name} is missing; it must be ${dtype}, ${length} long`);
    }
    const given = describeArray(`${where}: ${name}`, name, array);
    if (given.dtype !== dtype) {
      throw new TypeError(`${where}: ${name} must be ${dtype}, got ${show(array)}`);
    }
    if (given.length !== length) {
      throw new RangeError(
        `${where}: ${name} must have ${length} elements, got ${given.length}`,
      );
    }
    return bytesOf(array as AnyColumnArray);
  });
}

/** Whether a dtype is one of arrays by themselves. */
function isDType(dtype: unknown): dtype is BroadcastArray["dtype"] {
  return dtype !== "bool" && DTYPES.includes(dtype as DType);
}

/** Whether two lists of views, of arrays of the same lengths, are over the same memory. */
function areSame(views: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return views === others || views.every(({ buffer, byteOffset }, k) => {
    const other = others[k];
    return buffer === other?.buffer && byteOffset === other.byteOffset;
  });
}

/** Refuses to read into shared memory, where another thread could change a version. */
function checkOwn(views: readonly Uint8Array[]): void {
  for (const { buffer } of views) {
    if (buffer instanceof ArrayBuffer) continue;
    throw new TypeError(
      "read(): into has an array in shared memory, where another thread could change it; give arrays of this thread",
    );
  }
}

/** The ticket, if it is one: each part is checked, because it may come from anywhere. */
function checkTicket(ticket: unknown): BroadcastTicket {
  const where = "Broadcast.attach()";
  checkShared(where);
  const fail = (got: string): TypeError =>
    new TypeError(`${where} takes the ticket of a Broadcast, or a clone of it, got ${got}`);
  if (typeof ticket !== "object" || ticket === null) throw fail(show(ticket));
  const { memory, arrays } = ticket as Partial<BroadcastTicket>;
  if (!(memory instanceof SharedArrayBuffer)) throw fail(`one whose memory is ${show(memory)}`);
  if (!Array.isArray(arrays) || arrays.length === 0) {
    throw fail(`one whose arrays are ${show(arrays)}`);
  }
  const described = arrays.map((array: unknown) => {
    const { name, dtype, length } = (array ?? {}) as Partial<BroadcastArray>;
    const isOne = typeof name === "string" && isDType(dtype) && Number.isInteger(length) &&
      Number(length) >= 0;
    if (!isOne) throw fail(`one with an array that is ${JSON.stringify(array)}`);
    return Object.freeze({ name, dtype, length: Number(length) });
  });
  const sizes = described.map(({ dtype, length }) => VIEWS[dtype].BYTES_PER_ELEMENT * length);
  const bytes = Slots.bytesFor(sizes);
  if (memory.byteLength !== bytes) {
    throw fail(`one whose memory has ${memory.byteLength} bytes in the place of ${bytes}`);
  }
  return Object.freeze({ memory, arrays: described });
}

showAs(Broadcast, ({ ticket: { arrays }, version }) => {
  const texts = arrays.map(({ name, dtype, length }) => `${name}: ${dtype}[${length}]`);
  return `Broadcast { version ${version}, ${texts.join(", ")} }`;
});
