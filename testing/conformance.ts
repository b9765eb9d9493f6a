/**
 * What the checks of a rule have in common: how they are named, run, and told broken.
 *
 * @module
 */

import { checkBoolean, checkInteger, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { ReplayError } from "../mod.ts";

/** One promise that a rule did not keep. */
export interface BrokenPromise {
  /** The promise, in words. */
  readonly promise: string;
  /** The seed of the operations, or of the replay. */
  readonly seed: number;
  /** The number of the operation, or of the round of draws, at which it broke, from 0; undefined where none was begun. */
  readonly operation: number | undefined;
  /** What was seen, and what was to be seen. */
  readonly reason: string;
  /** The error that says so: the check's, the replay's, or the rule's own. */
  readonly cause: unknown;
}

/**
 * A rule does not keep what it promises. The message says which promises, with the seed and the number of the operation
 * at which each broke; the same rule breaks them again at the same place, as long as it draws with the random numbers
 * that it is given.
 *
 * @example
 * ```ts
 * import { uniform } from "@exrp/replay";
 * import { conforms, ConformanceError } from "@exrp/replay/testing";
 * import { assertInstanceOf, assertMatch } from "@std/assert";
 *
 * // uniform() does not promise that picks of priority 0 are left out, and does not do it.
 * const error = await conforms({ make: uniform, zeroIsNever: true }).catch((error) => error);
 * assertInstanceOf(error, ConformanceError);
 * assertMatch(error.message, /^uniform breaks 1 of 10 promises:\n  a pick of priority 0 is never drawn/);
 * ```
 */
export class ConformanceError extends Error {
  /** Which rule. */
  readonly rule: string;
  /** What it does not keep, at least one. */
  readonly broken: readonly BrokenPromise[];

  /** Says that `rule` broke some of `count` promises. */
  constructor(rule: string, broken: readonly BrokenPromise[], count: number) {
    const lines = broken.map(({ promise, seed, operation, reason }) => {
      const place = operation === undefined ? "" : `, operation ${operation}`;
      return `  ${promise} (seed ${seed}${place}): ${reason}`;
    });
    super(`${rule} breaks ${broken.length} of ${count} promises:\n${lines.join("\n")}`, {
      cause: broken[0]?.cause,
    });
    this.name = "ConformanceError";
    this.rule = rule;
    this.broken = broken;
  }
}

/** One promise of a rule with the check of it. */
export interface ConformanceCheck {
  /** The rule and the promise, in words. */
  readonly name: string;
  /**
   * Checks it.
   *
   * @throws {ConformanceError} When the promise is broken.
   * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission` when no replay can be made here.
   */
  run(): Promise<void>;
}

/** Where the rules are run, and with which random numbers. */
export interface ConformsOptions {
  /** The kernel, where the option of `ExperienceReplay.create` of that name is needed to find it. */
  readonly kernelPath?: string | URL;
  /** The first seed: whole number 0 to 2^32, 1 by default. Each check adds small numbers to it. */
  readonly seed?: number;
}

/** What the cases of all kinds of rules have. */
interface AnyCase {
  readonly make: unknown;
  readonly name?: unknown;
}

/** Refuses what is no case or no options; `flags` are what a case may promise. Gives the first seed. */
export function checkCase(
  where: string,
  rule: AnyCase,
  flags: readonly string[],
  options: ConformsOptions,
): number {
  checkOptions(where, rule, ["make", "name", ...flags]);
  if (typeof rule.make !== "function") {
    throw new TypeError(
      `${where}: make must be a function that makes the rule, got ${show(rule.make)}`,
    );
  }
  if (rule.name !== undefined && typeof rule.name !== "string") {
    throw new TypeError(`${where}: name must be a string, got ${show(rule.name)}`);
  }
  for (const [key, value] of Object.entries(rule)) {
    if (flags.includes(key) && value !== undefined) checkBoolean(`${where}: ${key}`, value);
  }
  checkOptions(where, options, ["kernelPath", "seed"]);
  return checkInteger(`${where}: seed`, options.seed ?? 1, 0, 2 ** 32);
}

/** Refuses a `make` that gives the same object twice. */
export function checkFresh(where: string, one: unknown, other: unknown): void {
  if (one !== other) return;
  throw new TypeError(
    `${where}: make gave the same object twice; it must make the rule anew each time`,
  );
}

/** Where a check is: what is told when it fails. */
export class Progress {
  /** The seed of the operations, or of the replay. */
  seed: number;
  /** The number of the operation or round. */
  operation: number | undefined;
  readonly #first: number;

  /** Before the first operation of the seed `first`. */
  constructor(first: number) {
    this.#first = first;
    this.seed = first;
  }

  /** Goes through `count` seeds; each begins its operations anew. */
  *seeds(count: number): Generator<number> {
    for (let k = 0; k < count; k++) {
      this.seed = this.#first + k;
      this.operation = undefined;
      yield k;
    }
  }

  /** Goes through `count` operations or rounds. */
  *rounds(count: number): Generator<number> {
    for (let k = 0; k < count; k++) {
      this.operation = k;
      yield k;
    }
  }
}

/** A promise in words, and its check. */
export type Plan = readonly [promise: string, check: (at: Progress) => Promise<void>];

/** No fault of a rule: there is no replay to try it with. */
const OBSTACLES: readonly string[] = ["kernel-missing", "kernel-version", "permission"];

/** Makes checks of plans for one rule, whose seeds begin with `first`. */
export function listChecks(
  rule: string,
  plans: readonly Plan[],
  first: number,
): ConformanceCheck[] {
  return plans.map(([promise, check]) => ({
    name: `${rule}: ${promise}`,
    async run(): Promise<void> {
      const at = new Progress(first);
      try {
        await check(at);
      } catch (cause) {
        if (cause instanceof ReplayError && OBSTACLES.includes(cause.code)) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        const { seed, operation } = at;
        throw new ConformanceError(rule, [{ promise, seed, operation, reason, cause }], 1);
      }
    },
  }));
}

/**
 * Runs all checks of one rule.
 *
 * @throws {ConformanceError} With all that broke.
 */
export async function runChecks(rule: string, checks: readonly ConformanceCheck[]): Promise<void> {
  const broken: BrokenPromise[] = [];
  for (const check of checks) {
    try {
      await check.run();
    } catch (error) {
      if (!(error instanceof ConformanceError)) throw error;
      broken.push(...error.broken);
    }
  }
  if (broken.length > 0) throw new ConformanceError(rule, broken, checks.length);
}
