/**
 * How far this library is from the limit. Each workload takes turns with the shortest native loop that moves the same bytes
 * (`bench/limit.cpp`), within one process. Ours is the whole public call from TypeScript. Batches are reused unless a workload says
 * otherwise.
 *
 * Run it: `deno task bench:limit`. `--quick` takes a tenth of the time, and `--filter=<part of a name>` selects workloads. `--save` keeps
 * the results of a whole run for the pages of benchmarks and `bench:check`.
 *
 * @module
 */

import { measureLimit } from "./_limit_measure.ts";
import { benchOptions } from "./_options.ts";
import { noneMatches, origin, resultsPath, saveResults } from "./_results.ts";
import { floorLines } from "./_verdicts.ts";
import { render } from "./report/limit.ts";

const { quick, filter, save } = benchOptions(
  "bench:limit",
  "Times each workload beside the shortest native loop that moves the same bytes.",
  ["quick", "filter", "save"],
);
const { workloads, names, cpu, calls } = await measureLimit({
  logFloors: true,
  quick,
  filter: (name) => name.includes(filter),
});
if (workloads.length === 0) noneMatches(filter, names);
const results = { ...await origin("limit"), limitCpu: cpu, workloads, ...(calls && { calls }) };
console.log(render([results]));
console.log(
  "What counts is the ratio of the smallest figures; the median is there to see noise by.",
);
for (const line of floorLines(workloads, calls)) console.log(line);
if (save) await saveResults(results, resultsPath(results.bench, results.machine.cpu));
