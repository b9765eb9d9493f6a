/**
 * What the parts of a replay share: its configuration, its place in the kernel, and whether it may be used now.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { type Bell, LocalBell, SharedBell } from "../base/bell.ts";
import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { ReplayHandle } from "../ffi/handle.ts";
import { type Kernel, kernelError } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";
import { kernelConfig, type ReplayConfig } from "../schema/create_options.ts";
import { type EpisodeColumns, filterNumbers, mapColumns } from "../schema/episode_filter.ts";

/** What the engine's objects of a replay take, about. (`tests/whole/memory/` measures it: 100 replays, each with one record.) */
const OBJECT_BYTES = 8 * 1024;

/** The seeds of two threads at a replay differ by this: an odd number, so that many threads have many seeds. */
const THREAD_STEP = 0x9e3779b1;

/** An id that no replay has. The kernel refuses it, so hot paths need no check of their own. */
const NO_ID = 0xffffffff;

/** What lists all episodes. */
const ALL_EPISODES = filterNumbers();

/** What keeps the TypeScript state of a shared replay the same on all threads. */
export interface SharedState {
  /** Takes over what other threads changed, if anything. The caller holds the replay. */
  pull(): void;
  /** Whether another thread changed something since the last `pull()`. */
  readonly isBehind: boolean;
  /** Tells the other threads what this one has. The caller holds the replay. */
  push(): void;
}

/** What writes down a change of what TypeScript keeps. */
export interface NotedState {
  /** Writes it down. The caller holds the replay. */
  note(): number;
  /** Writes down what has just changed, unless the disk has failed and the replay goes on in memory. */
  announce(): void;
  /** Keeps bytes of another part of the library with the replay; returns what was kept before, or undefined. */
  keep(save: () => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined;
  /** Refuses a rule that can't be remade from what is written down. */
  checkRule(operation: string, name: string): never;
}

/** One replay's place in the kernel. */
export class ReplayCore {
  /** The kernel. */
  readonly kernel: Kernel;
  /** The options, with every default filled in. Only the limits of a durable replay change, when it is opened. */
  config: ReplayConfig;
  /** The id for calls of the kernel; one that no replay has while the replay can't be used. */
  id: number;
  /** The seed of the options, or of the latest snapshot that was loaded. */
  seed: number;
  /** Set once the replay is shared. */
  shared: SharedState | undefined;
  /** Set once the replay is durable. */
  durable: NotedState | undefined;
  /** The number of this thread among those that ever used the replay: 0 for the one that created it. */
  thread = 0;
  /** How many episodes `newEpisode` began in this thread. */
  begunCount = 0;
  /** Ends the snapshot that is being written, if one is. */
  saving: AbortController | undefined;
  /** What wakes those who wait for the replay. */
  bell: Bell = new LocalBell();
  /** How many bytes of memory the rows of a durable replay take at most; 0 is no limit. */
  readonly residentBytes: number;
  #handle: ReplayHandle;
  #busyWith: string | undefined;
  readonly #buffers = new Set<() => number>();
  readonly #devices = new Set<() => number>();

  /**
   * Creates the replay in the kernel, or takes the seat at a replay that is there. Once it is durable, its rows take up to `residentBytes` of memory; 0 is no
   * limit.
   */
  constructor(kernel: Kernel, config: ReplayConfig, seat?: ReplayHandle, residentBytes = 0) {
    this.kernel = kernel;
    this.config = config;
    this.seed = config.seed;
    this.residentBytes = residentBytes;
    this.#handle = seat ?? this.createHandle(config.seed, "ExperienceReplay.create()");
    this.id = this.#handle.id;
  }

  /** Makes another, empty replay in the kernel, with the same configuration and this seed. An error names the operation. */
  createHandle(seed: number, operation: string): ReplayHandle {
    const { numbers, policy, columns } = kernelConfig({ ...this.config, seed });
    numbers[abi.EXRP_CONFIG_RESIDENT_BYTES] = this.residentBytes;
    return ReplayHandle.create(this.kernel, numbers, policy, columns, operation);
  }

  /** Puts another replay of the kernel in the place of this one, and frees this one. */
  adopt(handle: ReplayHandle, seed: number): void {
    const before = this.#handle;
    this.#handle = handle;
    this.seed = seed;
    if (this.#busyWith === undefined) this.id = handle.id;
    before[Symbol.dispose]();
    this.changed();
  }

  /** The seed of random numbers that are drawn in TypeScript. Each thread at the replay has another one. */
  get threadSeed(): number {
    return (this.seed + this.thread * THREAD_STEP) % 2 ** 53;
  }

  /**
   * Runs an operation of several calls of the kernel. On a shared replay, no other thread's call comes in between, and the operation sees
   * what other threads changed before. On the disk of a durable one is all that it changed, or nothing. It must not run code of the user's, nor wait.
   */
  together<T>(operation: string, run: () => T): T {
    const { shared, durable, kernel: { symbols }, id } = this;
    if (shared === undefined && durable === undefined) return run();
    this.check(operation, symbols.exrp_hold_begin(id));
    try {
      shared?.pull();
      return run();
    } finally {
      symbols.exrp_hold_end(id);
    }
  }

  /** Takes over what other threads changed, if anything, and if the replay can be used now. */
  catchUp(operation: string): void {
    if (this.shared?.isBehind === true && this.id !== NO_ID) this.together(operation, () => {});
  }

  /** Tells other threads, and the log, of a change of what is kept in TypeScript. Call it within {@linkcode ReplayCore.together}. */
  announce(): void {
    this.shared?.push();
    this.durable?.announce();
  }

  /** True once the replay was freed. */
  get isDisposed(): boolean {
    return this.#handle.isDisposed;
  }

  /** Frees the replay; a second call does nothing. */
  dispose(): void {
    this.id = NO_ID;
    this.#handle[Symbol.dispose]();
    this.saving?.abort(this.#unusable("serialize()"));
    this.changed();
  }

  /** Tells those who wait that the replay changed. Whatever stores, draws or removes calls it. */
  changed(): void {
    if (this.bell.isHeard) this.bell.ring();
  }

  /** The memory of the bell of all threads. The first call makes it, and moves those who wait to the new bell. */
  shareBell(): SharedArrayBuffer {
    const before = this.bell;
    if (before instanceof SharedBell) return before.memory;
    const bell = new SharedBell(new SharedArrayBuffer(SharedBell.bytes));
    this.bell = bell;
    before.ring();
    return bell.memory;
  }

  /** Takes the bell of the thread that shares this replay. */
  joinBell(memory: SharedArrayBuffer): void {
    this.bell = new SharedBell(memory);
  }

  /** Bars all use while an operation waits; dispose the result when the operation is done. */
  occupy(operation: string): Disposable {
    this.checkUsable(operation);
    this.#busyWith = operation;
    this.id = NO_ID;
    return {
      [dispose]: () => {
        this.#busyWith = undefined;
        if (!this.isDisposed) this.id = this.#handle.id;
        this.changed();
      },
    };
  }

  /** The id for the operation that occupies the replay. */
  get occupiedId(): number {
    return this.#handle.id;
  }

  /** What the replay is occupied with, such as `serialize()`; undefined when it can be used. */
  get busyWith(): string | undefined {
    return this.#busyWith;
  }

  /** Throws when the replay was freed, or is being saved or loaded. */
  checkUsable(operation: string): void {
    if (this.id === NO_ID) throw this.#unusable(operation);
  }

  #unusable(operation: string): ReplayError {
    if (this.isDisposed) {
      return new ReplayError("disposed", `${operation}: the replay is disposed`, {
        status: abi.EXRP_STATUS_REPLAY_UNKNOWN,
      });
    }
    return new ReplayError(
      "busy",
      `${operation}: the replay can't be used until ${this.#busyWith} is done; await it first`,
    );
  }

  /** The error for a status of the kernel. */
  error(operation: string, status: number): ReplayError {
    if (status === abi.EXRP_STATUS_REPLAY_UNKNOWN) return this.#unusable(operation);
    return kernelError(this.kernel, operation, status);
  }

  /** Throws when a call did not succeed. */
  check(operation: string, status: number): void {
    if (status !== 0) throw this.error(operation, status);
  }

  /**
   * From now on, `memoryBytes` has the bytes that `bytes` gives: of buffers that a part of the replay keeps for later calls. What is returned ends that.
   */
  countBuffers(bytes: () => number): () => void {
    this.#buffers.add(bytes);
    return () => void this.#buffers.delete(bytes);
  }

  /** The same of memory of a device. */
  countDevice(bytes: () => number): () => void {
    this.#devices.add(bytes);
    return () => void this.#devices.delete(bytes);
  }

  /** The bytes that are on devices. */
  get deviceBytes(): number {
    return [...this.#devices].reduce((sum, bytes) => sum + bytes(), 0);
  }

  /** Whether rows that are on a device, also by another seat, are in the program's memory, too. */
  get hostCopy(): boolean {
    return this.durableInfo("describe()")[abi.EXRP_DURABLE_INFO_LEAN] !== 1;
  }

  /**
   * What the kernel tells about replay `id`; the `EXRP_INFO_` constants are the indices. The memory also has the engine's objects and the
   * buffers that the replay keeps.
   */
  info(operation: string, id: number = this.id): Float64Array {
    const info = new Float64Array(abi.EXRP_INFO_COUNT);
    this.check(operation, this.kernel.symbols.exrp_replay_info(id, info, lengthOf(info)));
    let kept = OBJECT_BYTES + this.deviceBytes;
    for (const bytes of this.#buffers) kept += bytes();
    info[abi.EXRP_INFO_MEMORY_BYTES] = (info[abi.EXRP_INFO_MEMORY_BYTES] ?? 0) + kept;
    return info;
  }

  /** What the kernel tells about sharing; the `EXRP_SHARE_INFO_` constants are the indices. */
  shareInfo(operation: string): Float64Array {
    const info = new Float64Array(abi.EXRP_SHARE_INFO_COUNT);
    this.check(operation, this.kernel.symbols.exrp_share_info(this.id, info, lengthOf(info)));
    return info;
  }

  /** The `EXRP_DURABLE_INFO_*` numbers; zeros where the replay is in memory only. */
  durableInfo(operation: string): Float64Array {
    const info = new Float64Array(abi.EXRP_DURABLE_INFO_COUNT);
    this.check(operation, this.kernel.symbols.exrp_durable_info(this.id, info, lengthOf(info)));
    return info;
  }

  /** The episodes of replay `id` in the kernel that a filter takes, oldest first. The caller holds the replay. */
  episodes(
    operation: string,
    filter: Float64Array<ArrayBuffer> = ALL_EPISODES,
    id: number = this.id,
  ): EpisodeColumns {
    const count = this.info(operation, id)[abi.EXRP_INFO_EPISODE_COUNT] ?? 0;
    const hasReturns = filter[abi.EXRP_EPISODES_REWARD_TYPE] !== abi.EXRP_TYPE_OTHER;
    const [handle, age] = [new Float64Array(count), new Float64Array(count)];
    const [length, firstPosition] = [new Uint32Array(count), new Uint32Array(count)];
    const [tag, end] = [new Int32Array(count), new Uint8Array(count)];
    const returns = new Float64Array(hasReturns ? count : 0);
    const listed = new Uint32Array(1);
    const status = this.kernel.symbols.exrp_episode_list(
      id,
      filter,
      lengthOf(filter),
      handle,
      length,
      firstPosition,
      tag,
      end,
      age,
      returns,
      count,
      listed,
    );
    this.check(operation, status);
    const [size = 0] = listed;
    const columns = { size, handle, length, firstPosition, tag, end, age };
    const all = hasReturns ? { ...columns, return: returns } : columns;
    return size === count ? all : mapColumns(all, size, (column) => column.slice(0, size));
  }

  /** How many records episodes hold, the first position of each, and their states, for replay `id` of the kernel. */
  episodeCounts(
    operation: string,
    handles: Float64Array<ArrayBuffer>,
    id: number = this.id,
  ): Record<"counts" | "firsts" | "states", Uint32Array<ArrayBuffer>> {
    const size = lengthOf(handles);
    const counts = new Uint32Array(size);
    const firsts = new Uint32Array(size);
    const states = new Uint32Array(size);
    const { symbols } = this.kernel;
    if (size > 0) {
      const status = symbols.exrp_episode_counts(id, handles, size, counts, firsts, states);
      this.check(operation, status);
    }
    return { counts, firsts, states };
  }
}
