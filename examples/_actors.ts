/**
 * Actors in Workers: how a learner starts them, hears of them, and is told that one failed.
 *
 * @module
 */

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

/** The Workers of the actors. At the end of its block they are terminated, if they have not left before. */
export class Actors<Job> implements Disposable {
  readonly #workers: Worker[];
  readonly #hear: (turn: Turn) => void;
  readonly #failed = Promise.withResolvers<never>();
  readonly #left: PromiseWithResolvers<void>[];
  #turn = Promise.withResolvers<void>();

  /**
   * Starts `count` Workers.
   *
   * @param url Their file, which calls {@linkcode serve}.
   * @param hear Called with each turn of each actor.
   */
  constructor(url: URL, count: number, hear: (turn: Turn) => void) {
    this.#hear = hear;
    this.#left = Array.from({ length: count }, () => Promise.withResolvers<void>());
    this.#workers = this.#left.map(() => new Worker(url, { type: "module" }));
    this.#failed.promise.catch(() => {}); // `race` tells it
  }

  /** Gives each actor its job. */
  start(job: (index: number) => Job): void {
    for (const [index, worker] of this.#workers.entries()) {
      worker.onmessage = ({ data }: MessageEvent<Turn>) => {
        this.#hear(data);
        this.#turn.resolve();
        if (data.isLast) this.#left[index]?.resolve();
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.#failed.reject(new Error(`actor ${index}: ${event.message}`));
      };
      worker.postMessage(job(index));
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
    for (const worker of this.#workers) worker.terminate();
  }
}
