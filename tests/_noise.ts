/** Bytes that no compression makes fewer, the same in each run. */
import { RandomStream } from "../selectors/random_stream.ts";

/** Random bytes; each seed has its own. */
export function noise(byteCount: number, seed = 1): Uint8Array<ArrayBuffer> {
  const random = new RandomStream(seed);
  const words = new Uint32Array(Math.ceil(byteCount / 4)).map(() => random.next());
  return new Uint8Array(words.buffer).slice(0, byteCount);
}
