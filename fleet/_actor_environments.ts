/**
 * The environments of one actor, as an inference server knows them: what they did last, and their recurrent states.
 *
 * Each array has a row for each environment, so a batch copies the rows of an actor in one call.
 *
 * @module
 */

import { type AnyColumnArray, type NamedColumn, viewOf } from "../schema/columns.ts";
import { arrange } from "../schema/state.ts";
import {
  GOES_ON,
  type InferenceLayout,
  type InferenceRequest,
  TERMINATED,
  TRUNCATED,
} from "./_inference_message.ts";
import type { WriterPool } from "./_writer_pool.ts";

/** Rows of one column. */
export interface Rows {
  readonly named: NamedColumn;
  readonly array: AnyColumnArray;
}

/** Rows of zeros. */
export function rowsOf(named: NamedColumn, count: number): Rows {
  const { dtype, elementBytes, elementCount } = named.column;
  const buffer = new ArrayBuffer(elementBytes * elementCount * count);
  return { named, array: viewOf(dtype, buffer, 0, elementCount * count) };
}

/** The values of some rows. */
export function part({ named, array }: Rows, from: number, count: number): AnyColumnArray {
  const { elementCount } = named.column;
  return array.subarray(from * elementCount, (from + count) * elementCount) as AnyColumnArray;
}

/** The environments of one actor. */
export class ActorEnvironments {
  readonly count: number;
  /** The number of each. */
  readonly numbers: readonly number[];
  /** `[count]`: 1 where an episode begins. */
  readonly isFirst: Uint8Array;
  readonly lastAction: Rows;
  readonly lastReward: Rows;
  readonly extras: readonly Rows[];
  readonly recurrent: readonly Rows[];
  /** What it is asked to act in. */
  request: InferenceRequest;
  readonly #layout: InferenceLayout;
  readonly #writers: WriterPool;

  constructor(
    layout: InferenceLayout,
    recurrent: readonly NamedColumn[],
    { request, numbers, writers }: {
      readonly request: InferenceRequest;
      readonly numbers: readonly number[];
      readonly writers: WriterPool;
    },
  ) {
    const count = request.environments;
    this.count = count;
    this.numbers = numbers;
    this.isFirst = new Uint8Array(count).fill(1);
    this.lastAction = rowsOf(layout.action, count);
    this.lastReward = rowsOf(layout.reward, count);
    const { columns, leaves } = layout.named;
    this.extras = columns.slice(leaves.length + 2).map((named) => rowsOf(named, count));
    this.recurrent = recurrent.map((named) => rowsOf(named, count));
    this.request = request;
    this.#layout = layout;
    this.#writers = writers;
  }

  /**
   * Takes the next request: records what came of the last actions, and begins episodes where others ended.
   *
   * @returns When all is recorded. It rejects if a writer refused its step.
   */
  async take(request: InferenceRequest): Promise<void> {
    if (request.isReset) {
      await this.#each((e) => this.#writers.endEpisode(e));
      this.#begin(0, this.count);
    } else {
      // The values are copied before the call returns. So what follows may change them.
      let row = 0; // of the next final state
      const recorded = this.#each((environment, e) => {
        const step = this.#step(request, e, request.ended[e] === GOES_ON ? -1 : row++);
        return this.#writers.append(environment, step);
      });
      this.lastReward.array.set(request.reward);
      this.isFirst.fill(0);
      for (const [e, ended] of request.ended.entries()) if (ended !== GOES_ON) this.#begin(e, 1);
      await recorded;
    }
    this.request = request;
  }

  /** Ends all episodes as truncated, and writes everything. Throws the first error, once all are done. Writers that failed are never used again. */
  async leave(): Promise<void> {
    if (this.#writers.isEmpty) return;
    const left = await Promise.allSettled(this.numbers.map((each) => this.#writers.leave(each)));
    for (const each of left) if (each.status === "rejected") throw each.reason;
  }

  async #each(call: (environment: number, e: number) => Promise<void>): Promise<void> {
    if (this.#writers.isEmpty) return;
    await Promise.all(this.numbers.map(call));
  }

  /** The step of one environment that a request completes, with the row of its final state if its episode ended. */
  #step(request: InferenceRequest, e: number, row: number): Record<string, unknown> {
    const { named: { tree, extraNames } } = this.#layout;
    const ended = request.ended[e];
    const states = (leaves: readonly AnyColumnArray[], at: number): unknown =>
      arrange(
        tree,
        leaves.map((leaf, k) => rowOf(this.#layout.leaves[k] as NamedColumn, leaf, at)),
      );
    // A copy, as zeros take its place if the episode ended, and the step may be given to a second writer.
    const action = part(this.lastAction, e, 1).slice() as AnyColumnArray;
    const extras = this.extras.map((rows, k) => [extraNames[k], rowOf(rows.named, rows.array, e)]);
    return {
      state: states(this.request.state, e),
      action: rowOf(this.#layout.action, action, 0),
      reward: rowOf(this.#layout.reward, request.reward, e),
      terminated: ended === TERMINATED,
      truncated: ended === TRUNCATED,
      nextState: ended === GOES_ON ? states(request.state, e) : states(request.finalState, row),
      ...extras.length > 0 ? { extras: Object.fromEntries(extras) } : {},
    };
  }

  /** Begins episodes: nothing of those before is left. */
  #begin(from: number, count: number): void {
    this.isFirst.fill(1, from, from + count);
    for (const rows of [this.lastAction, this.lastReward, ...this.recurrent]) {
      part(rows, from, count).fill(0);
    }
  }
}

/** One value of a column: a number, or an array. */
function rowOf(
  { column: { shape, elementCount } }: NamedColumn,
  array: AnyColumnArray,
  at: number,
): unknown {
  if (shape.length === 0) return array[at];
  return array.subarray(at * elementCount, (at + 1) * elementCount);
}
