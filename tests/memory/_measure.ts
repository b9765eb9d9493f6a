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

/** What a process of its own grew by. */
export async function measure(plan: Plan): Promise<Measured> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-all",
      `--v8-flags=${ENGINE.join(",")}`,
      new URL("_program.ts", import.meta.url).pathname,
      JSON.stringify(plan),
    ],
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${JSON.stringify(plan)} ended with ${code}: ${text(stderr)}`);
  return JSON.parse(text(stdout));
}
