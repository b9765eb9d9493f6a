/**
 * Tests for your own selectors and eviction policies: one call checks the whole contract, in any test runner.
 *
 * The checks drive a selector or policy through small replays, by seeded operations. They check the contract, and the
 * further promises that you list. They need the same permission as a replay.
 *
 * @example A selector of your own
 * ```ts
 * import type { PickSelector } from "@exrp/replay/selectors";
 * import { conforms } from "@exrp/replay/testing";
 *
 * function plain(): PickSelector {
 *   let count = 0;
 *   return {
 *     name: "plain",
 *     pushed: () => void count++,
 *     moved: () => {},
 *     popped: () => void count--,
 *     setPriority: () => {},
 *     select(n, out, random) {
 *       for (let k = 0; k < n; k++) out.index[k] = random.below(count);
 *       out.probability.fill(1 / count);
 *     },
 *     save: () => new Uint8Array(0), // load() needs nothing: the replay calls pushed() for every pick first
 *     load: () => {},
 *   };
 * }
 *
 * // In a test file: Deno.test("plain conforms", () => conforms({ make: plain, stationary: true }));
 * await conforms({ make: plain, stationary: true });
 * ```
 *
 * @module
 */

export { conforms, selectorChecks } from "./conforms.ts";
export type { SelectorCase } from "./conforms.ts";
export { conformsEviction, evictionChecks } from "./conforms_eviction.ts";
export type { EvictionCase } from "./conforms_eviction.ts";
export { ConformanceError } from "./conformance.ts";
export type { BrokenPromise, ConformanceCheck, ConformsOptions } from "./conformance.ts";
