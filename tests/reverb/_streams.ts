/**
 * Byte streams of the real client: how they are told apart, kept and compared.
 *
 * A recording has the client's bytes as they came, and before each piece what the server had answered by then. So a replay sends a piece
 * once its own server has answered as much. Answers are compared by what they mean: statuses, confirmed keys, samples, tables.
 */
import { HpackDecoder, HpackFault } from "../../net/http2/hpack.ts";
import type { CallName } from "./_grpc.ts";
import { decode, type Message } from "./_proto.ts";
import { inTime } from "../_wait.ts";

/** What a server answered on one stream, without what is by chance. */
export interface Answers {
  readonly call: CallName;
  /** gRPC's number; undefined where the client went away before the end. */
  status?: number;
  message?: string;
  /** What came: a key confirmed, a sample, or a message of another call. */
  readonly came: unknown[];
  /** The client reset it. */
  isCancelled?: boolean;
}

/** How far a server must be: for streams `connection:stream`, how much came, and 1 more where the call has ended. */
export type Progress = Readonly<Record<string, number>>;

/** The client's next bytes. */
export interface Step {
  readonly connection: number;
  /** Streams that have come further since the last step. */
  readonly after?: Progress;
  /** Base64; missing where the connection closes. */
  readonly send?: string;
}

/** A recording of one scenario. */
export interface Recording {
  readonly scenario: string;
  readonly steps: readonly Step[];
  /** By `connection:stream`. */
  readonly answers: Readonly<Record<string, Answers>>;
}

const DATA = 0;
const HEADERS = 1;
const RESET = 3;
const CONTINUATION = 9;

class Frames {
  #rest: Uint8Array = new Uint8Array(0);
  #skip: number;
  constructor(skip: number) {
    this.#skip = skip;
  }
  take(
    part: Uint8Array,
    each: (type: number, flags: number, id: number, payload: Uint8Array) => void,
  ): void {
    const bytes = new Uint8Array(this.#rest.length + part.length);
    bytes.set(this.#rest);
    bytes.set(part, this.#rest.length);
    let at = 0;
    if (this.#skip > 0) {
      if (bytes.length < this.#skip) return void (this.#rest = bytes);
      at = this.#skip;
      this.#skip = 0;
    }
    const view = new DataView(bytes.buffer);
    while (bytes.length - at >= 9) {
      const length = view.getUint32(at) >>> 8;
      if (bytes.length - at < 9 + length) break;
      const payload = bytes.subarray(at + 9, at + 9 + length);
      each(view.getUint8(at + 3), view.getUint8(at + 4), view.getUint32(at + 5), payload);
      at += 9 + length;
    }
    this.#rest = bytes.slice(at);
  }
}

class Messages {
  #rest: Uint8Array = new Uint8Array(0);
  take(part: Uint8Array): Uint8Array[] {
    const bytes = new Uint8Array(this.#rest.length + part.length);
    bytes.set(this.#rest);
    bytes.set(part, this.#rest.length);
    const found: Uint8Array[] = [];
    let at = 0;
    const view = new DataView(bytes.buffer);
    while (bytes.length - at >= 5 && bytes.length - at >= 5 + view.getUint32(at + 1)) {
      const end = at + 5 + view.getUint32(at + 1);
      found.push(bytes.slice(at + 5, end));
      at = end;
    }
    this.#rest = bytes.slice(at);
    return found;
  }
}

/** A number that stands for bytes. */
function digest(bytes: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return `${bytes.length}:${(hash >>> 0).toString(16)}`;
}

function describeChunk(chunk: Message): string {
  const { chunk_key, sequence_range = {}, data = { tensors: [] }, delta_encoded = false } = chunk;
  const { episode_id = 0n, start = 0, end = 0, sparse = false } = sequence_range;
  const tensors = data.tensors.map(digest).join(",");
  return `${chunk_key} ${episode_id} ${start}-${end} ${sparse} ${delta_encoded} ${tensors}`;
}

function describeTrajectory(trajectory: Message = { columns: [] }): string {
  return trajectory.columns.map(({ chunk_slices, squeeze = false }: Message) => {
    const slices = chunk_slices.map(({ chunk_key, offset = 0, length = 0, index = 0 }: Message) =>
      `${chunk_key}+${offset}*${length}@${index}`
    );
    return slices.join(" ") + (squeeze ? " squeezed" : "");
  }).join("; ");
}

/** What a server sends on one stream. */
class StreamReader {
  readonly answers: Answers;
  readonly #messages = new Messages();
  /** The entries of a sample that has not ended. */
  #sample: { info?: Message; chunks: Message[] } = { chunks: [] };

  constructor(call: CallName) {
    this.answers = { call, came: [] };
  }

  get progress(): number {
    return this.answers.came.length + (this.answers.status === undefined ? 0 : 1);
  }

  data(part: Uint8Array): void {
    for (const bytes of this.#messages.take(part)) {
      this.#message(decode(`${this.answers.call}Response`, bytes));
    }
  }

  #message(message: Message): void {
    const { call, came } = this.answers;
    if (call === "InsertStream") came.push(...message.keys.map(String));
    else if (call === "SampleStream") { for (const entry of message.entries) this.#entry(entry); }
    else if (call === "ServerInfo") came.push(describeTables(message.table_info));
    else if (call === "Checkpoint") came.push(typeof message.checkpoint_path);
    else if (call !== "InitializeConnection") came.push("done");
  }

  #entry({ info, data, end_of_sequence }: Message): void {
    this.#sample.info ??= info;
    this.#sample.chunks.push(...data);
    if (end_of_sequence !== true) return;
    const { item = {}, probability = 0, table_size = 0n } = this.#sample.info ?? {};
    this.answers.came.push({
      key: String(item.key),
      table: item.table,
      priority: item.priority ?? 0,
      timesSampled: item.times_sampled ?? 0,
      probability,
      tableSize: String(table_size),
      trajectory: describeTrajectory(item.flat_trajectory),
      chunks: this.#sample.chunks.map(describeChunk),
    });
    this.#sample = { chunks: [] };
  }

  headers(fields: ReadonlyMap<string, string>): void {
    const status = fields.get("grpc-status");
    if (status === undefined) return;
    this.answers.status = Number(status);
    this.answers.message = decodeURIComponent(fields.get("grpc-message") ?? "");
  }
}

/** A value without what a message need not say: zeros, and messages of nothing else. */
function withoutDefaults(value: unknown): unknown {
  if (typeof value === "bigint") return value === 0n ? undefined : String(value);
  if (value === 0 || value === false || value === "") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return digest(value);
  const entries = Object.entries(value).map(([name, each]) => [name, withoutDefaults(each)]);
  const kept = entries.filter(([_, each]) => each !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** The descriptions of tables by name, without times. Their order is a server's own. */
function describeTables(infos: readonly Message[]): unknown {
  const described = infos.map(({ table_worker_time: _time, name, ...rest }) =>
    [name, withoutDefaults(rest)] as const
  );
  return Object.fromEntries(described.toSorted(([one], [other]) => one < other ? -1 : 1));
}

/** Header blocks of one direction: they may go on in other frames. */
class Headers {
  readonly #decoder = new HpackDecoder(1 << 20);
  #block: Uint8Array = new Uint8Array(0);
  take(
    type: number,
    flags: number,
    payload: Uint8Array,
  ): ReadonlyMap<string, string> | undefined {
    let part = payload;
    if (type === HEADERS && (flags & 8) !== 0) {
      part = part.subarray(1, part.length - (part[0] ?? 0));
    }
    if (type === HEADERS && (flags & 32) !== 0) part = part.subarray(5);
    const bytes = new Uint8Array(this.#block.length + part.length);
    bytes.set(this.#block);
    bytes.set(part, this.#block.length);
    this.#block = bytes;
    if ((flags & 4) === 0) return undefined;
    this.#block = new Uint8Array(0);
    const list = this.#decoder.decode(bytes, 0, bytes.length);
    if (list instanceof HpackFault) throw new Error(list.text);
    return list.fields;
  }
}

/** Reads both directions of one connection. */
export class Dialogue {
  readonly #client = new Frames(24);
  readonly #server = new Frames(0);
  readonly #clientHeaders = new Headers();
  readonly #serverHeaders = new Headers();
  /** By stream. */
  readonly streams = new Map<number, StreamReader>();
  /** The server's word before it went away, if it said one. */
  goodbye = "";

  fromClient(part: Uint8Array): void {
    this.#client.take(part, (type, flags, id, payload) => {
      if (type === RESET) {
        const stream = this.streams.get(id);
        if (stream !== undefined && stream.answers.status === undefined) {
          stream.answers.isCancelled = true;
        }
      }
      if (type !== HEADERS && type !== CONTINUATION) return;
      const fields = this.#clientHeaders.take(type, flags, payload);
      const path = fields?.get(":path");
      if (path === undefined) return;
      this.streams.set(id, new StreamReader(path.split("/").at(-1) as CallName));
    });
  }

  fromServer(part: Uint8Array): void {
    this.#server.take(part, (type, flags, id, payload) => {
      if (type === 7) this.goodbye = new TextDecoder().decode(payload.subarray(8));
      const stream = this.streams.get(id);
      if (type === HEADERS || type === CONTINUATION) {
        const fields = this.#serverHeaders.take(type, flags, payload);
        if (fields !== undefined) stream?.headers(fields);
      } else if (type === DATA) {
        const padding = (flags & 8) !== 0 ? payload[0] ?? 0 : undefined;
        stream?.data(
          padding === undefined ? payload : payload.subarray(1, payload.length - padding),
        );
      } else if (type === RESET && stream !== undefined && stream.answers.status === undefined) {
        stream.answers.status = -1;
        stream.answers.message = `reset with ${payload[3]}`;
      }
    });
  }
}

/** Plays a recording to a server and gives its answers. `pieces` cuts what is sent into pieces of so many bytes. */
export async function replay(
  { steps, answers }: Recording,
  port: number,
  pieces = Infinity,
): Promise<Record<string, Answers>> {
  const connections = new Map<number, Replayed>();
  let wake = (): void => {};
  try {
    for (const { connection, after = {}, send } of steps) {
      let one = connections.get(connection);
      if (one === undefined) {
        one = new Replayed(await Deno.connect({ hostname: "127.0.0.1", port }), () => wake());
        connections.set(connection, one);
      }
      await untilNothingLacks((text) => (wake = text), () => lacking(after, connections));
      if (send === undefined) one.close();
      else await one.send(Uint8Array.fromBase64(send), pieces);
    }
    const last: Record<string, number> = {};
    for (const [name, { came, status, isCancelled }] of Object.entries(answers)) {
      last[name] = isCancelled === true ? 0 : came.length + (status === undefined ? 0 : 1);
    }
    await untilNothingLacks((text) => (wake = text), () => lacking(last, connections));
    const result: Record<string, Answers> = {};
    for (const [connection, { dialogue }] of connections) {
      for (const [id, stream] of dialogue.streams) result[`${connection}:${id}`] = stream.answers;
    }
    return result;
  } finally {
    for (const one of connections.values()) one.close();
  }
}

/** What a server has not answered yet; "" where nothing is. */
function lacking(after: Progress, connections: ReadonlyMap<number, Replayed>): string {
  for (const [name, wanted] of Object.entries(after)) {
    const [connection, stream] = name.split(":").map(Number);
    const dialogue = connections.get(connection ?? -1)?.dialogue;
    const reader = dialogue?.streams.get(stream ?? -1);
    const got = reader?.progress ?? 0;
    if (got >= wanted) continue;
    return `${reader?.answers.call} on ${name}: ${got} of ${wanted} answers came, ${
      JSON.stringify(reader?.answers)
    } ${dialogue?.goodbye}`;
  }
  return "";
}

async function untilNothingLacks(
  setWake: (wake: () => void) => void,
  lacks: () => string,
): Promise<void> {
  const all = async (): Promise<void> => {
    while (lacks() !== "") await new Promise<void>(setWake);
  };
  await inTime("the server answers", all()).catch((error) => {
    throw new Error(`the server does not answer: ${lacks()}`, { cause: error });
  });
}

/** One connection that is played again. */
class Replayed {
  readonly dialogue = new Dialogue();
  readonly #socket: Deno.TcpConn;
  #isClosed = false;

  constructor(socket: Deno.TcpConn, onAnswer: () => void) {
    this.#socket = socket;
    socket.setNoDelay(true);
    void this.#read(onAnswer);
  }

  async #read(onAnswer: () => void): Promise<void> {
    const buffer = new Uint8Array(1 << 16);
    for (;;) {
      const count = await this.#socket.read(buffer).catch(() => null);
      if (count === null) return;
      this.dialogue.fromServer(buffer.subarray(0, count));
      onAnswer();
    }
  }

  async send(bytes: Uint8Array, pieces: number): Promise<void> {
    this.dialogue.fromClient(bytes);
    for (let from = 0; from < bytes.length; from += pieces) {
      const piece = bytes.subarray(from, from + pieces);
      // A server that has gone away has answered already, or is found by what it lacks.
      for (let at = 0; at < piece.length && !this.#isClosed;) {
        at += await this.#socket.write(piece.subarray(at)).catch(() => piece.length);
      }
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }
}

/** What two servers should have in common: of calls that the client cut short, only what both answered. */
export function comparable(
  wanted: Readonly<Record<string, Answers>>,
  got: Readonly<Record<string, Answers>>,
): [Record<string, unknown>, Record<string, unknown>] {
  const first: Record<string, unknown> = {};
  const second: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(wanted)) {
    const other = got[name];
    if (other === undefined) {
      first[name] = one;
      continue;
    }
    // A fast pair of client and server may have said more before the client went.
    const cut = one.isCancelled === true || other.isCancelled === true;
    const length = cut ? Math.min(one.came.length, other.came.length) : Infinity;
    const strip = (answers: Answers): unknown => {
      const { call, status, message } = answers;
      // Each table confirms for itself, so the order between tables is free.
      const came = call === "InsertStream" ? answers.came.toSorted() : answers.came;
      return cut ? { call, came: came.slice(0, length) } : { call, status, message, came };
    };
    // The initial handshake may be refused or answered with nothing: clients go on alike.
    const isFree = one.call === "InitializeConnection";
    first[name] = isFree ? one.call : strip(one);
    second[name] = isFree ? other.call : strip(other);
  }
  return [first, second];
}
