/**
 * The server's side of an HTTP/2 connection (RFC 9113), without any input or output: bytes in by `receive()`, bytes out by
 * `takeOutput()`.
 *
 * One thread uses it. No call throws, whatever the bytes are. A fault of the peer ends its stream or its connection with the code that the
 * RFC asks for.
 *
 * DATA is handed on as it arrives, without a copy, also within a frame (`frame_reader.ts`). The window of the connection is given back as
 * DATA arrives, that of a stream when its bytes were consumed. So a stream that is held back never stops another one.
 *
 * Pushes, priorities and upgrades from HTTP/1.1 are not there: no gRPC client uses them.
 *
 * Cutting (`frame_reader.ts`), sending (`stream.ts`) and SETTINGS (`settings.ts`) stand elsewhere.
 *
 * @module
 */
import { Closed, ClosedStreams } from "./closed_streams.ts";
import { type FrameHeader, FrameReader, type FrameSink } from "./frame_reader.ts";
import type { HeaderList } from "./header_fields.ts";
import { encodeHeaders, HpackDecoder, HpackFault } from "./hpack.ts";
import { type Http2Limits, http2Limits, Rate } from "./limits.ts";
import { copyBytes, ErrorCode, Flag, FrameType, read32, windowMax, write32 } from "./protocol.ts";
import { applySettings, settingBytes, writeSettings } from "./settings.ts";
import { Http2Stream, Sender, type StreamEvents } from "./stream.ts";

/** The options of a connection. */
export interface ConnectionOptions {
  /** Serves a new stream. Its headers are whole by then; its body may follow. Undefined: nobody wants to hear more of it. */
  readonly onStream: (stream: Http2Stream) => StreamEvents | undefined;
  /** Limits that differ from `http2Limits`. */
  readonly limits?: Partial<Http2Limits>;
  /** Called when there is output where there was none. */
  readonly onOutput?: () => void;
  /** Called with what a callback of `onStream` or of `StreamEvents` threw. Its stream is reset. */
  readonly onError?: (error: unknown) => void;
  /** Milliseconds that only rise. Default `performance.now`. */
  readonly now?: () => number;
}

/** What the output may exceed `outputMax` by, in answers other than DATA. */
const outputSlack = 1 << 20;

/** The payload of the PING that asks whether a silent client is there. */
const keepalivePing = new TextEncoder().encode("are you?");

/** The payload of the PING that separates the two GOAWAYs of `shutDown()`. */
const lastPing = new TextEncoder().encode("shutdown");

const tooLargeBlock = encodeHeaders([[":status", "431"]]);

/** A connection. */
export class ServerConnection implements FrameSink {
  readonly #limits: Http2Limits;
  readonly #options: ConnectionOptions;
  readonly #reader: FrameReader;
  readonly #decoder: HpackDecoder;
  readonly #sender: Sender;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #idleFrames: Rate;
  readonly #resets: Rate;
  /** Milliseconds since the beginning, as the ticks count them. */
  #ms = 0;
  /** When the last bytes came, a silent client got a PING, a stream was open, and `shutDown()` was called, in these milliseconds. */
  #heardAt = 0;
  #pingedAt = 0;
  #busyAt = 0;
  #shutDownAt: number | undefined;

  /** The largest stream that was opened; 0 before the first. */
  #lastId = 0;
  /** Streams above this are not served any more, after the second GOAWAY. */
  #lastServed = windowMax;
  /** The stream of the DATA frame in progress, if it takes DATA. */
  #dataStream: Http2Stream | undefined;
  /** Bytes of DATA since the window of the connection was last given back. */
  #unreturned = 0;
  #isClosed = false;
  readonly #closed = new ClosedStreams();

  /** A connection that has just begun: its SETTINGS are in the output. */
  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#limits = { ...http2Limits, ...options.limits };
    const { headerListMax, idleFramesBurst, resetsBurst } = this.#limits;
    const now = options.now ?? (() => performance.now());
    this.#reader = new FrameReader(this.#limits, this);
    this.#decoder = new HpackDecoder(headerListMax);
    this.#sender = new Sender(this.#limits, {
      onOutput: () => this.#options.onOutput?.(),
      onEnded: (stream) => this.#sentEnd(stream),
      reset: (stream, code) => this.#reset(stream, code),
    });
    this.#idleFrames = new Rate(idleFramesBurst, this.#limits.idleFramesPerSecond, now);
    this.#resets = new Rate(resetsBurst, this.#limits.resetsPerSecond, now);
    writeSettings(this.#sender);
  }

  /** Whether the connection is over: nothing more is read. There may be a last output. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Streams that are open. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /** For how many milliseconds no stream was open, as the ticks count them; 0 while one is, or was since the last tick. */
  get idleMs(): number {
    return this.#streams.size > 0 ? 0 : this.#ms - this.#busyAt;
  }

  /** Whether a stream was ever opened. */
  get wasCalled(): boolean {
    return this.#lastId > 0;
  }

  /** Whether so much waits for the socket that nothing should be received before it was taken. */
  get isCongested(): boolean {
    return this.#sender.output.tail >= this.#limits.outputMax;
  }

  /** The number of the sender's invariant that is broken; 0 if all hold. */
  check(): number {
    return this.#sender.check();
  }

  /** Takes bytes that came from the peer. They may be cut anywhere. */
  receive(bytes: Uint8Array): void {
    this.#heardAt = this.#ms;
    this.#reader.read(bytes);
  }

  /** What is to be sent: all frames so far as one piece. It stays valid until the next call. */
  takeOutput(): Uint8Array<ArrayBuffer> | undefined {
    const sender = this.#sender;
    const output = sender.take();
    for (; sender.tinyFragments > 0 && !this.#isClosed; sender.tinyFragments--) this.#countIdle();
    for (let stream; (stream = sender.takeDrained()) !== undefined;) {
      this.#tell(stream, ({ events }) => events?.onDrain());
    }
    return output;
  }

  /**
   * Ends the connection gracefully: the client is told by GOAWAY, new streams are served until it knows, and open ones are finished. Then
   * `isClosed` is true.
   */
  shutDown(): void {
    if (this.#isClosed || this.#shutDownAt !== undefined) return;
    this.#shutDownAt = this.#ms;
    this.#goAway(windowMax, ErrorCode.noError, "");
    this.#ping(lastPing);
  }

  /** Ends the connection now, for example because the socket has ended. Streams that are open are told so by `onReset`. */
  close(): void {
    this.fail(ErrorCode.noError, "");
  }

  /**
   * To be called every few seconds: ends what takes too long. `ms` is the time from call to call. It is counted here, and no clock is
   * asked: a process that stood still for minutes must not blame its clients for them.
   */
  tick(ms: number): void {
    if (this.#isClosed) return;
    this.#ms += ms;
    if (!this.#reader.hasSettings && this.#ms > this.#limits.handshakeMs) {
      return this.fail(ErrorCode.settingsTimeout, "no SETTINGS came in time");
    }
    this.#keepAlive();
    const { idleMs, firstStreamMs, keepaliveTimeoutMs } = this.#limits;
    if (this.idleMs >= (this.wasCalled ? idleMs : Math.min(idleMs, firstStreamMs))) this.shutDown();
    if (this.#ms - (this.#shutDownAt ?? this.#ms) > keepaliveTimeoutMs) this.#serveNoMore();
    for (const stream of [...this.#streams.values()]) stream.events?.onTick?.(ms);
  }

  /** Asks a silent client whether it is there, and ends the connection of one that does not answer. */
  #keepAlive(): void {
    // Nothing is received from a client whose output waits: whether it reads is the business of who has the socket.
    if (this.isCongested) this.#heardAt = this.#ms;
    const { keepaliveMs, keepaliveTimeoutMs } = this.#limits;
    if (this.#pingedAt > this.#heardAt) {
      if (this.#ms - this.#pingedAt > keepaliveTimeoutMs) {
        this.fail(ErrorCode.noError, "no answer to a PING");
      }
    } else if (this.#ms - this.#heardAt > keepaliveMs) {
      this.#pingedAt = this.#ms;
      this.#ping(keepalivePing);
    }
  }

  // Output.

  #goAway(lastId: number, code: number, why: string): void {
    const at = this.#sender.frame(FrameType.goAway, 0, 0, 8 + why.length);
    const { bytes } = this.#sender.output;
    write32(bytes, at, lastId);
    write32(bytes, at + 4, code);
    for (let k = 0; k < why.length; k++) bytes[at + 8 + k] = why.charCodeAt(k);
  }

  #ping(payload: Uint8Array): void {
    const at = this.#sender.frame(FrameType.ping, 0, 0, 8);
    this.#sender.output.bytes.set(payload, at);
  }

  /** Ends the connection with a GOAWAY. */
  fail(code: number, why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#goAway(this.#lastId, code, why);
    for (const stream of [...this.#streams.values()]) {
      const told = code === ErrorCode.noError ? ErrorCode.cancel : code;
      this.#forget(stream, Closed.byOurReset);
      this.#tell(stream, ({ events }) => events?.onReset(told));
    }
  }

  /** Ends a stream by RST_STREAM, and tells who serves it. */
  #endStream(stream: Http2Stream, code: number): void {
    if (stream.isClosed) return;
    this.#reset(stream, code);
    this.#tell(stream, ({ events }) => events?.onReset(code));
  }

  /** As `#endStream`, for a fault of the peer: so many of them are an attack. */
  #refuse(stream: Http2Stream, code: number): void {
    this.#endStream(stream, code);
    this.#countReset();
  }

  #countReset(): void {
    if (!this.#resets.take()) this.fail(ErrorCode.enhanceYourCalm, "too many streams were reset");
  }

  /** Counts a frame that carries nothing; false if the connection ended by it. */
  #countIdle(): boolean {
    if (this.#idleFrames.take()) return true;
    this.fail(ErrorCode.enhanceYourCalm, "too many frames that carry nothing");
    return false;
  }

  /** Ends a stream by RST_STREAM. */
  #reset(stream: Http2Stream, code: number): void {
    this.#sender.frameOf32(FrameType.rstStream, stream.id, code);
    this.#forget(stream, Closed.byOurReset);
  }

  #forget(stream: Http2Stream, how: number): void {
    stream.isClosed = true;
    this.#streams.delete(stream.id);
    this.#busyAt = this.#ms;
    this.#sender.forget(stream);
    this.#closed.add(stream.id, how);
    if (this.#streams.size === 0 && this.#lastServed < windowMax) this.#isClosed = true;
  }

  /** The answer of a stream is complete. Where the request is not, the client need not go on with it. */
  #sentEnd(stream: Http2Stream): void {
    if (stream.remoteIsClosed) this.#forget(stream, Closed.byBoth);
    else this.#reset(stream, ErrorCode.noError);
  }

  /** Calls who serves a stream; what that throws ends the stream. */
  #tell(stream: Http2Stream, call: (stream: Http2Stream) => void): void {
    try {
      call(stream);
    } catch (error) {
      this.#options.onError?.(error);
      // Who serves it lets go of what it holds.
      this.#endStream(stream, ErrorCode.internalError);
    }
  }

  // Input, as the reader cuts it.

  /** @inheritDoc */
  beginData({ id, length, flags }: FrameHeader, padding: number): void {
    if (id === 0) return this.fail(ErrorCode.protocolError, "DATA on stream 0");
    if (this.#unreturned + length > this.#limits.connectionWindow) {
      return this.fail(ErrorCode.flowControlError, "DATA beyond the connection's window");
    }
    this.#returnWindow(length);
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.remoteIsClosed) return this.#lateData(id, stream);
    if (length > stream.receiveWindow) return this.#refuse(stream, ErrorCode.flowControlError);
    stream.receiveWindow -= length;
    stream.consumed(padding);
    this.#dataStream = stream;
    if (length === 0 && (flags & Flag.endStream) === 0) this.#countIdle();
  }

  /** DATA of a stream whose request is complete, or that is not open. */
  #lateData(id: number, stream: Http2Stream | undefined): void {
    if (stream !== undefined) return this.#refuse(stream, ErrorCode.streamClosed);
    if (id > this.#lastServed) return void this.#countIdle();
    if (id > this.#lastId || (id & 1) === 0) {
      return this.fail(ErrorCode.protocolError, `DATA on stream ${id}, which is not open`);
    }
    const how = this.#closed.how(id);
    if (how === Closed.byOurReset) return; // it was on its way
    if (how === Closed.byBoth) {
      return this.fail(ErrorCode.streamClosed, `DATA on stream ${id}, which has ended`);
    }
    this.#sender.frameOf32(FrameType.rstStream, id, ErrorCode.streamClosed);
    this.#closed.add(id, Closed.byOurReset);
    this.#countIdle();
  }

  /** Gives the connection's window back, in steps of half of it. */
  #returnWindow(length: number): void {
    this.#unreturned += length;
    if (2 * this.#unreturned < this.#limits.connectionWindow) return;
    this.#sender.frameOf32(FrameType.windowUpdate, 0, this.#unreturned);
    this.#unreturned = 0;
  }

  /** @inheritDoc */
  giveData(view: Uint8Array): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed) return;
    stream.received += view.length;
    const { contentLength } = stream.request;
    if (contentLength >= 0 && stream.received > contentLength) {
      return this.#refuse(stream, ErrorCode.protocolError);
    }
    this.#tell(stream, ({ events }) => events?.onData(view));
  }

  /** @inheritDoc */
  endData({ flags }: FrameHeader): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (stream !== undefined && (flags & Flag.endStream) !== 0) this.#endRequest(stream);
  }

  #endRequest(stream: Http2Stream): void {
    if (stream.isClosed) return;
    stream.remoteIsClosed = true;
    const { contentLength } = stream.request;
    if (contentLength >= 0 && stream.received !== contentLength) {
      return this.#refuse(stream, ErrorCode.protocolError);
    }
    this.#tell(stream, ({ events }) => events?.onEnd());
  }

  /** @inheritDoc */
  takeFrame(frame: FrameHeader, bytes: Uint8Array, at: number): void {
    const { type, id, length } = frame;
    switch (type) {
      case FrameType.windowUpdate:
        return this.#onWindowUpdate(frame, bytes, at);
      case FrameType.rstStream:
        return this.#onReset(frame, bytes, at);
      case FrameType.ping:
        return this.#onPing(frame, bytes, at);
      case FrameType.settings:
        return this.#onSettings(frame, bytes, at);
      case FrameType.priority:
        return this.#onPriority(frame);
      case FrameType.goAway:
        if (id !== 0) return this.fail(ErrorCode.protocolError, "GOAWAY on a stream");
        if (length < 8) return this.fail(ErrorCode.frameSizeError, "a GOAWAY that is too short");
        break;
      case FrameType.pushPromise:
        return this.fail(ErrorCode.protocolError, "a client can't push");
    }
    this.#countIdle(); // GOAWAY, or a frame of unknown type
  }

  #onPriority({ id, length }: FrameHeader): void {
    if (id === 0) return this.fail(ErrorCode.protocolError, "PRIORITY on stream 0");
    const stream = this.#streams.get(id);
    if (length === 5) this.#countIdle();
    else if (stream !== undefined) this.#refuse(stream, ErrorCode.frameSizeError);
    else this.fail(ErrorCode.frameSizeError, "a wrong PRIORITY");
  }

  #onPing({ id, length, flags }: FrameHeader, bytes: Uint8Array, at: number): void {
    if (id !== 0) return this.fail(ErrorCode.protocolError, "PING on a stream");
    if (length !== 8) return this.fail(ErrorCode.frameSizeError, "a PING that has not 8 bytes");
    if (!this.#countIdle()) return;
    if ((flags & Flag.ack) === 0) {
      const target = this.#sender.frame(FrameType.ping, Flag.ack, 0, 8);
      copyBytes(this.#sender.output.bytes, target, bytes, at, at + 8);
      this.#checkOutput();
    } else if (lastPing.every((byte, k) => bytes[at + k] === byte)) this.#serveNoMore();
  }

  /** Where it shuts down, the client knows by now that it must not open streams: says which the last one was. */
  #serveNoMore(): void {
    if (this.#isClosed || this.#shutDownAt === undefined || this.#lastServed < windowMax) return;
    this.#lastServed = this.#lastId;
    this.#goAway(this.#lastId, ErrorCode.noError, "");
    if (this.#streams.size === 0) this.#isClosed = true;
  }

  /** A client that sends much that must be answered, and never reads. */
  #checkOutput(): void {
    if (this.#sender.output.tail <= this.#limits.outputMax + outputSlack) return;
    this.fail(ErrorCode.enhanceYourCalm, "too much waits to be read");
  }

  #onSettings({ id, length, flags }: FrameHeader, bytes: Uint8Array, at: number): void {
    if (id !== 0) return this.fail(ErrorCode.protocolError, "SETTINGS on a stream");
    if (!this.#countIdle()) return;
    if ((flags & Flag.ack) !== 0) {
      if (length !== 0) this.fail(ErrorCode.frameSizeError, "an ACK that has settings");
      return;
    }
    if (length % settingBytes !== 0) {
      return this.fail(ErrorCode.frameSizeError, "a part of a setting");
    }
    const fault = applySettings(bytes, at, at + length, this.#sender, this.#streams.values());
    if (fault !== undefined) return this.fail(...fault);
    this.#sender.frame(FrameType.settings, Flag.ack, 0, 0);
    this.#checkOutput();
  }

  #onWindowUpdate({ id, length }: FrameHeader, bytes: Uint8Array, at: number): void {
    if (length !== 4) return this.fail(ErrorCode.frameSizeError, "a wrong WINDOW_UPDATE");
    const more = read32(bytes, at) & windowMax;
    if (id === 0) {
      if (more === 0) return this.fail(ErrorCode.protocolError, "WINDOW_UPDATE of 0");
      if (this.#sender.window + more > windowMax) {
        return this.fail(ErrorCode.flowControlError, "the connection's window above 2^31 - 1");
      }
      return this.#sender.widenAll(more);
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (id > this.#lastId) this.fail(ErrorCode.protocolError, "WINDOW_UPDATE before HEADERS");
    } else if (more === 0) this.#refuse(stream, ErrorCode.protocolError);
    else if (stream.sendWindow + more > windowMax) {
      this.#refuse(stream, ErrorCode.flowControlError);
    } else this.#sender.widen(stream, more);
  }

  #onReset({ id, length }: FrameHeader, bytes: Uint8Array, at: number): void {
    if (id === 0) return this.fail(ErrorCode.protocolError, "RST_STREAM on stream 0");
    if (length !== 4) return this.fail(ErrorCode.frameSizeError, "a wrong RST_STREAM");
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (id > this.#lastId && id <= this.#lastServed) {
        return this.fail(ErrorCode.protocolError, "RST_STREAM before HEADERS");
      }
      this.#countIdle();
      return;
    }
    const { isAnswered } = stream;
    const code = read32(bytes, at);
    this.#forget(stream, Closed.byPeersReset);
    this.#tell(stream, ({ events }) => events?.onReset(code));
    if (!isAnswered) this.#countReset();
  }

  /** Takes a block of headers. It is decoded in any case, so that the tables of both sides stay the same. */
  takeHeaders(id: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): void {
    const list = this.#decoder.decode(bytes, from, to);
    if (list instanceof HpackFault) return this.fail(ErrorCode.compressionError, list.text);
    const stream = this.#streams.get(id);
    if (stream !== undefined) return this.#onTrailers(stream, list, isEnd);
    if (id > this.#lastServed) return void this.#countIdle();
    if ((id & 1) === 0) return this.fail(ErrorCode.protocolError, "a client's stream is odd");
    if (id > this.#lastId) return this.#open(id, list, isEnd);
    const how = this.#closed.how(id);
    if (how === Closed.byOurReset) return void this.#countIdle();
    const code = how === Closed.unknown ? ErrorCode.protocolError : ErrorCode.streamClosed;
    this.fail(code, `HEADERS on stream ${id}, which is not open`);
  }

  #onTrailers(stream: Http2Stream, list: HeaderList, isEnd: boolean): void {
    if (stream.remoteIsClosed) return this.#refuse(stream, ErrorCode.streamClosed);
    if (!isEnd || !list.isTrailers) return this.#refuse(stream, ErrorCode.protocolError);
    this.#endRequest(stream);
  }

  #open(id: number, list: HeaderList, isEnd: boolean): void {
    this.#lastId = id;
    const stream = new Http2Stream(this.#sender, id, list);
    this.#streams.set(id, stream);
    if (this.#streams.size > this.#limits.streamsMax) {
      this.#endStream(stream, ErrorCode.refusedStream);
      return void this.#countIdle();
    }
    if (!list.isRequest || (isEnd && list.contentLength > 0)) {
      return this.#refuse(stream, ErrorCode.protocolError);
    }
    stream.remoteIsClosed = isEnd;
    if (list.isTooLarge) return stream.respond(tooLargeBlock, true);
    this.#tell(stream, () => {
      stream.events = this.#options.onStream(stream);
      if (isEnd && !stream.isClosed) stream.events?.onEnd();
    });
    this.#checkOutput();
  }
}
