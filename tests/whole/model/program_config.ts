/**
 * What the replay of a program is made with: columns, pick views, selectors, limits.
 *
 * @module
 */

import type { DType } from "@exrp/replay";
import {
  centerCrop,
  clip,
  normalize,
  randomCrop,
  randomShift,
  scale,
  toFloat16,
  toFloat32,
  type Transform,
} from "@exrp/replay/transforms";
import type { AnyPickPolicy, Compression, LeafOption, TransformList } from "@exrp/replay/types";
import { Choice } from "./choice.ts";
import { EVICTION_KINDS, type EvictionKind } from "./eviction_models.ts";
import type { HindsightSpec } from "./hindsight_model.ts";
import type { PrioritizedSpec, SelectorSpec } from "./selector_specs.ts";
import { byLeaf, withOwnOptions } from "./state_leaves.ts";

/** A column as numbers and words. */
export interface ColumnSpec {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** n if only every nth record keeps the column. */
  readonly every?: number;
}

/** How many elements a value of a column has. */
export function elementCount({ shape }: ColumnSpec): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The options of the replay. */
export interface ProgramConfig {
  readonly capacity: number;
  readonly segmentLength?: number;
  readonly blockLength: number;
  readonly compression?: Compression;
  readonly seed: number;
  /** The pick policy of each pick view; those past the first are made when the first selector needs them. */
  readonly pick: AnyPickPolicy;
  readonly views: readonly AnyPickPolicy[];
  readonly state: ColumnSpec;
  /** The leaves of the state behind the first, which is `state`. */
  readonly moreLeaves: readonly ColumnSpec[];
  readonly action: ColumnSpec;
  readonly reward: ColumnSpec;
  readonly extras: Readonly<Record<string, ColumnSpec>>;
  readonly eviction: EvictionKind;
  /** The hindsight that relabels batches, where the columns have room for goals. */
  readonly hindsight: HindsightSpec | undefined;
  /** The rules; those past `selectorsAtFirst` come by operations `addSelector`. */
  readonly selectors: readonly SelectorSpec[];
  readonly selectorsAtFirst: number;
  /** The pick view of each selector. */
  readonly selectorTables: readonly number[];
  /** The option of `afterDraws`. */
  readonly evictionDraws: number;
  readonly capacityBytes?: number;
  readonly maxAge?: number;
}

/** The leaves of the state of a program, in their order. */
export function leafSpecs({ state, moreLeaves }: ProgramConfig): readonly ColumnSpec[] {
  return [state, ...moreLeaves];
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
    normalize: choice.of(["batch", "view"]),
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
    normalize: choice.of(["batch", "view"]),
    draw: choice.of(["stratified", "independent"]),
  };
}

/** A rule made of others. */
function chooseComposed(choice: Choice): SelectorSpec {
  const part = (): SelectorSpec => {
    const spec = chooseSelector(choice);
    return spec.kind === "sweep" ? { kind: "uniform" } : spec;
  };
  if (choice.oneIn(3)) {
    // The model can't look at candidates, so these come from rules that it knows wholly.
    return {
      kind: "laber",
      rule: choice.of<SelectorSpec>([
        { kind: "uniform" },
        { kind: "withoutReplacement" },
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
    normalize: choice.of(["batch", "view"]),
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

/** Pick options for records and next states only. */
export const PLAIN: AnyPickPolicy = {
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
  ends: false,
  returnToGo: false,
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

/** Pick options with every part that can be combined. */
function choosePolicy(choice: Choice, lengthMax: number): AnyPickPolicy {
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
      : [...new Set(Array.from({ length: choice.within(1, 3) }, () => choice.within(1, 7)))],
    nextState: stackCompact
      ? choice.of(["overlap", false])
      : reversed
      ? choice.of(["copy", false])
      : choice.of(["copy", "overlap", false]),
    masks: choice.oneIn(2),
    ends: false,
    returnToGo: false,
    ...(choice.oneIn(5) ? { where: { tag: choice.of([[0], [-1, 0, 2], [0, 1], [1, 2]]) } } : {}),
  };
}

/**
 * The parts of batches that tell of their episodes' ends. They have a stream of their own, so that the other choices are those of the programs
 * before. Batches with returns can't be relabelled, so they come where there is no hindsight or where they are refused anyway.
 */
function withEnds(choice: Choice, policy: AnyPickPolicy, canRelabel: boolean): AnyPickPolicy {
  const [ends, returnToGo] = [choice.oneIn(2), choice.oneIn(2)];
  return { ...policy, ends, returnToGo: returnToGo && (!canRelabel || policy.nStep.length > 0) };
}

/** Transforms of some columns, with a stream of their own. Batches with those of rewards or goals can't be relabelled, so most have others. */
function withTransforms(
  choice: Choice,
  policy: AnyPickPolicy,
  config: Pick<ProgramConfig, "state" | "moreLeaves" | "action" | "reward" | "extras">,
  canRelabel: boolean,
): AnyPickPolicy {
  if (choice.oneIn(2)) return policy;
  const { state, moreLeaves, action, reward, extras } = config;
  const isKept = canRelabel && policy.nStep.length === 0 && !choice.oneIn(20);
  const some = (spec: ColumnSpec, isReward = false): { readonly list?: TransformList } =>
    choice.oneIn(2) ? {} : { list: chooseTransforms(choice, spec, isReward) };
  const own = [state, ...moreLeaves].map((spec) => some(spec).list);
  const [{ list: acted }, { list: paid }] = [some(action), some(reward, true)];
  const chosen = Object.entries(extras).flatMap(([name, spec]) => {
    const { list } = some(spec);
    const isGoal = isKept && (name === "goal" || name === "mask");
    return list === undefined || isGoal ? [] : [[name, list] as const];
  });
  const transform = {
    ...(own.every((list) => list === undefined) || isKept ? {} : { state: byName(own) }),
    ...(acted === undefined ? {} : { action: acted }),
    ...(paid === undefined || isKept ? {} : { reward: paid }),
    ...(chosen.length === 0 ? {} : { extras: Object.fromEntries(chosen) }),
  };
  return Object.keys(transform).length === 0 ? policy : { ...policy, transform };
}

/** The lists of leaves by their names, without those that have none; or that of the only leaf. */
function byName(lists: readonly (TransformList | undefined)[]): LeafOption<TransformList> {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const named = Object.entries(byLeaf(lists) as Readonly<Record<string, TransformList>>);
  return Object.fromEntries(named.filter(([, list]) => list !== undefined));
}

/** A list of transforms that fit a column. */
function chooseTransforms(choice: Choice, spec: ColumnSpec, isReward: boolean): TransformList {
  const number = (): number => choice.of([1, 0.5, -2, 1 / 255, 3, 1e-3]);
  const list: Transform[] = [];
  if ((spec.every ?? 1) === 1 && choice.oneIn(3)) {
    list.push(normalize({ epsilon: choice.of([1e-8, 0.1]), clip: choice.of([10, 0.5, false]) }));
  }
  const [height, width] = spec.shape.length < 2 ? [] : spec.shape.slice(-2);
  if (height !== undefined && width !== undefined && !isReward) {
    if (choice.oneIn(2)) list.push(randomShift(choice.within(1, 4)));
    const [rows, columns] = [choice.within(1, height), choice.within(1, width)];
    if (choice.oneIn(2)) list.push(choice.of([randomCrop, centerCrop])(rows, columns));
  }
  if (choice.oneIn(2)) list.push(toFloat32({ scale: number(), offset: choice.of([0, 0.25, -1]) }));
  if (choice.oneIn(3)) list.push(clip(-Math.abs(number()), Math.abs(number())));
  if (choice.oneIn(4)) list.push(scale(number()));
  if (choice.oneIn(4)) list.push(toFloat16({ scale: number() }));
  return list.length === 0 ? [toFloat32()] : list;
}

/** The options of a program's replay. */
export function chooseConfig(choice: Choice, seed: number): ProgramConfig {
  const length = choice.oneIn(3) ? 1 : choice.within(2, 9);
  const capacity = Math.max(
    length,
    choice.oneIn(4)
      ? choice.within(3, 12)
      : choice.oneIn(5)
      ? choice.within(3, choice.oneIn(3) ? 700 : 400)
      : choice.within(12, 80),
  );
  const selectors = Array.from({ length: choice.within(1, 3) }, () => chooseSelector(choice));
  const segmentLength = !choice.oneIn(4)
    ? undefined
    : choice.oneIn(3)
    ? choice.within(length, Math.min(capacity, length + 3))
    : choice.within(length, capacity);
  const lengthMax = segmentLength ?? capacity;
  const views = Array.from(
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
  const chosen: ColumnSpec = choice.oneIn(8)
    ? { dtype: "float32", shape: [200] }
    : chooseColumn(choice, true);
  // With compression, it is a picture in half of the programs.
  const packing = new Choice(seed, 5);
  const compression = packing.of(["none", "fast", "small"] as const);
  const isPicture = compression !== "none" && packing.oneIn(2);
  const state: ColumnSpec = isPicture ? { dtype: "uint8", shape: [13, 11] } : chosen;
  // Leaves have a stream of their own, so that all other choices are those of the programs before.
  const own = new Choice(seed, 3);
  const moreLeaves = Array.from(
    { length: own.oneIn(2) ? 0 : own.within(1, 2) },
    () => chooseColumn(own, true),
  );
  const config: Omit<ProgramConfig, "evictionDraws"> = {
    capacity,
    ...(segmentLength === undefined ? {} : { segmentLength }),
    blockLength: chooseBlockLength(choice, capacity),
    compression,
    seed: choice.oneIn(4) ? Number.MAX_SAFE_INTEGER - seed : seed,
    pick: choice.oneIn(2)
      ? { ...choosePolicy(choice, length), length }
      : { ...PLAIN, ...chooseEnds(choice), length },
    views,
    state,
    moreLeaves,
    action: choice.oneIn(2) ? { dtype: "int32", shape: [] } : chooseColumn(choice, true),
    reward: choice.oneIn(3)
      ? { dtype: choice.of(DTYPES), shape: choice.of([[], [], [2]]) }
      : { dtype: choice.of(["float32", "float64"]), shape: [] },
    extras,
    eviction: choice.of(EVICTION_KINDS),
    hindsight: chooseHindsight(choice, state, extras),
    selectors,
    selectorsAtFirst: choice.within(1, selectors.length),
    // The first draws from the first view, so that there is something to draw in nearly every program.
    selectorTables: selectors.map((_, k) => k === 0 ? 0 : choice.below(views.length + 1)),
  };
  const ends = new Choice(seed, 2);
  const transforms = new Choice(seed, 4);
  const canRelabel = config.hindsight !== undefined;
  const complete = (policy: AnyPickPolicy): AnyPickPolicy =>
    withTransforms(
      transforms,
      withOwnOptions(own, withEnds(ends, policy, canRelabel), 1 + moreLeaves.length),
      config,
      canRelabel,
    );
  return {
    ...config,
    pick: complete(config.pick),
    views: config.views.map(complete),
    evictionDraws: choice.within(1, 5),
    ...chooseLimits(choice, config),
  };
}

/** A power of two from 2 to 32, and no less than how many records of an open episode go at once. */
export function chooseBlockLength(choice: Choice, capacity: number): number {
  const least = Math.max(1, Math.floor(Math.log2(Math.max(1, capacity / 64))));
  return 2 ** choice.within(Math.min(least, 4), 5);
}

/** A limit of bytes, which final states use up too, and one of age, now and then. */
function chooseLimits(
  choice: Choice,
  config: Omit<ProgramConfig, "evictionDraws">,
): { capacityBytes?: number; maxAge?: number } {
  const { capacity, state, moreLeaves, action, reward, extras, pick, segmentLength } = config;
  const { length } = pick;
  // Picks of each view fit, also where limits leave fewer records.
  const longest = Math.max(...config.views.map((view) => view.length), 0);
  const least = Math.max(length, longest, segmentLength ?? 0);
  const columns = [state, ...moreLeaves, action, reward, ...Object.values(extras)];
  const stateBytes = [state, ...moreLeaves].reduce((sum, leaf) => sum + columnBytes(leaf), 0);
  // The limits leave enough records to draw and to drain.
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
