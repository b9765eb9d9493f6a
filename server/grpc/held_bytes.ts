/**
 * The bytes that the calls of all connections hold: messages that came in part, and what came during a pause.
 *
 * When they are too many, somebody gives way: the call that holds most, of the connection that holds most. So of n connections that hold
 * bytes, one that holds at most the n-th part of the whole never gives way, whatever the others do: what all hold is more than the whole
 * then, so the largest holds more than the n-th part. One connection alone may hold all.
 *
 * Invariants: 1. `count` is the sum of all shares, and a share's that of its holders; after each call it is at most `max`. 2. Shares and
 * holders that hold nothing are in no set.
 *
 * Cost: a walk over the connections and calls that hold bytes, where somebody must give way; else nothing to speak of.
 *
 * @module
 */

/** A call that holds bytes. */
export interface Holder {
  /** How many; for its share to change only. */
  heldBytes: number;
  /** Ends the call, and gives back all that it holds. */
  giveWay(): void;
  /** Called every so many milliseconds while it holds bytes. */
  tick(ms: number): void;
}

/** Bytes that several connections hold together. */
export class HeldBytes {
  /** Bytes that are held now. */
  count = 0;
  /** At most so many. */
  readonly max: number;
  /** Those that hold bytes; for shares only. */
  readonly shares: Set<HeldShare> = new Set();

  /** Nothing is held yet. */
  constructor(max: number = 1 << 30) {
    this.max = max;
  }
}

/** What the calls of one connection hold. */
export class HeldShare {
  /** The calls that hold bytes. */
  readonly holders: Set<Holder> = new Set();
  readonly #all: HeldBytes;
  #count = 0;

  /** Nothing is held yet. */
  constructor(all: HeldBytes) {
    this.#all = all;
  }

  /** Bytes that all connections together may hold. */
  get max(): number {
    return this.#all.max;
  }

  /** Counts more bytes for a call. False: the call itself had to give way, and holds nothing. */
  take(holder: Holder, count: number): boolean {
    const all = this.#all;
    all.count += count;
    this.#count += count;
    holder.heldBytes += count;
    all.shares.add(this);
    this.holders.add(holder);
    while (all.count > all.max) {
      const share = largest(all.shares, (each) => each.#count) ?? this;
      const last = largest(share.holders, ({ heldBytes }) => heldBytes) ?? holder;
      last.giveWay();
      if (last === holder) return false;
    }
    return true;
  }

  /** Counts fewer bytes for a call. */
  give(holder: Holder, count: number): void {
    this.#all.count -= count;
    this.#count -= count;
    holder.heldBytes -= count;
    if (holder.heldBytes === 0) this.holders.delete(holder);
    if (this.#count === 0) this.#all.shares.delete(this);
  }
}

function largest<T>(all: Iterable<T>, sizeOf: (one: T) => number): T | undefined {
  let found: T | undefined;
  let size = -1;
  for (const one of all) {
    if (sizeOf(one) <= size) continue;
    found = one;
    size = sizeOf(one);
  }
  return found;
}
