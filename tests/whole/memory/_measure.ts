/**
 * Runs the program of `_program.ts` in a process of its own.
 *
 * @module
 */

import type { Measured, Plan } from "./_program.ts";

/** Whether a process can be measured here. */
export const CAN_MEASURE = Deno.build.os === "linux";

/** With these, the engine's own memory hardly changes. */
const ENGINE = [
  "--expose-gc",
  "--min-semi-space-size=1",
  "--max-semi-space-size=1",
  "--single-threaded",
  "--no-opt",
];

/** What happened to a replay in a process that could not have all the memory it needed. */
export interface Limited {
  /** The error of the first call that failed. */
  readonly refusal: string;
  /** How many records there were after it. */
  readonly refusedAt: number;
  /** How many there were after 100,000 more, once there was memory. */
  readonly wentOnTo: number;
  /** How many of 5000 drawn records were not those that were written. */
  readonly wrong: number;
}

/** What a process of its own grew by. */
export function measure(plan: Plan): Promise<Measured> {
  return run("_program.ts", JSON.stringify(plan));
}

/** Fills a replay in a process that may not have enough memory. */
export function fillLimited(): Promise<Limited> {
  return run("_limited.ts", "");
}

async function run<Answer>(program: string, argument: string): Promise<Answer> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-all",
      `--v8-flags=${ENGINE.join(",")}`,
      new URL(program, import.meta.url).pathname,
      argument,
    ],
    // A plan says itself where it is measured on WebAssembly. A thread that the engine starts takes no heap of its own, for which glibc
    // would set 64 MiB of address space aside.
    env: { EXRP_BACKEND: "", MALLOC_ARENA_MAX: "1" },
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${program} ${argument} ended with ${code}: ${text(stderr)}`);
  return JSON.parse(text(stdout));
}
