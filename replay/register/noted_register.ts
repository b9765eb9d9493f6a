/**
 * Selectors as JSON: for the threads at a shared replay, and for the log of a durable one.
 *
 * @module
 */

import { NativeSelector, type SelectorOption } from "../../selectors/native_selector.ts";
import { remade } from "../../selectors/remade.ts";
import type { Register, SelectorEntry } from "./register.ts";

/** A selector: a rule of the kernel, or one that draws by means of the selectors of these numbers. */
export interface NotedSelector {
  /** The rule's name. */
  readonly name: string;
  /** The options by name. */
  readonly options: Readonly<Record<string, SelectorOption>>;
  /** The number of its pick view. */
  readonly view: number;
  /** The kernel's number of the rule. */
  readonly native?: number;
  /** The options as the kernel takes them. */
  readonly numbers: readonly number[];
  /** The numbers of the selectors that it draws with. */
  readonly parts: readonly number[];
}

/** A selector, as JSON. */
export function noted({ selector, native, composed }: SelectorEntry): NotedSelector {
  return {
    name: selector.kind,
    options: native?.options ?? composed?.rule.options ?? {},
    view: selector.view,
    ...(native === undefined ? {} : { native: native.native }),
    numbers: native?.numbers ?? [],
    parts: selector.parts.map(({ id }) => id),
  };
}

/** Enters a selector that the kernel has, or whose parts it has. */
export function enter(
  register: Register,
  { name, options, view, native, numbers, parts }: NotedSelector,
): void {
  if (native === undefined) register.addComposed(remade(name, options), parts, view);
  else {
    const rule = new NativeSelector(name, native, options, numbers);
    register.addNative(rule, register.nativeCount, view);
  }
}
