/**
 * Tells the kinds of selector rules apart, and refuses what is none.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import type { ComposedSelector, SelectorRule } from "./composed_selector.ts";
import { NativeSelector } from "./native_selector.ts";
import type { PickSelector } from "./pick_selector.ts";

const METHODS = ["pushed", "moved", "popped", "setPriority", "select"] as const;

/** Whether a rule is made of others. */
export function isComposed(rule: object): rule is ComposedSelector {
  return !(rule instanceof NativeSelector) && "begin" in rule && "parts" in rule;
}

/** Whether it is a selector of a replay: `Selector`, which this folder does not know. */
function isReference(value: object): boolean {
  return !("name" in value) && "kind" in value && "table" in value && "parts" in value;
}

/** Refuses a rule where an object that holds one is needed. */
export function checkNoRule(where: string, value: unknown, needed: string): void {
  if (typeof value !== "object" || value === null) return;
  const isRule = value instanceof NativeSelector || isComposed(value) || isReference(value) ||
    METHODS.every((method) => method in value);
  if (isRule) throw new TypeError(`${where} ${needed}, got ${show(value)}`);
}

/** Refuses what is no rule. */
export function checkSelectorRule(where: string, value: unknown): SelectorRule {
  if (value instanceof NativeSelector) return value;
  if (typeof value === "function") {
    throw new TypeError(
      `${where} takes a selector, got ${show(value)}: call it, or make an object of it`,
    );
  }
  if (typeof value !== "object" || value === null) {
    throw new TypeError(
      `${where} takes uniform(), prioritized() or another rule of the library, or an object like PickSelector, got ${
        show(value)
      }`,
    );
  }
  if (isReference(value)) {
    throw new TypeError(
      `${where} takes a rule such as uniform(), got a Selector, which newPickSelector() made`,
    );
  }
  const rule = value as Partial<Record<string, unknown>>;
  if (typeof rule.name !== "string" || rule.name === "") {
    throw new TypeError(`${where}: the selector has no name, got ${show(rule.name)}`);
  }
  if (isComposed(value)) {
    if (!Array.isArray(value.parts) || value.parts.length === 0) {
      throw new TypeError(`${where}: the selector ${rule.name} is composed of no parts`);
    }
    if (typeof value.begin !== "function") {
      throw new TypeError(`${where}: the selector ${rule.name} has no method begin()`);
    }
    for (const [k, part] of value.parts.entries()) {
      checkSelectorRule(`${where}: part ${k} of ${rule.name}`, part);
    }
    return value;
  }
  for (const method of METHODS) {
    if (typeof rule[method] !== "function") {
      throw new TypeError(`${where}: the selector ${rule.name} has no method ${method}()`);
    }
  }
  if ((typeof rule.save === "function") !== (typeof rule.load === "function")) {
    throw new TypeError(
      `${where}: the selector ${rule.name} needs both save() and load(), or none`,
    );
  }
  return value as PickSelector;
}
