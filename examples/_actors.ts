/**
 * Actors in Workers: how a learner starts them, hears of them, and is told that one failed.
 *
 * @module
 */

import type { ExperienceReplay } from "@exrp/replay";
import { endActor } from "@exrp/replay/actors";
import type { ShareTicket } from "@exrp/replay/types";

/** What an actor tells the learner after each turn. */
export interface Turn {
  /** How many steps it made in this turn. */
  readonly steps: number;
  /** The returns of the episodes that ended in it. */
  readonly returns: readonly number[];
  /** True for the last turn: the actor has written everything, and has left the replay. */
  readonly isLast: boolean;
}

/** What a Worker uses of its global scope, which has other types than the main thread's. */
interface Scope<Job> {
  onmessage: (message: MessageEvent<Job>) => Promise<void>;
  postMessage(turn: Turn): void;
}

/** Makes this thread, a Worker, an actor: its first message is the job, and it tells the learner of each turn. */
export function serve<Job>(act: (job: Job, tell: (turn: Turn) => void) => Promise<void>): void {
  const scope = self as unknown as Scope<Job>;
  scope.onmessage = ({ data }) => act(data, (turn) => scope.postMessage(turn));
}

/** The Workers of the actors. At the end of its block they are ended, if they have not left before. */
export class Actors<Job extends { readonly replay: ShareTicket }> implements Disposable {
  readonly #replay: ExperienceReplay;
  readonly #url: URL;
  readonly #started: { readonly worker: Worker; readonly ticket: ShareTicket }[] = [];
  readonly #hear: (turn: Turn) => void;
  readonly #failed = Promise.withResolvers<never>();
  readonly #left: PromiseWithResolvers<void>[];
  #turn = Promise.withResolvers<void>();

  /**
   * @param replay The replay that they record into.
   * @param url Their file, which calls {@linkcode serve}.
   * @param count How many there are.
   * @param hear Called with each turn of each actor.
   */
  constructor(replay: ExperienceReplay, url: URL, count: number, hear: (turn: Turn) => void) {
    this.#replay = replay;
    this.#url = url;
    this.#hear = hear;
    this.#left = Array.from({ length: count }, () => Promise.withResolvers<void>());
    this.#failed.promise.catch(() => {}); // `race` tells it
  }

  /** Starts each actor with its job, which has a ticket of its own. */
  start(job: (index: number) => Job): void {
    for (const [index, left] of this.#left.entries()) {
      const message = job(index);
      const worker = new Worker(this.#url, { type: "module" });
      this.#started.push({ worker, ticket: message.replay });
      worker.onmessage = ({ data }: MessageEvent<Turn>) => {
        this.#hear(data);
        this.#turn.resolve();
        if (data.isLast) left.resolve();
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.#failed.reject(new Error(`actor ${index}: ${event.message}`));
      };
      worker.postMessage(message);
    }
  }

  /** Lets messages come in. If `wait` is true, it waits for one. */
  async listen(wait = false): Promise<void> {
    const breath = new Promise<void>((resolve) => setTimeout(resolve));
    await this.race(wait ? this.#turn.promise : breath);
    this.#turn = Promise.withResolvers();
  }

  /** What `promise` gives, unless an actor fails before. */
  race<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#failed.promise]);
  }

  /** Waits until all actors have left. */
  async end(): Promise<void> {
    await this.race(Promise.all(this.#left.map(({ promise }) => promise)));
  }

  [Symbol.dispose](): void {
    for (const { worker, ticket } of this.#started) endActor(this.#replay, worker, ticket);
  }
}
