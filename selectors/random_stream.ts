/**
 * A seeded stream of random numbers, the same on every platform.
 *
 * xoshiro128++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021): the 32-bit sibling of
 * the kernel's generator, so that no number needs a BigInt. Its state is filled by splitmix32. Not for cryptography.
 * Invariant: the state is never all zero.
 *
 * @module
 */

/** The bytes of a saved {@linkcode RandomStream}. */
export const RANDOM_STREAM_BYTES = 16;

/**
 * The random numbers that a selector written in TypeScript draws with. The replay makes one for each selector from its
 * own seed, and saves it in snapshots.
 *
 * @example
 * ```ts
 * import { RandomStream } from "@exrp/replay/selectors";
 *
 * const random = new RandomStream(7);
 * console.log(random.uniform() === new RandomStream(7).uniform()); // true
 * console.log(random.below(6) < 6); // true
 * ```
 */
export class RandomStream {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /**
   * Begins a stream.
   *
   * @param seed Whole number 0 to 2^53 - 1.
   * @param stream Which of the seed's streams: whole number 0 to 2^32 - 1.
   */
  constructor(seed: number, stream = 0) {
    let mix = (seed >>> 0) ^ Math.imul(stream + 1, 0x85ebca6b) ^
      Math.imul(Math.floor(seed / 2 ** 32), 0xc2b2ae35);
    function word(): number {
      mix = (mix + 0x9e3779b9) | 0;
      let z = mix ^ (mix >>> 16);
      z = Math.imul(z, 0x21f0aaad);
      z = z ^ (z >>> 15);
      z = Math.imul(z, 0x735a2d97);
      return z ^ (z >>> 15);
    }
    this.#a = word();
    this.#b = word();
    this.#c = word();
    this.#d = word() | 1;
  }

  /** 32 random bits, as a whole number 0 to 2^32 - 1. */
  next(): number {
    const sum = (this.#a + this.#d) | 0;
    const result = (((sum << 7) | (sum >>> 25)) + this.#a) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** Uniform in [0, 1), a multiple of 2^-53. */
  uniform(): number {
    const high = this.next() >>> 5;
    const low = this.next() >>> 6;
    return (high * 2 ** 26 + low) * 2 ** -53;
  }

  /**
   * A whole number 0 to `bound` - 1, each as likely as the other.
   *
   * @throws {RangeError} When `bound` is not a whole number 1 to 2^32.
   */
  below(bound: number): number {
    if (!(Number.isInteger(bound) && bound >= 1 && bound <= 2 ** 32)) {
      throw new RangeError(`below(): the bound must be an integer from 1 to 2^32, got ${bound}`);
    }
    // Numbers past the last whole multiple of the bound would favour the small ones: draw again.
    const limit = 2 ** 32 - (2 ** 32 % bound);
    let value = this.next();
    while (value >= limit) value = this.next();
    return value % bound;
  }

  /** The state, 16 bytes. */
  save(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(RANDOM_STREAM_BYTES);
    const view = new DataView(bytes.buffer);
    for (const [k, word] of [this.#a, this.#b, this.#c, this.#d].entries()) {
      view.setInt32(4 * k, word, true);
    }
    return bytes;
  }

  /**
   * Continues where the saved stream was.
   *
   * @throws {RangeError} When `bytes` is no state that {@linkcode RandomStream.save} gives.
   */
  load(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length !== RANDOM_STREAM_BYTES || bytes.every((byte) => byte === 0)) {
      throw new RangeError(`load(): ${bytes.length} bytes that are no state of a random stream`);
    }
    this.#a = view.getInt32(0, true);
    this.#b = view.getInt32(4, true);
    this.#c = view.getInt32(8, true);
    this.#d = view.getInt32(12, true);
  }
}
