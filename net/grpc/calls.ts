/**
 * gRPC calls on an HTTP/2 connection, without any input or output of its own.
 *
 * One thread uses it. No call throws, whatever the bytes are. What a handler throws ends its call by INTERNAL, and no other one.
 *
 * A message that arrives in one piece is handed on without a copy. One in several pieces is put together in a buffer that grows with what
 * has truly come, never with what was announced.
 *
 * Statuses and what calls hold stand beside it.
 *
 * Compression is not there: the clients that this server is for send none. A compressed message is refused by UNIMPLEMENTED.
 *
 * @module
 */
import { TIMER_MAX_MS } from "../../base/waits.ts";
import { ByteQueue } from "../http2/buffers.ts";
import { type ConnectionOptions, ServerConnection } from "../http2/connection.ts";
import { encodeHeaders } from "../http2/hpack.ts";
import type { Http2Limits } from "../http2/limits.ts";
import { read32, write32 } from "../http2/protocol.ts";
import { HeldBytes, type Holder } from "./held_bytes.ts";
import type { Http2Stream, StreamEvents } from "../http2/stream.ts";
import { answerBlock, parseTimeout, Status, statusBlock } from "./status.ts";

/** What serves one call. Views are valid during the call only. */
export interface CallHandler {
  /** A whole message came. */
  onMessage(message: Uint8Array): void;
  /** The client sends no more messages. */
  onHalfClose(): void;
  /**
   * The call is over without `finish()`. By CANCELLED: the client cancelled it, or the connection ended. By another status: its deadline passed,
   * or what came was too much or too slow. Nothing can be sent.
   */
  onCancel(status: number): void;
  /** What waited in the call is with the connection now, or the call is full no more. So you can send more. */
  onDrain?(): void;
}

/** Begins to serve a call. Undefined: it is over already. */
export type StartCall = (call: GrpcCall) => CallHandler | undefined;

/** The limits of gRPC calls, with their defaults. */
export const grpcLimits = {
  /** Bytes of a message. A larger one ends its call by RESOURCE_EXHAUSTED. */
  messageMax: 256 << 20,
  /**
   * Milliseconds in which 16 KiB more of a message must come, or all of it. A slower one ends its call by UNAVAILABLE, so that a client that
   * comes back sends it again. While more than half of the server's room for messages is taken, an eighth of a message must come in this
   * time.
   */
  messageStallMs: 30_000,
};

/** The options of a connection. */
export interface GrpcOptions extends Omit<ConnectionOptions, "onStream" | "limits"> {
  /** Says who serves a method, such as `/package.Service/Method`; undefined if nobody does. */
  readonly handler: (path: string) => StartCall | undefined;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Http2Limits & typeof grpcLimits>;
  /** The count that this connection shares with others. Default: its own, of 1 GiB. */
  readonly held?: HeldBytes;
}

/** Writes a message, and returns how many bytes it has. Undefined: none is sent. */
export type FillMessage = (target: Uint8Array<ArrayBuffer>) => number | undefined;

/** A call, for whoever serves it. After it is over, its methods do nothing. */
export interface GrpcCall {
  /** The headers of the request, pseudo-headers too: the method is in `:path`. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Bytes that wait because the client does not read them. */
  readonly buffered: number;
  /** Whether it was finished or cancelled. */
  readonly isOver: boolean;
  /** Whether more would wait, for the client or for the socket. If so, send no more, and go on at `onDrain`. */
  isFull(): boolean;
  /** Sends a message. */
  send(message: Uint8Array): void;
  /**
   * Sends a message of at most `bytesMax` bytes that `fill` writes straight into the output. Returns what `fill` returned; undefined too
   * if the call is over. Where `fill` throws, so does this, and no message is sent.
   */
  sendInto(bytesMax: number, fill: FillMessage): number | undefined;
  /** Ends the call, after all messages that wait. */
  finish(status: number, message?: string): void;
  /** Hands no more messages on, and lets the client send a window's worth at most. */
  pause(): void;
  /** Goes on after `pause()`. */
  resume(): void;
}

const prefixBytes = 5;

const methodBlock = encodeHeaders([[":status", "405"], ["allow", "POST"]]);
const typeBlock = encodeHeaders([[":status", "415"]]);

/** So many bytes of a message within `messageStallMs` are progress. */
const progressBytes = 1 << 14;

/** Where room is short, such a part of a message must come within `messageStallMs`. So no message holds others up for longer than all of them take. */
const crowdedParts = 8;

/** A connection that serves gRPC calls. */
export class GrpcConnection extends ServerConnection {
  /** The limits of its messages. */
  readonly limits: typeof grpcLimits;
  /** The count of what its calls hold, and those of other connections. */
  readonly held: HeldBytes;
  /** Is told what a handler threw. */
  readonly onError: (error: unknown) => void;

  /** A connection that has just begun. */
  constructor(options: GrpcOptions) {
    super({ ...options, onStream: (stream) => this.#start(stream, options) });
    this.limits = { ...grpcLimits, ...options.limits };
    this.held = options.held ?? new HeldBytes();
    this.onError = options.onError ?? (() => {});
  }

  #start(stream: Http2Stream, options: GrpcOptions): StreamEvents | undefined {
    const { fields, method, path } = stream.request;
    if (method !== "POST") return void stream.respond(methodBlock, true);
    if (!/^application\/grpc(?:$|[+;])/.test(fields.get("content-type") ?? "")) {
      return void stream.respond(typeBlock, true);
    }
    const call = new Call(this, stream);
    const start = options.handler(path);
    if (start !== undefined) call.start(start, fields.get("grpc-timeout"));
    else call.finish(Status.unimplemented, `there is no method ${path}`);
    return call;
  }
}

/** One call: it puts messages together, and hands them to its handler. */
class Call implements GrpcCall, StreamEvents, Holder {
  readonly connection: GrpcConnection;
  readonly #stream: Http2Stream;
  #handler: CallHandler | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What came and was not handed on: the beginning of a message, and all that came during a pause. */
  #rest: ByteQueue | undefined;
  /** Bytes of it that the client has no new window for. */
  #withheld = 0;
  heldBytes = 0;
  heldSince = 0;
  /** Milliseconds without progress of the message that came in part, and what came of it in them. */
  #stalledMs = 0;
  #arrived = 0;
  #isPaused = false;
  #isHalfClosed = false;
  #isFeeding = false;
  #hasAnswered = false;
  isOver = false;

  constructor(connection: GrpcConnection, stream: Http2Stream) {
    this.connection = connection;
    this.#stream = stream;
  }

  /** Begins to serve it. */
  start(start: StartCall, timeout: string | undefined): void {
    if (timeout !== undefined) {
      const ms = parseTimeout(timeout);
      if (ms === undefined) {
        return this.finish(Status.internal, `grpc-timeout is not a time: ${timeout}`);
      }
      const expire = (): void =>
        this.#fail(Status.deadlineExceeded, "the call's deadline has passed");
      // A timer without a bound would fire at once.
      if (ms <= TIMER_MAX_MS) this.#timer = setTimeout(expire, ms);
    }
    try {
      this.#handler = start(this);
    } catch (error) {
      this.#broke(error);
    }
  }

  get metadata(): ReadonlyMap<string, string> {
    return this.#stream.request.fields;
  }

  get buffered(): number {
    return this.#stream.buffered;
  }

  isFull(): boolean {
    return this.#stream.isFull();
  }

  send(message: Uint8Array): void {
    this.sendInto(message.length, (target) => {
      target.set(message);
      return message.length;
    });
  }

  sendInto(bytesMax: number, fill: FillMessage): number | undefined {
    if (this.isOver) return undefined;
    this.#answer();
    const at = this.#stream.reserve(prefixBytes + bytesMax);
    const { target } = this.#stream;
    const start = at + prefixBytes;
    let count: number | undefined;
    try {
      count = fill(target.subarray(start, start + bytesMax));
    } finally {
      if (count !== undefined) {
        target[at] = 0;
        write32(target, at + 1, count);
      }
      this.#stream.commit(count === undefined ? 0 : prefixBytes + count);
    }
    return count;
  }

  #answer(): void {
    if (this.#hasAnswered) return;
    this.#hasAnswered = true;
    this.#stream.respond(answerBlock);
  }

  finish(status: number, message = ""): void {
    if (this.isOver) return;
    this.#end();
    if (status === Status.ok) this.#answer();
    if (this.#hasAnswered) this.#stream.end(statusBlock(status, message, false));
    else this.#stream.respond(statusBlock(status, message, true), true);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#isFeeding || this.isOver) return;
    this.#feedRest();
    const count = this.#withheld;
    if (!this.#isPaused && count > 0) {
      this.#withheld = 0;
      this.#stream.consumed(count);
    }
    if (this.#isHalfClosed) this.onEnd();
  }

  // What the stream tells.

  onData(bytes: Uint8Array): void {
    if (this.isOver) return;
    const { length } = bytes;
    let at = 0;
    if (!this.#isPaused && !this.#isFeeding) {
      at = this.#complete(bytes);
      at = this.#feed(bytes, at, length);
    }
    if (at < length && !this.isOver) this.#hold(bytes, at, length);
    if (this.isOver) return;
    if (this.#isPaused) this.#withheld += length;
    else this.#stream.consumed(length);
  }

  /** Gives the message that came in part the bytes that it lacks, and no others: those after it need no copy. Returns how many bytes it took. */
  #complete(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && this.#rest !== undefined && this.#rest.length > 0) {
      if (this.#isPaused) break;
      const to = Math.min(bytes.length, at + this.#messageBytes - this.#rest.length);
      this.#hold(bytes, at, to);
      at = to;
      this.#feedRest();
    }
    return at;
  }

  onEnd(): void {
    this.#isHalfClosed = true;
    if (this.isOver || this.#isPaused) return;
    if (this.#rest !== undefined && this.#rest.length > 0) {
      this.#fail(Status.internal, "the request ends within a message");
      return;
    }
    this.#isHalfClosed = false;
    try {
      this.#handler?.onHalfClose();
    } catch (error) {
      this.#broke(error);
    }
  }

  onReset(): void {
    if (this.isOver) return;
    this.#end();
    this.#handler?.onCancel(Status.cancelled);
  }

  onDrain(): void {
    if (!this.isOver) this.#handler?.onDrain?.();
  }

  #broke(error: unknown): void {
    this.connection.onError(error);
    this.#fail(Status.internal, "the server could not serve this call");
  }

  /** Ends the call by what its handler does not know of, and tells it. */
  #fail(status: number, message: string): void {
    if (this.isOver) return;
    try {
      this.#handler?.onCancel(status);
    } catch (error) {
      this.connection.onError(error);
    }
    this.finish(status, message);
  }

  // What the count of held bytes tells.

  get waitsForClient(): boolean {
    return !this.#isPaused;
  }

  giveWay(): void {
    // It is no fault of the client, which may send it again.
    const why = this.#isPaused ? "the server holds this call back, and" : "the server";
    this.#fail(
      Status.unavailable,
      `${why} has no room for the ${this.heldBytes} bytes of this call that wait: send them again later`,
    );
  }

  /** Bytes that the message that came in part will have. */
  get #messageBytes(): number {
    const rest = this.#rest;
    if (rest === undefined || rest.length < prefixBytes) return prefixBytes;
    return prefixBytes + read32(rest.bytes, rest.head + 1);
  }

  /** Ends the call where it holds a part of a message, and the rest comes too slowly. */
  onTick(ms: number): void {
    const { isCongested, held: { isCrowded }, limits: { messageStallMs } } = this.connection;
    // A client that the server does not read from can't send the rest of a message. Yet it must not hold up others.
    if (this.heldBytes === 0 || (isCongested && !isCrowded)) return;
    const share = isCrowded ? this.#messageBytes / crowdedParts : 0;
    const needed = Math.max(progressBytes, Math.ceil(share));
    if (this.#isPaused || this.#arrived >= needed) {
      this.#arrived = 0;
      this.#stalledMs = 0;
      return;
    }
    this.#stalledMs += ms;
    if (this.#stalledMs <= messageStallMs) return;
    const words =
      `${this.#arrived} bytes of a message came in ${this.#stalledMs} ms, where ${needed} are needed, or its end`;
    this.#fail(Status.unavailable, words);
  }

  /** The call is over: it holds nothing any more. */
  #end(): void {
    this.isOver = true;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.heldBytes > 0) this.connection.held.give(this, this.heldBytes);
    this.#rest = undefined;
  }

  /** Keeps `bytes[from..to)` until it can be handed on. */
  #hold(bytes: Uint8Array, from: number, to: number): void {
    this.#rest ??= new ByteQueue();
    this.#rest.push(bytes, from, to);
    if (this.connection.held.take(this, to - from)) this.#arrived += to - from;
  }

  #feedRest(): void {
    const rest = this.#rest;
    if (rest === undefined) return;
    // What a handler sends can't come back into this queue while it is read: `onData` only adds to its end, and that may move it.
    const { head } = rest;
    const at = this.#feed(rest.bytes, head, rest.tail);
    if (this.isOver || at === head) return;
    this.connection.held.give(this, at - head);
    rest.drop(at - head);
    // The end of a message is progress, however small it is.
    this.#arrived = progressBytes;
  }

  /** Hands on all whole messages of `bytes[from..to)`, until there is a pause; returns where it stopped. */
  #feed(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    this.#isFeeding = true;
    while (to - at >= prefixBytes && !this.#isPaused && !this.isOver) {
      const length = read32(bytes, at + 1);
      if (!this.#mayCome(bytes[at] as number, length)) break;
      const end = at + prefixBytes + length;
      if (end > to) break;
      const message = bytes.subarray(at + prefixBytes, end);
      at = end;
      try {
        this.#handler?.onMessage(message);
      } catch (error) {
        this.#broke(error);
      }
    }
    this.#isFeeding = false;
    return at;
  }

  /** Whether a message may have such a prefix. It ends the call where not. */
  #mayCome(flag: number, length: number): boolean {
    const { messageMax } = this.connection.limits;
    if (flag === 0 && length <= messageMax) return true;
    if (flag === 0) {
      const words = `a message of ${length} bytes, where ${messageMax} are allowed`;
      this.#fail(Status.resourceExhausted, words);
    } else if (flag === 1) {
      const words = "compressed messages are not served: use grpc-encoding identity";
      this.#fail(Status.unimplemented, words);
    } else {
      this.#fail(Status.internal, `a message begins with ${flag}, where 0 or 1 is needed`);
    }
    return false;
  }
}
