/**
 * A network in one process, with virtual time: the code of shards, actors and learners runs on it as it is, and the same seed gives the same run.
 *
 * Each peer has a link to a hub, as a client of NATS has one to its server. A link delays, loses, repeats or reorders messages, is slow, or is cut. A
 * peer dies between two events, or at one of its messages: from then on none of its timers goes off, and nothing that it sends arrives.
 *
 * While `run()` runs, timers, clocks and random numbers of this thread are those of the fabric. It runs one event, then all promises that follow
 * from it, then the next event. So a schedule takes as long as its code takes, and no longer. What takes real time, such as a disk, is
 * told by `outside()`.
 *
 * The file is long because it has all of a network: the clock, the peers, their links, and the order of events.
 *
 * Whatever a peer's event starts is the peer's own: the timers and connections too. What a test awaits of a peer, it awaits by `peer.run()`.
 */
import { setImmediate } from "node:timers";
import { HubConnection, type HubSubscription } from "./_hub_connection.ts";
import { Routes } from "./_routes.ts";
import { RandomStream } from "../../selectors/random_stream.ts";

/** How a link carries messages. Times are in virtual ms. */
export interface LinkOptions {
  /** The least and the most that a message takes, each way. */
  readonly delayMs?: readonly [number, number];
  /** How many bytes a ms go through, each way. */
  readonly bytesPerMs?: number;
  /** How likely a message is lost. NATS loses some only while a link breaks. */
  readonly loss?: number;
  /** How likely a message comes twice. NATS itself never does that. */
  readonly twice?: number;
  /** Whether a message may overtake another one. NATS keeps the order of a link. */
  readonly reorder?: boolean;
  /** Above so many bytes that wait for a peer, the hub drops all of them: NATS cuts such a slow consumer, which then connects anew. */
  readonly pendingMax?: number;
}

/** The options of a {@linkcode Fabric}. */
export interface FabricOptions extends LinkOptions {
  readonly seed: number;
  /** The largest payload; 1 MiB by default, as of NATS. */
  readonly payloadMax?: number;
  /** Called with each event that the trace has, for who debugs a seed. */
  readonly log?: (line: string) => void;
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly peer: Peer | undefined;
  readonly fire: () => void;
}

const DEFAULTS: Required<LinkOptions> = {
  delayMs: [0.05, 0.5],
  bytesPerMs: Infinity,
  loss: 0,
  twice: 0,
  reorder: false,
  pendingMax: 64 * 2 ** 20,
};

/** A network of peers. */
export class Fabric {
  readonly random: RandomStream;
  readonly options: Required<LinkOptions>;
  readonly routes: Routes<HubSubscription>;
  readonly #seed: number;
  readonly #payloadMax: number;
  readonly #log: ((line: string) => void) | undefined;
  readonly #events = new Heap();
  readonly #timers = new Map<number, Event>();
  readonly #peers = new Map<string, Peer>();
  #now = 0;
  #order = 1;
  #trace = 0x811c9dc5;
  #eventCount = 0;
  #messageCount = 0;
  #messageBytes = 0;
  readonly #outside = new Set<Promise<unknown>>();
  #current: Peer | undefined;
  #failure: unknown;
  #hasFailed = false;
  #isHubDown = false;

  constructor({ seed, payloadMax = 2 ** 20, log, ...link }: FabricOptions) {
    this.#seed = seed;
    this.random = new RandomStream(seed);
    this.options = { ...DEFAULTS, ...link };
    this.#payloadMax = payloadMax;
    this.#log = log;
    this.routes = new Routes((count) => this.below(count));
  }

  /** The virtual time, in ms. */
  get now(): number {
    return this.#now;
  }

  /** How many events were run. */
  get eventCount(): number {
    return this.#eventCount;
  }

  /** How many messages went over links, each way, and their bytes. */
  get messages(): { readonly count: number; readonly bytes: number } {
    return { count: this.#messageCount, bytes: this.#messageBytes };
  }

  /** Counts a message that went over a link. */
  carried(bytes: number): void {
    this.#messageCount++;
    this.#messageBytes += bytes;
  }

  /** A number that two runs have in common only if all their events were the same. */
  get trace(): number {
    return this.#trace;
  }

  /** Whether the hub is down: nothing is carried. */
  get isHubDown(): boolean {
    return this.#isHubDown;
  }

  /** A peer of this name: the one that lives, or a new one. */
  peer(name: string, link: LinkOptions = {}): Peer {
    const known = this.#peers.get(name);
    if (known !== undefined && known.isAlive) return known;
    const peer = new Peer(name, this, { ...this.options, ...link }, this.#payloadMax);
    this.#peers.set(name, peer);
    return peer;
  }

  /** A random whole number below `count`. */
  below(count: number): number {
    return this.random.below(count);
  }

  /** A random number from 0 to below 1. */
  chance(): number {
    return this.random.uniform();
  }

  /** A random number of a range. */
  between([least, most]: readonly [number, number]): number {
    return least + this.chance() * (most - least);
  }

  /** Waits for a virtual time. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.#now + ms, undefined, () => resolve()));
  }

  /** Waits, in virtual time, until something is so. Throws after `patienceMs`. */
  async until(what: string, isSo: () => boolean, patienceMs = 60_000): Promise<void> {
    const end = this.#now + patienceMs;
    while (!isSo()) {
      if (this.#now > end) throw new Error(`it never came to this: ${what}; ${this}`);
      await this.pause(1);
    }
  }

  /** The hub dies, and comes back after a time: what is on its way is lost, and the links are cut meanwhile. */
  restartHub(downMs: number): void {
    this.note("hub down");
    this.#isHubDown = true;
    for (const peer of this.#peers.values()) peer.drop();
    this.at(this.#now + downMs, undefined, () => {
      this.#isHubDown = false;
      this.note("hub up");
      for (const peer of this.#peers.values()) peer.pump();
    });
  }

  /** Cuts peers off from the hub. With `keeps`, what they say and what is said to them arrives when they are back, as TCP does it; else it is lost. */
  cut(peers: readonly Peer[], keeps = false): void {
    for (const peer of peers) peer.cut(keeps);
  }

  /** Ends {@linkcode Fabric.cut}. */
  heal(peers: readonly Peer[]): void {
    for (const peer of peers) peer.heal();
  }

  /** Waits for something that takes real time, such as a disk. No event runs meanwhile, so that the run stays the same. */
  async outside<T>(promise: Promise<T>): Promise<T> {
    this.#outside.add(promise);
    try {
      return await promise;
    } finally {
      this.#outside.delete(promise);
    }
  }

  /**
   * Runs `main` in virtual time, until its promise settles. Events of peers that are left are dropped.
   *
   * @param limitMs How much virtual time it may take.
   */
  async run<T>(main: () => Promise<T>, limitMs = 3_600_000): Promise<T> {
    const restore = this.#install();
    try {
      let isDone = false;
      const result = main();
      result.then(() => isDone = true, () => isDone = true);
      for (;;) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        while (this.#outside.size > 0) {
          await Promise.allSettled(this.#outside);
          await new Promise<void>((resolve) => setImmediate(resolve));
        }
        if (this.#hasFailed) throw this.#failure;
        if (isDone) return await result;
        const event = this.#events.pop();
        if (event === undefined) {
          throw new Error(`nothing is left to happen, and all wait: ${this}`);
        }
        if (event.at > limitMs) throw new Error(`it took above ${limitMs} virtual ms: ${this}`);
        this.#fire(event);
      }
    } finally {
      restore();
    }
  }

  #fire({ at, peer, fire }: Event): void {
    this.#now = Math.max(this.#now, at);
    if (peer !== undefined && !peer.isAlive) return;
    this.#eventCount++;
    this.#current = peer;
    try {
      fire();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Ends the run by an error: what a callback of a peer threw. */
  fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#failure = error;
  }

  /** Lets something happen at a time, in the name of a peer. */
  at(at: number, peer: Peer | undefined, fire: () => void): Event {
    const event = { at, order: this.#order++, peer, fire };
    this.#events.push(event);
    return event;
  }

  /** Takes something into the trace. */
  note(what: string): void {
    this.#log?.(`${this.#now.toFixed(3)} ${what}`);
    let hash = this.#trace ^ Math.round(this.#now * 1000);
    for (let k = 0; k < what.length; k++) hash = Math.imul(hash ^ what.charCodeAt(k), 0x01000193);
    this.#trace = hash >>> 0;
  }

  /** Puts the clocks, timers and random numbers of the fabric into the place of those of the thread. Returns what undoes it. */
  #install(): () => void {
    const { performance, crypto } = globalThis;
    const replaced: [object, string, PropertyDescriptor | undefined][] = [];
    const replace = (target: object, name: string, value: unknown): void => {
      replaced.push([target, name, Object.getOwnPropertyDescriptor(target, name)]);
      Object.defineProperty(target, name, { value, configurable: true, writable: true });
    };
    const set = (call: unknown, ms: unknown, values: unknown[], isRepeated: boolean): number => {
      const id = this.#order;
      const peer = this.#current;
      const wait = Math.max(0, Number(ms ?? 0) || 0);
      const arm = (): void => {
        this.#timers.set(
          id,
          this.at(this.#now + Math.max(wait, isRepeated ? 1 : 0), peer, () => {
            if (!this.#timers.delete(id)) return;
            if (isRepeated) arm();
            (call as (...values: unknown[]) => void)(...values);
          }),
        );
      };
      arm();
      return id;
    };
    const clear = (id: unknown): void => {
      const event = this.#timers.get(id as number);
      if (event === undefined) return;
      this.#timers.delete(id as number);
      this.#events.remove(event);
    };
    replace(
      globalThis,
      "setTimeout",
      (call: unknown, ms: unknown, ...values: unknown[]) => set(call, ms, values, false),
    );
    replace(
      globalThis,
      "setInterval",
      (call: unknown, ms: unknown, ...values: unknown[]) => set(call, ms, values, true),
    );
    replace(
      globalThis,
      "setImmediate",
      (call: unknown, ...values: unknown[]) => set(call, 0, values, false),
    );
    replace(globalThis, "clearImmediate", clear);
    replace(globalThis, "clearTimeout", clear);
    replace(globalThis, "clearInterval", clear);
    replace(performance, "now", () => this.#now);
    replace(Date, "now", () => 1_700_000_000_000 + Math.floor(this.#now));
    replace(Math, "random", () => this.chance());
    replace(crypto, "getRandomValues", (array: Uint8Array) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let k = 0; k < bytes.length; k++) bytes[k] = this.below(256);
      return array;
    });
    replace(crypto, "randomUUID", () => {
      const word = (): string => this.random.next().toString(16).padStart(8, "0");
      const [a, b, c, d] = [word(), word(), word(), word()];
      return `${a}-${b.slice(4)}-4${b.slice(5)}-8${c.slice(5)}-${c.slice(4)}${d}`;
    });
    replace(AbortSignal, "timeout", (ms: number) => {
      const end = new AbortController();
      set(() => end.abort(new DOMException("Signal timed out.", "TimeoutError")), ms, [], false);
      return end.signal;
    });
    // Its wait ends by another thread, in real time. Without it, the library looks again every 5 ms.
    replace(Atomics, "waitAsync", undefined);
    return () => {
      for (const [target, name, was] of replaced.reverse()) {
        if (was === undefined) Reflect.deleteProperty(target, name);
        else Object.defineProperty(target, name, was);
      }
    };
  }

  toString(): string {
    const peers = [...this.#peers.values()].map((peer) =>
      `${peer.name}${peer.isAlive ? "" : " (dead)"}`
    );
    return `seed ${this.#seed}, ${this.#now.toFixed(3)} ms, ${this.#eventCount} events, peers ${
      peers.join(", ")
    }`;
  }
}

/** A process of the network. */
export class Peer {
  readonly name: string;
  readonly #fabric: Fabric;
  readonly #payloadMax: number;
  readonly #connections = new Set<HubConnection>();
  readonly #up: Lane;
  readonly #down: Lane;
  #isAlive = true;
  #connectionCount = 0;
  #killAfter = Infinity;

  constructor(name: string, fabric: Fabric, link: Required<LinkOptions>, payloadMax: number) {
    this.name = name;
    this.#fabric = fabric;
    this.#payloadMax = payloadMax;
    this.#up = new Lane(`${name} up`, fabric, undefined, link);
    this.#down = new Lane(`${name} down`, fabric, this, link);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** A connection of this peer. */
  connect(): HubConnection {
    const id = `${this.name.replaceAll(/[^\w-]/g, "_")}_${++this.#connectionCount}_${
      this.#fabric.below(2 ** 32)
    }`;
    const connection: HubConnection = new HubConnection(`_INBOX.${id}`, {
      routes: this.#fabric.routes,
      up: (bytes, arrive) => {
        if (!this.#isAlive) return;
        if (bytes !== undefined && --this.#killAfter < 0) this.kill();
        else this.#up.send(bytes, arrive);
      },
      down: (bytes, arrive) => {
        if (this.#isAlive) this.#down.send(bytes, arrive);
      },
    }, this.#payloadMax);
    this.#connections.add(connection);
    return connection;
  }

  /** Runs something in this peer. If the peer dies before it is done, the promise never settles. */
  run<T>(call: () => T | Promise<T>): Promise<T> {
    const fabric = this.#fabric;
    return new Promise((resolve, reject) => {
      const settle = (then: () => void): void => {
        if (this.#isAlive) fabric.at(fabric.now, undefined, then);
      };
      fabric.at(fabric.now, this, () => {
        new Promise<T>((begin) => begin(call())).then(
          (value) => settle(() => resolve(value)),
          (error) => settle(() => reject(error)),
        );
      });
    });
  }

  /** Changes how its link carries messages. */
  link(options: LinkOptions): void {
    this.#up.change(options);
    this.#down.change(options);
  }

  /**
   * Kills it, as `kill -9` does. What it sent before is on its way and arrives.
   *
   * @param options With `silent` the hub does not notice, as where a machine lost its power: its subscriptions stay. With `afterMessages` it dies in the
   * place of sending that many messages more.
   */
  kill(options: { readonly silent?: boolean; readonly afterMessages?: number } = {}): void {
    if (options.afterMessages !== undefined) {
      this.#killAfter = options.afterMessages;
      return;
    }
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#fabric.note(`${this.name} dies`);
    if (options.silent !== true) { for (const connection of this.#connections) connection.leave(); }
  }

  /** Cuts its link. */
  cut(keeps: boolean): void {
    this.#fabric.note(`${this.name} cut`);
    this.#up.cut(keeps);
    this.#down.cut(keeps);
  }

  /** Makes its link whole. */
  heal(): void {
    this.#fabric.note(`${this.name} healed`);
    this.#up.heal();
    this.#down.heal();
  }

  /** Loses what is on its way, and the calls of `flush` that wait for it. */
  drop(): void {
    this.#up.drop();
    this.#down.drop();
    this.#fabric.at(this.#fabric.now, this, () => {
      for (const connection of this.#connections) connection.lose();
    });
  }

  /** Sends what waits. */
  pump(): void {
    this.#up.pump();
    this.#down.pump();
  }
}

interface Parcel {
  readonly bytes: number | undefined;
  readonly arrive: () => void;
  event?: Event;
}

/** One direction of a link. */
class Lane {
  readonly #name: string;
  readonly #fabric: Fabric;
  /** Who gets what arrives; undefined for the hub. */
  readonly #peer: Peer | undefined;
  readonly #flying = new Set<Parcel>();
  #link: Required<LinkOptions>;
  /** When the line is free for the next message, and when the last message arrives. */
  #freeAt = 0;
  #lastAt = 0;
  #isCut = false;
  #keeps = false;
  /** What waits for the link to be whole. */
  #held: Parcel[] = [];
  #pendingBytes = 0;

  constructor(name: string, fabric: Fabric, peer: Peer | undefined, link: Required<LinkOptions>) {
    this.#name = name;
    this.#fabric = fabric;
    this.#peer = peer;
    this.#link = link;
  }

  change(options: LinkOptions): void {
    this.#link = { ...this.#link, ...options };
  }

  cut(keeps: boolean): void {
    this.#isCut = true;
    this.#keeps = keeps;
    if (keeps) this.#hold();
    else this.drop();
  }

  heal(): void {
    this.#isCut = false;
    this.pump();
  }

  /** Loses the messages that are on their way. What a client says again waits. */
  drop(): void {
    this.#hold();
    this.#held = this.#held.filter(({ bytes }) => bytes === undefined);
    this.#pendingBytes = 0;
  }

  /** Takes back what is on its way. */
  #hold(): void {
    for (const parcel of this.#flying) {
      this.#held.push(parcel);
      delete parcel.event;
    }
    this.#flying.clear();
    this.#freeAt = this.#lastAt = this.#fabric.now;
  }

  pump(): void {
    if (this.#isCut || this.#fabric.isHubDown) return;
    const held = this.#held;
    this.#held = [];
    for (const parcel of held) this.#fly(parcel);
  }

  send(bytes: number | undefined, arrive: () => void): void {
    const { loss, twice, pendingMax } = this.#link;
    const fabric = this.#fabric;
    if (this.#isCut || fabric.isHubDown) {
      const isLost = bytes !== undefined && !(this.#isCut && this.#keeps && !fabric.isHubDown);
      if (!isLost) this.#held.push({ bytes, arrive });
      return;
    }
    if (bytes !== undefined) {
      if (loss > 0 && fabric.chance() < loss) {
        fabric.note(`${this.#name} lost ${bytes}`);
        return;
      }
      if (this.#pendingBytes + bytes > pendingMax) {
        fabric.note(`${this.#name} too slow`);
        this.drop();
        this.pump();
        return;
      }
      if (twice > 0 && fabric.chance() < twice) this.#fly({ bytes, arrive });
    }
    this.#fly({ bytes, arrive });
  }

  #fly(parcel: Parcel): void {
    const fabric = this.#fabric;
    const { delayMs, bytesPerMs, reorder } = this.#link;
    const bytes = parcel.bytes ?? 0;
    this.#freeAt = Math.max(this.#freeAt, fabric.now) + bytes / bytesPerMs;
    let at = this.#freeAt + fabric.between(delayMs);
    if (!reorder || parcel.bytes === undefined) at = Math.max(at, this.#lastAt);
    this.#lastAt = Math.max(this.#lastAt, at);
    this.#pendingBytes += bytes;
    this.#flying.add(parcel);
    const event = fabric.at(at, this.#peer, () => {
      if (parcel.event !== event) return;
      this.#flying.delete(parcel);
      this.#pendingBytes -= bytes;
      if (parcel.bytes !== undefined) fabric.carried(bytes);
      fabric.note(`${this.#name} ${bytes}`);
      parcel.arrive();
    });
    parcel.event = event;
  }
}

/** Events by time; of two with the same time, the one that was made first. */
class Heap {
  readonly #events: Event[] = [];
  readonly #removed = new Set<Event>();

  push(event: Event): void {
    const events = this.#events;
    let k = events.length;
    events.push(event);
    while (k > 0) {
      const parent = (k - 1) >> 1;
      const above = events[parent] as Event;
      if (!isBefore(event, above)) break;
      events[k] = above;
      k = parent;
    }
    events[k] = event;
  }

  /** Takes one out. */
  remove(event: Event): void {
    this.#removed.add(event);
  }

  pop(): Event | undefined {
    for (;;) {
      const first = this.#pop();
      if (first === undefined || !this.#removed.delete(first)) return first;
    }
  }

  #pop(): Event | undefined {
    const events = this.#events;
    const [first] = events;
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let k = 0;
    for (;;) {
      let child = 2 * k + 1;
      if (child >= events.length) break;
      const [left, right] = [events[child] as Event, events[child + 1]];
      if (right !== undefined && isBefore(right, left)) child++;
      const least = events[child] as Event;
      if (!isBefore(least, last)) break;
      events[k] = least;
      k = child;
    }
    events[k] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || a.at === b.at && a.order < b.order;
}
