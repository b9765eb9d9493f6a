/**
 * The bytes that the calls of all connections hold: messages that came in part, and what came during a pause.
 *
 * One call at a time goes first: it has a reserve of its own, in which the largest message has room. All others share what is left. When
 * that is too little, one call goes first: the largest of those that make room by it. If none does, or another one goes first already, the
 * call that holds most, of the connection that holds most, gives way. So:
 * - Messages always come in, however many calls hold bytes: nothing but its own client holds up the call that goes first, and after its
 *   message another one follows. A client that brings its message too slowly ends its turn (`Holder.tick`).
 * - A connection whose call gave way, though it could have gone first, waits in a line for its turn. While somebody waits, only the first of
 *   the line goes first, as soon as its client brings that message again. So no connection has two turns while another one waits, whoever
 *   stalls. Who leaves the reserve unused for `absentMsMax` loses its place.
 * - Of n connections that hold bytes, one that holds at most the n-th part of the shared bytes never gives way, whatever the others do: what
 *   all hold is more than the whole then, so the largest holds more than the n-th part. One connection alone may hold all.
 *
 * Invariants: 1. `count` is the sum of what all holders hold. A share's count is that of its holders, without the one that goes first.
 * 2. `count` is at most `max`. After each `take()` the one that goes first holds at most `reserve`, and the others `max - reserve`. 3. Shares
 * and holders that hold nothing are in no set; a share that waits in the line may hold nothing. 4. The call that goes first is of no
 * connection in the line, unless that connection came into it later.
 *
 * Cost: a walk over the connections and calls that hold bytes, where somebody must go first or give way; else nothing to speak of.
 *
 * @module
 */

/** A call that holds bytes. */
export interface Holder {
  /** How many; for its share to change only. */
  heldBytes: number;
  /** How many its message will have, as far as that is known. */
  readonly messageBytes: number;
  /** Whether it holds a message that came in part, has room in the reserve, and waits for its client alone. */
  readonly canGoFirst: boolean;
  /** Ends the call, and gives back all that it holds. */
  giveWay(): void;
  /** Called every so many milliseconds while it holds bytes. */
  tick(ms: number): void;
}

/** Milliseconds that a client has to come back to its place in the line, or to use its turn. The writers of Reverb and ours take one second at most. */
const absentMsMax = 5000;

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
  /** Those of which a call gave way, and that had no turn since, as they came. */
  readonly line: Set<HeldShare> = new Set();

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
  /** In the line: the largest part of a message that had to give way. */
  #missedBytes = 0;
  /** In the line: milliseconds in which its turn was not used, or in which it held nothing. */
  #absentMs = 0;

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
    if (this.#isNext && holder.messageBytes >= this.#missedBytes && holder.canGoFirst) {
      this.#goFirst(holder);
    }
    let isHeld = true;
    for (;;) {
      const excess = all.count - (all.first?.heldBytes ?? 0) - (all.max - all.reserve);
      if (excess <= 0) return isHeld;
      const next = all.first === undefined ? nextOf(all, excess) : undefined;
      if (next !== undefined) {
        next.share.#goFirst(next.holder);
        return isHeld;
      }
      const share = largest(all.shares, (each) => each.#count) ?? this;
      const most = largest(share.holders, (each) => each === all.first ? -1 : each.heldBytes) ??
        holder;
      if (most.canGoFirst) share.#waitInLine(Math.min(most.heldBytes, most.messageBytes));
      most.giveWay();
      if (most === holder) isHeld = false;
    }
  }

  /** Whether this connection has the next turn, and nobody has one now. */
  get #isNext(): boolean {
    const { first, line } = this.#all;
    return line.size > 0 && first === undefined && line.values().next().value === this;
  }

  #goFirst(holder: Holder): void {
    this.#all.first = holder;
    this.#count -= holder.heldBytes;
    this.leave();
  }

  /** A call of this connection gives way, which could have gone first. */
  #waitInLine(bytes: number): void {
    this.#all.line.add(this);
    this.#missedBytes = Math.max(this.#missedBytes, bytes);
    this.#absentMs = 0;
  }

  /** Leaves the line: the connection has its turn, or is over. */
  leave(): void {
    this.#all.line.delete(this);
    this.#missedBytes = 0;
  }

  /** To be called every so many milliseconds. */
  tick(ms: number): void {
    if (!this.#all.line.has(this)) return;
    if (this.holders.size > 0 && !this.#isNext) this.#absentMs = 0;
    else if ((this.#absentMs += ms) > absentMsMax) this.leave();
  }

  /** Counts fewer bytes for a call, whose messages are whole and were handed on. If it went first, another one may. */
  handOn(holder: Holder, count: number): void {
    this.give(holder, count);
    // It needs no turn any more.
    if (this.#missedBytes > 0 && count >= this.#missedBytes) this.leave();
  }

  /** Counts fewer bytes for a call that is over. If it went first, another one may. */
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

/** The call that makes room by going first: the largest one, of the connection whose turn it is if any waits; undefined if none can. */
function nextOf(
  { line, shares }: HeldBytes,
  excess: number,
): { readonly share: HeldShare; readonly holder: Holder } | undefined {
  let found: { readonly share: HeldShare; readonly holder: Holder } | undefined;
  const [next] = line;
  for (const share of next === undefined ? shares : [next]) {
    for (const holder of share.holders) {
      if (holder.heldBytes < excess || !holder.canGoFirst) continue;
      if (holder.heldBytes > (found?.holder.heldBytes ?? 0)) found = { share, holder };
    }
  }
  return found;
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
