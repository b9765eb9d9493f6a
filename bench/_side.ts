/**
 * A process that measures one side of a comparison. It answers each line of its standard input with a line.
 *
 * @module
 */

/** The process. Ask one thing at a time. */
export class Side {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  /** Starts a program in a folder. */
  constructor(folder: string, [program, ...args]: readonly [string, ...string[]]) {
    this.#child = new Deno.Command(program, { args, cwd: folder, stdin: "piped", stdout: "piped" })
      .spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    while (!this.#text.includes("\n")) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error("a measuring process ended early");
      this.#text += value;
    }
    const at = this.#text.indexOf("\n");
    const line = this.#text.slice(0, at);
    this.#text = this.#text.slice(at + 1);
    return line;
  }

  /** Writes a line, and returns its answer. */
  async ask(question: string): Promise<string> {
    await this.#writer.write(new TextEncoder().encode(`${question}\n`));
    return await this.line();
  }

  /** Ends it. */
  async close(): Promise<void> {
    await this.#writer.close();
    await this.#child.status;
  }
}
