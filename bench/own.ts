/**
 * Runs `deno bench bench/own` and keeps what it says for the pages of benchmarks.
 *
 * Run it: `deno task bench:own`. `--save` keeps the results for the documentation.
 *
 * @module
 */

import { inRepository } from "../tools/_repository.ts";
import { benchOptions } from "./_options.ts";
import { origin, saveResults } from "./_results.ts";
import { type OwnResult, type OwnResults, render } from "./report/own.ts";

/** The form of what `deno bench --json` says. */
interface BenchJson {
  readonly benches: readonly {
    readonly name: string;
    readonly group: string | null;
    readonly baseline: boolean;
    readonly results: readonly {
      readonly ok?: { readonly min: number; readonly p75: number; readonly avg: number };
    }[];
  }[];
}

const { save } = benchOptions("bench:own", "Runs deno bench bench/own, and prints a table of it.", [
  "save",
]);
console.error("deno bench, a minute or two ...");
const { success, stdout } = await new Deno.Command(Deno.execPath(), {
  args: ["bench", "--json", "-A", inRepository("bench", "own")],
  stdout: "piped",
  stderr: "inherit",
}).output();
if (!success) Deno.exit(1);
const { benches } = JSON.parse(new TextDecoder().decode(stdout)) as BenchJson;
const measured = benches.map(({ name, group, baseline, results }): OwnResult => {
  const found = results[0]?.ok;
  if (found === undefined) throw new Error(`deno bench told nothing of "${name}"`);
  const { min, avg, p75 } = found;
  return { name, group: group ?? "", baseline, min, avg, p75 };
});
const results: OwnResults = { ...await origin("own"), benches: measured };
console.log(render(JSON.stringify(results)));
if (save) await saveResults(results);
