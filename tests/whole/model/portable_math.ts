/**
 * A copy of the kernel's logarithm and power (kernel/base/portable_math.hpp), operation for operation. It uses only + - *
 * / and bit operations on doubles, so both give the same bits. Change both or none.
 *
 * @module
 */

const bits = new DataView(new ArrayBuffer(8));

function bitsOf(value: number): bigint {
  bits.setFloat64(0, value);
  return bits.getBigUint64(0);
}

function fromBits(value: bigint): number {
  bits.setBigUint64(0, BigInt.asUintN(64, value));
  return bits.getFloat64(0);
}

const MIN_NORMAL = 2 ** -1022;
const HALF = 0x3fe6a09en << 32n; // the upper half of sqrt(1/2)
const ONE = 0x3ff00000n << 32n;
const LN2_HIGH = fromBits(0x3fe62e42fee00000n);
const LN2_LOW = fromBits(0x3dea39ef35793c76n);
const LN2 = fromBits(0x3fe62e42fefa39efn);
const LOG2E = fromBits(0x3ff71547652b82fen);
const MAGIC = 1.5 * 2 ** 52; // adding and subtracting it rounds to the nearest integer

/** x = mantissa * 2^exponent, mantissa in [sqrt(1/2), sqrt(2)), for finite x > 0. */
function split(x: number): { mantissa: number; exponent: number } {
  const subnormal = x < MIN_NORMAL;
  const normal = subnormal ? x * 2 ** 54 : x;
  const moved = bitsOf(normal) + (ONE - HALF);
  const mantissa = fromBits((moved & 0x000fffffffffffffn) + HALF);
  return { mantissa, exponent: Number(moved >> 52n) - 1023 - (subnormal ? 54 : 0) };
}

/** ln(1 + f) - f. */
function logRest(f: number): number {
  const halfSquare = 0.5 * f * f;
  const s = f / (2 + f);
  const z = s * s;
  let series = 2 / 21;
  for (const odd of [19, 17, 15, 13, 11, 9, 7, 5, 3]) series = series * z + 2 / odd;
  return s * (halfSquare + series * z) - halfSquare;
}

/** The natural logarithm of a finite x >= 0. */
export function portableLog(x: number): number {
  if (x <= 0) return -Infinity;
  const { mantissa, exponent } = split(x);
  const f = mantissa - 1;
  const rest = logRest(f) + exponent * LN2_LOW;
  return exponent * LN2_HIGH + (f + rest);
}

/** 1/13!, 1/12!, ..., 1/3!: the upper terms of the series of exp. */
const INVERSE_FACTORIALS = [
  6227020800,
  479001600,
  39916800,
  3628800,
  362880,
  40320,
  5040,
  720,
  120,
  24,
  6,
].map((factorial) => 1 / factorial);

/** base^exponent for finite base >= 0. */
export function portablePow(base: number, exponent: number): number {
  if (exponent === 0) return 1;
  if (exponent === 1) return base;
  if (exponent === 0.5) return Math.sqrt(base);
  if (base <= 0) return exponent > 0 ? 0 : Infinity;
  const { mantissa, exponent: baseExponent } = split(base);
  const f = mantissa - 1;
  const large = exponent * baseExponent;
  const small = exponent * (f + logRest(f));
  const n = ((large + small * LOG2E) + MAGIC) - MAGIC;
  const t = (large - n) * LN2 + small;
  let e = 0;
  for (const [k, term] of [...INVERSE_FACTORIALS, 0.5, 1, 1].entries()) {
    e = k === 0 ? term : e * t + term;
  }
  if (n > 1023) return Infinity;
  if (n < -1022) return 0;
  return e * fromBits(BigInt(n + 1023) << 52n);
}

/** base^exponent for finite base >= 0, by shorter series: for a result that is kept as a float32. */
export function portablePow32(base: number, exponent: number): number {
  if (exponent === 0) return 1;
  if (exponent === 1) return base;
  if (exponent === 0.5) return Math.sqrt(base);
  if (base <= 0) return exponent > 0 ? 0 : Infinity;
  const { mantissa, exponent: baseExponent } = split(base);
  const f = mantissa - 1;
  const s = f / (2 + f);
  const z = s * s;
  const z2 = z * z;
  const series = (2 + z * (2 / 3)) +
    z2 * ((2 / 5 + z * (2 / 7)) + z2 * (2 / 9 + z * (2 / 11)));
  const large = exponent * baseExponent;
  const small = exponent * (s * series);
  const n = ((large + small * LOG2E) + MAGIC) - MAGIC;
  const t = (large - n) * LN2 + small;
  const t2 = t * t;
  const t4 = t2 * t2;
  const low = (1 + t) + t2 * (0.5 + t * (1 / 6));
  const high = (1 / 24 + t * (1 / 120)) + t2 * (1 / 720 + t * (1 / 5040));
  const e = low + t4 * (high + t4 * (1 / 40320 + t * (1 / 362880)));
  if (n > 1023) return Infinity;
  if (n < -1022) return 0;
  return e * fromBits(BigInt(n + 1023) << 52n);
}

const FLOAT_MIN = 2 ** -126;
const FLOAT_MAX = (2 - 2 ** -23) * 2 ** 127;

/** A positive value as a float32 weight that stays drawable: the smallest normal float at least; 0 for 0. */
export function portableWeight(value: number): number {
  if (value <= 0) return 0;
  if (value < FLOAT_MIN) return FLOAT_MIN;
  if (value > FLOAT_MAX) return FLOAT_MAX;
  return Math.fround(value);
}
