/**
 * A replay without a kernel: plain TypeScript, typed arrays in a ring, and V8 makes it fast. It is the baseline of `deno task bench` and
 * `bench:paper`, and it is meant to be as good as possible. It has only numbers in typed arrays, no object for a record, and no closure
 * in a loop. The state, action and reward of a record stand side by side, so a random pick touches one run of memory. With separate
 * columns it took up to 1.8 times as long.
 *
 * It does less than the library. Whole episodes go oldest first. It has one pick policy, no checks and no snapshots.
 *
 * @module
 */

/** The options of a plain replay. */
export interface PlainOptions {
  /** How many records it holds. With one more, the oldest episode goes. */
  readonly capacity: number;
  /** How many numbers a state has. */
  readonly stateSize: number;
  /** How many numbers an action has. */
  readonly actionSize: number;
  /** How many records a pick has. */
  readonly pickLength: number;
  /** How many records an episode has at least. It decides how many rows are kept for final states. */
  readonly episodeLengthMin: number;
  /** Whether picks have priorities. */
  readonly prioritized?: boolean;
}

/** Picks, side by side. */
export interface PlainBatch {
  readonly state: Float32Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
  readonly nextState: Float32Array;
  /** Which picks these are. Their priorities are set by these places. */
  readonly pick: Int32Array;
  readonly importanceWeight: Float32Array;
}

/** A replay in plain TypeScript. */
export class PlainReplay {
  readonly #capacity: number;
  readonly #stateSize: number;
  readonly #actionSize: number;
  readonly #pickLength: number;
  readonly #rowCount: number;
  // How many numbers a row has: state, action, reward.
  readonly #stride: number;
  readonly #rows: Float32Array;
  // The rows at which picks begin, in a ring, oldest first.
  readonly #picks: Int32Array;
  #pickHead = 0;
  #pickCount = 0;
  // How many records each episode in the ring has, oldest first.
  readonly #lengths: number[] = [];
  #oldest = 0;
  #recordCount = 0;
  #head = 0;
  // Records of the episode that is being recorded.
  #position = 0;
  // Sums of weights in heap order, the leaves by place in #picks.
  readonly #tree: Float64Array | undefined;
  readonly #leafCount: number;
  #weightMax = 1;
  #seed = 0x9e3779b9;

  constructor(options: PlainOptions) {
    const { capacity, stateSize, actionSize, pickLength, episodeLengthMin, prioritized } = options;
    this.#capacity = capacity;
    this.#stateSize = stateSize;
    this.#actionSize = actionSize;
    this.#pickLength = pickLength;
    this.#rowCount = capacity + Math.ceil(capacity / episodeLengthMin) + pickLength + 2;
    // A pick that begins near the end of the ring goes on behind it. The first rows stand there a second time.
    const rows = this.#rowCount + pickLength + 1;
    this.#stride = stateSize + actionSize + 1;
    this.#rows = new Float32Array(rows * this.#stride);
    this.#picks = new Int32Array(capacity);
    this.#leafCount = 2 ** Math.ceil(Math.log2(Math.max(2, capacity)));
    if (prioritized === true) this.#tree = new Float64Array(2 * this.#leafCount);
  }

  /** How many picks may be drawn. */
  get pickCount(): number {
    return this.#pickCount;
  }

  /** Room for a batch. */
  newBatch(size: number): PlainBatch {
    const rows = size * this.#pickLength;
    return {
      state: new Float32Array(rows * this.#stateSize),
      action: new Float32Array(rows * this.#actionSize),
      reward: new Float32Array(rows),
      nextState: new Float32Array(rows * this.#stateSize),
      pick: new Int32Array(size),
      importanceWeight: new Float32Array(size),
    };
  }

  /** Records one step. `finalState` ends the episode. */
  record(
    state: Float32Array,
    action: Float32Array,
    reward: number,
    finalState?: Float32Array,
  ): void {
    if (this.#recordCount === this.#capacity) this.#forgetOldest();
    const row = this.#head;
    this.#write(row, state);
    const rows = this.#rows;
    let to = row * this.#stride + this.#stateSize;
    for (let k = 0; k < this.#actionSize; k++) rows[to++] = action[k] as number;
    rows[to] = reward;
    this.#position++;
    if (row <= this.#pickLength) this.#mirror(row);
    this.#recordCount++;
    this.#head = row + 1 === this.#rowCount ? 0 : row + 1;
    // This is the pick whose last next state is the state of this record.
    if (this.#position > this.#pickLength) this.#push(row - this.#pickLength);
    if (finalState === undefined) return;
    const last = this.#head;
    this.#write(last, finalState);
    if (last <= this.#pickLength) this.#mirror(last);
    if (this.#position >= this.#pickLength) this.#push(last - this.#pickLength);
    this.#head = last + 1 === this.#rowCount ? 0 : last + 1;
    this.#lengths.push(this.#position);
    this.#position = 0;
  }

  #write(row: number, state: Float32Array): void {
    const to = row * this.#stride;
    const rows = this.#rows;
    for (let k = 0; k < this.#stateSize; k++) rows[to + k] = state[k] as number;
  }

  /** Copies one of the ring's first rows behind its end. */
  #mirror(row: number): void {
    const stride = this.#stride;
    this.#rows.copyWithin((this.#rowCount + row) * stride, row * stride, (row + 1) * stride);
  }

  #push(row: number): void {
    let place = this.#pickHead + this.#pickCount++;
    if (place >= this.#capacity) place -= this.#capacity;
    this.#picks[place] = row < 0 ? row + this.#rowCount : row;
    if (this.#tree !== undefined) this.#setWeight(this.#tree, place, this.#weightMax);
  }

  #forgetOldest(): void {
    const length = this.#lengths[this.#oldest++] ?? 0;
    const picks = Math.max(0, length - this.#pickLength + 1);
    for (let k = 0; k < picks; k++) {
      if (this.#tree !== undefined) this.#setWeight(this.#tree, this.#pickHead, 0);
      this.#pickHead = this.#pickHead + 1 === this.#capacity ? 0 : this.#pickHead + 1;
    }
    this.#pickCount -= picks;
    this.#recordCount -= length;
    if (this.#oldest > 4096) this.#lengths.splice(0, this.#oldest), this.#oldest = 0;
  }

  #setWeight(tree: Float64Array, place: number, weight: number): void {
    let node = this.#leafCount + place;
    tree[node] = weight;
    while (node > 1) {
      node >>= 1;
      tree[node] = (tree[2 * node] as number) + (tree[2 * node + 1] as number);
    }
  }

  /** xorshift32, as Math.random() takes twice as long. */
  #random(): number {
    let x = this.#seed;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#seed = x;
    return (x >>> 0) / 2 ** 32;
  }

  /** Draws picks uniformly. */
  sample(batch: PlainBatch): void {
    const count = batch.pick.length;
    const total = this.#pickCount;
    const capacity = this.#capacity;
    const head = this.#pickHead;
    for (let k = 0; k < count; k++) {
      const place = head + Math.floor(this.#random() * total);
      batch.pick[k] = place >= capacity ? place - capacity : place;
    }
    batch.importanceWeight.fill(1);
    this.gather(batch);
  }

  /** Draws picks in proportion to their weights, stratified. */
  samplePrioritized(batch: PlainBatch, beta: number): void {
    const tree = this.#tree as Float64Array;
    const count = batch.pick.length;
    const total = tree[1] as number;
    const leaves = this.#leafCount;
    let weightMax = 0;
    for (let k = 0; k < count; k++) {
      let rest = (k + this.#random()) / count * total;
      let node = 1;
      while (node < leaves) {
        node *= 2;
        const left = tree[node] as number;
        if (rest >= left && (tree[node + 1] as number) > 0) {
          rest -= left;
          node++;
        }
      }
      batch.pick[k] = node - leaves;
      const weight = ((tree[node] as number) / total * this.#pickCount) ** -beta;
      batch.importanceWeight[k] = weight;
      if (weight > weightMax) weightMax = weight;
    }
    for (let k = 0; k < count; k++) {
      batch.importanceWeight[k] = (batch.importanceWeight[k] as number) / weightMax;
    }
    this.gather(batch);
  }

  /** Sets the priorities of a batch's picks. */
  setPriority(batch: PlainBatch, priority: Float32Array, alpha: number): void {
    const tree = this.#tree as Float64Array;
    for (let k = 0; k < priority.length; k++) {
      const weight = (priority[k] as number) ** alpha;
      if (weight > this.#weightMax) this.#weightMax = weight;
      this.#setWeight(tree, batch.pick[k] as number, weight);
    }
  }

  /** Fills a batch with the picks at the places in `batch.pick`. */
  gather(batch: PlainBatch): void {
    const { state, action, reward, nextState, pick } = batch;
    const [length, stride, states, actions] = [
      this.#pickLength,
      this.#stride,
      this.#stateSize,
      this.#actionSize,
    ];
    const [rows, picks] = [this.#rows, this.#picks];
    let toRow = 0;
    for (let k = 0; k < pick.length; k++) {
      let from = (picks[pick[k] as number] as number) * stride;
      for (let step = 0; step < length; step++, toRow++, from += stride) {
        const toState = toRow * states;
        for (let at = 0; at < states; at++) state[toState + at] = rows[from + at] as number;
        for (let at = 0; at < states; at++) {
          nextState[toState + at] = rows[from + stride + at] as number;
        }
        const toAction = toRow * actions;
        for (let at = 0; at < actions; at++) {
          action[toAction + at] = rows[from + states + at] as number;
        }
        reward[toRow] = rows[from + states + actions] as number;
      }
    }
  }

  /** The place among all picks, oldest first, to what `batch.pick` has. */
  pickAt(order: number): number {
    return (this.#pickHead + order) % this.#capacity;
  }
}
