/**
 * The whole contract of a selector, as checks that any rule must pass: the library's own or a user's.
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
  listChecks,
  type Plan,
  runChecks,
} from "./conformance.ts";
import { nameOf, type Subject } from "./_driven_selector.ts";
import * as checks from "./_selector_checks.ts";
import * as promises from "./_selector_promises.ts";

/** A selector to be checked, and what it promises beyond what all do. */
export interface SelectorCase {
  /**
   * Makes the rule: one of your own anew each time, as one object serves one selector. Its replay has states of one float.
   */
  readonly make: () => SelectorRule<Batch<{ state: Column<"float32", [1]> }>>;
  /** Says which rule and options; the rule's own name by default. */
  readonly name?: string;
  /**
   * True when draws do not change the chances of later ones: then the probabilities over the table sum to 1, draws follow
   * them, and of two picks the more likely one stays so when others are forgotten. Where some picks are never drawn,
   * `someOnly` has to be true too.
   */
  readonly stationary?: boolean;
  /** True when a pick of priority 0 is never drawn while another has more, and all are equal when all have 0. */
  readonly zeroIsNever?: boolean;
  /** True when a larger priority makes a pick more likely, whatever else, and new picks get the largest priority so far. */
  readonly followsPriority?: boolean;
  /** True when a draw depends on no random number. */
  readonly deterministic?: boolean;
  /** True when there are picks that are never drawn as long as nothing changes. */
  readonly someOnly?: boolean;
  /** True when a batch has no pick twice, and so at most as many as there are. */
  readonly distinct?: boolean;
  /** False when the rule has no `save` and `load`, so that a replay with it can't be saved; true by default. */
  readonly savable?: boolean;
}

const PROMISES = [
  ...["stationary", "zeroIsNever", "followsPriority", "deterministic", "someOnly", "distinct"],
  "savable",
];

/**
 * Checks that a selector keeps its contract: that it draws only what is stored, hears of every change, draws the same from
 * the same seed, goes on after `unserialize` as if nothing had been, and what `rule` says that it promises beyond. All checks
 * are run, also after one has failed. Takes about a second.
 *
 * What a rule does with priorities is its own affair, unless it promises `zeroIsNever` or `followsPriority`: test that yourself.
 *
 * @param rule What to check, and what it promises.
 * @param options Where the kernel is, and the first seed.
 * @throws {ConformanceError} When it does not, with every promise that it broke.
 * @throws {TypeError} When `rule` is no such case: a misspelt promise is refused, not ignored.
 * @throws {RangeError} When the seed is no whole number 0 to 2^32.
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
  const list = selectorChecks(rule, options);
  await runChecks(rule.name ?? nameOf(rule.make()), list);
}

/**
 * The checks of {@linkcode conforms} one by one, for a test runner that is to show them so.
 *
 * @param rule What to check, and what it promises.
 * @param options Where the kernel is, and the first seed.
 * @throws {TypeError} When `rule` is no such case: a misspelt promise is refused, not ignored.
 * @throws {RangeError} When the seed is no whole number 0 to 2^32.
 * @example
 * ```ts
 * import { uniform } from "@exrp/replay";
 * import { selectorChecks } from "@exrp/replay/testing";
 * import { assertStrictEquals } from "@std/assert";
 *
 * const checks = selectorChecks({ make: uniform, stationary: true });
 * // In a test file: for (const { name, run } of checks) Deno.test(name, run);
 * assertStrictEquals(
 *   checks[0]?.name,
 *   "uniform: only picks that are stored are drawn, whatever is recorded and evicted",
 * );
 * await checks[0]?.run();
 * ```
 */
export function selectorChecks(
  rule: SelectorCase,
  options: ConformsOptions = {},
): ConformanceCheck[] {
  const first = checkCase("conforms()", rule, PROMISES, options);
  const [one, other] = [rule.make(), rule.make()];
  checkSelectorRule("conforms()", one);
  if (!(one instanceof NativeSelector)) checkFresh("conforms()", one, other);
  const subject: Subject = {
    make: rule.make,
    distinct: rule.distinct === true,
    someOnly: rule.someOnly === true,
    kernelPath: options.kernelPath,
  };
  return listChecks(rule.name ?? nameOf(one), listPlans(subject, rule), first);
}

/** The checks that every selector must pass, and those of what this one promises beyond. */
function listPlans(subject: Subject, rule: SelectorCase): Plan[] {
  const plans: Plan[] = [
    [
      "only picks that are stored are drawn, whatever is recorded and evicted",
      (at) => checks.drawsStored(subject, at),
    ],
    [
      "every pick can be drawn, and none that was forgotten",
      (at) => checks.drawsAll(subject, at),
    ],
    [
      "an emptied table is an error, and a filled one works again",
      (at) => checks.survivesEmptying(subject, at),
    ],
    [
      "picks that were there before the selector are drawn too",
      (at) => checks.drawsEarlier(subject, at),
    ],
    [
      "setPriority counts what it applied, and skips what was forgotten",
      (at) => checks.countsApplied(subject, at),
    ],
    [
      "an invalid priority changes nothing",
      (at) => checks.refusesInvalid(subject, at),
    ],
    [
      "the same seed and operations give the same draws",
      (at) => checks.followsSeed(subject, at),
    ],
    rule.deterministic === true
      ? [
        "draws depend on no random number",
        (at) => promises.isDeterministic(subject, at),
      ]
      : [
        "another seed gives other draws",
        (at) => checks.variesWithSeed(subject, at),
      ],
  ];
  if (rule.savable !== false) {
    plans.push([
      "saved and loaded, it goes on as if nothing had been",
      (at) => checks.savesAll(subject, at),
    ]);
  }
  if (rule.stationary === true) {
    plans.push([
      "the probabilities of all picks sum to 1, and draws follow them",
      (at) => promises.followsProbabilities(subject, at),
    ], [
      "what makes a pick likely stays with it when others are forgotten",
      (at) => promises.keepsOrder(subject, at),
    ]);
  }
  if (rule.zeroIsNever === true) {
    plans.push([
      "a pick of priority 0 is never drawn, unless all are 0",
      (at) => promises.leavesOutZero(subject, at),
    ]);
  }
  if (rule.followsPriority === true) {
    plans.push([
      "a larger priority is drawn more, and of two for one pick the last wins",
      (at) => promises.followsPriority(subject, at),
    ], [
      "a new pick has the largest priority set so far",
      (at) => promises.beginsWithLargest(subject, at),
    ]);
  }
  return plans;
}
