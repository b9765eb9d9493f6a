/**
 * The common part of all checks: how they are named and run, and how they report a broken promise.
 *
 * @module
 */

import { checkBoolean, checkInteger, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { ReplayError } from "../mod.ts";
import type { KernelChoice } from "./_small_replay.ts";

/** A promise that a rule broke, in {@linkcode ConformanceError.broken}. A rule is a selector or an eviction policy. */
export interface BrokenPromise {
  /** The promise, in words. */
  readonly promise: string;
  /** The seed of the operations, or of the replay. */
  readonly seed: number;
  /** The operation or round of draws at which the promise broke, counted from 0; undefined before the first. */
  readonly operation: number | undefined;
  /** The value that came, and the value that was needed. */
  readonly reason: string;
  /** The error behind the reason: from the check, the replay or the rule. */
  readonly cause: unknown;
}

/**
 * A rule broke promises. The message lists them, each with its seed and the number of the operation at which it broke.
 * The same rule breaks them again at the same operation, if it draws only with the random numbers that it receives.
 *
 * @example
 * ```ts
 * import { uniform } from "@exrp/replay";
 * import { conforms, ConformanceError } from "@exrp/replay/testing";
 *
 * // uniform() does not leave out picks of priority 0, and does not promise it.
 * const error = await conforms({ make: uniform, zeroIsNever: true }).catch((error) => error);
 * console.log(error instanceof ConformanceError); // true
 * console.log(/^uniform breaks 1 of 10 promises:\n  a pick of priority 0 is never drawn/.test(error.message)); // true
 * ```
 */
export class ConformanceError extends Error {
  /** The name of the rule. */
  readonly rule: string;
  /** The broken promises, at least one. */
  readonly broken: readonly BrokenPromise[];

  /** Makes the error for a rule that broke some of `count` promises. */
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

/** The check of one promise of a rule, as {@linkcode selectorChecks} and {@linkcode evictionChecks} list them. */
export interface ConformanceCheck {
  /** The rule and the promise, in words. */
  readonly name: string;
  /**
   * Runs the check.
   *
   * @throws {ConformanceError} When the promise is broken.
   * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission` when no replay can be made here.
   */
  run(): Promise<void>;
}

/**
 * The kernel and the seed of the checks.
 *
 * @example
 * ```ts
 * import { uniform } from "@exrp/replay";
 * import { selectorChecks } from "@exrp/replay/testing";
 *
 * const [check] = selectorChecks({ make: uniform }, { seed: 7, backend: "wasm" });
 * console.log(check !== undefined && check.name.startsWith("uniform")); // true
 * await check?.run();
 * ```
 */
export interface ConformsOptions {
  /** The path of the kernel, as in the option `kernelPath` of `ExperienceReplay.create`. */
  readonly kernelPath?: string | URL;
  /**
   * Which kernel runs the checks, as in the option `backend` of `ExperienceReplay.create`: `"native"` or `"wasm"`. By default it is
   * `"auto"`: the native kernel where it may run, else WebAssembly.
   */
  readonly backend?: "auto" | "native" | "wasm";
  /** The first seed: whole number 0 to 2^32, 1 by default. Each check adds small numbers to it. */
  readonly seed?: number;
}

/** The properties of every case. */
interface AnyCase {
  readonly make: unknown;
  readonly name?: unknown;
}

/** Throws unless `rule` is a case, whose promises are `flags`, and `options` are options. Returns the first seed. */
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
  checkOptions(where, options, ["kernelPath", "backend", "seed"]);
  const { backend = "auto", kernelPath } = options;
  if (!["auto", "native", "wasm"].includes(backend)) {
    throw new TypeError(
      `${where}: backend must be "auto", "native" or "wasm", got ${show(backend)}`,
    );
  }
  if (backend === "wasm" && kernelPath !== undefined) {
    throw new TypeError(
      `${where}: kernelPath names a native kernel, so it does not go with backend: "wasm"`,
    );
  }
  return checkInteger(`${where}: seed`, options.seed ?? 1, 0, 2 ** 32);
}

/** The part of the options that says which kernel runs. */
export function kernelOf({ seed: _, ...kernel }: ConformsOptions): KernelChoice {
  return kernel;
}

/** Throws where `make` returned the same object twice. */
export function checkFresh(where: string, one: unknown, other: unknown): void {
  if (one !== other) return;
  throw new TypeError(
    `${where}: make returned the same object twice; it must return a new one each time`,
  );
}

/** The progress of a check, which its failure reports. */
export class Progress {
  /** The seed of the operations, or of the replay. */
  seed: number;
  /** The number of the operation or round. */
  operation: number | undefined;
  readonly #first: number;

  /** Begins before the first operation of the seed `first`. */
  constructor(first: number) {
    this.#first = first;
    this.seed = first;
  }

  /** Goes through `count` seeds. Each begins again with operation 0. */
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

/** A promise in words, and its check of a rule as a `Subject`. */
export type Plan<Subject> = readonly [
  promise: string,
  check: (subject: Subject, at: Progress) => Promise<void>,
];

/** Errors that are not the rule's fault: no replay can be made. */
const OBSTACLES: readonly string[] = ["kernel-missing", "kernel-version", "permission"];

/** Makes the checks of one rule from plans. Their seeds begin with `first`. */
export function listChecks<Subject>(
  rule: string,
  plans: readonly Plan<Subject>[],
  subject: Subject,
  first: number,
): ConformanceCheck[] {
  return plans.map(([promise, check]) => ({
    name: `${rule}: ${promise}`,
    async run(): Promise<void> {
      const at = new Progress(first);
      try {
        await check(subject, at);
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
 * @throws {ConformanceError} With every broken promise.
 */
export async function runChecks(checks: readonly ConformanceCheck[]): Promise<void> {
  const errors: ConformanceError[] = [];
  for (const check of checks) {
    try {
      await check.run();
    } catch (error) {
      if (!(error instanceof ConformanceError)) throw error;
      errors.push(error);
    }
  }
  const broken = errors.flatMap((error) => error.broken);
  if (errors[0] !== undefined) throw new ConformanceError(errors[0].rule, broken, checks.length);
}
