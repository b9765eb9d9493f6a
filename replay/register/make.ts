/**
 * The calls of the kernel that make pick views and selectors.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import type { Kernel } from "../../ffi/library.ts";
import { policyNumbers, type ReplayConfig } from "../../schema/create_options.ts";
import type { AnyPickPolicy } from "../../schema/pick_options.ts";
import type { NativeSelector } from "../../selectors/native_selector.ts";

/** Where the kernel writes the number of what it made. It is known before: the next one. */
const number = new Uint32Array(1);

/** Makes a pick view in replay `id` of the kernel; returns the status. */
export function makePickView(
  { symbols }: Kernel,
  id: number,
  policy: AnyPickPolicy,
  config: ReplayConfig,
): number {
  const numbers = policyNumbers(policy, config);
  return symbols.exrp_pick_view_create(id, numbers, lengthOf(numbers), number);
}

/** Makes a selector on a pick view in replay `id` of the kernel; returns the status. */
export function makeSelector(
  { symbols }: Kernel,
  id: number,
  view: number,
  { native, numbers }: Pick<NativeSelector, "native" | "numbers">,
): number {
  // The kernel takes no null, and an empty array may be one.
  const given = Float64Array.from(numbers.length === 0 ? [0] : numbers);
  return symbols.exrp_selector_create(id, view, native, given, numbers.length, number);
}
