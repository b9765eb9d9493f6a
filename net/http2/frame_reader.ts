/**
 * Cuts the bytes of a client into frames. They may come in any pieces.
 *
 * DATA is handed on piece by piece, without a copy. Other frames are handed on whole; an unfinished one is kept, at most
 * `headerBlockMax` bytes. HEADERS and their CONTINUATION are handed on as one block, without padding and priority.
 *
 * @module
 */
import type { Http2Limits } from "./limits.ts";
import {
  copyBytes,
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
  /** A DATA frame begins; its length counts for flow control, padding included. */
  beginData(length: number, flags: number, id: number): void;
  /** Bytes of the DATA frame's payload were padding. */
  skipData(count: number): void;
  /** A piece of the DATA frame's payload. */
  giveData(view: Uint8Array): void;
  /** The DATA frame is complete. */
  endData(): void;
  /** A frame of unknown type begins. */
  skipFrame(): void;
  /** A whole block of headers: `bytes[from..to)`. */
  takeHeaders(bytes: Uint8Array, from: number, to: number, flags: number, id: number): void;
  /** Any other frame, whose payload begins at `at`. */
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
  #hasSettings = false;
  /** An unfinished frame that is not DATA, with its header. */
  #carry: Uint8Array<ArrayBuffer> = new Uint8Array(64);
  #carried = 0;
  /** Of a frame in progress, DATA or of unknown type: bytes of its payload to come, and how many of them are padding. */
  #left = 0;
  #padding = 0;
  #padIsNext = false;
  #isData = false;
  /** A block of headers in progress: its stream (0: none), its flags, the bytes so far, its CONTINUATION frames. */
  #blockId = 0;
  #blockFlags = 0;
  #block: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #blockLength = 0;
  #blockFrames = 0;

  /** A reader at the beginning of a connection. */
  constructor(limits: Http2Limits, sink: FrameSink) {
    this.#limits = limits;
    this.#sink = sink;
  }

  /** Whether the preface and the first SETTINGS have come. */
  get hasSettings(): boolean {
    return this.#hasSettings;
  }

  /** Takes the next bytes. */
  read(bytes: Uint8Array): void {
    const sink = this.#sink;
    if (sink.isClosed) return;
    const end = bytes.length;
    let at = this.#prefaceAt < preface.length ? this.#readPreface(bytes) : 0;
    if (this.#carried > 0) at = this.#complete(bytes, at);
    while (at < end && !sink.isClosed) {
      if (this.#left > 0) {
        at = this.#continue(bytes, at, end);
        continue;
      }
      if (end - at < frameHeaderBytes) break;
      const needed = this.#begin(bytes, at);
      if (needed < 0) {
        at += frameHeaderBytes;
        continue;
      }
      if (end - at < frameHeaderBytes + needed) break;
      this.#whole(bytes, at, needed);
      at += frameHeaderBytes + needed;
    }
    if (at < end && !sink.isClosed) this.#keep(bytes, at, end);
  }

  #readPreface(bytes: Uint8Array): number {
    let at = 0;
    for (; at < bytes.length && this.#prefaceAt < preface.length; at++) {
      if (bytes[at] !== preface[this.#prefaceAt++]) {
        this.#sink.fail(ErrorCode.protocolError, "the preface of HTTP/2 is missing");
        break;
      }
    }
    return at;
  }

  /** Keeps the beginning of a frame until the rest comes. */
  #keep(bytes: Uint8Array, from: number, to: number): void {
    this.#carry = grow(this.#carry, this.#carried, this.#carried + to - from);
    copyBytes(this.#carry, this.#carried, bytes, from, to);
    this.#carried += to - from;
  }

  /** Completes the frame whose beginning was kept; returns where the bytes after it begin. */
  #complete(bytes: Uint8Array, from: number): number {
    let at = from;
    if (this.#carried < frameHeaderBytes) {
      const to = Math.min(bytes.length, at + frameHeaderBytes - this.#carried);
      this.#keep(bytes, at, to);
      at = to;
      if (this.#carried < frameHeaderBytes) return at;
    }
    const needed = this.#begin(this.#carry, 0);
    if (needed < 0) {
      this.#carried = 0;
      return at;
    }
    const to = Math.min(bytes.length, at + frameHeaderBytes + needed - this.#carried);
    this.#keep(bytes, at, to);
    if (this.#carried === frameHeaderBytes + needed) {
      this.#carried = 0;
      this.#whole(this.#carry, 0, needed);
    }
    return to;
  }

  /**
   * Looks at a frame's header. Returns the bytes of its payload if the frame must be whole to be read; then nothing has changed, so it may
   * be asked again. Returns -1 if the frame has begun, or the connection has ended.
   */
  #begin(bytes: Uint8Array, at: number): number {
    const word = read32(bytes, at);
    const length = word >>> 8;
    const type = word & 255;
    const flags = bytes[at + 4] as number;
    const id = read32(bytes, at + 5) & windowMax;
    if (length > this.#limits.frameSizeMax) {
      return this.#stop(ErrorCode.frameSizeError, `a frame of ${length} bytes`);
    }
    if (!this.#hasSettings && (type !== FrameType.settings || (flags & Flag.ack) !== 0)) {
      return this.#stop(ErrorCode.protocolError, "the first frame is not SETTINGS");
    }
    if (this.#blockId !== 0 && (type !== FrameType.continuation || id !== this.#blockId)) {
      return this.#stop(ErrorCode.protocolError, "a block of headers was interrupted");
    }
    if (type === FrameType.data) return this.#beginData(length, flags, id);
    if (type > FrameType.continuation) {
      this.#left = length;
      this.#padding = 0;
      this.#isData = false;
      this.#sink.skipFrame();
      return -1;
    }
    if (length > this.#limits.headerBlockMax) {
      return this.#stop(ErrorCode.enhanceYourCalm, `a frame of type ${type} of ${length} bytes`);
    }
    return length;
  }

  #stop(code: number, why: string): -1 {
    this.#sink.fail(code, why);
    return -1;
  }

  #beginData(length: number, flags: number, id: number): -1 {
    const isPadded = (flags & Flag.padded) !== 0;
    if (isPadded && length === 0) {
      return this.#stop(ErrorCode.frameSizeError, "padded DATA without its padding's length");
    }
    this.#left = length;
    this.#padding = 0;
    this.#padIsNext = isPadded;
    this.#isData = true;
    this.#sink.beginData(length, flags, id);
    if (length === 0 && !this.#sink.isClosed) this.#sink.endData();
    return -1;
  }

  /** Goes on with the payload of a frame; returns where it stopped. */
  #continue(bytes: Uint8Array, from: number, end: number): number {
    const sink = this.#sink;
    if (!this.#isData) {
      const skipped = Math.min(end - from, this.#left);
      this.#left -= skipped;
      return from + skipped;
    }
    let at = from;
    if (this.#padIsNext) {
      this.#padIsNext = false;
      this.#padding = bytes[at++] as number;
      this.#left--;
      if (this.#padding > this.#left) {
        sink.fail(ErrorCode.protocolError, "padding that is longer than its frame");
        return end;
      }
      sink.skipData(1 + this.#padding);
    }
    const count = Math.min(end - at, this.#left - this.#padding);
    if (count > 0) {
      this.#left -= count;
      sink.giveData(at === 0 && count === end ? bytes : bytes.subarray(at, at + count));
      at += count;
    }
    if (this.#left === this.#padding) {
      const padding = Math.min(end - at, this.#padding);
      this.#left -= padding;
      this.#padding -= padding;
      at += padding;
    }
    if (this.#left === 0 && !sink.isClosed) sink.endData();
    return at;
  }

  /** Hands on a whole frame. */
  #whole(bytes: Uint8Array, start: number, length: number): void {
    const type = bytes[start + 3] as number;
    const flags = bytes[start + 4] as number;
    const id = read32(bytes, start + 5) & windowMax;
    const at = start + frameHeaderBytes;
    if (type === FrameType.headers) this.#headers(bytes, at, length, flags, id);
    else if (type === FrameType.continuation) this.#continuation(bytes, at, length, flags);
    else {
      if (type === FrameType.settings) this.#hasSettings = true;
      this.#sink.takeFrame(type, bytes, at, length, flags, id);
    }
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
    this.#blockLength = 0;
    this.#blockFrames = 0;
    this.#addToBlock(bytes, from, to);
  }

  #addToBlock(bytes: Uint8Array, from: number, to: number): void {
    const length = this.#blockLength + to - from;
    if (length > this.#limits.headerBlockMax) {
      return this.#sink.fail(ErrorCode.enhanceYourCalm, "headers that are too large");
    }
    this.#block = grow(this.#block, this.#blockLength, length);
    copyBytes(this.#block, this.#blockLength, bytes, from, to);
    this.#blockLength = length;
  }

  #continuation(bytes: Uint8Array, at: number, length: number, flags: number): void {
    const id = this.#blockId;
    if (id === 0) return this.#sink.fail(ErrorCode.protocolError, "CONTINUATION without HEADERS");
    this.#addToBlock(bytes, at, at + length);
    if (++this.#blockFrames > this.#limits.continuationsMax) {
      this.#sink.fail(ErrorCode.enhanceYourCalm, "too many CONTINUATION frames");
    }
    if (this.#sink.isClosed || (flags & Flag.endHeaders) === 0) return;
    this.#blockId = 0;
    this.#sink.takeHeaders(this.#block, 0, this.#blockLength, this.#blockFlags, id);
    this.#block = new Uint8Array(0);
  }
}

/** A buffer of at least `needed` bytes, with the first `used` bytes of this one. */
function grow(
  buffer: Uint8Array<ArrayBuffer>,
  used: number,
  needed: number,
): Uint8Array<ArrayBuffer> {
  if (needed <= buffer.length) return buffer;
  const grown = new Uint8Array(Math.max(needed, 2 * buffer.length));
  copyBytes(grown, 0, buffer, 0, used);
  return grown;
}
