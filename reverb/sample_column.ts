/**
 * A column of samples as a typed array with its shape.
 *
 * @module
 */

import type { ReverbArrayOfDType, ReverbDType } from "./dtypes.ts";

/**
 * One column of sampled items.
 *
 * @example
 * ```ts
 * import { ReverbClient } from "@exrp/replay/reverb";
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * await using server = await serve({ tables }); // yours runs elsewhere
 * await using client = await ReverbClient.connect(server.address);
 *
 * await client.insert({ state: Float32Array.of(1, 2, 3, 4) }, { replay: 1 });
 * const batch = await client.getBatch("replay", 256);
 * const [state] = batch.columns;
 * console.log(state?.shape); // [256, 1, 4]: of items with one step
 * console.log(state?.data instanceof Float32Array); // true
 * ```
 */
export interface SampleColumn<D extends ReverbDType = ReverbDType> {
  /** Its dtype. */
  readonly dtype: D;
  /**
   * `[items, steps, ...]`; without the steps where the items have this column squeezed. Where items have different numbers of steps, the
   * first size is that of all steps together, `[allSteps, ...]`, and `lengths` has the steps of each item.
   */
  readonly shape: readonly number[];
  /** The values, in row-major order. {@linkcode ReverbDType} says which array each dtype has. */
  readonly data: ReverbArrayOfDType[D];
  /** The steps of each item, where they differ. */
  readonly lengths?: Uint32Array<ArrayBuffer>;
}
