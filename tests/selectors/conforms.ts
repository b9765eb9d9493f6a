/**
 * Registers the checks of a selector's contract, each as a test of its own.
 *
 * @module
 */

import { type SelectorCase, selectorChecks } from "@exrp/replay/testing";
import { nameOf } from "../../testing/_selector_checks.ts";
import { isAll } from "../_amount.ts";

/** The names of the rules that had their tests in this file. */
const held = new Set<string>();

/** Registers the tests of the contract for one rule. Only `--all` does so for a second one of the same name, with other options. */
export function conforms(rule: SelectorCase): void {
  const name = nameOf(rule.make());
  if (!isAll && held.has(name)) return;
  held.add(name);
  for (const check of selectorChecks(rule)) Deno.test(check.name, check.run);
}
