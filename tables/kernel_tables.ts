/**
 * A set of tables of the kernel: messages in, messages out. Servers use it, and `Tables` is built on it.
 *
 * An {@linkcode Inserter} is one stream of `InsertStreamRequest`, a {@linkcode Sampler} one of `SampleStreamResponse`. Nothing here waits.
 * What a rate limiter refuses stays in the kernel, and `onReady` of a stream is called once another call has made something ready for it.
 * It is called within that other call, after its work is done.
 *
 * One thread uses a set. Messages are those of Reverb's service, without gRPC's five bytes before them.
 *
 * The file is long because it is the whole binding of the kernel's tables: `KernelTables` and both kinds of streams hold each other's ids.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { checkStatus, type Kernel, kernelError, type KernelSymbols } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";
import type { NewRows } from "../wire/new_rows.ts";
import type { TableItem } from "./table_item.ts";

/** A rule as the kernel takes it: {@linkcode NativeSelector} has both. */
export interface KernelRule {
  /** An `EXRP_SELECTOR_` constant of `kernel/exrp.h`. */
  readonly native: number;
  /** Its options. */
  readonly numbers: readonly number[];
}

/** One table of a set. */
export interface KernelTableOptions {
  /** The name by which messages know it. */
  readonly name: string;
  /** Items, 1 to 2^28. */
  readonly maxSize: number;
  /** Bytes of the chunks that its items refer to, each chunk once; 0 for no limit. */
  readonly maxBytes?: number;
  /** An item goes once it was sampled so often; 0 for no limit. */
  readonly maxTimesSampled?: number;
  /** What chooses the items to sample. */
  readonly sampler: KernelRule;
  /** What chooses the item that goes. */
  readonly remover: KernelRule;
  /** The numbers of its rate limiter, in the order of EXRP_RATE_LIMITER_*. */
  readonly rateLimiter: readonly number[];
}

/** The fields of the pieces of a snapshot; kernel/tables/saving.hpp has what is in them. */
export const [TABLE, CHUNK, ITEM] = [1, 2, 3] as const;

/** The finalizer needs these to free a set. They never refer to the owner itself. */
interface Token {
  readonly kernel: Kernel;
  readonly id: number;
}

const registry = new FinalizationRegistry<Token>(destroy);

function destroy({ kernel, id }: Token): void {
  kernel.symbols.exrp_tables_destroy(id);
}

const encoder = new TextEncoder();
/** An id that no set has: the kernel refuses it, so hot paths need no check of their own. */
const NO_ID = 0;
const NOTHING = new Uint8Array(0);
/** How many ids of streams are taken at once. */
const AWAKE_COUNT = 64;

/** The functions of the kernel whose first argument is a set. */
type SetCall = keyof KernelSymbols & `exrp_${"tables" | "inserter" | "sampler"}_${string}`;

/** The other arguments. */
type Rest<F> = F extends (id: number, ...rest: infer R) => number ? R : never;

/** A set of tables in the kernel, by the numbers of its tables. */
export class KernelTables implements Disposable {
  /** The kernel. */
  readonly kernel: Kernel;
  /** The names of the tables, in order of their numbers. */
  readonly names: readonly string[];
  /** The id for calls of the kernel; one that no set has once this one is disposed. */
  #id: number;
  readonly #streams = new Map<number, { readonly onReady: (() => void) | undefined }>();
  readonly #awake = new Uint32Array(AWAKE_COUNT);
  readonly #awakeCount = new Uint32Array(1);
  readonly #options: KernelTableOptions[];
  readonly #seed: number;
  #isTelling = false;
  #isSaving = false;

  private constructor(
    kernel: Kernel,
    id: number,
    options: readonly KernelTableOptions[],
    seed: number,
  ) {
    this.kernel = kernel;
    this.#id = id;
    this.#options = [...options];
    this.#seed = seed;
    this.names = options.map(({ name }) => name);
    registry.register(this, { kernel, id }, this);
  }

  /**
   * Makes a set.
   *
   * @param seed A whole number, 0 to 2^53. The same seed and the same calls give the same draws.
   * @throws {ReplayError} `argument`, `limit` or `memory`, as the kernel says.
   */
  static create(kernel: Kernel, tables: readonly KernelTableOptions[], seed: number): KernelTables {
    const config = Float64Array.from([seed, tables.length, ...tables.flatMap(tableNumbers)]);
    const id = new Uint32Array(1);
    const operation = "Tables.create()";
    checkStatus(
      kernel,
      operation,
      kernel.symbols.exrp_tables_create(config, lengthOf(config), id),
    );
    const made = new KernelTables(kernel, id[0] ?? 0, tables, seed);
    try {
      for (const [table, { name }] of tables.entries()) {
        const bytes = encoder.encode(name);
        checkStatus(
          kernel,
          operation,
          kernel.symbols.exrp_tables_name_set(made.id, table, bytes, lengthOf(bytes)),
        );
      }
    } catch (error) {
      made[dispose]();
      throw error;
    }
    return made;
  }

  /** An empty set of the same names, rules and seed, with the rate limiters that this one has now. */
  fresh(): KernelTables {
    return KernelTables.create(this.kernel, this.#options, this.#seed);
  }

  /** Takes over all that another set of the same tables has, which is disposed then. Nothing may be saved in either. Streams of this one are closed. */
  takeOver(other: KernelTables): void {
    registry.unregister(this);
    registry.unregister(other);
    destroy({ kernel: this.kernel, id: this.#id });
    this.#streams.clear();
    this.#id = other.#id;
    other.#id = NO_ID;
    registry.register(this, { kernel: this.kernel, id: this.#id }, this);
  }

  /** How many streams are open of those that are told when something is ready for them. */
  get toldCount(): number {
    return [...this.#streams.values()].filter(({ onReady }) => onReady !== undefined).length;
  }

  /** Whether a snapshot is being read. */
  get isSaving(): boolean {
    return this.#isSaving;
  }

  /** The id for calls of the kernel. */
  get id(): number {
    return this.#id;
  }

  /** True once the set was freed. */
  get isDisposed(): boolean {
    return this.#id === NO_ID;
  }

  /**
   * The number of a table.
   *
   * @throws {ReplayError} `table-unknown`.
   */
  numberOf(name: string): number {
    const number = this.names.indexOf(name);
    if (number >= 0) return number;
    const known = this.names.map((each) => JSON.stringify(each)).join(", ");
    throw new ReplayError(
      "table-unknown",
      `there is no table ${JSON.stringify(name)}; there are ${known}`,
    );
  }

  /** The numbers of a table, as `EXRP_TABLES_INFO_` orders them. */
  info(table: number): Float64Array<ArrayBuffer> {
    const info = new Float64Array(abi.EXRP_TABLES_INFO_COUNT);
    this.call("info()", "exrp_tables_info", table, info, lengthOf(info));
    return info;
  }

  /** The numbers of the whole set, as `EXRP_TABLES_STORE_` orders them. */
  storeInfo(): Float64Array<ArrayBuffer> {
    const info = new Float64Array(abi.EXRP_TABLES_STORE_COUNT);
    this.call("info()", "exrp_tables_store_info", info, lengthOf(info));
    return info;
  }

  /** Whether the rate limiter would allow `count` inserts now. */
  canInsert(table: number, count: number): boolean {
    return this.#allows("canInsert()", table, abi.EXRP_ALLOW_INSERTS, count);
  }

  /** Whether `count` samples would be drawn now, whichever items they are. */
  canSample(table: number, count: number): boolean {
    return this.#allows("canSample()", table, abi.EXRP_ALLOW_SAMPLES, count);
  }

  #allows(operation: string, table: number, what: number, count: number): boolean {
    const allowed = new Uint32Array(1);
    this.call(operation, "exrp_tables_allow", table, what, count, allowed);
    return allowed[0] === 1;
  }

  /** Items `first` to `first + count - 1` of a table, in no order that means anything. */
  items(table: number, first: number, count: number): TableItem[] {
    const keys = new BigUint64Array(count);
    const bytes = new Uint8Array(keys.buffer);
    const numbers = new Float64Array(abi.EXRP_ITEM_COUNT * count);
    const rest = [bytes, lengthOf(bytes), numbers, lengthOf(numbers)] as const;
    this.call("items()", "exrp_tables_items", table, first, count, ...rest);
    return Array.from(keys, (key, k) => {
      const at = (index: number): number => numbers[abi.EXRP_ITEM_COUNT * k + index] ?? 0;
      return {
        key,
        priority: at(abi.EXRP_ITEM_PRIORITY),
        removerPriority: at(abi.EXRP_ITEM_REMOVER_PRIORITY),
        timesSampled: at(abi.EXRP_ITEM_TIMES_SAMPLED),
        insertedAt: at(abi.EXRP_ITEM_INSERTED_AT),
        bytes: at(abi.EXRP_ITEM_BYTES),
      };
    });
  }

  /** Gives a table another rate limiter. What waits and is now allowed goes on. */
  setRateLimiter(table: number, rateLimiter: readonly number[]): void {
    const numbers = Float64Array.from(rateLimiter);
    const size = lengthOf(numbers);
    this.call("setRateLimiter()", "exrp_tables_rate_limiter_set", table, numbers, size);
    const options = this.#options[table];
    if (options !== undefined) this.#options[table] = { ...options, rateLimiter };
    this.tellReady();
  }

  /** Removes all items of a table, and sets its counts to 0. */
  reset(table: number): void {
    this.call("reset()", "exrp_tables_reset", table);
    this.tellReady();
  }

  /**
   * Applies a `MutatePrioritiesRequest`: first its deletes, then its updates. Keys that the table does not have are passed over.
   *
   * @throws {ReplayError} `table-unknown`, `invalid-priority` or `message-damaged`. Then nothing has changed.
   */
  mutate(message: Uint8Array): void {
    const { symbols } = this.kernel;
    this.check("setPriority()", symbols.exrp_tables_mutate(this.#id, message, lengthOf(message)));
    this.tellReady();
  }

  /**
   * Takes a snapshot of all tables at one moment, and reads it piece by piece. The set may change between two pieces: the snapshot does not.
   * {@linkcode load} takes the same pieces.
   *
   * The pieces are bytes of a buffer that is used again: write or copy each before you ask for the next. After the last one come empty ones, if the
   * snapshot was large: what was kept for it is let go in parts, so that you can serve others between two of them.
   *
   * @param pieceBytes About how large a piece is; one that holds a larger chunk is larger.
   * @throws {ReplayError} `memory`, `busy` while another snapshot is being read, or `order` while one is being loaded.
   */
  *save(pieceBytes = 1 << 20): Generator<Uint8Array<ArrayBuffer>, void, undefined> {
    if (this.#isSaving) {
      throw new ReplayError("busy", "save(): another snapshot of these tables is being written");
    }
    this.call("save()", "exrp_tables_save_begin");
    this.#isSaving = true;
    try {
      const info = new Float64Array(abi.EXRP_TABLES_SAVE_COUNT);
      let buffer = new Uint8Array(pieceBytes);
      while (info[abi.EXRP_TABLES_SAVE_ENDED] !== 1) {
        const needed = info[abi.EXRP_TABLES_SAVE_NEEDED] ?? 0;
        if (needed > buffer.length) buffer = new Uint8Array(needed);
        const rest = [buffer, lengthOf(buffer), info, lengthOf(info)] as const;
        this.call("save()", "exrp_tables_save_read", ...rest);
        const bytes = info[abi.EXRP_TABLES_SAVE_BYTES] ?? 0;
        const isWaiting = bytes === 0 && info[abi.EXRP_TABLES_SAVE_ENDED] === 0;
        if (bytes > 0 || isWaiting && info[abi.EXRP_TABLES_SAVE_NEEDED] === 0) {
          yield buffer.subarray(0, bytes);
        }
      }
    } finally {
      this.#isSaving = false;
      if (!this.isDisposed) this.kernel.symbols.exrp_tables_save_end(this.#id);
    }
  }

  /**
   * Loads one piece of a snapshot, each as {@linkcode save} gave it, into a set that has tables of the same names and rules, and into which nothing
   * was ever inserted.
   * Until {@linkcode loadEnd}, other calls are refused. After an error, the set can only be disposed.
   *
   * @throws {ReplayError} `snapshot-corrupt`, `snapshot-mismatch`, `order` or `memory`.
   */
  load(piece: Uint8Array): void {
    this.call("load()", "exrp_tables_load", piece, lengthOf(piece));
  }

  /**
   * Ends loading.
   *
   * @throws {ReplayError} `snapshot-corrupt`, if items are missing; `order`, if nothing was loaded; as {@linkcode load}.
   */
  loadEnd(): void {
    this.call("load()", "exrp_tables_load_end");
  }

  /** Opens a stream of inserts. `onReady` is called when another call has inserted items of it that waited, and when the set is disposed. */
  inserter(onReady?: () => void): Inserter {
    return new Inserter(this, this.#streams, onReady);
  }

  /** Opens a stream of samples of a table. `onReady` is called when another call has made samples of it ready, and when the set is disposed. */
  sampler(table: number, onReady?: () => void): Sampler {
    return new Sampler(this, this.#streams, table, onReady);
  }

  /** Throws unless a call of the kernel succeeded. */
  check(operation: string, status: number): void {
    if (status !== 0) throw kernelError(this.kernel, operation, status);
  }

  /** Calls the kernel with this set, and throws unless that succeeded. For what is not called for each step: the engine can't inline it. */
  call<N extends SetCall>(operation: string, name: N, ...rest: Rest<KernelSymbols[N]>): void {
    const symbol = this.kernel.symbols[name] as (id: number, ...rest: unknown[]) => number;
    this.check(operation, symbol(this.#id, ...rest));
  }

  /** Calls `onReady` of the streams for which something became ready. Streams call it after each call that may have done that. */
  tellReady(): void {
    // A call within onReady() adds to the list that is being told already.
    if (this.#isTelling) return;
    const { symbols } = this.kernel;
    this.#isTelling = true;
    try {
      do {
        const status = symbols.exrp_tables_awake(
          this.#id,
          this.#awake,
          AWAKE_COUNT,
          this.#awakeCount,
        );
        if (status !== 0) return; // disposed within onReady()
        const count = this.#awakeCount[0] ?? 0;
        if (count === 0) return;
        // A copy, because a call within onReady() must not change what is left to tell.
        for (const id of this.#awake.slice(0, count)) this.#streams.get(id)?.onReady?.();
      } while (true);
    } finally {
      this.#isTelling = false;
    }
  }

  /** Frees the set and all its streams. A second call does nothing. */
  [dispose](): void {
    if (this.isDisposed) return;
    registry.unregister(this);
    destroy({ kernel: this.kernel, id: this.#id });
    this.#id = NO_ID;
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    // Who waits finds that the set is no more.
    for (const { onReady } of streams) onReady?.();
  }
}

/** The numbers of one table, as `exrp_tables_create` takes them. */
function tableNumbers(options: KernelTableOptions): readonly number[] {
  const { maxSize, maxBytes = 0, maxTimesSampled = 0, rateLimiter, sampler, remover } = options;
  return [
    maxSize,
    maxBytes,
    maxTimesSampled,
    ...rateLimiter,
    ...[sampler, remover].flatMap(({ native, numbers }) => [native, numbers.length, ...numbers]),
  ];
}

/** The streams of a set, by id. */
type Streams = Map<number, { readonly onReady: (() => void) | undefined }>;

/** A stream of either kind: it is closed once, and told what others have made ready. */
class Stream implements Disposable {
  /** Called when another call has made something of this stream ready, and when the set is disposed. */
  onReady: (() => void) | undefined;
  protected readonly tables: KernelTables;
  protected readonly id: number;
  readonly #streams: Streams;

  protected constructor(
    tables: KernelTables,
    streams: Streams,
    onReady: (() => void) | undefined,
    open: (id: Uint32Array<ArrayBuffer>) => number,
  ) {
    this.tables = tables;
    this.#streams = streams;
    this.onReady = onReady;
    const id = new Uint32Array(1);
    tables.check("open a stream", open(id));
    this.id = id[0] ?? 0;
    streams.set(this.id, this);
  }

  /** Throws unless a call succeeded, and tells others what it made ready. */
  protected end(operation: string, status: number): void {
    if (status !== 0) this.tables.check(operation, status);
    this.tables.tellReady();
  }

  /** False once it was closed, or another set has taken over. */
  get isOpen(): boolean {
    return this.#streams.get(this.id) === this;
  }

  /**
   * Ends the stream. A second call does nothing. Items of an inserter that wait still go in, unless those of all streams that ended are too many. What
   * was drawn for a sampler and not read is lost, unless {@linkcode Sampler.ask} said otherwise.
   */
  [dispose](): void {
    if (!this.isOpen) return;
    this.#streams.delete(this.id);
    this.tables.kernel.symbols.exrp_stream_close(this.tables.id, this.id);
    this.tables.tellReady();
  }
}

/** A stream of inserts: it holds the chunks that its client keeps for items to come. */
export class Inserter extends Stream {
  readonly #info = new Float64Array(abi.EXRP_INSERTER_COUNT);

  /** Opens a stream; {@linkcode KernelTables.inserter} does. */
  constructor(tables: KernelTables, streams: Streams, onReady?: () => void) {
    const { symbols } = tables.kernel;
    super(tables, streams, onReady, (id) => symbols.exrp_inserter_open(tables.id, id));
  }

  /**
   * Takes in one `InsertStreamRequest`. The getters below then say what came of it.
   *
   * @param message The whole message; it is read before the call returns.
   * @throws {ReplayError} `message-damaged`, `message-empty`, `table-unknown`, `chunk-unknown`, `chunks-kept`, `invalid-priority`, `item-empty`, `item-slice`,
   * `item-bytes` or `memory`. Then nothing has changed.
   */
  feed(message: Uint8Array): void {
    const tables = this.tables;
    const info = this.#info;
    const status = tables.kernel.symbols.exrp_inserter_feed(
      tables.id,
      this.id,
      message,
      lengthOf(message),
      performance.timeOrigin + performance.now(),
      info,
      abi.EXRP_INSERTER_COUNT,
    );
    this.end("insert()", status);
  }

  /**
   * Inserts items of this process. The getters below then say how many wait; no key of them is confirmed.
   *
   * @param rows As `EXRP_INSERT_` constants of `kernel/exrp.h` say.
   * @throws {ReplayError} `item-bytes`, `invalid-priority`, `memory` or `argument`. Then nothing has changed.
   */
  insert({ numbers, count, bytes, size }: NewRows): void {
    const tables = this.tables;
    const status = tables.kernel.symbols.exrp_inserter_insert(
      tables.id,
      this.id,
      numbers,
      count,
      bytes,
      size,
      performance.timeOrigin + performance.now(),
      this.#info,
      abi.EXRP_INSERTER_COUNT,
    );
    this.end("insert()", status);
  }

  /** How many items of this stream wait, for each table of the set. With `isWithdrawn`, they leave the lines and are never inserted. */
  countWaiting(isWithdrawn = false): Float64Array<ArrayBuffer> {
    const tables = this.tables;
    const counts = new Float64Array(tables.names.length);
    if (tables.isDisposed) return counts;
    const rest = [this.id, isWithdrawn ? 1 : 0, counts, lengthOf(counts)] as const;
    tables.call("insert()", "exrp_inserter_waiting", ...rest);
    return counts;
  }

  /** Brings the getters below up to date, where other calls may have changed them. */
  refresh(): void {
    this.readConfirmations(NOTHING);
  }

  /** Items of this stream that wait for a rate limiter. */
  get waiting(): number {
    return this.#info[abi.EXRP_INSERTER_WAITING] ?? 0;
  }
  /** Keys that {@linkcode readConfirmations} would write. */
  get confirmed(): number {
    return this.#info[abi.EXRP_INSERTER_CONFIRMED] ?? 0;
  }
  /** Chunks that it holds for items to come. */
  get chunks(): number {
    return this.#info[abi.EXRP_INSERTER_CHUNKS] ?? 0;
  }
  /** About what these chunks take of memory, also the small ones, in bytes. */
  get chunkBytes(): number {
    return this.#info[abi.EXRP_INSERTER_CHUNK_BYTES] ?? 0;
  }
  /** Whether so many items wait that the client should send no more. */
  get isFull(): boolean {
    return this.#info[abi.EXRP_INSERTER_PAUSE] === 1;
  }

  /**
   * Writes an `InsertStreamResponse` with the keys that were inserted since the last one, as many as fit. Returns its bytes: 0 for none. The getters
   * above are then up to date.
   */
  readConfirmations(into: Uint8Array): number {
    const tables = this.tables;
    const status = tables.kernel.symbols.exrp_inserter_read(
      tables.id,
      this.id,
      into,
      lengthOf(into),
      this.#info,
      abi.EXRP_INSERTER_COUNT,
    );
    if (status !== 0) tables.check("insert()", status);
    return this.#info[abi.EXRP_INSERTER_BYTES] ?? 0;
  }
}

/** A stream of samples of one table. */
export class Sampler extends Stream {
  readonly #info = new Float64Array(abi.EXRP_SAMPLER_COUNT);

  /** Opens a stream; {@linkcode KernelTables.sampler} does. */
  constructor(tables: KernelTables, streams: Streams, table: number, onReady?: () => void) {
    const { symbols } = tables.kernel;
    super(tables, streams, onReady, (id) => symbols.exrp_sampler_open(tables.id, table, id));
  }

  /**
   * Asks for `count` samples more, 1 to 2^32 - 1. Those that the rate limiter allows are drawn at once; {@linkcode read} writes them.
   *
   * @param how An `EXRP_ASK_` constant: when samples can be read. By default, each can be once it is drawn.
   */
  ask(count: number, how = abi.EXRP_ASK_FLOWING): void {
    const tables = this.tables;
    const status = tables.kernel.symbols.exrp_sampler_ask(tables.id, this.id, count, how);
    this.end("getBatch()", status);
  }

  /**
   * Writes one `SampleStreamResponse` with the samples that were drawn, as many as fit, and returns its bytes: 0 for none. The getters
   * below then say why there are no more.
   */
  read(into: Uint8Array): number {
    const tables = this.tables;
    const info = this.#info;
    const status = tables.kernel.symbols.exrp_sampler_read(
      tables.id,
      this.id,
      into,
      lengthOf(into),
      info,
      abi.EXRP_SAMPLER_COUNT,
    );
    this.end("getBatch()", status);
    return info[abi.EXRP_SAMPLER_BYTES] ?? 0;
  }

  /** Samples that the last {@linkcode read} wrote. */
  get samples(): number {
    return this.#info[abi.EXRP_SAMPLER_SAMPLES] ?? 0;
  }
  /** Samples that were asked for and not read, at the last {@linkcode read}. */
  get wanted(): number {
    return this.#info[abi.EXRP_SAMPLER_WANTED] ?? 0;
  }
  /** Samples that were drawn and not read, at the last {@linkcode read}. */
  get held(): number {
    return this.#info[abi.EXRP_SAMPLER_HELD] ?? 0;
  }
  /** The bytes that the next sample needs, where the last {@linkcode read} had no room for a single one; else 0. */
  get needed(): number {
    return this.#info[abi.EXRP_SAMPLER_NEEDED] ?? 0;
  }
  /** Whether the samples that are still wanted wait for the rate limiter. */
  get isWaiting(): boolean {
    return this.#info[abi.EXRP_SAMPLER_WAITS] === 1;
  }
}
