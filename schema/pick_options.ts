/**
 * The pick policy: which sequences are picks of a view, and what a batch holds of them.
 *
 * @module
 */

import { checkBoolean, checkInteger, checkNumber, checkWord, show } from "../base/checks.ts";
import { checkOptions, type OptionHints } from "../base/option_names.ts";
import * as abi from "../ffi/symbols.ts";
import { type DType, float32 } from "./columns.ts";
import { checkTransforms, transformsText } from "./pick_transforms.ts";
import type { PickTransforms } from "./transform_types.ts";
import {
  checkLeafOption,
  type LeafOption,
  optionOf,
  optionOfLeaves,
  type StateLeaves,
} from "./state.ts";
import { checkWhere, type PickWhere, type PolicyWhere, tagsText } from "./pick_where.ts";

/**
 * What stands in a stack for frames before the start of the episode: its first frame, or zeros. It is the option `stackPadding` of
 * {@linkcode PickOptions}.
 */
export type StackPadding = "repeat" | "zeros";

/**
 * How a batch gives next states: in a part of their own, as one more row of `state`, or not at all. It is the option `nextState` of
 * {@linkcode PickOptions}.
 */
export type NextStateMode = "copy" | "overlap" | false;

/**
 * The pick policy of {@linkcode ExperienceReplay.newPickView} and {@linkcode CreateOptions.pick}: which sequences may be drawn, and what a
 * batch holds of them.
 *
 * A pick begins at a position of its episode and has up to `length` records. In a batch it has `burnIn + before + length` rows.
 *
 * The type parameters are the options that decide the types of batches. TypeScript infers them. It drops `undefined` from the type of an
 * option. So leave `stack`, `stackCompact` or `nStep` out if you don't want it: a variable that may be `undefined` gives a batch a wrong
 * type.
 */
export interface PickOptions<
  Stack extends LeafOption<number> = LeafOption<number>,
  Compact extends LeafOption<boolean> = LeafOption<boolean>,
  NStep extends number | readonly number[] = number | readonly number[],
  Transforms extends PickTransforms = PickTransforms,
> {
  /**
   * How many records a pick has: a whole number from 1; 1 by default. With `whole` it is the most that a pick has, and a batch has that
   * many rows for each pick. You must give it then, except where `segmentLength` says how long episodes may be.
   */
  readonly length?: number;
  /**
   * Picks begin at positions 0, `stride`, 2 `stride`, … of their episode: a whole number from 1; 1 by default. Two neighbours share
   * `length - stride` records.
   */
  readonly stride?: number;
  /**
   * Whether shorter sequences at the end of an episode are picks too; false by default. Rows past the end are zero in the batch, and
   * `seqLen` says how many rows are real.
   */
  readonly allowShort?: boolean;
  /**
   * Whether a pick may end with the newest record of an open episode, whose next state is not known yet; false by default. `nextSeqLen`
   * is then one less than `seqLen`.
   */
  readonly allowOpenEnd?: boolean;
  /**
   * Gamma of `batch.discount` and of n-step returns: 0 to 1. By default it is 1 in `pick` of `create`. A view of `newPickView` then
   * has the discount of `pick`.
   */
  readonly discount?: number;
  /**
   * Whether a pick is a whole episode that has ended; false by default. An episode longer than `length` is no pick, and neither is one
   * that was trimmed while it was open.
   */
  readonly whole?: boolean;
  /**
   * How many rows come before the pick, to warm up a recurrent state; 0 by default. Near the start of an episode there are fewer, and
   * the rows begin with its first record. `contextMask` marks them. See Kapturowski et al., "Recurrent Experience Replay in Distributed
   * Reinforcement Learning" (2019), section 3.
   */
  readonly burnIn?: number;
  /**
   * How many rows come before the pick, for windows around a position; 0 by default. The pick always begins at row `before`. Rows
   * before the start of the episode are zero, and `contextMask` marks the real ones. It excludes `burnIn`.
   */
  readonly before?: number;
  /** Whether rows run backwards in time, with the last record of the pick first; false by default. */
  readonly reversed?: boolean;
  /**
   * How many frames make one state: the frame of the record and those before it, oldest first. From 1 to 65536; 1 by default. If the
   * state has several leaves, `4` holds for all of them, and `{ image: 4 }` for one. The same goes for `stackCompact` and `nextState`.
   */
  readonly stack?: Stack;
  /**
   * What stands in a stack for frames before the start of the episode: `"repeat"`, its first frame, or `"zeros"`. `"repeat"` by
   * default.
   */
  readonly stackPadding?: StackPadding;
  /**
   * Whether a batch has each frame once instead of stacks; false by default. `batch.state` is then `[batch, stack - 1 + rows + 1,
   * ...shape]`. The last 1 is the next state. It is left out if `nextState` is `false`, as it is by default with `nStep`. Next states
   * of `nStep` are whole stacks.
   */
  readonly stackCompact?: Compact;
  /**
   * n of an n-step return, or a list of at most 8 different ones, each from 1 to 65536; none by default, and with an empty list.
   * {@linkcode Batch.nStep} has one part for each. The newest n records of an open episode then begin no pick yet, unless `allowOpenEnd` is set.
   */
  readonly nStep?: NStep;
  /**
   * How a batch gives next states. `"copy"` gives them in `batch.nextState`. `"overlap"` gives one more row at the end of
   * `batch.state`, `[batch, rows + 1, ...shape]`. `false` gives none.
   *
   * With `nStep` the default is `false`, as its parts have next states of their own. Without `nStep` it is `"overlap"` with
   * `stackCompact`, and `"copy"` otherwise. A leaf for which you write `false`, as in `{ speed: false }`, has no next states in `nStep`
   * either.
   */
  readonly nextState?: LeafOption<NextStateMode>;
  /** Whether batches have `learnMask` and `contextMask`. By default they do if `burnIn` or `before` is set. */
  readonly masks?: boolean;
  /**
   * Whether batches have `terminated` and `truncated`: how the episode ended, at its last record; false by default. Most learners need only
   * `discount`, which every batch has.
   */
  readonly ends?: boolean;
  /**
   * Whether batches have `returnToGo`, the sum of the rewards from each row to the end of its episode; false by default. See Chen et al.,
   * "Decision Transformer" (2021), section 3. A batch with it costs one look at each reward from its picks on.
   */
  readonly returnToGo?: boolean;
  /**
   * Which episodes have picks in the view: those with this tag, or with one of up to 16 tags; all by default. An episode has the tag
   * that you gave to `newEpisode`, and 0 without one.
   */
  readonly where?: PickWhere;
  /**
   * What becomes of the values of columns on their way into a batch, such as `{ state: [randomShift(4), toFloat32({ scale: 1 / 255 })] }`; nothing by
   * default. Each column has a list of transforms, which are done in order. They decide the dtype and the shape of the column in batches. Rows of padding stay
   * zero. All else gives stored values, such as `drain` and `episodeRecords`.
   */
  readonly transform?: Transforms;
}

/**
 * A pick policy, checked and filled in. {@linkcode PickView.policy} is one. The type parameters are what leaves of a state may have for
 * themselves.
 */
export type PickPolicy<
  Stack extends LeafOption<number> = number,
  Compact extends LeafOption<boolean> = boolean,
  Next extends LeafOption<NextStateMode> = NextStateMode,
> =
  & Readonly<
    Omit<Required<PickOptions<Stack, Compact>>, "nextState" | "nStep" | "where" | "transform">
  >
  & {
    /** How a batch gives next states. */
    readonly nextState: Next;
    /** n of each n-step return. */
    readonly nStep: readonly number[];
    /** The tags of the episodes that have picks. It is missing if all episodes have. */
    readonly where?: PolicyWhere;
    /** The transforms of columns. It is missing if there are none. */
    readonly transform?: PickTransforms;
  };

/** The {@linkcode PickPolicy} of any state, of one leaf or several. */
export type AnyPickPolicy = PickPolicy<
  LeafOption<number>,
  LeafOption<boolean>,
  LeafOption<NextStateMode>
>;

type Name = Exclude<keyof AnyPickPolicy, "where" | "transform">;

/** Checks a value; the name is that of the option in errors. */
type Check = (name: string, value: unknown) => unknown;

const integer = (least: number, most: number = abi.EXRP_LIMIT_CAPACITY): Check => (name, value) =>
  checkInteger(name, value, least, most);
const checkDiscount: Check = (name, value) => checkNumber(name, value, 0, 1);
const checkPadding: Check = (name, value) => checkWord(name, value, ["repeat", "zeros"]);

/**
 * Of each option: its default, where no other option decides it; its check; what a description says of another value; and by which flag
 * the kernel hears of one.
 */
const RULES: Readonly<Record<Name, readonly [unknown, Check, words: string, flag?: number]>> = {
  length: [1, integer(1), "length"],
  stride: [1, integer(1), "stride"],
  allowShort: [false, checkBoolean, "short ones too", abi.EXRP_PICK_ALLOW_SHORT],
  allowOpenEnd: [false, checkBoolean, "open ends too", abi.EXRP_PICK_ALLOW_OPEN_END],
  discount: [1, checkDiscount, "discount"],
  whole: [false, checkBoolean, "whole episodes", abi.EXRP_PICK_WHOLE],
  burnIn: [0, integer(0), "burn-in"],
  before: [0, integer(0), "before", abi.EXRP_PICK_ALIGNED],
  reversed: [false, checkBoolean, "reversed", abi.EXRP_PICK_REVERSED],
  stack: [1, integer(1, abi.EXRP_LIMIT_WINDOW), "stacks of"],
  stackPadding: ["repeat", checkPadding, "padded with", abi.EXRP_PICK_ZERO_PADDED],
  stackCompact: [false, checkBoolean, "frames once", abi.EXRP_PICK_COMPACT],
  nStep: [[], checkNStep, "n-step"],
  nextState: ["copy", checkNextState, "next states"],
  masks: [false, checkBoolean, "masks", abi.EXRP_PICK_MASKS],
  ends: [false, checkBoolean, "ends", abi.EXRP_PICK_ENDS],
  returnToGo: [false, checkBoolean, "return to go", abi.EXRP_PICK_RETURN_TO_GO],
};
const NAMES = Object.keys(RULES) as Name[];
const OPTIONS = [...NAMES, "where", "transform"] as const;
/** Stands for a state that is not known. */
const ONE_LEAF: StateLeaves = { leaves: [{ name: "state", column: float32() }], tree: 0 };
const STANDARDS = Object.fromEntries(NAMES.map((name) => [name, RULES[name][0]]));
/** The options that decide how batches are laid out, beside their rows and columns. */
const LAYOUT: readonly Name[] = [
  ...["stack", "stackCompact", "nStep", "nextState", "masks", "ends", "returnToGo"] as const,
];

/** What to write instead of an option of a pick policy where it does not belong. */
export const PICK_HINTS: OptionHints = Object.fromEntries(
  OPTIONS.map((name) => [name, `it is an option of pick: { ${name}: … }`]),
);

/** Options that exclude each other: the first one and any of the others, with the reason. */
const EXCLUDED: readonly (readonly [Name, readonly Name[], string])[] = [
  [
    "whole",
    ["stride", "allowShort", "allowOpenEnd"],
    "there is one pick for each episode that has ended",
  ],
  ["burnIn", ["before"], "both say what comes before a pick"],
  [
    "reversed",
    ["burnIn", "before", "stackCompact", "allowOpenEnd"],
    "rows begin with the pick's last record",
  ],
];

/** What a batch has of one leaf of the state. */
export interface LeafPolicy {
  /** How many frames make one state. */
  readonly stack: number;
  /** Whether a batch has each frame once. */
  readonly stackCompact: boolean;
  /** How it has next states. */
  readonly nextState: NextStateMode;
  /** Whether n-step returns have states of the leaf. */
  readonly hasNStep: boolean;
}

/** What a batch has of each leaf of the state. */
export function leafPolicies(policy: AnyPickPolicy, state: StateLeaves): readonly LeafPolicy[] {
  const stacks = optionOfLeaves(policy.stack, state);
  const compacts = optionOfLeaves(policy.stackCompact, state);
  const nexts = optionOfLeaves(policy.nextState, state);
  const isOne = typeof policy.nextState !== "object";
  return state.leaves.map((_, k) => ({
    stack: stacks[k] ?? 1,
    stackCompact: compacts[k] ?? false,
    nextState: nexts[k] ?? false,
    hasNStep: isOne || nexts[k] !== false,
  }));
}

/**
 * Checks a pick policy and fills it in, for this state. Without one, it is not checked which leaves have options for themselves. Whole
 * episodes are at most `segmentLength` records long, if there is one. `discount` is that of a policy which names none.
 */
export function checkPick(
  where: string,
  pick: PickOptions,
  state: StateLeaves | undefined,
  segmentLength: number | undefined,
  discount = 1,
): AnyPickPolicy {
  checkOptions(where, pick, OPTIONS);
  const field = where.endsWith(")") ? `${where}: ` : `${where}.`;
  const given: Partial<Record<keyof AnyPickPolicy, unknown>> = {};
  for (const name of NAMES) {
    if (pick[name] === undefined || name === "nextState") continue;
    const [standard, check] = RULES[name];
    given[name] = name === "stack" || name === "stackCompact"
      ? checkLeafOption(`${field}${name}`, pick[name], check, state, () => standard)
      : check(`${field}${name}`, pick[name]);
  }
  if (pick.where !== undefined) given.where = checkWhere(`${field}where`, pick.where);
  const transform = pick.transform === undefined
    ? undefined
    : checkTransforms(`${field}transform`, pick.transform);
  if (transform !== undefined) given.transform = transform;
  const { whole, burnIn, before, stackCompact, nStep } = {
    ...STANDARDS,
    ...given,
  } as AnyPickPolicy;
  // With n-step returns, a leaf that is not named has their states, and one with `false` has not.
  const isCompact = optionOfLeaves(stackCompact, state ?? ONE_LEAF);
  const nextStateOf = (leaf: number): NextStateMode | undefined =>
    nStep.length > 0 ? undefined : isCompact[leaf] === true ? "overlap" : "copy";
  const path = `${field}nextState`;
  const apart = nStep.length > 0 ? false : undefined;
  const nextState = pick.nextState !== undefined
    ? checkLeafOption(path, pick.nextState, checkNextState, state, nextStateOf, apart)
    : nStep.length > 0
    ? false
    : optionOf(isCompact.map((_, leaf) => nextStateOf(leaf)), state ?? ONE_LEAF);
  const policy = {
    ...STANDARDS,
    discount,
    ...whole && segmentLength !== undefined ? { length: segmentLength } : {},
    masks: burnIn > 0 || before > 0,
    ...given,
    nextState,
  } as AnyPickPolicy;
  for (const [option, others, why] of EXCLUDED) {
    const other = others.find((name) => isAsked(policy, name));
    if (other !== undefined && isAsked(policy, option)) {
      throw new TypeError(`${where}: ${option} can't be had with ${other}: ${why}`);
    }
  }
  if (whole && pick.length === undefined && segmentLength === undefined) {
    throw new TypeError(
      `${where}: whole needs a length, the most records that a pick has: longer episodes are no picks, and a batch has that many rows for each pick`,
    );
  }
  for (const leaf of leafPolicies(policy, state ?? ONE_LEAF)) {
    if (policy.reversed && leaf.nextState === "overlap") {
      throw new TypeError(
        `${where}: reversed can't be had with nextState "overlap": the state after the last record would come first; use "copy"`,
      );
    }
    if (leaf.stackCompact === true && leaf.nextState === "copy") {
      throw new TypeError(
        `${where}: stackCompact can't be had with nextState "copy", which gives frames twice; use "overlap" or false`,
      );
    }
  }
  return policy;
}

/** Whether an option is other than it is by default. */
function isAsked(policy: AnyPickPolicy, name: Name): boolean {
  return String(policy[name]) !== String(RULES[name][0]);
}

function checkNextState(name: string, value: unknown): NextStateMode {
  if (value === "copy" || value === "overlap" || value === false) return value;
  throw new TypeError(`${name} must be "copy", "overlap" or false, got ${show(value)}`);
}

function checkNStep(name: string, value: unknown): readonly number[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > abi.EXRP_LIMIT_N_STEPS) {
    throw new RangeError(
      `${name} takes at most ${abi.EXRP_LIMIT_N_STEPS} numbers, got ${list.length}`,
    );
  }
  const numbers = list.map((n, k) =>
    checkInteger(list.length === 1 ? name : `${name}[${k}]`, n, 1, abi.EXRP_LIMIT_WINDOW)
  );
  const again = numbers.findIndex((n, k) => numbers.indexOf(n) < k);
  if (again >= 0) {
    throw new RangeError(
      `${name} has ${
        numbers[again]
      } twice, which would give the same returns twice; name each n once`,
    );
  }
  return Object.freeze(numbers);
}

/** The number by which the kernel knows each dtype of a reward. */
export const REWARD_TYPES: Readonly<Record<DType, number>> = {
  float32: abi.EXRP_TYPE_FLOAT32,
  float64: abi.EXRP_TYPE_FLOAT64,
  float16: abi.EXRP_TYPE_FLOAT16,
  uint8: abi.EXRP_TYPE_UINT8,
  bool: abi.EXRP_TYPE_UINT8,
  int8: abi.EXRP_TYPE_INT8,
  int16: abi.EXRP_TYPE_INT16,
  int32: abi.EXRP_TYPE_INT32,
};

/** How the kernel knows what a batch has of next states. */
function nextStateNumber(mode: unknown): number {
  if (mode === "copy") return abi.EXRP_NEXT_STATE_COPY;
  return mode === "overlap" ? abi.EXRP_NEXT_STATE_OVERLAP : abi.EXRP_NEXT_STATE_NONE;
}

/** The numbers that the kernel makes a pick view from, without those of transforms; `reward` is the dtype of the reward column. */
export function kernelPolicy(
  policy: AnyPickPolicy,
  state: StateLeaves,
  reward: DType,
): Float64Array<ArrayBuffer> {
  const isOfLeaves = [policy.stack, policy.stackCompact, policy.nextState].some((option) =>
    typeof option === "object"
  );
  const leaves = isOfLeaves ? leafPolicies(policy, state) : [];
  const count = abi.EXRP_POLICY_COUNT + abi.EXRP_LEAF_COUNT * leaves.length;
  const numbers = new Float64Array(count);
  numbers[abi.EXRP_POLICY_LENGTH] = policy.length;
  numbers[abi.EXRP_POLICY_STRIDE] = policy.stride;
  for (const name of NAMES) {
    const [, , , flag = 0] = RULES[name];
    if (isAsked(policy, name)) (numbers[abi.EXRP_POLICY_FLAGS] as number) += flag;
  }
  numbers[abi.EXRP_POLICY_DISCOUNT] = policy.discount;
  numbers[abi.EXRP_POLICY_BEFORE] = policy.burnIn + policy.before;
  const one = leafPolicies(policy, ONE_LEAF)[0] as LeafPolicy;
  numbers[abi.EXRP_POLICY_STACK] = leaves.length > 0 ? 1 : one.stack;
  numbers[abi.EXRP_POLICY_NEXT_STATE] = nextStateNumber(one.nextState);
  for (const [k, { stack, stackCompact, nextState, hasNStep }] of leaves.entries()) {
    const first = abi.EXRP_POLICY_COUNT + abi.EXRP_LEAF_COUNT * k;
    numbers[first + abi.EXRP_LEAF_STACK] = stack;
    numbers[first + abi.EXRP_LEAF_NEXT_STATE] = nextStateNumber(nextState);
    numbers[first + abi.EXRP_LEAF_FLAGS] = (stackCompact ? abi.EXRP_LEAF_COMPACT : 0) +
      (hasNStep ? 0 : abi.EXRP_LEAF_NO_N_STEP);
  }
  numbers[abi.EXRP_POLICY_REWARD_TYPE] = REWARD_TYPES[reward];
  numbers.set(policy.nStep, abi.EXRP_POLICY_N_STEP);
  const tags = policy.where?.tag ?? [];
  numbers[abi.EXRP_POLICY_TAG_COUNT] = tags.length;
  numbers.set(tags, abi.EXRP_POLICY_TAG);
  return numbers;
}

/**
 * The options in which two policies differ, apart from `where`, each with the value of both. Where there are none, the same episode has
 * the same picks by both, and batches of both have the same layout.
 */
export function policyDifferences(
  one: AnyPickPolicy,
  other: AnyPickPolicy,
): readonly { readonly option: string; readonly one: string; readonly other: string }[] {
  const text = (policy: AnyPickPolicy, option: keyof AnyPickPolicy): string =>
    JSON.stringify(policy[option]);
  return OPTIONS.filter((option) => option !== "where" && text(one, option) !== text(other, option))
    .map((option) => ({ option, one: text(one, option), other: text(other, option) }));
}

/** Rows that a pick has in a batch. */
export function rowCount(policy: AnyPickPolicy): number {
  return policy.burnIn + policy.before + policy.length;
}

/** How many records before a pick at this position are real rows of a batch. */
export function contextCount({ burnIn, before }: AnyPickPolicy, position: number): number {
  return Math.min(position, burnIn + before);
}

/** The first real row of a pick at this position. Rows before it lie before the start of the episode and are zero. */
export function firstRow(policy: AnyPickPolicy, position: number): number {
  return policy.before === 0 ? 0 : policy.before - contextCount(policy, position);
}

/** What of a policy is other than it is by default, beside its length, in words; empty for none. */
export function describePolicy(policy: AnyPickPolicy): string {
  const where = policy.where === undefined ? [] : [`of ${tagsText(policy.where)}`];
  const others = NAMES.filter((name) => name !== "length" && !LAYOUT.includes(name));
  return [...where, ...wordsOf(policy, others), ...layoutWords(policy)].join(", ");
}

/** What decides how batches are laid out, beside their rows and columns, in words; empty for what it is by default. */
export function describeLayout(policy: AnyPickPolicy): string {
  return layoutWords(policy).join(", ");
}

function layoutWords(policy: AnyPickPolicy): string[] {
  const { transform } = policy;
  const transforms = transform === undefined ? [] : [`transforms of ${transformsText(transform)}`];
  return [...wordsOf(policy, LAYOUT), ...transforms];
}

function wordsOf(policy: AnyPickPolicy, names: readonly Name[]): string[] {
  return names.filter((name) => isAsked(policy, name)).map((name) => {
    const [, , words] = RULES[name];
    const value = policy[name];
    if (typeof value === "boolean") return value ? words : `no ${words}`;
    if (name === "nStep") return `${words} ${policy.nStep.join(" and ")}`;
    return `${words} ${typeof value === "object" ? optionText(value) : value}`;
  });
}

/** What leaves have for themselves in words, such as `{ image: 4, speed: 1 }`. */
function optionText(option: unknown): string {
  return JSON.stringify(option).replace(/"(\w+)":/g, "$1: ").replaceAll(",", ", ")
    .replaceAll("{", "{ ").replaceAll("}", " }");
}
