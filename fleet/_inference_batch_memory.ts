/**
 * The memory of the batches that an inference server gives to its policy.
 *
 * @module
 */

import { checkOptions } from "../base/option_names.ts";
import { StagedColumn } from "../replay/record/staged_column.ts";
import type { AnyColumnArray, NamedColumn } from "../schema/columns.ts";
import { arrange } from "../schema/state.ts";
import { type ActorEnvironments, part, type Rows, rowsOf } from "./_actor_environments.ts";
import type { InferenceLayout } from "./_inference_message.ts";
import type { InferenceActions, InferenceBatch } from "./types.ts";

/** Which columns a batch has. */
export interface BatchNeeds {
  readonly layout: InferenceLayout;
  /** The recurrent states, and their names. */
  readonly recurrent: readonly NamedColumn[];
  readonly recurrentNames: readonly string[];
}

/** The rows of the largest batch so far. */
interface BatchRows {
  readonly room: number;
  readonly state: readonly Rows[];
  readonly lastAction: Rows;
  readonly lastReward: Rows;
  readonly recurrent: readonly Rows[];
  readonly isFirst: Uint8Array<ArrayBuffer>;
  readonly environment: Int32Array<ArrayBuffer>;
}

/** The memory of batches, which grows with the largest of them. */
export class BatchMemory {
  readonly #needs: BatchNeeds;
  #rows: BatchRows;

  constructor(needs: BatchNeeds) {
    this.#needs = needs;
    this.#rows = this.#make(1);
  }

  #make(room: number): BatchRows {
    const { layout, recurrent } = this.#needs;
    return {
      room,
      state: layout.leaves.map((leaf) => rowsOf(leaf, room)),
      lastAction: rowsOf(layout.action, room),
      lastReward: rowsOf(layout.reward, room),
      recurrent: recurrent.map((each) => rowsOf(each, room)),
      isFirst: new Uint8Array(room),
      environment: new Int32Array(room),
    };
  }

  /** The batch of some actors. */
  gather(actors: readonly ActorEnvironments[]): InferenceBatch {
    const size = actors.reduce((sum, { count }) => sum + count, 0);
    if (size > this.#rows.room) this.#rows = this.#make(Math.max(size, 2 * this.#rows.room));
    const { state, lastAction, lastReward, recurrent, isFirst, environment } = this.#rows;
    let at = 0;
    for (const actor of actors) {
      const { count, numbers, request } = actor;
      for (const [k, rows] of state.entries()) {
        part(rows, at, count).set(request.state[k] as AnyColumnArray);
      }
      part(lastAction, at, count).set(actor.lastAction.array);
      part(lastReward, at, count).set(actor.lastReward.array);
      for (const [k, rows] of recurrent.entries()) {
        part(rows, at, count).set((actor.recurrent[k] as Rows).array);
      }
      isFirst.set(actor.isFirst, at);
      environment.set(numbers, at);
      at += count;
    }
    const { layout, recurrentNames } = this.#needs;
    const all = (rows: Rows): AnyColumnArray => part(rows, 0, size);
    return {
      size,
      state: arrange(layout.named.tree, state.map(all)),
      isFirst: isFirst.subarray(0, size),
      lastAction: all(lastAction) as InferenceBatch["lastAction"],
      lastReward: all(lastReward) as InferenceBatch["lastReward"],
      recurrent: Object.fromEntries(recurrent.map((rows, k) => [recurrentNames[k], all(rows)])),
      environment: environment.subarray(0, size),
    };
  }

  /** Gives each actor its actions, its extras and its recurrent states. It throws before it has given any. */
  scatter(actors: readonly ActorEnvironments[], given: InferenceActions): void {
    const { layout } = this.#needs;
    const where = "serveInference(): act";
    checkOptions(where, given, ["action", "extras"]);
    const { action, extras = {} } = given as {
      action: unknown;
      extras?: Readonly<Record<string, unknown>>;
    };
    const names = layout.named.extraNames;
    checkOptions(`${where}: extras`, extras, names);
    const steps = actors.reduce((sum, { count }) => sum + count, 0);
    const operation = { name: where };
    const checked = (named: NamedColumn, value: unknown): Rows => {
      const { elementBytes, elementCount } = named.column;
      const buffer = new ArrayBuffer(elementBytes * elementCount * steps);
      const staged = new StagedColumn(named, { operation, buffer, steps });
      staged.write(value);
      return { named, array: staged.view };
    };
    const actions = checked(layout.action, action);
    const columns = layout.named.columns.slice(layout.leaves.length + 2);
    const allExtras = columns.map((named, k) => checked(named, extras[names[k] as string]));
    let at = 0;
    for (const actor of actors) {
      actor.lastAction.array.set(part(actions, at, actor.count));
      for (const [k, rows] of actor.extras.entries()) {
        rows.array.set(part(allExtras[k] as Rows, at, actor.count));
      }
      for (const [k, rows] of actor.recurrent.entries()) {
        rows.array.set(part(this.#rows.recurrent[k] as Rows, at, actor.count));
      }
      at += actor.count;
    }
  }
}
