/**
 * Pick views and selectors as JSON: for the threads at a shared replay, and for the log of a durable one.
 *
 * @module
 */

import { EXRP_INFO_SELECTOR_COUNT, EXRP_INFO_TABLE_COUNT } from "../../ffi/symbols.ts";
import type { AnyPickPolicy } from "../../schema/pick_options.ts";
import { NativeSelector, type SelectorOption } from "../../selectors/native_selector.ts";
import { remade } from "../../selectors/remade.ts";
import type { ReplayCore } from "../core.ts";
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

/** The pick views and the selectors of a replay, in order. */
export interface NotedRegister {
  /** The policies of the pick views. */
  readonly views: readonly AnyPickPolicy[];
  /** The selectors. */
  readonly selectors: readonly NotedSelector[];
}

/** A selector, as JSON. */
export function notedSelector({ selector, native, composed }: SelectorEntry): NotedSelector {
  return {
    name: selector.kind,
    options: native?.options ?? composed?.rule.options ?? {},
    view: selector.view,
    ...(native === undefined ? {} : { native: native.native }),
    numbers: native?.numbers ?? [],
    parts: selector.parts.map(({ id }) => id),
  };
}

/** All views and selectors, as JSON. */
export function noted(register: Register): NotedRegister {
  return {
    views: register.views.map(({ policy }) => policy),
    selectors: register.entries.map(notedSelector),
  };
}

/** Enters the views and selectors that the kernel has, and the register does not. They are noted before the kernel makes them. */
export function enterNoted(
  operation: string,
  core: ReplayCore,
  register: Register,
  { views, selectors }: NotedRegister,
): void {
  const info = core.info(operation, core.occupiedId);
  for (const policy of views.slice(register.views.length, info[EXRP_INFO_TABLE_COUNT])) {
    register.addTable(policy);
  }
  let nativeCount = info[EXRP_INFO_SELECTOR_COUNT] ?? 0;
  for (const [k, { name, options, view, native, numbers, parts }] of selectors.entries()) {
    if (native !== undefined && nativeCount-- === 0) break;
    if (k < register.entries.length) continue;
    if (native === undefined) register.addComposed(remade(name, options), parts, view);
    else {
      const rule = new NativeSelector(name, native, options, numbers);
      register.addNative(rule, register.nativeCount, view);
    }
  }
}
