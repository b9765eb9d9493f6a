/**
 * A selector that runs in the kernel, as a value.
 *
 * @module
 */

import { ruleText, showAs } from "../base/inspect.ts";

/** A number or word among the options of a selector, such as {@linkcode NativeSelector.options}. `describe()` and snapshots show it. */
export type SelectorOption = number | string;

/** What a rule without options takes, such as {@linkcode uniform}: nothing, or an object without a key. */
export type NoOptions = Readonly<Record<string, never>>;

/**
 * A rule of drawing that runs in the kernel: what {@linkcode uniform}, {@linkcode prioritized} and {@linkcode ucb}
 * make. It holds options only, so one value may serve many replays.
 *
 * @example
 * ```ts
 * import { prioritized } from "@exrp/replay";
 *
 * console.log(prioritized({ alpha: 0.5 }).options.alpha); // 0.5
 * ```
 */
export class NativeSelector {
  /** The rule's name. */
  readonly kind: string;
  /** The rule's number in the kernel: an `EXRP_SELECTOR_` constant of `kernel/exrp.h`. */
  readonly native: number;
  /** The options by name, all filled in. */
  readonly options: Readonly<Record<string, SelectorOption>>;
  /** The options as the kernel takes them. */
  readonly numbers: readonly number[];

  /** Makes a value; the functions named after the rules do. */
  constructor(
    kind: string,
    native: number,
    options: Readonly<Record<string, SelectorOption>>,
    numbers: readonly number[],
  ) {
    this.kind = kind;
    this.native = native;
    this.options = Object.freeze({ ...options });
    this.numbers = Object.freeze([...numbers]);
    Object.freeze(this);
  }
}

showAs(NativeSelector, ({ kind, options }) => ruleText(kind, options));
