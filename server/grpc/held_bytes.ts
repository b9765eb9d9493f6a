/**
 * The bytes that the calls of all connections hold: messages that came in part, and what came during a pause.
 *
 * One call at a time goes first: it has a reserve of its own, in which the largest message has room. All others share what is left. When
 * that is too little, the call that holds most, of the connection that holds most, goes first. If it can't, or another one does already, it
 * gives way. So:
 * - Messages always come in, however many calls hold bytes: nothing but its own client holds up the call that goes first, and after its
 *   message another one follows. A client that brings its message too slowly ends its turn (`Holder.tick`). It is no promise to each client:
 *   a few that stall within the largest messages may take many turns, one after the other.
 * - Of n connections that hold bytes, one that holds at most the n-th part of the shared bytes never gives way, whatever the others do: what
 *   all hold is more than the whole then, so the largest holds more than the n-th part. One connection alone may hold all.
 *
 * Invariants: 1. `count` is the sum of what all holders hold. A share's count is that of its holders, without the one that goes first.
 * 2. `count` is at most `max`. After each `take()` the one that goes first holds at most `reserve`, and the others `max - reserve`. 3. Shares
 * and holders that hold nothing are in no set.
 *
 * Cost: a walk over the connections and calls that hold bytes, where somebody must go first or give way; else nothing to speak of.
 *
 * @module
 */

/** A call that holds bytes. */
export interface Holder {
  /** How many; for its share to change only. */
  heldBytes: number;
  /** Whether it holds a message that came in part, has room in the reserve, and waits for its client alone. */
  readonly canGoFirst: boolean;
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
  /** So many of them are for the call that goes first. */
  readonly reserve: number;
  /** The call that goes first; for shares only, as what follows. */
  first: Holder | undefined;
  /** Those that hold bytes. */
  readonly shares: Set<HeldShare> = new Set();

  /** Nothing is held yet. */
  constructor(max: number = 1 << 30, reserve: number = max / 2) {
    this.max = max;
    this.reserve = reserve;
  }
}

/** What the calls of one connection hold. */
export class HeldShare {
  /** The calls that hold bytes. */
  readonly holders: Set<Holder> = new Set();
  readonly #all: HeldBytes;
  /** Without the call that goes first. */
  #count = 0;

  /** Nothing is held yet. */
  constructor(all: HeldBytes) {
    this.#all = all;
  }

  /** Bytes of the call that goes first: at most so many. */
  get reserve(): number {
    return this.#all.reserve;
  }

  /** Whether a call goes first. */
  isFirst(holder: Holder): boolean {
    return this.#all.first === holder;
  }

  /** Counts more bytes for a call. False: the call itself had to give way, and holds nothing. */
  take(holder: Holder, count: number): boolean {
    const all = this.#all;
    all.count += count;
    holder.heldBytes += count;
    if (all.first !== holder) this.#count += count;
    else if (holder.heldBytes > all.reserve) this.stepBack(holder);
    all.shares.add(this);
    this.holders.add(holder);
    while (all.count - (all.first?.heldBytes ?? 0) > all.max - all.reserve) {
      const share = largest(all.shares, (each) => each.#count) ?? this;
      const most = largest(share.holders, (each) => each === all.first ? -1 : each.heldBytes) ??
        holder;
      if (all.first === undefined && most.canGoFirst) {
        all.first = most;
        share.#count -= most.heldBytes;
      } else {
        most.giveWay();
        if (most === holder) return false;
      }
    }
    return true;
  }

  /** Counts fewer bytes for a call: its message is whole, or the call is over. If it went first, another one may. */
  give(holder: Holder, count: number): void {
    const all = this.#all;
    if (all.first === holder) this.stepBack(holder);
    all.count -= count;
    this.#count -= count;
    holder.heldBytes -= count;
    if (holder.heldBytes > 0) return;
    this.holders.delete(holder);
    if (this.holders.size === 0) all.shares.delete(this);
  }

  /** A call does not go first any more. What it holds is counted with the rest. */
  stepBack(holder: Holder): void {
    if (this.#all.first !== holder) return;
    this.#all.first = undefined;
    this.#count += holder.heldBytes;
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
