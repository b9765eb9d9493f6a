/**
 * The regression guard: measures how far this library is from the limit once more, and compares the ratios with those of the
 * committed results (`bench/results/limit.json`). It fails where one is more than 1.5 times what it was, twice in a row.
 *
 * Ratios within one run, not times: so it holds on another machine, too, as far as that is like the one of the results.
 *
 * Run it: `deno task bench:check`; `--filter=<part of a name>`. It is no part of the tests.
 *
 * @module
 */

import { type LimitResult, measureLimit } from "./_limit_measure.ts";
import { checkOptionNames, noneMatches, option, originLine, resultsPath } from "./_results.ts";
import type { LimitResults } from "./report/limit.ts";

/** What the engine's garbage collector decides more than we do. */
const UNGUARDED = "a fresh batch each time";

/** How much further from the limit than in the committed results is too far. */
const FACTOR_MAX = 1.5;

checkOptionNames(["filter"]);
const filter = option("filter") ?? "";
const committed = JSON.parse(await Deno.readTextFile(resultsPath("limit"))) as LimitResults;
console.error(`compared with: ${originLine(committed)}`);

/** What has become worse than it may. */
function worse(found: readonly LimitResult[]): { text: string; name: string }[] {
  return found.flatMap(({ name, ratio }) => {
    const before = committed.workloads.find((workload) => workload.name === name);
    if (before === undefined || name.includes(UNGUARDED) || ratio <= FACTOR_MAX * before.ratio) {
      return [];
    }
    const text = `${name}: ${ratio.toFixed(2)} times its limit, was ${before.ratio.toFixed(2)}`;
    return [{ text, name }];
  });
}

const { workloads, names } = await measureLimit({
  quick: true,
  filter: (name) => name.includes(filter),
});
if (workloads.length === 0) noneMatches(filter, names);
let broken = worse(workloads);
if (broken.length > 0) {
  console.error("once more, as other work on the machine may have been in the way ...");
  const still = new Set(broken.map(({ name }) => name));
  broken = worse(
    (await measureLimit({ quick: true, filter: (name) => still.has(name) })).workloads,
  );
}
for (const { text } of broken) console.log(`WORSE  ${text}`);
console.log(
  broken.length === 0
    ? `none of ${workloads.length} workloads is ${FACTOR_MAX} times further from its limit than it was`
    : `${broken.length} of ${workloads.length} workloads are`,
);
if (broken.length > 0) Deno.exit(1);
