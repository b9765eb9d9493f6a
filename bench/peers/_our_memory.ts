/**
 * Measures the memory of our filled replay as that of the peers. It has a process of its own, so the driver's garbage does not count.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Dataset } from "./_datasets.ts";

/** What `worker_ours.ts` prints. */
export interface OurMemory {
  /** How many bytes the process grew by. */
  readonly grown: number;
  /** How many bytes the replay holds, by `describe()`. */
  readonly described: number;
  /** What is wrong with a batch; empty if nothing is. */
  readonly wrong: string;
}

/** Fills a replay in a new process. If it fails, throws an `Error` with its message. */
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
