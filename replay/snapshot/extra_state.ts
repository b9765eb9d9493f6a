/**
 * The extra state that a snapshot holds beside the kernel's sections: how far the replay was drained, the random numbers of its
 * hindsights, and the counts of its rate limiter.
 *
 * @module
 */

import { joinBytes } from "../../base/bytes.ts";
import { bytesOf } from "../../base/typed_arrays.ts";
import {
  EXRP_EPISODE_EVICTED,
  EXRP_EPISODE_OPEN,
  EXRP_INFO_RECORDED_COUNT,
} from "../../ffi/symbols.ts";
import { RANDOM_STREAM_BYTES, RandomStream } from "../../selectors/random_stream.ts";
import type { ReplayCore } from "../core.ts";
import { CURSOR_AT_FIRST, type DrainCursor, type Drainer } from "../read/drainer.ts";
import { type ReplayRateLimiter, SAVED_NUMBERS } from "../rate_limiter/rate_limiter.ts";
import type { RecordReader } from "../read/records.ts";
import { corrupt } from "../../storage/errors.ts";

/** Random streams of this number and above belong to hindsights, those below to selectors. */
const STREAM_FIRST = 2 ** 31;

const HEAD_BYTES = 8;

/** The extra state of one replay. */
export class ExtraState {
  readonly #core: ReplayCore;
  readonly #drainer: Drainer;
  readonly #reader: RecordReader;
  readonly #rateLimiter: ReplayRateLimiter;
  readonly #streams: RandomStream[] = [];
  /** The states of all streams in the loaded snapshot. Some may belong to hindsights that are not made yet. */
  #loaded: readonly Uint8Array[] = [];

  /** The extra state of the replay of `core`. */
  constructor(
    core: ReplayCore,
    drainer: Drainer,
    reader: RecordReader,
    rateLimiter: ReplayRateLimiter,
  ) {
    this.#core = core;
    this.#drainer = drainer;
    this.#reader = reader;
    this.#rateLimiter = rateLimiter;
  }

  /** The random stream of one more hindsight: from the seed, or as the loaded snapshot has it. */
  newStream(): RandomStream {
    const stream = this.#begin(this.#streams.length);
    this.#streams.push(stream);
    return stream;
  }

  #begin(ordinal: number): RandomStream {
    const stream = new RandomStream(this.#core.threadSeed, STREAM_FIRST + ordinal);
    const saved = this.#loaded[ordinal];
    if (saved !== undefined) stream.load(saved);
    return stream;
  }

  /** The whole state as bytes; no bytes if there is nothing to save. */
  save(): Uint8Array<ArrayBuffer> {
    const states = [
      ...this.#streams.map((stream) => stream.save()),
      ...this.#loaded.slice(this.#streams.length),
    ];
    const { drained, lost } = this.#drainer.cursor;
    const rateLimiter = this.#rateLimiter.save();
    const isDrained = drained > 0 || lost > 0;
    const cursor = isDrained ? [drained, lost, ...this.#storedCounts()] : [];
    const numbers = Float64Array.from([...rateLimiter, ...cursor]);
    if (states.length === 0 && numbers.length === 0) return new Uint8Array(0);
    const head = Uint32Array.of(states.length, rateLimiter.length);
    return joinBytes([bytesOf(head), ...states, bytesOf(numbers)]);
  }

  /** Pairs of handle and count, for the episodes that are still stored. */
  #storedCounts(): number[] {
    const { counts } = this.#drainer.cursor;
    const handles = Float64Array.from(counts.keys()).sort();
    const { states } = this.#reader.counts("serialize()", handles);
    const stored = handles.filter((_, k) => states[k] !== EXRP_EPISODE_EVICTED);
    return [...stored].flatMap((handle) => [handle, counts.get(handle) ?? 0]);
  }

  /**
   * Reads what was saved with the kernel's replay `id`, and checks all of it. Call the result to put it in place. With `isOlder`, the replay may
   * have gone on since: what it forgot meanwhile counts no more.
   *
   * @throws {ReplayError} `snapshot-corrupt`.
   */
  read(bytes: Uint8Array, id: number, isOlder = false): () => void {
    const states: Uint8Array[] = [];
    let cursor = CURSOR_AT_FIRST;
    let rateLimiter: readonly number[] = [];
    if (bytes.length > 0) {
      if (bytes.length < HEAD_BYTES) throw corrupt(`its extra state has ${bytes.length} bytes`);
      const { buffer } = bytes.slice();
      const [streamCount = 0, rateLimiterCount = 0] = new Uint32Array(buffer, 0, 2);
      const begin = HEAD_BYTES + streamCount * RANDOM_STREAM_BYTES;
      const numberCount = (bytes.length - begin) / 8;
      const isWhole = rateLimiterCount === 0 || rateLimiterCount === SAVED_NUMBERS;
      if (numberCount < rateLimiterCount || numberCount % 2 !== 0 || !isWhole) {
        throw corrupt(
          `its extra state has ${bytes.length} bytes for ${streamCount} random streams and ${rateLimiterCount} numbers of a rate limiter`,
        );
      }
      for (let k = HEAD_BYTES; k < begin; k += RANDOM_STREAM_BYTES) {
        const state = bytes.slice(k, k + RANDOM_STREAM_BYTES);
        if (state.every((byte) => byte === 0)) {
          throw corrupt("its extra state has a random state of zeros");
        }
        states.push(state);
      }
      const numbers = new Float64Array(buffer, begin);
      const recorded = this.#core.info("unserialize()", id)[EXRP_INFO_RECORDED_COUNT] ?? 0;
      rateLimiter = checkCounts([...numbers.subarray(0, rateLimiterCount)], recorded);
      if (numberCount > rateLimiterCount) {
        const saved = numbers.subarray(rateLimiterCount);
        cursor = this.#cursorOf(isOlder ? this.#stillStored(saved, id) : saved, id, recorded);
      }
    }
    return () => {
      this.#loaded = states;
      this.#drainer.cursor = cursor;
      this.#rateLimiter.goOn(rateLimiter);
      for (const [k, stream] of this.#streams.entries()) stream.load(this.#begin(k).save());
    };
  }

  /** The numbers of a cursor, without the episodes and records that the replay has no more. */
  #stillStored([drained = 0, lost = 0, ...pairs]: Float64Array, id: number): Float64Array {
    const handles = Float64Array.from(pairs.filter((_, k) => k % 2 === 0));
    const most = this.#mostDrained(handles, id);
    const stored = [...handles].flatMap((handle, k) => {
      const count = Math.min(pairs[2 * k + 1] as number, most[k] as number);
      return count < 1 ? [] : [handle, count];
    });
    return Float64Array.of(drained, lost, ...stored);
  }

  #cursorOf(
    [drained = 0, lost = 0, ...pairs]: Float64Array,
    id: number,
    recorded: number,
  ): DrainCursor {
    if (!isCount(drained) || !isCount(lost) || drained + lost > recorded) {
      throw corrupt(`its extra state says that ${drained} of ${recorded} records were drained`);
    }
    const handles = Float64Array.from(pairs.filter((_, k) => k % 2 === 0));
    const counts = pairs.filter((_, k) => k % 2 === 1);
    const most = this.#mostDrained(handles, id);
    let before = -1;
    let sum = 0;
    for (const [k, handle] of handles.entries()) {
      const count = counts[k] as number;
      if (!(isCount(count) && count >= 1 && count <= (most[k] as number) && handle > before)) {
        throw corrupt(
          `its extra state says that ${count} records of episode ${handle} were drained`,
        );
      }
      before = handle;
      sum += count;
    }
    if (sum > drained + lost) {
      throw corrupt(`its extra state says that ${sum} of ${drained + lost} records are stored`);
    }
    for (const [k, handle] of handles.entries()) {
      const { symbols } = this.#core.kernel;
      const status = symbols.exrp_records_release(id, handle, counts[k] as number);
      this.#core.check("unserialize()", status);
    }
    return {
      drained,
      lost,
      counts: new Map(Array.from(handles, (handle, k) => [handle, counts[k] as number])),
    };
  }

  /** Up to which position each episode can have been drained; 0 if it is gone. */
  #mostDrained(handles: Float64Array<ArrayBuffer>, id: number): readonly number[] {
    try {
      const { states, ends } = this.#reader.counts("unserialize()", handles, id);
      const nextStates = this.#reader.knownNextStates("unserialize()", handles, id);
      // The newest record of an open episode can be drained only if its next state is known.
      const isWaiting = (k: number): boolean =>
        states[k] === EXRP_EPISODE_OPEN && nextStates[k] === 0;
      return Array.from(ends, (end, k) => end - Number(isWaiting(k)));
    } catch (cause) {
      throw corrupt("its extra state names an episode that was never begun", cause);
    }
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** The rule is compared with the replay's own, which decides; so only the counts can be wrong. */
function checkCounts(numbers: readonly number[], written: number): readonly number[] {
  const [recorded = 0, drawn = 0] = numbers.slice(-2);
  if (isCount(recorded) && isCount(drawn) && recorded <= written) return numbers;
  throw corrupt(`its rate limiter counts ${recorded} records of ${written}, and ${drawn} picks`);
}
