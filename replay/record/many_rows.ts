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
import { leavesAs, type StagedState, stageState, stateOffsets } from "./staged_state.ts";

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
  /** The states. */
  readonly state: StagedState;
  /** The actions. */
  readonly action: StagedColumn;
  /** The rewards. */
  readonly reward: StagedColumn;
  /** The extras. */
  readonly extras: readonly StagedColumn[];
  /** The final states: one by itself, or some of the next states. */
  readonly finalState: StagedState;
  /** The handle of the episode, where all steps are of one or follow it. */
  readonly handle: Float64Array<ArrayBuffer> = new Float64Array(1);
  /** How many steps the kernel has stored, and how many episodes got some. */
  readonly done: Uint32Array<ArrayBuffer> = new Uint32Array(2);
  readonly #leafCount: number;

  /** The bytes of memory that it takes. */
  get memoryBytes(): number {
    return this.bytes.buffer.byteLength + VIEW_BYTES;
  }

  /** Whether there is room for so many final states. Where those of the second leaf begin depends on how many those of the first are. */
  fits(finalCount: number): boolean {
    return this.#leafCount === 1 ? this.finalCount >= finalCount : this.finalCount === finalCount;
  }

  /**
   * `count` steps in the layout of the kernel, with room for `finals` of their next states, or for one final state by itself. They take over the memory of `old`
   * ones, if it is large enough.
   */
  constructor(
    core: ReplayCore,
    name: string,
    count: number,
    finals: number | undefined,
    old?: ManyRows,
  ) {
    const { config: { columns, checkFinite, leaves, tree }, kernel: { symbols } } = core;
    const offsets = new Float64Array(abi.EXRP_STEPS_COLUMN + columns.length);
    core.check(name, symbols.exrp_steps_layout(core.id, count, offsets, lengthOf(offsets)));
    const at = (part: number): number => offsets[part] ?? 0;
    const operation = { name };
    this.count = count;
    this.#leafCount = leaves.length;
    this.finalCount = finals ?? 1;
    const final = at(abi.EXRP_STEPS_FINAL_STATE);
    const places = stateOffsets(leaves, this.finalCount);
    const bytes = final + (places.at(-1) ?? 0);
    const memory = old?.bytes.buffer;
    const buffer = memory !== undefined && memory.byteLength >= bytes
      ? memory
      : new ArrayBuffer(bytes);
    this.bytes = new Uint8Array(buffer, 0, bytes);
    this.flags = new Uint8Array(buffer, at(abi.EXRP_STEPS_FLAGS), count);
    this.priorities = new Float64Array(buffer, at(abi.EXRP_STEPS_PRIORITY), count);
    this.tags = new Int32Array(buffer, at(abi.EXRP_STEPS_TAG), count);
    const stage = (
      named: NamedColumn,
      offset: number,
      steps: number | undefined,
      isFinite: boolean,
    ): StagedColumn => new StagedColumn(named, { operation, buffer, offset, steps, isFinite });
    const extrasFirst = leaves.length + 2;
    const staged = columns.map((named, k) =>
      stage(named, at(abi.EXRP_STEPS_COLUMN + k), count, checkFinite && k < extrasFirst)
    );
    this.state = stageState(operation, "state", tree, staged.slice(0, leaves.length));
    [this.action, this.reward] = staged.slice(leaves.length) as [StagedColumn, StagedColumn];
    this.extras = staged.slice(extrasFirst);
    const finalName = finals === undefined ? "finalState" : "nextState";
    const finalLeaves = leavesAs(finalName, leaves).map((leaf, k) =>
      stage(leaf, final + (places[k] ?? 0), finals, checkFinite)
    );
    this.finalState = stageState(operation, finalName, tree, finalLeaves);
  }
}
