/**
 * Covering arrays: few combinations of many options in which any two values of two options come together somewhere.
 *
 * Most faults of combined options need only two of them (Kuhn, Wallace and Gallo, "Software Fault Interactions and
 * Implications for Software Testing", 2004). The arrays are built greedily. Each combination
 * begins with a missing pair. For every other option it takes the value that adds most pairs.
 *
 * @module
 */

/** The values of each option. The first is one that goes with anything. */
export type Factors = Readonly<Record<string, readonly unknown[]>>;

/** One value of each option. */
export type Combination<F extends Factors> = { readonly [K in keyof F]: F[K][number] };

/** Two values of two options, by their numbers. */
interface Pair {
  readonly a: number;
  readonly valueOfA: number;
  readonly b: number;
  readonly valueOfB: number;
}

/** True where two values of two options can't be combined. */
export type Excluded = (a: string, valueOfA: unknown, b: string, valueOfB: unknown) => boolean;

/** Combinations of these factors. */
export class Covering<F extends Factors> {
  readonly #names: readonly (keyof F & string)[];
  readonly #factors: F;
  readonly #excluded: Excluded;
  readonly #random: (bound: number) => number;

  /** `random(bound)` gives a whole number 0 to bound - 1. */
  constructor(factors: F, excluded: Excluded, random: (bound: number) => number) {
    this.#names = Object.keys(factors);
    this.#factors = factors;
    this.#excluded = excluded;
    this.#random = random;
  }

  /** All pairs that can be combined. */
  pairs(): Set<string> {
    const pairs = new Set<string>();
    for (const pair of this.#allPairs()) pairs.add(keyOf(pair));
    return pairs;
  }

  /** The pairs that some of these combinations have. */
  covered(combinations: readonly Combination<F>[]): Set<string> {
    const pairs = new Set<string>();
    for (const combination of combinations) {
      const values = this.#names.map((name) => this.#values(name).indexOf(combination[name]));
      for (const key of pairsOf(values)) pairs.add(key);
    }
    return pairs;
  }

  /** Combinations that have all pairs, then random ones up to `count`. */
  combinations(count: number): Combination<F>[] {
    const missing = this.pairs();
    const found: number[][] = [];
    while (missing.size > 0) {
      // Of a few candidates the one that adds most.
      let best: number[] = [];
      let most = -1;
      for (let candidate = 0; candidate < 8; candidate++) {
        const values = this.#complete(this.#start(missing), missing);
        const added = pairsOf(values).filter((key) => missing.has(key)).length;
        if (added > most) [best, most] = [values, added];
      }
      for (const key of pairsOf(best)) missing.delete(key);
      found.push(best);
    }
    while (found.length < count) found.push(this.#complete(new Map(), undefined));
    return found.map((values) =>
      Object.fromEntries(
        this.#names.map((name, k) => [name, this.#values(name)[values[k] ?? 0]]),
      ) as Combination<F>
    );
  }

  #values(name: keyof F & string): readonly unknown[] {
    return this.#factors[name] ?? [];
  }

  *#allPairs(): Generator<Pair> {
    for (const [a, nameOfA] of this.#names.entries()) {
      for (const [b, nameOfB] of this.#names.entries()) {
        if (b <= a) continue;
        for (const valueOfA of this.#values(nameOfA).keys()) {
          for (const valueOfB of this.#values(nameOfB).keys()) {
            const pair = { a, valueOfA, b, valueOfB };
            if (this.#allows(pair)) yield pair;
          }
        }
      }
    }
  }

  #allows({ a, valueOfA, b, valueOfB }: Pair): boolean {
    const [nameOfA = "", nameOfB = ""] = [this.#names[a], this.#names[b]];
    const [x, y] = [this.#values(nameOfA)[valueOfA], this.#values(nameOfB)[valueOfB]];
    return !this.#excluded(nameOfA, x, nameOfB, y) && !this.#excluded(nameOfB, y, nameOfA, x);
  }

  #start(missing: ReadonlySet<string>): Map<number, number> {
    const keys = [...missing];
    const [a = 0, valueOfA = 0, b = 0, valueOfB = 0] = (keys[this.#random(keys.length)] ?? "")
      .split(" ").map(Number);
    return new Map([[a, valueOfA], [b, valueOfB]]);
  }

  /** Gives every option without a value one that goes with those there are. */
  #complete(chosen: Map<number, number>, missing: ReadonlySet<string> | undefined): number[] {
    const order = [...this.#names.keys()];
    for (let k = order.length - 1; k > 0; k--) {
      const other = this.#random(k + 1);
      [order[k], order[other]] = [order[other] ?? 0, order[k] ?? 0];
    }
    for (const a of order) {
      if (chosen.has(a)) continue;
      let best: number[] = [0];
      let most = -1;
      for (const valueOfA of this.#values(this.#names[a] ?? "").keys()) {
        const pairs = [...chosen].map(([b, valueOfB]) => ({ a, valueOfA, b, valueOfB }));
        if (!pairs.every((pair) => this.#allows(pair))) continue;
        const added = missing === undefined
          ? 0
          : pairs.filter((pair) => missing.has(keyOf(pair))).length;
        if (added > most) [best, most] = [[valueOfA], added];
        else if (added === most) best.push(valueOfA);
      }
      chosen.set(a, best[this.#random(best.length)] ?? 0);
    }
    return this.#names.map((_, a) => chosen.get(a) ?? 0);
  }
}

function keyOf({ a, valueOfA, b, valueOfB }: Pair): string {
  return a < b ? `${a} ${valueOfA} ${b} ${valueOfB}` : `${b} ${valueOfB} ${a} ${valueOfA}`;
}

function pairsOf(values: readonly number[]): string[] {
  return values.flatMap((valueOfB, b) =>
    values.slice(0, b).map((valueOfA, a) => `${a} ${valueOfA} ${b} ${valueOfB}`)
  );
}
