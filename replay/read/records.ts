/**
 * Reading records from the replay: rows of one column at given places, and whole episodes.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { numberOf, showOneAs } from "../../base/inspect.ts";
import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import * as abi from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import { type AnyColumnArray, type Column, viewOf } from "../../schema/columns.ts";
import type { AnySchema, Schema, StateOf } from "../../schema/schema.ts";
import { arrange, type StateArrays } from "../../schema/state.ts";
import { endingOf } from "../record/episodes.ts";
import { allocate } from "../draw/batch_layout.ts";
import { byName } from "../../schema/record_columns.ts";
import type { StepArrays } from "../../schema/step_arrays.ts";
import { stateOffsets } from "../record/staged_state.ts";
import { stepsText } from "./_step_columns.ts";

/**
 * All records of one episode, each column as one typed array in row-major order. {@linkcode ExperienceReplay.episodeRecords} returns them.
 */
export interface EpisodeRecords<S extends Schema = AnySchema> extends StepArrays<S> {
  /** The episode's handle. */
  readonly handle: number;
  /** Whether the episode is open, or how it ended. */
  readonly ending: "open" | "terminated" | "truncated";
  /** How many records the episode holds. */
  readonly size: number;
  /** The position of the first of them: 0, or more where the replay has trimmed the episode. */
  readonly firstPosition: number;
  /** `[...shape]`: the state after the last record; undefined while the episode is open. */
  readonly finalState: StateArrays<StateOf<S>> | undefined;
}

/** Which records some episodes hold, and how they stand. */
export interface EpisodeCounts {
  /** The position of the oldest record; 0 if the episode was evicted. */
  readonly firsts: Uint32Array<ArrayBuffer>;
  /** One more than the position of the newest record; 0 if the episode was evicted. */
  readonly ends: Uint32Array<ArrayBuffer>;
  /** `EXRP_EPISODE_` numbers. */
  readonly states: Uint32Array<ArrayBuffer>;
}

/** A typed array of zeros for `rows` rows of a column, or of `width` elements of each. */
export function allocateRows(
  operation: string,
  column: Column,
  rows: number,
  width: number = column.elementCount,
): AnyColumnArray {
  const count = rows * width;
  return viewOf(column.dtype, allocate(operation, count * column.elementBytes), 0, count);
}

/** Reads records of one replay. */
export class RecordReader {
  readonly #core: ReplayCore;
  readonly #handle = new Float64Array(1);
  readonly #position = new Int32Array(1);

  /** Reads from the replay of `core`. */
  constructor(core: ReplayCore) {
    this.#core = core;
  }

  /** How many leaves the state has: its columns are the first ones. */
  get leafCount(): number {
    return this.#core.config.leaves.length;
  }

  /** The column of number k: the leaves of the state, the action, the reward, the extras. */
  column(k: number): Column {
    const column = this.#core.config.columns[k]?.column;
    if (column === undefined) throw new RangeError(`there is no column ${k}`);
    return column;
  }

  /** How episodes stand, in replay `id` of the kernel. */
  counts(
    operation: string,
    handles: Float64Array<ArrayBuffer>,
    id: number = this.#core.id,
  ): EpisodeCounts {
    const { counts, firsts, states } = this.#core.episodeCounts(operation, handles, id);
    return { firsts, ends: counts.map((count, k) => count + (firsts[k] ?? 0)), states };
  }

  /** For each episode 1 if it is open and the state after its newest record is known, else 0; in replay `id` of the kernel. */
  knownNextStates(
    operation: string,
    handles: Float64Array<ArrayBuffer>,
    id: number = this.#core.id,
    rows: Uint8Array<ArrayBuffer> = new Uint8Array(0),
  ): Uint8Array<ArrayBuffer> {
    const there = new Uint8Array(lengthOf(handles));
    if (lengthOf(handles) === 0) return there;
    const { symbols } = this.#core.kernel;
    const count = lengthOf(handles);
    const size = lengthOf(rows);
    const status = symbols.exrp_next_states_get(id, handles, count, there, rows, size);
    this.#core.check(operation, status);
    return there;
  }

  /** The states after the newest records of open episodes, of which all are known; those of each leaf. */
  nextStates(operation: string, handles: Float64Array<ArrayBuffer>): readonly AnyColumnArray[] {
    const { leaves } = this.#core.config;
    const count = lengthOf(handles);
    const places = stateOffsets(leaves, count);
    const buffer = allocate(operation, places.at(-1) ?? 0);
    this.knownNextStates(operation, handles, this.#core.id, new Uint8Array(buffer));
    return leaves.map(({ column: { dtype, elementCount } }, k) =>
      viewOf(dtype, buffer, places[k] ?? 0, count * elementCount)
    );
  }

  /** The number of each episode's actor. */
  actors(operation: string, handles: Float64Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
    const actors = new Uint32Array(lengthOf(handles));
    if (lengthOf(handles) === 0) return actors;
    const { symbols } = this.#core.kernel;
    const status = symbols.exrp_episode_actors(this.#core.id, handles, lengthOf(handles), actors);
    this.#core.check(operation, status);
    return actors;
  }

  /** The rows of column k at pairs of episode and position, row after row. */
  gather(
    operation: string,
    k: number,
    handles: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
  ): AnyColumnArray {
    const rows = allocateRows(operation, this.column(k), lengthOf(handles));
    this.#get(operation, k, handles, positions, 1, new Uint8Array(rows.buffer));
    return rows;
  }

  /** `count` rows of column k from one place on, written from row `to` of `rows` on. */
  copyRun(
    operation: string,
    k: number,
    [handle, position]: readonly [number, number],
    count: number,
    rows: AnyColumnArray,
    to: number,
  ): void {
    const column = this.column(k);
    const rowBytes = column.elementBytes * column.elementCount;
    this.#handle[0] = handle;
    this.#position[0] = position;
    const part = new Uint8Array(rows.buffer, rows.byteOffset + to * rowBytes, count * rowBytes);
    this.#get(operation, k, this.#handle, this.#position, count, part);
  }

  /** Copies `run` rows of a column from each place into `bytes`. */
  #get(
    operation: string,
    k: number,
    handles: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
    run: number,
    bytes: Uint8Array<ArrayBuffer>,
  ): void {
    const { id, kernel: { symbols } } = this.#core;
    const [count, size] = [lengthOf(handles), lengthOf(bytes)];
    if (size === 0) return;
    const status = symbols.exrp_rows_get(id, k, handles, positions, count, run, bytes, size);
    this.#core.check(operation, status);
  }

  /** All records of an episode. */
  episodeRecords(operation: string, handle: unknown): EpisodeRecords {
    const core = this.#core;
    if (typeof handle !== "number") {
      throw new TypeError(`${operation} takes an episode's handle, got ${show(handle)}`);
    }
    return core.together(operation, () => this.#episodeRecords(operation, handle));
  }

  #episodeRecords(operation: string, handle: number): EpisodeRecords {
    const core = this.#core;
    const { firsts, ends, states } = this.counts(operation, Float64Array.of(handle));
    const [firstPosition = 0] = firsts;
    const [end = 0] = ends;
    const size = end - firstPosition;
    const ending = endingOf(states[0] ?? 0);
    if (ending === "evicted") {
      throw new ReplayError("record-unknown", `${operation}: episode ${handle} was evicted`, {
        status: abi.EXRP_STATUS_RECORD_UNKNOWN,
        detail: [0, handle, 0, 0],
      });
    }
    const arrays = core.config.columns.map(({ column }, k) => {
      const rows = allocateRows(operation, column, size);
      this.copyRun(operation, k, [handle, firstPosition], size, rows, 0);
      return rows;
    });
    const finalStates = core.config.leaves.map(({ column }, k) => {
      const row = allocateRows(operation, column, ending === "open" ? 0 : 1);
      if (ending !== "open") this.copyRun(operation, k, [handle, end], 1, row, 0);
      return row;
    });
    const finalState = ending === "open" ? undefined : arrange(core.config.tree, finalStates);
    const columns = byName(core.config, arrays);
    return showOneAs(
      { handle, ending, size, firstPosition, ...columns, finalState },
      (records) => this.#recordsText(records),
    );
  }

  /** What `console.log` shows of an episode's records. */
  #recordsText(records: EpisodeRecords): string {
    const { handle, ending, size } = records;
    const shapes = this.#core.config.columns.map(({ column }) => [size, ...column.shape]);
    const shape = byName(this.#core.config, shapes);
    return `EpisodeRecords of episode ${handle} (${ending}): ${numberOf(size, "record")} ${
      stepsText(records, shape, [size])
    }`;
  }
}
