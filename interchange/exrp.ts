/**
 * The command `exrp`: looks into replays, checks their files, and moves episodes between them and files of other libraries.
 *
 *     deno run -A jsr:@exrp/replay/exrp import minari cartpole/main_data.hdf5 ./pool
 *
 * @example What the command does, from a program
 * ```ts
 * import { exrp } from "@exrp/replay/exrp";
 *
 * const lines: string[] = [];
 * const status = await exrp(["verify", "no-such-folder"], { print: (line) => lines.push(line) });
 * console.log(status); // 1
 * ```
 *
 * @module
 */

import { reasonOf } from "../base/errors.ts";
import { deno } from "../base/platform.ts";
import { VERSION } from "../base/version.ts";
import { load } from "./packages.ts";
import { FORMATS } from "./_sources.ts";
import type { Commander } from "./command/commander.ts";
import { exportFrom, importInto } from "./command/move.ts";
import { inspect } from "./command/inspect.ts";
import { verify } from "./command/verify.ts";

/** Where {@linkcode exrp} writes, and what ends it. */
export interface ExrpOptions {
  /** Hears each line of the result; `console.log` by default. */
  readonly print?: (line: string) => void;
  /** Hears what went wrong; `console.error` by default. */
  readonly complain?: (line: string) => void;
  /** Hears how far a long command is, again and again. */
  readonly progress?: (text: string) => void;
  /** Ends an import or an export. */
  readonly signal?: AbortSignal;
}

/** A whole number of an option. */
function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  // Commander knows this code, and says which option it was.
  throw Object.assign(new Error("It must be a whole number."), {
    code: "commander.invalidArgument",
  });
}

/**
 * Runs the command with some arguments, and returns its exit status: 0; 1 where something failed or is damaged; 2 for arguments that it does not understand.
 *
 * @param args The command and its arguments, such as `["inspect", "./pool"]`.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { exrp } from "@exrp/replay/exrp";
 *
 * const path = `${await Deno.makeTempDir()}/replay.exrp`;
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 * await replay.serialize(path);
 * const lines: string[] = [];
 * console.log(await exrp(["verify", path], { print: (line) => lines.push(line) })); // 0
 * console.log(lines.at(-1)?.endsWith("nothing is damaged")); // true
 * ```
 */
export async function exrp(args: readonly string[], options: ExrpOptions = {}): Promise<number> {
  const {
    print = (line) => console.log(line),
    complain = (line) => console.error(line),
    progress = () => {},
    signal,
  } = options;
  let status = 0;
  try {
    const { Command } = await load<Commander>("commander");
    const program = new Command("exrp");
    program.version(VERSION).exitOverride().configureOutput({
      writeOut: (text) => print(text.trimEnd()),
      writeErr: (text) => complain(text.trimEnd()),
    }).description("Looks into replays, checks their files, and moves episodes.");
    const formats = FORMATS.join(", ");
    const watching = { print, progress, ...signal === undefined ? {} : { signal } };
    const resident = [
      "--resident <MiB>",
      "how much memory records may take, for a folder that is larger; no limit by default",
      wholeNumber,
    ] as const;
    program.command("inspect <path>")
      .description(
        "shows a durable replay's folder, or a snapshot: columns, episodes, selectors, ages, priorities",
      )
      .option(...resident)
      .action(async (path: string, given: object) => await inspect(path, given, print));
    program.command("verify <paths...>")
      .description(
        "reads folders and snapshots, checks every checksum, and changes nothing; status 1 if anything is damaged",
      )
      .action(async (paths: string[]) => {
        for (const path of paths) {
          try {
            if (!await verify(path, print)) status = 1;
          } catch (error) {
            complain(`exrp: ${reasonOf(error)}`);
            status = 1;
          }
        }
      });
    program.command("import <format> <file> <folder>")
      .description(
        `records the episodes of a file into a durable replay, which is made if there is none; formats: ${formats}`,
      )
      .option(
        "--capacity <records>",
        "how many records the replay holds from now on; a new one holds those of the file by default",
        wholeNumber,
      )
      .option(...resident)
      .option("--tag <number>", "the tag of all episodes", wholeNumber)
      .option(
        "--unfinished <what>",
        "what becomes of an episode without an end: error (the default) or truncate",
      )
      .action(async (format: string, file: string, folder: string, given: object) =>
        await importInto(format, file, folder, given, watching)
      );
    program.command("export <format> <folder> <file>")
      .description(
        `writes the ended episodes of a durable replay into a file; formats: ${formats}`,
      )
      .option(...resident)
      .option("--tag <number>", "only episodes of this tag", wholeNumber)
      .option("--fps <number>", "steps a second, for lerobot; 30 by default", wholeNumber)
      .action(async (format: string, folder: string, file: string, given: object) =>
        await exportFrom(format, folder, file, given, watching)
      );
    await program.parseAsync(args, { from: "user" });
    return status;
  } catch (error) {
    const { code = "", exitCode } = error as { readonly code?: string; readonly exitCode?: number };
    // It has said already what was wrong with the arguments.
    if (code.startsWith("commander.")) return exitCode === 0 ? 0 : 2;
    complain(`exrp: ${reasonOf(error)}`);
    return 1;
  }
}

/** Runs the program: its line of progress is on the terminal, and Ctrl-C ends it tidily. */
async function main(platform: typeof Deno): Promise<number> {
  const ending = new AbortController();
  platform.addSignalListener("SIGINT", () => ending.abort(new Error("interrupted")));
  const { stderr } = platform;
  const isShown = stderr.isTerminal();
  let isOpen = false;
  const show = (text: string): void => {
    if (!isShown) return;
    stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
    isOpen = text !== "";
  };
  const line = (write: (line: string) => void) => (text: string) => {
    if (isOpen) show("");
    write(text);
  };
  return await exrp(platform.args, {
    print: line((text) => console.log(text)),
    complain: line((text) => console.error(text)),
    progress: show,
    signal: ending.signal,
  });
}

// Other compilers do not know this word.
const { main: isMain } = import.meta as { readonly main?: boolean };
if (isMain && deno !== undefined) deno.exit(await main(deno));
