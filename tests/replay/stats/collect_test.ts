/** Every number of stats() is that of a slow, plain computation. */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../../_assert.ts";
import {
  combined,
  curious,
  ExperienceReplay,
  float32,
  highestPriority,
  laber,
  mixture,
  newest,
  prioritized,
  rankBased,
  recent,
  ReplayError,
  type Selector,
  ucb,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { PickSelector } from "@exrp/replay/selectors";
import type { Histogram, PickNumbers } from "@exrp/replay/stats";
import { testRandom } from "../_helpers.ts";

/** The counts of values between edges, one by one. */
function countsOf({ edges }: Histogram, values: readonly number[]): number[] {
  return edges.slice(1).map((end, k) =>
    values.filter((value) => value >= (edges[k] ?? 0) && value < end).length
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** The smallest value that at least half of the values do not exceed. */
function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)
    .find((value) => 2 * values.filter((other) => other <= value).length >= values.length) ?? 0;
}

/** A rule in TypeScript that draws one pick after the other. */
function inTurn(tellsPriorities = false): PickSelector {
  const priorities: number[] = [];
  let count = 0;
  let next = 0;
  return {
    name: "inTurn",
    weighted: false,
    pushed: () => void count++,
    moved: () => {},
    popped: () => void count--,
    setPriority: (indices, values) =>
      indices.forEach((index, k) => priorities[index] = values[k] ?? NaN),
    ...(tellsPriorities
      ? { getPriority: (indices) => Array.from(indices, (index) => priorities[index] ?? NaN) }
      : {}),
    select: (size, { index, probability }) => {
      for (let k = 0; k < size; k++) index[k] = next++ % count;
      probability.fill(1 / count);
    },
    save: () => new Uint8Array(),
    load: () => {},
  };
}

Deno.test("stats() of records, episodes and ages are those of a list of all records", async () => {
  const seed = 261123;
  const whole = testRandom(seed);
  const random = (): number => whole(2 ** 20) / 2 ** 20;
  using replay = await ExperienceReplay.create({ capacity: 3000, state: float32(1) });
  /** When each record was written, by episode. */
  const births = new Map<number, number[]>();
  const ended = new Set<number>();
  let written = 0;
  for (let episodeCount = 0; episodeCount < 150; episodeCount++) {
    let episode = replay.newEpisode();
    const length = 1 + Math.floor(60 * random());
    for (let t = 0; t < length; t++) {
      const options = t === length - 1 && episodeCount < 149 ? { finalState: [0] } : undefined;
      episode = options === undefined
        ? replay.record(episode, [t], 0, 0)
        : replay.record(episode, [t], 0, 0, options);
      births.set(episode, [...births.get(episode) ?? [], written++]);
      if (options !== undefined) ended.add(episode);
    }
  }
  const live = [...replay.episodes().handle];
  const lengths = live.map((episode) => replay.episode(episode).recordCount);
  const ages = live.flatMap((episode) =>
    (births.get(episode) ?? []).slice(-replay.episode(episode).recordCount)
      .map((birth) => written - 1 - birth)
  );
  const { records, bytes, episodes, ages: found } = replay.stats();
  const note = `seed ${seed}`;
  assertEquals(records, {
    stored: ages.length,
    capacity: 3000,
    fill: ages.length / 3000,
    written,
  }, note);
  assertEquals(bytes.memory, replay.memoryBytes, note);
  assertEquals(bytes.stored, replay.describe().memory.stored, note);
  assertEquals(bytes.capacity, undefined);
  assertEquals(episodes, {
    stored: live.length,
    open: live.filter((episode) => !ended.has(episode)).length,
    ended: live.filter((episode) => ended.has(episode)).length,
    evicted: replay.describe().evictedCount,
    meanLength: sum(lengths) / live.length,
    medianLength: median(lengths),
    longestLength: Math.max(...lengths),
  }, note);
  assertEquals(found.count, ages.length, note);
  assertAlmostEquals(found.mean, sum(ages) / ages.length, 1e-9, note);
  assertEquals([found.median, found.largest], [median(ages), Math.max(...ages)], note);
  assertEquals(found.histogram.counts, countsOf(found.histogram, ages), note);
  assertEquals(sum(found.histogram.counts), ages.length, note);
});

Deno.test("ages of episodes that are recorded in turn are at most 15 (m - 1) too high", async () => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(1) });
  const handles = Float64Array.from({ length: 8 }, () => replay.newEpisode());
  const steps = {
    state: new Float32Array(8),
    action: new Int32Array(8),
    reward: new Float32Array(8),
  };
  for (let t = 0; t < 100; t++) replay.recordBatch(handles, steps);
  const { ages } = replay.stats();
  assert(ages.mean >= 399.5 && ages.mean <= 399.5 + 15 * 7, `${ages.mean}`);
  assert(ages.largest >= 799 && ages.largest <= 799 + 15 * 7, `${ages.largest}`);
});

Deno.test("the noted draws are the drawn picks and their ages at the time of the draw", async () => {
  const seed = 261123;
  const whole = testRandom(seed);
  const random = (): number => whole(2 ** 20) / 2 ** 20;
  using replay = await ExperienceReplay.create({ capacity: 500, state: float32(1), seed });
  const selectors = [
    replay.newPickSelector(uniform()),
    replay.newPickSelector(inTurn()),
    replay.newPickSelector(
      mixture([{ rule: uniform(), share: 0.5 }, { rule: prioritized(), share: 0.5 }]),
    ),
    replay.newPickSelector(laber({ score: (candidates) => candidates.reward })),
  ];
  const ages = selectors.map((): number[] => []);
  const picks = selectors.map((): string[] => []);
  let written = 0;
  for (let turn = 0; turn < 30; turn++) {
    let episode = replay.newEpisode();
    const length = 1 + Math.floor(40 * random());
    for (let t = 0; t < length; t++) {
      // A record's state says when it was written.
      const end = t === length - 1 ? { finalState: [0] } : {};
      episode = replay.record(episode, [written++], 0, 1 + random(), end);
    }
    for (const [k, selector] of selectors.entries()) {
      const batch = replay.getBatch(32, selector);
      for (const [at, birth] of batch.state.entries()) {
        ages[k]?.push(written - 1 - birth);
        picks[k]?.push(`${batch.pickEpisode[at]} ${batch.pickPosition[at]}`);
      }
    }
  }
  const stats = replay.stats();
  for (const [k, selector] of selectors.entries()) {
    const note = `${selector.kind}, seed ${seed}`;
    const noted = stats.selectors[selector.id]?.noted;
    const expected = ages[k] ?? [];
    const times = Map.groupBy(picks[k] ?? [], (pick) => pick);
    const counts = [...times.values()].map((each) => each.length);
    assertEquals(noted?.count, 30 * 32, note);
    assertEquals(noted?.distinctCount, times.size, note);
    assertEquals(noted?.mostCount, Math.max(...counts), note);
    assertEquals(
      noted?.repeats,
      Array.from(
        { length: 8 },
        (_, r) => counts.filter((count) => r === 7 ? count >= 8 : count === r + 1).length,
      ),
      note,
    );
    assertAlmostEquals(noted?.ages.mean ?? NaN, sum(expected) / expected.length, 1e-9, note);
    assertEquals(noted?.ages.median, median(expected), note);
    assertEquals(noted?.ages.largest, Math.max(...expected), note);
    assertEquals(
      noted?.ages.histogram.counts,
      countsOf(noted?.ages.histogram as Histogram, expected),
      note,
    );
    assertEquals(noted?.ages.histogram.edges, stats.ages.histogram.edges, note);
  }
});

Deno.test("of many batches a sample is noted, which has the mean age of all draws", async () => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(1), seed: 3 });
  let episode = replay.newEpisode();
  for (let t = 0; t < 1000; t++) episode = replay.record(episode, [t], 0, 0);
  const selector = replay.newPickSelector(uniform());
  for (let k = 0; k < 32; k++) replay.getBatch(100, selector);
  assertEquals(replay.stats().selectors[0]?.noted.count, 1024); // 32 of each
  for (let k = 0; k < 400; k++) replay.getBatch(100, selector);
  assertEquals(replay.stats().selectors[0]?.noted.count, 1024 + 8 * 50); // 8 of every eighth
  for (let k = 0; k < 9600; k++) replay.getBatch(8, selector);
  const [drawn] = replay.stats().selectors;
  assertEquals(drawn?.noted.count, 2048);
  assertEquals(drawn?.drawnCount, 43_200 + 9600 * 8);
  // The standard error of the mean is 1000 / sqrt(12 · 2048) = 6.4.
  assertAlmostEquals(drawn?.noted.ages.mean ?? 0, replay.stats().ages.mean, 35);
});

Deno.test("weights are those that priorities make, and the effective sample size is (Σw)² / Σw²", async () => {
  const seed = 261123;
  const whole = testRandom(seed);
  const random = (): number => whole(2 ** 20) / 2 ** 20;
  using replay = await ExperienceReplay.create({
    capacity: 500,
    state: float32(1),
    segmentLength: 500,
  });
  const [alpha, epsilon] = [0.7, 0.01];
  const byPriority = replay.newPickSelector(prioritized({ alpha, epsilon }));
  const byRank = replay.newPickSelector(rankBased({ alpha }));
  const equal = [replay.newPickSelector(uniform()), replay.newPickSelector(withoutReplacement())];
  const news = replay.newPickSelector(curious({ pMax: 5 }));
  const [highest, byBound, own] = [highestPriority(), ucb(), inTurn(true)]
    .map((rule) => replay.newPickSelector(rule)) as [Selector, Selector, Selector];
  const others = [
    newest(),
    recent({ newest: 10 }),
    mixture([{ rule: uniform(), share: 1 }]),
    combined({ rest: uniform() }),
    inTurn(),
  ]
    .map((rule) => replay.newPickSelector(rule));
  const count = 300;
  let episode = replay.newEpisode();
  const handles = Array.from(
    { length: count + 1 },
    (_, t) => episode = replay.record(episode, [t], 0, 0),
  );
  const priorities = Array.from({ length: count }, () => 10 ** (6 * random() - 3));
  const positions = handles.slice(0, count).map((_, t) => t);
  for (const selector of [byPriority, byRank, highest, byBound, own]) {
    replay.setPriority(selector, handles.slice(0, count), positions, priorities);
  }
  replay.setPriority(news, handles.slice(0, 7), positions.slice(0, 7), priorities.slice(0, 7));
  const stats = replay.stats();
  const near = (value: number | undefined, expected: number, note: string): void =>
    assertAlmostEquals((value ?? NaN) / expected, 1, 1e-5, note);
  const checkNumbers = (
    found: PickNumbers | undefined,
    values: readonly number[],
    note: string,
  ): void => {
    if (found === undefined) throw new Error(`${note}: none`);
    near(found.sum, sum(values), note);
    near(found.largest, Math.max(...values), note);
    near(found.smallest, Math.min(...values), note);
    assertEquals(found.zeroCount, 0, note);
    // They are float32: one at an edge may fall on its other side.
    const counts = countsOf(found.histogram, values);
    const moved = sum(counts.map((value, k) => Math.abs(value - (found.histogram.counts[k] ?? 0))));
    assert(moved <= 2, note);
    assertEquals(sum(found.histogram.counts), values.length, note);
    assert((found.histogram.edges[0] ?? NaN) <= found.smallest, note);
    assert((found.histogram.edges.at(-1) ?? NaN) > found.largest, note);
  };
  const check = (id: number, weights: readonly number[]): void => {
    const note = `weights of ${stats.selectors[id]?.kind}, seed ${seed}`;
    const found = stats.selectors[id]?.weights;
    checkNumbers(found, weights, note);
    const size = sum(weights) ** 2 / sum(weights.map((weight) => weight ** 2));
    near(found?.effectiveCount, size, note);
  };
  const checkPriorities = (id: number, known: readonly number[]): void => {
    const note = `priorities of ${stats.selectors[id]?.kind}, seed ${seed}`;
    const found = stats.selectors[id]?.priorities;
    checkNumbers(found, known, note);
    assertEquals(found?.unknownCount, count - known.length, note);
  };
  for (const { id } of [byPriority, byRank, highest, byBound, own]) checkPriorities(id, priorities);
  checkPriorities(news.id, priorities.slice(0, 7));
  check(byPriority.id, priorities.map((priority) => (priority + epsilon) ** alpha));
  check(byRank.id, priorities.map((_, rank) => (rank + 1) ** -alpha));
  for (const { id } of equal) {
    check(id, priorities.map(() => 1));
    assertEquals(stats.selectors[id]?.weights?.effectiveCount, count);
  }
  for (const { id } of [...others, highest, byBound, own]) {
    assertEquals(stats.selectors[id]?.weights, undefined);
  }
  for (const { id } of [...others, ...equal]) {
    assertEquals(stats.selectors[id]?.priorities, undefined);
  }
});

Deno.test("picks of weight 0 count apart from the histogram", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const weights = (): unknown => replay.stats().selectors[0]?.weights;
  const none = {
    sum: 0,
    largest: 0,
    smallest: 0,
    effectiveCount: 0,
    histogram: { edges: [], counts: [] },
  };
  assertEquals(weights(), { ...none, zeroCount: 0 });
  let episode = replay.newEpisode();
  for (let t = 0; t < 5; t++) episode = replay.record(episode, [t], 0, 0);
  const episodes = Array.from({ length: 4 }, () => episode);
  replay.setPriority(selector, episodes, [0, 1, 2, 3], [0, 0, 0, 0]);
  assertEquals(weights(), { ...none, zeroCount: 4 });
  replay.setPriority(selector, [episode, episode], [0, 1], [1, 8]);
  const edges = Array.from({ length: 9 }, (_, k) => 10 ** (k / 8));
  assertEquals(weights(), {
    sum: 9,
    largest: 8,
    smallest: 1,
    zeroCount: 2,
    effectiveCount: 81 / 65,
    histogram: { edges, counts: [1, 0, 0, 0, 0, 0, 0, 1] },
  });
});

Deno.test("draws are counted once in all, and saved; what was noted is not", async () => {
  const create = () => ExperienceReplay.create({ capacity: 100, state: float32(1) });
  using replay = await create();
  const prepare = (target: Awaited<ReturnType<typeof create>>) => [
    target.newPickSelector(
      mixture([{ rule: uniform(), share: 0.75 }, { rule: newest(), share: 0.25 }]),
    ),
    target.newPickSelector(laber({ score: ({ size }) => new Float32Array(size).fill(1) })),
    target.newPickSelector(inTurn()),
    target.newPickSelector(uniform()),
  ];
  const selectors = prepare(replay);
  let episode = replay.newEpisode();
  for (let t = 0; t < 11; t++) episode = replay.record(episode, [t], 0, 0);
  for (const selector of selectors) replay.getBatch(8, selector);
  const stats = replay.stats();
  const counts = stats.selectors.map(({ kind, drawnCount }) => `${kind} ${drawnCount}`);
  assertEquals(counts, [
    ...["uniform 6", "newest 2", "mixture 8", "uniform 32", "laber 8", "inTurn 8", "uniform 8"],
  ]);
  assertEquals([stats.drawnCount, stats.drawsPerRecord], [32, 32 / 11]);
  assertEquals(stats.selectors.map((each) => each.drawsPerRecord), [
    ...[6 / 11, 2 / 11, 8 / 11, 32 / 11, 8 / 11, 8 / 11, 8 / 11],
  ]);

  using other = await create();
  const there = prepare(other);
  other.record(other.newEpisode(), [0], 0, 0, { finalState: [0] });
  other.getBatch(5, there[3] ?? there[0] as never);
  await other.unserialize(await replay.serialize());
  const loaded = other.stats();
  assertEquals(loaded.selectors.map(({ kind, drawnCount }) => `${kind} ${drawnCount}`), counts);
  assertEquals(loaded.drawsPerRecord, stats.drawsPerRecord);
  assertEquals(loaded.selectors.map(({ noted }) => noted.count), counts.map(() => 0));
  assertEquals(loaded.ages, stats.ages);
  assertEquals(await other.serialize(), await replay.serialize());
  // A selector that is part of a mixture, and is drawn from besides.
  other.getBatch(4, other.selectors[0] ?? there[0] as never);
  assertEquals([other.stats().drawnCount, other.stats().selectors[0]?.drawnCount], [36, 10]);

  other.getBatch(5, there[3] ?? there[0] as never);
  assertEquals(other.stats().selectors[6]?.drawnCount, 13);
});

Deno.test("batches drawn ahead are noted, and several views have their own picks", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
  const pairs = replay.newPickView({ length: 2, stride: 2 }).newPickSelector(
    prioritized({ epsilon: 0 }),
  );
  let episode = replay.newEpisode();
  for (let t = 0; t < 21; t++) episode = replay.record(episode, [t], 0, 0);
  let batches = 0;
  for await (const _batch of replay.batches(8, pairs)) if (++batches === 5) break;
  const [drawn] = replay.stats().selectors;
  assertEquals([drawn?.view, drawn?.pickCount, drawn?.weights?.sum], [1, 10, 10]);
  assert((drawn?.drawnCount ?? 0) >= 40 && drawn?.noted.count === drawn?.drawnCount);
});

Deno.test("stats() of an empty replay is all zeros, and of one that is gone an error", async () => {
  const replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
  replay.newPickSelector(uniform());
  const stats = replay.stats();
  assertEquals(stats.ages, {
    count: 0,
    mean: 0,
    median: 0,
    largest: 0,
    histogram: { edges: [0, 1], counts: [0] },
  });
  assertEquals([stats.drawnCount, stats.drawsPerRecord], [0, 0]);
  assertEquals(stats.selectors[0]?.weights?.sum, 0);
  replay[Symbol.dispose]();
  assertThrows(() => replay.stats(), ReplayError, "stats(): the replay is disposed");
});
