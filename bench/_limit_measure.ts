/**
 * The workloads of `bench:limit` and `bench:check`, each of ours beside its limit.
 *
 * @module
 */

import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
import { IS_INTEL } from "./_floors.ts";
import { type LimitLibrary, openLimitLibrary } from "./_limit_library.ts";
import { fillFrames, fillVectors, type Replay15, stackSelector } from "./_picks_workload.ts";
import { calls, type Contestant, median, takeTurns, type Turns } from "./_turns.ts";
import { checkBatch, fill } from "./_workload.ts";

/** The result of one workload. */
export interface LimitResult {
  /** The workload. */
  readonly name: string;
  /** Nanoseconds of ours. */
  readonly ours: Turns;
  /** Nanoseconds of the limit, by its fastest variant. */
  readonly limit: Turns;
  /** Nanoseconds of the loop with the look-ups that any replay of random picks needs, if the workload has one. */
  readonly lookUps?: Turns;
  /** The share of the turns in which another thread was busy on the same core. */
  readonly busyShare?: number;
  /** The fastest variant. */
  readonly variant: number;
  /** The median of ours ÷ limit, turn by turn. */
  readonly ratio: number;
  /** The largest ratio that the floors allow; undefined if there is no floor. */
  readonly floor?: number;
  /** A note on the comparison. */
  readonly note?: string;
}

/** How to measure. */
export interface LimitOptions {
  /** Whether to take a tenth of the turns, and no replay of 2^23 records. */
  readonly quick: boolean;
  /** Whether the log says which ratio the floors allow. */
  readonly logFloors: boolean;
  /** Selects workloads by name. */
  readonly filter: (name: string) => boolean;
}

// The numbers by which limit.cpp knows its workloads.
const KIND = {
  gather: 0,
  gatherSequences: 1,
  gatherPaper: 2,
  stacks: 3,
  draw: 4,
  update: 5,
  recordSmall: 6,
  record: 7,
  gatherByTable: 8,
  gatherSequencesByTable: 9,
  gatherPaperByTable: 10,
};

/** The loops that look picks up, by the number of the workload without look-ups. */
const BY_TABLE: Readonly<Record<number, number>> = {
  [KIND.gather]: KIND.gatherByTable,
  [KIND.gatherSequences]: KIND.gatherSequencesByTable,
  [KIND.gatherPaper]: KIND.gatherPaperByTable,
};

/** A processor does so much less beside a busy thread of the same core. */
const BUSY_BELOW = 0.8;

/** A workload of ours, and the limit that it is compared with. */
interface Comparison {
  readonly name: string;
  readonly ours: Contestant;
  readonly batch: number;
  readonly floor?: number;
  readonly note?: string;
}

/** Measures all comparisons with one workload of the limit, one after the other. */
class Measurer {
  readonly results: LimitResult[] = [];
  /** The names of all workloads, measured or not. */
  readonly names: string[] = [];
  /** Opened for the first workload that is measured, because compiling may take minutes. */
  library: LimitLibrary | undefined;
  readonly #options: LimitOptions;
  /** Additions a nanosecond while nothing else runs on the core: the most that was seen. */
  #fastestProbe = 0;

  constructor(options: LimitOptions) {
    this.#options = options;
  }

  /** Makes the workload of the limit and measures with it. At the end, it frees the workload and whatever `make` opened. */
  async with(
    kind: number,
    count: number,
    names: readonly string[],
    make: (library: LimitLibrary) => Promise<{ comparisons: Comparison[]; close: () => void }>,
  ): Promise<void> {
    const { quick, filter } = this.#options;
    if (quick && count >= 2 ** 23) return;
    this.names.push(...names);
    if (!names.some(filter)) return;
    this.library ??= await openLimitLibrary();
    console.error(`filling for ${names[0]} ...`);
    const { limit } = this.library;
    const id = limit.limit_create(kind, count);
    if (id === 0xffffffff) throw new Error(`limit.cpp has no workload ${kind}`);
    const other = BY_TABLE[kind];
    const byTable = other === undefined ? undefined : limit.limit_create(other, count);
    const { comparisons, close } = await make(this.library);
    for (const comparison of comparisons) {
      if (filter(comparison.name)) this.#compare(limit, id, byTable, comparison);
    }
    close();
    if (byTable !== undefined) limit.limit_destroy(byTable);
    limit.limit_destroy(id);
  }

  /** The fastest variant of a workload of the limit. Each variant's answer is checked first. */
  #fastest(
    limit: LimitLibrary["limit"],
    id: number,
    batch: number,
    name: string,
  ): { variant: number; run: Contestant } {
    const turnMs = this.#options.quick ? 4 : 10;
    const variants: Record<string, Contestant> = {};
    for (let variant = 0; variant < limit.limit_variants(id); variant++) {
      const text = new Uint8Array(256);
      if (limit.limit_check(id, variant, batch, text, text.length) !== 0) {
        const what = new TextDecoder().decode(text.subarray(0, text.indexOf(0)));
        throw new Error(`${name}: variant ${variant} of the limit: ${what}`);
      }
      variants[variant] = (repeats) => limit.limit_run(id, variant, batch, repeats);
    }
    const tried = takeTurns(variants, 5, turnMs).means;
    const [best = "0"] = Object.keys(variants).toSorted((a, b) =>
      median(tried[a] ?? []) - median(tried[b] ?? [])
    );
    return { variant: Number(best), run: variants[best] as Contestant };
  }

  #compare(
    limit: LimitLibrary["limit"],
    id: number,
    byTable: number | undefined,
    { name, ours, batch, floor, note }: Comparison,
  ): void {
    const [rounds, turnMs] = this.#options.quick ? [15, 4] : [60, 10];
    const { variant, run: bare } = this.#fastest(limit, id, batch, name);
    const contestants: Record<string, Contestant> = { ours, limit: bare };
    if (byTable !== undefined) {
      contestants["lookUps"] = this.#fastest(limit, byTable, batch, name).run;
    }
    const probes: number[] = [];
    const turns = takeTurns(contestants, rounds, turnMs, () => probes.push(limit.limit_probe()));
    this.#fastestProbe = Math.max(this.#fastestProbe, ...probes);
    const busy = probes.filter((probe) => probe < BUSY_BELOW * this.#fastestProbe).length;
    const of = (who: string): Turns => turns[who] ?? { min: NaN, median: NaN };
    const ratio = median(
      (turns.means["ours"] ?? []).map((value, turn) =>
        value / (turns.means["limit"]?.[turn] ?? NaN)
      ),
    );
    this.results.push({
      name,
      ours: of("ours"),
      limit: of("limit"),
      ...(byTable === undefined ? {} : { lookUps: of("lookUps") }),
      busyShare: busy / probes.length,
      variant,
      ratio,
      ...(floor === undefined ? {} : { floor }),
      ...(note === undefined ? {} : { note }),
    });
    const [mine, least, looked] = ["ours", "limit", "lookUps"].map((who) => of(who).min) as [
      number,
      number,
      number,
    ];
    console.error([
      `${name.padEnd(56)} ${micro(mine)} ÷ ${micro(least)} µs = ${(mine / least).toFixed(2)}`,
      `median ${ratio.toFixed(2)}`,
      ...(byTable === undefined ? [] : [`÷ with look-ups ${(mine / looked).toFixed(2)}`]),
      ...(floor === undefined || !this.#options.logFloors ? [] : [`at most ${floor}`]),
      ...(busy === 0
        ? []
        : [`the core's other thread was busy in ${busy} of ${probes.length} turns`]),
    ].join(", "));
  }
}

function micro(ns: number): string {
  return (ns / 1e3).toFixed(ns < 1e4 ? 3 : 1).padStart(9);
}

const BATCHES = [32, 256, 5000];

/** Uniform draws of single steps at 2^20. */
async function uniformDraws(measurer: Measurer): Promise<void> {
  const floors: Record<number, number> = IS_INTEL
    ? { 32: 2, 256: 1.6, 5000: 1.6 }
    : { 32: 2, 256: 1.4, 5000: 1.25 };
  const names = BATCHES.map((batch) => `uniform, batch of ${batch} at 2^20`);
  await measurer.with(KIND.gather, 2 ** 20, names, async () => {
    const replay = await fillVectors(2 ** 20);
    const selector = replay.newPickSelector(uniform());
    const comparisons = BATCHES.map((batch, k) => {
      const into = replay.getBatch(batch, selector);
      return {
        name: names[k] ?? "",
        batch,
        ours: calls(() => replay.getBatch(batch, selector, { into })),
        floor: floors[batch] ?? NaN,
      };
    });
    return { comparisons, close: () => replay[Symbol.dispose]() };
  });
}

/** Sequences of 8 steps. */
async function sequences(measurer: Measurer): Promise<void> {
  for (const power of [20, 23]) {
    const names = [
      `get_5000, length 8 at 2^${power}`,
      `get_5000, length 8 at 2^${power}, right after a record`,
      // This comes last: the engine sweeps up its batches during the next measurement.
      `get_5000, length 8 at 2^${power}, a fresh batch each time`,
    ];
    await measurer.with(KIND.gatherSequences, 2 ** power, names, async () => {
      const replay = await fillVectors(2 ** power);
      const table = replay.newPickView({ length: 8 });
      const selector = table.newPickSelector(uniform());
      const into = replay.getBatch(5000, selector);
      let episode = replay.newEpisode();
      const [state, action] = [new Float32Array(15), new Float32Array(3)];
      const ours = [
        calls(() => replay.getBatch(5000, selector, { into })),
        calls(() => {
          episode = replay.record(episode, state, action, 1);
          replay.getBatch(5000, selector, { into });
        }),
        calls(() => replay.getBatch(5000, selector)),
      ];
      const comparisons = ours.map((call, k) => ({
        name: names[k] ?? "",
        batch: 5000,
        ours: call,
        ...(k === 2
          ? { note: "the engine hands out zeroed memory" }
          : { floor: IS_INTEL ? 1.6 : 1.3 }),
      }));
      return { comparisons, close: () => replay[Symbol.dispose]() };
    });
    const name = `get_5000 of the paper, 4-float states at 2^${power}`;
    await measurer.with(KIND.gatherPaper, 2 ** power, [name], async () => {
      const { replay, selector } = await fill({
        capacity: 2 ** power,
        episodeLength: 200,
        pickLength: 8,
        selector: uniform(),
      });
      const into = replay.getBatch(5000, selector);
      checkBatch(into, 8);
      const ours = calls(() => replay.getBatch(5000, selector, { into }));
      return {
        comparisons: [{ name, batch: 5000, ours }],
        close: () => replay[Symbol.dispose](),
      };
    });
  }
}

/** Stacks of frames. */
async function stacks(measurer: Measurer): Promise<void> {
  const name = "256 stacks and next stacks of 4 frames of 84 x 84";
  await measurer.with(KIND.stacks, 20_000, [name], async () => {
    const replay = await fillFrames(20_000);
    const selector = stackSelector(replay, {});
    const into = replay.getBatch(256, selector);
    const ours = calls(() => replay.getBatch(256, selector, { into }));
    return {
      comparisons: [{ name, batch: 256, ours, floor: 1.2 }],
      close: () => replay[Symbol.dispose](),
    };
  });
}

/** The comparisons at each size of a batch. */
interface Sized extends Pick<Comparison, "floor" | "note"> {
  readonly name: (batch: number) => string;
  readonly ours: (
    batch: number,
    replay: Replay15,
    selector: ReturnType<Replay15["newPickSelector"]>,
    native: LimitLibrary["selector"],
  ) => Contestant;
}

/** One kind of prioritized work at 2^20. `replay` is a whole replay, and `selector` is a selector of the kernel alone. */
async function prioritizedWork(
  measurer: Measurer,
  kind: number,
  works: readonly Sized[],
): Promise<void> {
  const count = 2 ** 20;
  const names = works.flatMap(({ name }) => BATCHES.map(name));
  await measurer.with(kind, count, names, async ({ selector: native }) => {
    if (native.limit_selector_create(count) === 0) throw new Error("no memory for the selector");
    const replay = await fillVectors(count);
    const selector = replay.newPickSelector(prioritized());
    const comparisons = BATCHES.flatMap((batch) =>
      works.map(({ name, ours, ...rest }) => ({
        name: name(batch),
        batch,
        ours: ours(batch, replay, selector, native),
        ...rest,
      }))
    );
    return { comparisons, close: () => replay[Symbol.dispose]() };
  });
}

/** Measures prioritized draws and updates at 2^20: the selector alone, and the whole calls. */
async function prioritizedDraws(measurer: Measurer): Promise<void> {
  await prioritizedWork(measurer, KIND.draw, [{
    name: (batch) => `prioritized, draw of ${batch} alone at 2^20`,
    ours: (batch, _replay, _selector, native) => (repeats) =>
      native.limit_selector_draw(batch, repeats),
    floor: 1.5,
    note: "the kernel's selector, called from C++",
  }, {
    name: (batch) => `prioritized, batch of ${batch} at 2^20`,
    ours: (batch, replay, selector) => {
      const into = replay.getBatch(batch, selector);
      return calls(() => replay.getBatch(batch, selector, { into }));
    },
    note: "the whole call; the limit draws and copies nothing",
  }]);
  await prioritizedWork(measurer, KIND.update, [{
    name: (batch) => `prioritized, update of ${batch} alone at 2^20`,
    ours: (batch, _replay, _selector, native) => (repeats) =>
      native.limit_selector_update(batch, repeats),
    note: "the kernel's selector, called from C++, with the sums added up and one draw",
  }, {
    name: (batch) => `prioritized, setPriority of ${batch} at 2^20`,
    ours: (batch, replay, selector) => {
      // Each turn has new picks, as a learner's turn has.
      const draw = () => replay.getBatch(batch, selector);
      const drawn = Array.from({ length: 64 }, draw);
      const priorities = Float32Array.from({ length: batch }, () => 0.5 + Math.random());
      let turn = 0;
      return calls(() => {
        const { pickEpisode, pickPosition } = drawn[turn++ % drawn.length] ?? draw();
        replay.setPriority(selector, pickEpisode, pickPosition, priorities);
      });
    },
    note:
      "the whole call: finds each pick by episode and position; sums are added up by the next draw",
  }]);
}

/** Measures recording. If it is selected, it also measures `record` beside an empty call. */
async function recording(
  measurer: Measurer,
): Promise<CallCost | undefined> {
  let cost: CallCost | undefined;
  const one = "record, 4-float state";
  await measurer.with(KIND.recordSmall, 2 ** 20, [one], async ({ limit }) => {
    const replay = await ExperienceReplay.create({
      capacity: 2 ** 20,
      state: float32(4),
      segmentLength: 200,
      seed: 1,
    });
    const state = new Float32Array(4);
    let episode = replay.newEpisode();
    const record = (): void => {
      episode = replay.record(episode, state, 1, 1);
    };
    for (let count = 0; count < 2 ** 20; count++) record();
    let last = 0;
    const nothing = calls(() => {
      last = limit.limit_nothing(last);
    });
    const turns = takeTurns({ record: calls(record), nothing }, 20, 4);
    cost = { emptyCall: turns.nothing.min, record: turns.record.min };
    return {
      comparisons: [{ name: one, batch: 1, ours: calls(record), note: "evicting" }],
      close: () => replay[Symbol.dispose](),
    };
  });
  const many = "recordMany of 100 steps, 15-float state";
  await measurer.with(KIND.record, 2 ** 20, [many], async () => {
    const replay = await fillVectors(2 ** 20);
    const steps = {
      state: new Float32Array(1500),
      action: new Float32Array(300),
      reward: new Float32Array(100),
    };
    let episode = replay.newEpisode();
    const ours = calls(() => {
      episode = replay.recordMany(episode, steps);
    });
    return {
      comparisons: [{ name: many, batch: 100, ours, note: "evicting" }],
      close: () => replay[Symbol.dispose](),
    };
  });
  return cost;
}

/** Measures `record` beside an empty call of a native function. The difference counts here, not the ratio. */
export interface CallCost {
  /** Nanoseconds of an empty call with one number. */
  readonly emptyCall: number;
  /** Nanoseconds of `record` of a 4-float state into a full replay. */
  readonly record: number;
}

/** The results of {@linkcode measureLimit}. */
export interface LimitMeasured {
  /** A result for each measured workload. */
  readonly workloads: readonly LimitResult[];
  /** The names of all workloads. */
  readonly names: readonly string[];
  /** The instructions that the limit may use; empty if nothing was measured. */
  readonly cpu: string;
  /** What a `record` costs beside an empty call, if that was measured. */
  readonly calls?: CallCost;
}

/** Runs the selected workloads. */
export async function measureLimit(options: LimitOptions): Promise<LimitMeasured> {
  const measurer = new Measurer(options);
  await uniformDraws(measurer);
  await sequences(measurer);
  await stacks(measurer);
  await prioritizedDraws(measurer);
  const cost = await recording(measurer);
  return {
    workloads: measurer.results,
    names: measurer.names,
    cpu: measurer.library?.cpu ?? "",
    ...(cost === undefined ? {} : { calls: cost }),
  };
}
