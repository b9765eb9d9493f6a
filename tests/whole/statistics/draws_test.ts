/**
 * Whether draws follow the probabilities that they must: chi-square tests, each with a twin on a slightly wrong
 * distribution, which must fail. All draws follow from one seed, which is printed.
 *
 * @module
 */

import { assert, assertAlmostEquals, assertGreater, assertLess } from "../../_assert.ts";
import {
  curious,
  ExperienceReplay,
  prioritized,
  pser,
  rankBased,
  recent,
  ucb,
  uint8,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { SelectorRule } from "@exrp/replay/selectors";
import { ChiSquare, chiSquareTail } from "./chi_square.ts";

const SEED = Number(environment("EXRP_STATISTICS_SEED") ?? 20_261_121);

/** A result with a smaller probability than this is a failure. The twins must be far below it. */
const TAIL_MIN = 1e-4;
const TWIN_TAIL_MAX = 1e-9;

function environment(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, k) => k);
}

interface Subject extends Disposable {
  /** Sets the priorities of all picks. */
  prioritize(priorities: readonly number[]): void;
  /** The positions of `batchCount` batches of `size`. */
  draw(batchCount: number, size: number): Generator<Int32Array>;
}

/** A replay of one episode, so that a pick's position is its place in the pick view. */
async function subject(rule: SelectorRule, count: number): Promise<Subject> {
  const replay = await ExperienceReplay.create({
    capacity: count,
    segmentLength: count,
    state: uint8(),
    seed: SEED,
  });
  const selector = replay.newPickSelector(rule);
  let episode = replay.newEpisode();
  for (const k of range(count)) {
    episode = replay.record(episode, 0, 0, 0, k === count - 1 ? { finalState: 0 } : {});
  }
  return {
    prioritize(priorities: readonly number[]): void {
      replay.setPriority(selector, priorities.map(() => 0), range(count), priorities);
    },
    *draw(batchCount: number, size: number): Generator<Int32Array> {
      let batch = replay.getBatch(size, selector);
      for (let k = 0; k < batchCount; k++) {
        if (k > 0) batch = replay.getBatch(size, selector, { into: batch });
        yield batch.pickPosition;
      }
    },
    [Symbol.dispose]: () => replay[Symbol.dispose](),
  };
}

function tailOf(counts: readonly number[], probabilities: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const sum = probabilities.reduce((a, b) => a + b, 0);
  const test = new ChiSquare();
  test.add(counts, probabilities.map((probability) => total * probability / sum));
  return test.tail;
}

/** Priorities from 0.02 to 20, a few of them 0. */
function somePriorities(count: number): number[] {
  return range(count).map((k) => k % 17 === 3 ? 0 : 10 ** (((k * 7919) % 301) / 100 - 1.7));
}

function powers(priorities: readonly number[], alpha: number): number[] {
  return priorities.map((priority) => priority === 0 ? 0 : priority ** alpha);
}

function assertFits(tail: number, twin: number): void {
  assertGreater(tail, TAIL_MIN, `seed ${SEED}: the tail is ${tail}`);
  assertLess(twin, TWIN_TAIL_MAX, `seed ${SEED}: the twin's tail is ${twin}`);
}

Deno.test("chiSquareTail() agrees with published quantiles", () => {
  for (
    const [statistic, freedom, tail] of [
      [3.841, 1, 0.05],
      [18.307, 10, 0.05],
      [29.588, 10, 0.001],
      [124.342, 100, 0.05],
      [1074.679, 1000, 0.05],
      [927.594, 1000, 0.95],
    ] as const
  ) assertAlmostEquals(chiSquareTail(statistic, freedom), tail, 2e-5);
});

Deno.test(`uniform() draws every pick equally often (seed ${SEED})`, async () => {
  const count = 1003;
  using uniformly = await subject(uniform(), count);
  const counts = range(count).map(() => 0);
  for (const positions of uniformly.draw(40, 50_000)) {
    for (const position of positions) counts[position] = (counts[position] ?? 0) + 1;
  }
  const tilted = range(count).map((k) => k % 2 === 0 ? 1.02 : 0.98);
  assertFits(tailOf(counts, counts.map(() => 1)), tailOf(counts, tilted));
});

Deno.test(`prioritized() draws independently by priority^alpha (seed ${SEED})`, async () => {
  const count = 777;
  const priorities = somePriorities(count);
  using drawn = await subject(
    prioritized({ alpha: 0.6, epsilon: 0, draw: "independent" }),
    count,
  );
  drawn.prioritize(priorities);
  const counts = range(count).map(() => 0);
  for (const positions of drawn.draw(20, 50_000)) {
    for (const position of positions) counts[position] = (counts[position] ?? 0) + 1;
  }
  assert(priorities.every((priority, k) => priority > 0 || counts[k] === 0));
  assertFits(tailOf(counts, powers(priorities, 0.6)), tailOf(counts, powers(priorities, 0.62)));
});

/** How much of stratum k of n each pick holds, where the picks lie side by side in proportion to their weights. */
function strata(weights: readonly number[], n: number): number[][] {
  const total = weights.reduce((a, b) => a + b, 0);
  const shares = range(n).map(() => weights.map(() => 0));
  let begin = 0;
  for (const [pick, weight] of weights.entries()) {
    const end = begin + weight * n / total;
    for (let k = Math.floor(begin); k < Math.min(n, Math.ceil(end)); k++) {
      const row = shares[k];
      if (row !== undefined) row[pick] = Math.max(0, Math.min(end, k + 1) - Math.max(begin, k));
    }
    begin = end;
  }
  return shares;
}

Deno.test(`prioritized() draws one pick from each stratum (seed ${SEED})`, async () => {
  const [count, size, batchCount] = [101, 16, 60_000];
  const priorities = somePriorities(count);
  using drawn = await subject(prioritized({ alpha: 0.6, epsilon: 0 }), count);
  drawn.prioritize(priorities);
  const counts = range(size).map(() => range(count).map(() => 0));
  for (const positions of drawn.draw(batchCount, size)) {
    for (const [k, position] of positions.entries()) {
      const row = counts[k];
      if (row !== undefined) row[position] = (row[position] ?? 0) + 1;
    }
  }
  const tail = (alpha: number): number => {
    const test = new ChiSquare();
    for (const [k, shares] of strata(powers(priorities, alpha), size).entries()) {
      test.add(counts[k] ?? [], shares.map((share) => share * batchCount));
    }
    return test.tail;
  };
  // Independent draws would give picks of every stratum anywhere in the batch.
  const independent = new ChiSquare();
  const weights = powers(priorities, 0.6);
  const total = weights.reduce((a, b) => a + b, 0);
  for (const row of counts) independent.add(row, weights.map((w) => batchCount * w / total));
  assertFits(tail(0.6), tail(0.61));
  assertLess(independent.tail, TWIN_TAIL_MAX);
});

Deno.test(`ucb() draws in proportion to scores that change with every draw (seed ${SEED})`, async () => {
  const [count, drawCount, c] = [41, 60_000, 0.7];
  const priorities = somePriorities(count);
  using drawn = await subject(ucb({ mode: "proportional", c }), count);
  drawn.prioritize(priorities);
  const largest = Math.max(1, ...priorities);

  // Expected is the sum, over all draws, of the probabilities at the time, by looking at every pick.
  const times = range(count).map(() => 0);
  const counts = range(count).map(() => 0);
  const constants = [c, 1.15 * c];
  const expected = constants.map(() => range(count).map(() => 0));
  let total = 0;
  for (const positions of drawn.draw(drawCount / 100, 100)) {
    for (const position of positions) {
      if (total >= count) {
        for (const [at, constant] of constants.entries()) {
          const scores = priorities.map((priority, k) =>
            priority / largest + constant * Math.sqrt(Math.log(total) / (times[k] ?? 0))
          );
          const sum = scores.reduce((a, b) => a + b, 0);
          const row = expected[at];
          for (const [k, score] of scores.entries()) {
            if (row !== undefined) row[k] = (row[k] ?? 0) + score / sum;
          }
        }
        counts[position] = (counts[position] ?? 0) + 1;
      } else assert(times[position] === 0, "each pick is drawn once before any is drawn again");
      times[position] = (times[position] ?? 0) + 1;
      total++;
    }
  }
  const tails = expected.map((row) => {
    const test = new ChiSquare();
    test.add(counts, row);
    return test.tail;
  });
  assertFits(tails[0] ?? NaN, tails[1] ?? NaN);
});

/** rank^-alpha of each pick: the largest priority has rank 1; of equal ones the older pick is first. */
function rankWeights(priorities: readonly number[], alpha: number): number[] {
  const order = range(priorities.length)
    .sort((a, b) => (priorities[b] ?? 0) - (priorities[a] ?? 0) || a - b);
  const weights = range(priorities.length).map(() => 0);
  for (const [k, pick] of order.entries()) weights[pick] = (k + 1) ** -alpha;
  return weights;
}

Deno.test(`rankBased() draws independently by rank^-alpha (seed ${SEED})`, async () => {
  const count = 777;
  const priorities = somePriorities(count);
  using drawn = await subject(rankBased({ alpha: 0.7, draw: "independent" }), count);
  drawn.prioritize(priorities);
  const counts = range(count).map(() => 0);
  for (const positions of drawn.draw(20, 50_000)) {
    for (const position of positions) counts[position] = (counts[position] ?? 0) + 1;
  }
  const tail = (alpha: number): number => tailOf(counts, rankWeights(priorities, alpha));
  assertFits(tail(0.7), tail(0.72));
});

Deno.test(`rankBased() draws one pick from each stratum, best ranks first (seed ${SEED})`, async () => {
  const [count, size, batchCount] = [101, 16, 60_000];
  const priorities = somePriorities(count);
  using drawn = await subject(rankBased({ alpha: 0.7 }), count);
  drawn.prioritize(priorities);
  const weights = rankWeights(priorities, 0.7);
  const order = range(count).sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
  const rankOf = range(count).map((pick) => order.indexOf(pick));
  const counts = range(size).map(() => range(count).map(() => 0));
  for (const positions of drawn.draw(batchCount, size)) {
    for (const [k, position] of positions.entries()) {
      const [row, rank] = [counts[k], rankOf[position] ?? NaN];
      if (row !== undefined) row[rank] = (row[rank] ?? 0) + 1;
    }
  }
  const tail = (alpha: number): number => {
    const test = new ChiSquare();
    const byRank = range(count).map((rank) => (rank + 1) ** -alpha);
    for (const [k, shares] of strata(byRank, size).entries()) {
      test.add(counts[k] ?? [], shares.map((share) => share * batchCount));
    }
    return test.tail;
  };
  assertFits(tail(0.7), tail(0.71));
});

Deno.test(`recent() draws the newest equally often, and no other (seed ${SEED})`, async () => {
  const [count, window] = [1003, 300];
  using drawn = await subject(recent({ fraction: 0.3 }), count);
  const counts = range(count).map(() => 0);
  for (const positions of drawn.draw(40, 15_000)) {
    for (const position of positions) counts[position] = (counts[position] ?? 0) + 1;
  }
  const windowOf = (size: number): number[] => range(count).map((k) => k < count - size ? 0 : 1);
  assert(counts.every((times, k) => times === 0 || k >= count - window));
  const inside = counts.slice(count - window);
  const tilted = inside.map((_, k) => k % 2 === 0 ? 1.03 : 0.97);
  assertFits(tailOf(inside, inside.map(() => 1)), tailOf(inside, tilted));
  // A window with one pick more would be noticed: that one was never drawn.
  const larger = tailOf(counts.slice(count - window - 1), windowOf(window + 1).slice(-window - 1));
  assertLess(larger, TWIN_TAIL_MAX);
});

Deno.test(`recent() shrinks its window from batch to batch (seed ${SEED})`, async () => {
  const [count, size, batchCount, updates] = [500, 200, 6000, 12];
  using drawn = await subject(recent({ eta: 0.997, updates, newest: 30 }), count);
  const counts = range(updates).map(() => range(count).map(() => 0));
  let batch = 0;
  for (const positions of drawn.draw(batchCount, size)) {
    const row = counts[batch++ % updates] ?? [];
    for (const position of positions) row[position] = (row[position] ?? 0) + 1;
  }
  const tail = (eta: number): number => {
    const test = new ChiSquare();
    for (const [k, row] of counts.entries()) {
      const window = Math.max(30, Math.floor(count * eta ** (1000 * (k + 1) / updates)));
      const each = batchCount / updates * size / window;
      if (row.some((times, pick) => times > 0 && pick < count - window)) return 0;
      test.add(row.slice(count - window), range(window).map(() => each));
    }
    return test.tail;
  };
  assertFits(tail(0.997), tail(0.9972));
  assertLess(tail(0.9968), TWIN_TAIL_MAX);
});

Deno.test(`withoutReplacement() draws every sequence of different picks equally often (seed ${SEED})`, async () => {
  const [count, batchCount] = [7, 600_000];
  using drawn = await subject(withoutReplacement(), count);
  const counts = new Map<number, number>();
  for (const [a = 0, b = 0, c = 0] of drawn.draw(batchCount, 3)) {
    const key = (a * count + b) * count + c;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const triples = range(count ** 3).filter((key) => {
    const [a, b, c] = [Math.floor(key / count ** 2), Math.floor(key / count) % count, key % count];
    return a !== b && b !== c && a !== c;
  });
  assert([...counts.keys()].every((key) => triples.includes(key)), "a pick came twice in a batch");
  const seen = triples.map((key) => counts.get(key) ?? 0);
  const tilted = triples.map((key) => key % count < 3 ? 1.03 : 0.97);
  assertFits(tailOf(seen, seen.map(() => 1)), tailOf(seen, tilted));
});

Deno.test(`withoutReplacement() draws any two picks together equally often (seed ${SEED})`, async () => {
  const [count, size, batchCount] = [66, 40, 400_000];
  using drawn = await subject(withoutReplacement(), count);
  const counts = range(count ** 2).map(() => 0);
  for (const positions of drawn.draw(batchCount, size)) {
    const key = (positions[0] ?? 0) * count + (positions[size - 1] ?? 0);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  const pairs = range(count ** 2).filter((key) => Math.floor(key / count) !== key % count);
  const seen = pairs.map((key) => counts[key] ?? 0);
  assert(seen.reduce((sum, times) => sum + times, 0) === batchCount, "a pick came twice");
  // As if some two were drawn together a little more often than others.
  const tilted = pairs.map((key) => (Math.floor(key / count) + key) % 2 === 0 ? 1.06 : 0.94);
  assertFits(tailOf(seen, seen.map(() => 1)), tailOf(seen, tilted));
});

/** The result of two updates of all picks of one episode: p^alpha by the paper's two rules, with new picks of priority 1. */
function decayed(updates: readonly number[][], decay: number, retain: number): number[] {
  let p = (updates[0] ?? []).map(() => 1);
  for (const update of updates) {
    const own = update.map((delta, t) => Math.max(delta, retain * (p[t] ?? NaN)));
    p = own.map((priority, t) => {
      let largest = priority;
      for (let i = 1; i <= 5; i++) largest = Math.max(largest, decay ** i * (own[t + i] ?? 0));
      return largest;
    });
  }
  return powers(p, 0.6);
}

Deno.test(`pser() draws by priorities that decay backwards and fall slowly (seed ${SEED})`, async () => {
  const count = 777;
  const updates = [somePriorities(count), somePriorities(count).toReversed()];
  using drawn = await subject(pser({ alpha: 0.6, epsilon: 0, draw: "independent" }), count);
  for (const priorities of updates) drawn.prioritize(priorities);
  const counts = range(count).map(() => 0);
  for (const positions of drawn.draw(20, 50_000)) {
    for (const position of positions) counts[position] = (counts[position] ?? 0) + 1;
  }
  const tail = tailOf(counts, decayed(updates, 0.4, 0.7));
  assertFits(tail, tailOf(counts, decayed(updates, 0.42, 0.7)));
  assertFits(tail, tailOf(counts, decayed(updates, 0.4, 0.8)));
});

Deno.test(`curious() draws what was drawn seldom, and what has a large loss (seed ${SEED})`, async () => {
  const [count, size, batchCount] = [2003, 50, 1200];
  using drawn = await subject(curious({ draw: "independent" }), count);
  const losses = somePriorities(count);
  drawn.prioritize(losses);
  const terms = losses.map((loss) => (loss + 0.01) ** 0.7);

  // How many draws go to picks that were drawn 0, 1, 2, ... times before, and how many are due, batch by batch.
  const times = range(count).map(() => 0);
  const counts = range(60).map(() => 0);
  const add = (row: number[], pick: number, amount: number): void => {
    const bin = Math.min(times[pick] ?? NaN, row.length - 1);
    row[bin] = (row[bin] ?? NaN) + amount;
  };
  const betas = [0.7, 0.72];
  const expected = betas.map(() => range(60).map(() => 0));
  for (const positions of drawn.draw(batchCount, size)) {
    for (const [at, beta] of betas.entries()) {
      const weights = terms.map((term, k) => 1e4 * beta ** (times[k] ?? NaN) + term);
      const total = weights.reduce((a, b) => a + b, 0);
      for (const [k, weight] of weights.entries()) {
        add(expected[at] ?? [], k, size * weight / total);
      }
    }
    for (const position of positions) add(counts, position, 1);
    for (const position of positions) times[position] = (times[position] ?? NaN) + 1;
  }
  assert(Math.max(...times) > 25, "the novelty of picks has gone");
  const tails = expected.map((row) => {
    const test = new ChiSquare();
    test.add(counts, row);
    return test.tail;
  });
  assertFits(tails[0] ?? NaN, tails[1] ?? NaN);
});
