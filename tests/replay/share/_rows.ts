/**
 * Records that carry their own hash, so that a torn one is seen. Each is one step of one episode of one Worker.
 *
 * @module
 */

import { type Column, type ExperienceReplay, int32, uint8 } from "@exrp/replay";

/** The columns of rows with so many bytes more, a multiple of 4. The state is Worker, episode, step and hash. */
export function schemaOf(
  wide: number,
): { state: Column<"int32", [4]>; extras: { wide: Column<"uint8", [number]> } } {
  return { state: int32(4), extras: { wide: uint8(wide) } };
}

/** Rows that are copied under the lock. */
export const NARROW = 48;

/** Rows that are copied without the lock. */
export const WIDE = 2048;

/** A replay of these columns. */
export type HashedReplay = ExperienceReplay<
  {
    readonly state: Column<"int32", [4]>;
    readonly extras: { readonly wide: Column<"uint8", [number]> };
  }
>;

/** The hash of a step. */
export function hashOf(worker: number, episode: number, step: number): number {
  let mixed = Math.imul(worker + 1, 0x9e3779b1) ^ Math.imul(episode + 1, 0x85ebca6b) ^
    Math.imul(step + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return mixed ^ (mixed >>> 15);
}

/** Columns of several records. */
interface Rows {
  readonly state: Int32Array<ArrayBuffer>;
  readonly action: Int32Array<ArrayBuffer>;
  readonly reward: Float32Array<ArrayBuffer>;
  readonly extras: { readonly wide: Uint8Array<ArrayBuffer> };
}

/** The columns of steps `first` to `first + count - 1` of an episode. */
export function stepsOf(
  [worker, episode]: readonly [number, number],
  first: number,
  count: number,
  wideBytes: number,
): Rows {
  const state = new Int32Array(4 * count);
  const action = new Int32Array(count);
  const reward = new Float32Array(count);
  const words = wideBytes / 4;
  const wide = new Int32Array(words * count);
  for (let k = 0; k < count; k++) {
    const hash = hashOf(worker, episode, first + k);
    state.set([worker, episode, first + k, hash], 4 * k);
    action[k] = ~hash;
    reward[k] = (first + k) % 2 ** 20;
    wide.fill(hash, words * k, words * (k + 1));
  }
  return { state, action, reward, extras: { wide: new Uint8Array(wide.buffer) } };
}

/** The state after `step` steps of an episode. */
export function stateOf(worker: number, episode: number, step: number): Int32Array {
  return Int32Array.of(worker, episode, step, hashOf(worker, episode, step));
}

/** Throws if one of the rows is torn. */
export function checkWhole({ state, action, reward, extras }: Rows): void {
  // Batches keep their parts at places that fit their elements, so this has a copy of its own.
  const wide = new Int32Array(new Uint8Array(extras.wide).buffer);
  const words = wide.length / action.length;
  for (let k = 0; k < action.length; k++) {
    const [worker = 0, episode = 0, step = 0, hash = 0] = state.subarray(4 * k, 4 * k + 4);
    let isWhole = hash === hashOf(worker, episode, step) && action[k] === ~hash &&
      reward[k] === step % 2 ** 20;
    for (let word = 0; word < words; word++) isWhole &&= wide[words * k + word] === hash;
    if (!isWhole) {
      throw new Error(`row ${k} of ${action.length} is torn: ${state.subarray(4 * k, 4 * k + 4)}`);
    }
  }
}

/** Which records came, of Workers 0, 1, …: each once, and those of a Worker in the order in which it wrote them. */
export class Seen {
  /** How many of each Worker came. */
  readonly counts: number[] = [];
  readonly #last: { episode: number; step: number }[] = [];

  /** Takes note of rows in their order; throws if one of them came before. `open` allows that a Worker's episodes begin late. */
  add(state: Int32Array): void {
    for (let at = 0; at < state.length; at += 4) {
      const [worker, episode, step] = [state[at] ?? 0, state[at + 1] ?? 0, state[at + 2] ?? 0];
      const last = this.#last[worker] ??= { episode: -1, step: -1 };
      const follows = episode === last.episode
        ? step === last.step + 1
        : episode === last.episode + 1 && step === 0;
      if (!follows) {
        throw new Error(
          `step ${step} of episode ${episode} of Worker ${worker} came after step ${last.step} of episode ${last.episode}`,
        );
      }
      [last.episode, last.step] = [episode, step];
      this.counts[worker] = (this.counts[worker] ?? 0) + 1;
    }
  }
}

/** Looks at every stored record, Worker by Worker in order: that it is whole, and stored once. Returns the counts of the Workers. */
export function checkStored(replay: HashedReplay): number[] {
  const seen = new Seen();
  for (const handle of replay.episodes().handle) {
    const records = replay.episodeRecords(handle);
    checkWhole(records);
    seen.add(records.state);
  }
  return seen.counts;
}
