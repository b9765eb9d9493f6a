/**
 * Bytes that nobody should send, for an HTTP/2 connection with gRPC calls on it. The tests run it for a while, and
 * `deno task fuzz:frames` for long, without any permission.
 *
 * An input is a conversation of frames, some of them damaged. After each piece, `receive()` must have thrown nothing, the invariants must
 * hold, the output must be whole frames of a bounded size, and what is held must be bounded.
 */
import { type GrpcCall, GrpcConnection } from "../../../net/grpc/calls.ts";
import { HeldBytes } from "../../../net/grpc/held_bytes.ts";
import { HpackDecoder } from "../../../net/http2/hpack.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { readArguments } from "../../../tools/_arguments.ts";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { cutFrames, frame, hello, join, requestFields, word } from "./_peer.ts";

/** What an input led to; the counts show that the fuzzing reaches what it should. */
export interface FuzzCounts {
  inputs: number;
  frames: number;
  calls: number;
  messages: number;
  ended: number;
  goAways: number;
  /** By the code of the GOAWAY. */
  readonly codes: Map<number, number>;
  mostOutput: number;
  mostHeld: number;
}

const fieldTexts = [
  ...[":method", ":path", ":scheme", ":status", "content-type", "te", "x", "grpc-timeout"],
  ...["POST", "/a.B/C", "http", "application/grpc", "trailers", "1S", "0n", "99999999H", "", "X y"],
];

const startOfRequest = encodeHeaders(requestFields);

/** Makes inputs of a seed. */
export class Fuzzer {
  readonly #random: RandomStream;
  readonly counts: FuzzCounts = {
    inputs: 0,
    frames: 0,
    calls: 0,
    messages: 0,
    ended: 0,
    goAways: 0,
    codes: new Map(),
    mostOutput: 0,
    mostHeld: 0,
  };
  #now = 0;
  /** The streams that the input at hand has opened and not ended. */
  #opened: number[] = [];
  #lastId = -1;

  /** A fuzzer whose inputs follow from the seed. */
  constructor(seed: number) {
    this.#random = new RandomStream(seed);
  }

  #below(bound: number): number {
    return this.#random.below(bound);
  }

  #bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.#random.next() & 255);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)] as T;
  }

  /** A block of headers: right, made of random fields, damaged, or noise. */
  #block(): Uint8Array {
    const kind = this.#below(10);
    if (kind < 5) return startOfRequest;
    if (kind < 7) {
      const fields = Array.from(
        { length: this.#below(8) },
        () => [this.#pick(fieldTexts), this.#pick(fieldTexts)] as const,
      );
      return encodeHeaders(kind === 5 ? fields : [...requestFields, ...fields]);
    }
    if (kind === 7) {
      // A field that goes into the table.
      return join(
        startOfRequest,
        new Uint8Array([0x40, 1, 97 + this.#below(26), 2]),
        this.#bytes(2),
      );
    }
    return kind === 8 ? this.#damage(startOfRequest.slice()) : this.#bytes(this.#below(40));
  }

  /** Messages of gRPC, at times with a wrong prefix. */
  #messages(): Uint8Array {
    const parts: Uint8Array[] = [];
    for (let k = this.#below(4); k > 0; k--) {
      const body = this.#bytes(this.#below(60));
      const odd = this.#below(20);
      const length = odd === 0 ? this.#random.next() : body.length + (odd === 1 ? 1 : 0);
      parts.push(new Uint8Array([odd === 2 ? this.#below(256) : 0]), word(length), body);
    }
    return join(...parts);
  }

  /** A frame that a client might send, by the streams that it has opened. */
  #likelyFrame(): Uint8Array {
    const id = this.#opened.length > 0 ? this.#pick(this.#opened) : 0;
    const act = this.#below(20);
    if (id === 0 || act < 4) {
      this.#lastId += 2;
      this.#opened.push(this.#lastId);
      const block = this.#below(4) === 0 ? this.#block() : startOfRequest;
      return frame(1, this.#below(6) === 0 ? 5 : 4, this.#lastId, block);
    }
    if (act < 14) {
      const isEnd = this.#below(8) === 0;
      if (isEnd) this.#opened.splice(this.#opened.indexOf(id), 1);
      if (this.#below(5) > 0) return frame(0, isEnd ? 1 : 0, id, this.#messages());
      const padding = this.#below(9);
      const padded = join(new Uint8Array([padding]), this.#messages(), new Uint8Array(padding));
      return frame(0, isEnd ? 9 : 8, id, padded);
    }
    switch (act) {
      case 14:
        this.#opened.splice(this.#opened.indexOf(id), 1);
        return frame(3, 0, id, word(8));
      case 15:
        return frame(8, 0, this.#pick([0, id]), word(1 + this.#below(30_000)));
      case 16:
        return frame(6, 0, 0, this.#bytes(8));
      case 17: {
        const value = this.#pick([0, 1, 300, 65_535, 100_000]);
        return frame(4, 0, 0, join(new Uint8Array([0, this.#pick([1, 4])]), word(value)));
      }
      case 18:
        this.#opened.splice(this.#opened.indexOf(id), 1);
        return frame(1, 5, id, encodeHeaders([["x", "y"]]));
      default:
        return frame(0x77, 0, id, this.#bytes(this.#below(30)));
    }
  }

  #frame(): Uint8Array {
    if (this.#below(25) > 0) return this.#likelyFrame();
    const ids = [0, 1, 1, 1, 3, 3, 5, 7, 2, 9, 0x7fff_ffff];
    const id = this.#pick(ids);
    const flags = this.#below(8) === 0 ? this.#below(256) : this.#pick([0, 0, 1, 4, 5]);
    switch (this.#below(16)) {
      case 0:
      case 1:
      case 2:
        return frame(1, flags, id, this.#block());
      case 3:
      case 4:
      case 5:
      case 6:
        return frame(0, flags & ~4, id, this.#messages());
      case 7:
        return frame(3, flags, id, word(this.#below(20)));
      case 8: {
        const value = this.#pick([0, 1, 100, 65_535, 16_384, 0x7fff_ffff, this.#random.next()]);
        const pair = join(new Uint8Array([0, this.#below(8)]), word(value));
        return frame(
          4,
          this.#pick([0, 0, 0, 1]),
          0,
          this.#below(9) === 0 ? new Uint8Array(0) : pair,
        );
      }
      case 9:
        return frame(6, flags, 0, this.#bytes(8));
      case 10:
      case 11:
        return frame(8, 0, id, word(this.#pick([1, 9, 1000, 0, 65_535, this.#random.next()])));
      case 12:
        return frame(9, flags, id, this.#block());
      case 13:
        return frame(2, flags, id, this.#bytes(5));
      case 14:
        return frame(7, flags, 0, this.#bytes(8 + this.#below(9)));
      default:
        return frame(this.#below(256), flags, id, this.#bytes(this.#below(40)));
    }
  }

  #damage(bytes: Uint8Array): Uint8Array {
    for (let k = this.#below(3); k >= 0; k--) {
      if (bytes.length === 0) return bytes;
      const at = this.#below(bytes.length);
      const how = this.#below(3);
      if (how === 0) bytes[at] = this.#random.next() & 255;
      else if (how === 1) bytes[at] = (bytes[at] as number) ^ (1 << this.#below(8));
      else return bytes.subarray(0, at);
    }
    return bytes;
  }

  /** One input. Throws what is wrong. */
  run(): void {
    const { counts } = this;
    counts.inputs++;
    this.#opened = [];
    this.#lastId = -1;
    const held = new HeldBytes(this.#pick([150, 100_000]));
    const calls: GrpcCall[] = [];
    const connection = new GrpcConnection({
      held,
      limits: {
        messageMax: 10_000,
        streamWindow: 65_535,
        connectionWindow: 1 << 20,
        outputMax: 30_000,
      },
      now: () => this.#now,
      onError: (error) => {
        if (!(error instanceof RangeError && error.message === "a handler's fault")) throw error;
      },
      handler: (path) => {
        if (path !== "/a.B/C") return undefined;
        return (call) => this.#serve(call, calls);
      },
    });
    const noise = this.#below(20);
    if (noise === 0) this.#send(connection, held, this.#bytes(this.#below(100)));
    else this.#send(connection, held, noise === 1 ? this.#damage(hello.slice()) : hello);
    for (let k = 2 + this.#below(30); k > 0 && !connection.isClosed; k--) {
      const bytes = this.#frame();
      counts.frames++;
      this.#send(connection, held, this.#below(60) === 0 ? this.#damage(bytes) : bytes);
      const act = this.#below(30);
      const call = calls.length > 0 ? this.#pick(calls) : undefined;
      if (act === 0) call?.resume();
      else if (act === 1) call?.finish(this.#below(17), "words\u00e4%\n");
      else if (act === 2) connection.shutDown();
      else if (act === 3) {
        this.#now += 10_000;
        connection.tick(10_000);
      }
      this.#take(connection);
    }
    connection.close();
    this.#take(connection);
    if (held.count !== 0) throw new Error(`${held.count} bytes are held after the end`);
    if (connection.streamCount !== 0) throw new Error("a call is open after the end");
    for (const call of calls) if (!call.isOver) throw new Error("a call is not over after the end");
  }

  #serve(
    call: GrpcCall,
    calls: GrpcCall[],
  ): { onMessage(message: Uint8Array): void; onHalfClose(): void; onCancel(): void } {
    const { counts } = this;
    calls.push(call);
    counts.calls++;
    let isEnded = false;
    const check = (): void => {
      if (isEnded) throw new Error("a call is told of something after its end");
    };
    return {
      onMessage: (message) => {
        check();
        counts.messages++;
        const act = this.#below(12);
        if (act === 0) call.pause();
        else if (act === 1) call.finish(this.#below(17));
        else if (act === 2) throw new RangeError("a handler's fault");
        else if (act < 6) call.send(message);
        else if (act < 8) {
          call.sendInto(100, (target) => act === 6 ? undefined : target.length >> 1);
        } else if (act === 8) call.send(new Uint8Array(20_000));
      },
      onHalfClose: () => {
        check();
        counts.ended++;
        isEnded = true;
        call.finish(0);
      },
      onCancel: () => {
        check();
        isEnded = true;
      },
    };
  }

  /** Sends bytes in pieces. */
  #send(connection: GrpcConnection, held: HeldBytes, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length || at === 0;) {
      const to = this.#below(3) === 0 ? at + 1 + this.#below(30) : bytes.length;
      const piece = bytes.slice(at, to);
      connection.receive(piece);
      piece.fill(0x55);
      at = Math.max(to, 1);
      this.counts.mostHeld = Math.max(this.counts.mostHeld, held.count);
      if (held.count > held.max) throw new Error(`${held.count} bytes are held`);
      if (this.#below(4) === 0) this.#take(connection);
    }
  }

  #take(connection: GrpcConnection): void {
    for (let turns = 0;; turns++) {
      const output = connection.takeOutput();
      if (output === undefined) return;
      if (turns > 1000) throw new Error("the output does not end");
      this.counts.mostOutput = Math.max(this.counts.mostOutput, output.length);
      if (output.length > 30_000 + (1 << 20) + 1000) throw new Error("the output is too long");
      for (const { type, payload } of cutFrames(output)) {
        if (type !== 7) continue;
        this.counts.goAways++;
        const code = payload[7] as number;
        this.counts.codes.set(code, (this.counts.codes.get(code) ?? 0) + 1);
      }
    }
  }

  /** One block for the decoder of HPACK alone, which keeps its table over `blocks`. */
  runHpack(blocks: number): void {
    const decoder = new HpackDecoder(1000);
    for (let k = 0; k < blocks; k++) {
      this.counts.inputs++;
      const bytes = this.#below(3) === 0 ? this.#bytes(this.#below(60)) : this.#block();
      const from = this.#below(3);
      const block = join(new Uint8Array(from), bytes, new Uint8Array(3));
      const list = decoder.decode(block, from, from + bytes.length);
      if (decoder.tableSize > 4096 || decoder.tableSize < 32 * decoder.tableCount) {
        throw new Error(`a table of ${decoder.tableSize} bytes, ${decoder.tableCount} entries`);
      }
      if (!("text" in list)) {
        let size = 0;
        for (const [name, value] of list.fields) size += name.length + value.length;
        if (size > 1000) throw new Error(`${size} bytes of fields`);
      }
    }
  }
}

if (import.meta.main) {
  const options = readArguments(
    Deno.args,
    { seed: { type: "string" }, inputs: { type: "string", default: "1000000" } },
    "deno task fuzz:frames [--seed=N] [--inputs=1000000]",
  );
  if (typeof options === "number") Deno.exit(options);
  const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 32));
  const inputs = Number(options.inputs);
  console.log(`seed ${seed}`);
  const fuzzer = new Fuzzer(seed);
  const start = performance.now();
  while (fuzzer.counts.inputs < inputs) {
    try {
      fuzzer.run();
      fuzzer.runHpack(5);
    } catch (error) {
      console.error(`seed ${seed}, input ${fuzzer.counts.inputs}`);
      throw error;
    }
  }
  console.log(fuzzer.counts);
  const { heapUsed } = Deno.memoryUsage();
  console.log(`${Math.round(performance.now() - start)} ms, ${heapUsed >> 20} MiB of heap`);
}
