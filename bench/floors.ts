/**
 * Compares speeds and memory with their floors: figures that must never be worse. It prints a table, and exits with 1 if a floor breaks
 * twice in a row. It is a benchmark and not a test, so run it on a quiet machine. `docs/internals/performance.md` has the figures.
 *
 * Run it: `deno task bench:floors`, or with `--filter=<part of a name>`.
 *
 * @module
 */

import { type ExperienceReplay, type PickOptions, prioritized, uniform } from "@exrp/replay";
import {
  normalize,
  randomShift,
  toFloat16,
  toFloat32,
  type Transform,
} from "@exrp/replay/transforms";
import type { EvictionRule } from "@exrp/replay/eviction";
import {
  fillFloatFrames,
  fillFrames,
  fillVectors,
  nStepSelector,
  stackCopier,
  stackSelector,
} from "./_picks_workload.ts";
import {
  type Floor,
  floorReport,
  holdToFloors,
  IS_INTEL,
  type Measured,
  type Measurement,
} from "./_floors.ts";
import { benchOptions } from "./_options.ts";
import { noneMatches } from "./_results.ts";
import { type Contestant, median, takeTurns } from "./_turns.ts";
import { evictionRules, fill, fillByBatches } from "./_workload.ts";

interface BenchJson {
  readonly benches: readonly {
    readonly name: string;
    readonly results: readonly { readonly ok?: { readonly min: number } }[];
  }[];
}

/** Runs the benches a few times, and lowers the minimum of each in `found`, in ns. */
async function lowerMinima(found: Map<string, number>, repeats: number): Promise<void> {
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
}

/** What `floors_bench.ts` measures. The minimum of three runs counts, or of six if it measures again. */
function speeds(): Measurement {
  const ns = new Map<string, number>();
  const at = (name: string): number => {
    const min = ns.get(name);
    if (min === undefined) throw new Error(`deno bench told nothing of "${name}"`);
    return min;
  };
  const get5000 = (power: number) =>
    at(`get_5000: 5000 picks of 8 steps with next states, N = 2^${power}`) / 1e3;
  const decaying = (name: string) =>
    at(`decay: setPriority of 256 rising errors at 2^20 by ${name}`);
  const turn = (name: string) =>
    at(`${name}: a learner's turn, 256 draws and as many updates at 2^20`);
  const figures: (Floor & { readonly value: () => number })[] = [{
    what: "record of a 4-float state",
    value: () => at("record: 1000 records of a 4-float state, evicting, uniform") / 1e6,
    limit: 0.25,
    unit: "µs",
  }, {
    what: "recordBatch of 64 environments of a 4-float state at 2^14",
    value: () =>
      at("recordBatch: 64 environments of a 4-float state, evicting, uniform, N = 2^14") / 1e3,
    limit: 4,
    unit: "µs",
  }, {
    what: "get_5000 at 2^20",
    value: () => get5000(20),
    limit: 400,
    unit: "µs",
  }, {
    what: "get_5000, 2^23 ÷ 2^11",
    value: () => get5000(23) / get5000(11),
    limit: 8,
    unit: "×",
  }, {
    what: "prioritized getBatch(256) at 2^20",
    value: () => at("prioritized: getBatch(256) at 2^20, right after a record") / 1e3,
    limit: 60,
    unit: "µs",
  }, {
    what: "prioritized setPriority of 256 at 2^20",
    value: () => at("prioritized: setPriority of 256 at 2^20") / 1e3,
    limit: 15,
    unit: "µs",
  }, {
    // Its limit is that of the two above together. The next draw adds up the sums, so neither of them has all of the work.
    what: "a learner's turn, prioritized, 256 draws and updates at 2^20",
    value: () => turn("prioritized") / 1e3,
    limit: 75,
    unit: "µs",
  }, {
    what: "setPriority of 256 by pser, window 5 ÷ by prioritized",
    value: () => decaying("pser") / decaying("prioritized"),
    // It was 4 until prioritized's setPriority took 0.64 times as long as before, because it knows the picks of the last batch.
    limit: 5.5,
    unit: "×",
  }, {
    what: "a learner's turn, rankBased ÷ prioritized",
    value: () => turn("rankBased") / turn("prioritized"),
    // It was 3 until prioritized's turn took 0.8 times as long as before.
    limit: 3.7,
    unit: "×",
  }];
  return {
    floors: figures,
    measure: async () => {
      await lowerMinima(ns, 3);
      return figures.map(({ value }) => ({ value: value() }));
    },
  };
}

/** The minimum of each in ms. They take turns, so other work on the machine slows both. */
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

const nStepReturns: Measurement = {
  floors: [{
    what: "getBatch(256) of 3-step returns ÷ of single steps, 15-float states at 2^20",
    // On Intel, single steps go in shorter flights, which n-step returns do not.
    limit: IS_INTEL ? 1.5 : 1.3,
    unit: "×",
  }],
  measure: measureReturns,
};

const frameStacks: Measurement = {
  floors: [{
    what: "getBatch(256) of stacks and next stacks ÷ a copy of as many bytes",
    limit: 1.2,
    unit: "×",
  }],
  measure: measureStacks,
};

/** Measures how much longer n-step returns take than single steps. */
async function measureReturns(): Promise<Measured[]> {
  console.error("n-step returns, in turns with single steps ...");
  using vectors = await fillVectors(2 ** 20);
  const [single, returns] = [vectors.newPickSelector(uniform()), nStepSelector(vectors, 3)];
  const [batch, batchOfReturns] = [vectors.getBatch(256, single), vectors.getBatch(256, returns)];
  const [ofSingle, ofReturns] = inTurns(
    () => vectors.getBatch(256, single, { into: batch }),
    () => vectors.getBatch(256, returns, { into: batchOfReturns }),
    2000,
  );
  return [{ value: ofReturns / ofSingle }];
}

/** Measures how much longer stacks of frames take than a copy of their bytes. */
async function measureStacks(): Promise<Measured[]> {
  console.error("stacks of frames, in turns with a copy ...");
  using frames = await fillFrames(20_000);
  const stacks = stackSelector(frames, {});
  const batchOfStacks = frames.getBatch(256, stacks);
  const [ofCopy, ofStacks] = inTurns(
    stackCopier(20_000),
    () => frames.getBatch(256, stacks, { into: batchOfStacks }),
    200,
  );
  return [{ value: ofStacks / ofCopy }];
}

/** What is measured of transforms beside a plain batch of as many bytes, whose dtype is `plain`. */
const TRANSFORMS: readonly {
  readonly what: string;
  readonly plain: "float16" | "float32";
  readonly state: readonly Transform[];
}[] = [
  { what: "toFloat32", plain: "float32", state: [toFloat32({ scale: 1 / 255 })] },
  {
    what: "randomShift, toFloat32",
    plain: "float32",
    state: [randomShift(4), toFloat32({ scale: 1 / 255 })],
  },
  { what: "normalize", plain: "float32", state: [normalize()] },
  { what: "toFloat16", plain: "float16", state: [toFloat16({ scale: 1 / 255 })] },
];

const transforms: Measurement = {
  floors: TRANSFORMS.map(({ what, plain }) => ({
    what: `getBatch(64) of uint8 stacks by ${what} ÷ of ${plain} stacks`,
    limit: 1.15,
    unit: "×",
  })),
  measure: measureTransforms,
};

/** Measures batches of bytes that become floats, in turns with those of a replay that stores floats. */
async function measureTransforms(): Promise<Measured[]> {
  console.error("stacks of bytes as floats, in turns with stacks of floats ...");
  using float16s = await fillFloatFrames(4000, "float16");
  using float32s = await fillFloatFrames(4000, "float32");
  using bytes = await fillFrames(4000);
  const drawer = (replay: ExperienceReplay, options: PickOptions): () => void => {
    const selector = replay.newPickView({ stack: 4, ...options }).newPickSelector(uniform());
    const into = replay.getBatch(64, selector);
    return () => void replay.getBatch(64, selector, { into });
  };
  const plains = { float16: drawer(float16s, {}), float32: drawer(float32s, {}) };
  return TRANSFORMS.map(({ plain, state }) => {
    const [ofFloats, ofBytes] = inTurns(
      plains[plain],
      drawer(bytes as unknown as ExperienceReplay, { transform: { state } }),
      60,
    );
    return { value: ofBytes / ofFloats };
  });
}

/** Measures batches under an eviction policy that hears of their episodes, in turns with `fifo`, which does not. */
function batchesUnder(name: string, eviction: EvictionRule): Measurement {
  const drawer = async (rule: EvictionRule): Promise<[Disposable, () => void]> => {
    const { replay, selector } = await fill({
      capacity: 2 ** 20,
      episodeLength: 200,
      pickLength: 8,
      selector: uniform(),
      eviction: rule,
    });
    const batch = replay.getBatch(5000, selector);
    return [replay, () => replay.getBatch(5000, selector, { into: batch })];
  };
  return {
    floors: [{ what: `get_5000 under ${name} ÷ under fifo`, limit: 1.1, unit: "×" }],
    measure: async () => {
      console.error(`get_5000 under ${name}, in turns with fifo ...`);
      const [first, fromFifo] = await drawer(evictionRules.fifo);
      const [second, fromOther] = await drawer(eviction);
      const [ofFifo, ofOther] = inTurns(fromFifo, fromOther, 300);
      first[Symbol.dispose]();
      second[Symbol.dispose]();
      return [{ value: ofOther / ofFifo }];
    },
  };
}

/** Calls `prepare`, and then times `record`. */
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
 * Measures `record` while it makes room, in turns with a replay that has room. That replay was full and then emptied, so its memory is as
 * warm. The policy hears of 5000 draws before each turn.
 */
function makingRoomUnder(name: string, eviction: EvictionRule): Measurement {
  const workload = {
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: uniform(),
  };
  return {
    floors: [{
      what: `record at 2^20, making room under ${name} ÷ with room, median`,
      limit: 1.5,
      unit: "×",
    }],
    measure: async () => {
      console.error(`record under ${name}, in turns with a replay that has room ...`);
      const roomy = await fill(workload);
      let room = 0;
      const withRoom = recorder(roomy.record, (count) => {
        if (room < count) {
          // All episodes but the open one go. An evicted record would count as lost.
          if (roomy.replay.drain().lost > 0) throw new Error("there was no room");
          room = workload.capacity - workload.episodeLength;
        }
        room -= count;
      });
      const { replay, selector, record } = await fill({ ...workload, eviction });
      const batch = replay.getBatch(5000, selector);
      const makingRoom = recorder(record, () => {
        replay.getBatch(5000, selector, { into: batch });
      });
      const { means } = takeTurns({ makingRoom, withRoom }, 60, 2);
      const ratios = means.makingRoom.map((mean, turn) => mean / (means.withRoom[turn] ?? NaN));
      if (replay.describe().evictedCount === 0) throw new Error("nothing had to be forgotten");
      replay[Symbol.dispose]();
      roomy.replay[Symbol.dispose]();
      return [{ value: median(ratios) }];
    },
  };
}

/**
 * Measures the `record` that forgets a whole episode of 1,000 records: the longest of 1,000 calls. 64 environments recorded these episodes
 * at once, so neither their blocks nor their picks stand side by side. The policy hears of 5000 draws between two evictions. The median
 * counts, because any single call may meet the end of a time slice.
 */
function longestRecordUnder(name: string, eviction: EvictionRule): Measurement {
  const episodeLength = 1000;
  return {
    floors: [{
      what: `record that forgets an episode of 1000 under ${name}, median`,
      limit: 50,
      unit: "µs",
    }],
    measure: async () => {
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
        // Count only an eviction of a whole episode: some episodes were open when their environments stopped.
        if (evictedCount === before.evictedCount + 1 && recordCount === before.recordCount) {
          longest.push(1e3 * most);
        }
      }
      replay[Symbol.dispose]();
      if (longest.length < 300) throw new Error(`only ${longest.length} episodes were forgotten`);
      const p90 = longest.toSorted((a, b) => a - b)[Math.floor(0.9 * longest.length)] ?? NaN;
      return [{
        value: median(longest),
        note: `p90 ${p90.toFixed(1)}, of ${longest.length}`,
      }];
    },
  };
}

/** Measures the memory of a full replay of 2^20 records with one prioritized selector. */
function memoryOf(episodeLength: number): Measurement {
  return {
    isExact: true,
    floors: [
      { what: `index, bytes a record, episodes of ${episodeLength}`, limit: 24, unit: "B" },
      {
        what: `stored columns ÷ their bytes, episodes of ${episodeLength}`,
        limit: 1.15,
        unit: "×",
      },
    ],
    measure: async () => {
      const { replay } = await fill({
        capacity: 2 ** 20,
        episodeLength,
        pickLength: 1,
        selector: prioritized(),
      });
      const { memory, recordCount } = replay.describe();
      replay[Symbol.dispose]();
      return [
        { value: memory.index / recordCount },
        { value: memory.columns / (24 * recordCount) },
      ];
    },
  };
}

const { filter } = benchOptions(
  "bench:floors",
  "Compares the speeds that must never be worse with their floors.",
  ["filter"],
);
const policies = Object.entries(evictionRules);
const measurements: Measurement[] = [
  ...[200, 208, 1000].map(memoryOf),
  nStepReturns,
  frameStacks,
  transforms,
  ...policies.filter(([name]) => name !== "fifo").map(([name, rule]) => batchesUnder(name, rule)),
  ...policies.map(([name, rule]) => makingRoomUnder(name, rule)),
  ...policies.map(([name, rule]) => longestRecordUnder(name, rule)),
  speeds(),
];
const held = await holdToFloors(measurements, (what) => what.includes(filter));
if (held.length === 0) {
  noneMatches(filter, measurements.flatMap(({ floors }) => floors.map(({ what }) => what)));
}
for (const line of floorReport(held)) console.log(line);
if (!held.every(({ kept }) => kept)) Deno.exit(1);
