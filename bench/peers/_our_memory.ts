/**
 * What our filled replay takes, measured as that of the peers is: in a process of its own, so that no garbage of the driver counts.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Dataset } from "./_datasets.ts";

/** What `worker_ours.ts` says. */
export interface OurMemory {
  /** Bytes that the process grew by. */
  readonly grown: number;
  /** Bytes that `describe()` says the replay holds. */
  readonly described: number;
  /** What is wrong with a batch, or nothing. */
  readonly wrong: string;
}

/** Fills a replay in a new process; throws an `Error` with what it said where it fails. */
export async function measureOurMemory(dataset: Dataset): Promise<OurMemory> {
  const script = fileURLToPath(new URL("worker_ours.ts", import.meta.url));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--allow-read", "--allow-env", "--allow-ffi", "--allow-sys"],
      ...["--v8-flags=--expose-gc", script, JSON.stringify(dataset)],
    ],
    env: { NO_COLOR: "1" },
  }).output();
  const said = new TextDecoder().decode(success ? stdout : stderr).trim();
  if (!success) {
    const lines = said.split("\n");
    throw new Error(lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1));
  }
  return JSON.parse(said) as OurMemory;
}
