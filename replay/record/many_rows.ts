/**
 * The staging rows: many records' bytes as the kernel reads them, column by column.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { NamedColumn } from "../../schema/columns.ts";
import type { ReplayCore } from "../core.ts";
import { StagedColumn } from "./staged_column.ts";

/** What the views of a ManyRows take in the engine, about. */
const VIEW_BYTES = 8 * 1024;

/** Many records on their way to the kernel. */
export class ManyRows {
  /** How many. */
  readonly count: number;
  /** For how many final states there is room. */
  readonly finalCount: number;
  /** All bytes that the kernel reads. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The `EXRP_RECORD_` flags of each step. */
  readonly flags: Uint8Array<ArrayBuffer>;
  /** The first priority of the pick that begins at each step. */
  readonly priorities: Float64Array<ArrayBuffer>;
  /** The tag of each step, for episodes that begin there. */
  readonly tags: Int32Array<ArrayBuffer>;
  /** State, action, reward, then the extras. */
  readonly columns: readonly StagedColumn[];
  /** The final states: one by itself, or some of the next states. */
  readonly finalState: StagedColumn;
  /** The handle of the episode, where all steps are of one or follow it. */
  readonly handle: Float64Array<ArrayBuffer> = new Float64Array(1);
  /** How many steps the kernel has stored, and how many episodes got some. */
  readonly done: Uint32Array<ArrayBuffer> = new Uint32Array(2);

  /** The bytes of memory that it takes. */
  get memoryBytes(): number {
    return this.bytes.length + VIEW_BYTES;
  }

  /** `count` steps in the layout of the kernel, with room for `finals` of their next states, or for one final state by itself. */
  constructor(core: ReplayCore, name: string, count: number, finals: number | undefined) {
    const { config: { columns, checkFinite }, kernel: { symbols } } = core;
    const offsets = new Float64Array(abi.EXRP_STEPS_COLUMN + columns.length);
    core.check(name, symbols.exrp_steps_layout(core.id, count, offsets, lengthOf(offsets)));
    const at = (part: number): number => offsets[part] ?? 0;
    const operation = { name };
    this.count = count;
    this.finalCount = finals ?? 1;
    const { column } = columns[0] as NamedColumn;
    const finalBytes = this.finalCount * column.elementBytes * column.elementCount;
    const buffer = new ArrayBuffer(at(abi.EXRP_STEPS_FINAL_STATE) + finalBytes);
    this.bytes = new Uint8Array(buffer);
    this.flags = new Uint8Array(buffer, at(abi.EXRP_STEPS_FLAGS), count);
    this.priorities = new Float64Array(buffer, at(abi.EXRP_STEPS_PRIORITY), count);
    this.tags = new Int32Array(buffer, at(abi.EXRP_STEPS_TAG), count);
    const stage = (
      named: NamedColumn,
      part: number,
      steps: number | undefined,
      isFinite: boolean,
    ): StagedColumn => {
      return new StagedColumn(named, { operation, buffer, offset: at(part), steps, isFinite });
    };
    this.columns = columns.map((named, k) =>
      stage(named, abi.EXRP_STEPS_COLUMN + k, count, checkFinite && k < 3)
    );
    const final = { name: finals === undefined ? "finalState" : "nextState", column };
    this.finalState = stage(final, abi.EXRP_STEPS_FINAL_STATE, finals, checkFinite);
  }
}
