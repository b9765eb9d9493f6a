/**
 * The options of rules that run in the kernel: a list says what each is, and one function checks them and makes the rule.
 *
 * @module
 */

import { checkInteger, checkNumber, checkWord } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { NativeSelector, type SelectorOption } from "./native_selector.ts";

/** One option of a rule. */
interface OptionKind {
  /** Its value where none is given; where that depends on options before it, a function of them. */
  readonly otherwise: SelectorOption | ((before: ReadonlyMap<string, SelectorOption>) => number);
  /** Returns the value, or throws. */
  readonly check: (where: string, value: unknown) => SelectorOption;
  /** The words that it may be, each at its number in the kernel. */
  readonly words?: readonly string[];
}

/** The options of a rule by name, in the order in which the kernel takes them. */
export type OptionKinds = Readonly<Record<string, OptionKind>>;

/** A number from `min` to `max`. */
export function numberFrom(otherwise: number, min: number, max?: number): OptionKind {
  return { otherwise, check: (where, value) => checkNumber(where, value, min, max) };
}

/** A whole number from `min` to `max`. */
export function integerFrom(
  otherwise: OptionKind["otherwise"],
  min: number,
  max: number,
): OptionKind {
  return { otherwise, check: (where, value) => checkInteger(where, value, min, max) };
}

/** One of these words; the first if none is given. */
export function wordOf(first: string, second: string): OptionKind {
  const words = [first, second];
  return { otherwise: first, check: (where, value) => checkWord(where, value, words), words };
}

/** The priority of new picks, where it must be more than 0. */
export const INITIAL_PRIORITY = numberFrom(1, Number.MIN_VALUE);

/** What rules have in common that draw in proportion to weights. */
export const DRAWN_BY_WEIGHT: OptionKinds = {
  normalize: wordOf("batch", "view"),
  draw: wordOf("stratified", "independent"),
};

/** Makes a rule of the options that a caller gave. The kernel takes the numbers `first` before those of the options. */
export function nativeRule(
  kind: string,
  native: number,
  options: object,
  kinds: OptionKinds,
  first: readonly number[] = [],
): NativeSelector {
  checkOptions(`${kind}()`, options, Object.keys(kinds));
  const given = options as Partial<Record<string, unknown>>;
  const filled = new Map<string, SelectorOption>();
  const numbers = [...first];
  for (const [name, { otherwise, check, words }] of Object.entries(kinds)) {
    const value = given[name] ?? (typeof otherwise === "function" ? otherwise(filled) : otherwise);
    const checked = check(`${kind}(): ${name}`, value);
    filled.set(name, checked);
    numbers.push(typeof checked === "number" ? checked : words?.indexOf(checked) ?? NaN);
  }
  return new NativeSelector(kind, native, Object.fromEntries(filled), numbers);
}
