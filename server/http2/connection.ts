/**
 * The server's side of an HTTP/2 connection (RFC 9113), without any input or output: bytes in by `receive()`, bytes out by
 * `takeOutput()`.
 *
 * One thread uses it. No call throws, whatever the bytes are. A fault of the peer ends its stream or its connection with the code that the
 * RFC asks for.
 *
 * DATA is handed on as it arrives, without a copy, also within a frame. All other frames are at most `headerBlockMax` bytes, so an
 * unfinished one takes no more memory than that. The window of the connection is given back as DATA arrives, that of a stream when its bytes
 * were consumed. So a stream that is held back never stops another one.
 *
 * Pushes, priorities and upgrades from HTTP/1.1 are not there: no gRPC client uses them.
 *
 * @module
 */
import type { HeaderList } from "./header_fields.ts";
import { encodeHeaders, HpackDecoder, HpackFault } from "./hpack.ts";
import { type Http2Limits, http2Limits, Rate } from "./limits.ts";
import {
  copyBytes,
  ErrorCode,
  Flag,
  frameHeaderBytes,
  frameSizeAtFirst,
  frameSizeLimit,
  FrameType,
  preface,
  read32,
  Setting,
  windowAtFirst,
  windowMax,
  write32,
} from "./protocol.ts";
import { Sender } from "./sender.ts";
import { Http2Stream, type StreamEvents, type StreamOwner } from "./stream.ts";

/** The options of a connection. */
export interface ConnectionOptions {
  /** Serves a new stream. Its headers are whole by then; its body may follow. */
  readonly onStream: (stream: Http2Stream) => StreamEvents;
  /** Limits that differ from `http2Limits`. */
  readonly limits?: Partial<Http2Limits>;
  /** Called when there is output that no `receive()` or `takeOutput()` in progress will lead to. */
  readonly onOutput?: () => void;
  /** Called with what a callback of `onStream` or of `StreamEvents` threw. Its stream is reset. */
  readonly onError?: (error: unknown) => void;
  /** Milliseconds that only rise. Default `performance.now`. */
  readonly now?: () => number;
}

/** How a stream was closed, for frames that come after that. */
const Closed = { unknown: 0, byBoth: 1, byPeersReset: 2, byOurReset: 3 } as const;

/** How many closed streams are remembered. */
const closedKept = 1024;

/** What the output may exceed `outputMax` by, in answers other than DATA. */
const outputSlack = 1 << 20;

/** The payload of the PING that separates the two GOAWAYs of `shutDown()`. */
const lastPing = new TextEncoder().encode("shutdown");

const tooLargeBlock = encodeHeaders([[":status", "431"]]);

/** A connection. */
export class ServerConnection implements StreamOwner {
  readonly #limits: Http2Limits;
  readonly #options: ConnectionOptions;
  readonly #now: () => number;
  readonly #decoder: HpackDecoder;
  readonly #sender: Sender;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #idleFrames: Rate;
  readonly #resets: Rate;
  readonly #openedAt: number;

  /** The largest stream that was opened; 0 before the first. */
  #lastId = 0;
  /** Streams above this are not served any more, after the second GOAWAY. */
  #lastServed = windowMax;
  #prefaceAt = 0;
  #hasSettings = false;
  /** An unfinished frame that is not DATA, with its header. */
  #carry: Uint8Array<ArrayBuffer> = new Uint8Array(64);
  #carried = 0;
  /** A DATA frame, or one of unknown type, in progress: bytes of its payload to come, of them padding; its stream and flags. */
  #left = 0;
  #padding = 0;
  #padIsNext = false;
  #dataId = 0;
  #dataFlags = 0;
  #dataStream: Http2Stream | undefined;
  /** A header block in progress: its stream, its flags, the bytes so far, its frames. */
  #blockId = 0;
  #blockFlags = 0;
  #block: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #blockLength = 0;
  #blockFrames = 0;
  /** Bytes of DATA since the window of the connection was last given back. */
  #unreturned = 0;
  /** How many calls are in progress that lead to `takeOutput()`. */
  #depth = 0;
  #isAnnounced = false;
  #isClosed = false;
  #isShuttingDown = false;
  #closedWith: number = ErrorCode.noError;
  readonly #closedIds = new Uint32Array(closedKept);
  readonly #closedHow = new Uint8Array(closedKept);

  /** A connection that has just begun: its SETTINGS are in the output. */
  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#limits = { ...http2Limits, ...options.limits };
    const { headerListMax, idleFramesBurst, resetsBurst, connectionWindow } = this.#limits;
    this.#now = options.now ?? (() => performance.now());
    this.#openedAt = this.#now();
    this.#decoder = new HpackDecoder(headerListMax);
    this.#sender = new Sender(this.#limits, (stream) => this.#sentEnd(stream));
    this.#idleFrames = new Rate(idleFramesBurst, this.#limits.idleFramesPerSecond, this.#now);
    this.#resets = new Rate(resetsBurst, this.#limits.resetsPerSecond, this.#now);
    const settings = [
      [Setting.maxConcurrentStreams, this.#limits.streamsMax],
      [Setting.initialWindowSize, this.#limits.streamWindow],
      [Setting.maxFrameSize, this.#limits.frameSizeMax],
      [Setting.maxHeaderListSize, headerListMax],
    ] as const;
    let at = this.#sender.frame(FrameType.settings, 0, 0, 6 * settings.length);
    for (const [name, value] of settings) {
      this.#sender.output.bytes[at + 1] = name;
      write32(this.#sender.output.bytes, at + 2, value);
      at += 6;
    }
    const more = connectionWindow - windowAtFirst;
    if (more > 0) this.#sender.frameOf32(FrameType.windowUpdate, 0, more);
  }

  /** Whether the connection is over: nothing more is read. There may be a last output. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The code of the GOAWAY that ended the connection; 0 if it ended well or has not ended. */
  get closedWith(): number {
    return this.#closedWith;
  }

  /** Streams that are open. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /** Whether so much waits for the socket that nothing should be received before it was taken. */
  get isCongested(): boolean {
    return this.#sender.output.length >= this.#limits.outputMax;
  }

  /** The number of the sender's invariant that is broken; 0 if all hold. */
  check(): number {
    return this.#sender.check();
  }

  /** Takes bytes that came from the peer. They may be cut anywhere. */
  receive(bytes: Uint8Array): void {
    this.#depth++;
    this.#receive(bytes);
    this.#depth--;
  }

  /** What is to be sent: all frames so far as one piece. It stays valid until the next call. */
  takeOutput(): Uint8Array<ArrayBuffer> | undefined {
    this.#depth++;
    this.#isAnnounced = false;
    const output = this.#sender.take();
    if (this.#sender.tinyFragments > 0) this.#countTinyFragments();
    const { drained } = this.#sender;
    if (drained.length > 0) {
      for (const stream of drained.splice(0)) {
        if (!stream.isClosed) this.#tell(stream, () => stream.events.onDrain());
      }
    }
    this.#depth--;
    return output;
  }

  /** Whether `takeOutput()` would give anything. */
  get hasOutput(): boolean {
    return this.#sender.hasOutput;
  }

  /**
   * Ends the connection gracefully: the client is told by GOAWAY, new streams are served until it knows, and open ones are finished. Then
   * `isClosed` is true.
   */
  shutDown(): void {
    if (this.#isClosed || this.#isShuttingDown) return;
    this.#depth++;
    this.#isShuttingDown = true;
    this.#goAway(windowMax, ErrorCode.noError, "");
    const at = this.#sender.frame(FrameType.ping, 0, 0, 8);
    this.#sender.output.bytes.set(lastPing, at);
    this.#depth--;
    this.#announce();
  }

  /** Ends the connection now, for example because the socket has ended. Streams that are open are told so by `onReset`. */
  close(code: number = ErrorCode.noError, why = ""): void {
    if (this.#isClosed) return;
    this.#depth++;
    this.#fail(code, why);
    this.#depth--;
    this.#announce();
  }

  /** To be called every few seconds: ends what takes too long. */
  tick(): void {
    if (this.#isClosed) return;
    this.#depth++;
    const now = this.#now();
    if (!this.#hasSettings && now - this.#openedAt > this.#limits.handshakeMs) {
      this.#fail(ErrorCode.settingsTimeout, "no SETTINGS came in time");
    }
    for (const stream of this.#streams.values()) {
      const isHeld = stream.buffered > 0 && Math.min(stream.sendWindow, this.#sender.window) <= 0;
      if (!isHeld) stream.stalledAt = 0;
      else if (stream.stalledAt === 0) stream.stalledAt = now;
      else if (now - stream.stalledAt > this.#limits.stallMs) {
        this.#endStream(stream, ErrorCode.cancel);
      }
    }
    this.#depth--;
    this.#announce();
  }

  // What streams ask for.

  /** @inheritDoc */
  sendHeaders(stream: Http2Stream, block: Uint8Array, isEnd: boolean): void {
    stream.isAnswered = true;
    this.#sender.headers(stream.id, block, isEnd);
    if (isEnd) this.#sentEnd(stream);
    this.#announce();
  }

  /** @inheritDoc */
  sendData(stream: Http2Stream, bytes: Uint8Array): void {
    this.#sender.write(stream, bytes);
    this.#announce();
  }

  /** @inheritDoc */
  reserveData(stream: Http2Stream, countMax: number): number {
    return this.#sender.reserve(stream, countMax);
  }

  /** @inheritDoc */
  commitData(stream: Http2Stream, count: number): void {
    this.#sender.commit(stream, count);
    this.#announce();
  }

  /** @inheritDoc */
  sendEnd(stream: Http2Stream): void {
    this.#sender.end(stream);
    this.#announce();
  }

  /** @inheritDoc */
  resetStream(stream: Http2Stream, code: number): void {
    this.#sender.frameOf32(FrameType.rstStream, stream.id, code);
    this.#forget(stream, Closed.byOurReset);
    this.#announce();
  }

  /** @inheritDoc */
  giveBack(stream: Http2Stream, count: number): void {
    stream.unreturned += count;
    if (2 * stream.unreturned < this.#limits.streamWindow) return;
    this.#sender.frameOf32(FrameType.windowUpdate, stream.id, stream.unreturned);
    stream.receiveWindow += stream.unreturned;
    stream.unreturned = 0;
    this.#announce();
  }

  // Output.

  #announce(): void {
    if (this.#depth > 0 || this.#isAnnounced || !this.#sender.hasOutput) return;
    this.#isAnnounced = true;
    this.#options.onOutput?.();
  }

  #goAway(lastId: number, code: number, why: string): void {
    const at = this.#sender.frame(FrameType.goAway, 0, 0, 8 + why.length);
    const { bytes } = this.#sender.output;
    write32(bytes, at, lastId);
    write32(bytes, at + 4, code);
    for (let k = 0; k < why.length; k++) bytes[at + 8 + k] = why.charCodeAt(k);
  }

  /** Ends the connection with a GOAWAY. */
  #fail(code: number, why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closedWith = code;
    this.#goAway(this.#lastId, code, why);
    for (const stream of [...this.#streams.values()]) {
      const told = code === ErrorCode.noError ? ErrorCode.cancel : code;
      this.#forget(stream, Closed.byOurReset);
      this.#tell(stream, () => stream.events.onReset(told));
    }
  }

  /** Ends a stream by RST_STREAM, and tells who serves it. */
  #endStream(stream: Http2Stream, code: number): void {
    if (stream.isClosed) return;
    this.#sender.frameOf32(FrameType.rstStream, stream.id, code);
    this.#forget(stream, Closed.byOurReset);
    this.#tell(stream, () => stream.events.onReset(code));
  }

  /** As `#endStream`, for a fault of the peer: so many of them are an attack. */
  #refuse(stream: Http2Stream, code: number): void {
    this.#endStream(stream, code);
    this.#countReset();
  }

  #countReset(): void {
    if (!this.#resets.take()) this.#fail(ErrorCode.enhanceYourCalm, "too many streams were reset");
  }

  /** Counts a frame that carries nothing; false if the connection ended by it. */
  #countIdle(): boolean {
    if (this.#idleFrames.take()) return true;
    this.#fail(ErrorCode.enhanceYourCalm, "too many frames that carry nothing");
    return false;
  }

  #countTinyFragments(): void {
    for (; this.#sender.tinyFragments > 0; this.#sender.tinyFragments--) {
      if (!this.#countIdle()) break;
    }
    this.#sender.tinyFragments = 0;
  }

  #forget(stream: Http2Stream, how: number): void {
    stream.isClosed = true;
    this.#streams.delete(stream.id);
    this.#sender.forget(stream);
    this.#remember(stream.id, how);
    if (this.#streams.size === 0 && this.#lastServed < windowMax) this.#isClosed = true;
  }

  #remember(id: number, how: number): void {
    const place = (id >>> 1) % closedKept;
    this.#closedIds[place] = id;
    this.#closedHow[place] = how;
  }

  #howClosed(id: number): number {
    const place = (id >>> 1) % closedKept;
    return this.#closedIds[place] === id ? this.#closedHow[place] as number : Closed.unknown;
  }

  /** The answer of a stream is complete. Where the request is not, the client need not go on with it. */
  #sentEnd(stream: Http2Stream): void {
    stream.localIsClosed = true;
    if (stream.remoteIsClosed) {
      this.#forget(stream, Closed.byBoth);
    } else {
      this.#sender.frameOf32(FrameType.rstStream, stream.id, ErrorCode.noError);
      this.#forget(stream, Closed.byOurReset);
    }
  }

  /** Calls who serves a stream; what that throws ends the stream. */
  #tell(stream: Http2Stream, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#broke(stream, error);
    }
  }

  #broke(stream: Http2Stream, error: unknown): void {
    this.#options.onError?.(error);
    if (!stream.isClosed) this.resetStream(stream, ErrorCode.internalError);
  }

  // Input.

  #receive(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const end = bytes.length;
    let at = this.#prefaceAt < preface.length ? this.#readPreface(bytes) : 0;
    if (this.#carried > 0) at = this.#complete(bytes, at);
    while (at < end && !this.#isClosed) {
      if (this.#left > 0) {
        at = this.#continueData(bytes, at, end);
        continue;
      }
      if (end - at < frameHeaderBytes) break;
      const needed = this.#begin(bytes, at);
      if (needed < 0) {
        at += frameHeaderBytes;
        continue;
      }
      if (end - at < frameHeaderBytes + needed) break;
      this.#frame(bytes, at, needed);
      at += frameHeaderBytes + needed;
    }
    if (at < end && !this.#isClosed) this.#keep(bytes, at, end);
  }

  #readPreface(bytes: Uint8Array): number {
    let at = 0;
    for (; at < bytes.length && this.#prefaceAt < preface.length; at++) {
      if (bytes[at] !== preface[this.#prefaceAt++]) {
        this.#fail(ErrorCode.protocolError, "the preface of HTTP/2 is missing");
        break;
      }
    }
    return at;
  }

  /** Keeps the beginning of a frame until the rest comes. */
  #keep(bytes: Uint8Array, from: number, to: number): void {
    const needed = this.#carried + to - from;
    if (needed > this.#carry.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#carry.length));
      copyBytes(grown, 0, this.#carry, 0, this.#carried);
      this.#carry = grown;
    }
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
    // `#begin` may be asked twice for such a frame, so it changes nothing for one that must be whole.
    const needed = this.#begin(this.#carry, 0);
    if (needed < 0) {
      this.#carried = 0;
      return at;
    }
    const to = Math.min(bytes.length, at + frameHeaderBytes + needed - this.#carried);
    this.#keep(bytes, at, to);
    if (this.#carried === frameHeaderBytes + needed && !this.#isClosed) {
      this.#carried = 0;
      this.#frame(this.#carry, 0, needed);
    }
    return to;
  }

  /**
   * Looks at the header of a frame. Returns the bytes of its payload, if the frame must be whole to be read; -1 if it has begun, or the
   * connection has ended.
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
      if (this.#countIdle()) this.#left = length;
      this.#dataStream = undefined;
      this.#dataFlags = 0;
      this.#padIsNext = false;
      this.#padding = 0;
      return -1;
    }
    if (length > this.#limits.headerBlockMax) {
      return this.#stop(ErrorCode.enhanceYourCalm, `a frame of type ${type} of ${length} bytes`);
    }
    return length;
  }

  #stop(code: number, why: string): -1 {
    this.#fail(code, why);
    return -1;
  }

  #beginData(length: number, flags: number, id: number): -1 {
    if (id === 0) return this.#stop(ErrorCode.protocolError, "DATA on stream 0");
    const stream = this.#streams.get(id);
    if (this.#unreturned + length > this.#limits.connectionWindow) {
      return this.#stop(ErrorCode.flowControlError, "DATA beyond the connection's window");
    }
    this.#returnWindow(length);
    this.#left = length;
    this.#dataId = id;
    this.#dataFlags = flags;
    this.#dataStream = stream;
    this.#padding = 0;
    this.#padIsNext = (flags & Flag.padded) !== 0;
    if (this.#padIsNext && length === 0) {
      return this.#stop(ErrorCode.frameSizeError, "padded DATA without its padding's length");
    }
    if (stream === undefined || stream.remoteIsClosed) {
      this.#dataStream = undefined;
      if (!this.#lateData(id, stream)) return -1;
    } else if (length > stream.receiveWindow) {
      this.#dataStream = undefined;
      this.#refuse(stream, ErrorCode.flowControlError);
    } else {
      stream.receiveWindow -= length;
    }
    if (length === 0) {
      if ((flags & Flag.endStream) === 0 && !this.#countIdle()) return -1;
      this.#endData();
    }
    return -1;
  }

  /** DATA of a stream whose request is complete, or that is not open; false if the connection ended by it. */
  #lateData(id: number, stream: Http2Stream | undefined): boolean {
    if (stream !== undefined) {
      this.#refuse(stream, ErrorCode.streamClosed);
      return !this.#isClosed;
    }
    if (id > this.#lastServed) return this.#countIdle();
    if (id > this.#lastId || (id & 1) === 0) {
      this.#fail(ErrorCode.protocolError, `DATA on stream ${id}, which is not open`);
      return false;
    }
    const how = this.#howClosed(id);
    if (how === Closed.byOurReset) return true; // it was on its way
    if (how === Closed.byBoth) {
      this.#fail(ErrorCode.streamClosed, `DATA on stream ${id}, which has ended`);
      return false;
    }
    this.#sender.frameOf32(FrameType.rstStream, id, ErrorCode.streamClosed);
    this.#remember(id, Closed.byOurReset);
    return this.#countIdle();
  }

  /** Gives the connection's window back, in steps of half of it. */
  #returnWindow(length: number): void {
    this.#unreturned += length;
    if (2 * this.#unreturned < this.#limits.connectionWindow) return;
    this.#sender.frameOf32(FrameType.windowUpdate, 0, this.#unreturned);
    this.#unreturned = 0;
  }

  /** Goes on with the payload of a DATA frame; returns where it stopped. */
  #continueData(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    const stream = this.#dataStream;
    if (this.#padIsNext) {
      this.#padIsNext = false;
      this.#padding = bytes[at++] as number;
      this.#left--;
      if (this.#padding > this.#left) {
        this.#fail(ErrorCode.protocolError, "padding that is longer than its frame");
        return end;
      }
      if (stream !== undefined) stream.consumed(1 + this.#padding);
    }
    const count = Math.min(end - at, this.#left - this.#padding);
    if (count > 0) {
      this.#left -= count;
      if (stream !== undefined && !stream.isClosed) {
        this.#giveData(stream, at === 0 && count === end ? bytes : bytes.subarray(at, at + count));
      }
      at += count;
    }
    if (this.#left === this.#padding) {
      const padding = Math.min(end - at, this.#padding);
      this.#left -= padding;
      this.#padding -= padding;
      at += padding;
    }
    if (this.#left === 0 && !this.#isClosed) this.#endData();
    return at;
  }

  #giveData(stream: Http2Stream, view: Uint8Array): void {
    stream.received += view.length;
    const { contentLength } = stream.request;
    if (contentLength >= 0 && stream.received > contentLength) {
      this.#refuse(stream, ErrorCode.protocolError);
      return;
    }
    try {
      stream.events.onData(view);
    } catch (error) {
      this.#broke(stream, error);
    }
  }

  /** A DATA frame is complete. */
  #endData(): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (stream !== undefined && (this.#dataFlags & Flag.endStream) !== 0) this.#endRequest(stream);
  }

  #endRequest(stream: Http2Stream): void {
    if (stream.isClosed) return;
    stream.remoteIsClosed = true;
    const { contentLength } = stream.request;
    if (contentLength >= 0 && stream.received !== contentLength) {
      this.#refuse(stream, ErrorCode.protocolError);
      return;
    }
    try {
      stream.events.onEnd();
    } catch (error) {
      this.#broke(stream, error);
    }
  }

  /** Handles a whole frame that is not DATA. */
  #frame(bytes: Uint8Array, start: number, length: number): void {
    const type = bytes[start + 3] as number;
    const flags = bytes[start + 4] as number;
    const id = read32(bytes, start + 5) & windowMax;
    const at = start + frameHeaderBytes;
    switch (type) {
      case FrameType.headers:
        return this.#onHeaders(bytes, at, length, flags, id);
      case FrameType.windowUpdate:
        return this.#onWindowUpdate(bytes, at, length, id);
      case FrameType.rstStream:
        return this.#onReset(length, id, length === 4 ? read32(bytes, at) : 0);
      case FrameType.ping:
        return this.#onPing(bytes, at, length, flags, id);
      case FrameType.settings:
        return this.#onSettings(bytes, at, length, flags, id);
      case FrameType.continuation:
        return this.#onContinuation(bytes, at, length, flags);
      case FrameType.priority:
        return this.#onPriority(length, id);
      case FrameType.goAway:
        if (id !== 0) return this.#fail(ErrorCode.protocolError, "GOAWAY on a stream");
        if (length < 8) return this.#fail(ErrorCode.frameSizeError, "a GOAWAY that is too short");
        this.#countIdle();
        return;
      default:
        return this.#fail(ErrorCode.protocolError, "a client can't push");
    }
  }

  #onPriority(length: number, id: number): void {
    if (id === 0) return this.#fail(ErrorCode.protocolError, "PRIORITY on stream 0");
    if (length !== 5) {
      const stream = this.#streams.get(id);
      if (stream === undefined) return this.#fail(ErrorCode.frameSizeError, "a wrong PRIORITY");
      return this.#refuse(stream, ErrorCode.frameSizeError);
    }
    this.#countIdle();
  }

  #onPing(bytes: Uint8Array, at: number, length: number, flags: number, id: number): void {
    if (id !== 0) return this.#fail(ErrorCode.protocolError, "PING on a stream");
    if (length !== 8) return this.#fail(ErrorCode.frameSizeError, "a PING that has not 8 bytes");
    if (!this.#countIdle()) return;
    if ((flags & Flag.ack) === 0) {
      const target = this.#sender.frame(FrameType.ping, Flag.ack, 0, 8);
      copyBytes(this.#sender.output.bytes, target, bytes, at, at + 8);
      this.#checkOutput();
    } else if (this.#isShuttingDown && this.#lastServed === windowMax) {
      if (lastPing.every((byte, k) => bytes[at + k] === byte)) this.#serveNoMore();
    }
  }

  /** The client knows by now that it must not open streams: says which the last one was. */
  #serveNoMore(): void {
    this.#lastServed = this.#lastId;
    this.#goAway(this.#lastId, ErrorCode.noError, "");
    if (this.#streams.size === 0) this.#isClosed = true;
  }

  /** A client that sends much that must be answered, and never reads. */
  #checkOutput(): void {
    if (this.#sender.output.length <= this.#limits.outputMax + outputSlack) return;
    this.#fail(ErrorCode.enhanceYourCalm, "too much waits to be read");
  }

  #onSettings(bytes: Uint8Array, from: number, length: number, flags: number, id: number): void {
    if (id !== 0) return this.#fail(ErrorCode.protocolError, "SETTINGS on a stream");
    if ((flags & Flag.ack) !== 0) {
      if (length !== 0) return this.#fail(ErrorCode.frameSizeError, "an ACK that has settings");
      this.#countIdle();
      return;
    }
    if (length % 6 !== 0) return this.#fail(ErrorCode.frameSizeError, "a part of a setting");
    this.#hasSettings = true;
    if (!this.#countIdle()) return;
    for (let at = from; at < from + length && !this.#isClosed; at += 6) {
      this.#set(((bytes[at] as number) << 8) | (bytes[at + 1] as number), read32(bytes, at + 2));
    }
    if (this.#isClosed) return;
    this.#sender.frame(FrameType.settings, Flag.ack, 0, 0);
    this.#checkOutput();
  }

  #set(name: number, value: number): void {
    switch (name) {
      case Setting.headerTableSize:
        if (value < 4096) this.#sender.mustSayNoTable = true;
        return;
      case Setting.enablePush:
        if (value > 1) this.#fail(ErrorCode.protocolError, `ENABLE_PUSH of ${value}`);
        return;
      case Setting.initialWindowSize:
        if (value > windowMax) {
          return this.#fail(ErrorCode.flowControlError, `a window of ${value} bytes`);
        }
        return this.#setWindows(value);
      case Setting.maxFrameSize:
        if (value < frameSizeAtFirst || value > frameSizeLimit) {
          return this.#fail(ErrorCode.protocolError, `MAX_FRAME_SIZE of ${value}`);
        }
        this.#sender.frameSizeMax = value;
        return;
    }
  }

  /** Changes the windows of all open streams by the difference; they may become negative. */
  #setWindows(value: number): void {
    const more = value - this.#sender.windowOfStreams;
    this.#sender.windowOfStreams = value;
    for (const stream of this.#streams.values()) {
      if (stream.sendWindow + more > windowMax) {
        return this.#fail(ErrorCode.flowControlError, "a stream's window above 2^31 - 1");
      }
      this.#widen(stream, more);
    }
  }

  #widen(stream: Http2Stream, more: number): void {
    stream.sendWindow += more;
    if (more > 0) stream.stalledAt = 0;
    if (stream.buffered > 0) this.#sender.wait(stream);
  }

  #onWindowUpdate(bytes: Uint8Array, at: number, length: number, id: number): void {
    if (length !== 4) return this.#fail(ErrorCode.frameSizeError, "a wrong WINDOW_UPDATE");
    const more = read32(bytes, at) & windowMax;
    if (id === 0) {
      if (more === 0) return this.#fail(ErrorCode.protocolError, "WINDOW_UPDATE of 0");
      if (this.#sender.window + more > windowMax) {
        return this.#fail(ErrorCode.flowControlError, "the connection's window above 2^31 - 1");
      }
      this.#sender.window += more;
      return;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (id > this.#lastId) this.#fail(ErrorCode.protocolError, "WINDOW_UPDATE before HEADERS");
      return;
    }
    if (more === 0) return this.#refuse(stream, ErrorCode.protocolError);
    if (stream.sendWindow + more > windowMax) {
      return this.#refuse(stream, ErrorCode.flowControlError);
    }
    this.#widen(stream, more);
  }

  #onReset(length: number, id: number, code: number): void {
    if (id === 0) return this.#fail(ErrorCode.protocolError, "RST_STREAM on stream 0");
    if (length !== 4) return this.#fail(ErrorCode.frameSizeError, "a wrong RST_STREAM");
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (id > this.#lastId && id <= this.#lastServed) {
        return this.#fail(ErrorCode.protocolError, "RST_STREAM before HEADERS");
      }
      this.#countIdle();
      return;
    }
    const { isAnswered } = stream;
    this.#forget(stream, Closed.byPeersReset);
    this.#tell(stream, () => stream.events.onReset(code));
    if (!isAnswered) this.#countReset();
  }

  // Headers.

  #onHeaders(bytes: Uint8Array, at: number, length: number, flags: number, id: number): void {
    if (id === 0) return this.#fail(ErrorCode.protocolError, "HEADERS on stream 0");
    let from = at;
    let to = at + length;
    if ((flags & Flag.padded) !== 0) {
      if (length < 1) return this.#fail(ErrorCode.frameSizeError, "HEADERS without their padding");
      to -= bytes[from++] as number;
    }
    if ((flags & Flag.priority) !== 0) from += 5;
    if (from > to) return this.#fail(ErrorCode.protocolError, "HEADERS shorter than their parts");
    if ((flags & Flag.endHeaders) !== 0) return this.#onBlock(bytes, from, to, flags, id);
    this.#blockId = id;
    this.#blockFlags = flags;
    this.#blockLength = 0;
    this.#blockFrames = 0;
    this.#growBlock(bytes, from, to);
  }

  #growBlock(bytes: Uint8Array, from: number, to: number): void {
    const needed = this.#blockLength + to - from;
    if (needed > this.#limits.headerBlockMax) {
      return this.#fail(ErrorCode.enhanceYourCalm, "headers that are too large");
    }
    if (needed > this.#block.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#block.length));
      copyBytes(grown, 0, this.#block, 0, this.#blockLength);
      this.#block = grown;
    }
    copyBytes(this.#block, this.#blockLength, bytes, from, to);
    this.#blockLength = needed;
  }

  #onContinuation(bytes: Uint8Array, at: number, length: number, flags: number): void {
    const id = this.#blockId;
    if (id === 0) return this.#fail(ErrorCode.protocolError, "CONTINUATION without HEADERS");
    this.#growBlock(bytes, at, at + length);
    if (++this.#blockFrames > this.#limits.continuationsMax) {
      this.#fail(ErrorCode.enhanceYourCalm, "too many CONTINUATION frames");
    }
    if (this.#isClosed || (flags & Flag.endHeaders) === 0) return;
    this.#blockId = 0;
    this.#onBlock(this.#block, 0, this.#blockLength, this.#blockFlags, id);
    this.#block = new Uint8Array(0);
  }

  /** A whole block of headers. It is decoded in any case, so that the tables of both sides stay the same. */
  #onBlock(bytes: Uint8Array, from: number, to: number, flags: number, id: number): void {
    const list = this.#decoder.decode(bytes, from, to);
    if (list instanceof HpackFault) return this.#fail(ErrorCode.compressionError, list.text);
    const isEnd = (flags & Flag.endStream) !== 0;
    const stream = this.#streams.get(id);
    if (stream !== undefined) return this.#onTrailers(stream, list, isEnd);
    if (id > this.#lastServed) return void this.#countIdle();
    if ((id & 1) === 0) return this.#fail(ErrorCode.protocolError, "a client's stream is odd");
    if (id > this.#lastId) return this.#open(id, list, isEnd);
    const how = this.#howClosed(id);
    if (how === Closed.byOurReset) return void this.#countIdle();
    const code = how === Closed.unknown ? ErrorCode.protocolError : ErrorCode.streamClosed;
    this.#fail(code, `HEADERS on stream ${id}, which is not open`);
  }

  #onTrailers(stream: Http2Stream, list: HeaderList, isEnd: boolean): void {
    if (stream.remoteIsClosed) return this.#refuse(stream, ErrorCode.streamClosed);
    if (!isEnd || list.trailerFault !== "") return this.#refuse(stream, ErrorCode.protocolError);
    this.#endRequest(stream);
  }

  #open(id: number, list: HeaderList, isEnd: boolean): void {
    this.#lastId = id;
    const { streamsMax, streamWindow } = this.#limits;
    const stream = new Http2Stream(this, id, list, this.#sender.windowOfStreams, streamWindow);
    this.#streams.set(id, stream);
    if (this.#streams.size > streamsMax) {
      this.#endStream(stream, ErrorCode.refusedStream);
      return void this.#countIdle();
    }
    if (list.requestFault !== "") return this.#refuse(stream, ErrorCode.protocolError);
    stream.remoteIsClosed = isEnd && list.contentLength <= 0;
    if (isEnd && !stream.remoteIsClosed) return this.#refuse(stream, ErrorCode.protocolError);
    if (list.isTooLarge) return stream.respond(tooLargeBlock, true);
    try {
      stream.events = this.#options.onStream(stream);
      if (isEnd && !stream.isClosed) stream.events.onEnd();
    } catch (error) {
      this.#broke(stream, error);
    }
    this.#checkOutput();
  }
}
