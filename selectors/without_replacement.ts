/**
 * Uniform draws that are all different within a batch.
 *
 * Robert Floyd's sampling (Bentley, "Programming pearls: a sample of brilliance", 1987): for j from N - n to N - 1 a number
 * below j + 1 is drawn, and j itself taken in its stead when the batch has it already. That gives every set of n picks with
 * the same chance, but not every order, so the batch is shuffled afterwards. 2 n - 1 random numbers, whatever n is.
 * Invariant: between two draws every byte of `#taken` is 0.
 *
 * @module
 */

import type { PickSelector, RandomStream, Selection } from "./pick_selector.ts";

class WithoutReplacement implements PickSelector {
  readonly name = "withoutReplacement";
  #count = 0;
  /** 1 where a pick is in the batch being drawn; at least as long as there are picks by then. */
  #taken: Uint8Array = new Uint8Array(0);

  pushed(_index: number): void {
    this.#count++;
  }

  moved(_from: number, _to: number): void {}

  popped(_index: number): void {
    this.#count--;
  }

  setPriority(_indices: Uint32Array<ArrayBuffer>, _priorities: Float64Array<ArrayBuffer>): void {}

  select(count: number, out: Selection, random: RandomStream): void {
    const all = this.#count;
    if (count > all) {
      throw new RangeError(
        `withoutReplacement() draws each pick once a batch at most: a batch of ${count} was asked for, there are ${all} picks`,
      );
    }
    if (this.#taken.length < all) this.#taken = new Uint8Array(2 ** Math.ceil(Math.log2(all)));
    const taken = this.#taken;
    const { index, probability } = out;
    for (let k = 0; k < count; k++) {
      const last = all - count + k;
      const drawn = random.below(last + 1);
      const pick = taken[drawn] === 0 ? drawn : last;
      taken[pick] = 1;
      index[k] = pick;
    }
    for (let k = 0; k < count; k++) taken[index[k] as number] = 0;
    for (let k = count - 1; k > 0; k--) {
      const other = random.below(k + 1);
      const pick = index[k] as number;
      index[k] = index[other] as number;
      index[other] = pick;
    }
    probability.fill(1 / all);
  }

  /** The random stream is the replay's to save; besides it, nothing decides the future but the number of picks. */
  save(): Uint8Array {
    return new Uint8Array(0);
  }

  load(bytes: Uint8Array): void {
    if (bytes.length !== 0) {
      throw new RangeError(
        `withoutReplacement() saves nothing, but there are ${bytes.length} bytes`,
      );
    }
  }
}

/**
 * Draws batches in which no pick comes twice: every set of that many picks is as likely as any other, in every order.
 * Two batches are independent, so a pick may come again in the next one.
 *
 * Each place of a batch is a uniform draw: `probability` is 1/N, importance weights are 1. Priorities are ignored. A batch
 * larger than the number of picks is refused.
 *
 * Runs in TypeScript: give each selector an object of its own. Cost: O(1) a draw; one byte a pick.
 *
 * @throws {RangeError} Thrown by `getBatch`: for a batch of more picks than there are.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, withoutReplacement } from "@exrp/replay";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(withoutReplacement());
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * episode = replay.record(episode, [20], 1, 1);
 * replay.record(episode, [30], 1, 1, { finalState: [40] });
 *
 * assertEquals(replay.getBatch(3, selector).state.sort(), Float32Array.of(10, 20, 30));
 * assertThrows(() => replay.getBatch(4, selector), RangeError, "there are 3 picks");
 * ```
 */
export function withoutReplacement(): PickSelector {
  return new WithoutReplacement();
}
