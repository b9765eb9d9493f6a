/** A plain gRPC client of Reverb's service on `node:http2`, which sends and sees what the tests want. It works with every server. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { decode, encode, type Message } from "./_proto.ts";
import { PATIENCE_MS } from "../_wait.ts";

/** The names of the calls, with their requests and responses. */
export type CallName =
  | "ServerInfo"
  | "InsertStream"
  | "SampleStream"
  | "MutatePriorities"
  | "Reset"
  | "Checkpoint"
  | "InitializeConnection";

/** How a call ended. `code` is a number of gRPC's, or -1 where the connection broke. */
export interface Ending {
  readonly code: number;
  readonly message: string;
}

/** A prefix and a message. */
export function envelope(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5 + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, 5);
  return bytes;
}

/** One call. */
export class Call {
  /** Settles once the call has ended. */
  readonly ending: Promise<Ending>;
  readonly #name: CallName;
  readonly #stream: ClientHttp2Stream;
  #rest: Uint8Array = new Uint8Array(0);
  readonly #received: Message[] = [];
  #wake: () => void = () => {};
  #isOver = false;

  constructor(session: ClientHttp2Session, name: CallName) {
    this.#name = name;
    const stream = session.request({
      ":method": "POST",
      ":path": `/deepmind.reverb.ReverbService/${name}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    this.#stream = stream;
    this.ending = new Promise((resolve) => {
      const end = (ending: Ending): void => {
        this.#isOver = true;
        this.#wake();
        resolve(ending);
      };
      const read = (headers: Record<string, unknown>): void => {
        if (headers["grpc-status"] === undefined) return;
        end({
          code: Number(headers["grpc-status"]),
          message: decodeURIComponent(String(headers["grpc-message"] ?? "")),
        });
      };
      stream.on("response", read);
      stream.on("trailers", read);
      stream.on("error", (error: Error) => end({ code: -1, message: error.message }));
      stream.on("close", () => end({ code: -1, message: "the stream was closed" }));
    });
    stream.on("data", (part: Uint8Array) => this.#take(part));
  }

  #take(part: Uint8Array): void {
    const bytes = new Uint8Array(this.#rest.length + part.length);
    bytes.set(this.#rest);
    bytes.set(part, this.#rest.length);
    let at = 0;
    const view = new DataView(bytes.buffer);
    while (bytes.length - at >= 5 && bytes.length - at >= 5 + view.getUint32(at + 1)) {
      const end = at + 5 + view.getUint32(at + 1);
      this.#received.push(decode(`${this.#name}Response`, bytes.subarray(at + 5, end)));
      at = end;
    }
    this.#rest = bytes.slice(at);
    this.#wake();
  }

  /** Sends a message. */
  send(message: Message): void {
    this.#stream.write(envelope(encode(`${this.#name}Request`, message)));
  }

  /** Sends bytes as they are. */
  sendBytes(bytes: Uint8Array): void {
    this.#stream.write(bytes);
  }

  /** Says that no more messages come. */
  end(): void {
    this.#stream.end();
  }

  /** Resets the stream, as clients do who want no more. */
  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Reads no more, or goes on: with it, the windows are used up and nothing more may come. */
  set isReading(isReading: boolean) {
    if (isReading) this.#stream.resume();
    else this.#stream.pause();
  }

  /** The next message; undefined where the call ended before it, or where it did not come within `timeoutMs`. */
  async receive(timeoutMs = PATIENCE_MS): Promise<Message | undefined> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, timeoutMs);
    try {
      for (;;) {
        const message = this.#received.shift();
        if (message !== undefined || this.#isOver || isLate) return message;
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A connection. */
export class Connection {
  readonly session: ClientHttp2Session;

  constructor(port: number) {
    this.session = connect(`http://127.0.0.1:${port}`);
    // Calls say it, too.
    this.session.on("error", () => {});
  }

  /** Opens a call. */
  open(name: CallName): Call {
    return new Call(this.session, name);
  }

  /** A call with one request and one response. An error of the server is an Error whose message begins with the code. */
  async call(name: CallName, request: Message = {}): Promise<Message> {
    const call = this.open(name);
    call.send(request);
    call.end();
    const response = await call.receive();
    const { code, message } = await call.ending;
    if (code !== 0) throw new Error(`${code}: ${message}`);
    return response ?? {};
  }

  /** Ends all its calls. */
  close(): void {
    this.session.destroy();
  }
}

/** A chunk of one float32 number in one column, as a client sends it: snappy with one literal. */
export function smallChunk(key: bigint, episode = 1n, value = 0): Message {
  const literal = new Uint8Array(6);
  literal.set([4, 3 << 2]);
  new DataView(literal.buffer).setFloat32(2, value, true);
  // dtype float32, shape [1], tensor_content
  const tensor = new Uint8Array([8, 1, 18, 4, 18, 2, 8, 1, 34, 6, ...literal]);
  return {
    chunk_key: key,
    sequence_range: { episode_id: episode, start: 0, end: 0 },
    data: { tensors: [tensor] },
    data_tensors_len: 1,
    data_uncompressed_size: 4n,
  };
}

/** An item that is one whole small chunk. */
export function smallItem(key: bigint, table: string, priority: number, chunk: bigint): Message {
  return {
    key,
    table,
    priority,
    flat_trajectory: {
      columns: [{ chunk_slices: [{ chunk_key: chunk, offset: 0, length: 1, index: 0 }] }],
    },
  };
}
