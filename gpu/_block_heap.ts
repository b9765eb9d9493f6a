/**
 * Where the blocks of a compressed column stand in the buffers of a device. A block that is packed takes what it needs, and one that gets records takes the room of
 * all its rows.
 *
 * Memory comes in *grains*. A block gets the smallest gap that it fits in. Neighbouring gaps are one.
 *
 * @module
 */

/** Of a block that has no place. */
export const NO_PLACE = 0xffffffff;

/** A block takes at most about so many grains. So the search for a gap is short, and little is lost by rounding up. */
const BLOCK_GRAINS = 1024;

/** Places for blocks, in chunks of one size. */
export class BlockHeap {
  /** Words of a grain. */
  readonly grainWords: number;
  /** Grains of a chunk. */
  readonly chunkGrains: number;
  /** By block: its first grain, or none. */
  #firsts = new Uint32Array(64).fill(NO_PLACE);
  /** By block: its grains; with the sign of less, where its rows are as they are. */
  #sizes = new Int32Array(64);
  /** Gaps by their sizes, which end at the largest block; that one's has all larger gaps. */
  readonly #gaps: (Set<number> | undefined)[] = [];
  readonly #gapSizes = new Map<number, number>();
  readonly #gapFirsts = new Map<number, number>();
  readonly #mostGrains: number;
  #end = 0;
  #takenGrains = 0;

  /** For blocks of at most `blockWords` words in chunks of about `chunkWords`. */
  constructor(blockWords: number, chunkWords: number) {
    this.grainWords = 2 ** Math.max(4, Math.ceil(Math.log2(blockWords / BLOCK_GRAINS)));
    this.chunkGrains = Math.floor(chunkWords / this.grainWords);
    this.#mostGrains = Math.ceil(blockWords / this.grainWords);
  }

  /** Grains that were ever taken: those behind are free. */
  get end(): number {
    return this.#end;
  }

  /** Grains of blocks. */
  get takenGrains(): number {
    return this.#takenGrains;
  }

  /** The bytes of what is by block. */
  get bytes(): number {
    return this.#firsts.byteLength + this.#sizes.byteLength;
  }

  /** The first word of a block, or none. */
  wordOf(block: number): number {
    const first = this.#firsts[block] ?? NO_PLACE;
    return first === NO_PLACE ? NO_PLACE : first * this.grainWords;
  }

  /** Whether the rows of a block have a place where they stand as they are. */
  isPlain(block: number): boolean {
    return (this.#sizes[block] ?? 0) < 0;
  }

  /** Takes a place of so many words for a block. The one that it had is free. Returns its first word. */
  take(block: number, words: number, isPlain: boolean): number {
    this.free(block);
    if (block >= this.#firsts.length) this.#growTables(block);
    const size = Math.ceil(words / this.grainWords);
    const first = this.#takeGap(size) ?? this.#takeEnd(size);
    this.#firsts[block] = first;
    this.#sizes[block] = isPlain ? -size : size;
    this.#takenGrains += size;
    return first * this.grainWords;
  }

  /** No block has a place any more. */
  clear(): void {
    this.#firsts.fill(NO_PLACE);
    this.#sizes.fill(0);
    this.#gaps.length = 0;
    this.#gapSizes.clear();
    this.#gapFirsts.clear();
    [this.#end, this.#takenGrains] = [0, 0];
  }

  /** A block has no place any more. */
  free(block: number): void {
    const first = this.#firsts[block] ?? NO_PLACE;
    if (first === NO_PLACE) return;
    const size = Math.abs(this.#sizes[block] ?? 0);
    this.#firsts[block] = NO_PLACE;
    this.#sizes[block] = 0;
    this.#takenGrains -= size;
    this.#addGap(first, size);
  }

  #growTables(block: number): void {
    const length = 2 ** Math.ceil(Math.log2(block + 1));
    const [firsts, sizes] = [new Uint32Array(length).fill(NO_PLACE), new Int32Array(length)];
    firsts.set(this.#firsts);
    sizes.set(this.#sizes);
    [this.#firsts, this.#sizes] = [firsts, sizes];
  }

  #takeEnd(size: number): number {
    const left = this.chunkGrains - this.#end % this.chunkGrains;
    if (left < size) {
      const first = this.#end;
      this.#end += left;
      this.#addGap(first, left);
    }
    const first = this.#end;
    this.#end += size;
    return first;
  }

  #takeGap(size: number): number | undefined {
    for (let large = size; large <= this.#mostGrains; large++) {
      const [first] = this.#gaps[large] ?? [];
      if (first === undefined) continue;
      const found = this.#removeGap(first);
      if (found > size) this.#addGap(first + size, found - size);
      return first;
    }
    return undefined;
  }

  /** The set of gaps that are so large. */
  #gapsOf(size: number): Set<number> {
    return this.#gaps[Math.min(size, this.#mostGrains)] ??= new Set();
  }

  #addGap(first: number, size: number): void {
    // A gap does not go from a chunk into another one.
    const before = first % this.chunkGrains === 0 ? undefined : this.#gapFirsts.get(first);
    const end = first + size;
    if (before !== undefined) size += this.#removeGap(before);
    if (end % this.chunkGrains !== 0 && this.#gapSizes.has(end)) size += this.#removeGap(end);
    const from = before ?? first;
    this.#gapsOf(size).add(from);
    this.#gapSizes.set(from, size);
    this.#gapFirsts.set(from + size, from);
  }

  #removeGap(first: number): number {
    const size = this.#gapSizes.get(first) ?? 0;
    this.#gapsOf(size).delete(first);
    this.#gapSizes.delete(first);
    this.#gapFirsts.delete(first + size);
    return size;
  }
}
