/**
 * Which shard a writer writes to. It takes one at first, and another one when that one dies or has many more writers than others.
 *
 * A writer hears the heartbeats of its own shard only. It hears those of all for {@link LISTEN_MS} when it must choose, and every few seconds to compare. Each
 * writer decides by itself: it compares its shard with one other at random, and goes by half the chance that would make both equal. So many that compare at the
 * same time do not all go, and each writer moves seldom.
 *
 * @module
 */

import type { Member, Members } from "./_members.ts";

/** A little longer than from one heartbeat to the next. */
const LISTEN_MS = 300;

/** What this needs of a writer. */
export interface ShardChoiceOwner {
  /** The shard that it writes to. */
  shard(): string;
  /** This one, and those that have not confirmed all. */
  sendsTo(): readonly string[];
  /** Whether no episode is open that has records. */
  isBetweenEpisodes(): boolean;
  /** Whether a shard has the same columns. */
  fits(member: Member): boolean;
  /** Goes on with this shard. */
  move(name: string): void;
}

/** Of two at random, the one with fewer writers: so many actors that begin at once do not all take the same one. */
export function fewerWriters(members: readonly Member[]): Member | undefined {
  const at = Math.floor(Math.random() * members.length);
  const next = at + 1 + Math.floor(Math.random() * (members.length - 1));
  const [a, b] = [members[at], members[next % members.length]];
  // They are in random order, so of two equal ones each may be the first.
  return (a?.beat.writers ?? 0) <= (b?.beat.writers ?? 0) ? a : b;
}

/** Whether a writer should move from a shard with so many writers to one with so many. Smaller differences are what chance makes of equal shares. */
export function isWorth(from: number, to: number): boolean {
  return from - to >= Math.max(2, to / 4);
}

/** Chooses the shard of one writer, whenever {@linkcode ShardChoice.look} is called. */
export class ShardChoice {
  readonly #members: Members;
  readonly #owner: ShardChoiceOwner;
  readonly #stayMs: number;
  /** Since when all heartbeats are heard; undefined if only a few are. */
  #listensSince: number | undefined;
  #compareAt: number;
  #stayUntil = 0;
  /** Where it goes once its episodes have ended, and when it goes at the latest. */
  #goal: { readonly name: string; readonly until: number } | undefined;

  /** @param stayMs How long it stays at least where it has gone of its own accord. */
  constructor(members: Members, owner: ShardChoiceOwner, stayMs: number) {
    this.#members = members;
    this.#owner = owner;
    this.#stayMs = stayMs;
    this.#compareAt = this.#next();
  }

  /** When shards are compared the next time. Each writer has times of its own. */
  #next(): number {
    return performance.now() + this.#stayMs / 6 * (0.5 + Math.random());
  }

  /** Does what is to be done now. */
  look(): void {
    const now = performance.now();
    const own = this.#own;
    if (!this.#isUsable(own)) {
      this.#goal = undefined;
      const hasListened = this.#hasListened(now);
      const other = fewerWriters(this.#others());
      // Where the network was away, its own shard comes back with the others, and a little later than the first.
      if (other === undefined) this.#listensSince = now;
      else if (hasListened) this.#go(other.name);
      return;
    }
    if (this.#goal !== undefined) return this.#approach(own, now);
    if (now >= Math.max(this.#compareAt, this.#stayUntil)) {
      if (this.#hasListened(now)) this.#compare(own, now);
    } else if (this.#listensSince !== undefined) this.#rest(); // its shard was away, and is back
  }

  /** Goes to its goal, if an episode has just ended and no other is open. */
  ended(): void {
    const own = this.#own;
    if (this.#goal !== undefined && this.#isUsable(own)) this.#approach(own, performance.now());
  }

  /** A shard that was left has confirmed all. */
  left(): void {
    if (this.#listensSince === undefined) this.#rest();
  }

  /** Hears its own shards only. */
  #rest(): void {
    this.#listensSince = undefined;
    const goal = this.#goal === undefined ? [] : [this.#goal.name];
    this.#members.follow([...this.#owner.sendsTo(), ...goal]);
  }

  get #own(): Member | undefined {
    return this.#members.all.get(this.#owner.shard());
  }

  /** Whether a shard is there, and has the same columns: one that comes back may have others. */
  #isUsable(member: Member | undefined): member is Member {
    return member?.isAlive === true && this.#owner.fits(member);
  }

  #others(): Member[] {
    return this.#members.alive.filter((member) =>
      member.name !== this.#owner.shard() && this.#owner.fits(member)
    );
  }

  /** Whether it has heard all for long enough; it begins to, if it does not yet. */
  #hasListened(now: number): boolean {
    if (this.#listensSince === undefined) {
      this.#listensSince = now;
      this.#members.follow();
    }
    return now - this.#listensSince >= LISTEN_MS;
  }

  #compare(own: Member, now: number): void {
    this.#compareAt = this.#next();
    const others = this.#others();
    const other = others[Math.floor(Math.random() * others.length)];
    // Who still waits for a shard that lives stays, so that few hold its records. One that is dead may never come back.
    const isWaiting = this.#owner.sendsTo().some((name) =>
      name !== own.name && this.#isUsable(this.#members.all.get(name))
    );
    if (other !== undefined && !isWaiting) {
      const [from, to] = [own.beat.writers, other.beat.writers];
      const isChosen = isWorth(from, to) && Math.random() < (from - to) / (2 * from);
      if (isChosen) this.#goal = { name: other.name, until: now + this.#stayMs / 6 };
    }
    this.#rest();
  }

  /** Goes to its goal, if it still is one and nothing is in the way. */
  #approach(own: Member, now: number): void {
    const { name, until } = this.#goal as { name: string; until: number };
    const goal = this.#members.all.get(name);
    const isStill = this.#isUsable(goal) && isWorth(own.beat.writers, goal.beat.writers);
    if (isStill && now < until && !this.#owner.isBetweenEpisodes()) return;
    this.#goal = undefined;
    if (!isStill) return this.#rest();
    this.#stayUntil = now + this.#stayMs;
    this.#go(name);
  }

  #go(name: string): void {
    this.#owner.move(name);
    this.#rest();
  }
}
