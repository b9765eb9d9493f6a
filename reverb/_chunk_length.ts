/**
 * Finds a good length of chunks, as Reverb's writers do: short chunks waste little where items overlap little, long ones compress better.
 *
 * After 10 items and 5 chunks it compares the bytes a step, stored and sent, with those of the last length. Then it makes the chunks 2
 * longer or 1 shorter, within 1 and the length of the history.
 *
 * @module
 */

const ITEMS = 10;
const CHUNKS = 5;

interface Score {
  readonly length: number;
  readonly cost: number;
}

interface Sample {
  readonly length: number;
  readonly bytesPerStep: number;
}

/** What is read of a chunk that was sent. */
interface SentChunk {
  readonly length: number;
  readonly encoded: Uint8Array | undefined;
}

/** Learns the length of one column's chunks. */
export class ChunkLengthTuner {
  /** The length of the next chunk. */
  length = 1;
  readonly #longest: number;
  #items: Sample[] = [];
  #chunks: (Sample & { readonly chunk: SentChunk })[] = [];
  #last: Score | undefined;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** An item with these chunks of the column, and so many rows, was sent. */
  sent(chunks: ReadonlySet<SentChunk>, rows: number): void {
    let bytes = 0;
    let length = 0;
    for (const chunk of chunks) {
      const size = chunk.encoded?.length ?? 0;
      bytes += size;
      length += chunk.length;
      if (this.#chunks.some((known) => known.chunk === chunk)) continue;
      this.#chunks.push({ chunk, length: chunk.length, bytesPerStep: size / chunk.length });
    }
    this.#items.push({ length: length / chunks.size, bytesPerStep: bytes / rows });
    if (this.#items.length > ITEMS) this.#items.shift();
    while (this.#chunks.length > CHUNKS) this.#chunks.shift();
    if (this.#items.length === ITEMS && this.#chunks.length === CHUNKS) this.#decide();
  }

  #decide(): void {
    const all = [...this.#items, ...this.#chunks];
    const score: Score = {
      length: mean(all.map((sample) => sample.length)),
      cost: mean(this.#chunks.map((it) => it.bytesPerStep)) +
        mean(this.#items.map((it) => it.bytesPerStep)),
    };
    [this.#items, this.#chunks] = [[], []];
    if (this.#last === undefined) {
      this.#last = score;
      this.length = Math.min(this.length + 2, this.#longest);
      return;
    }
    if (Math.abs(score.length - this.length) > 0.25) return;
    const isCheaper = score.cost < this.#last.cost;
    const isLonger = score.length > this.#last.length;
    const length = Math.min(
      Math.max(this.length + (isCheaper === isLonger ? 2 : -1), 1),
      this.#longest,
    );
    if (length === this.length) return;
    this.#last = score;
    this.length = length;
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
