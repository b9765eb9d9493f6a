/**
 * The staging row: one record's bytes as the kernel reads them.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { NamedColumn } from "../../schema/columns.ts";
import type { ReplayCore } from "../core.ts";
import { StagedColumn } from "./staged_column.ts";
import { leavesAs, type StagedState, stageState, stateOffsets } from "./staged_state.ts";

/** One record on its way to the kernel: the episode's handle, the columns, the final state. */
export class Row {
  /** All bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many they are. */
  readonly byteCount: number;
  /** The extras. */
  readonly extras: readonly StagedColumn[];
  /** The state. */
  readonly state: StagedState;
  /** The action. */
  readonly action: StagedColumn;
  /** The reward. */
  readonly reward: StagedColumn;
  /** The final state. */
  readonly finalState: StagedState;
  /** The final state, under its name in `recordStep`. */
  readonly nextState: StagedState;
  /** The bytes of the final state. */
  readonly finalBytes: Uint8Array<ArrayBuffer>;
  /** The call that errors name. */
  readonly operation: { name: string } = { name: "record()" };
  /** Counts the calls that write into the row, so that a call notices another one in between. */
  turn = 0;
  /** The same bytes; the handle is at 0. */
  readonly view: DataView<ArrayBuffer>;
  /** The offset of the priority, a float64. */
  readonly priorityOffset: number;
  /** The offset of the tag, an int32. */
  readonly tagOffset: number;

  /** A row with the layout that the kernel gives for the replay of `core`. */
  constructor(core: ReplayCore) {
    const { config: { columns, checkFinite, leaves, tree }, kernel: { symbols } } = core;
    const partCount = abi.EXRP_ROW_COLUMN + columns.length + leaves.length - 1;
    const offsets = new Float64Array(partCount);
    const status = symbols.exrp_row_layout(core.id, offsets, lengthOf(offsets));
    core.check("ExperienceReplay.create()", status);
    const at = (part: number): number => offsets[part] ?? 0;
    this.byteCount = at(abi.EXRP_ROW_BYTES);
    this.priorityOffset = at(abi.EXRP_ROW_PRIORITY);
    this.tagOffset = at(abi.EXRP_ROW_TAG);
    const buffer = new ArrayBuffer(this.byteCount);
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    const { operation } = this;
    const stage = (named: NamedColumn, offset: number, isFinite: boolean): StagedColumn =>
      new StagedColumn(named, { operation, buffer, offset, isFinite });
    const extrasFirst = leaves.length + 2;
    const staged = columns.map((named, k) =>
      stage(named, at(abi.EXRP_ROW_COLUMN + k), checkFinite && k < extrasFirst)
    );
    this.extras = staged.slice(extrasFirst);
    this.state = stageState(operation, "state", tree, staged.slice(0, leaves.length));
    [this.action, this.reward] = staged.slice(leaves.length) as [StagedColumn, StagedColumn];
    const final = at(abi.EXRP_ROW_FINAL_STATE);
    const places = stateOffsets(leaves, 1);
    const stageFinal = (name: string): StagedState => {
      const named = leavesAs(name, leaves);
      const parts = named.map((leaf, k) => stage(leaf, final + (places[k] ?? 0), checkFinite));
      return stageState(operation, name, tree, parts);
    };
    this.finalState = stageFinal("finalState");
    this.nextState = stageFinal("nextState");
    this.finalBytes = new Uint8Array(buffer, final, places.at(-1));
  }

  /** Writes a final state by itself. */
  writeFinal(operation: string, value: unknown): void {
    this.turn++;
    this.operation.name = operation;
    this.finalState.write(value);
  }
}
