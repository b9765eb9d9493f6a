/**
 * Which shards there are: found by a question to all, kept by their heartbeats.
 *
 * A shard that says nothing for {@link DEAD_MS} counts as dead. Only this end's clock decides, so clocks of machines need not agree. Who needs only some shards hears only
 * those: with many actors and shards, most messages would be heartbeats.
 *
 * @module
 */

import { reasonOf } from "../base/errors.ts";
import type { Connection, ConnectionSubscription } from "./connection.ts";
import { type Announcement, type Beat, readAnnouncement, readBeat } from "./_announcement.ts";
import { randomId, refused, type Subjects } from "./_message_bytes.ts";

/** Three heartbeats and a half. */
export const DEAD_MS = 900;

const LOOK_MS = 50;
/** All are asked again so often, until each shard that beats has announced itself. */
const FIND_MS = 500;

/** A shard, as it is known here. */
export interface Member {
  readonly name: string;
  /** Its announcement, of the process that it has now. */
  announcement: Announcement;
  /** Its latest heartbeat. */
  beat: Beat;
  /** Whether it was heard of lately. Of those that nobody listens to, this is not known, and false. */
  isAlive: boolean;
  /** When it was heard of last. */
  heard: number;
}

/** Who hears of changes. */
export interface MembersEvents {
  /** A shard is there: for the first time, or again. `isNew`: as another process. */
  readonly came: (member: Member, isNew: boolean) => void;
  /** A shard is gone. */
  readonly left: (member: Member) => void;
  /** The server refuses a subscription, as this user may not have it. */
  readonly refused: (error: Error) => void;
  /** A heartbeat came. */
  readonly beat?: (member: Member) => void;
}

/** The shards of one prefix. */
export class Members {
  readonly all: Map<string, Member> = new Map();
  /** Messages that were not what they must be, and what was wrong with the last one. */
  damaged = 0;
  lastDamage: string | undefined;
  readonly #connection: Connection;
  readonly #subjects: Subjects;
  readonly #events: MembersEvents;
  readonly #inbox: string;
  readonly #answers: ConnectionSubscription;
  /** Whose heartbeats are heard: by name, or those of `*`. */
  readonly #beats = new Map<string, ConnectionSubscription>();
  readonly #timer: ReturnType<typeof setInterval>;
  /** When a look was made last: a program that stood still has heard nobody, and that is no sign of death. */
  #looked = performance.now();
  #asked = -Infinity;
  #isAsking = true;

  /** Begins to look for shards, and hears of all. */
  constructor(connection: Connection, subjects: Subjects, events: MembersEvents) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#events = events;
    this.#inbox = subjects.inbox(randomId());
    this.#answers = this.#listen(this.#inbox, (data) => this.#announced(readAnnouncement(data)));
    this.follow();
    this.#ask();
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** What to say to who waited for shards in vain. */
  get why(): string {
    return this.lastDamage === undefined ? "" : `: ${this.lastDamage}`;
  }

  /** Those that are alive. */
  get alive(): Member[] {
    return [...this.all.values()].filter(({ isAlive }) => isAlive);
  }

  /** Hears only these shards from now on; all, if none are named. Nothing is known any more of the others' lives. */
  follow(names?: Iterable<string>): void {
    const wanted = new Set(names ?? ["*"]);
    for (const name of wanted) {
      if (this.#beats.has(name)) continue;
      const take = (data: Uint8Array, subject: string): void => {
        const beat = readBeat(data);
        if (subject !== this.#subjects.beat(beat.name)) throw refused("it has another's name");
        this.#heard(beat);
      };
      try {
        this.#beats.set(name, this.#listen(this.#subjects.beat(name), take));
      } catch {
        // The connection has ended.
      }
    }
    for (const [name, subscription] of this.#beats) {
      if (wanted.has(name)) continue;
      this.#beats.delete(name);
      leave(subscription);
    }
    if (names === undefined) return;
    for (const member of this.all.values()) if (!wanted.has(member.name)) member.isAlive = false;
  }

  /** A shard has said a part of something long. For so long, the network was busy with it, and nothing could be heard of others. */
  hear(name: string, busyMs: number): void {
    const now = performance.now();
    for (const member of this.all.values()) {
      member.heard = member.name === name ? now : Math.min(now, member.heard + busyMs);
    }
  }

  /** Looks no more. */
  end(): void {
    clearInterval(this.#timer);
    for (const subscription of [this.#answers, ...this.#beats.values()]) leave(subscription);
  }

  #listen(
    subject: string,
    take: (data: Uint8Array, subject: string) => void,
  ): ConnectionSubscription {
    return this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return this.#events.refused(error);
        try {
          take(message.data, message.subject);
        } catch (error) {
          this.damaged++;
          this.lastDamage = reasonOf(error);
        }
      },
    });
  }

  #ask(): void {
    this.#asked = performance.now();
    this.#isAsking = false;
    try {
      this.#connection.publish(this.#subjects.find, undefined, { reply: this.#inbox });
    } catch {
      this.#isAsking = true;
    }
  }

  #announced(announcement: Announcement): void {
    const { name, incarnation } = announcement;
    const known = this.all.get(name);
    const heard = performance.now();
    if (known === undefined) {
      const member = { name, announcement, beat: announcement, isAlive: true, heard };
      this.all.set(name, member);
      return this.#events.came(member, true);
    }
    const isNew = known.announcement.incarnation !== incarnation;
    const wasAlive = known.isAlive;
    Object.assign(known, { announcement, beat: announcement, isAlive: true, heard });
    if (isNew || !wasAlive) this.#events.came(known, isNew);
  }

  #heard(beat: Beat): void {
    const member = this.all.get(beat.name);
    if (member?.announcement.incarnation !== beat.incarnation) {
      // Somebody new, or a shard that has begun anew: its announcement says what it is now.
      this.#isAsking = true;
      return;
    }
    member.beat = beat;
    member.heard = performance.now();
    if (beat.isLast) return this.#left(member);
    if (!member.isAlive) {
      member.isAlive = true;
      this.#events.came(member, false);
    }
    this.#events.beat?.(member);
  }

  #left(member: Member): void {
    if (!member.isAlive) return;
    member.isAlive = false;
    this.#events.left(member);
  }

  #look(): void {
    const now = performance.now();
    const stoodStill = now - this.#looked - LOOK_MS;
    this.#looked = now;
    for (const member of this.all.values()) {
      // What waits in the socket was not read meanwhile.
      if (stoodStill > LOOK_MS) member.heard = Math.min(now, member.heard + stoodStill);
      if (now - member.heard > DEAD_MS) this.#left(member);
    }
    if ((this.#isAsking || this.all.size === 0) && now - this.#asked > FIND_MS) this.#ask();
  }
}

function leave(subscription: ConnectionSubscription): void {
  try {
    subscription.unsubscribe();
  } catch {
    // The connection has ended.
  }
}
