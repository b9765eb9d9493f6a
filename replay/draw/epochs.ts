/**
 * Going through rows in random order, each once an epoch: options and the shuffle.
 *
 * @module
 */

import { checkBoolean, checkInteger } from "../../base/checks.ts";
import { RandomStream } from "../../selectors/random_stream.ts";

/** The options of all minibatches, those of {@linkcode ExperienceReplay.minibatches} and those of {@linkcode Drained.minibatches}. */
export interface EpochOptions {
  /** How often each row comes: a whole number of at least 1; 1 by default. */
  readonly epochs?: number;
  /** Whether rows that are left over at the end of an epoch are left out; false by default: they make a smaller minibatch. */
  readonly dropLast?: boolean;
  /** The seed of the order: a whole number from 0 to 2^53 - 1. The same seed gives the same order. */
  readonly seed?: number;
}

/** How to go through rows in random order. */
export interface Epochs {
  /** Rows of a minibatch. */
  readonly size: number;
  /** How often each row comes. */
  readonly epochs: number;
  /** Whether a smaller minibatch at the end of an epoch is left out. */
  readonly dropLast: boolean;
  /** What the rows are shuffled with. */
  readonly random: RandomStream;
}

/** The call whose options these are. */
export const MINIBATCHES = "minibatches()";

/** Checks the size and the options; without a seed `random` shuffles. */
export function checkEpochs(
  size: number,
  { epochs, dropLast, seed }: EpochOptions,
  sizeMax: number,
  random: RandomStream,
): Epochs {
  const largest = Number.MAX_SAFE_INTEGER;
  return {
    size: checkInteger(`${MINIBATCHES}: size`, size, 1, sizeMax),
    epochs: epochs === undefined ? 1 : checkInteger(`${MINIBATCHES}: epochs`, epochs, 1, largest),
    dropLast: dropLast !== undefined && checkBoolean(`${MINIBATCHES}: dropLast`, dropLast),
    random: seed === undefined
      ? random
      : new RandomStream(checkInteger(`${MINIBATCHES}: seed`, seed, 0, largest)),
  };
}

/** The rows 0 to `count - 1`, in order. */
export function rowsInOrder(count: number): Int32Array<ArrayBuffer> {
  const rows = new Int32Array(count);
  for (let k = 0; k < count; k++) rows[k] = k;
  return rows;
}

/** Puts rows into random order (Fisher and Yates). */
export function shuffle(random: RandomStream, rows: Int32Array): void {
  for (let k = rows.length - 1; k > 0; k--) {
    const other = random.below(k + 1);
    const row = rows[k] as number;
    rows[k] = rows[other] as number;
    rows[other] = row;
  }
}
