/** The goals that hindsight gives to picks: their sources, their frequencies, and the picks that keep their own. */
import { type HindsightStrategy, uniform } from "@exrp/replay";
import { assert, assertEquals, assertGreater, assertStrictEquals } from "../../_assert.ts";
import { ChiSquare } from "../../whole/statistics/chi_square.ts";
import { testRandom } from "../_helpers.ts";
import { flatReplay, goalReplay, recordGoals, sparse, STRATEGIES } from "./_hindsight_helpers.ts";

/** Where the goals of a pick may come from: positions of its own episode, or undefined for any record at all. */
function candidates(
  strategy: HindsightStrategy,
  last: number,
  first: number,
  end: number,
): readonly [number, number] | undefined {
  if (strategy === "random") return undefined;
  if (strategy === "final") return [end - 1, end - 1];
  return strategy === "future" ? [last, end - 1] : [first, end - 1];
}

for (const strategy of STRATEGIES) {
  for (const seed of [1, 2, 3]) {
    Deno.test(`${strategy}: each goal was achieved by a step that it may be of (seed ${seed})`, async () => {
      const random = testRandom(seed);
      const length = 1 + random(4);
      using replay = await goalReplay({
        length,
        capacity: 200,
        seed,
        allowOpenEnd: random(2) === 0,
      });
      const selector = replay.newPickSelector(uniform());
      let calls = 0;
      let asked = 0;
      const hindsight = replay.newHindsight({
        achieved: "achieved",
        desired: "desired",
        strategy,
        share: 0.7,
        reward: (achieved, desired, { count, row, batch }) => {
          calls++;
          asked = count;
          assertStrictEquals(achieved.length, 2 * count);
          assertStrictEquals(desired.length, 2 * count);
          for (const [k, at] of row.entries()) {
            const own = batch.extras.achieved.subarray(2 * at, 2 * at + 2);
            assertEquals(achieved.subarray(2 * k, 2 * k + 2), own);
            assertEquals([...batch.extras.desired.subarray(2 * at, 2 * at + 2)], [-1, -1]);
          }
          return Float64Array.from({ length: count }, (_, k) => 100 * k);
        },
      });
      let nth = 0;
      let [kept, relabelled] = [0, 0];
      for (let round = 0; round < 120; round++) {
        // The nth episode has handle n.
        for (let k = random(3); k >= 0; k--) {
          recordGoals(replay, nth++, 1 + random(30), random(4) > 0);
        }
        const batch = replay.getBatch(1 + random(40), selector);
        if (random(3) === 0) replay.evict(batch.pickEpisode[0] ?? -1);
        if (random(3) === 0) recordGoals(replay, nth++, 60);
        calls = 0;
        asked = 0;
        const result = hindsight.relabel(batch);
        assertStrictEquals(calls, result.count > 0 ? 1 : 0);
        let rows = 0;
        for (let k = 0; k < batch.size; k++) {
          const handle = batch.pickEpisode[k] ?? -1;
          const [goalEpisode, goalPosition] = [
            result.goalEpisode[k] ?? NaN,
            result.goalPosition[k] ?? NaN,
          ];
          if (result.mask[k] === 0) {
            assertEquals([goalEpisode, goalPosition], [-1, -1]);
            continue;
          }
          assert(replay.episode(handle).ending !== "evicted");
          const { recordCount, firstPosition } = replay.episode(handle);
          const seqLen = batch.seqLen[k] ?? 0;
          const last = (batch.pickPosition[k] ?? 0) + seqLen - 1;
          const range = candidates(strategy, last, firstPosition, firstPosition + recordCount);
          if (range !== undefined) {
            assertStrictEquals(goalEpisode, handle);
            assert(goalPosition >= range[0] && goalPosition <= range[1]);
          }
          const { firstPosition: from, recordCount: size } = replay.episode(goalEpisode);
          assert(goalPosition >= from && goalPosition < from + size);
          for (let step = 0; step < length; step++) {
            const row = k * length + step;
            const goal = [...batch.extras.desired.subarray(2 * row, 2 * row + 2)];
            if (step >= seqLen) assertEquals(goal, [0, 0]);
            else {
              assertEquals(goal, [goalEpisode, goalPosition + 1]);
              assertStrictEquals(batch.reward[row], 100 * rows++);
            }
          }
        }
        assertStrictEquals(rows, asked);
        kept += result.keptCount;
        relabelled += result.count;
      }
      assertGreater(kept, 5);
      assertGreater(relabelled, 1000);
    });
  }
}

/** How often each goal was chosen for a pick at `position` of an episode of 12, and the tail against `weights`. */
async function tailOf(
  strategy: HindsightStrategy,
  weights: (episode: number, position: number, of: number) => number,
): Promise<number> {
  using replay = await goalReplay({ seed: 5 });
  const sizes = [12, 5, 20];
  for (const [nth, size] of sizes.entries()) recordGoals(replay, nth, size);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    strategy,
    share: 1,
    reward: sparse,
  });
  const selector = replay.newPickSelector(uniform());
  const seen = new Map<string, number[]>();
  const all = sizes.flatMap((size, nth) => Array.from({ length: size }, (_, k) => [nth, k]));
  for (let round = 0; round < 100; round++) {
    const batch = replay.getBatch(1000, selector);
    const { goalEpisode, goalPosition } = hindsight.relabel(batch);
    for (let k = 0; k < batch.size; k++) {
      const key = `${batch.pickEpisode[k]} ${batch.pickPosition[k]}`;
      const counts = seen.get(key) ?? new Array<number>(all.length).fill(0);
      seen.set(key, counts);
      const at = all.findIndex(([e, p]) => e === goalEpisode[k] && p === goalPosition[k]);
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  const test = new ChiSquare();
  for (const [key, counts] of seen) {
    const [episode = 0, position = 0] = key.split(" ").map(Number);
    const due = all.map(([e = 0, p = 0]) => {
      const own = strategy === "random" || e === episode;
      return own ? weights(e, p, position) : 0;
    });
    const total = due.reduce((sum, weight) => sum + weight, 0);
    const drawn = counts.reduce((sum, count) => sum + count, 0);
    const possible = due.flatMap((weight, k) => weight > 0 ? [k] : []);
    assertStrictEquals(possible.reduce((sum, k) => sum + (counts[k] ?? 0), 0), drawn, key);
    test.add(
      possible.map((k) => counts[k] ?? 0),
      possible.map((k) => drawn * (due[k] ?? 0) / total),
    );
  }
  return test.tail;
}

const UNIFORM: readonly [
  HindsightStrategy,
  (episode: number, position: number, of: number) => number,
][] = [
  ["future", (_, position, of) => position >= of ? 1 : 0],
  ["episode", () => 1],
  ["random", () => 1],
];
for (const [strategy, weights] of UNIFORM) {
  Deno.test(`${strategy}: every step that may be chosen is as likely as the other (seed 5)`, async () => {
    assertGreater(await tailOf(strategy, weights), 1e-4);
    // The twin: each step 3 % of the first one's chance more likely than the one before.
    const twin = await tailOf(
      strategy,
      (episode, position, of) => weights(episode, position, of) * (1 + 0.03 * position),
    );
    assert(twin < 1e-9, `the twin passes: ${twin}`);
  });
}

Deno.test("share is the probability of being relabelled (seed 1)", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 0, 10);
  const selector = replay.newPickSelector(uniform());
  const count = (share: number | undefined): number => {
    const options = { achieved: "achieved", desired: "desired", reward: sparse } as const;
    const hindsight = replay.newHindsight(share === undefined ? options : { ...options, share });
    return hindsight.relabel(replay.getBatch(100_000, selector)).count;
  };
  assertStrictEquals(count(0), 0);
  assertStrictEquals(count(1), 100_000);
  for (const [share, due] of [[undefined, 80_000], [0.3, 30_000]] as const) {
    const test = new ChiSquare();
    const found = count(share);
    test.add([found, 100_000 - found], [due, 100_000 - due]);
    assertGreater(test.tail, 1e-4);
  }
});

Deno.test("a pick whose episode was evicted since keeps its goal and is counted", async () => {
  for (const strategy of STRATEGIES) {
    using replay = await goalReplay();
    const [gone, stays] = [recordGoals(replay, 0, 10), recordGoals(replay, 1, 10)];
    const hindsight = replay.newHindsight({
      achieved: "achieved",
      desired: "desired",
      strategy,
      share: 1,
      reward: sparse,
    });
    const batch = replay.getBatch(100, replay.newPickSelector(uniform()));
    replay.evict(gone);
    const result = hindsight.relabel(batch);
    const goneCount = batch.pickEpisode.filter((handle) => handle === gone).length;
    assertStrictEquals(result.keptCount, goneCount);
    assertStrictEquals(result.count, 100 - goneCount);
    for (let k = 0; k < 100; k++) {
      const isKept = batch.pickEpisode[k] === gone;
      assertStrictEquals(result.mask[k], isKept ? 0 : 1);
      assertStrictEquals(batch.extras.desired[2 * k], isKept ? -1 : 1);
      if (!isKept) assertStrictEquals(result.goalEpisode[k], stays);
    }
  }
});

Deno.test("goals in the state: what has no next state yet is no goal, and a pick that needs it keeps its own", async () => {
  for (const strategy of STRATEGIES) {
    using replay = await flatReplay(true);
    const episode = replay.newEpisode();
    for (let step = 0; step < 4; step++) replay.record(episode, [step, 10 + step, 99], 0, -1);
    const hindsight = replay.newHindsight({
      achieved: { state: [1, 2] },
      desired: { state: [2, 3] },
      strategy,
      share: 1,
      reward: (achieved) => achieved,
    });
    const batch = replay.getBatch(200, replay.newPickSelector(uniform()));
    const result = hindsight.relabel(batch);
    let kept = 0;
    for (let k = 0; k < 200; k++) {
      const isKnown = batch.nextSeqLen[k] === batch.seqLen[k];
      if (!isKnown) kept++;
      assertStrictEquals(result.mask[k], isKnown ? 1 : 0);
      assert((result.goalPosition[k] ?? 9) <= 2);
      const first = batch.state.subarray(6 * k, 6 * k + 3);
      const goal = isKnown ? 11 + (result.goalPosition[k] ?? 0) : 99;
      assertStrictEquals(first[2], goal);
    }
    assertStrictEquals(result.keptCount, kept);
    assert(kept > 20 && kept < 180);
  }
});
