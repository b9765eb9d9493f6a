/**
 * Keeps the event loop turning for a moment after each input, in place of sleeping until the next one.
 *
 * A thread without input sleeps, and its core sleeps with it. The client that sends the next message then pays for waking the core, and the
 * server begins later. On a virtual machine that is a large part of a small call.
 *
 * Turning takes a core, so it is done only where one is left: the clients that are at work want one each. One more than them must be there. Where
 * other programs want the cores, or a client with many threads does, turns take long, and it rests for a second.
 *
 * A call that comes alone begins no poll, as the next one is not near: only one that follows another within 50 to 100 ms does. So clients that are
 * connected and quiet cost nothing.
 *
 * A client in the same program needs the event loop itself. While one is connected, nothing turns: an insert took four times as long.
 *
 * @module
 */

import { ownConnections } from "../../base/own_connections.ts";

/** What Deno, Node and Bun have, and browsers have not. The types of browsers, which the npm package is compiled with, lack it. */
interface Immediates {
  setImmediate(call: () => void): object;
  clearImmediate(turn: object | undefined): void;
}
const { setImmediate, clearImmediate } = globalThis as unknown as Immediates;

/**
 * Milliseconds of a period. A client is at work if it sent something in this period or in the one before, because it computes between its
 * calls. With 2 ms, clients that computed for 5 ms were overlooked, and the poll took their cores.
 */
const periodMs = 50;

/**
 * Where a turn without input takes longer, in milliseconds, another thread had the core. To turn on would only take its time, so the poll rests. Without
 * it, a client that called every 5 ms beside some busy loops waited four times as long for a call.
 */
const gapMs = 1;
const restMs = 1000;

/** Turns the event loop after input. */
export class BusyPoll {
  readonly #pollMs: number;
  readonly #cores: number;
  readonly #now: () => number;
  #period = 0;
  #periodEnd = 0;
  /** Clients that sent something in this period, and in the one before. */
  #clients = 0;
  #clientsBefore = 0;
  #end = 0;
  /** When it last looked at the clock, and until when it leaves the cores to others. */
  #looked = 0;
  #restEnd = 0;
  #turn: object | undefined;

  /**
   * @param pollMs Milliseconds after the last input; 0 for never.
   * @param cores Cores of the machine that this program may use.
   * @param now Reads the clock, in milliseconds.
   */
  constructor(pollMs: number, cores: number = coreCount(), now: () => number = readClock) {
    this.#pollMs = pollMs;
    this.#cores = cores;
    this.#now = now;
  }

  /** Whether the event loop turns without a pause now. */
  get isTurning(): boolean {
    return this.#turn !== undefined;
  }

  /**
   * A client sent something.
   *
   * @param period What the last call for this client returned; at first any negative number.
   */
  note(period: number): number {
    if (this.#pollMs === 0 || ownConnections.size > 0) return period;
    const now = this.#now();
    if (now >= this.#periodEnd) {
      this.#clientsBefore = now < this.#periodEnd + periodMs ? this.#clients : 0;
      this.#clients = 0;
      this.#period++;
      this.#periodEnd = now + periodMs;
    }
    const isAlone = this.#clients + this.#clientsBefore === 0;
    if (period !== this.#period) this.#clients++;
    const isCoreLeft = Math.max(this.#clients, this.#clientsBefore) < this.#cores;
    const turnsOn = !isAlone && isCoreLeft && now >= this.#restEnd;
    this.#looked = now;
    this.#end = turnsOn ? now + this.#pollMs : 0;
    if (turnsOn) this.#turn ??= setImmediate(this.#look);
    return this.#period;
  }

  /** Turns no more. */
  stop(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  readonly #look = (): void => {
    const now = this.#now();
    // Nothing was read since, or note() would have looked.
    if (now - this.#looked > gapMs) {
      this.#restEnd = now + restMs;
      this.#end = 0;
    }
    this.#looked = now;
    this.#turn = now < this.#end ? setImmediate(this.#look) : undefined;
  };
}

function readClock(): number {
  return performance.now();
}

/** The cores that this program may use. Node 20 does not say it here; nearly every machine has two. */
function coreCount(): number {
  const { navigator } = globalThis as { readonly navigator?: Navigator };
  return navigator?.hardwareConcurrency ?? 2;
}
