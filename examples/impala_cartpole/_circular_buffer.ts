/**
 * IMPACT's circular buffer (Luo et al., "IMPACT: Importance Weighted Asynchronous Architectures with Clipped Target Networks", 2020): it
 * holds a few batches and gives them in turn. A batch that was used often enough is gone, and a new one takes its place.
 *
 * @module
 */

/** A buffer of batches, each of which is used `uses` times. */
export class CircularBuffer<Batch> {
  /** The batches in the order of their turns. */
  readonly #turns: { readonly batch: Batch; used: number }[] = [];
  readonly #size: number;
  readonly #uses: number;

  /**
   * @param size How many batches it holds.
   * @param uses How often each of them is used.
   */
  constructor(size: number, uses: number) {
    this.#size = size;
    this.#uses = uses;
  }

  /** Whether there is no room for another batch. */
  get isFull(): boolean {
    return this.#turns.length === this.#size;
  }

  /** Adds a batch. Its turn comes after those of all others. */
  push(batch: Batch): void {
    if (this.isFull) throw new RangeError(`the buffer is full: it holds ${this.#size} batches`);
    this.#turns.push({ batch, used: 0 });
  }

  /** The batch whose turn it is. After its last use the buffer has room for another one. */
  take(): Batch {
    const turn = this.#turns.shift();
    if (turn === undefined) throw new RangeError("the buffer is empty");
    if (++turn.used < this.#uses) this.#turns.push(turn);
    return turn.batch;
  }
}
