/**
 * Frames like those of a game: a still background, and some things that move over it.
 *
 * @module
 */

/** `count` frames of 84 by 84 bytes, one behind the other. */
export function frames(count: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(7056 * count);
  for (let k = 0; k < count; k++) {
    const frame = all.subarray(7056 * k, 7056 * (k + 1));
    for (let y = 0; y < 84; y++) for (let x = 0; x < 84; x++) frame[84 * y + x] = (y >> 3) * 20;
    for (let thing = 0; thing < 8; thing++) {
      const [x, y] = [(k * (thing + 1) + 9 * thing) % 78, (k * (thing + 2) + 31 * thing) % 78];
      for (let dy = 0; dy < 6; dy++) {
        frame.fill(200 + thing, 84 * (y + dy) + x, 84 * (y + dy) + x + 6);
      }
    }
  }
  return all;
}
