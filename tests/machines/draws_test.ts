/**
 * Draws from shards are those from one replay: how often each record comes, how likely it is said to be, and what weighted means come to, even where all sums are
 * old. `EXRP_MACHINE_DRAWS` draws more, and `EXRP_MACHINE_SEED` is the seed.
 *
 * @module
 */

import { type Batch, prioritized, uniform } from "@exrp/replay";
import { type Connection, connectShards, localConnection, type Shards } from "@exrp/replay/shards";
import { assert, assertEquals } from "../_assert.ts";
import { testRandom } from "../replay/_helpers.ts";
import { Fabric } from "../shards/_fabric.ts";
import { type LocalShard, localShard, withSums } from "../shards/_local.ts";
import { ChiSquare, chiSquareTail } from "../whole/statistics/chi_square.ts";

const DRAWS = Number(Deno.env.get("EXRP_MACHINE_DRAWS") ?? 300_000);
const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
const SIZE = Math.min(10_000, DRAWS / 20);
const BETA = 0.5;
/** The records of four shards of very different sizes: the reward of record n is n. */
const ENDS = [1, 6, 406, 1206, 1601];
const NUMBERS = Array.from({ length: 1600 }, (_, k) => k + 1);

/**
 * Four shards, and one replay that has all their records. They are on a simulated network, because a machine that stands still would make a learner leave shards out.
 */
function withShards(
  rule: unknown,
  run: (learner: Shards, whole: LocalShard) => Promise<void>,
  change = (connection: Connection): Connection => connection,
): Promise<void> {
  const fabric = new Fabric({ seed: SEED });
  return fabric.run(() => withConnection(change(fabric.peer("all").connect()), rule, run));
}

async function withConnection(
  connection: Connection,
  rule: unknown,
  run: (learner: Shards, whole: LocalShard) => Promise<void>,
): Promise<void> {
  const part = (from: number, to: number): number[] => NUMBERS.slice(from - 1, to - 1);
  const names = ["a", "b", "c", "d"];
  const shards = await Promise.all(
    names.map((name, k) =>
      localShard(connection, name, part(ENDS[k] ?? 0, ENDS[k + 1] ?? 0), { seed: SEED + k }, rule)
    ),
  );
  await using whole = await localShard(localConnection(), "w", NUMBERS, { seed: SEED + 9 }, rule);
  {
    await using learner = await connectShards(connection, { shards: 4, seed: SEED });
    await run(learner, whole);
  }
  for (const shard of shards) await shard[Symbol.asyncDispose]();
}

/** Counts the draws of each number, and checks what each batch says of them. */
class Counts {
  readonly counts: number[] = Array<number>(NUMBERS.length).fill(0);
  total = 0;

  add(
    batch: Batch,
    weightOf: (number: number) => number,
    weights: number,
  ): void {
    const { probability, importanceWeight } = batch;
    const rewards = batch.reward as Float32Array;
    const least = probability.reduce((a, b) => Math.min(a, b));
    for (const [k, n] of rewards.entries()) {
      this.counts[n - 1] = (this.counts[n - 1] ?? 0) + 1;
      const p = probability[k] ?? NaN;
      const right = weightOf(n) / weights;
      if (!(Math.abs(p / right - 1) < 1e-5)) {
        throw new Error(`record ${n} has the probability ${p}, and not ${right}`);
      }
      const weight = (least / p) ** BETA;
      const found = importanceWeight[k] ?? NaN;
      if (!(Math.abs(found - weight) < 1e-5)) {
        throw new Error(`record ${n} weighs ${found}, and not ${weight}`);
      }
    }
    this.total += rewards.length;
  }
}

function tailOf(counts: readonly number[], expected: readonly number[]): number {
  const test = new ChiSquare();
  test.add(counts, expected);
  return test.tail;
}

/** The sums of what the records of each shard have. */
function byShard(values: readonly number[]): number[] {
  return ENDS.slice(1).map((end, k) =>
    values.slice((ENDS[k] ?? 0) - 1, end - 1).reduce((sum, each) => sum + each, 0)
  );
}

/** How likely two rows of counts are, if both have one distribution. */
function twoSamples(one: Counts, other: Counts): number {
  const scale = Math.sqrt(other.total / one.total);
  let [statistic, freedom] = [0, -1];
  for (const [k, a] of one.counts.entries()) {
    const b = other.counts[k] ?? 0;
    if (a + b < 10) continue;
    statistic += (scale * a - b / scale) ** 2 / (a + b);
    freedom++;
  }
  return chiSquareTail(statistic, freedom);
}

for (
  const [name, rule, weightOf] of [
    ["prioritized", prioritized({ alpha: 1, epsilon: 0, draw: "independent" }), (n: number) => n],
    ["uniform", uniform(), () => 1],
  ] as const
) {
  Deno.test(`${DRAWS} ${name} draws from four shards are those from one replay (seed ${SEED})`, async () => {
    await withShards(rule, async (learner, whole) => {
      const weights = NUMBERS.reduce((sum, n) => sum + weightOf(n), 0);
      const [ours, one] = [new Counts(), new Counts()];
      const [selector] = whole.replay.selectors;
      if (selector === undefined) throw new Error("there is no selector");
      for await (const batch of learner.batches(SIZE, { beta: BETA, prefetch: 2 })) {
        ours.add(batch, weightOf, weights);
        if (ours.total >= DRAWS) break;
      }
      while (one.total < DRAWS) {
        one.add(whole.replay.getBatch(SIZE, selector, { beta: BETA }), weightOf, weights);
      }
      const expected = NUMBERS.map((n) => ours.total * weightOf(n) / weights);
      // By record, by shard, and beside the one replay.
      const tails = [
        tailOf(ours.counts, expected),
        tailOf(byShard(ours.counts), byShard(expected)),
        twoSamples(ours, one),
      ];
      const words = tails.map((tail) => tail.toFixed(4)).join(", ");
      console.log(`${ours.total} ${name} draws: tails ${words}`);
      for (const tail of tails) assert(tail > 1e-5, `a tail is ${tail}`);
      // If the last shard gave 3 % too little, it would be found.
      const tilted = byShard(expected).map((count, k) => k === 3 ? count * 0.97 : count);
      const scale = ours.total / tilted.reduce((sum, each) => sum + each, 0);
      const wrong = tailOf(byShard(ours.counts), tilted.map((count) => count * scale));
      assert(wrong < 1e-5, `the twin's tail is ${wrong}`);
      assertEquals(learner.figures().redrawn, 0);
    });
  });
}

Deno.test(`weighted means of ${DRAWS} draws have no bias where all sums are old (seed ${SEED})`, async () => {
  const random = testRandom(SEED);
  const rule = prioritized({ alpha: 1, epsilon: 0, draw: "independent" });
  await withShards(rule, async (learner) => {
    // Of each shard, the share of its records in all of them; and the mean of all numbers.
    const values: readonly ((n: number) => number)[] = [
      (n) => n,
      ...ENDS.slice(1).map((end, k) => (n: number) => n >= (ENDS[k] ?? 0) && n < end ? 1 : 0),
    ];
    const sums = values.map(() => [0, 0] as [number, number]);
    let [total, naive] = [0, 0];
    for await (const batch of learner.batches(SIZE, { prefetch: 2 })) {
      const { probability } = batch;
      for (const [k, n] of (batch.reward as Float32Array).entries()) {
        const weight = 1 / (NUMBERS.length * (probability[k] ?? NaN));
        for (const [v, value] of values.entries()) {
          const sum = sums[v] as [number, number];
          const estimate = value(n) * weight;
          sum[0] += estimate;
          sum[1] += estimate ** 2;
        }
        naive += n;
      }
      total += batch.size;
      if (total >= DRAWS) break;
    }
    const told: string[] = [];
    for (const [v, value] of values.entries()) {
      const mean = NUMBERS.reduce((sum, n) => sum + value(n), 0) / NUMBERS.length;
      const [sum, squares] = sums[v] as [number, number];
      const error = Math.sqrt((squares / total - (sum / total) ** 2) / total);
      const off = (sum / total - mean) / error;
      told.push(off.toFixed(2));
      assert(Math.abs(off) < 5, `${sum / total} is not ${mean} ± ${error}`);
    }
    console.log(`${total} draws by old sums: means are off by ${told.join(", ")} standard errors`);
    // The means of the draws themselves are far off, so the weights matter.
    const right = NUMBERS.reduce((sum, n) => sum + n * n, 0) /
      NUMBERS.reduce((sum, n) => sum + n, 0);
    assert(Math.abs(naive / total / right - 1) > 0.1, `${naive / total} is near ${right}`);
  }, (connection) => withSums(connection, () => 1 + random(50)));
});
