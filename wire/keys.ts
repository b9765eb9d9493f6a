/**
 * The 64-bit keys of chunks, items and episodes, as two numbers of 32 bits.
 *
 * A source begins at a random key and counts. So two keys of one source are never the same, and those of two writers meet with a
 * probability of about (their keys) / 2^62; keys that are all random would meet far sooner.
 *
 * @module
 */

/** A key of 64 bits. */
export interface Key {
  /** Its lower 32 bits. */
  readonly low: number;
  /** Its upper 32 bits. */
  readonly high: number;
}

/** Hands out keys, each once. All take nine bytes in a message, so that the same data always has as many bytes. */
export class KeySource {
  #low: number;
  #high: number;

  constructor() {
    const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
    [this.#low, this.#high] = [low, 2 ** 30 + high % 2 ** 30];
  }

  /** The next key. It is never 0. */
  next(): Key {
    this.#low = (this.#low + 1) >>> 0;
    if (this.#low === 0) this.#high = (this.#high + 1) >>> 0;
    if (this.#low === 0 && this.#high === 0) this.#low = 1;
    return { low: this.#low, high: this.#high };
  }
}

/** A key as one number. */
export function toBigInt({ low, high }: Key): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

/** One number as a key. */
export function keyOf(value: bigint): Key {
  return { low: Number(value & 0xffffffffn), high: Number((value >> 32n) & 0xffffffffn) };
}
