/**
 * The bytes that the calls of all connections hold: messages that came in part, and what came during a pause.
 *
 * All calls together hold at most `max`. Where they would hold more, the largest call of the connection that holds most gives way. The oldest
 * message that waits for its client alone never does, so one message after another always comes in whole. A client that brings it too slowly
 * ends by its own ticks. What the oldest one does not take, n connections share: one that holds at most the n-th part of it never
 * gives way. One connection alone may hold all.
 *
 * There is no queue: who gave way is the youngest when it comes again. Clients that stall on purpose, and come again at once, can keep
 * another client's huge messages out.
 *
 * Invariants: 1. `count` is the sum of what all holders hold, and at most `max` after each `take()`. 2. Who holds nothing is not among them.
 *
 * Cost: a walk over all calls that hold bytes, where one must give way; else nothing to speak of.
 *
 * @module
 */

/** A call that holds bytes. */
export interface Holder {
  /** Its connection. */
  readonly connection: object;
  /** How many; to be changed here only. */
  heldBytes: number;
  /** When its message began, as a number that grows; to be changed here only. */
  heldSince: number;
  /** Whether it waits for its client alone: the server does not hold it back. */
  readonly waitsForClient: boolean;
  /** Ends the call, and gives back all that it holds. */
  giveWay(): void;
}

/** Bytes that several connections hold together. */
export class HeldBytes {
  /** Bytes that are held now. */
  count = 0;
  /** At most so many. */
  readonly max: number;
  /** The calls that hold bytes. */
  readonly holders: Set<Holder> = new Set();
  /** Messages that began so far. */
  #begun = 0;

  /** Nothing is held yet. */
  constructor(max: number = 1 << 30) {
    this.max = max;
  }

  /** Whether more than half of the room is taken, so that slow messages must not stay for long. */
  get isCrowded(): boolean {
    return this.count > this.max / 2;
  }

  /** Counts more bytes for a call. False: the call itself had to give way, and holds nothing. */
  take(holder: Holder, count: number): boolean {
    if (holder.heldBytes === 0) {
      holder.heldSince = this.#begun++;
      this.holders.add(holder);
    }
    this.count += count;
    holder.heldBytes += count;
    while (this.count > this.max) (this.#whoGivesWay() ?? holder).giveWay();
    return holder.heldBytes > 0;
  }

  /** Counts fewer bytes for a call: it is over, or its first messages were handed on. */
  give(holder: Holder, count: number): void {
    this.count -= count;
    holder.heldBytes -= count;
    // What it still holds is a later message.
    holder.heldSince = this.#begun++;
    if (holder.heldBytes === 0) this.holders.delete(holder);
  }

  /** The largest call of the connection that holds most, without the oldest one that waits for its client alone; undefined if no other call holds bytes. */
  #whoGivesWay(): Holder | undefined {
    let oldest: Holder | undefined;
    for (const each of this.holders) {
      if (each.waitsForClient && each.heldSince < (oldest?.heldSince ?? Infinity)) oldest = each;
    }
    const others = [...this.holders].filter((each) => each !== oldest);
    const sums = new Map<object, number>();
    for (const { connection, heldBytes } of others) {
      sums.set(connection, (sums.get(connection) ?? 0) + heldBytes);
    }
    const most = Math.max(...sums.values());
    let found: Holder | undefined;
    for (const each of others) {
      if (sums.get(each.connection) !== most) continue;
      if (each.heldBytes > (found?.heldBytes ?? 0)) found = each;
    }
    return found;
  }
}
