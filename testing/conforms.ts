/**
 * Checks the whole contract of a selector, of the library or of your own.
 *
 * @module
 */

import { checkSelectorRule } from "../selectors/check_selector.ts";
import type { Batch, Column } from "../mod.ts";
import { NativeSelector, type SelectorRule } from "../selectors/mod.ts";
import {
  checkCase,
  checkFresh,
  type ConformanceCheck,
  type ConformsOptions,
  kernelOf,
  listChecks,
  type Plan,
  runChecks,
} from "./conformance.ts";
import { goesOnWhenLoaded, repeatsItself } from "./_driven.ts";
import * as checks from "./_selector_checks.ts";
import * as promises from "./_selector_promises.ts";
import { smallReplay } from "./_small_replay.ts";

/** A selector for {@linkcode conforms} to check, and its promises beyond the contract. */
export interface SelectorCase {
  /**
   * Makes the selector. For a selector of your own, return a new object each time, because one object serves one selector.
   * The states of the replay are single floats.
   */
  readonly make: () => SelectorRule<Batch<{ state: Column<"float32", [1]> }>>;
  /** The name in errors, for example with the options; the selector's own name by default. */
  readonly name?: string;
  /**
   * True when draws do not change the probabilities of later draws. Then the probabilities over the view sum to 1, and
   * draws follow them. Of two picks, the more likely one stays more likely when others are evicted. Where some picks are
   * never drawn, set `someOnly` too.
   */
  readonly stationary?: boolean;
  /** True when a pick of priority 0 is never drawn while another has more. If all have 0, all are equally likely. */
  readonly zeroIsNever?: boolean;
  /** True when a larger priority always makes a pick more likely, and a new pick gets the largest priority so far. */
  readonly followsPriority?: boolean;
  /** True when a draw depends on no random number. */
  readonly deterministic?: boolean;
  /** True when some picks are never drawn until something changes. */
  readonly someOnly?: boolean;
  /** True when a batch has no pick twice. Such a batch is at most as large as the view. */
  readonly distinct?: boolean;
  /** False when the selector has no `save` and `load`, so that a replay with it can't be saved; true by default. */
  readonly savable?: boolean;
}

type Plans = readonly Plan<checks.Subject>[];

/** What every selector must keep. */
const CONTRACT: Plans = [
  ["only stored picks are drawn, after any records and evictions", checks.drawsStored],
  ["every stored pick can be drawn, and no evicted one", checks.drawsAll],
  [
    "a draw from an empty pick view is an error, and a refilled view works again",
    checks.survivesEmptying,
  ],
  ["picks older than the selector are drawn too", checks.drawsEarlier],
  ["setPriority counts the picks it applied to, and skips evicted picks", checks.countsApplied],
  ["an invalid priority changes nothing", checks.refusesInvalid],
  ["the same seed and operations give the same draws", repeatsItself],
];

/** What a selector must keep that promises this. */
const PROMISES: Readonly<Record<string, Plans>> = {
  deterministic: [["draws depend on no random number", promises.isDeterministic]],
  stationary: [
    [
      "the probabilities of all picks sum to 1, and draws follow them",
      promises.followsProbabilities,
    ],
    ["picks keep the order of their probabilities when others are evicted", promises.keepsOrder],
  ],
  zeroIsNever: [
    ["a pick of priority 0 is never drawn, unless all priorities are 0", promises.leavesOutZero],
  ],
  followsPriority: [
    [
      "a pick of larger priority is drawn more, and the last of two priorities counts",
      promises.followsPriority,
    ],
    ["a new pick has the largest priority set so far", promises.beginsWithLargest],
  ],
  someOnly: [],
  distinct: [],
};

const RANDOM: Plans = [["another seed gives other draws", checks.variesWithSeed]];
const SAVABLE: Plans = [["after saving and loading, draws go on the same", goesOnWhenLoaded]];

/**
 * Checks that a selector keeps its contract. It must draw only stored picks, and follow every change of the view. It must draw the
 * same from the same seed, and go on the same after `unserialize`. It must also keep the further promises in `rule`. All
 * checks run, even after one has failed. Takes about a second.
 *
 * A selector may use priorities in any way, unless it promises `zeroIsNever` or `followsPriority`. Test that use
 * yourself.
 *
 * @param rule The selector to check, and its promises.
 * @param options The kernel and the first seed.
 * @throws {ConformanceError} When the selector breaks a promise. It lists every broken promise.
 * @throws {TypeError} When `rule` is not a case. A misspelt promise throws too.
 * @throws {RangeError} When the seed is not a whole number 0 to 2^32.
 * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission` when no replay can be made here.
 * @example
 * ```ts
 * import { prioritized } from "@exrp/replay";
 * import { conforms } from "@exrp/replay/testing";
 *
 * await conforms({
 *   name: "prioritized by the priority itself",
 *   make: () => prioritized({ alpha: 1, epsilon: 0 }),
 *   stationary: true,
 *   zeroIsNever: true,
 *   followsPriority: true,
 * });
 * ```
 */
export async function conforms(rule: SelectorCase, options: ConformsOptions = {}): Promise<void> {
  await runChecks(selectorChecks(rule, options));
}

/**
 * The checks of {@linkcode conforms} one by one, so that a test runner can show each.
 *
 * @param rule The selector to check, and its promises.
 * @param options The kernel and the first seed.
 * @throws {TypeError} When `rule` is not a case. A misspelt promise throws too.
 * @throws {RangeError} When the seed is not a whole number 0 to 2^32.
 * @example
 * ```ts
 * import { uniform } from "@exrp/replay";
 * import { selectorChecks } from "@exrp/replay/testing";
 *
 * const checks = selectorChecks({ make: uniform, stationary: true });
 * // In a test file: for (const { name, run } of checks) Deno.test(name, run);
 * console.log(checks[0]?.name); // uniform: only stored picks are drawn, after any records and evictions
 * await checks[0]?.run();
 * ```
 */
export function selectorChecks(
  rule: SelectorCase,
  options: ConformsOptions = {},
): ConformanceCheck[] {
  const flags = [...Object.keys(PROMISES), "savable"];
  const first = checkCase("conforms()", rule, flags, options);
  const [one, other] = [rule.make(), rule.make()];
  checkSelectorRule("conforms()", one);
  if (!(one instanceof NativeSelector)) checkFresh("conforms()", one, other);
  const kernel = kernelOf(options);
  const subject: checks.Subject = {
    replay: (seed) => smallReplay({ kernel, capacity: 60, segmentLength: 25, seed }),
    rule: rule.make,
    distinct: rule.distinct === true,
    someOnly: rule.someOnly === true,
    kernel,
  };
  const kept = Object.entries(rule).filter(([, value]) => value === true);
  const plans = [
    ...CONTRACT,
    ...rule.deterministic === true ? [] : RANDOM,
    ...rule.savable === false ? [] : SAVABLE,
    ...kept.flatMap(([name]) => PROMISES[name] ?? []),
  ];
  return listChecks(rule.name ?? checks.nameOf(one), plans, subject, first);
}
