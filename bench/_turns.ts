/**
 * Measures in turns. The contestants take turns within one process, so other work on the machine meets all of them alike.
 *
 * @module
 */

/** One contestant: it runs `repeats` times, and returns the mean nanoseconds of one run. */
export type Contestant = (repeats: number) => number;

/** The result of the turns of one contestant. */
export interface Turns {
  /** Nanoseconds: the smallest mean of a turn. */
  readonly min: number;
  /** Nanoseconds: the median of the means. */
  readonly median: number;
}

/** Makes a contestant from a function of TypeScript. */
export function calls(call: () => void): Contestant {
  return (repeats) => {
    const start = performance.now();
    for (let repeat = 0; repeat < repeats; repeat++) call();
    return (performance.now() - start) * 1e6 / repeats;
  };
}

/** The number that `share` of some numbers are at most. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? NaN;
}

/** The middle of some numbers, the lower of two. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * Lets the contestants take `rounds` turns of about `turnMs` each. A first turn warms up, and finds how many repeats a turn has. Each
 * turn begins with a few uncounted repeats, because the others have used the caches meanwhile. `between` is called before each turn.
 */
export function takeTurns<Name extends string>(
  contestants: Readonly<Record<Name, Contestant>>,
  rounds: number,
  turnMs: number,
  between: () => void = () => {},
): Record<Name, Turns> & { readonly means: Record<Name, number[]> } {
  const names = Object.keys(contestants) as Name[];
  const means = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  const repeats = new Map<Name, number>();
  for (const name of names) {
    let count = 1;
    let mean = contestants[name](count);
    while (mean * count < turnMs * 1e6 / 4) {
      count = Math.ceil(Math.min(count * 10, turnMs * 1e6 / Math.max(mean, 1)));
      mean = contestants[name](count);
    }
    repeats.set(name, Math.max(1, Math.round(turnMs * 1e6 / mean)));
  }
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const count = repeats.get(name) ?? 1;
      between();
      contestants[name](Math.ceil(count / 4));
      means[name].push(contestants[name](count));
    }
  }
  const results = names.map((name) => [name, {
    min: Math.min(...means[name]),
    median: median(means[name]),
  }]);
  return { ...Object.fromEntries(results), means };
}
