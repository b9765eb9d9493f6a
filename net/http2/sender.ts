/**
 * The sending side of a connection: frames go into one output, DATA under flow control.
 *
 * Invariants, as `check()` numbers them:
 * 1. The window of the connection is not negative, and at most 2^31 - 1.
 * 2. A stream among those that wait has bytes in its queue, or an end to send, and is open.
 * 3. The frame that may grow lies within the output.
 *
 * DATA of one stream that follows DATA of the same stream in the output makes that frame longer, instead of beginning another one. So many small
 * messages become one frame, which is cheaper for both sides.
 *
 * @module
 */
import { ByteQueue, Output } from "./buffers.ts";
import type { Http2Limits } from "./limits.ts";
import {
  copyBytes,
  Flag,
  frameHeaderBytes,
  frameSizeAtFirst,
  FrameType,
  windowAtFirst,
  windowMax,
  write32,
} from "./protocol.ts";
import type { Http2Stream } from "./stream.ts";

/** Bytes that one stream sends before the next one has its turn. */
const turnBytes = 1 << 16;

/**
 * Where so many bytes wait for the socket, who can wait adds no more, so that the socket has its next output while the one after it is filled. More
 * would leave the processor's cache before they are written, and what is above `outputMax` is copied once more, by way of a queue.
 */
const fillMax = 1 << 16;

/** A fragment of DATA below this, cut by a window, counts as an idle frame. */
export const tinyFragment = 256;

/** Sends frames. */
export class Sender {
  readonly output: Output = new Output();
  /** How many bytes of DATA the peer takes from all streams. */
  window = windowAtFirst;
  /** The window of a new stream. */
  windowOfStreams = windowAtFirst;
  /** The largest frame that the peer takes. */
  frameSizeMax = frameSizeAtFirst;
  /** Whether the next block of headers must say that the encoder uses no table. */
  mustSayNoTable = false;
  /** DATA frames that a window cut to almost nothing, since it was last set to 0. */
  tinyFragments = 0;

  readonly #outputMax: number;
  /** The DATA frame at the end of the output: where its header is, its stream, its payload's bytes. No stream: there is none. */
  #openAt = 0;
  #openId = 0;
  #openLength = 0;
  /** Whether `reserve()` gave room in the output, and from where. */
  #reservedAt = -1;
  #reservedGrows = false;
  /** Streams that have something to send and are not held up by their own window. */
  readonly #waiting = new Set<Http2Stream>();
  /** Streams to be told that they can send more, in turn: their queue became empty, or they found the output full. */
  readonly #drained = new Set<Http2Stream>();
  /** Called when a stream has sent its end. */
  readonly #onEnded: (stream: Http2Stream) => void;

  /** A sender with an empty output. */
  constructor(limits: Http2Limits, onEnded: (stream: Http2Stream) => void) {
    this.#outputMax = limits.outputMax;
    this.#onEnded = onEnded;
  }

  /** Writes a frame's header, makes room for its payload, and returns where it begins. */
  frame(type: number, flags: number, id: number, length: number): number {
    const { output } = this;
    output.reserve(frameHeaderBytes + length);
    const { bytes, length: at } = output;
    write32(bytes, at, (length << 8) | type);
    bytes[at + 4] = flags;
    write32(bytes, at + 5, id);
    output.length = at + frameHeaderBytes + length;
    this.#openId = 0;
    return at + frameHeaderBytes;
  }

  /** Writes a frame whose payload is one number of 32 bits. */
  frameOf32(type: number, id: number, value: number): void {
    const at = this.frame(type, 0, id, 4);
    write32(this.output.bytes, at, value);
  }

  /** Writes a block of headers, cut to the peer's largest frame. */
  headers(id: number, block: Uint8Array, isEnd: boolean): void {
    let prefix = 0;
    if (this.mustSayNoTable) {
      prefix = 1;
      this.mustSayNoTable = false;
    }
    const whole = prefix + block.length;
    const first = Math.min(whole, this.frameSizeMax);
    const flags = (isEnd ? Flag.endStream : 0) | (first === whole ? Flag.endHeaders : 0);
    const at = this.frame(FrameType.headers, flags, id, first);
    if (prefix === 1) this.output.bytes[at] = 0x20;
    copyBytes(this.output.bytes, at + prefix, block, 0, first - prefix);
    for (let from = first - prefix; from < block.length;) {
      const to = Math.min(block.length, from + this.frameSizeMax);
      const isLast = to === block.length ? Flag.endHeaders : 0;
      const next = this.frame(FrameType.continuation, isLast, id, to - from);
      copyBytes(this.output.bytes, next, block, from, to);
      from = to;
    }
  }

  /** Sends what may go now of `source[from..to)`; returns how many bytes that were. */
  data(stream: Http2Stream, source: Uint8Array, from: number, to: number): number {
    let at = from;
    while (at < to) {
      const allowed = Math.min(stream.sendWindow, this.window);
      const room = Math.min(to - at, allowed, this.#outputMax - this.output.length);
      if (room <= 0) break;
      let count = Math.min(room, this.frameSizeMax);
      if (room === allowed && room < tinyFragment && room < to - at) this.tinyFragments++;
      if (this.#openId === stream.id && this.#openLength < this.frameSizeMax) {
        count = Math.min(room, this.frameSizeMax - this.#openLength);
        this.#grow(count);
      } else {
        this.#open(stream.id, count);
      }
      copyBytes(this.output.bytes, this.output.length - count, source, at, at + count);
      stream.sendWindow -= count;
      this.window -= count;
      at += count;
    }
    return at - from;
  }

  #open(id: number, count: number): void {
    const at = this.frame(FrameType.data, 0, id, count);
    this.#openAt = at - frameHeaderBytes;
    this.#openId = id;
    this.#openLength = count;
  }

  #grow(count: number): void {
    this.output.reserve(count);
    this.output.length += count;
    this.#openLength += count;
    write32(this.output.bytes, this.#openAt, (this.#openLength << 8) | FrameType.data);
  }

  /** Writes bytes of a stream; the rest waits in its queue. */
  write(stream: Http2Stream, bytes: Uint8Array): void {
    const sent = stream.buffered > 0 ? 0 : this.data(stream, bytes, 0, bytes.length);
    if (sent === bytes.length) return;
    this.#queueOf(stream).push(bytes, sent, bytes.length);
    this.wait(stream);
  }

  #queueOf(stream: Http2Stream): ByteQueue {
    return stream.queue ??= new ByteQueue();
  }

  /** Gives room for a message, in the output where it may go at once, else in the stream's queue. */
  reserve(stream: Http2Stream, countMax: number): number {
    const { output } = this;
    if (stream.buffered > 0 || output.length + countMax > this.#outputMax) {
      const queue = this.#queueOf(stream);
      queue.reserve(countMax);
      this.#reservedAt = -1;
      stream.target = queue.bytes;
      return queue.tail;
    }
    const grows = this.#openId === stream.id && this.#openLength < this.frameSizeMax;
    output.reserve(countMax + frameHeaderBytes);
    this.#reservedGrows = grows;
    this.#reservedAt = output.length + (grows ? 0 : frameHeaderBytes);
    stream.target = output.bytes;
    return this.#reservedAt;
  }

  /** Sends the message that was written where `reserve()` said. */
  commit(stream: Http2Stream, count: number): void {
    if (count === 0) return;
    const at = this.#reservedAt;
    if (at < 0) {
      this.#queueOf(stream).tail += count;
      this.wait(stream);
      return;
    }
    const limit = this.frameSizeMax - (this.#reservedGrows ? this.#openLength : 0);
    if (count <= Math.min(limit, stream.sendWindow, this.window)) {
      if (this.#reservedGrows) this.#grow(count);
      else this.#open(stream.id, count);
      stream.sendWindow -= count;
      this.window -= count;
      return;
    }
    // It needs several frames or a larger window: by way of the queue.
    this.#queueOf(stream).push(stream.target, at, at + count);
    this.wait(stream);
  }

  /** Ends a stream's answer, after what waits. */
  end(stream: Http2Stream): void {
    if (stream.buffered > 0) {
      this.wait(stream);
      return;
    }
    const { endBlock } = stream;
    if (endBlock !== undefined && endBlock.length > 0) {
      this.headers(stream.id, endBlock, true);
    } else if (this.#openId === stream.id) {
      this.output.bytes[this.#openAt + 4] = Flag.endStream;
      this.#openId = 0;
    } else {
      this.frame(FrameType.data, Flag.endStream, stream.id, 0);
    }
    this.#onEnded(stream);
  }

  /** Lets a stream wait for its turn, if its own window allows any. */
  wait(stream: Http2Stream): void {
    if (stream.isWaiting || stream.sendWindow <= 0) return;
    stream.isWaiting = true;
    this.#waiting.add(stream);
  }

  /** Makes the window of a stream larger, or smaller by a negative number. */
  widen(stream: Http2Stream, more: number): void {
    stream.sendWindow += more;
    if (stream.buffered > 0) this.wait(stream);
  }

  /** Forgets a stream that is closed. */
  forget(stream: Http2Stream): void {
    if (stream.isWaiting) this.#waiting.delete(stream);
    this.#drained.delete(stream);
    stream.isWaiting = false;
    stream.queue = undefined;
  }

  /** Whether more of a stream would wait. If so, the stream is among the drained ones once that has changed. */
  isFull(stream: Http2Stream): boolean {
    if (stream.buffered > 0) return true;
    if (this.output.length < fillMax) return false;
    this.#drained.add(stream);
    return true;
  }

  /** Takes the first of the streams to be told; none while the output is full. */
  takeDrained(): Http2Stream | undefined {
    if (this.#drained.size === 0 || this.output.length >= fillMax) return undefined;
    const [stream] = this.#drained;
    if (stream !== undefined) this.#drained.delete(stream);
    return stream;
  }

  /** Whether there is anything to take. */
  get hasOutput(): boolean {
    return this.output.length > 0 || (this.#waiting.size > 0 && this.window > 0);
  }

  /** Fills the output with what waits in the streams, each in turn. Then takes it. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    let hasMoved = true;
    while (hasMoved && this.#waiting.size > 0) {
      hasMoved = false;
      for (const stream of [...this.#waiting]) {
        if (this.window <= 0 || this.output.length >= this.#outputMax) break;
        if (!stream.isClosed && this.#turn(stream)) hasMoved = true;
      }
    }
    this.#openId = 0;
    return this.output.take();
  }

  /** Sends a turn's worth of a stream; whether anything went. */
  #turn(stream: Http2Stream): boolean {
    const { queue } = stream;
    if (queue === undefined) return false;
    const to = Math.min(queue.tail, queue.head + turnBytes);
    const sent = this.data(stream, queue.bytes, queue.head, to);
    queue.drop(sent);
    const isEmpty = queue.length === 0;
    if (isEmpty || stream.sendWindow <= 0) {
      this.#waiting.delete(stream);
      stream.isWaiting = false;
    }
    if (isEmpty) {
      if (stream.endBlock !== undefined) this.end(stream);
      else this.#drained.add(stream);
    }
    return sent > 0;
  }

  /** The number of the invariant that is broken; 0 if all hold. */
  check(): number {
    if (this.window < 0 || this.window > windowMax) return 1;
    for (const stream of this.#waiting) {
      if (stream.isClosed || stream.buffered === 0 || !stream.isWaiting) return 2;
    }
    if (this.#openId !== 0) {
      const end = this.#openAt + frameHeaderBytes + this.#openLength;
      if (end !== this.output.length) return 3;
    }
    return 0;
  }
}
