/**
 * Tells the kinds of selector rules apart, and refuses a value that is not a rule.
 *
 * @module
 */

import { show, showUnlike } from "../base/checks.ts";
import { checkUserRule } from "../base/user_rule.ts";
import type { ComposedSelector, SelectorPart, SelectorRule } from "./composed_selector.ts";
import { NativeSelector } from "./native_selector.ts";
import type { PickSelector } from "./pick_selector.ts";

const METHODS = ["pushed", "moved", "popped", "setPriority", "select"] as const;

/** Whether a rule draws by means of others. */
export function isComposed(rule: object): rule is ComposedSelector {
  return !(rule instanceof NativeSelector) && "begin" in rule && "parts" in rule;
}

/** Whether a value is a selector of a replay, and so not a rule. This folder does not know the class `Selector`. */
export function isReference(value: unknown): value is SelectorPart {
  if (typeof value !== "object" || value === null) return false;
  return !("name" in value) && "kind" in value && "view" in value && "parts" in value;
}

/** The name of a value that is a rule, or undefined for any other value. */
export function ruleName(value: unknown): string | undefined {
  if (value instanceof NativeSelector) return value.kind;
  if (typeof value !== "object" || value === null || !("name" in value)) return undefined;
  const isRule = isComposed(value) || METHODS.every((method) => method in value);
  return isRule ? String(value.name) : undefined;
}

/** Refuses a rule if the call needs an object that holds one. */
export function checkNoRule(where: string, value: unknown, needed: string): void {
  if (typeof value !== "object" || value === null) return;
  const isRule = value instanceof NativeSelector || isComposed(value) || isReference(value) ||
    METHODS.every((method) => method in value);
  if (isRule) throw new TypeError(`${where} ${needed}, got ${show(value)}`);
}

/** The rule, checked. */
export function checkSelectorRule(where: string, value: unknown): SelectorRule {
  const isNative = value instanceof NativeSelector;
  if (isNative && Object.hasOwn(value, "native")) return value;
  if (typeof value === "function") {
    throw new TypeError(
      `${where} takes a rule such as uniform(), got ${
        show(value)
      }: call it, or make an object of it`,
    );
  }
  if (isNative || typeof value !== "object" || value === null) {
    throw new TypeError(
      `${where} takes uniform(), prioritized() or another rule of the library, or an object like PickSelector, got ${
        showUnlike(value, NativeSelector)
      }`,
    );
  }
  if (isReference(value)) {
    throw new TypeError(
      `${where} takes a rule such as uniform(), got a Selector, which newPickSelector() made`,
    );
  }
  const rule = value as Partial<Record<string, unknown>>;
  if (!isComposed(value)) {
    checkUserRule(where, "selector", rule, METHODS);
    return value as PickSelector;
  }
  checkUserRule(where, "selector", rule, ["begin"]);
  if (!Array.isArray(value.parts) || value.parts.length === 0) {
    throw new TypeError(`${where}: the selector ${value.name} is composed of no parts`);
  }
  for (const [k, part] of value.parts.entries()) {
    if (!isReference(part)) checkSelectorRule(`${where}: part ${k} of ${value.name}`, part);
  }
  return value;
}
