/**
 * The kernel's random numbers (kernel/base/random.hpp) once more: xoshiro256++ seeded by splitmix64, written with BigInt.
 *
 * @module
 */

const MASK = (1n << 64n) - 1n;

function rotate(value: bigint, count: bigint): bigint {
  return ((value << count) | (value >> (64n - count))) & MASK;
}

/** One stream of random numbers. */
export class Random {
  #state: [bigint, bigint, bigint, bigint];

  /** Stream `stream` of `seed`: selector k of a replay draws from stream k + 1. */
  constructor(seed: number | bigint, stream: number) {
    let mix = BigInt(seed) ^ (BigInt(stream) * 0xD1342543DE82EF95n & MASK);
    function word(): bigint {
      mix = (mix + 0x9E3779B97F4A7C15n) & MASK;
      let z = mix;
      z = (z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n & MASK;
      z = (z ^ (z >> 27n)) * 0x94D049BB133111EBn & MASK;
      return z ^ (z >> 31n);
    }
    this.#state = [word(), word(), word(), word()];
  }

  /** 64 random bits. */
  next(): bigint {
    let [a, b, c, d] = this.#state;
    const result = (rotate((a + d) & MASK, 23n) + a) & MASK;
    const shifted = (b << 17n) & MASK;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotate(d, 45n);
    this.#state = [a, b, c, d];
    return result;
  }

  /** Uniform in [0, 1), a multiple of 2^-53. */
  uniform(): number {
    return Number(this.next() >> 11n) * 2 ** -53;
  }

  /** A whole number 0 to bound - 1, without bias (Lemire 2019). */
  below(bound: number): number {
    const range = BigInt(bound);
    const tooLow = (1n << 32n) % range;
    for (;;) {
      const product = (this.next() >> 32n) * range;
      if ((product & 0xFFFFFFFFn) >= tooLow) return Number(product >> 32n);
    }
  }

  /** The same stream at the same place, going its own way from here. */
  clone(): Random {
    const copy = new Random(0, 0);
    copy.#state = [...this.#state];
    return copy;
  }
}
