/**
 * Where the time of training goes. It has a file of its own, because it needs nothing but a clock, and so runs in browsers too.
 *
 * @module
 */

/** Adds up the time that calls take, by name. */
export class Stopwatch {
  readonly #entries = new Map<string, { count: number; ms: number }>();
  readonly #startedAt = performance.now();

  /** Runs `call` and measures its time. */
  readonly time = <Result>(name: string, call: () => Result): Result => {
    const startedAt = performance.now();
    const result = call();
    const ms = performance.now() - startedAt;
    const entry = this.#entries.get(name);
    if (entry === undefined) this.#entries.set(name, { count: 1, ms });
    else {
      entry.count++;
      entry.ms += ms;
    }
    return result;
  };

  /** Seconds since the stopwatch was made. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  /** Seconds of all calls whose name begins with the given text. */
  secondsOf(prefix: string): number {
    const entries = [...this.#entries].filter(([name]) => name.startsWith(prefix));
    return entries.reduce((sum, [, { ms }]) => sum + ms / 1000, 0);
  }

  /** A line for each name: seconds, share of the whole, and time for one call. */
  table(): string {
    const total = this.seconds;
    const line = (name: string, seconds: number, count?: number) =>
      `  ${name.padEnd(20)}${seconds.toFixed(2).padStart(8)} s` +
      `${(100 * seconds / total).toFixed(1).padStart(7)} %` +
      (count === undefined
        ? ""
        : `${(1e6 * seconds / count).toFixed(1).padStart(9)} µs × ${count}`);
    const lines = [...this.#entries].map(([name, { count, ms }]) => line(name, ms / 1000, count));
    return [...lines, line("all of training", total)].join("\n");
  }
}
