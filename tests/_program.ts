/**
 * Programs that tests run, to see what a process of its own takes.
 *
 * @module
 */

import { assert } from "./_assert.ts";

/** Runs a program of the tests, and reads the numbers that it prints as JSON. */
export async function runForNumbers(
  program: string,
  ...args: readonly string[]
): Promise<Record<string, number>> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", program, ...args],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}
