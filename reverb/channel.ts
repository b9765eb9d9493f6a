/**
 * Calls of gRPC on `node:http2`, in Deno, Node and Bun: one connection, made when it is needed, and made anew when it was lost.
 *
 * Invariants: 1. Each call ends once, with an error or without. 2. A call that ends takes its timer and its listener of a signal along.
 *
 * @module
 */

import { ownConnections } from "../base/own_connections.ts";
import { builtinModule, deno } from "../base/platform.ts";
import { waitUntil } from "../base/waits.ts";
import { DamagedMessage } from "../wire/message_reader.ts";
import { PREFIX_BYTES } from "../wire/message_writer.ts";
import type { Headers, Http2, Http2Session, Http2Stream } from "./_http2.ts";
import { errorOfStatus, ReverbError } from "./errors.ts";

/** Bytes that a server may send before they were read, for a call and for all calls together. */
const WINDOW_BYTES = 2 ** 24;
const CANCEL = 8;
/** What HTTP/2 of Deno, Node and Bun says where the first bytes are of another protocol. */
const NO_HTTP2 = -505;
/** Reverb's own service. */
const REVERB = "deepmind.reverb.ReverbService";
/** What claims to be longer is damaged. */
const MESSAGE_BYTES_MAX = 2 ** 30;

/** What a call tells its caller. */
export interface CallEvents {
  /** A message came. The bytes are the caller's. */
  onMessage(message: Uint8Array<ArrayBuffer>): void;
  /** Bytes came, a whole message or not. */
  onBytes?(): void;
  /** The call ended: with an error, or undefined where the server says that all is well. */
  onEnd(error: ReverbError | undefined): void;
  /** What was written has left, after `write` returned false. */
  onDrain?(): void;
}

/** A call that both sides write to. */
export interface Call {
  /** Sends a message that has its prefix. False: wait for `onDrain` before the next one. */
  write(framed: Uint8Array): boolean;
  /** Says that no message follows. */
  halfClose(): void;
  /** Ends the call at once. `onEnd` is not called. */
  cancel(): void;
}

/** How long a call may take, and what ends it early. */
export interface WaitOptions {
  /** The most milliseconds. Without it, there is no end. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** One server. */
export class Channel {
  /** The address as `host:port`. */
  readonly address: string;
  #session: Http2Session | undefined;
  #isClosed = false;
  readonly #http2: Http2;
  /** Whether a server of Reverb's protocol has answered here. */
  isKnown = false;

  constructor(address: string) {
    this.address = address;
    const http2 = builtinModule<Http2>("node:http2");
    if (http2 === undefined) {
      throw new ReverbError(
        "unimplemented",
        "ReverbClient needs HTTP/2 of Deno, Node or Bun; a browser has none",
      );
    }
    this.#http2 = http2;
  }

  /** True once it was closed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  #connected(): Http2Session {
    const known = this.#session;
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = this.#http2.connect(`http://${this.address}`, {
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
    });
    const forget = (): void => {
      ownConnections.delete(session);
      if (this.#session === session) this.#session = undefined;
    };
    session.on("error", forget); // each call hears of it, too
    session.on("goaway", forget);
    session.on("close", forget);
    session.on("connect", () => session.setLocalWindowSize?.(WINDOW_BYTES));
    ownConnections.add(session);
    this.#session = session;
    return session;
  }

  /** Begins a call, of Reverb's service unless it is of another. */
  open(method: string, events: CallEvents, service = REVERB): Call {
    if (this.#isClosed) throw new ReverbError("cancelled", `${method}: the client was closed`);
    return new StreamCall(service, method, this, this.#connected(), events);
  }

  /** One message there, one back. */
  unary(
    method: string,
    message: Uint8Array,
    wait: WaitOptions = {},
    service = REVERB,
  ): Promise<Uint8Array<ArrayBuffer>> {
    return waitFor(`${method}()`, wait, (resolve, reject) => {
      let answer: Uint8Array<ArrayBuffer> | undefined;
      const call = this.open(method, {
        onMessage: (bytes) => answer = bytes,
        onEnd: (error) => {
          if (error !== undefined) reject(error);
          else if (answer === undefined) {
            reject(
              new ReverbError("internal", `${method}: the server ended the call without an answer`),
            );
          } else resolve(answer);
        },
      }, service);
      const framed = new Uint8Array(PREFIX_BYTES + message.length);
      new DataView(framed.buffer).setUint32(1, message.length);
      framed.set(message, PREFIX_BYTES);
      call.write(framed);
      call.halfClose();
      return () => call.cancel();
    });
  }

  /** Closes the connection. Calls in progress end with `cancelled`. */
  close(): void {
    this.#isClosed = true;
    if (this.#session === undefined) return;
    ownConnections.delete(this.#session);
    this.#session.destroy();
    this.#session = undefined;
  }
}

/** Waits as `waitUntil` does, for what errors call `what`. */
export function waitFor<T>(
  what: string,
  wait: WaitOptions,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
  late: () => string = () => `${what} took longer than ${wait.timeoutMs} ms`,
): Promise<T> {
  return waitUntil(wait, begin, () => new ReverbError("deadline-exceeded", late()));
}

class StreamCall implements Call {
  readonly #stream: Http2Stream;
  readonly #events: CallEvents;
  readonly #method: string;
  readonly #channel: Channel;
  #status: number | undefined;
  #message = "";
  #error: Error | undefined;
  #isOver = false;
  #isHeard = false;
  /** Where the answer is not one of gRPC: its HTTP status. */
  #otherStatus: number | undefined;
  readonly #messages: MessageSplitter;

  constructor(
    service: string,
    method: string,
    channel: Channel,
    session: Http2Session,
    events: CallEvents,
  ) {
    this.#method = method;
    this.#channel = channel;
    this.#events = events;
    this.#messages = new MessageSplitter((message) => {
      if (!this.#isOver) events.onMessage(message);
    });
    const stream = session.request({
      ":method": "POST",
      ":path": `/${service}/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    this.#stream = stream;
    stream.on("response", (headers) => {
      this.#isHeard = true;
      this.#read(headers);
      const status = Number(headers[":status"]);
      const isGrpc = String(headers["content-type"]).startsWith("application/grpc");
      if (status === 200 && isGrpc) channel.isKnown = true;
      else if (this.#status === undefined) {
        this.#otherStatus = status;
        this.#end();
        stream.close(CANCEL);
      }
    });
    stream.on("trailers", (headers) => this.#read(headers));
    stream.on("data", (bytes) => this.#take(bytes));
    stream.on("drain", () => {
      if (!this.#isOver) events.onDrain?.();
    });
    stream.on("error", (error) => this.#error = error);
    stream.on("close", () => this.#end());
  }

  get #address(): string {
    return this.#channel.address;
  }

  #read(headers: Headers): void {
    const status = headers["grpc-status"];
    if (status === undefined) return;
    this.#status = Number(status);
    this.#message = decodeMessage(String(headers["grpc-message"] ?? ""));
    // The server has had its last word. What it did not read must not keep the stream open.
    if (this.#status !== 0) this.#end();
  }

  #take(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#events.onBytes?.();
    try {
      this.#messages.push(bytes);
    } catch (error) {
      if (!(error instanceof DamagedMessage)) throw error;
      this.#isOver = true;
      this.#stream.close(CANCEL);
      const words =
        `${this.#method} at ${this.#address}: what the server sent is damaged: ${error.message}`;
      this.#events.onEnd(new ReverbError("data-loss", words, { cause: error }));
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#status === 0) this.#events.onEnd(undefined);
    else if (this.#status !== undefined) {
      this.#stream.close(CANCEL);
      this.#events.onEnd(
        errorOfStatus(`${this.#method} at ${this.#address}`, this.#status, this.#message),
      );
    } else this.#events.onEnd(this.#lost());
  }

  /** The error of a call that ended without a status. */
  #lost(): ReverbError {
    if (this.#channel.isClosed) {
      return new ReverbError("cancelled", `${this.#method}: the client was closed meanwhile`);
    }
    const where = `${this.#method}: ${this.#isHeard ? "the connection was lost" : "no answer"}`;
    const cause = this.#error;
    const options = cause === undefined ? {} : { cause };
    const address = this.#address;
    const status = this.#otherStatus;
    if (status !== undefined) {
      // A gateway says so while the server behind it does not answer.
      const code = [429, 502, 503, 504].includes(status) ? "unavailable" : "unimplemented";
      const words =
        `${this.#method}: HTTP status ${status} from ${address}: no server of Reverb's protocol`;
      return new ReverbError(code, words, options);
    }
    const reason = reasonOf(cause?.message);
    if (!this.#channel.isKnown && (cause as { errno?: number } | undefined)?.errno === NO_HTTP2) {
      const words =
        `${this.#method}: what answers at ${address} does not speak HTTP/2: no server of Reverb's protocol (${reason})`;
      return new ReverbError("unimplemented", words, options);
    }
    if (isForbidden(reason, address)) {
      const words =
        `${where} from ${address}: the program may not connect; Deno needs --allow-net=${address} (${reason})`;
      return new ReverbError("permission-denied", words, options);
    }
    const why = reason.includes("ECONNREFUSED")
      ? `nobody listens there; start the server, or check the port (${reason})`
      : reason;
    return new ReverbError("unavailable", `${where} from ${address}: ${why}`, options);
  }

  write(framed: Uint8Array): boolean {
    return this.#isOver || this.#stream.write(framed);
  }

  halfClose(): void {
    if (!this.#isOver) this.#stream.end();
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.close(CANCEL);
  }
}

/** The text of a `grpc-message`, which has some characters as `%` and two digits. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Cuts what comes on a stream into messages. */
export class MessageSplitter {
  readonly #found: (message: Uint8Array<ArrayBuffer>) => void;
  readonly #prefix = new Uint8Array(PREFIX_BYTES);
  #prefixBytes = 0;
  #message: Uint8Array<ArrayBuffer> | undefined;
  #filled = 0;

  constructor(found: (message: Uint8Array<ArrayBuffer>) => void) {
    this.#found = found;
  }

  /** Takes some bytes. */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#message === undefined) {
        const count = Math.min(PREFIX_BYTES - this.#prefixBytes, bytes.length - at);
        this.#prefix.set(bytes.subarray(at, at + count), this.#prefixBytes);
        this.#prefixBytes += count;
        at += count;
        if (this.#prefixBytes < PREFIX_BYTES) return;
        this.#prefixBytes = 0;
        this.#filled = 0;
        const length = new DataView(this.#prefix.buffer).getUint32(1);
        if (this.#prefix[0] !== 0 || length > MESSAGE_BYTES_MAX) {
          throw new DamagedMessage(`no message: its first bytes are ${this.#prefix}`);
        }
        this.#message = new Uint8Array(length);
      }
      const message = this.#message;
      const count = Math.min(message.length - this.#filled, bytes.length - at);
      message.set(bytes.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled < message.length) return;
      this.#message = undefined;
      this.#found(message);
    }
  }
}

/** Why a connection failed, from the words of HTTP/2, which wrap it. */
function reasonOf(words: string | undefined): string {
  if (words === undefined) return "the server ended the connection";
  return /\(caused by: ([^]*)\)$/.exec(words)?.[1] ?? words;
}

/** Whether a connection failed because the program has no permission for it. */
export function isForbidden(reason: string, address: string): boolean {
  if (!reason.includes("EPERM") && !reason.includes("--allow-net")) return false;
  // A firewall answers EPERM, too.
  return deno?.permissions.querySync({ name: "net", host: address }).state !== "granted";
}
