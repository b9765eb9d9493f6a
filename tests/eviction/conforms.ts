/**
 * Registers the checks of an eviction policy's contract, each as a test of its own.
 *
 * @module
 */

import { type EvictionCase, evictionChecks } from "@exrp/replay/testing";

/** Registers the tests of the contract for one rule. */
export function conforms(rule: EvictionCase): void {
  for (const { name, run } of evictionChecks(rule)) Deno.test(name, run);
}
