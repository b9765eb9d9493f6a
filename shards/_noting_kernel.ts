/**
 * A kernel whose calls that record note what they would do, and do nothing else. An `ExperienceReplay` over it checks steps and puts their bytes together as ever,
 * and the bytes go to a shard.
 *
 * An episode's handle is the number of a stream of steps. It never changes: a shard keeps the handle of each stream in its own replay.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import type { Kernel } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";
import type { KernelSymbols } from "../ffi/symbols.ts";
import type { ReplayCore } from "../replay/core.ts";
import { CALL, type Call, packedKind, STEPS_BYTES_MAX, StepsPacking } from "./_chunk_message.ts";

/** Where calls go. */
export interface CallSink {
  /** Throws `rate-limiter` where no more may come now. */
  readonly checkOpen: () => void;
  /** Takes a call. It copies the payload. */
  add(call: Call): void;
  /** Hears that an episode has ended, behind the call that ended it. */
  ended(): void;
}

/** What is known of a stream of steps. */
interface Stream {
  tag: number;
  /** Whether the shard was told of the episode that begins next. */
  isBegun: boolean;
  /** Records of the open episode. */
  count: number;
}

/** The streams of one writer. */
export class NotingKernel {
  /** A kernel for a core of its own. */
  readonly kernel: Kernel;
  readonly #sink: CallSink;
  readonly #streams = new Map<number, Stream>();
  #next = 0;
  #packing: StepsPacking | undefined;
  #flagsAt = new Map<number, number>();
  #core: ReplayCore | undefined;

  /** Notes calls into a sink, and makes all others by a real kernel. */
  constructor(kernel: Kernel, sink: CallSink) {
    this.#sink = sink;
    const { symbols } = kernel;
    let detail: readonly number[] | undefined;
    const fail = (status: number, ...numbers: readonly number[]): number => {
      detail = numbers;
      return status;
    };
    const isKnown = (handle: number): boolean =>
      Number.isInteger(handle) && handle >= 0 && handle < this.#next;
    /** The stream of a handle, or the status of a call that can't go on. */
    const open = (handle: number): Stream | number => {
      const stream = this.#streams.get(handle);
      if (stream === undefined) {
        const isEnded = isKnown(handle);
        const status = isEnded ? abi.EXRP_STATUS_EPISODE_ENDED : abi.EXRP_STATUS_EPISODE_UNKNOWN;
        return fail(status, handle, isEnded ? -1 : this.#next);
      }
      sink.checkOpen();
      return stream;
    };
    const noting: Partial<KernelSymbols> = {
      exrp_error_detail: (out, count) => {
        if (detail === undefined) return symbols.exrp_error_detail(out, count);
        const numbers = out as Float64Array;
        for (let k = 0; k < count; k++) numbers[k] = detail[k] ?? 0;
        detail = undefined;
        return 0;
      },
      exrp_episode_create: (_id, out) => {
        const handle = this.#next++;
        this.#streams.set(handle, { tag: 0, isBegun: false, count: 0 });
        (out as Float64Array)[0] = handle;
        return 0;
      },
      exrp_episode_tag: (_id, handle, tag) => {
        const stream = this.#streams.get(handle);
        if (stream !== undefined) stream.tag = tag;
        return 0;
      },
      exrp_record: (_id, row, size, flags) => {
        const bytes = (row as Uint8Array).subarray(0, size);
        const handle = new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
        const stream = open(handle);
        if (typeof stream === "number") return stream;
        this.#add(handle, stream, { kind: CALL.row, flags, count: 1, payload: bytes });
        if (this.#ended(handle, stream, 1, flags)) sink.ended();
        return 0;
      },
      exrp_record_many: (_id, episode, steps, size, count, flags, done) => {
        const [handle = 0] = episode as Float64Array;
        const stream = open(handle);
        if (typeof stream === "number") return stream;
        const bytes = (steps as Uint8Array).subarray(0, size);
        this.#add(handle, stream, this.#packed(CALL.many, flags, count, bytes));
        (done as Uint32Array)[0] = count;
        if (this.#ended(handle, stream, count, flags)) sink.ended();
        return 0;
      },
      exrp_record_batch: (_id, episodes, steps, size, count, flags, done) => {
        const handles = (episodes as Float64Array).subarray(0, count);
        for (const handle of handles) {
          const stream = open(handle);
          if (typeof stream === "number") return stream;
        }
        if (new Set(handles).size < count) {
          const [first, second] = twice(handles);
          const status = abi.EXRP_STATUS_EPISODE_TWICE;
          return fail(status, handles[first] ?? 0, first, second);
        }
        for (const handle of handles) this.#begin(handle, this.#streams.get(handle) as Stream);
        const bytes = (steps as Uint8Array).subarray(0, size);
        const call = this.#packed(CALL.batch, flags, count, bytes);
        const head = 4 * count + 4 * (count % 2);
        const payload = new Uint8Array(head + call.payload.length);
        new Uint32Array(payload.buffer, 0, count).set(handles);
        payload.set(call.payload, head);
        this.#sink.add({ ...call, payload, stream: 0, tag: 0 });
        const from = this.#flagsOf(count);
        let hasEnded = false;
        for (const [k, handle] of handles.entries()) {
          const stream = this.#streams.get(handle) as Stream;
          if (this.#ended(handle, stream, 1, bytes[from + k] ?? 0)) hasEnded = true;
        }
        (done as Uint32Array)[0] = count;
        if (hasEnded) sink.ended();
        return 0;
      },
      exrp_record_flat: (_id, episode, steps, size, count, flags, done, episodes) => {
        const [handle = 0] = episode as Float64Array;
        const stream = open(handle);
        if (typeof stream === "number") return stream;
        const bytes = (steps as Uint8Array).subarray(0, size);
        this.#add(handle, stream, this.#packed(CALL.flat, flags, count, bytes));
        const from = this.#flagsOf(count);
        // An episode counts from its last end on.
        let last = count - 1;
        while (last >= 0 && bytes[from + last] === 0) last--;
        if (last >= 0) stream.count = 0;
        stream.count += count - 1 - last;
        const numbers = done as Uint32Array;
        [numbers[0], numbers[1]] = [count, 1];
        (episodes as Float64Array)[0] = handle;
        if (last >= 0) sink.ended();
        return 0;
      },
      exrp_episode_end: (_id, handle, final, size, flags, ended) => {
        const stream = open(handle);
        if (typeof stream === "number") return stream;
        (ended as Uint32Array)[0] = stream.count > 0 ? 1 : 0;
        if (stream.isBegun) {
          const payload = (final as Uint8Array).subarray(0, size);
          this.#sink.add({ kind: CALL.end, flags, count: 0, stream: handle, tag: 0, payload });
        }
        this.#streams.delete(handle);
        sink.ended();
        return 0;
      },
      exrp_episode_info: (_id, handle, info) => {
        const stream = this.#streams.get(handle);
        if (stream === undefined && !isKnown(handle)) {
          return fail(abi.EXRP_STATUS_EPISODE_UNKNOWN, handle, this.#next);
        }
        const numbers = info as Float64Array;
        // Of those that have ended, nothing is kept.
        numbers[abi.EXRP_EPISODE_STATE] = stream === undefined
          ? abi.EXRP_EPISODE_EVICTED
          : abi.EXRP_EPISODE_OPEN;
        numbers[abi.EXRP_EPISODE_RECORD_COUNT] = stream?.count ?? 0;
        numbers[abi.EXRP_EPISODE_TAG] = stream?.tag ?? 0;
        numbers[abi.EXRP_EPISODE_FIRST_POSITION] = 0;
        return 0;
      },
    };
    this.kernel = { ...kernel, symbols: { ...symbols, ...noting } };
  }

  /** The core that asks the kernel. */
  set core(core: ReplayCore) {
    this.#core = core;
    this.#packing = new StepsPacking(core);
  }

  /** The streams of which a shard knows an open episode. From now on, it is told anew of each. */
  moveStreams(): number[] {
    const begun: number[] = [];
    for (const [handle, stream] of this.#streams) {
      if (!stream.isBegun) continue;
      stream.isBegun = false;
      begun.push(handle);
    }
    return begun;
  }

  #begin(handle: number, stream: Stream): void {
    if (stream.isBegun) return;
    stream.isBegun = true;
    const payload = new Uint8Array(0);
    const { tag } = stream;
    this.#sink.add({ kind: CALL.begin, flags: 0, count: 0, stream: handle, tag, payload });
  }

  #add(handle: number, stream: Stream, call: Omit<Call, "stream" | "tag">): void {
    this.#begin(handle, stream);
    this.#sink.add({ ...call, stream: handle, tag: 0 });
  }

  /** Whether no episode is open that has records. */
  get isBetweenEpisodes(): boolean {
    for (const { count } of this.#streams.values()) if (count > 0) return false;
    return true;
  }

  /** Notes what became of a stream's episode by its latest record: whether it has ended. */
  #ended(handle: number, stream: Stream, count: number, flags: number): boolean {
    if ((flags & abi.EXRP_RECORD_ENDS) === 0) {
      stream.count += count;
      return false;
    }
    if ((flags & abi.EXRP_RECORD_BEGINS) !== 0) stream.count = 0;
    else this.#streams.delete(handle);
    return true;
  }

  #packed(
    kind: number,
    flags: number,
    count: number,
    bytes: Uint8Array,
  ): Omit<Call, "stream" | "tag"> {
    if (bytes.length > STEPS_BYTES_MAX) {
      throw new RangeError(
        `the steps of one call may have ${STEPS_BYTES_MAX} bytes on their way to a shard, got ${bytes.length}; record fewer at once`,
      );
    }
    if (this.#packing?.isNeeded !== true) return { kind, flags, count, payload: bytes };
    const payload = this.#packing.pack(bytes, count);
    return { kind: packedKind(kind), flags, count, payload };
  }

  /** Where the flags of steps begin. */
  #flagsOf(count: number): number {
    const known = this.#flagsAt.get(count);
    const core = this.#core;
    if (known !== undefined || core === undefined) return known ?? 0;
    const offsets = new Float64Array(abi.EXRP_STEPS_COLUMN + core.config.columns.length);
    const { symbols } = core.kernel;
    const status = symbols.exrp_steps_layout(core.id, count, offsets, lengthOf(offsets));
    core.check("a chunk", status);
    const at = offsets[abi.EXRP_STEPS_FLAGS] ?? 0;
    if (this.#flagsAt.size >= 64) this.#flagsAt.clear();
    this.#flagsAt.set(count, at);
    return at;
  }
}

/** Where a handle stands for the first time, and where again. */
function twice(handles: Float64Array): readonly [first: number, second: number] {
  const seen = new Map<number, number>();
  for (const [k, handle] of handles.entries()) {
    const first = seen.get(handle);
    if (first !== undefined) return [first, k];
    seen.set(handle, k);
  }
  return [0, 0];
}
