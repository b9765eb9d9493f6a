/**
 * The frame of the library's programs: help, arguments, and an exit status.
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
