/**
 * Tests for rules of your own: the whole contract of a selector or of an eviction policy as one call, for any test runner.
 *
 * A rule is driven through small replays by seeded operations, and everything it promises is checked: what holds for all
 * rules, and what you say that yours promises beyond. It needs the permission that a replay needs, and nothing else.
 *
 * @example A selector of one's own
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
 *     save: () => new Uint8Array(0), // all it knows is how many picks there are
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
