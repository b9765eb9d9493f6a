/**
 * The pace of one replay. The kernel counts, and decides which calls may go ahead; here is what sets, saves and shows it.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import {
  EXRP_PACE_DIFFERENCE_MAX,
  EXRP_PACE_DIFFERENCE_MIN,
  EXRP_PACE_DRAWN,
  EXRP_PACE_INFO_COUNT,
  EXRP_PACE_IS_SET,
  EXRP_PACE_MIN_SIZE,
  EXRP_PACE_PICKS_ALLOWED,
  EXRP_PACE_RATIO,
  EXRP_PACE_RECORDED,
  EXRP_PACE_RECORDS_ALLOWED,
  EXRP_PACE_RULE_COUNT,
  EXRP_PACE_SAVED_COUNT,
} from "../../ffi/symbols.ts";
import type { PaceNumbers, PaceRule } from "../../pace/pace_rule.ts";
import type { ReplayCore } from "../core.ts";

/** The pace of a replay, and how far it is. {@linkcode ExperienceReplay.pace} returns it. */
export interface PaceState extends PaceNumbers {
  /** I: records that came since the pace was set. A replay that held some by then began with them, with at most `minSize`. */
  readonly recorded: number;
  /** S: picks that were drawn since, and steps that `drain` returned. */
  readonly drawn: number;
  /** D = I × ratio - S. */
  readonly difference: number;
  /** The most records that a call may store now; Infinity without a limit. */
  readonly recordsAllowed: number;
  /** The most picks that a call may draw now; Infinity without a limit. */
  readonly picksAllowed: number;
}

/** The numbers of a pace, as snapshots have them. */
export const PACE_NUMBERS = EXRP_PACE_SAVED_COUNT;

/** Keeps the pace of one replay. */
export class Pacer {
  readonly #core: ReplayCore;
  /** Records that `drain` has not returned. */
  readonly #undrained: () => number;
  #rule: PaceRule | undefined;

  /** Keeps the pace of the replay of `core`. `undrained` counts the records that `drain` has not returned. */
  constructor(core: ReplayCore, undrained: () => number) {
    this.#core = core;
    this.#undrained = undrained;
  }

  /** Sets a pace, whose counts begin anew, or takes it away. */
  set(operation: string, rule: PaceRule | undefined): void {
    const core = this.#core;
    core.together(operation, () => {
      const counts = rule?.countsDrained === true
        ? { recorded: this.#undrained(), drawn: 0 }
        : undefined;
      this.#give(operation, rule === undefined ? [] : numbersOf(rule.numbers, counts));
    });
    this.#rule = rule;
    core.changed();
  }

  /** The rule and its counts as numbers, for a snapshot; none without a pace. */
  save(): readonly number[] {
    const info = infoOf(this.#core, "serialize()");
    return info[EXRP_PACE_IS_SET] === 0 ? [] : [...info.subarray(0, PACE_NUMBERS)];
  }

  /**
   * Goes on with the replay's own pace after a snapshot was loaded, which had these numbers. The counts go on if the rule is the same, and else
   * they begin anew.
   */
  goOn(saved: readonly number[]): void {
    const rule = this.#rule;
    if (rule === undefined) return;
    const own = numbersOf(rule.numbers, undefined);
    const isSame = saved.length === PACE_NUMBERS && own.every((number, k) => number === saved[k]);
    if (isSame) this.#give("unserialize()", saved);
    else this.set("unserialize()", rule);
  }

  #give(operation: string, numbers: readonly number[]): void {
    const { kernel, occupiedId } = this.#core;
    const array = Float64Array.from(numbers);
    // The kernel takes no null, and an empty array may be one.
    const bytes = array.length === 0 ? new Float64Array(1) : array;
    this.#core.check(operation, kernel.symbols.exrp_pace_set(occupiedId, bytes, lengthOf(array)));
  }
}

/** The pace of a replay and its counts; undefined without one. */
export function paceState(core: ReplayCore, operation: string): PaceState | undefined {
  const info = infoOf(core, operation);
  const number = (index: number): number => info[index] ?? 0;
  if (number(EXRP_PACE_IS_SET) === 0) return undefined;
  const ratio = number(EXRP_PACE_RATIO);
  const recorded = number(EXRP_PACE_RECORDED);
  const drawn = number(EXRP_PACE_DRAWN);
  return Object.freeze({
    ratio,
    minSize: number(EXRP_PACE_MIN_SIZE),
    differenceMin: number(EXRP_PACE_DIFFERENCE_MIN),
    differenceMax: number(EXRP_PACE_DIFFERENCE_MAX),
    recorded,
    drawn,
    difference: recorded * ratio - drawn,
    recordsAllowed: number(EXRP_PACE_RECORDS_ALLOWED),
    picksAllowed: number(EXRP_PACE_PICKS_ALLOWED),
  });
}

function infoOf(core: ReplayCore, operation: string): Float64Array {
  const info = new Float64Array(EXRP_PACE_INFO_COUNT);
  core.check(operation, core.kernel.symbols.exrp_pace_info(core.occupiedId, info, lengthOf(info)));
  return info;
}

/** The numbers as the kernel takes them. */
function numbersOf(
  { ratio, minSize, differenceMin, differenceMax }: PaceNumbers,
  counts: { readonly recorded: number; readonly drawn: number } | undefined,
): readonly number[] {
  const numbers = new Array<number>(EXRP_PACE_RULE_COUNT);
  numbers[EXRP_PACE_RATIO] = ratio;
  numbers[EXRP_PACE_MIN_SIZE] = minSize;
  numbers[EXRP_PACE_DIFFERENCE_MIN] = differenceMin;
  numbers[EXRP_PACE_DIFFERENCE_MAX] = differenceMax;
  if (counts === undefined) return numbers;
  return [...numbers, counts.recorded, counts.drawn];
}
