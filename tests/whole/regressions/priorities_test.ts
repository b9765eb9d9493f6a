/** Bugs of other libraries with priorities, and with the trees that hold them. */

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLess,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import {
  ExperienceReplay,
  prioritized,
  rankBased,
  ucb,
  uint8,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import { RandomStream } from "@exrp/replay/selectors";
import { assertCode, range, recordEpisode, small } from "./_helpers.ts";

const proportional = { alpha: 1, epsilon: 0 } as const;

Deno.test("flashbax#52: sums do not drift, however many updates there were", async () => {
  // Differences added up in float32 drifted until batches of zero priority came out.
  using replay = await small({ capacity: 100, segmentLength: 100 });
  const selector = replay.newPickSelector(prioritized(proportional));
  const episode = recordEpisode(replay, 0, 100);
  const random = new RandomStream(3);
  const episodes = new Float64Array(100).fill(episode);
  const positions = Int32Array.from(range(100));
  for (const _ of range(2000)) {
    const priorities = Float64Array.from(range(100), () => 10 ** random.below(30));
    replay.setPriority(selector, episodes, positions, priorities);
  }
  replay.setPriority(selector, episodes, positions, new Float64Array(100).fill(1e-6));
  const { probability, importanceWeight } = replay.getBatch(100, selector);
  assertEquals(new Set(probability), new Set([Math.fround(1 / 100)]));
  assertEquals(new Set(importanceWeight), new Set([1]));
});

Deno.test("pytorch/rl#2230: rounding never leads to a pick that is not there or of priority 0", async () => {
  // The descent of a float32 tree returned an index that was never written; it was worked round by clamping.
  using replay = await small({ capacity: 1000, segmentLength: 200 });
  const selector = replay.newPickSelector(prioritized({ ...proportional, draw: "independent" }));
  const episode = recordEpisode(replay, 0, 130);
  const priorities = range(130).map((k) => k % 3 === 0 ? 0 : 10 ** ((k * 37) % 60 - 30));
  replay.setPriority(selector, priorities.map(() => episode), range(130), priorities);
  for (const _ of range(200)) {
    const { pickPosition, probability } = replay.getBatch(100, selector);
    assert(pickPosition.every((position) => position < 130 && position % 3 !== 0));
    assert(probability.every((value) => value > 0 && value <= 1));
  }
});

Deno.test("MorvanZhou#183: picks that do not exist yet have no part in the weights", async () => {
  // The smallest probability was taken over unused leaves of 0 too, so that importance weights became 0.
  using replay = await small({ capacity: 1000, segmentLength: 200 });
  const selector = replay.newPickSelector(prioritized({ ...proportional, normalize: "view" }));
  const episode = recordEpisode(replay, 0, 3);
  replay.setPriority(selector, [episode, episode, episode], [0, 1, 2], [1, 2, 0]);
  const { importanceWeight, pickPosition } = replay.getBatch(30, selector, { beta: 1 });
  for (const [k, position] of pickPosition.entries()) {
    assertStrictEquals(importanceWeight[k], position === 0 ? 1 : 0.5);
  }
});

Deno.test("pytorch/rl#3925: alpha is applied once", async () => {
  // For years priorities were raised to alpha when they were set and again when they were drawn by.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized({ alpha: 0.5, epsilon: 0 }));
  const episode = recordEpisode(replay, 0, 2);
  replay.setPriority(selector, [episode, episode], [0, 1], [1, 9]);
  const { probability, pickPosition } = replay.getBatch(40, selector);
  for (const [k, position] of pickPosition.entries()) {
    assertStrictEquals(probability[k], position === 0 ? 0.25 : 0.75);
  }
});

Deno.test("cpprb 1.5.9: at 2^22 equal priorities no pick is starved", async () => {
  // A tree of float32 sums was searched with one float32 random number. Of 2^24 picks, 7.5 % were never drawn. From 2^22
  // picks on, draws were more uneven than chance (variance over mean 1.13).
  const count = 2 ** 22;
  const perPick = 4;
  using replay = await ExperienceReplay.create({
    capacity: count,
    state: uint8(),
    action: uint8(),
    reward: uint8(),
    segmentLength: 1024,
    pick: { allowOpenEnd: true },
    seed: 11,
  });
  const selector = replay.newPickSelector(prioritized({ draw: "independent" }));
  let episode = replay.newEpisode();
  for (let k = 0; k < count; k++) episode = replay.record(episode, 0, 0, 0);
  assertStrictEquals(replay.pickCount, count);

  const draws = new Uint8Array(count);
  let batch = replay.getBatch(2 ** 16, selector);
  for (let drawn = 0; drawn < perPick * count; drawn += batch.size) {
    batch = replay.getBatch(2 ** 16, selector, { into: batch });
    const { pickEpisode, pickPosition } = batch;
    for (let k = 0; k < batch.size; k++) {
      const index = (pickEpisode[k] ?? 0) * 1024 + (pickPosition[k] ?? 0);
      draws[index] = (draws[index] ?? 0) + 1;
    }
  }
  let never = 0;
  let squares = 0;
  for (const times of draws) {
    if (times === 0) never++;
    squares += (times - perPick) ** 2;
  }
  // Of a fair draw: variance over mean 1 with a deviation of sqrt(2 / count) = 0.0007; never drawn e^-4 of all.
  assertAlmostEquals(squares / count / perPick, 1, 0.005);
  const expected = count * Math.exp(-perPick);
  assertLess(Math.abs(never - expected), 6 * Math.sqrt(expected));
});

Deno.test("cpprb 1.5.13: NaN, negative and infinite priorities are refused and poison nothing", async () => {
  // One NaN made every later draw slot 0 with NaN weights, one infinity the last slot; nothing was validated.
  using replay = await small();
  const rules = [prioritized(proportional), prioritized(), ucb(), uniform()];
  const selectors = rules.map((rule) => replay.newPickSelector(rule));
  const episode = recordEpisode(replay, 0, 3);
  for (const selector of selectors) {
    for (const invalid of [NaN, -1, -1e-300, Infinity, -Infinity]) {
      for (const given of [[5, invalid, 1], Float32Array.of(5, invalid || NaN, -1)]) {
        assertCode(
          () => replay.setPriority(selector, [episode, episode, episode], [0, 1, 2], given),
          "invalid-priority",
        );
      }
    }
    const { probability, importanceWeight } = replay.getBatch(30, selector);
    if (selector.kind !== "ucb") assertEquals(new Set(probability), new Set([Math.fround(1 / 3)]));
    assertEquals(new Set(importanceWeight), new Set([1]));
  }
});

Deno.test("cpprb 1.5.12: positions out of range reach nothing, unequal lengths are refused", async () => {
  // update_priorities wrote outside the tree for an index out of range, and read past the end of a shorter array.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized(proportional));
  const episode = recordEpisode(replay, 0, 3);
  const far = [3, 1000, 2 ** 31 - 1];
  assertStrictEquals(replay.setPriority(selector, far.map(() => episode), far, [9, 9, 9]), 0);
  assertStrictEquals(replay.setPriority(selector, [], [], []), 0);
  assertThrows(() => replay.setPriority(selector, [0], [0, 1], [1, 1]), RangeError);
  assertThrows(() => replay.setPriority(selector, [0, 0], [0, 1], [1]), RangeError);
  assertThrows(() => replay.setPriority(selector, [episode], [-1], [1]), RangeError);
  assertEquals(new Set(replay.getBatch(30, selector).probability), new Set([Math.fround(1 / 3)]));
});

Deno.test("cpprb 1.5.14: a batch of an empty table is an error with every rule, never a hang", async () => {
  // With an empty table, one buffer threw, one returned rows that were never added, and one hung for ever.
  using replay = await small();
  for (const rule of [uniform(), prioritized(), ucb(), ucb({ mode: "proportional" })]) {
    const selector = replay.newPickSelector(rule);
    assertCode(() => replay.getBatch(8, selector), "empty");
  }
  const episode = recordEpisode(replay, 0, 5);
  for (const selector of replay.selectors) assertStrictEquals(replay.getBatch(8, selector).size, 8);
  replay.evict(episode);
  for (const selector of replay.selectors) assertCode(() => replay.getBatch(8, selector), "empty");
});

Deno.test("cpprb 1.5.10: a priority for a pick that was evicted goes nowhere, and is counted", async () => {
  // The stale half of two batches in flight overwrote the priority of whatever had taken the evicted row's place.
  using replay = await small({ capacity: 4, segmentLength: 2 });
  const selector = replay.newPickSelector(prioritized(proportional));
  const gone = recordEpisode(replay, 0, 2);
  const { pickEpisode, pickPosition } = replay.getBatch(4, selector);
  recordEpisode(replay, 1, 2);
  const there = recordEpisode(replay, 2, 2); // in the place of the first
  assertStrictEquals(replay.episode(gone).ending, "evicted");
  assertStrictEquals(replay.setPriority(selector, pickEpisode, pickPosition, [7, 7, 7, 7]), 0);
  const applied = replay.setPriority(selector, [gone, there, gone], [0, 1, 1], [7, 3, 7]);
  assertStrictEquals(applied, 1);
  const { probability } = replay.getBatch(60, selector);
  assertEquals(new Set(probability), new Set([1 / 6, 1 / 2].map(Math.fround)));
});

Deno.test("docs/internals/decisions/selectors.md: a new pick has the largest priority set so far, even of one that is gone", async () => {
  // Every library decides otherwise which maximum a new pick gets; here it is the running one.
  using replay = await small({ capacity: 4, segmentLength: 2 });
  const selector = replay.newPickSelector(prioritized(proportional));
  const first = recordEpisode(replay, 0, 1);
  replay.setPriority(selector, [first, first], [0, 0], [8, 2]);
  replay.evict(first);
  const second = recordEpisode(replay, 1, 2);
  replay.setPriority(selector, [second], [0], [2]);
  const { probability, pickPosition } = replay.getBatch(50, selector);
  for (const [k, position] of pickPosition.entries()) {
    assertAlmostEquals(probability[k] ?? NaN, position === 0 ? 0.2 : 0.8, 1e-7);
  }
});

Deno.test("flashbax#52: when all priorities are 0 draws are uniform", async () => {
  // All-zero batches came out where the sum of priorities had become 0.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized(proportional));
  const episode = recordEpisode(replay, 0, 4);
  replay.setPriority(selector, range(4).map(() => episode), range(4), [0, 0, 0, 0]);
  const { probability, pickPosition } = replay.getBatch(200, selector);
  assertEquals(new Set(probability), new Set([0.25]));
  assertEquals(new Set(pickPosition), new Set([0, 1, 2, 3]));
});

Deno.test("docs/internals/decisions/selectors.md: the last of several priorities for one pick stays", async () => {
  // With sampling with replacement a batch holds a pick twice; which of its two priorities stays must not be chance.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized(proportional));
  const episode = recordEpisode(replay, 0, 2);
  const same = range(100).map(() => episode);
  replay.setPriority(selector, same, same.map(() => 0), range(100).map((k) => k === 99 ? 3 : 50));
  replay.setPriority(selector, [episode], [1], [1]);
  const { probability, pickPosition } = replay.getBatch(40, selector);
  for (const [k, position] of pickPosition.entries()) {
    assertStrictEquals(probability[k], position === 0 ? 0.75 : 0.25);
  }
});

Deno.test("flashbax#51: a batch says probabilities, not priorities", async () => {
  // The priority was returned as the probability, so importance weights were wrong.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized(proportional));
  const episode = recordEpisode(replay, 0, 3);
  replay.setPriority(selector, range(3).map(() => episode), range(3), [2, 6, 12]);
  const { probability, importanceWeight, pickPosition } = replay.getBatch(60, selector, {
    beta: 1,
  });
  for (const [k, position] of pickPosition.entries()) {
    const expected = [0.1, 0.3, 0.6][position] ?? NaN;
    assertStrictEquals(probability[k], Math.fround(expected));
    assertAlmostEquals(importanceWeight[k] ?? NaN, 0.1 / expected, 1e-6);
  }
});

Deno.test("flashbax#58: the largest priority is kept as it is, not rounded to a whole number", async () => {
  // New transitions got the largest priority rounded to an integer.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized(proportional));
  const first = recordEpisode(replay, 0, 1);
  replay.setPriority(selector, [first], [0], [2.625]);
  recordEpisode(replay, 1, 1);
  assertEquals(new Set(replay.getBatch(20, selector).probability), new Set([0.5]));
});

Deno.test("pytorch/rl#2211: the priority of a new pick becomes a weight as one that was set does", async () => {
  // A new sample's priority was written twice, once as it was and once raised to alpha.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized({ alpha: 0.5, epsilon: 0.25 }));
  const first = recordEpisode(replay, 0, 2);
  replay.setPriority(selector, [first, first], [0, 1], [8.75, 0.75]);
  recordEpisode(replay, 1, 1);
  const { probability, state } = replay.getBatch(70, selector);
  for (const [k, value] of state.entries()) {
    // (8.75 + 0.25)^0.5 = 3 for the largest and for the new one, (0.75 + 0.25)^0.5 = 1 for the other.
    assertAlmostEquals(probability[k] ?? NaN, value === 1 ? 1 / 7 : 3 / 7, 1e-7);
  }
});

Deno.test("pytorch/rl#2210: where errors are small, new picks need not begin with priority 1", async () => {
  // The largest priority began with 1, so that beside errors near 0 every new sample was drawn at once, with a weight of nothing.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized({ ...proportional, initialPriority: 0.01 }));
  const first = recordEpisode(replay, 0, 2);
  replay.setPriority(selector, [first, first], [0, 1], [0.03, 0.02]);
  recordEpisode(replay, 1, 1);
  const { probability, state } = replay.getBatch(80, selector);
  for (const [k, value] of state.entries()) {
    assertAlmostEquals(probability[k] ?? NaN, value === 1 ? 2 / 8 : 3 / 8, 1e-6);
  }
});

Deno.test("ElegantRL#257: importance weights are numbers whatever the priorities", async () => {
  // With prioritized replay of several environments the weights were sometimes NaN.
  for (const normalize of ["batch", "view"] as const) {
    using replay = await small();
    const selector = replay.newPickSelector(prioritized({ ...proportional, normalize }));
    const episode = recordEpisode(replay, 0, 6);
    for (
      const priorities of [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1e-300],
        [1e-38, 1e38, 1, 0, 1e300, 1e-300],
        [5e-324, 5e-324, 5e-324, 5e-324, 5e-324, 5e-324],
        [1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308],
      ]
    ) {
      replay.setPriority(selector, range(6).map(() => episode), range(6), priorities);
      for (const beta of [0, 0.4, 1]) {
        const { importanceWeight, probability } = replay.getBatch(100, selector, { beta });
        // Of a weight below what float32 can say, 0 is the nearest.
        assert(importanceWeight.every((weight) => weight >= 0 && weight <= 1));
        if (normalize === "batch") assertStrictEquals(Math.max(...importanceWeight), 1);
        assert(probability.every((value) => value > 0 && value <= 1));
      }
    }
  }
});

Deno.test("ElegantRL#298, #329: a batch may be larger than what is stored", async () => {
  // The index of a draw was out of range when the batch was larger than what had been collected so far.
  using replay = await small();
  const rules = [
    prioritized(),
    prioritized({ draw: "independent" }),
    rankBased(),
    ucb(),
    uniform(),
  ];
  const selectors = rules.map((rule) => replay.newPickSelector(rule));
  const strict = replay.newPickSelector(withoutReplacement());
  recordEpisode(replay, 0, 3);
  for (const selector of selectors) {
    const { state, size } = replay.getBatch(512, selector);
    assertStrictEquals(size, 512);
    assertEquals(new Set(state), new Set([0, 1, 2]));
  }
  assertCode(() => replay.getBatch(512, strict), "batch-size");
});
