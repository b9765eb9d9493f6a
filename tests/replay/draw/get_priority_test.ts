/** getPriority() reads back what setPriority() set, whatever was evicted and saved in between, and changes nothing. */
import {
  combined,
  curious,
  ExperienceReplay,
  float32,
  highestPriority,
  laber,
  lowestPriority,
  mixture,
  newest,
  oldest,
  prioritized,
  pser,
  rankBased,
  recent,
  ucb,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { PickSelector, SelectorRule } from "@exrp/replay/selectors";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { assertReplayError, firstPick, smallReplay, testRandom } from "../_helpers.ts";
import { loose } from "../record/_record_helpers.ts";

/** A rule, the priority that a new pick begins with, and how exact its priorities are. */
interface Case {
  readonly make: () => SelectorRule;
  /** The epsilon of the rule: the sum of priority and epsilon has the relative error. */
  readonly epsilon?: number;
  /** The largest relative error; 0 for float32, undefined for exact. */
  readonly error?: number;
  /** Whether new picks have no known priority. */
  readonly newUnknown?: boolean;
}

const FLOAT = 2 ** -24;

const CASES: Readonly<Record<string, Case>> = {
  highestPriority: { make: () => highestPriority() },
  lowestPriority: { make: () => lowestPriority() },
  rankBased: { make: () => rankBased(), error: FLOAT },
  ucb: { make: () => ucb(), error: FLOAT },
  "ucb, proportional": { make: () => ucb({ mode: "proportional" }), error: FLOAT },
  prioritized: { make: () => prioritized({ alpha: 0.6 }), error: 1.1 * FLOAT / 0.6 },
  "prioritized with epsilon": {
    make: () => prioritized({ alpha: 0.3, epsilon: 0.01 }),
    epsilon: 0.01,
    error: 1.1 * FLOAT / 0.3,
  },
  "prioritized, linear": { make: () => prioritized({ alpha: 1 }), error: 1.1 * FLOAT },
  "pser without decay": {
    make: () => pser({ alpha: 0.6, decay: 0, retain: 0 }),
    error: 1.1 * FLOAT / 0.6,
  },
  curious: {
    make: () => curious(),
    epsilon: 0.01,
    error: 1.1 * FLOAT / 0.7,
    newUnknown: true,
  },
  "mixture of rules, the second of which keeps them": {
    make: () => mixture([{ rule: uniform(), share: 1 }, { rule: highestPriority(), share: 1 }]),
  },
  combined: { make: () => combined({ newest: 1, rest: lowestPriority() }) },
  laber: {
    make: () => laber({ rule: highestPriority(), score: () => new Float32Array(20).fill(1) }),
  },
  "a rule in TypeScript": { make: () => remembering() },
};

/** A rule in TypeScript that keeps priorities. */
function remembering(): PickSelector {
  let priorities: number[] = [];
  let largest = 1;
  return {
    ...firstPick(),
    name: "remembering",
    pushed: (index) => void (priorities[index] = largest),
    moved: (from, to) => void (priorities[to] = priorities[from] ?? NaN),
    popped: (index) => void (priorities.length = index),
    setPriority: (indices, values) => {
      for (const [k, index] of indices.entries()) {
        priorities[index] = values[k] ?? NaN;
        largest = Math.max(largest, values[k] ?? NaN);
      }
    },
    getPriority: (indices) => Float64Array.from(indices, (index) => priorities[index] ?? NaN),
    save: () => new Uint8Array(Float64Array.of(largest, ...priorities).buffer),
    load: (bytes) => {
      [largest = 1, ...priorities] = new Float64Array(bytes.slice().buffer);
    },
  };
}

function assertNear(actual: number, expected: number, { epsilon = 0, error = 0 }: Case): void {
  if (Number.isNaN(expected)) return assert(Number.isNaN(actual), `${actual} is not NaN`);
  const most = error * (expected + epsilon) + 1e-15;
  assert(Math.abs(actual - expected) <= most, `${actual} is not within ${most} of ${expected}`);
}

for (const [name, test] of Object.entries(CASES)) {
  Deno.test(`getPriority() of ${name} gives what was set, and changes nothing`, async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const random = testRandom(seed);
      const options = { capacity: 40, segmentLength: 40, seed };
      using replay = await smallReplay(options);
      using twin = await smallReplay(options);
      using loaded = await smallReplay(options);
      const selector = replay.newPickSelector(test.make() as never);
      const same = twin.newPickSelector(test.make() as never);
      const other = loaded.newPickSelector(test.make() as never);
      const known = new Map<string, number>();
      let largest = 1;
      for (let turn = 0; turn < 60; turn++) {
        const count = 1 + random(9);
        const rows = Array.from({ length: count }, (_, k) => k);
        const steps = { state: rows, action: rows, reward: rows, finalState: [count] };
        const episode = replay.recordMany(replay.newEpisode(), steps);
        twin.recordMany(twin.newEpisode(), steps);
        for (const k of rows) known.set(`${episode} ${k}`, test.newUnknown ? NaN : largest);
        const batch = replay.getBatch(5, selector);
        assertEquals(twin.getBatch(5, same).bytes, batch.bytes);
        const values = Array.from({ length: 5 }, () => random(4) === 0 ? 0 : random(1e6) / 1e4);
        replay.setPriority(selector, batch, values);
        twin.setPriority(same, batch.pickEpisode, batch.pickPosition, values);
        for (const [k, value] of values.entries()) {
          known.set(`${batch.pickEpisode[k]} ${batch.pickPosition[k]}`, value);
          largest = Math.max(largest, value);
        }
        const read = replay.getPriority(selector, batch);
        for (let k = 0; k < 5; k++) {
          const key = `${batch.pickEpisode[k]} ${batch.pickPosition[k]}`;
          assertNear(read[k] ?? NaN, known.get(key) ?? NaN, test);
        }
      }
      if (name !== "a rule in TypeScript") await loaded.unserialize(await replay.serialize());
      const live = new Set(replay.episodes().handle);
      const handles = Array.from({ length: 60 }, (_, handle) => handle);
      for (let position = 0; position < 10; position++) {
        const picks = [handles, handles.map(() => position)] as const;
        const read = replay.getPriority(selector, ...picks);
        for (const handle of handles) {
          const there = live.has(handle) ? known.get(`${handle} ${position}`) : undefined;
          assertNear(read[handle] ?? NaN, there ?? NaN, test);
        }
        if (name === "a rule in TypeScript") continue;
        assertEquals(loaded.getPriority(other, ...picks), read);
      }
    }
  });
}

Deno.test("getPriority() of pser gives the priorities after their decay", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
  const selector = replay.newPickSelector(pser({ alpha: 0.5, decay: 0.5, window: 2, epsilon: 0 }));
  const zeros = [0, 0, 0, 0, 0];
  const steps = { state: zeros, action: zeros, reward: zeros, finalState: 0 };
  const episode = replay.recordMany(replay.newEpisode(), steps);
  replay.setPriority(selector, [episode], [4], [8]);
  const read = replay.getPriority(selector, zeros, [0, 1, 2, 3, 4]);
  for (const [k, expected] of [1, 1, 2, 4, 8].entries()) {
    assertNear(read[k] ?? NaN, expected, { make: () => uniform(), error: 1e-6 });
  }
});

Deno.test("getPriority() with alpha 0 knows no priority, because all weights are the same", async () => {
  using replay = await smallReplay();
  for (const rule of [prioritized({ alpha: 0 }), curious({ alpha: 0 })]) {
    const selector = replay.newPickSelector(rule);
    const episode = replay.newEpisode();
    replay.record(episode, [1], 0, 0, { finalState: [2] });
    replay.setPriority(selector, [episode], [0], [3]);
    assertEquals([...replay.getPriority(selector, [episode], [0])], [NaN]);
  }
});

Deno.test("getPriority() gives the priorities that came with records", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(rankBased());
  const episode = replay.newEpisode();
  const steps = { state: [1, 2, 3], action: [0, 0, 0], reward: [0, 0, 0], finalState: [4] };
  replay.recordMany(episode, { ...steps, priority: [5, 0, 0.25] });
  assertEquals([...replay.getPriority(selector, [0, 0, 0], [0, 1, 2])], [5, 0, 0.25]);
});

Deno.test("getPriority() refuses rules that keep no priorities, and names them", async () => {
  using replay = await smallReplay();
  replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
  const rules = {
    uniform: uniform(),
    withoutReplacement: withoutReplacement(),
    recent: recent({ newest: 1 }),
    oldest: oldest(),
    newest: newest(),
    mixture: mixture([{ rule: uniform(), share: 1 }, { rule: oldest(), share: 1 }]),
  };
  for (const [name, rule] of Object.entries(rules)) {
    const selector = replay.newPickSelector(rule);
    const error = assertThrows(() => replay.getPriority(selector, [0], [0]), TypeError);
    assertMatch(
      String(error),
      new RegExp(`getPriority\\(\\): the rule ${name} keeps no priorities`),
    );
  }
  const own = replay.newPickSelector(firstPick());
  const error = assertThrows(() => replay.getPriority(own, [0], [0]), TypeError);
  assertMatch(String(error), /the rule first has no method getPriority\(\)/);
});

Deno.test("getPriority() refuses wrong arguments, and says what it needs", async () => {
  using replay = await smallReplay();
  using foreign = await smallReplay();
  const selector = replay.newPickSelector(rankBased());
  replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
  const get = loose(replay, "getPriority");
  const REFUSALS: [unknown[], RegExp][] = [
    [[selector, [0], [0, 1]], /RangeError: getPriority\(\) takes as many .* got 1 and 2/],
    [[selector, [0], [-1]], /RangeError: getPriority\(\): pickPosition\[0\] must not be negative/],
    [
      [selector, ["0"], [0]],
      /TypeError: getPriority\(\): pickEpisode\[0\] must be a number, got "0"/,
    ],
    [[selector, [0]], /TypeError: getPriority\(\): pickPosition must be a plain or typed array/],
    [
      [selector, BigInt64Array.of(0n), [0]],
      /TypeError: getPriority\(\): pickEpisode must be a plain or typed/,
    ],
    [[selector, [7], [0]], /ReplayError: getPriority\(\): no episode has handle 7/],
    [[foreign.newPickSelector(prioritized()), [0], [0]], /getPriority\(\)/],
    [[selector, replay.getBatch(2, selector), [0]], /getPriority\(\) takes a batch alone/],
  ];
  for (const [args, text] of REFUSALS) {
    assertMatch(String(assertThrows(() => get(...args))), text);
  }
  assertEquals([...replay.getPriority(selector, [], [])], []);
  assertEquals([...replay.getPriority(selector, [0, 0], Uint8Array.of(0, 1))], [1, NaN]);
  const view = replay.newPickView({ length: 1, nStep: 1 });
  const elsewhere = replay.getBatch(1, view.newPickSelector(uniform()));
  const error = assertThrows(() => get(selector, elsewhere), TypeError);
  assertMatch(String(error), /getPriority\(\): the batch is one of pick view 1/);
});

Deno.test("getPriority() refuses what a rule in TypeScript answers wrongly", async () => {
  for (const answer of [[], [1, 2], "1", undefined, BigInt64Array.of(1n)]) {
    using replay = await smallReplay();
    replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
    const rule = { ...firstPick(), getPriority: () => answer as never };
    const selector = replay.newPickSelector(rule);
    const error = assertReplayError(() => replay.getPriority(selector, [0], [0]), "rule");
    assertMatch(error.message, /getPriority\(\) of the selector first must return 1 numbers/);
    assertStrictEquals(replay.recordCount, 1);
  }
});
