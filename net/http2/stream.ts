/**
 * The streams of an HTTP/2 connection, each a request and its answer, and the sender of their answers: frames go into one output, DATA
 * under flow control.
 *
 * Invariants, as `Sender.check()` numbers them:
 * 1. The window of the connection is not negative, and at most 2^31 - 1.
 * 2. A stream among those that wait has bytes in its queue, and is open.
 * 3. The frame that may grow lies within the output.
 *
 * DATA of one stream that follows DATA of the same stream in the output makes that frame longer, instead of beginning another one. So many small
 * messages become one frame, which is cheaper for both sides.
 *
 * @module
 */
import { ByteQueue, Output } from "./buffers.ts";
import type { HeaderList } from "./header_fields.ts";
import type { Http2Limits } from "./limits.ts";
import {
  copyBytes,
  ErrorCode,
  Flag,
  frameHeaderBytes,
  frameSizeAtFirst,
  FrameType,
  windowAtFirst,
  windowMax,
  write32,
} from "./protocol.ts";

/** What a stream tells whoever serves it. Views of bytes are valid during the call only. */
export interface StreamEvents {
  /** Bytes of the request's body came. Give their room back by `consumed()`, now or later. */
  onData(bytes: Uint8Array): void;
  /** The request is complete. */
  onEnd(): void;
  /** The stream is over: the client reset it, or it broke a rule, or the connection ended. Nothing can be sent any more. */
  onReset(code: number): void;
  /** What waited in the stream is with the connection now, or `isFull()` was true and is so no more. */
  onDrain(): void;
  /** So many milliseconds have passed, as the ticks of the connection count them. */
  onTick?(ms: number): void;
}

/**
 * A stream.
 *
 * After it is closed, all its methods do nothing.
 */
export class Http2Stream {
  /** The number of the stream. */
  readonly id: number;
  /** The headers of the request. */
  readonly request: HeaderList;
  /** Who serves it; undefined where nobody does. */
  events: StreamEvents | undefined = undefined;

  /** What waits for a window or for the socket; made when first needed. For the connection only, as all that follows. */
  queue: ByteQueue | undefined = undefined;
  /** Set once `end()` was called: the block of the trailers, or an empty one. */
  endBlock: Uint8Array | undefined = undefined;
  sendWindow: number;
  receiveWindow: number;
  /** Bytes that were consumed but not given back yet. */
  unreturned = 0;
  /** Bytes of the body that came. */
  received = 0;
  remoteIsClosed = false;
  /** Whether the answer has begun. */
  isAnswered = false;
  isClosed = false;
  /** Where `reserve()` gave room. */
  target: Uint8Array<ArrayBuffer> = nothing;

  readonly #sender: Sender;

  /** A stream that a request opened. */
  constructor(sender: Sender, id: number, request: HeaderList) {
    this.#sender = sender;
    this.id = id;
    this.request = request;
    this.sendWindow = sender.windowOfStreams;
    this.receiveWindow = sender.limits.streamWindow;
  }

  /** Bytes that wait here. They bound nothing by themselves: whoever sends looks at them, and goes on at `onDrain`. */
  get buffered(): number {
    return this.queue === undefined ? 0 : this.queue.length;
  }

  /** Whether nothing can be added to the answer any more. */
  get #isOver(): boolean {
    return this.isClosed || this.endBlock !== undefined;
  }

  /**
   * Whether more of the answer would wait: here for the client's window, or in the connection for the socket. If so, `onDrain` is called once that has
   * changed. Who can wait sends no more meanwhile.
   */
  isFull(): boolean {
    return !this.isClosed && this.#sender.isFull(this);
  }

  /** Begins the answer, with a block of `encodeHeaders()`. With `isEnd`, that is all of it. */
  respond(block: Uint8Array, isEnd = false): void {
    if (this.#isOver) return;
    this.isAnswered = true;
    this.#sender.headers(this.id, block, isEnd);
    if (isEnd) this.#sender.owner.onEnded(this);
  }

  /**
   * Gives room for bytes of the answer: from the returned place on, in `target`. Write them there, and call `commit()` with their number
   * before anything else. A closed stream gives room too, which leads nowhere.
   */
  reserve(countMax: number): number {
    if (!this.#isOver) return this.#sender.reserve(this, countMax);
    this.target = new Uint8Array(countMax);
    return 0;
  }

  /** Sends what was written since `reserve()`; what may not go now waits. */
  commit(count: number): void {
    if (!this.#isOver && count > 0) this.#sender.commit(this, count);
    this.target = nothing;
  }

  /** Ends the answer, after all that waits; with trailers, if there is a block of them. */
  end(trailers: Uint8Array = nothing): void {
    if (this.#isOver) return;
    this.endBlock = trailers;
    this.#sender.end(this);
  }

  /** Ends the stream at once, in both directions. `onReset` is not called. */
  reset(code: number = ErrorCode.cancel): void {
    if (!this.isClosed) this.#sender.owner.reset(this, code);
  }

  /** Says that so many bytes of the body need no room any more. Until then the client sends a window's worth at most. */
  consumed(count: number): void {
    if (this.isClosed || this.remoteIsClosed) return;
    this.unreturned += count;
    if (2 * this.unreturned < this.#sender.limits.streamWindow) return;
    this.#sender.frameOf32(FrameType.windowUpdate, this.id, this.unreturned);
    this.receiveWindow += this.unreturned;
    this.unreturned = 0;
  }
}

const nothing = new Uint8Array(0);

/** Bytes that one stream sends before the next one has its turn. */
const turnBytes = 1 << 16;

/**
 * Where so many bytes wait for the socket, who can wait adds no more, so that the socket has its next output while the one after it is filled. More
 * would leave the processor's cache before they are written, and what is above `outputMax` is copied once more, by way of a queue.
 */
const fillMax = 1 << 16;

/** A fragment of DATA below this, cut by a window, counts as an idle frame. */
export const tinyFragment = 256;

/** What the sender and the streams tell their connection. */
export interface SenderOwner {
  /** There is output, where there was none. */
  onOutput(): void;
  /** A stream has sent its end. */
  onEnded(stream: Http2Stream): void;
  /** A stream must end at once. */
  reset(stream: Http2Stream, code: number): void;
}

/** Sends frames. */
export class Sender {
  readonly output: Output = new Output();
  readonly limits: Http2Limits;
  readonly owner: SenderOwner;
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

  /** The DATA frame at the end of the output: where its header is, its stream, its payload's bytes. No stream: there is none. */
  #openAt = 0;
  #openId = 0;
  #openLength = 0;
  /** Where `reserve()` gave room in the output; -1: in the stream's queue. */
  #reservedAt = -1;
  /** Streams that have something to send and are not held up by their own window. */
  readonly #waiting = new Set<Http2Stream>();
  /** Streams to be told that they can send more, in turn: their queue became empty, or they found the output full. */
  readonly #drained = new Set<Http2Stream>();

  /** A sender with an empty output. */
  constructor(limits: Http2Limits, owner: SenderOwner) {
    this.limits = limits;
    this.owner = owner;
  }

  /** Writes a frame's header, makes room for its payload, and returns where it begins. */
  frame(type: number, flags: number, id: number, length: number): number {
    const { output } = this;
    this.#announce();
    output.reserve(frameHeaderBytes + length);
    const { bytes, tail: at } = output;
    write32(bytes, at, (length << 8) | type);
    bytes[at + 4] = flags;
    write32(bytes, at + 5, id);
    output.tail = at + frameHeaderBytes + length;
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
    const whole = this.mustSayNoTable ? new Uint8Array([0x20, ...block]) : block;
    this.mustSayNoTable = false;
    let from = 0;
    do {
      const to = Math.min(whole.length, from + this.frameSizeMax);
      const type = from === 0 ? FrameType.headers : FrameType.continuation;
      const ends = (isEnd && from === 0 ? Flag.endStream : 0) |
        (to === whole.length ? Flag.endHeaders : 0);
      const at = this.frame(type, ends, id, to - from);
      copyBytes(this.output.bytes, at, whole, from, to);
      from = to;
    } while (from < whole.length);
  }

  /** Sends what may go now of a stream's queue, at most a turn's worth; returns how many bytes that were. */
  #send(stream: Http2Stream, { bytes, head, tail }: ByteQueue): number {
    const { output } = this;
    const to = Math.min(tail, head + turnBytes);
    let at = head;
    while (at < to) {
      const allowed = Math.min(stream.sendWindow, this.window);
      const room = Math.min(to - at, allowed, this.limits.outputMax - output.tail);
      if (room <= 0) break;
      if (room === allowed && room < tinyFragment && room < to - at) this.tinyFragments++;
      const count = Math.min(room, this.#roomInFrame(stream));
      this.#extend(stream, count);
      copyBytes(output.bytes, output.tail - count, bytes, at, at + count);
      at += count;
    }
    return at - head;
  }

  /** Whether more DATA of the stream makes the last frame longer. */
  #isOpen(stream: Http2Stream): boolean {
    return this.#openId === stream.id && this.#openLength < this.frameSizeMax;
  }

  #roomInFrame(stream: Http2Stream): number {
    return this.frameSizeMax - (this.#isOpen(stream) ? this.#openLength : 0);
  }

  /** Uses so many bytes at the end of the output for DATA, in the frame that is open or in a new one. */
  #extend(stream: Http2Stream, count: number): void {
    const { output } = this;
    if (this.#isOpen(stream)) {
      output.reserve(count);
      output.tail += count;
      this.#openLength += count;
      write32(output.bytes, this.#openAt, (this.#openLength << 8) | FrameType.data);
    } else {
      this.#openAt = this.frame(FrameType.data, 0, stream.id, count) - frameHeaderBytes;
      this.#openId = stream.id;
      this.#openLength = count;
    }
    stream.sendWindow -= count;
    this.window -= count;
  }

  /** Gives room for a message, in the output where it may go at once, else in the stream's queue. */
  reserve(stream: Http2Stream, countMax: number): number {
    const { output } = this;
    if (stream.buffered > 0 || output.tail + countMax > this.limits.outputMax) {
      const queue = stream.queue ??= new ByteQueue();
      queue.reserve(countMax);
      this.#reservedAt = -1;
      stream.target = queue.bytes;
      return queue.tail;
    }
    output.reserve(countMax + frameHeaderBytes);
    this.#reservedAt = output.tail + (this.#isOpen(stream) ? 0 : frameHeaderBytes);
    stream.target = output.bytes;
    return this.#reservedAt;
  }

  /** Sends the message that was written where `reserve()` said. */
  commit(stream: Http2Stream, count: number): void {
    const at = this.#reservedAt;
    if (at >= 0 && count <= Math.min(this.#roomInFrame(stream), stream.sendWindow, this.window)) {
      return this.#extend(stream, count);
    }
    const queue = stream.queue ??= new ByteQueue();
    // What needs several frames or a larger window goes by way of the queue.
    if (at >= 0) queue.push(stream.target, at, at + count);
    else queue.tail += count;
    this.#wait(stream);
  }

  /** Ends a stream's answer, after what waits. */
  end(stream: Http2Stream): void {
    if (stream.buffered > 0) return;
    const { endBlock } = stream;
    if (endBlock !== undefined && endBlock.length > 0) {
      this.headers(stream.id, endBlock, true);
    } else if (this.#openId === stream.id) {
      this.output.bytes[this.#openAt + 4] = Flag.endStream;
      this.#openId = 0;
    } else {
      this.frame(FrameType.data, Flag.endStream, stream.id, 0);
    }
    this.owner.onEnded(stream);
  }

  /** Lets a stream wait for its turn, if its own window allows any. */
  #wait(stream: Http2Stream): void {
    if (stream.sendWindow <= 0) return;
    this.#waiting.add(stream);
    this.#announce();
  }

  /** Says that there is output, where there was none. */
  #announce(): void {
    if (this.output.tail === 0) this.owner.onOutput();
  }

  /** Makes the window of the connection larger. */
  widenAll(more: number): void {
    this.window += more;
    if (this.#waiting.size > 0) this.#announce();
  }

  /** Makes the window of a stream larger, or smaller by a negative number. */
  widen(stream: Http2Stream, more: number): void {
    stream.sendWindow += more;
    if (stream.buffered > 0) this.#wait(stream);
  }

  /** Forgets a stream that is closed. */
  forget(stream: Http2Stream): void {
    this.#waiting.delete(stream);
    this.#drained.delete(stream);
    stream.queue = undefined;
  }

  /** Whether more of a stream would wait. If so, the stream is among the drained ones once that has changed. */
  isFull(stream: Http2Stream): boolean {
    if (stream.buffered > 0) return true;
    if (this.output.tail < fillMax) return false;
    this.#drained.add(stream);
    return true;
  }

  /** Takes the first of the streams to be told; none while the output is full. */
  takeDrained(): Http2Stream | undefined {
    if (this.output.tail >= fillMax) return undefined;
    const [stream] = this.#drained;
    if (stream !== undefined) this.#drained.delete(stream);
    return stream;
  }

  /** Fills the output with what waits in the streams, each in turn. Then takes it. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    let hasMoved = true;
    while (hasMoved && this.#waiting.size > 0) {
      hasMoved = false;
      for (const stream of [...this.#waiting]) {
        if (this.window <= 0 || this.output.tail >= this.limits.outputMax) break;
        if (this.#turn(stream)) hasMoved = true;
      }
    }
    this.#openId = 0;
    return this.output.take();
  }

  /** Sends a turn's worth of a stream; whether anything went. */
  #turn(stream: Http2Stream): boolean {
    const { queue } = stream;
    if (queue === undefined) return false;
    const sent = this.#send(stream, queue);
    queue.drop(sent);
    const isEmpty = queue.length === 0;
    if (isEmpty || stream.sendWindow <= 0) this.#waiting.delete(stream);
    if (isEmpty && stream.endBlock !== undefined) this.end(stream);
    else if (isEmpty) this.#drained.add(stream);
    return sent > 0;
  }

  /** The number of the invariant that is broken; 0 if all hold. */
  check(): number {
    if (this.window < 0 || this.window > windowMax) return 1;
    for (const stream of this.#waiting) {
      if (stream.isClosed || stream.buffered === 0) return 2;
    }
    const openEnd = this.#openAt + frameHeaderBytes + this.#openLength;
    return this.#openId !== 0 && openEnd !== this.output.tail ? 3 : 0;
  }
}
