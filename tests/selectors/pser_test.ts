import { lfu, prioritized, pser, type Selector } from "@exrp/replay";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { recordEpisode, type SmallReplay, smallReplay, testRandom } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "pser()", make: () => pser(), stationary: true, followsPriority: true });
conforms({
  name: "pser({ decay: 0, retain: 0, epsilon: 0, draw: independent })",
  make: () => pser({ alpha: 1, epsilon: 0, decay: 0, retain: 0, draw: "independent" }),
  stationary: true,
  zeroIsNever: true,
  followsPriority: true,
});
conforms({
  name: "pser({ decay: 0.9, retain: 1, normalize: view })",
  make: () => pser({ decay: 0.9, retain: 1, normalize: "view" }),
  stationary: true,
});
conforms({ name: "pser({ alpha: 0 })", make: () => pser({ alpha: 0 }), stationary: true });

/** The probability of each state that is drawn, from many draws. */
function probabilities(replay: SmallReplay, selector: Selector): Map<number, number> {
  const found = new Map<number, number>();
  for (let round = 0; round < 40; round++) {
    const batch = replay.getBatch(500, selector);
    for (const [k, state] of batch.state.entries()) found.set(state, batch.probability[k] ?? NaN);
  }
  return found;
}

/** Asserts that picks are drawn by these priorities to the power alpha; a priority of 0 is no pick. */
function assertPriorities(
  replay: SmallReplay,
  selector: Selector,
  expected: ReadonlyMap<number, number>,
  alpha = 1,
): void {
  let total = 0;
  for (const priority of expected.values()) total += priority ** alpha;
  const found = probabilities(replay, selector);
  assertEquals([...found.keys()].sort(), [...expected.keys()].sort());
  for (const [state, priority] of expected) {
    assertAlmostEquals(found.get(state) ?? NaN, priority ** alpha / total, 1e-6, `state ${state}`);
  }
}

Deno.test("pser(): a priority decays back through its episode as far as the window, and no episode mixes", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    pser({ alpha: 1, epsilon: 0, decay: 0.5, window: 3, retain: 0 }),
  );
  const [first, second] = [recordEpisode(replay, 6), recordEpisode(replay, 3, 10)];
  const all = [first, first, first, first, first, first, second, second, second];
  const positions = [0, 1, 2, 3, 4, 5, 0, 1, 2];
  replay.setPriority(selector, all, positions, all.map(() => 1));
  replay.setPriority(selector, [first, second], [5, 1], [16, 8]);
  assertPriorities(
    replay,
    selector,
    new Map([[0, 1], [1, 1], [2, 2], [3, 4], [4, 8], [5, 16], [10, 4], [11, 8], [12, 1]]),
  );
});

Deno.test("pser(): a priority does not fall below the retained share of the old one", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    pser({ alpha: 1, epsilon: 0, decay: 0, retain: 0.5, initialPriority: 16 }),
  );
  const episode = recordEpisode(replay, 2);
  // However often it stands in one call, the old value is the one from before it, and the last counts.
  replay.setPriority(selector, [episode, episode, episode], [0, 0, 0], [32, 0, 1]);
  assertPriorities(replay, selector, new Map([[0, 8], [1, 16]]));
  replay.setPriority(selector, [episode], [0], [0]);
  assertPriorities(replay, selector, new Map([[0, 4], [1, 16]]));
  replay.setPriority(selector, [episode], [0], [5]);
  assertPriorities(replay, selector, new Map([[0, 5], [1, 16]]));
});

Deno.test("pser(): a batch is one update, in whatever order: shares of shares come from no further than the window", async () => {
  for (const order of [[0, 1, 2], [2, 1, 0], [1, 2, 0]]) {
    using replay = await smallReplay();
    const selector = replay.newPickSelector(
      pser({ alpha: 1, epsilon: 0, decay: 0.5, window: 1, retain: 0 }),
    );
    const episode = recordEpisode(replay, 4);
    replay.setPriority(selector, [0, 0, 0, 0], [0, 1, 2, 3], [1, 1, 1, 1]);
    const values = [2, 3, 100];
    replay.setPriority(
      selector,
      order.map(() => episode),
      order.map((k) => k + 1),
      order.map((k) => values[k] ?? NaN),
    );
    // 2 decays to 1; 3 is not what raises the first: 100 makes it 50, which goes no further.
    assertPriorities(replay, selector, new Map([[0, 1], [1, 2], [2, 50], [3, 100]]));
  }
});

Deno.test("pser(): what was evicted takes no part, and what comes after begins with the largest", async () => {
  using replay = await smallReplay({ capacity: 40, eviction: lfu() });
  const selector = replay.newPickSelector(
    pser({ alpha: 1, epsilon: 0, decay: 0.5, retain: 0 }),
  );
  const episodes = [0, 10, 20].map((state) => recordEpisode(replay, 3, state));
  const [first = NaN, second = NaN, third = NaN] = episodes;
  replay.evict(second);
  const applied = replay.setPriority(
    selector,
    [first, first, first, second, third, third, third],
    [0, 1, 2, 2, 0, 1, 2],
    [1, 1, 4, 1000, 1, 1, 1],
  );
  assertStrictEquals(applied, 6);
  recordEpisode(replay, 2, 30);
  assertPriorities(
    replay,
    selector,
    new Map([[0, 1], [1, 2], [2, 4], [20, 1], [21, 1], [22, 1], [30, 4], [31, 4]]),
  );
});

Deno.test("pser(): a cut episode's continuation is an episode of its own", async () => {
  using replay = await smallReplay({ segmentLength: 3 });
  const selector = replay.newPickSelector(pser({ alpha: 1, epsilon: 0, decay: 0.5, retain: 0 }));
  let episode = replay.newEpisode();
  for (const state of [0, 1, 2, 3, 4]) episode = replay.record(episode, [state], 0, 0);
  replay.setPriority(selector, [0, 0, 0, episode], [0, 1, 2, 0], [1, 1, 1, 100]);
  assertPriorities(replay, selector, new Map([[0, 1], [1, 1], [2, 1], [3, 100]]));
});

Deno.test("pser(): a priority that comes with a record is the pick's own, and decays nowhere", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    pser({ alpha: 1, epsilon: 0, decay: 0.5, retain: 0.5, initialPriority: 100 }),
  );
  let episode = replay.newEpisode();
  for (const state of [0, 1]) episode = replay.record(episode, [state], 0, 0, { priority: 2 });
  replay.record(episode, [2], 0, 0, { priority: 32, finalState: [3] });
  assertPriorities(replay, selector, new Map([[0, 2], [1, 2], [2, 32]]));
  replay.setPriority(selector, [episode], [2], [0]);
  assertPriorities(replay, selector, new Map([[0, 4], [1, 8], [2, 16]]));
});

Deno.test("pser(): in a view with a stride, a priority decays from pick to pick", async () => {
  using replay = await smallReplay();
  const view = replay.newPickView({ stride: 3 });
  const selector = view.newPickSelector(
    pser({ alpha: 1, epsilon: 0, decay: 0.5, window: 2, retain: 0 }),
  );
  const episode = recordEpisode(replay, 11);
  const all = new Array<number>(4).fill(episode);
  replay.setPriority(selector, all, [0, 3, 6, 9], [1, 1, 1, 8]);
  assertPriorities(replay, selector, new Map([[0, 1], [3, 2], [6, 4], [9, 8]]));
});

Deno.test("pser(): it is what a loop over the paper's two rules gives", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = testRandom(seed);
    const [decay, retain, alpha] = [0.2 + 0.1 * random(8), 0.1 * random(10), 0.4 + 0.1 * random(8)];
    const window = 1 + random(7);
    using replay = await smallReplay({ capacity: 200, seed });
    const epsilon = 0.01;
    const rule = pser({ alpha, epsilon, decay, window, retain, draw: "independent" });
    const selector = replay.newPickSelector(rule);
    const lengths = [1, 2, 7, 20, 30];
    const episodes = lengths.map((length, k) => recordEpisode(replay, length, 100 * k));
    const p = lengths.map((length) => new Array<number>(length).fill(1 + epsilon));
    for (let round = 0; round < 150; round++) {
      // At most one pick of an episode, as the loop below sets them one after the other.
      const chosen = [0, 1, 2, 3, 4].filter(() => random(2) === 0);
      const at = chosen.map((k) => random(lengths[k] ?? 1));
      const deltas = chosen.map(() => random(1000) / (random(4) === 0 ? 10 : 1000));
      replay.setPriority(selector, chosen.map((k) => episodes[k] ?? NaN), at, deltas);
      for (const [n, k] of chosen.entries()) {
        const own = p[k] ?? [];
        const t = at[n] ?? NaN;
        own[t] = Math.max((deltas[n] ?? NaN) + epsilon, retain * (own[t] ?? NaN));
        for (let i = 1; i <= window && i <= t; i++) {
          own[t - i] = Math.max(own[t - i] ?? NaN, decay ** i * (own[t] ?? NaN));
        }
      }
    }
    const weights = new Map<number, number>();
    for (const [k, own] of p.entries()) {
      for (const [t, priority] of own.entries()) weights.set(100 * k + t, priority ** alpha);
    }
    const total = [...weights.values()].reduce((a, b) => a + b, 0);
    const found = probabilities(replay, selector);
    assert(found.size > 50, `seed ${seed}: only ${found.size} picks were drawn`);
    for (const [state, probability] of found) {
      assertAlmostEquals(probability, (weights.get(state) ?? NaN) / total, 1e-5, `seed ${seed}`);
    }
  }
});

Deno.test("pser(): without decay and without retaining it draws as prioritized()", async () => {
  const drawn = async (rule: typeof pser | typeof prioritized): Promise<string> => {
    const own = rule === pser ? { decay: 0, retain: 0 } : {};
    using replay = await smallReplay({ seed: 5 });
    const selector = replay.newPickSelector(rule({ alpha: 0.7, normalize: "view", ...own }));
    recordEpisode(replay, 30);
    const rows: string[] = [];
    for (let round = 0; round < 50; round++) {
      const batch = replay.getBatch(20, selector, { beta: 0.5 });
      const priorities = batch.pickPosition.map((position) => (position * 7 + round) % 5);
      replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
      rows.push(`${batch.state}; ${batch.probability}; ${batch.importanceWeight}`);
    }
    return rows.join("\n");
  };
  assertStrictEquals(await drawn(pser), await drawn(prioritized));
});

Deno.test("pser(): the window reaches as far as a hundredth of the priority arrives", () => {
  const windows = [0.4, 0.5, 0.1, 0.65, 0.9, 0.009, 0, 1].map((decay) =>
    pser({ decay }).options.window
  );
  assertEquals(windows, [5, 6, 2, 10, 43, 1, 1, 1024]);
  assertStrictEquals(pser({ decay: 0.9, window: 7 }).options.window, 7);
});

Deno.test("pser(): bad options are refused at the call", () => {
  const cases: [unknown, RegExp][] = [
    [{ rho: 1 }, /pser\(\) has no option "rho"; it has alpha, .*, decay, window, retain/],
    [{ alpha: -1 }, /pser\(\): alpha must be a finite number of at least 0, got -1/],
    [{ epsilon: NaN }, /epsilon .* got NaN/],
    [{ initialPriority: 0 }, /initialPriority .* got 0/],
    [{ normalize: "max" }, /normalize must be "batch" or "view", got "max"/],
    [{ draw: 1 }, /draw must be "stratified" or "independent", got 1/],
    [{ decay: 1.1 }, /decay must be a finite number from 0 to 1, got 1.1/],
    [{ window: 0 }, /window must be an integer from 1 to 1024, got 0/],
    [{ window: 1.5 }, /window must be an integer from 1 to 1024, got 1.5/],
    [{ retain: -0.1 }, /retain must be a finite number from 0 to 1, got -0.1/],
    [3, /takes an object of options, got 3/],
  ];
  const make = pser as (options: unknown) => unknown;
  for (const [options, text] of cases) {
    assertMatch((assertThrows(() => make(options)) as Error).message, text);
  }
});
