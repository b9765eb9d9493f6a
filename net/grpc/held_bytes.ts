/**
 * The bytes that the calls of all connections hold: messages that came in part, and what came during a pause.
 *
 * All calls together hold at most `max`. Where they would hold more, the largest call of the connection that holds most gives way. The oldest
 * message that waits for its client alone never does, so one message after another always comes in whole. A client that brings it too slowly
 * is ended by `GrpcConnection.tick`. What the oldest one does not take, n connections share: one that holds at most the n-th part of it never
 * gives way. One connection alone may hold all.
 *
 * There is no queue: who gave way is the youngest when it comes again. Clients that stall on purpose, and come again at once, can keep
 * another client's huge messages out.
 *
 * Invariants: 1. `count` is the sum of what all holders hold, and at most `max` after each `take()`. 2. Shares and holders that hold nothing are
 * in no set.
 *
 * Cost: a walk over all calls that hold bytes, where one must give way; else nothing to speak of.
 *
 * @module
 */

/** A call that holds bytes. */
export interface Holder {
  /** How many; for its share to change only. */
  heldBytes: number;
  /** When its message began, as a number that grows; for its share to change only. */
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
  /** Those that hold bytes; for shares only, as what follows. */
  readonly shares: Set<{ readonly holders: ReadonlySet<Holder> }> = new Set();
  /** Messages that began so far. */
  begun = 0;

  /** Nothing is held yet. */
  constructor(max: number = 1 << 30) {
    this.max = max;
  }

  /** Whether more than half of the room is taken, so that slow messages must not stay for long. */
  get isCrowded(): boolean {
    return this.count > this.max / 2;
  }
}

/** What the calls of one connection hold. */
export class HeldShare<Call extends Holder = Holder> {
  /** The calls that hold bytes. */
  readonly holders: Set<Call> = new Set();
  readonly #all: HeldBytes;

  /** Nothing is held yet. */
  constructor(all: HeldBytes) {
    this.#all = all;
  }

  /** See {@linkcode HeldBytes.isCrowded}. */
  get isCrowded(): boolean {
    return this.#all.isCrowded;
  }

  /** Counts more bytes for a call. False: the call itself had to give way, and holds nothing. */
  take(holder: Call, count: number): boolean {
    const all = this.#all;
    if (holder.heldBytes === 0) holder.heldSince = all.begun++;
    all.count += count;
    holder.heldBytes += count;
    all.shares.add(this);
    this.holders.add(holder);
    while (all.count > all.max) (whoGivesWay(all) ?? holder).giveWay();
    return holder.heldBytes > 0;
  }

  /** Counts fewer bytes for a call: it is over, or its first messages were handed on. */
  give(holder: Call, count: number): void {
    const all = this.#all;
    all.count -= count;
    holder.heldBytes -= count;
    // What it still holds is a later message.
    holder.heldSince = all.begun++;
    if (holder.heldBytes > 0) return;
    this.holders.delete(holder);
    if (this.holders.size === 0) all.shares.delete(this);
  }
}

/** The largest call of the connection that holds most, without the oldest one that waits for its client alone; undefined if no other call holds bytes. */
function whoGivesWay({ shares }: HeldBytes): Holder | undefined {
  let oldest: Holder | undefined;
  for (const { holders } of shares) {
    for (const each of holders) {
      if (each.waitsForClient && each.heldSince < (oldest?.heldSince ?? Infinity)) oldest = each;
    }
  }
  let [found, most] = [undefined as Holder | undefined, 0];
  for (const { holders } of shares) {
    const others = [...holders].filter((each) => each !== oldest);
    const sum = others.reduce((bytes, each) => bytes + each.heldBytes, 0);
    if (sum <= most) continue;
    most = sum;
    found = others.reduce((one, other) => other.heldBytes > one.heldBytes ? other : one);
  }
  return found;
}
