/**
 * One variant of `bench:paper`, in a process of its own. A process that has opened two kernels records at half the speed. Presumably V8
 * makes a native call fast only where it is always the same one.
 *
 * Reads one question a line, `{ variant, kernelPath?, k, s, batches }`. It answers each with a line: its {@linkcode Cell}.
 *
 * @module
 */

import { type Cell, type CellSize, measureOurs, measurePlain } from "./_paper_measure.ts";

/** A question. */
interface Question extends CellSize {
  readonly variant: "plain" | "ours" | "cmake";
  readonly kernelPath?: string;
  readonly batches: number;
}

/** A process that measures one variant. */
export class PaperWorker implements AsyncDisposable {
  readonly #question: Omit<Question, "k" | "s" | "batches">;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;

  /** Starts the process. */
  constructor(variant: Question["variant"], kernelPath?: string) {
    this.#question = { variant, ...(kernelPath === undefined ? {} : { kernelPath }) };
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "-A", new URL(import.meta.url).pathname],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#lines = linesOf(this.#child.stdout);
  }

  /** Measures a cell. */
  async measure({ k, s }: CellSize, batches: number): Promise<Cell> {
    const question: Question = { ...this.#question, k, s, batches };
    await this.#input.write(new TextEncoder().encode(JSON.stringify(question) + "\n"));
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the process that measures ${question.variant} ended`);
    return JSON.parse(value) as Cell;
  }

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close();
    await this.#child.status;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

if (import.meta.main) {
  for await (const line of linesOf(Deno.stdin.readable)) {
    const { variant, kernelPath, batches, ...size } = JSON.parse(line) as Question;
    const cell = variant === "plain"
      ? measurePlain(size, batches)
      : await measureOurs(size, batches, kernelPath);
    console.log(JSON.stringify(cell));
  }
}
