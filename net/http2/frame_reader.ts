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

/** Bytes of the priority that HEADERS may begin with. Nothing of it is used. */
const priorityBytes = 5;

/** The header of a frame. */
export interface FrameHeader {
  /** Bytes of its payload. */
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  /** Its stream; 0 for the connection. */
  readonly id: number;
}

/** What a reader tells the connection. A header is valid during the call only. */
export interface FrameSink {
  /** Whether the connection has ended. Then nothing more is read. */
  readonly isClosed: boolean;
  /** The connection must end. */
  fail(code: number, why: string): void;
  /** A DATA frame begins. All of its length counts for flow control; `padding` of it are handed to nobody. */
  beginData(frame: FrameHeader, padding: number): void;
  /** A piece of the payload of the frame that began, which is DATA or of unknown type. */
  giveData(view: Uint8Array): void;
  /** That frame is complete. */
  endData(frame: FrameHeader): void;
  /** A whole block of headers of a stream: `bytes[from..to)`. `isEnd`: its request has no body after it. */
  takeHeaders(id: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): void;
  /** Any other frame, whose payload begins at `at`. That of a frame of unknown type follows in pieces. */
  takeFrame(frame: FrameHeader, bytes: Uint8Array, at: number): void;
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
  /** The header of the frame at hand. */
  readonly #frame = { length: 0, type: 0, flags: 0, id: 0 };
  /** Of a frame that is handed on in pieces: bytes of its payload to come, and how many of them are padding. */
  #left = 0;
  #padding = 0;
  /** A block of headers in progress: its stream (0: none), whether its request ends, the bytes so far, its CONTINUATION frames. */
  #blockId = 0;
  #blockIsEnd = false;
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
   * Reads the header of the frame at `from`, and returns how many bytes must be there before it is taken: those of its header, and of
   * most types the payload. While its header is not whole, only those. It fails where the header is wrong.
   */
  #sizeOf(bytes: Uint8Array, from: number, to: number): number {
    if (to - from < frameHeaderBytes) return frameHeaderBytes;
    const word = read32(bytes, from);
    const frame = this.#frame;
    const length = frame.length = word >>> 8;
    const type = frame.type = word & 255;
    const flags = frame.flags = bytes[from + 4] as number;
    const id = frame.id = read32(bytes, from + 5) & windowMax;
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

  /** Takes the frame at hand, of which as much is there as `#sizeOf()` says. */
  #take(bytes: Uint8Array, start: number): void {
    const sink = this.#sink;
    if (sink.isClosed) return;
    const { type, length } = this.#frame;
    const at = start + frameHeaderBytes;
    if (type === FrameType.data) this.#data(bytes, at);
    else if (type === FrameType.headers) this.#headers(bytes, at);
    else if (type === FrameType.continuation) this.#continuation(bytes, at);
    else {
      if (type > FrameType.continuation) this.#left = length;
      if (type === FrameType.settings) this.hasSettings = true;
      sink.takeFrame(this.#frame, bytes, at);
    }
  }

  /** The bytes that padding takes of a frame, with the one that says how many follow. It fails where they have no room. */
  #paddingOf(name: string, bytes: Uint8Array, at: number): number {
    const { length, flags } = this.#frame;
    if ((flags & Flag.padded) === 0) return 0;
    const padding = bytes[at] as number;
    if (length === 0) {
      this.#sink.fail(
        ErrorCode.frameSizeError,
        `${name} with padding, without the byte that says how much`,
      );
    } else if (padding >= length) {
      this.#sink.fail(
        ErrorCode.protocolError,
        `${name} of ${length} bytes with ${padding} bytes of padding, where ${
          length - 1
        } have room`,
      );
    }
    return 1 + padding;
  }

  #data(bytes: Uint8Array, at: number): void {
    const sink = this.#sink;
    const padding = this.#paddingOf("DATA", bytes, at);
    if (sink.isClosed) return;
    this.#left = this.#frame.length - Math.min(padding, 1);
    this.#padding = Math.max(padding - 1, 0);
    sink.beginData(this.#frame, padding);
    if (this.#left === 0 && !sink.isClosed) sink.endData(this.#frame);
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
    if (this.#left === 0 && !sink.isClosed) sink.endData(this.#frame);
    return at + count;
  }

  #headers(bytes: Uint8Array, at: number): void {
    const sink = this.#sink;
    const { id, length, flags } = this.#frame;
    if (id === 0) return sink.fail(ErrorCode.protocolError, "HEADERS on stream 0");
    const padding = this.#paddingOf("HEADERS", bytes, at);
    if (sink.isClosed) return;
    const to = at + length - Math.max(padding - 1, 0);
    const from = at + Math.min(padding, 1) + ((flags & Flag.priority) === 0 ? 0 : priorityBytes);
    if (from > to) {
      const words =
        `HEADERS of ${length} bytes without room for the ${priorityBytes} of a priority`;
      return sink.fail(ErrorCode.protocolError, words);
    }
    const isEnd = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return sink.takeHeaders(id, isEnd, bytes, from, to);
    this.#blockId = id;
    this.#blockIsEnd = isEnd;
    this.#blockFrames = 0;
    this.#block.push(bytes, from, to);
  }

  #continuation(bytes: Uint8Array, at: number): void {
    const sink = this.#sink;
    const id = this.#blockId;
    const block = this.#block;
    const { length, flags } = this.#frame;
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
    sink.takeHeaders(id, this.#blockIsEnd, block.bytes, block.head, block.tail);
  }
}
