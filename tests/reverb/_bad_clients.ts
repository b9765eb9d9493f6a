/** Clients that behave badly, for tests that nobody else notices. They write HTTP/2 by hand. */
import { joinBytes } from "../../base/bytes.ts";
import { envelope } from "./_grpc.ts";
import { encode, type Message } from "./_proto.ts";

const encoder = new TextEncoder();

/** A frame of HTTP/2. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(9 + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.length << 8 | type);
  view.setUint8(4, flags);
  view.setUint32(5, stream);
  bytes.set(payload, 9);
  return bytes;
}

/** A header that is not compressed. */
function header(name: string, value: string): number[] {
  const [one, other] = [encoder.encode(name), encoder.encode(value)];
  return [0, one.length, ...one, other.length, ...other];
}

/** The frame that opens a call. */
export function opening(stream: number, call: string): Uint8Array<ArrayBuffer> {
  const fields = [
    header(":method", "POST"),
    header(":scheme", "http"),
    header(":path", `/deepmind.reverb.ReverbService/${call}`),
    header(":authority", "localhost"),
    header("content-type", "application/grpc"),
    header("te", "trailers"),
  ];
  return frame(1, 4, stream, Uint8Array.from(fields.flat()));
}

/** The preface and the settings. `window` is how many bytes the server may send on each stream. */
export function greeting(window = 65_535): Uint8Array<ArrayBuffer> {
  const settings = new Uint8Array(6);
  const view = new DataView(settings.buffer);
  view.setUint16(0, 4);
  view.setUint32(2, window);
  return joinBytes([encoder.encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, settings)]);
}

/** A message as a frame of data. */
export function message(
  stream: number,
  name: string,
  value: Message,
  isLast = false,
): Uint8Array<ArrayBuffer> {
  return frame(0, isLast ? 1 : 0, stream, envelope(encode(name, value)));
}

/** A connection of bytes. */
export class Socket implements Disposable {
  readonly #socket: Deno.TcpConn;
  #isClosed = false;

  private constructor(socket: Deno.TcpConn) {
    this.#socket = socket;
  }

  static async open(port: number): Promise<Socket> {
    return new Socket(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#socket.write(bytes.subarray(at));
  }

  /** Reads once. */
  async read(): Promise<Uint8Array | null> {
    const buffer = new Uint8Array(1 << 16);
    const count = await this.#socket.read(buffer).catch(() => null);
    return count === null ? null : buffer.subarray(0, count);
  }

  /** Closes it at once, as the system does for a process that is killed. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }
}
