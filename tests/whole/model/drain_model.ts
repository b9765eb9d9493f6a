/**
 * Draining, plain and slow: one record after the other.
 *
 * @module
 */

import type { DrainRequest, ModelDrained } from "./batch_model.ts";
import type { Fault } from "./faults.ts";
import type { ModelConfig } from "./model_config.ts";
import { type Episode, recordAt } from "./window_model.ts";

/** How far a replay was drained. */
export class DrainModel {
  readonly #config: ModelConfig;
  readonly #episodes: ReadonlyMap<number, Episode>;
  readonly #fault: Fault | undefined;
  /** Of each stored episode: the position after the last record that was handed out. */
  readonly #handedOut = new Map<number, number>();
  /** Records that went, were never handed out, and of which no drain has told. */
  #lost = 0;

  constructor(config: ModelConfig, episodes: ReadonlyMap<number, Episode>, fault?: Fault) {
    this.#config = config;
    this.#episodes = episodes;
    this.#fault = fault;
  }

  /** The position after the last record of an episode that was handed out; 0 for none. */
  handedOut(handle: number): number {
    return this.#handedOut.get(handle) ?? 0;
  }

  /** An episode goes: what was not handed out of it is lost. */
  removed(episode: Episode): void {
    this.trimmed(episode, episode.records.length);
    this.#handedOut.delete(episode.handle);
  }

  /** Records before `position` go: what was not handed out of them is lost. */
  trimmed({ handle, first }: Episode, position: number): void {
    if (this.#fault === "trimmedNotLost") return;
    this.#lost += Math.max(0, position - Math.max(first, this.#handedOut.get(handle) ?? 0));
  }

  /**
   * One record after the other, by episode and time, until there are enough. `forget` takes what was handed out whole, `trim` what
   * was handed out of an open episode.
   */
  drain(
    { steps, minSteps, keep }: DrainRequest,
    forget: (handle: number) => void,
    trim: (handle: number, position: number) => void,
  ): ModelDrained {
    const open = steps !== undefined || minSteps !== undefined;
    const ready: { readonly episode: Episode; readonly position: number }[] = [];
    for (const [handle, episode] of this.#episodes) {
      if (episode.ending === undefined && !open) continue;
      for (let position = episode.first; position < episode.records.length; position++) {
        if (position < (this.#handedOut.get(handle) ?? 0)) continue;
        const isNewest = position === episode.records.length - 1;
        const known = episode.ending !== undefined || !isNewest ||
          episode.nextState !== undefined || this.#fault === "drainsNewest";
        if (known) ready.push({ episode, position });
      }
    }
    const lost = this.#fault === "drainForgetsLost" ? 0 : this.#lost;
    const wanted = steps ?? minSteps ?? 1;
    // Where fewer records came than are wanted, what was lost is told later.
    if (this.#waiting() + this.#lost < wanted) return this.#drained([], 0);
    if (this.#fault !== "lostTwice" || ready.length >= wanted) this.#lost = 0;
    if (ready.length < wanted) return this.#drained([], lost);
    const taken = ready.slice(0, steps);
    const drained = this.#drained(taken, lost);
    for (const [k, { episode, position }] of taken.entries()) {
      if (this.#fault !== "drainsAgain" || episode.ending !== undefined) {
        this.#handedOut.set(episode.handle, position + 1);
      }
      // What was handed out of an episode goes at once.
      if (taken[k + 1]?.episode === episode || keep || this.#fault === "drainKeeps") continue;
      const isLast = position === episode.records.length - 1;
      if (episode.ending === undefined) trim(episode.handle, position + 1);
      else if (isLast) forget(episode.handle);
    }
    return drained;
  }

  /** Records that were not handed out. */
  #waiting(): number {
    let count = 0;
    for (const [handle, { records, first }] of this.#episodes) {
      count += records.length - Math.max(first, this.#handedOut.get(handle) ?? 0);
    }
    return count;
  }

  #drained(
    taken: readonly { readonly episode: Episode; readonly position: number }[],
    lost: number,
  ): ModelDrained {
    const { columnBytes } = this.#config;
    const columns = columnBytes.map((bytes) => new Uint8Array(taken.length * bytes));
    const stateBytes = columnBytes[0] ?? 0;
    const nextState = new Uint8Array(taken.length * stateBytes);
    const [episodes, positions, seqLen]: [number[], number[], number[]] = [[], [], []];
    const lastRows: number[] = [];
    const discount: number[] = [];
    const terminated: number[] = [];
    const truncated: number[] = [];
    for (const [row, { episode, position }] of taken.entries()) {
      for (
        const [k, bytes] of recordAt(episode, position, this.#config.every, this.#fault).entries()
      ) {
        columns[k]?.set(bytes, row * bytes.length);
      }
      const isLast = position === episode.records.length - 1;
      const next = isLast
        ? episode.finalState ?? episode.nextState
        : episode.records[position + 1]?.[0];
      nextState.set(next ?? episode.records[position]?.[0] ?? [], row * stateBytes);
      if (row === 0 || taken[row - 1]?.episode !== episode) {
        episodes.push(episode.handle);
        positions.push(position);
        seqLen.push(0);
        lastRows.push(row);
      }
      seqLen[seqLen.length - 1] = (seqLen.at(-1) ?? 0) + 1;
      lastRows[lastRows.length - 1] = row;
      const cut = row === taken.length - 1 && this.#fault === "drainCutEnds" && !isLast;
      terminated.push((isLast || cut) && episode.ending === "terminated" ? 1 : 0);
      truncated.push((isLast || cut) && episode.ending === "truncated" ? 1 : 0);
      discount.push(terminated.at(-1) === 1 ? 0 : Math.fround(this.#config.pick.discount));
    }
    const lastNextState = new Uint8Array(lastRows.length * stateBytes);
    for (const [k, row] of lastRows.entries()) {
      const from = nextState.subarray(row * stateBytes, (row + 1) * stateBytes);
      lastNextState.set(from, k * stateBytes);
    }
    return {
      columns,
      nextState,
      lastNextState,
      episode: episodes,
      position: positions,
      seqLen,
      discount,
      terminated,
      truncated,
      lost,
    };
  }

  /** The same for a replay with these episodes, going its own way from here. */
  clone(episodes: ReadonlyMap<number, Episode>): DrainModel {
    const copy = new DrainModel(this.#config, episodes, this.#fault);
    if (this.#fault !== "snapshotForgetsDrain") {
      for (const [handle, count] of this.#handedOut) copy.#handedOut.set(handle, count);
    }
    copy.#lost = this.#lost;
    return copy;
  }
}
