/**
 * Programs: a configuration and a list of operations, both made from a seed. An operation says what to do in terms that
 * mean something in any state (the actor's episode, the third pick from the end), so that a program from which
 * operations were taken away is still one; that is how a failure is made short.
 *
 * @module
 */

import type { DType, PickPolicy } from "@exrp/replay";
import { EVICTION_KINDS, type EvictionKind } from "./eviction_models.ts";
import type { HindsightSpec } from "./hindsight_model.ts";
import { Random } from "./random.ts";
import type { PrioritizedSpec, SelectorSpec } from "./selector_specs.ts";

/** A column as numbers and words. */
export interface ColumnSpec {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Where not all records keep it: every so manieth does. */
  readonly every?: number;
}

/** How many elements a value of a column has. */
export function elementCount({ shape }: ColumnSpec): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** What a replay is made with. */
export interface ProgramConfig {
  readonly capacity: number;
  readonly segmentLength?: number;
  readonly blockLength: number;
  readonly seed: number;
  /** The pick policy of each pick table; those past the first are made when the first selector needs them. */
  readonly pick: PickPolicy;
  readonly tables: readonly PickPolicy[];
  readonly state: ColumnSpec;
  readonly action: ColumnSpec;
  readonly reward: ColumnSpec;
  readonly extras: Readonly<Record<string, ColumnSpec>>;
  readonly eviction: EvictionKind;
  /** What relabels batches, where the columns have room for goals. */
  readonly hindsight: HindsightSpec | undefined;
  /** The rules; those past `selectorsAtFirst` come by operations `addSelector`. */
  readonly selectors: readonly SelectorSpec[];
  readonly selectorsAtFirst: number;
  /** The pick table of each selector. */
  readonly selectorTables: readonly number[];
  /** The option of `afterDraws`. */
  readonly evictionDraws: number;
  readonly capacityBytes?: number;
  readonly maxAge?: number;
}

/** One step. `data` seeds whatever values it needs. */
export type Operation =
  | { readonly do: "newEpisode"; readonly actor: number }
  | {
    readonly do: "record";
    readonly actor: number;
    readonly data: number;
    readonly end: "no" | "terminated" | "truncated";
    /** Whether arrays are given as plain ones. */
    readonly plain: boolean;
    /** Whether the record comes with the first priority of its pick. */
    readonly priority: boolean;
  }
  | {
    readonly do: "recordMany";
    readonly actor: number;
    readonly count: number;
    readonly data: number;
    readonly end: "no" | "terminated" | "truncated";
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "recordBatch";
    /** Actors 0 to count - 1. */
    readonly count: number;
    readonly data: number;
    /** Which ones end is chosen by `data`, one in so many. */
    readonly endOneIn: number;
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "recordStep";
    readonly actor: number;
    readonly data: number;
    readonly terminated: boolean;
    readonly truncated: boolean;
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "endEpisode";
    readonly actor: number;
    readonly data: number;
    readonly truncated: boolean;
    readonly plain: boolean;
  }
  | {
    readonly do: "getBatch";
    readonly selector: number;
    readonly size: number;
    readonly beta: number | undefined;
    readonly into: boolean;
  }
  | {
    readonly do: "setPriority";
    readonly selector: number;
    /** Picks of a batch that is held, of the pick table, or any. */
    readonly of: "batch" | "table" | "any";
    readonly count: number;
    readonly data: number;
    readonly float32: boolean;
  }
  | { readonly do: "evict"; readonly nth: number; readonly gone: boolean }
  | {
    readonly do: "drain";
    /** How much: 0 for all that has ended, else a number of steps below or about the capacity. */
    readonly steps: number;
    readonly exactly: boolean;
    readonly keep: boolean;
  }
  | { readonly do: "relabel"; readonly nth: number }
  | { readonly do: "addSelector" }
  | { readonly do: "save" }
  | { readonly do: "load"; readonly fresh: boolean; readonly blockLength: number }
  | { readonly do: "refused"; readonly call: number; readonly data: number };

export interface Program {
  readonly seed: number;
  readonly config: ProgramConfig;
  readonly operations: readonly Operation[];
}

const DTYPES: readonly DType[] = [
  "uint8",
  "int8",
  "int16",
  "int32",
  "float16",
  "float32",
  "float64",
  "bool",
];

class Choice {
  readonly #random: Random;
  constructor(seed: number) {
    this.#random = new Random(seed, 0x0e4e);
  }
  /** 0 to bound - 1. */
  below(bound: number): number {
    return this.#random.below(bound);
  }
  /** from to to, both included. */
  within(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }
  /** True once in `bound` times. */
  oneIn(bound: number): boolean {
    return this.below(bound) === 0;
  }
  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
  data(): number {
    return this.below(2 ** 32 - 1);
  }
}

function chooseColumn(choice: Choice, scalar: boolean): ColumnSpec {
  const shapes = [[1], [3], [4], [2, 3], [17]];
  return { dtype: choice.of(DTYPES), shape: scalar && choice.oneIn(2) ? [] : choice.of(shapes) };
}

function chooseSelector(choice: Choice): SelectorSpec {
  if (choice.oneIn(6)) return chooseComposed(choice);
  if (choice.oneIn(4)) return chooseEnd(choice);
  if (choice.oneIn(6)) return chooseRecent(choice);
  if (choice.oneIn(8)) return { kind: "withoutReplacement" };
  if (choice.oneIn(5)) return chooseRankBased(choice);
  if (choice.oneIn(4)) return choice.oneIn(2) ? choosePser(choice) : chooseCurious(choice);
  switch (choice.below(5)) {
    case 0:
      return { kind: "uniform" };
    case 1:
      return { kind: "sweep" };
    case 2:
      return {
        kind: "ucb",
        c: choice.of([0, 0.25, 1, 3]),
        mode: choice.of(["greedy", "proportional"]),
        initialPriority: choice.of([1, 1, 0.1]),
      };
    default:
      return choosePrioritized(choice);
  }
}

function choosePrioritized(choice: Choice): PrioritizedSpec {
  return {
    kind: "prioritized",
    alpha: choice.of([0, 0.5, 0.6, 0.6, 1, 2.5]),
    epsilon: choice.of([0, 0, 1e-6, 0.1]),
    initialPriority: choice.of([1, 1, 0.1, 1e-40, 1e200]),
    normalize: choice.of(["batch", "table"]),
    draw: choice.of(["stratified", "independent"]),
  };
}

function choosePser(choice: Choice): SelectorSpec {
  return {
    ...choosePrioritized(choice),
    kind: "pser",
    decay: choice.of([0, 0.4, 0.4, 0.9, 1]),
    window: choice.of([1, 5, 5, 40]),
    retain: choice.of([0, 0.7, 0.7, 1]),
  };
}

function chooseCurious(choice: Choice): SelectorSpec {
  return {
    kind: "curious",
    c: choice.of([0, 1, 1e4, 1e4]),
    beta: choice.of([0, 0.7, 0.7, 1]),
    alpha: choice.of([0, 0.5, 0.7, 0.7, 2.5]),
    epsilon: choice.of([0, 0.01, 0.01]),
    pMax: choice.of([1e5, 1e5, 1, 1e-40]),
    normalize: choice.of(["batch", "table"]),
    draw: choice.of(["stratified", "independent"]),
  };
}

/** A rule made of others; none of them refuses a batch, as after that the others would have drawn. */
function chooseComposed(choice: Choice): SelectorSpec {
  const part = (): SelectorSpec => {
    const spec = chooseSelector(choice);
    return spec.kind === "withoutReplacement" || spec.kind === "sweep" ? { kind: "uniform" } : spec;
  };
  if (choice.oneIn(3)) {
    // The model can't look at candidates, so these come from rules that it knows wholly.
    return {
      kind: "laber",
      rule: choice.of<SelectorSpec>([
        { kind: "uniform" },
        { kind: "recent", newest: 3, fraction: 0.5, eta: 1, updates: 1000 },
        {
          kind: "prioritized",
          alpha: 0.6,
          epsilon: 1e-6,
          initialPriority: 1,
          normalize: "batch",
          draw: "stratified",
        },
      ]),
      factor: choice.within(1, 4),
      normalize: choice.of(["mean", "max"]),
    };
  }
  if (choice.oneIn(2)) return { kind: "combined", newest: choice.within(1, 5), rest: part() };
  return {
    kind: "mixture",
    parts: Array.from({ length: choice.within(1, 3) }, () => ({
      rule: part(),
      share: choice.of([0.5, 0.5, 1, 0.3, 3]),
    })),
  };
}

function chooseEnd(choice: Choice): SelectorSpec {
  const kind = choice.of(["oldest", "newest", "highestPriority", "lowestPriority"] as const);
  if (kind === "oldest" || kind === "newest") return { kind, distinct: choice.oneIn(2) };
  return { kind, initialPriority: choice.of([0, 1, 1, 0.3]) };
}

function chooseRankBased(choice: Choice): SelectorSpec {
  return {
    kind: "rankBased",
    alpha: choice.of([0, 0.5, 0.7, 0.7, 1, 2.5]),
    initialPriority: choice.of([1, 1, 0, 0.1, 1e200]),
    normalize: choice.of(["batch", "table"]),
    draw: choice.of(["stratified", "independent"]),
  };
}

function chooseRecent(choice: Choice): SelectorSpec {
  return {
    kind: "recent",
    newest: choice.of([1, 1, 3, 20]),
    fraction: choice.of([0, 0.1, 0.5, 1, 1]),
    eta: choice.of([1, 0.999, 0.996, 0]),
    updates: choice.of([1, 3, 1000]),
  };
}

function chooseHindsight(
  choice: Choice,
  state: ColumnSpec,
  extras: Readonly<Record<string, ColumnSpec>>,
): HindsightSpec | undefined {
  const strategy = choice.of(["future", "future", "final", "episode", "random"] as const);
  const share = choice.of([1, 0.8, 0.8, 0.3]);
  if (extras.goal !== undefined) return { strategy, share, inState: undefined };
  const inState = Math.floor(elementCount(state) / 2);
  return inState === 0 ? undefined : { strategy, share, inState };
}

/** A policy that asks for nothing beyond records and next states. */
const PLAIN: PickPolicy = {
  length: 1,
  stride: 1,
  allowShort: false,
  allowOpenEnd: false,
  discount: 1,
  whole: false,
  burnIn: 0,
  before: 0,
  reversed: false,
  stack: 1,
  stackPadding: "repeat",
  stackCompact: false,
  nStep: [],
  nextState: "copy",
  masks: false,
};

function chooseEnds(
  choice: Choice,
): { allowShort: boolean; allowOpenEnd: boolean; discount: number } {
  return {
    allowShort: choice.oneIn(2),
    allowOpenEnd: choice.oneIn(2),
    discount: choice.of([1, 0.99, 0.9, 0]),
  };
}

/** A policy that asks for whatever there is, but for what can't be had together. */
function choosePolicy(choice: Choice, lengthMax: number): PickPolicy {
  const ends = chooseEnds(choice);
  const whole = choice.oneIn(8);
  const reversed = choice.oneIn(5);
  const context = reversed ? 0 : choice.below(3);
  const stack = choice.oneIn(2) ? 1 : choice.within(2, 5);
  const stackCompact = !reversed && choice.oneIn(4);
  return {
    ...ends,
    length: choice.within(1, Math.min(lengthMax, whole ? 30 : 9)),
    stride: whole ? 1 : choice.of([1, 1, 2, 3]),
    allowShort: !whole && ends.allowShort,
    allowOpenEnd: !whole && !reversed && ends.allowOpenEnd,
    whole,
    burnIn: context === 1 ? choice.within(1, 9) : 0,
    before: context === 2 ? choice.within(1, 9) : 0,
    reversed,
    stack,
    stackPadding: choice.of(["repeat", "zeros"]),
    stackCompact,
    nStep: choice.oneIn(2)
      ? []
      : Array.from({ length: choice.within(1, 3) }, () => choice.within(1, 7)),
    nextState: stackCompact
      ? choice.of(["overlap", false])
      : reversed
      ? choice.of(["copy", false])
      : choice.of(["copy", "overlap", false]),
    masks: choice.oneIn(2),
  };
}

function chooseConfig(choice: Choice, seed: number): ProgramConfig {
  const length = choice.oneIn(3) ? 1 : choice.within(2, 9);
  const capacity = Math.max(
    length,
    choice.oneIn(4)
      ? choice.within(3, 12)
      : choice.oneIn(5)
      ? choice.within(3, 400)
      : choice.within(12, 80),
  );
  const selectors = Array.from({ length: choice.within(1, 3) }, () => chooseSelector(choice));
  const segmentLength = choice.oneIn(2)
    ? undefined
    : choice.oneIn(3)
    ? choice.within(length, Math.min(capacity, length + 3))
    : choice.within(length, capacity);
  const lengthMax = segmentLength ?? Math.max(length, Math.floor(capacity / 8));
  const tables = Array.from(
    { length: choice.oneIn(2) ? 0 : choice.within(1, 2) },
    () => choosePolicy(choice, lengthMax),
  );
  const extras: Record<string, ColumnSpec> = {};
  for (const name of ["logProb", "mask", "goal"].slice(0, choice.below(4))) {
    const spec = chooseColumn(choice, true);
    extras[name] = choice.oneIn(4) ? { ...spec, every: choice.within(2, 20) } : spec;
  }
  // Goals are alike.
  if (extras.goal !== undefined && extras.mask !== undefined) {
    // Goals, which all records keep.
    const { dtype, shape } = extras.mask;
    extras.goal = extras.mask = { dtype, shape };
  }
  // Now and then a state of 800 bytes, which the kernel keeps in a place of its own.
  const state: ColumnSpec = choice.oneIn(8)
    ? { dtype: "float32", shape: [200] }
    : chooseColumn(choice, true);
  const config: Omit<ProgramConfig, "evictionDraws"> = {
    capacity,
    ...(segmentLength === undefined ? {} : { segmentLength }),
    blockLength: 2 ** choice.within(1, 5),
    seed: choice.oneIn(4) ? Number.MAX_SAFE_INTEGER - seed : seed,
    pick: choice.oneIn(2)
      ? { ...choosePolicy(choice, length), length }
      : { ...PLAIN, ...chooseEnds(choice), length },
    tables,
    state,
    action: choice.oneIn(2) ? { dtype: "int32", shape: [] } : chooseColumn(choice, true),
    reward: choice.oneIn(3)
      ? { dtype: choice.of(DTYPES), shape: choice.of([[], [], [2]]) }
      : { dtype: choice.of(["float32", "float64"]), shape: [] },
    extras,
    eviction: choice.of(EVICTION_KINDS),
    hindsight: chooseHindsight(choice, state, extras),
    selectors,
    selectorsAtFirst: choice.within(1, selectors.length),
    // The first draws from the first table, so that there is something to draw in nearly every program.
    selectorTables: selectors.map((_, k) => k === 0 ? 0 : choice.below(tables.length + 1)),
  };
  return { ...config, evictionDraws: choice.within(1, 5), ...chooseLimits(choice, config) };
}

/** A limit of bytes, which final states use up too, and one of age, now and then. */
function chooseLimits(
  choice: Choice,
  config: Omit<ProgramConfig, "evictionDraws">,
): { capacityBytes?: number; maxAge?: number } {
  const { capacity, state, action, reward, extras, pick: { length }, segmentLength } = config;
  // Segments are as long as the picks of each table, also where their length follows from the limits.
  const longest = Math.max(...config.tables.map((table) => table.length), 0);
  const least = Math.max(length, segmentLength ?? (longest > length ? 8 * longest : 0));
  const columns = [state, action, reward, ...Object.values(extras)];
  const stateBytes = columnBytes(state);
  // Not so tight that little is left to draw and to drain.
  const half = Math.ceil(capacity / 2);
  const records = Math.max(least, choice.within(half, capacity));
  const recordBytes = columns.reduce(
    (sum, spec) => sum + Math.ceil(records / (spec.every ?? 1)) * columnBytes(spec),
    0,
  );
  const capacityBytes = recordBytes +
    stateBytes * choice.within(1, choice.oneIn(2) ? 1 : 1 + capacity);
  const maxAge = Math.max(least, choice.oneIn(3) ? 1 : half) + choice.below(2 * capacity);
  return {
    ...(choice.oneIn(4) ? { capacityBytes } : {}),
    ...(choice.oneIn(4) ? { maxAge } : {}),
  };
}

function columnBytes(spec: ColumnSpec): number {
  const [bits = ""] = spec.dtype.match(/\d+$/) ?? ["8"];
  return elementCount(spec) * Number(bits) / 8;
}

function chooseOperations(choice: Choice, config: ProgramConfig, count: number): Operation[] {
  const operations: Operation[] = [];
  const actorCount = choice.within(1, 4);
  // How long episodes are on average: some longer than a segment, some of one record.
  const meanLength = choice.of([2, 6, 20, 60]);
  const ended = new Set<number>();
  let waiting = config.selectors.length - config.selectorsAtFirst;
  let saved = false;
  // Most replays never see a priority with a record, and keep no memory for them.
  const priorities = choice.oneIn(3);
  while (operations.length < count) {
    const roll = choice.below(100);
    const selector = choice.below(config.selectors.length);
    if (roll < 12) {
      operations.push(chooseSteps(choice, config, actorCount, meanLength, ended, priorities));
    } else if (roll < 58) {
      const actor = choice.below(actorCount);
      if (ended.has(actor) && !choice.oneIn(10)) {
        ended.delete(actor);
        operations.push({ do: "newEpisode", actor });
      }
      const end = choice.oneIn(meanLength) ? choice.of(["terminated", "truncated"] as const) : "no";
      operations.push({
        do: "record",
        actor,
        data: choice.data(),
        end,
        plain: choice.oneIn(3),
        priority: priorities && choice.oneIn(4),
      });
      if (end !== "no") ended.add(actor);
    } else if (roll < 61) {
      const actor = choice.below(actorCount);
      ended.delete(actor);
      operations.push({ do: "newEpisode", actor });
    } else if (roll < 78) {
      const size = choice.oneIn(8) ? choice.within(30, 90) : choice.within(1, 12);
      const beta = choice.of([undefined, 0, 0.4, 0.5, 1, 2.3]);
      operations.push({ do: "getBatch", selector, size, beta, into: choice.oneIn(3) });
    } else if (roll < 90) {
      operations.push({
        do: "setPriority",
        selector,
        of: choice.of(["batch", "batch", "table", "any"] as const),
        count: choice.oneIn(10)
          ? 0
          : choice.oneIn(6)
          ? choice.within(60, 140)
          : choice.within(1, 12),
        data: choice.data(),
        float32: choice.oneIn(2),
      });
    } else if (roll < 92) {
      operations.push({ do: "evict", nth: choice.data(), gone: choice.oneIn(4) });
    } else if (roll < 93 && waiting > 0) {
      waiting--;
      operations.push({ do: "addSelector" });
    } else if (roll < 95) {
      saved = true;
      operations.push({ do: "save" });
    } else if (roll < 96 && saved) {
      const blockLength = 2 ** choice.within(1, 5);
      operations.push({ do: "load", fresh: choice.oneIn(2), blockLength });
    } else if (roll >= 98 && !choice.oneIn(3)) {
      operations.push({ do: "relabel", nth: choice.data() });
    } else if (roll >= 98) {
      const { capacity } = config;
      const most = choice.oneIn(3) ? capacity : Math.ceil(capacity / 6);
      const steps = choice.oneIn(3) ? 0 : choice.within(1, most);
      operations.push({ do: "drain", steps, exactly: choice.oneIn(2), keep: choice.oneIn(2) });
    } else if (roll >= 96) {
      operations.push({ do: "refused", call: choice.data(), data: choice.data() });
    }
  }
  return operations;
}

/** One of the calls that record otherwise than by `record`. */
function chooseSteps(
  choice: Choice,
  { capacity }: ProgramConfig,
  actorCount: number,
  meanLength: number,
  ended: Set<number>,
  priorities: boolean,
): Operation {
  const priority = priorities && choice.oneIn(2);
  const data = choice.data();
  const plain = choice.oneIn(3);
  const kind = choice.below(8);
  if (kind < 3) {
    // Their episodes begin by themselves; now and then an actor has one that has ended, or two have the same.
    return {
      do: "recordBatch",
      count: choice.within(1, actorCount),
      data,
      endOneIn: choice.of([1, 3, meanLength, meanLength]),
      plain,
      priority,
    };
  }
  const actor = choice.below(actorCount);
  if (kind < 6) {
    const end = choice.oneIn(3) ? choice.of(["terminated", "truncated"] as const) : "no";
    if (end !== "no") ended.add(actor);
    const count = choice.oneIn(6)
      ? choice.within(1, 2 * Math.min(capacity, 60))
      : choice.within(1, 9);
    return { do: "recordMany", actor, count, data, end, plain, priority };
  }
  if (kind === 6) {
    const [terminated, truncated] = [choice.oneIn(meanLength), choice.oneIn(meanLength)];
    return { do: "recordStep", actor, data, terminated, truncated, plain, priority };
  }
  ended.add(actor);
  return { do: "endEpisode", actor, data, truncated: choice.oneIn(2), plain };
}

/** The program of a seed. */
export function makeProgram(seed: number, operationCount: number): Program {
  const choice = new Choice(seed);
  const config = chooseConfig(choice, seed);
  return { seed, config, operations: chooseOperations(choice, config, operationCount) };
}

/** A program as text that can be read, and pasted into `runProgram`. */
export function showProgram({ seed, config, operations }: Program): string {
  const lines = operations.map((operation) => `    ${JSON.stringify(operation)},`);
  return `{\n  "seed": ${seed},\n  "config": ${JSON.stringify(config)},\n  "operations": [\n${
    lines.join("\n")
  }\n  ]\n}`;
}
