/**
 * How many replays and sets of tables are open, and what to do where they are many.
 *
 * Each takes some of the memory maps that the system allows a process: Linux allows 65,530, and a large replay takes 36 or more.
 *
 * @module
 */

import type { KernelSymbols } from "./symbols.ts";

/** What is asked of a kernel here. */
interface Counted {
  readonly backend: "native" | "wasm";
  readonly symbols: Pick<KernelSymbols, "exrp_replay_count" | "exrp_tables_count">;
}

/** Finalizers get a turn after so many more were made, where so many are open. */
const TURN_EVERY = 128;
/** From so many on, it may be their number, and not their size, for which there is no memory. */
const MANY = 500;

/** How many replays and sets of tables are open in this process, with those that were forgotten and not freed yet. */
function openCount({ symbols }: Counted): number {
  return symbols.exrp_replay_count() + symbols.exrp_tables_count();
}

// As it was before a test of somebody's replaced it by a clock of its own.
const { setTimeout } = globalThis;
let madeSinceTurn = 0;

/**
 * Called for each that is made. It waits for a turn of the event loop now and then where many are open: finalizers free those that the program
 * has forgotten only then. A program that makes one after another may otherwise never take one.
 */
export async function freeForgotten(kernel: Counted): Promise<void> {
  madeSinceTurn += 1;
  if (madeSinceTurn < TURN_EVERY || openCount(kernel) < TURN_EVERY) return;
  madeSinceTurn = 0;
  await new Promise((done) => setTimeout(done, 0));
}

/** A hint for an error about memory, where many are open; else nothing. */
export function manyOpenText(kernel: Counted): string {
  const count = openCount(kernel);
  return kernel.backend === "wasm" || count < MANY
    ? ""
    : `; ${count} replays and sets of tables are open in this process, which may be more than the system has memory maps for: end those that you no longer need, by \`using\` or [Symbol.dispose]()`;
}
