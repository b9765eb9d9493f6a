/**
 * Compares what `floors_bench.ts` measures, and what memory a replay takes, with the floors: figures that must never be worse.
 * Prints a table and exits with 1 when a floor is broken. It is a benchmark, not a test: run it on a quiet machine.
 *
 * Run it: `deno task bench:floors`
 *
 * @module
 */

import { prioritized } from "@exrp/replay";
import { fill } from "./_workload.ts";

/** One figure, and what it may be at most. */
interface Floor {
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
}

interface BenchJson {
  readonly benches: readonly {
    readonly name: string;
    readonly results: readonly { readonly ok?: { readonly min: number } }[];
  }[];
}

/** Runs the benches a few times; the minimum of each, in ns. */
async function minima(repeats: number): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let repeat = 0; repeat < repeats; repeat++) {
    console.error(`deno bench, run ${repeat + 1} of ${repeats} ...`);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["bench", "--json", "-A", new URL("floors_bench.ts", import.meta.url).pathname],
    }).output();
    if (code !== 0) throw new Error(`deno bench failed:\n${new TextDecoder().decode(stderr)}`);
    const { benches } = JSON.parse(new TextDecoder().decode(stdout)) as BenchJson;
    for (const { name, results } of benches) {
      const min = results[0]?.ok?.min;
      if (min !== undefined) found.set(name, Math.min(min, found.get(name) ?? Infinity));
    }
  }
  return found;
}

function speedFloors(ns: Map<string, number>): Floor[] {
  const at = (name: string): number => {
    const min = ns.get(name);
    if (min === undefined) throw new Error(`deno bench told nothing of "${name}"`);
    return min;
  };
  const get5000 = (power: number) =>
    at(`get_5000: 5000 picks of 8 steps with next states, N = 2^${power}`) / 1e3;
  const decaying = (name: string) =>
    at(`decay: setPriority of 256 rising errors at 2^20 by ${name}`);
  const evicting = (name: string) => at(`eviction: get_5000 at 2^20 under ${name}`);
  const floors: Floor[] = [
    {
      what: "record of a 4-float state",
      value: at("record: 1000 records of a 4-float state, evicting, uniform") / 1e6,
      limit: 0.25,
      unit: "µs",
    },
    {
      what: "recordBatch of 64 environments at 2^14",
      value: at("recordBatch: 64 environments of a 4-float state, evicting, uniform, N = 2^14") /
        1e3,
      limit: 4,
      unit: "µs",
    },
    { what: "get_5000 at 2^20", value: get5000(20), limit: 400, unit: "µs" },
    { what: "get_5000, 2^23 ÷ 2^11", value: get5000(23) / get5000(11), limit: 8, unit: "×" },
    {
      what: "prioritized getBatch(256) at 2^20",
      value: at("prioritized: getBatch(256) at 2^20, right after a record") / 1e3,
      limit: 60,
      unit: "µs",
    },
    {
      what: "prioritized setPriority of 256 at 2^20",
      value: at("prioritized: setPriority of 256 at 2^20") / 1e3,
      limit: 15,
      unit: "µs",
    },
    {
      what: "setPriority of 256 by pser, window 5 ÷ by prioritized",
      value: decaying("pser") / decaying("prioritized"),
      limit: 4,
      unit: "×",
    },
  ];
  const others = ["secondChance", "lru", "lfu", "lowestPriorityFirst", "afterDraws", "reservoir"];
  for (const name of others) {
    floors.push({
      what: `get_5000 under ${name} ÷ under fifo`,
      value: evicting(name) / evicting("fifo"),
      limit: 1.1,
      unit: "×",
    });
  }
  return floors;
}

/** Memory of a full replay at 2^20 with one prioritized selector, which every pick was drawn from and updated in. */
async function memoryFloors(): Promise<Floor[]> {
  const floors: Floor[] = [];
  for (const episodeLength of [200, 208, 1000]) {
    const { replay } = await fill({
      capacity: 2 ** 20,
      episodeLength,
      pickLength: 1,
      selector: prioritized(),
    });
    const { memory, recordCount } = replay.describe();
    floors.push({
      what: `index, bytes a record, episodes of ${episodeLength}`,
      value: memory.index / recordCount,
      limit: 24,
      unit: "B",
    }, {
      what: `stored columns ÷ their bytes, episodes of ${episodeLength}`,
      value: memory.columns / (24 * recordCount),
      limit: 1.15,
      unit: "×",
    });
    replay[Symbol.dispose]();
  }
  return floors;
}

const floors = [...await memoryFloors(), ...speedFloors(await minima(3))];
const width = Math.max(...floors.map(({ what }) => what.length));
let broken = 0;
for (const { what, value, limit, unit } of floors) {
  const kept = value <= limit;
  if (!kept) broken += 1;
  console.log(
    `${kept ? "kept  " : "BROKEN"}  ${what.padEnd(width)}  ${
      value.toFixed(3).padStart(9)
    } ${unit}  (at most ${limit})`,
  );
}
console.log(broken === 0 ? "every floor is kept" : `${broken} floors are broken`);
if (broken > 0) Deno.exit(1);
