/**
 * Reverb's own server as a process.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

/** A selector of a real table. */
export interface RealSelector {
  readonly kind: "uniform" | "prioritized" | "fifo" | "lifo" | "min_heap" | "max_heap";
  /** Of `prioritized`. */
  readonly exponent?: number;
}

/** A rate limiter of a real table. */
export type RealRateLimiter =
  | { readonly kind: "min_size"; readonly min_size: number }
  | { readonly kind: "queue" | "stack"; readonly size: number }
  | {
    readonly kind: "sample_to_insert_ratio";
    readonly samples_per_insert: number;
    readonly min_size: number;
    readonly error_buffer: number | readonly [number, number];
  };

/** A nest of a signature: a leaf has a dtype of TensorFlow. */
export type RealSignature =
  | { readonly dtype: string; readonly shape: readonly (number | null)[]; readonly name?: string }
  | { readonly namedTuple: string; readonly fields: readonly (readonly [string, RealSignature])[] }
  | readonly RealSignature[]
  | { readonly [name: string]: RealSignature };

/** A table of a real server. */
export interface RealTable {
  readonly name: string;
  readonly sampler: RealSelector;
  readonly remover: RealSelector;
  readonly max_size: number;
  readonly rateLimiter: RealRateLimiter;
  /** 0 or nothing: without limit. */
  readonly max_times_sampled?: number;
  readonly signature?: RealSignature;
}

/** A plain table: uniform, fifo, a million items, at least one. */
export function plainTable(name: string, changes: Partial<RealTable> = {}): RealTable {
  return {
    name,
    sampler: { kind: "uniform" },
    remover: { kind: "fifo" },
    max_size: 1_000_000,
    rateLimiter: { kind: "min_size", min_size: 1 },
    ...changes,
  };
}

/** A real Reverb server in a process of its own. It ends with this object, and with this process. */
export class RealServer implements AsyncDisposable {
  /** Its port. It listens on all addresses. */
  readonly port: number;
  /** The folder of its checkpoints. */
  readonly checkpoints: string;
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: () => Promise<string>;
  readonly #isTemporary: boolean;

  private constructor(
    child: Deno.ChildProcess,
    lines: () => Promise<string>,
    port: number,
    checkpoints: string,
    isTemporary: boolean,
  ) {
    this.#child = child;
    this.#writer = child.stdin.getWriter();
    this.#lines = lines;
    this.port = port;
    this.checkpoints = checkpoints;
    this.#isTemporary = isTemporary;
  }

  /** Starts a server, which takes about five seconds. Its checkpoints are in `checkpoints`, or in a folder that goes with it. */
  static async start(
    python: string,
    tables: readonly RealTable[],
    checkpoints?: string,
    wantedPort?: number,
  ): Promise<RealServer> {
    const checkpoint = checkpoints ?? await Deno.makeTempDir({ prefix: "exrp_reverb_" });
    const script = fileURLToPath(new URL("real_server.py", import.meta.url));
    const child = new Deno.Command(python, {
      args: ["-E", "-s", "-B", script, JSON.stringify({ tables, checkpoint, port: wantedPort })],
      env: { TF_CPP_MIN_LOG_LEVEL: "3" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const lines = lineReader(child.stdout);
    const { port } = JSON.parse(await lines());
    return new RealServer(child, lines, port, checkpoint, checkpoints === undefined);
  }

  /** Its process. */
  get pid(): number {
    return this.#child.pid;
  }

  /** What `Table.can_sample` says. */
  canSample(table: string, count: number): Promise<boolean> {
    return this.#ask({ can_sample: [table, count] });
  }

  /** What `Table.can_insert` says. */
  canInsert(table: string, count: number): Promise<boolean> {
    return this.#ask({ can_insert: [table, count] });
  }

  async #ask(question: unknown): Promise<boolean> {
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(question)}\n`));
    return JSON.parse(await this.#lines());
  }

  /** Kills it as `kill -9` does. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#child.status;
    await this.#child.stdout.cancel().catch(() => {});
    if (this.#isTemporary) await Deno.remove(this.checkpoints, { recursive: true });
  }
}

/** Gives the lines of a stream one by one. The end of the stream is an error. */
export function lineReader(stream: ReadableStream<Uint8Array<ArrayBuffer>>): () => Promise<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return async (): Promise<string> => {
    for (;;) {
      const end = text.indexOf("\n");
      if (end >= 0) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        return line;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error("the real server ended before it answered");
      text += value;
    }
  };
}
