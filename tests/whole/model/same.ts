/**
 * Comparisons whose failures say where the library and the model part.
 *
 * @module
 */

function bytesOfView(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

export function sameBytes(what: string, actual: ArrayBufferView, expected: Uint8Array): void {
  const bytes = bytesOfView(actual);
  if (bytes.length !== expected.length) {
    throw new Error(`${what} has ${bytes.length} bytes, the model ${expected.length}`);
  }
  for (let k = 0; k < bytes.length; k++) {
    if (bytes[k] !== expected[k]) {
      throw new Error(`${what} differs at byte ${k}: ${bytes[k]}, the model has ${expected[k]}`);
    }
  }
}

export function sameNumbers(
  what: string,
  actual: ArrayLike<number>,
  expected: readonly number[],
  tolerance = 0,
): void {
  if (actual.length !== expected.length) {
    throw new Error(`${what} has ${actual.length} numbers, the model ${expected.length}`);
  }
  for (const [k, number] of expected.entries()) {
    const seen = actual[k];
    if (Object.is(seen, number) || seen === number) continue;
    if (seen !== undefined && Math.abs(seen - number) <= tolerance * Math.abs(number)) continue;
    throw new Error(`${what}[${k}] is ${seen}, the model has ${number}`);
  }
}

export function same(what: string, actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) {
    throw new Error(`${what} is ${actual}, the model has ${expected}`);
  }
}
