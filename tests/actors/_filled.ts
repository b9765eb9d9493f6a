/** Arrays that say which version they are of, so that a mixture of two versions is seen. */
import type { BroadcastArrays } from "../../actors/mod.ts";

/** Fills all arrays with a version, modulo 100, so that each dtype holds it exactly. */
export function filled<A extends BroadcastArrays>(arrays: A, version: number): A {
  for (const array of Object.values(arrays)) array.fill(version % 100);
  return arrays;
}

/** The versions, modulo 100, that elements of these arrays have: one of them if nothing is torn. */
export function versionsIn(arrays: BroadcastArrays): number[] {
  const [first = [0]] = Object.values(arrays);
  const expected = first[0] ?? 0;
  const found = new Set([expected]);
  for (const array of Object.values(arrays)) {
    for (let k = 0; k < array.length; k++) {
      if (array[k] !== expected) found.add(array[k] ?? NaN);
    }
  }
  return [...found];
}
