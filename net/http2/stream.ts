/**
 * One stream of an HTTP/2 connection: a request and its answer.
 *
 * @module
 */
import type { ByteQueue } from "./buffers.ts";
import type { HeaderList } from "./header_fields.ts";
import { ErrorCode } from "./protocol.ts";

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
}

/** Events that nobody listens to. */
export const ignoredEvents: StreamEvents = {
  onData(): void {},
  onEnd(): void {},
  onReset(): void {},
  onDrain(): void {},
};

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** Sends as much as may go now, and lets the rest wait. */
  sendHeaders(stream: Http2Stream, block: Uint8Array, isEnd: boolean): void;
  sendData(stream: Http2Stream, bytes: Uint8Array): void;
  isFull(stream: Http2Stream): boolean;
  reserveData(stream: Http2Stream, countMax: number): number;
  commitData(stream: Http2Stream, count: number): void;
  sendEnd(stream: Http2Stream): void;
  resetStream(stream: Http2Stream, code: number): void;
  giveBack(stream: Http2Stream, count: number): void;
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
  /** Who serves it. */
  events: StreamEvents = ignoredEvents;

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
  localIsClosed = false;
  /** Whether the answer has begun. */
  isAnswered = false;
  isClosed = false;
  /** Whether it stands among those that can send. */
  isWaiting = false;
  /** Where `reserve()` gave room. */
  target: Uint8Array<ArrayBuffer> = nothing;

  readonly #owner: StreamOwner;

  /** A stream that a request opened. */
  constructor(
    owner: StreamOwner,
    id: number,
    request: HeaderList,
    sendWindow: number,
    receiveWindow: number,
  ) {
    this.#owner = owner;
    this.id = id;
    this.request = request;
    this.sendWindow = sendWindow;
    this.receiveWindow = receiveWindow;
  }

  /** The headers by name, pseudo-headers too. */
  get headers(): ReadonlyMap<string, string> {
    return this.request.fields;
  }

  /** Bytes that wait here. They bound nothing by themselves: whoever sends looks at them, and goes on at `onDrain`. */
  get buffered(): number {
    return this.queue === undefined ? 0 : this.queue.length;
  }

  /**
   * Whether more of the answer would wait: here for the client's window, or in the connection for the socket. If so, `onDrain` is called once that has
   * changed. Who can wait sends no more meanwhile.
   */
  isFull(): boolean {
    return !this.isClosed && this.#owner.isFull(this);
  }

  /** Begins the answer, with a block of `encodeHeaders()`. With `isEnd`, that is all of it. */
  respond(block: Uint8Array, isEnd = false): void {
    if (this.isClosed || this.localIsClosed || this.endBlock !== undefined) return;
    this.#owner.sendHeaders(this, block, isEnd);
  }

  /** Sends bytes of the answer; what may not go now is copied and waits. */
  write(bytes: Uint8Array): void {
    if (this.isClosed || this.endBlock !== undefined) return;
    this.#owner.sendData(this, bytes);
  }

  /**
   * Gives room for bytes of the answer: from the returned place on, in `target`. Write them there, and call `commit()` with their number
   * before anything else. A closed stream gives room too, which leads nowhere.
   */
  reserve(countMax: number): number {
    if (this.isClosed || this.endBlock !== undefined) {
      this.target = new Uint8Array(countMax);
      return 0;
    }
    return this.#owner.reserveData(this, countMax);
  }

  /** Sends what was written since `reserve()`. */
  commit(count: number): void {
    if (!this.isClosed && this.endBlock === undefined) this.#owner.commitData(this, count);
    this.target = nothing;
  }

  /** Ends the answer, after all that waits; with trailers, if there is a block of them. */
  end(trailers: Uint8Array = nothing): void {
    if (this.isClosed || this.localIsClosed || this.endBlock !== undefined) return;
    this.endBlock = trailers;
    this.#owner.sendEnd(this);
  }

  /** Ends the stream at once, in both directions. `onReset` is not called. */
  reset(code: number = ErrorCode.cancel): void {
    if (!this.isClosed) this.#owner.resetStream(this, code);
  }

  /** Says that so many bytes of the body need no room any more. Until then the client sends a window's worth at most. */
  consumed(count: number): void {
    if (!this.isClosed && !this.remoteIsClosed) this.#owner.giveBack(this, count);
  }
}

const nothing = new Uint8Array(0);
