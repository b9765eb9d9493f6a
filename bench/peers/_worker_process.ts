/**
 * Starts, asks and ends one Python worker. `_worker.py` describes what both say.
 *
 * @module
 */

import type { Dataset } from "./_datasets.ts";
import type { BatchColumn, DrawnBatch } from "./_records.ts";

/** What a worker says of itself. */
export interface Hello {
  readonly version: string;
  readonly python: string;
  readonly packages: Readonly<Record<string, string>>;
}

/** The buffer that a worker filled. */
export interface OpenedThere {
  readonly calls: readonly string[];
  readonly absent: Readonly<Record<string, string>>;
  readonly note: string;
  /** How many bytes the process grew by. */
  readonly bytes: number;
  /** How many records it holds. If only memory is measured, it may hold fewer than the dataset says, to save time. */
  readonly records: number;
}

interface EncodedColumn {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly base64: string;
}

/** The error of a worker that answered with an error, or not at all. */
export class WorkerError extends Error {
  override readonly name = "WorkerError";
  /** Whether the worker still runs. */
  readonly isAlive: boolean;

  constructor(message: string, isAlive: boolean) {
    super(message);
    this.isAlive = isAlive;
  }
}

/** Numerical libraries get one thread, so that the comparison measures their work. */
const ONE_THREAD: Readonly<Record<string, string>> = {
  OMP_NUM_THREADS: "1",
  OPENBLAS_NUM_THREADS: "1",
  MKL_NUM_THREADS: "1",
  NUMBA_NUM_THREADS: "1",
};

const ANSWER_TIMEOUT_MS = 600_000;

/** A running worker. Ask one thing at a time. */
export class WorkerProcess {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #complaints: Promise<void>;
  #text = "";
  #complaint = "";

  /** Starts `script` with an interpreter. */
  constructor(python: string, script: string) {
    this.#child = new Deno.Command(python, {
      // It sees this environment's own packages only, whatever PYTHONPATH says, and leaves no bytecode beside the scripts.
      args: ["-E", "-s", "-B", script],
      env: { ...ONE_THREAD, JAX_PLATFORMS: "cpu", CUDA_VISIBLE_DEVICES: "" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#complaints = this.#listen();
  }

  async #listen(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      this.#complaint = (this.#complaint + text).slice(-2000);
    }
  }

  /** Asks for one thing and waits for the answer. */
  async #ask<Answer>(command: Readonly<Record<string, unknown>>): Promise<Answer> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), ANSWER_TIMEOUT_MS);
    try {
      await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(command)}\n`));
      const answer = JSON.parse(await this.#line()) as { ok?: Answer; error?: string };
      if (answer.ok === undefined) throw new WorkerError(answer.error ?? "no answer", true);
      return answer.ok;
    } catch (error) {
      if (error instanceof WorkerError) throw error;
      const last = this.#complaint.trim().split("\n").at(-1) ?? "";
      throw new WorkerError(last === "" ? String(error) : last.slice(0, 300), false);
    } finally {
      clearTimeout(timer);
    }
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#text.indexOf("\n");
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 1);
        return line;
      }
      const { value, done } = await this.#lines.read();
      if (done) {
        await this.#complaints;
        throw new Error("the process ended");
      }
      this.#text += value;
    }
  }

  /** Versions. */
  hello(): Promise<Hello> {
    return this.#ask({ op: "hello" });
  }

  /** Fills a buffer, which replaces the last one. */
  open(dataset: Dataset): Promise<OpenedThere> {
    return this.#ask({ op: "open", dataset });
  }

  /** Draws a batch for the check. */
  async check(): Promise<DrawnBatch> {
    const { columns, ...flags } = await this.#ask<{
      columns: Record<string, EncodedColumn>;
      crosses: boolean;
      pairs: boolean;
    }>({ op: "check" });
    const decoded = Object.entries(columns).map(([name, column]): [string, BatchColumn] => [
      name,
      { shape: column.shape, values: decode(column) },
    ]);
    return { columns: new Map(decoded), ...flags };
  }

  /** Seconds of one call, measured over about so many seconds. */
  async time(call: string, seconds: number): Promise<number> {
    const answer = await this.#ask<{ seconds: number }>({ op: "time", call, seconds });
    return answer.seconds;
  }

  /** Frees the memory of the buffer. */
  async close(): Promise<void> {
    await this.#ask({ op: "close" });
  }

  /** Ends the process. */
  async end(): Promise<void> {
    try {
      await this.#writer.close();
    } catch {
      // The process has already ended.
    }
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    await this.#child.status;
    clearTimeout(timer);
    await this.#lines.cancel();
    await this.#complaints;
  }
}

function decode({ dtype, base64 }: EncodedColumn): ArrayLike<number> {
  const { buffer } = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  switch (dtype) {
    case "uint8":
      return new Uint8Array(buffer);
    case "float32":
      return new Float32Array(buffer);
    case "float64":
      return new Float64Array(buffer);
    case "int64":
      return Array.from(new BigInt64Array(buffer), Number);
    default:
      throw new WorkerError(`a column of ${dtype}, which the driver does not know`, true);
  }
}
