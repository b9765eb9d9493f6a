/** A client of HTTP/2 made by hand, for tests: it writes any frame, right or wrong, and reads the server's. */
import { joinBytes } from "../../../base/bytes.ts";
import { type ConnectionOptions, ServerConnection } from "../../../net/http2/connection.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { FrameType, preface, read32, write32 } from "../../../net/http2/protocol.ts";
import type { Http2Stream, StreamEvents } from "../../../net/http2/stream.ts";

/** Bytes from hexadecimal digits; white space is skipped. */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  const digits = hex.replaceAll(/\s/g, "");
  const bytes = new Uint8Array(digits.length / 2);
  for (let k = 0; k < bytes.length; k++) {
    bytes[k] = Number.parseInt(digits.slice(2 * k, 2 * k + 2), 16);
  }
  return bytes;
}

/** Puts bytes together. */
export function join(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return joinBytes(parts);
}

/** A frame; its length may be stated wrongly. */
export function frame(
  type: number,
  flags: number,
  id: number,
  payload: Uint8Array | string = new Uint8Array(0),
  length?: number,
): Uint8Array<ArrayBuffer> {
  const bytes = typeof payload === "string" ? fromHex(payload) : payload;
  const whole = new Uint8Array(9 + bytes.length);
  write32(whole, 0, ((length ?? bytes.length) << 8) | type);
  whole[4] = flags;
  write32(whole, 5, id);
  whole.set(bytes, 9);
  return whole;
}

/** 32 bits as bytes. */
export function word(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4);
  write32(bytes, 0, value);
  return bytes;
}

/** A frame of settings. */
export function settings(
  ...pairs: readonly (readonly [name: number, value: number])[]
): Uint8Array<ArrayBuffer> {
  return frame(
    FrameType.settings,
    0,
    0,
    join(...pairs.flatMap(([name, value]) => [new Uint8Array([0, name]), word(value)])),
  );
}

/** What every client sends first. */
export const hello: Uint8Array<ArrayBuffer> = join(preface, settings());

/** The headers of a request. */
export const requestFields: readonly (readonly [string, string])[] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/a.B/C"],
  [":authority", "localhost"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
];

/** HEADERS of a request; more fields come after the usual ones. */
export function headers(
  id: number,
  isEnd = false,
  fields: Iterable<readonly [string, string]> = requestFields,
): Uint8Array<ArrayBuffer> {
  return frame(FrameType.headers, isEnd ? 5 : 4, id, encodeHeaders(fields));
}

/** DATA. */
export function data(
  id: number,
  bytes: Uint8Array | string,
  isEnd = false,
): Uint8Array<ArrayBuffer> {
  return frame(FrameType.data, isEnd ? 1 : 0, id, bytes);
}

/** A frame that the server sent. */
export interface SentFrame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Uint8Array;
}

/** Cuts whole frames. */
export function cutFrames(bytes: Uint8Array): SentFrame[] {
  const frames: SentFrame[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = read32(bytes, at) >>> 8;
    if (at + 9 + length > bytes.length) throw new Error("the server's output ends within a frame");
    frames.push({
      type: bytes[at + 3] as number,
      flags: bytes[at + 4] as number,
      id: read32(bytes, at + 5),
      payload: bytes.slice(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

/** What a test saw of a stream. */
export interface SeenStream {
  readonly stream: Http2Stream;
  /** Its body so far. */
  readonly body: number[];
  hasEnded: boolean;
  /** The code of `onReset`; -1 before it. */
  resetWith: number;
  drains: number;
}

/** Writes bytes of an answer, in place. */
export function write(stream: Http2Stream | undefined, bytes: Uint8Array): void {
  const at = stream?.reserve(bytes.length) ?? 0;
  stream?.target.set(bytes, at);
  stream?.commit(bytes.length);
}

/** A connection, with what its streams saw. */
export class Peer {
  readonly connection: ServerConnection;
  readonly seen: SeenStream[] = [];
  readonly frames: SentFrame[] = [];
  outputCalls = 0;
  readonly errors: unknown[] = [];

  /**
   * A connection whose streams note what they see. `serve` may change the events of a stream, for example to answer; bytes are consumed
   * at once unless `keeps`.
   */
  constructor(
    options: Partial<ConnectionOptions> & {
      readonly serve?: (seen: SeenStream) => Partial<StreamEvents> | void;
      readonly keeps?: boolean;
    } = {},
  ) {
    this.connection = new ServerConnection({
      onOutput: () => this.outputCalls++,
      onError: (error) => this.errors.push(error),
      ...options,
      onStream: (stream) => {
        const seen = { stream, body: [] as number[], hasEnded: false, resetWith: -1, drains: 0 };
        this.seen.push(seen);
        const events: StreamEvents = {
          onData: (bytes) => {
            for (const byte of bytes) seen.body.push(byte);
            if (options.keeps !== true) stream.consumed(bytes.length);
          },
          onEnd: () => seen.hasEnded = true,
          onReset: (code) => seen.resetWith = code,
          onDrain: () => seen.drains++,
        };
        return { ...events, ...options.serve?.(seen) ?? {} };
      },
    });
  }

  /** Sends bytes to the server, and takes what it answers. */
  send(...parts: readonly Uint8Array[]): SentFrame[] {
    this.connection.receive(join(...parts));
    return this.take();
  }

  /** Takes the server's frames. */
  take(): SentFrame[] {
    const frames: SentFrame[] = [];
    for (;;) {
      const output = this.connection.takeOutput();
      if (output === undefined) break;
      frames.push(...cutFrames(output));
    }
    this.frames.push(...frames);
    return frames;
  }

  /** The code of the last GOAWAY; undefined if there was none. */
  get goAwayCode(): number | undefined {
    const last = this.frames.findLast(({ type }) => type === FrameType.goAway);
    return last === undefined ? undefined : read32(last.payload, 4);
  }

  /** The code of the last RST_STREAM of a stream; undefined if there was none. */
  resetCode(id: number): number | undefined {
    const last = this.frames.findLast((sent) =>
      sent.type === FrameType.rstStream && sent.id === id
    );
    return last === undefined ? undefined : read32(last.payload, 0);
  }
}
