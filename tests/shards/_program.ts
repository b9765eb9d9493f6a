/**
 * Programs that tests run beside themselves, and kill.
 *
 * @module
 */

import { until } from "../_wait.ts";
import { inRepository } from "../../tools/_repository.ts";

/** A process of the test, with what it prints. */
export class Program {
  readonly child: Deno.ChildProcess;
  said = "";
  /** The last argument: of an actor, its number. */
  readonly actor: number;
  readonly #read: Promise<void>;

  /** @param before What is called with the command, such as what runs it on another machine. */
  constructor(script: string, args: readonly string[], before: readonly string[] = []) {
    this.actor = Number(args.at(-1));
    const [command = "", ...rest] = [
      ...before,
      ...[Deno.execPath(), "run", "-A", "--no-check", "--quiet", "--lock=deno.lock"],
      ...[inRepository(script), ...args],
    ];
    const child = new Deno.Command(command, {
      args: rest,
      cwd: inRepository(),
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.child = child;
    this.#read = (async () => {
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        this.said += text;
      }
    })();
  }

  async until(text: string): Promise<void> {
    await until(`a process says ${text}`, () => this.said.includes(text));
  }

  async end(signal: Deno.Signal | undefined): Promise<void> {
    try {
      if (signal !== undefined) this.child.kill(signal);
      else await this.child.stdin.getWriter().write(new Uint8Array(1));
    } catch {
      // It has ended.
    }
    await this.#read;
    await this.child.status;
    await this.child.stdin.close().catch(() => {});
  }
}

/** How many records an actor said to be confirmed. */
export function confirmedOf({ said }: Program): number {
  return Number([...said.matchAll(/^confirmed (\d+)\n/gm)].at(-1)?.[1] ?? 0);
}
