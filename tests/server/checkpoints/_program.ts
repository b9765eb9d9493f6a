/** The program of `deno task serve` in a process of its own, which a test may kill. */
import { inRepository } from "../../../tools/_repository.ts";

/** A server in a process of its own. */
export interface Program {
  readonly port: number;
  /** What it has printed until it served. */
  readonly printed: string;
  readonly process: Deno.ChildProcess;
  /** What it prints after that, once it has ended; what it says of errors comes last. */
  readonly rest: Promise<string>;
}

/** Writes a configuration into a file. */
export async function writeConfig(path: string, config: unknown): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(config));
}

/** Starts the program, by way of `shell` if that is given: a text that ends by running `"$@"`. Throws with what it says if it does not serve. */
export async function startProgram(config: string, shell?: string): Promise<Program> {
  const args = [
    ...["run", "--quiet", "--no-prompt", "--no-check", "--allow-read", "--allow-write"],
    ...["--allow-env", "--allow-ffi", "--allow-net=127.0.0.1"],
    inRepository("server", "main.ts"),
    `--config=${config}`,
  ];
  const options = { stdout: "piped", stderr: "piped" } as const;
  const process = shell === undefined
    ? new Deno.Command(Deno.execPath(), { args, ...options }).spawn()
    : new Deno.Command("bash", {
      args: ["-c", shell, "bash", Deno.execPath(), ...args],
      ...options,
    })
      .spawn();
  const { printed, rest } = await printedUntil(process, /status: /);
  const port = Number(/ on 127\.0\.0\.1:(\d+)\n/.exec(printed)?.[1]);
  return { port, printed, process, rest };
}

/** What a program prints until the words come, and the rest. Throws with all that it said if it ends before, such as where the kernel is stale. */
export async function printedUntil(
  process: Deno.ChildProcess,
  words: RegExp,
): Promise<Pick<Program, "printed" | "rest">> {
  const errors = new Response(process.stderr).text();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  while (!words.test(printed)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the program ended: ${printed}${await errors}`);
    printed += value;
  }
  const readRest = async (): Promise<string> => {
    let text = "";
    for (let part; (part = await reader.read()), !part.done;) text += part.value;
    return text + await errors;
  };
  return { printed, rest: readRest() };
}
