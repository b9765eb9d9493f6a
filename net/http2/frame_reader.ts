/**
 * Cuts the bytes of a client into frames. They may come in any pieces.
 *
 * DATA is handed on piece by piece, without a copy. Other frames are handed on whole; an unfinished one is kept, at most
 * `headerBlockMax` bytes. HEADERS and their CONTINUATION are handed on as one block, without padding and priority.
 *
 * @module
 */
import { ByteQueue } from "./buffers.ts";
import type { Http2Limits } from "./limits.ts";
import {
  ErrorCode,
  Flag,
  frameHeaderBytes,
  FrameType,
  preface,
  read32,
  windowMax,
} from "./protocol.ts";

/** What a reader tells the connection. */
export interface FrameSink {
  /** Whether the connection has ended. Then nothing more is read. */
  readonly isClosed: boolean;
  /** The connection must end. */
  fail(code: number, why: string): void;
  /** A DATA frame begins. All of `length` counts for flow control; `padding` of it are handed to nobody. */
  beginData(length: number, padding: number, flags: number, id: number): void;
  /** A piece of the payload of the frame that began, which is DATA or of unknown type. */
  giveData(view: Uint8Array): void;
  /** That frame is complete. */
  endData(): void;
  /** A whole block of headers: `bytes[from..to)`. */
  takeHeaders(bytes: Uint8Array, from: number, to: number, flags: number, id: number): void;
  /** Any other frame, whose payload begins at `at`. That of a frame of unknown type follows in pieces. */
  takeFrame(
    type: number,
    bytes: Uint8Array,
    at: number,
    length: number,
    flags: number,
    id: number,
  ): void;
}

/** Cuts bytes into frames. */
export class FrameReader {
  readonly #limits: Http2Limits;
  readonly #sink: FrameSink;
  #prefaceAt = 0;
  /** Whether the preface and the first SETTINGS have come. */
  hasSettings = false;
  /** The beginning of a frame that did not come in one piece. */
  readonly #carry = new ByteQueue();
  /** Of a frame that is handed on in pieces: bytes of its payload to come, and how many of them are padding. */
  #left = 0;
  #padding = 0;
  /** A block of headers in progress: its stream (0: none), its flags, the bytes so far, its CONTINUATION frames. */
  #blockId = 0;
  #blockFlags = 0;
  #block = new ByteQueue();
  #blockFrames = 0;

  /** A reader at the beginning of a connection. */
  constructor(limits: Http2Limits, sink: FrameSink) {
    this.#limits = limits;
    this.#sink = sink;
  }

  /** Takes the next bytes. */
  read(bytes: Uint8Array): void {
    const end = bytes.length;
    let at = 0;
    while (at < end && !this.#sink.isClosed) {
      if (this.#prefaceAt < preface.length) this.#readPreface(bytes[at++] as number);
      else if (this.#left > 0) at = this.#continue(bytes, at, end);
      else if (this.#carry.length > 0) at = this.#complete(bytes, at, end);
      else {
        const size = this.#sizeOf(bytes, at, end);
        if (end - at < size) return this.#carry.push(bytes, at, end);
        this.#take(bytes, at);
        at += size;
      }
    }
  }

  #readPreface(byte: number): void {
    if (byte === preface[this.#prefaceAt++]) return;
    this.#sink.fail(ErrorCode.protocolError, "the preface of HTTP/2 is missing");
  }

  /** Adds what the frame lacks whose beginning is kept; returns where the bytes after that begin. */
  #complete(bytes: Uint8Array, from: number, end: number): number {
    const carry = this.#carry;
    const sizeOf = (): number => this.#sizeOf(carry.bytes, carry.head, carry.tail);
    const to = Math.min(end, from + sizeOf() - carry.length);
    carry.push(bytes, from, to);
    if (carry.length === sizeOf()) {
      this.#take(carry.bytes, carry.head);
      carry.drop(carry.length);
    }
    return to;
  }

  /**
   * How many bytes must be there before the frame at `from` is taken: those of its header, and of most types the payload. While its header
   * is not whole, only those. It fails where the header is wrong.
   */
  #sizeOf(bytes: Uint8Array, from: number, to: number): number {
    if (to - from < frameHeaderBytes) return frameHeaderBytes;
    const word = read32(bytes, from);
    const length = word >>> 8;
    const type = word & 255;
    const flags = bytes[from + 4] as number;
    const id = read32(bytes, from + 5) & windowMax;
    const sink = this.#sink;
    if (length > this.#limits.frameSizeMax) {
      sink.fail(ErrorCode.frameSizeError, `a frame of ${length} bytes`);
    } else if (!this.hasSettings && (type !== FrameType.settings || (flags & Flag.ack) !== 0)) {
      sink.fail(ErrorCode.protocolError, "the first frame is not SETTINGS");
    } else if (this.#blockId !== 0 && (type !== FrameType.continuation || id !== this.#blockId)) {
      sink.fail(ErrorCode.protocolError, "a block of headers was interrupted");
    } else if (type === FrameType.data) {
      // With padding, its length too.
      return frameHeaderBytes + ((flags & Flag.padded) !== 0 && length > 0 ? 1 : 0);
    } else if (type <= FrameType.continuation) {
      if (length <= this.#limits.headerBlockMax) return frameHeaderBytes + length;
      sink.fail(ErrorCode.enhanceYourCalm, `a frame of type ${type} of ${length} bytes`);
    }
    return frameHeaderBytes;
  }

  /** Takes a frame of which as much is there as `#sizeOf()` says. */
  #take(bytes: Uint8Array, start: number): void {
    const sink = this.#sink;
    if (sink.isClosed) return;
    const word = read32(bytes, start);
    const length = word >>> 8;
    const type = word & 255;
    const flags = bytes[start + 4] as number;
    const id = read32(bytes, start + 5) & windowMax;
    const at = start + frameHeaderBytes;
    if (type === FrameType.data) this.#data(bytes, at, length, flags, id);
    else if (type === FrameType.headers) this.#headers(bytes, at, length, flags, id);
    else if (type === FrameType.continuation) this.#continuation(bytes, at, length, flags);
    else {
      if (type > FrameType.continuation) this.#left = length;
      if (type === FrameType.settings) this.hasSettings = true;
      sink.takeFrame(type, bytes, at, length, flags, id);
    }
  }

  #data(bytes: Uint8Array, at: number, length: number, flags: number, id: number): void {
    const sink = this.#sink;
    this.#left = length;
    if ((flags & Flag.padded) !== 0) {
      if (length === 0) return sink.fail(ErrorCode.frameSizeError, "DATA without its padding");
      this.#padding = bytes[at] as number;
      if (this.#padding > --this.#left) {
        return sink.fail(ErrorCode.protocolError, "padding that is longer than its frame");
      }
    }
    sink.beginData(length, length - this.#left + this.#padding, flags, id);
    if (this.#left === 0 && !sink.isClosed) sink.endData();
  }

  /** Goes on with the payload of a frame that is handed on in pieces; returns where it stopped. */
  #continue(bytes: Uint8Array, at: number, end: number): number {
    const sink = this.#sink;
    let count = Math.min(end - at, this.#left - this.#padding);
    if (count > 0) {
      sink.giveData(at === 0 && count === end ? bytes : bytes.subarray(at, at + count));
    } else {
      count = Math.min(end - at, this.#padding);
      this.#padding -= count;
    }
    this.#left -= count;
    if (this.#left === 0 && !sink.isClosed) sink.endData();
    return at + count;
  }

  #headers(bytes: Uint8Array, at: number, length: number, flags: number, id: number): void {
    const sink = this.#sink;
    if (id === 0) return sink.fail(ErrorCode.protocolError, "HEADERS on stream 0");
    let from = at;
    let to = at + length;
    if ((flags & Flag.padded) !== 0) {
      if (length < 1) return sink.fail(ErrorCode.frameSizeError, "HEADERS without their padding");
      to -= bytes[from++] as number;
    }
    if ((flags & Flag.priority) !== 0) from += 5;
    if (from > to) return sink.fail(ErrorCode.protocolError, "HEADERS shorter than their parts");
    if ((flags & Flag.endHeaders) !== 0) return sink.takeHeaders(bytes, from, to, flags, id);
    this.#blockId = id;
    this.#blockFlags = flags;
    this.#blockFrames = 0;
    this.#block.push(bytes, from, to);
  }

  #continuation(bytes: Uint8Array, at: number, length: number, flags: number): void {
    const sink = this.#sink;
    const id = this.#blockId;
    const block = this.#block;
    if (id === 0) return sink.fail(ErrorCode.protocolError, "CONTINUATION without HEADERS");
    if (block.length + length > this.#limits.headerBlockMax) {
      return sink.fail(ErrorCode.enhanceYourCalm, "headers that are too large");
    }
    if (++this.#blockFrames > this.#limits.continuationsMax) {
      return sink.fail(ErrorCode.enhanceYourCalm, "too many CONTINUATION frames");
    }
    block.push(bytes, at, at + length);
    if ((flags & Flag.endHeaders) === 0) return;
    this.#blockId = 0;
    this.#block = new ByteQueue();
    sink.takeHeaders(block.bytes, block.head, block.tail, this.#blockFlags, id);
  }
}
