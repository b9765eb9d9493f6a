/**
 * Registers the checks of a selector's contract, each as a test of its own.
 *
 * @module
 */

import { type SelectorCase, selectorChecks } from "@exrp/replay/testing";

/** Registers the tests of the contract for one rule. */
export function conforms(rule: SelectorCase): void {
  for (const { name, run } of selectorChecks(rule)) Deno.test(name, run);
}
