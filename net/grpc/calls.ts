/**
 * gRPC calls on an HTTP/2 connection, without any input or output of its own.
 *
 * One thread uses it. No call throws, whatever the bytes are. What a handler throws ends its call by INTERNAL, and no other one.
 *
 * A message that arrives in one piece is handed on without a copy. One in several pieces is put together in a buffer that grows with what
 * has truly come, never with what was announced.
 *
 * The file is long because a call and its connection change each other's state. Statuses and what calls hold stand beside it.
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

/** The limits of gRPC calls. */
export interface GrpcLimits {
  /** Bytes of a message. A larger one ends its call by RESOURCE_EXHAUSTED. Default 256 MiB. */
  readonly messageMax: number;
  /**
   * Milliseconds in which 16 KiB more of a message must come, or all of it. A slower one ends its call by UNAVAILABLE, so that a client that
   * comes back sends it again. While more than half of the server's room for messages is taken, an eighth of a message must come in this
   * time. Default 30 seconds.
   */
  readonly messageStallMs: number;
}

/** The options of a connection. */
export interface GrpcOptions extends Omit<ConnectionOptions, "onStream" | "limits"> {
  /** Says who serves a method, such as `/package.Service/Method`; undefined if nobody does. */
  readonly handler: (
    path: string,
    metadata: ReadonlyMap<string, string>,
  ) => StartCall | undefined;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Http2Limits & GrpcLimits>;
  /** The count that this connection shares with others. Default: its own, of 1 GiB. */
  readonly held?: HeldBytes;
}

/** A call, for whoever serves it. After it is over, its methods do nothing. */
export interface GrpcCall {
  /** Its method, such as `/package.Service/Method`. */
  readonly path: string;
  /** The headers of the request, pseudo-headers too. */
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
   * Sends a message of at most `bytesMax` bytes that `fill` writes straight into the output. `fill` returns how many bytes it wrote. If
   * it returns undefined, no message is sent.
   */
  sendInto(bytesMax: number, fill: (target: Uint8Array<ArrayBuffer>) => number | undefined): void;
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
  readonly #held: HeldBytes;

  /** A connection that has just begun. */
  constructor(options: GrpcOptions) {
    const limits = { messageMax: 256 << 20, messageStallMs: 30_000, ...options.limits };
    const held = options.held ?? new HeldBytes();
    super({ ...options, onStream: (stream) => this.#start(stream, options, limits) });
    this.#held = held;
  }

  /** @inheritDoc */
  override tick(ms: number): void {
    super.tick(ms);
    // A client that the server does not read from can't send the rest of a message. Yet it must not hold up others.
    if (this.isCongested && !this.#held.isCrowded) return;
    for (const call of [...this.#held.holders.get(this) ?? []]) call.tick(ms);
  }

  #start(stream: Http2Stream, options: GrpcOptions, limits: GrpcLimits): StreamEvents | undefined {
    const { fields, method, path } = stream.request;
    const type = fields.get("content-type") ?? "";
    if (method !== "POST") return void stream.respond(methodBlock, true);
    if (!/^application\/grpc(?:$|[+;])/.test(type)) {
      return void stream.respond(typeBlock, true);
    }
    const call = new Call(this, stream, limits, this.#held, options.onError);
    const start = options.handler(path, fields);
    if (start !== undefined) call.start(start, fields.get("grpc-timeout"));
    else call.finish(Status.unimplemented, `there is no method ${path}`);
    return call;
  }
}

/** One call: it puts messages together, and hands them to its handler. */
class Call implements GrpcCall, StreamEvents, Holder {
  readonly connection: object;
  readonly #stream: Http2Stream;
  readonly #limits: GrpcLimits;
  readonly #held: HeldBytes;
  readonly #onError: ((error: unknown) => void) | undefined;
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

  constructor(
    connection: object,
    stream: Http2Stream,
    limits: GrpcLimits,
    held: HeldBytes,
    onError: ((error: unknown) => void) | undefined,
  ) {
    this.connection = connection;
    this.#stream = stream;
    this.#limits = limits;
    this.#held = held;
    this.#onError = onError;
  }

  /** Begins to serve it. */
  start(start: StartCall, timeout: string | undefined): void {
    if (timeout !== undefined) {
      const ms = parseTimeout(timeout);
      if (ms === undefined) {
        this.finish(Status.internal, `grpc-timeout is not a time: ${timeout}`);
        return;
      }
      // A timer without a bound would fire at once.
      if (ms <= TIMER_MAX_MS) this.#timer = setTimeout(() => this.#expire(), ms);
    }
    try {
      this.#handler = start(this);
    } catch (error) {
      this.#broke(error);
    }
  }

  get path(): string {
    return this.#stream.request.path;
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

  sendInto(bytesMax: number, fill: (target: Uint8Array<ArrayBuffer>) => number | undefined): void {
    if (this.isOver) return;
    this.#answer();
    const at = this.#stream.reserve(prefixBytes + bytesMax);
    const { target } = this.#stream;
    const start = at + prefixBytes;
    const count = fill(target.subarray(start, start + bytesMax));
    if (count === undefined) return this.#stream.commit(0);
    target[at] = 0;
    write32(target, at + 1, count);
    this.#stream.commit(prefixBytes + count);
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
      if (this.isOver) return;
      this.#isFeeding = true;
      at = this.#feed(bytes, at, length);
      this.#isFeeding = false;
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
      if (this.#isPaused || this.isOver) break;
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

  #expire(): void {
    this.#fail(Status.deadlineExceeded, "the call's deadline has passed");
  }

  #broke(error: unknown): void {
    this.#onError?.(error);
    this.#fail(Status.internal, "the server could not serve this call");
  }

  /** Ends the call by what its handler does not know of, and tells it. */
  #fail(status: number, message: string): void {
    if (this.isOver) return;
    try {
      this.#handler?.onCancel(status);
    } catch (error) {
      this.#onError?.(error);
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

  /** Called every few seconds while it holds bytes: ends the call where its message comes too slowly. */
  tick(ms: number): void {
    const share = this.#held.isCrowded ? this.#messageBytes / crowdedParts : 0;
    const needed = Math.max(progressBytes, Math.ceil(share));
    if (this.#isPaused || this.#arrived >= needed) {
      this.#arrived = 0;
      this.#stalledMs = 0;
      return;
    }
    this.#stalledMs += ms;
    const { messageStallMs } = this.#limits;
    if (this.#stalledMs <= messageStallMs) return;
    const words =
      `${this.#arrived} bytes of a message came in ${this.#stalledMs} ms, where ${needed} are needed, or its end`;
    this.#fail(Status.unavailable, words);
  }

  /** The call is over: it holds nothing any more. */
  #end(): void {
    this.isOver = true;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.heldBytes > 0) this.#held.give(this, this.heldBytes);
    this.#rest = undefined;
  }

  /** Keeps `bytes[from..to)` until it can be handed on. */
  #hold(bytes: Uint8Array, from: number, to: number): void {
    this.#rest ??= new ByteQueue();
    this.#rest.push(bytes, from, to);
    if (this.#held.take(this, to - from)) this.#arrived += to - from;
  }

  #feedRest(): void {
    const rest = this.#rest;
    if (rest === undefined) return;
    // What a handler sends can't come back into this queue while it is read: `onData` only adds to its end, and that may move it.
    const { head } = rest;
    this.#isFeeding = true;
    const at = this.#feed(rest.bytes, head, rest.tail);
    this.#isFeeding = false;
    if (this.isOver || at === head) return;
    this.#held.give(this, at - head);
    rest.drop(at - head);
    // The end of a message is progress, however small it is.
    this.#arrived = progressBytes;
  }

  /** Hands on all whole messages of `bytes[from..to)`, until there is a pause; returns where it stopped. */
  #feed(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    while (to - at >= prefixBytes && !this.#isPaused) {
      const flag = bytes[at] as number;
      const length = read32(bytes, at + 1);
      if (flag === 1) {
        this.#fail(
          Status.unimplemented,
          "compressed messages are not served: use grpc-encoding identity",
        );
      } else if (flag !== 0) {
        this.#fail(Status.internal, `a message begins with ${flag}, where 0 or 1 is needed`);
      } else if (length > this.#limits.messageMax) {
        this.#fail(
          Status.resourceExhausted,
          `a message of ${length} bytes, where ${this.#limits.messageMax} are allowed`,
        );
      }
      if (this.isOver) return at;
      const end = at + prefixBytes + length;
      if (end > to) break;
      const message = bytes.subarray(at + prefixBytes, end);
      at = end;
      try {
        this.#handler?.onMessage(message);
      } catch (error) {
        this.#broke(error);
      }
      if (this.isOver) return at;
    }
    return at;
  }
}
