/**
 * The frame of the library's programs: help, arguments, the file that they name, the signals that stop them, and an exit status.
 *
 * @module
 */

import { reasonOf } from "./errors.ts";

/** What a program has of its own. */
export interface Program<Arguments> {
  /** Its name in errors. */
  readonly name: string;
  /** What `--help` prints. */
  readonly usage: string;
  /** Reads the arguments; a text is what is wrong with them. */
  readonly readArguments: (args: readonly string[]) => Arguments | string;
  /** Runs until it is done. What it throws is printed. */
  readonly run: (args: Arguments) => Promise<unknown>;
}

/** Runs a program with these arguments; returns its exit status. */
export async function runProgram<Arguments extends object>(
  { name, usage, readArguments, run }: Program<Arguments>,
  args: readonly string[],
): Promise<number> {
  if (args.includes("--help")) {
    console.log(usage);
    return 0;
  }
  const read = readArguments(args);
  if (typeof read === "string") {
    console.error(`${read}\n\n${usage}`);
    return 2;
  }
  try {
    await run(read);
    return 0;
  } catch (error) {
    console.error(`${name}: ${reasonOf(error)}`);
    return 1;
  }
}

/**
 * Reads `--name=value` and `--name value` of these names, of which `config` is needed; a text is what is wrong.
 */
export function readOptions<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>> & { config: string }> | string {
  const found = new Map<string, string>();
  for (let k = 0; k < args.length; k++) {
    const [, name = "", value] = /^--([a-z]+)(?:=(.*))?$/s.exec(args[k] ?? "") ?? [];
    if (!(names as readonly string[]).includes(name)) return `${args[k]} is unknown`;
    if (found.has(name)) return `--${name} was given twice`;
    const given = value ?? args[++k];
    if (given === undefined || given === "") return `--${name} needs a value`;
    found.set(name, given);
  }
  if (!found.has("config")) return "--config is needed";
  return Object.fromEntries(found) as Partial<Record<Name, string>> & { config: string };
}

/** The text of the file that `--config` names. */
export async function readConfigText(platform: typeof Deno, path: string): Promise<string> {
  try {
    return await platform.readTextFile(path);
  } catch (error) {
    const words = error instanceof platform.errors.NotFound
      ? `there is no file ${path}`
      : `can't read ${path}: ${reasonOf(error)}`;
    throw new Error(`--config: ${words}`, { cause: error });
  }
}

/**
 * Signals that come so soon after the first one are the same wish. Ctrl-C reaches the whole group of processes, and `deno task` hands it on once
 * more.
 */
const SAME_WISH_MS = 500;

/** Resolves at the first signal to stop; one that comes {@linkcode SAME_WISH_MS} later or more ends the program. */
export function untilSignal(platform: typeof Deno): Promise<string> {
  return new Promise((resolve) => {
    let first: number | undefined;
    // Windows has no SIGTERM, and ends the program soon after SIGHUP.
    const signals = platform.build.os === "windows"
      ? ["SIGINT"] as const
      : ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) {
      platform.addSignalListener(signal, () => {
        first ??= performance.now();
        if (performance.now() - first >= SAME_WISH_MS) platform.exit(130);
        resolve(signal);
      });
    }
  });
}
