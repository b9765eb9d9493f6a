/**
 * The regression guard. It measures how far this library is from the limit. It compares the ratios with the committed ones of the same
 * kind of processor, in `bench/results`. It fails if a ratio is more than 1.5 times the committed one. What seems worse is measured a
 * second time, and the smallest figures of both runs count.
 *
 * It compares ratios within one run and not times. So it also works on another machine, if that is like the one of the results.
 *
 * Run it: `deno task bench:check`, or with `--filter=<part of a name>`. It is not part of the tests.
 *
 * @module
 */

import { measureLimit } from "./_limit_measure.ts";
import { benchOptions } from "./_options.ts";
import { noneMatches, originLine, resultsPath, thisCpu } from "./_results.ts";
import { bestOf, FACTOR_MAX, type Figures, judge, type Verdict } from "./_verdicts.ts";
import type { LimitResults } from "./report/limit.ts";

const { filter } = benchOptions(
  "bench:check",
  "Fails where a workload is further from its limit than in the committed results.",
  ["filter"],
);
const path = resultsPath("limit", thisCpu());
const text = await Deno.readTextFile(path).catch((error: unknown) => {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
  console.error(
    `There are no committed results of ${thisCpu()} to compare with: ${path} is missing. ` +
      "`deno task bench:limit --save` makes it, on a commit that you trust.",
  );
  Deno.exit(2);
});
const committed = JSON.parse(text) as LimitResults;
console.error(`compared with: ${originLine(committed)}`);

/** Judges each. */
function judged(found: readonly Figures[]): Verdict[] {
  return found.map((figures) => judge(figures, committed.workloads));
}

const { workloads, names } = await measureLimit({
  quick: true,
  logFloors: false,
  filter: (name) => name.includes(filter),
});
if (workloads.length === 0) noneMatches(filter, names);

let found: readonly Figures[] = workloads;
const suspects = judged(found).filter(({ outcome }) => outcome === "WORSE").map(({ name }) => name);
if (suspects.length > 0) {
  console.error(
    "again what seems worse, as other work on the machine may have been in the way ...",
  );
  const again = await measureLimit({
    quick: true,
    logFloors: false,
    filter: (name) => suspects.includes(name),
  });
  found = bestOf(found, again.workloads);
}

const verdicts = judged(found);
const width = Math.max(...verdicts.map(({ name }) => name.length));
console.log("how many times its limit each takes, by the smallest figures of both");
for (const { name, outcome, text } of verdicts) {
  console.log(`${outcome.padEnd(10)}  ${name.padEnd(width)}  ${text}`);
}
const left = committed.workloads.map(({ name }) => name).filter((name) =>
  name.includes(filter) && !names.includes(name)
);
if (left.length > 0) console.log(`not measured here: ${left.join("; ")}`);
const count = (outcome: Verdict["outcome"]): number =>
  verdicts.filter((verdict) => verdict.outcome === outcome).length;
const worse = count("WORSE");
console.log(
  `${count("kept")} kept, ${worse} worse (more than ${FACTOR_MAX} times what they were), ${
    count("not judged")
  } not judged`,
);
if (worse > 0) {
  console.log("to be sure of what is worse, run it again on a quiet machine");
  Deno.exit(1);
}
