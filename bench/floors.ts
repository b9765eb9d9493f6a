/**
 * Compares what `floors_bench.ts` measures, and what memory a replay takes, with the floors: figures that must never be worse.
 * Prints a table and exits with 1 when a floor is broken. It is a benchmark, not a test: run it on a quiet machine.
 *
 * Run it: `deno task bench:floors`
 *
 * @module
 */

import { type EvictionRule, prioritized, uniform } from "@exrp/replay";
import {
  fillFrames,
  fillVectors,
  nStepSelector,
  stackCopier,
  stackSelector,
} from "./_picks_workload.ts";
import { checkOptionNames } from "./_results.ts";
import { type Contestant, median, takeTurns } from "./_turns.ts";
import { evictionRules, fill, fillByBatches } from "./_workload.ts";

checkOptionNames([]);

/** One figure, and what it may be at most. */
interface Floor {
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  /** What else was seen of it. */
  readonly note?: string;
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
  return [
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
    {
      what: "a learner's turn, rankBased ÷ prioritized",
      value: at("rankBased: a learner's turn, 256 draws and as many updates at 2^20") /
        at("prioritized: a learner's turn, 256 draws and as many updates at 2^20"),
      limit: 3,
      unit: "×",
    },
  ];
}

/** The minimum of each in ms, in turns: what else the machine does slows both. */
function inTurns(a: () => void, b: () => void, turns: number): [number, number] {
  const minimum: [number, number] = [Infinity, Infinity];
  for (let turn = 0; turn < turns; turn++) {
    for (const [k, call] of [a, b].entries()) {
      const start = performance.now();
      for (let repeat = 0; repeat < 5; repeat++) call();
      minimum[k] = Math.min(minimum[k] ?? Infinity, (performance.now() - start) / 5);
    }
  }
  return minimum;
}

/** What n-step returns and stacks of frames cost more than batches of single steps, and than a copy of the same bytes. */
async function pickFloors(): Promise<Floor[]> {
  console.error("n-step returns and stacks, each in turns with what it is compared with ...");
  using vectors = await fillVectors(2 ** 20);
  const [single, returns] = [vectors.newPickSelector(uniform()), nStepSelector(vectors, 3)];
  const [batch, batchOfReturns] = [vectors.getBatch(256, single), vectors.getBatch(256, returns)];
  const [ofSingle, ofReturns] = inTurns(
    () => vectors.getBatch(256, single, { into: batch }),
    () => vectors.getBatch(256, returns, { into: batchOfReturns }),
    2000,
  );
  using frames = await fillFrames(20_000);
  const stacks = stackSelector(frames, {});
  const batchOfStacks = frames.getBatch(256, stacks);
  const [ofCopy, ofStacks] = inTurns(
    stackCopier(20_000),
    () => frames.getBatch(256, stacks, { into: batchOfStacks }),
    200,
  );
  return [{
    what: "getBatch(256) of 3-step returns ÷ of single steps, at 2^20",
    value: ofReturns / ofSingle,
    limit: 1.3,
    unit: "×",
  }, {
    what: "getBatch(256) of stacks and next stacks ÷ a copy of as many bytes",
    value: ofStacks / ofCopy,
    limit: 1.2,
    unit: "×",
  }];
}

/** What batches cost more where the eviction policy hears of their episodes; each policy in turns with one that doesn't. */
async function evictionFloors(): Promise<Floor[]> {
  const workload = {
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 8,
    selector: uniform(),
  };
  const drawer = async (eviction: EvictionRule): Promise<() => void> => {
    const { replay, selector } = await fill({ ...workload, eviction });
    const batch = replay.getBatch(5000, selector);
    return () => replay.getBatch(5000, selector, { into: batch });
  };
  const { fifo, ...others } = evictionRules;
  const fromFifo = await drawer(fifo);
  const floors: Floor[] = [];
  for (const [name, eviction] of Object.entries(others)) {
    console.error(`get_5000 under ${name}, in turns with fifo ...`);
    const [ofFifo, ofOther] = inTurns(fromFifo, await drawer(eviction), 300);
    floors.push({
      what: `get_5000 under ${name} ÷ under fifo`,
      value: ofOther / ofFifo,
      limit: 1.1,
      unit: "×",
    });
  }
  return floors;
}

/** Records, once `prepare` did what isn't timed. */
function recorder(
  record: (count: number) => void,
  prepare: (count: number) => void,
): Contestant {
  return (count) => {
    prepare(count);
    const start = performance.now();
    record(count);
    return (performance.now() - start) * 1e6 / count;
  };
}

/**
 * What `record` costs more while it makes room, under each policy in turns with a replay that has room: one that was full and was
 * emptied, so that its memory is as warm. Before each turn the policy hears of 5000 draws.
 */
async function makingRoomFloors(): Promise<Floor[]> {
  const workload = {
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: uniform(),
  };
  const roomy = await fill(workload);
  let room = 0;
  const withRoom = recorder(roomy.record, (count) => {
    if (room < count) {
      // All but the open episode go; what was evicted before would be counted as lost.
      if (roomy.replay.drain().lost > 0) throw new Error("there was no room");
      room = workload.capacity - workload.episodeLength;
    }
    room -= count;
  });
  const floors: Floor[] = [];
  for (const [name, eviction] of Object.entries(evictionRules)) {
    console.error(`record under ${name}, in turns with a replay that has room ...`);
    const { replay, selector, record } = await fill({ ...workload, eviction });
    const batch = replay.getBatch(5000, selector);
    const makingRoom = recorder(record, () => {
      replay.getBatch(5000, selector, { into: batch });
    });
    const { means } = takeTurns({ makingRoom, withRoom }, 60, 2);
    const ratios = means.makingRoom.map((mean, turn) => mean / (means.withRoom[turn] ?? NaN));
    if (replay.describe().evictedCount === 0) throw new Error("nothing had to be forgotten");
    replay[Symbol.dispose]();
    floors.push({
      what: `record at 2^20, making room under ${name} ÷ with room, median`,
      value: median(ratios),
      limit: 1.5,
      unit: "×",
    });
  }
  roomy.replay[Symbol.dispose]();
  return floors;
}

/**
 * The `record` that forgets a whole episode of 1,000: the longest of the 1,000 calls from one to the next. What is forgotten was
 * recorded by 64 environments at once, so that neither its blocks nor its picks stand side by side, and the policy has heard of 5000
 * draws since the last. The median, as any single call may meet the end of a time slice.
 */
async function longestRecordFloors(): Promise<Floor[]> {
  const episodeLength = 1000;
  const floors: Floor[] = [];
  for (const [name, eviction] of Object.entries(evictionRules)) {
    console.error(`the longest record under ${name} ...`);
    const { replay, selector, record } = await fill({
      capacity: 2 ** 20,
      episodeLength,
      pickLength: 1,
      selector: uniform(),
      eviction,
    });
    fillByBatches(replay, 64, episodeLength);
    const batch = replay.getBatch(5000, selector);
    const longest: number[] = [];
    for (let window = 0; window < 600; window++) {
      replay.getBatch(5000, selector, { into: batch });
      const before = replay.describe();
      let most = 0;
      for (let call = 0; call < episodeLength; call++) {
        const start = performance.now();
        record(1);
        most = Math.max(most, performance.now() - start);
      }
      const { evictedCount, recordCount } = replay.describe();
      // As many as were recorded; some episodes were still open when their environments stopped.
      if (evictedCount === before.evictedCount + 1 && recordCount === before.recordCount) {
        longest.push(1e3 * most);
      }
    }
    replay[Symbol.dispose]();
    if (longest.length < 300) throw new Error(`only ${longest.length} episodes were forgotten`);
    const p90 = longest.toSorted((a, b) => a - b)[Math.floor(0.9 * longest.length)] ?? NaN;
    floors.push({
      what: `record that forgets an episode of 1000 under ${name}, median`,
      value: median(longest),
      limit: 50,
      unit: "µs",
      note: `p90 ${p90.toFixed(1)}, of ${longest.length}`,
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

const floors = [
  ...await memoryFloors(),
  ...await pickFloors(),
  ...await evictionFloors(),
  ...await makingRoomFloors(),
  ...await longestRecordFloors(),
  ...speedFloors(await minima(3)),
];
const width = Math.max(...floors.map(({ what }) => what.length));
let broken = 0;
for (const { what, value, limit, unit, note } of floors) {
  const kept = value <= limit;
  if (!kept) broken += 1;
  console.log(
    `${kept ? "kept  " : "BROKEN"}  ${what.padEnd(width)}  ${
      value.toFixed(3).padStart(9)
    } ${unit}  (at most ${limit})${note === undefined ? "" : `  ${note}`}`,
  );
}
console.log(broken === 0 ? "every floor is kept" : `${broken} floors are broken`);
if (broken > 0) Deno.exit(1);
