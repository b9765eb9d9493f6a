/**
 * `net/http2` beside `node:http2` as the server of the same calls of gRPC: echoes of small messages and streams of pictures, over loopback. The
 * client is the same for both: a socket, and frames that were made before. The servers run in processes of their own, take turns, and say what
 * processor time they took.
 *
 * `deno task bench:http2` prints a table in half a minute; `--seconds=` says how long each turn takes (0.5). Its last two columns say what
 * `net/` is there for: how many times as fast as `node:http2` it is, and which part of its processor time it takes. Where both come near 1,
 * `net/README.md` says how to throw it away.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { cpus } from "node:os";
import { readArguments } from "../tools/_arguments.ts";
import { thisCpu } from "./_results.ts";
import { encodeHeaders } from "../net/http2/hpack.ts";
import { FrameType, preface, read32, write32 } from "../net/http2/protocol.ts";

const options = readArguments(
  Deno.args,
  { seconds: { type: "string", default: "0.5" } },
  "deno task bench:http2 [--seconds=0.5]: net/http2 beside node:http2",
);
if (typeof options === "number") Deno.exit(options);
const seconds = Number(options.seconds);

function frame(type: number, flags: number, id: number, payload: Uint8Array): Uint8Array {
  const whole = new Uint8Array(9 + payload.length);
  write32(whole, 0, (payload.length << 8) | type);
  whole[4] = flags;
  write32(whole, 5, id);
  whole.set(payload, 9);
  return whole;
}

function message(length: number): Uint8Array {
  const whole = new Uint8Array(5 + length);
  write32(whole, 1, length);
  return whole;
}

function word(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  write32(bytes, 0, value);
  return bytes;
}

/** Large windows and frames, and after that only frames that a test sends. */
const hello = Buffer.concat([
  preface,
  frame(
    FrameType.settings,
    0,
    0,
    Buffer.concat(
      [[4, 0x7fff_ffff], [5, 1 << 20]].map(([name = 0, value = 0]) =>
        Buffer.concat([new Uint8Array([0, name]), word(value)])
      ),
    ),
  ),
  frame(FrameType.windowUpdate, 0, 0, word(0x7fff_0000 - 65_535)),
]);

function headersOf(path: string): Uint8Array {
  return encodeHeaders([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ["user-agent", "bench"],
  ]);
}

/** A connection that counts what comes: bytes of DATA, ends of streams, and the windows that the server gives. */
class Client {
  readonly #conn: Deno.TcpConn;
  readonly #buffer = new Uint8Array(1 << 20);
  #have = 0;
  data = 0;
  /** Bytes of DATA whose windows the server got back, or that were of streams before. */
  returned = 0;
  ends = 0;
  window = 65_535;
  /** The stream whose window is counted. */
  streamId = 0;
  streamWindow = 0;
  nextId = 1;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  static async connect(port: number): Promise<Client> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    const client = new Client(conn);
    await client.write(hello);
    await client.read();
    await client.write(frame(FrameType.settings, 1, 0, new Uint8Array(0)));
    return client;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }

  /** Reads once. */
  async read(): Promise<void> {
    const count = await this.#conn.read(this.#buffer.subarray(this.#have));
    if (count === null) throw new Error("the server has ended the connection");
    this.#have += count;
    let at = 0;
    while (this.#have - at >= 9) {
      const word = read32(this.#buffer, at);
      const length = word >>> 8;
      if (this.#have - at < 9 + length) break;
      const type = word & 255;
      const flags = this.#buffer[at + 4] as number;
      if (type === FrameType.data) this.data += length;
      if (type <= 1 && (flags & 1) !== 0) this.ends++;
      if (type === FrameType.windowUpdate) {
        const id = read32(this.#buffer, at + 5);
        if (id === 0) this.window += read32(this.#buffer, at + 9);
        else if (id === this.streamId) this.streamWindow += read32(this.#buffer, at + 9);
      }
      if (type === FrameType.goAway) throw new Error("the server said GOAWAY");
      at += 9 + length;
    }
    this.#buffer.copyWithin(0, at, this.#have);
    this.#have -= at;
    const more = this.data - this.returned;
    if (more < 1 << 28) return;
    // A turn brings more than the largest window has room for.
    this.returned = this.data;
    for (const id of new Set([0, this.streamId])) {
      await this.write(frame(FrameType.windowUpdate, 0, id, word(more)));
    }
  }

  close(): void {
    this.#conn.close();
  }
}

/** A workload: returns how many operations it did in the time. */
type Work = (client: Client, until: number) => Promise<number>;

/** Unary calls, so many at once. */
function unary(inFlight: number): Work {
  const block = headersOf("/echo");
  const body = message(100);
  return async (client, until) => {
    let count = 0;
    while (performance.now() < until) {
      const parts: Uint8Array[] = [];
      for (let k = 0; k < inFlight; k++) {
        parts.push(frame(1, 4, client.nextId, block), frame(0, 1, client.nextId, body));
        client.nextId += 2;
      }
      const wanted = client.ends + inFlight;
      await client.write(Buffer.concat(parts));
      while (client.ends < wanted) await client.read();
      client.window += 1 << 20; // small messages are not counted here
      count += inFlight;
    }
    return count;
  };
}

/** Messages on one stream: `path`, bytes each way, and how many are on their way at once. */
function stream(path: string, sent: number, received: number, inFlight: number): Work {
  return async (client, until) => {
    const id = client.nextId;
    client.nextId += 2;
    client.streamId = id;
    client.streamWindow = 1 << 20;
    client.returned = client.data;
    await client.write(frame(1, 4, id, headersOf(path)));
    const one = frame(0, 0, id, message(sent));
    const many = Buffer.concat(Array(inFlight).fill(one));
    const cost = inFlight * (5 + sent);
    let count = 0;
    while (performance.now() < until) {
      while (Math.min(client.window, client.streamWindow) < cost) await client.read();
      client.window -= cost;
      client.streamWindow -= cost;
      const wanted = client.data + inFlight * (5 + received);
      await client.write(many);
      while (client.data < wanted) await client.read();
      count += inFlight;
    }
    const wanted = client.ends + 1;
    await client.write(frame(0, 1, id, new Uint8Array(0)));
    while (client.ends < wanted) await client.read();
    return count;
  };
}

const picture = 28_224;
const works: readonly (readonly [name: string, work: Work, bytes: number])[] = [
  ["unary echo of 100 bytes, one at a time", unary(1), 0],
  ["unary echo of 100 bytes, 32 at a time", unary(32), 0],
  ["echo of 100 bytes on one stream, one at a time", stream("/echo", 100, 100, 1), 0],
  ["echo of 100 bytes on one stream, 32 at a time", stream("/echo", 100, 100, 32), 0],
  ["28,224 bytes in, 16 at a time", stream("/sink", picture, 0, 16), picture],
  ["28,224 bytes out, 16 at a time", stream("/source", 0, picture, 16), picture],
];

/** A server in a process of its own. */
class Server {
  readonly #child: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  #text = "";
  port = 0;

  constructor(kind: string) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", new URL("./http2/server.ts", import.meta.url).href, kind],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#input = this.#child.stdin.getWriter();
  }

  async line(): Promise<number> {
    while (!this.#text.includes("\n")) this.#text += (await this.#lines.read()).value ?? "";
    const at = this.#text.indexOf("\n");
    const line = this.#text.slice(0, at);
    this.#text = this.#text.slice(at + 1);
    return Number(line);
  }

  /** Microseconds of processor time so far. */
  async cpu(): Promise<number> {
    await this.#input.write(new TextEncoder().encode("\n"));
    return await this.line();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

const servers = { ours: new Server("ours"), node: new Server("node") };
for (const server of Object.values(servers)) server.port = await server.line();
console.log(`${thisCpu()}, ${cpus().length} cores; Deno ${Deno.version.deno}\n`);
console.log(
  "| workload | `net/http2` | its processor time | `node:http2` | its processor time | times as fast | of its processor time |",
);
console.log("|---|---:|---:|---:|---:|---:|---:|");
for (const [name, work, bytes] of works) {
  const best = { ours: [0, Infinity], node: [0, Infinity] };
  for (let turn = 0; turn < 4; turn++) {
    for (const kind of ["ours", "node"] as const) {
      const server = servers[kind];
      const client = await Client.connect(server.port);
      await work(client, performance.now() + 200 * seconds);
      const cpu = await server.cpu();
      const start = performance.now();
      const count = await work(client, start + 1000 * seconds);
      const perSecond = 1000 * count / (performance.now() - start);
      const each = (await server.cpu() - cpu) / count;
      const [speed = 0, least = 0] = best[kind];
      best[kind] = [Math.max(speed, perSecond), Math.min(least, each)];
      client.close();
    }
  }
  const cells = (["ours", "node"] as const).flatMap((kind) => {
    const [speed = 0, cpu = 0] = best[kind];
    const rate = bytes > 0
      ? `${Math.round(speed * bytes / 1e6).toLocaleString("en")} MB/s`
      : `${Math.round(speed).toLocaleString("en")} a second`;
    return [rate, `${cpu.toFixed(1)} µs`];
  });
  const [ratio = 0, part = 0] = best.ours.map((value, k) => value / (best.node[k] ?? 1));
  cells.push(ratio.toFixed(1), `${Math.round(100 * part)} %`);
  console.log(`| ${[name, ...cells].join(" | ")} |`);
}
for (const server of Object.values(servers)) server.kill();
