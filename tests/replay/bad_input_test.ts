/**
 * Bad input, one by one: each is a clear error, and nothing is changed by it.
 *
 * @module
 */

import {
  curious,
  ExperienceReplay,
  float32,
  highestPriority,
  int16,
  lowestPriority,
  mixture,
  newest,
  oldest,
  prioritized,
  pser,
  rankBased,
  recent,
  type Selector,
  ucb,
  uint8,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import {
  assertReplayError,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  visibleState,
} from "./_helpers.ts";

type Loose = (...args: unknown[]) => unknown;

/** Calls a method with arguments that do not compile. */
function loose(replay: { [Symbol.dispose](): void }, method: string): Loose {
  const target = replay as unknown as Record<string, Loose>;
  return (...args) => (target[method] as Loose).apply(replay, args);
}

async function twoEpisodes(): Promise<{ replay: SmallReplay; selector: Selector; open: number }> {
  const replay = await smallReplay();
  const selector = replay.newPickSelector(prioritized());
  recordEpisode(replay, 5);
  const open = replay.newEpisode();
  replay.record(open, [50], 0, 0);
  replay.record(open, [51], 0, 0);
  return { replay, selector, open };
}

/** Asserts that a call throws an error of this class and text, after which all is as before. */
async function refuses(
  kind: abstract new (...args: never[]) => Error,
  text: RegExp,
  call: (parts: { replay: SmallReplay; selector: Selector; open: number }) => unknown,
): Promise<void> {
  const parts = await twoEpisodes();
  using twin = (await twoEpisodes()).replay;
  using replay = parts.replay;
  const before = visibleState(replay);
  const error = assertThrows(() => call(parts));
  assertInstanceOf(error, kind, `${error}`);
  assertMatch(error.message, text);
  assertEquals(visibleState(replay), before);
  const [twinSelector] = twin.selectors;
  assert(twinSelector);
  // Nothing hidden moved either: what is drawn next is what a twin draws that never heard of the call.
  assertEquals(
    replay.getBatch(16, parts.selector).bytes,
    twin.getBatch(16, twinSelector).bytes,
  );
}

const RECORDS: [string, typeof TypeError | typeof RangeError, RegExp, unknown[]][] = [
  ["a state of another length", RangeError, /state is float32\(1\) .* got 2/, [
    new Float32Array(2),
    0,
    0,
  ]],
  ["a plain state of another length", RangeError, /state .* got 0/, [[], 0, 0]],
  ["a state of big integers", TypeError, /state .* array of numbers, got BigInt64Array\(1\)/, [
    new BigInt64Array(1),
    0,
    0,
  ]],
  ["a DataView as state", TypeError, /got DataView/, [new DataView(new ArrayBuffer(4)), 0, 0]],
  ["one number for an array", TypeError, /state .* got 1/, [1, 0, 0]],
  ["a state with a hole", TypeError, /state\[0\] must be a number .* got undefined/, [
    [undefined],
    0,
    0,
  ]],
  ["a state of text", TypeError, /state\[0\] .* got "1"/, [["1"], 0, 0]],
  ["a state of rows", RangeError, /state .* got 2; an array is flat, in row-major order/, [
    [[1], [2]],
    0,
    0,
  ]],
  ["a state of one row", TypeError, /state\[0\] .* got Array\(1\); an array is flat/, [
    [[1]],
    0,
    0,
  ]],
  ["no state", TypeError, /state .* got undefined/, [undefined, 0, 0]],
  ["null as state", TypeError, /state .* got null/, [null, 0, 0]],
  ["an array for one number", TypeError, /action must be a number .* got Int32Array\(1\)/, [
    [1],
    new Int32Array(1),
    0,
  ]],
  ["a fractional action", RangeError, /action must be an integer .* got 0\.5/, [[1], 0.5, 0]],
  ["a NaN action", RangeError, /action .* got NaN/, [[1], NaN, 0]],
  ["an action too large", RangeError, /action .* got 2147483648/, [[1], 2 ** 31, 0]],
  ["an action of text", TypeError, /action .* got "1"/, [[1], "1", 0]],
  ["a bigint action", TypeError, /action .* got 1n/, [[1], 1n, 0]],
  ["no reward", TypeError, /reward must be a number .* got undefined/, [[1], 0]],
  ["a truth as reward", TypeError, /reward .* got true/, [[1], 0, true]],
  [
    "an unknown option",
    TypeError,
    /no option "done": finalState alone means .* It has finalState, truncated, extras/,
    [
      [1],
      0,
      0,
      { done: true },
    ],
  ],
  ["options that are none", TypeError, /takes an object of options, got true/, [[1], 0, 0, true]],
  ["truncated without finalState", TypeError, /truncated needs finalState/, [[1], 0, 0, {
    truncated: true,
  }]],
  ["truncated that is no truth", TypeError, /truncated must be true or false, got 1/, [[1], 0, 0, {
    finalState: [1],
    truncated: 1,
  }]],
  ["a final state of another length", RangeError, /finalState .* got 3/, [[1], 0, 0, {
    finalState: [1, 2, 3],
  }]],
  ["a final state of big integers", TypeError, /finalState .* BigInt64Array/, [[1], 0, 0, {
    finalState: new BigInt64Array(1),
  }]],
  ["extras where there are none", TypeError, /schema of this replay has none/, [[1], 0, 0, {
    extras: { a: 1 },
  }]],
];

for (const [name, kind, text, args] of RECORDS) {
  Deno.test(`record() refuses ${name}`, () =>
    refuses(kind, text, ({ replay, open }) => loose(replay, "record")(open, ...args)));
}

Deno.test("record() refuses a handle that was never given out", async () => {
  for (const handle of [2, 1e9, -1, 0.5, NaN, Infinity]) {
    using replay = (await twoEpisodes()).replay;
    const before = visibleState(replay);
    const error = assertReplayError(() => replay.record(handle, [1], 0, 0), "episode-unknown");
    assertStrictEquals(error.status, 12);
    assertMatch(error.message, /handles given out so far are 0 to 1/);
    assertEquals(visibleState(replay), before);
  }
});

Deno.test("record() refuses a handle that is no number", () =>
  refuses(
    TypeError,
    /episode must be the number .* got "0"/,
    ({ replay }) => loose(replay, "record")("0", [1], 0, 0),
  ));

Deno.test("record() refuses an episode that has ended", async () => {
  using replay = (await twoEpisodes()).replay;
  const before = visibleState(replay);
  const error = assertReplayError(() => replay.record(0, [1], 0, 0), "episode-ended");
  assertMatch(error.message, /episode 0 has ended with 5 records,/);
  assertEquals(visibleState(replay), before);
});

Deno.test("record() into an open episode that was evicted begins a new one, once", async () => {
  using replay = (await twoEpisodes()).replay;
  const open = replay.newEpisode();
  replay.record(open, [1], 0, 0);
  replay.evict(open);
  const next = replay.record(open, [1], 0, 0);
  assertStrictEquals(next, open + 1);
  assertEquals(replay.episode(next), {
    handle: next,
    ending: "open",
    recordCount: 1,
    firstPosition: 0,
    tag: 0,
  });
  for (let again = 0; again < 3; again++) {
    assertReplayError(() => replay.record(open, [1], 0, 0), "episode-ended");
  }
  assertStrictEquals(replay.episodeCount, 3);
});

Deno.test("record() refuses extras that are missing, unknown or wrong", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    extras: { logProb: float32(), steps: int16(2) },
  });
  const episode = replay.newEpisode();
  const record = loose(replay, "record");
  const good = { logProb: 1, steps: [1, 2] };
  const cases: [unknown, RegExp][] = [
    [undefined, /extras are missing; the schema of this replay has logProb, steps/],
    [{}, /extras are missing/],
    [{ extras: 3 }, /extras must be an object with logProb, steps, got 3/],
    [{ extras: { logProb: 1 } }, /extras\.steps is missing/],
    [{ extras: { ...good, other: 1 } }, /extras has no option "other"; it has logProb, steps/],
    [{ extras: { ...good, logProb: [1] } }, /extras\.logProb must be a number/],
    [
      { extras: { ...good, steps: [1, 40000] } },
      /extras\.steps\[1\] must be an integer from -32768 to 32767/,
    ],
  ];
  for (const [options, text] of cases) {
    const error = assertThrows(() => record(episode, [1, 2], 0, 0, options));
    assertMatch((error as Error).message, text);
  }
  assertStrictEquals(replay.recordCount, 0);
  record(episode, [1, 2], 0, 0, { extras: good });
  assertStrictEquals(replay.recordCount, 1);
});

for (const value of [NaN, -1, Infinity, -Infinity]) {
  for (const kind of [Float32Array, Float64Array, Array]) {
    Deno.test(`setPriority() refuses ${value} in a ${kind.name}`, () =>
      refuses(Error, /priority\[2\] is .*; a priority must be finite and not negative/, (parts) => {
        const priorities = (kind.from as (values: number[]) => ArrayLike<number>).call(kind, [
          1,
          1,
          value,
        ]);
        const set = (): number =>
          parts.replay.setPriority(parts.selector, [0, 0, 0], [0, 1, 2], priorities);
        const error = assertReplayError(set, "invalid-priority");
        assertStrictEquals(error.detail[0], 2);
        assert(Object.is(error.detail[1], value));
        throw error;
      }));
  }
}

Deno.test("setPriority() refuses unequal lengths instead of broadcasting", () =>
  refuses(
    RangeError,
    /got 3, 3 and 1/,
    ({ replay, selector }) => replay.setPriority(selector, [0, 0, 0], [0, 1, 2], [9]),
  ));

Deno.test("setPriority() refuses what is no array of numbers", async () => {
  const cases: [unknown[], RegExp][] = [
    [[[0], [0], 1], /priority must be a plain or typed array of numbers, got 1/],
    [[[0], [0], ["1"]], /priority\[0\] must be a number, got "1"/],
    [[[0], [0.5], [1]], /pickPosition\[0\] must be an integer/],
    [[["0"], [0], [1]], /pickEpisode\[0\] must be a number, got "0"/],
    [[undefined, [0], [1]], /pickEpisode must be a plain or typed array/],
  ];
  for (const [args, text] of cases) {
    await refuses(
      Error,
      text,
      ({ replay, selector }) => loose(replay, "setPriority")(selector, ...args),
    );
  }
});

for (const size of [0, -1, 0.5, NaN, Infinity, 2 ** 24 + 1]) {
  Deno.test(`getBatch() refuses a size of ${size}`, () =>
    refuses(
      RangeError,
      /size must be an integer from 1 to 16777216, got/,
      ({ replay, selector }) => replay.getBatch(size, selector),
    ));
}

Deno.test("getBatch() refuses other arguments of the wrong kind", async () => {
  const cases: [unknown[], RegExp][] = [
    [["3"], /size must be an integer, got "3"/],
    [[3, {}], /getBatch\(\) has no option|takes a selector/],
    [
      [1, undefined],
      /takes a selector that newPickSelector\(\) gave, got undefined; write getBatch\(size, selector\)$/,
    ],
    [[1, 0], /takes a selector .* got 0/],
    [[1, uniform()], /gave, got the rule uniform; give it to newPickSelector\(\) first$/],
    [
      [1, mixture([{ rule: uniform(), share: 1 }])],
      /gave, got the rule mixture; give it to newPickSelector/,
    ],
  ];
  for (const [args, text] of cases) {
    await refuses(
      TypeError,
      text,
      ({ replay, selector }) =>
        loose(replay, "getBatch")(args[0], args.length > 1 ? args[1] : selector),
    );
  }
  const options: [unknown, RegExp][] = [
    [{ betta: 1 }, /no option "betta"; did you mean beta\? It has beta, into/],
    [{ beta: NaN }, /beta must be a finite number of at least 0, got NaN/],
    [{ beta: -1 }, /beta .* got -1/],
    [{ beta: "1" }, /beta must be a number, got "1"/],
    [{ into: {} }, /into must be a batch/],
    [7, /takes an object of options, got 7/],
  ];
  for (const [option, text] of options) {
    await refuses(
      Error,
      text,
      ({ replay, selector }) => loose(replay, "getBatch")(4, selector, option),
    );
  }
});

Deno.test("getBatch() of an empty view is an error and never a hang", async () => {
  using replay = await smallReplay();
  const rules = [
    uniform(),
    prioritized(),
    ucb(),
    ucb({ mode: "proportional" }),
    oldest(),
    newest(),
  ];
  for (
    const rule of [
      ...rules,
      rankBased(),
      pser(),
      curious(),
      highestPriority(),
      lowestPriority(),
      recent({ newest: 3 }),
      withoutReplacement(),
    ]
  ) {
    const selector = replay.newPickSelector(rule);
    assertReplayError(() => replay.getBatch(1, selector), "empty");
  }
  const episode = replay.newEpisode();
  replay.record(episode, [1], 0, 0);
  const [selector] = replay.selectors;
  assert(selector);
  // One record of an open episode: its next state is not known, so there is no pick yet.
  const error = assertReplayError(() => replay.getBatch(1, selector), "empty");
  assertEquals([error.status, error.detail[0]], [20, 1]);
  assertMatch(
    error.message,
    /^getBatch\(\): there is no pick to draw yet: the only episode has 1 record and is open; a pick needs 1 record of an episode that has ended, or 2 of one that is open \(pick.length 1\)$/,
  );
  replay.record(replay.newEpisode(), [1], 0, 0);
  assertMatch(
    assertReplayError(() => replay.getBatch(1, selector), "empty").message,
    /the longest of 2 episodes has 1 record and/,
  );
});

Deno.test("a selector of another replay is refused", async () => {
  const { replay, open } = await twoEpisodes();
  using other = (await twoEpisodes()).replay;
  using _replay = replay;
  const [foreign] = other.selectors;
  assert(foreign);
  assertReplayError(() => replay.getBatch(1, foreign), "foreign-selector");
  assertReplayError(() => replay.setPriority(foreign, [open], [0], [1]), "foreign-selector");
});

Deno.test("a capacity too small for one pick is refused", async () => {
  for (const capacity of [1, 2, 7]) {
    const error = await assertRejects(() =>
      ExperienceReplay.create({ capacity, state: float32(1), pick: { length: 8 } })
    );
    assertMatch(
      (error as Error).message,
      /capacity must be 8 to \d+ records, because one pick has 8 \(pick.length\), got [127]$/,
    );
    assertStrictEquals((error as { code?: string }).code, "capacity");
  }
  using _smallest = await ExperienceReplay.create({ capacity: 1, state: float32(1) });
});

const OPTIONS: [string, Record<string, unknown>, RegExp][] = [
  ["no capacity", { capacity: undefined }, /capacity must be an integer, got undefined/],
  ["a capacity of 0", { capacity: 0 }, /capacity must be an integer from 1 to 268435456, got 0/],
  ["a fractional capacity", { capacity: 1.5 }, /capacity .* got 1\.5/],
  ["a capacity above 2^28", { capacity: 2 ** 28 + 1 }, /capacity .* got 268435457/],
  ["no state", { state: undefined }, /state must be a column such as float32\(4\)/],
  ["a state that is a word", { state: "float32" }, /got "float32"; write float32/],
  [
    "a dtype that was not called",
    { state: float32 },
    /state must be a column .* got function float32/,
  ],
  [
    "an option of pick among its own",
    { discount: 0.9 },
    /no option "discount": it is an option of pick: \{ discount: … \}/,
  ],
  ["extras in an array", { extras: [float32()] }, /extras must be an object .* got Array\(1\)/],
  ["extras that are a column", { extras: { a: 3 } }, /extras\.a must be a column/],
  ["an unknown option", { sise: 1 }, /no option "sise"; it has capacity, state/],
  ["an unknown option of pick", { pick: { len: 1 } }, /pick has no option "len"; it has length/],
  ["a pick length of 0", { pick: { length: 0 } }, /pick\.length must be an integer from 1/],
  [
    "a discount above 1",
    { pick: { discount: 2 } },
    /pick\.discount must be a finite number from 0 to 1/,
  ],
  ["a word for a truth", { pick: { allowShort: "yes" } }, /allowShort must be true or false/],
  ["a negative seed", { seed: -1 }, /seed must be an integer of at least 0, got -1/],
  [
    "a seed above 2^53",
    { seed: 2 ** 53 },
    /seed must be an integer from 0 to 9007199254740991, got/,
  ],
  ["a block length that is no power of two", { blockLength: 6 }, /power of two, got 6/],
  ["an eviction that is a word", { eviction: "fifo" }, /eviction must be fifo\(\)/],
  ["a selector as eviction", { eviction: uniform() }, /eviction must be fifo\(\).* got NativeSel/],
  ["an eviction without methods", { eviction: { name: "mine" } }, /mine has no method created\(\)/],
  [
    "a maxAge below one pick",
    { pick: { length: 3 }, maxAge: 2 },
    /maxAge must be at least pick\.length, which is 3, got 2/,
  ],
  ["a fractional maxAge", { maxAge: 10.5 }, /maxAge .* got 10\.5/],
  ["a segment longer than maxAge", { segmentLength: 6, maxAge: 5 }, /maxAge\) .* 1 to 5, got 6/],
  ["no bytes", { capacityBytes: 0 }, /capacityBytes must be an integer of at least 1, got 0/],
  [
    "bytes too few for one pick",
    { pick: { length: 2 }, capacityBytes: 27 },
    /capacityBytes must be at least 28, for the 2 records of a pick and a final state, got 27/,
  ],
  [
    "a segment longer than the bytes hold",
    { segmentLength: 3, capacityBytes: 28 },
    /segmentLength .* from 1 to 2, got 3/,
  ],
  ["a kernelPath that is a number", { kernelPath: 3 }, /kernelPath must be a string or a URL/],
];

for (const [name, options, text] of OPTIONS) {
  Deno.test(`create() refuses ${name}`, async () => {
    const create = ExperienceReplay.create as unknown as (options: unknown) => Promise<unknown>;
    const error = await assertRejects(() =>
      create({ capacity: 10, state: float32(1), ...options })
    );
    assertMatch((error as Error).message, text);
  });
}

Deno.test("newPickSelector() refuses what is no rule", async () => {
  using replay = await smallReplay();
  const add = loose(replay, "newPickSelector");
  const cases: [unknown, RegExp][] = [
    [undefined, /takes uniform\(\), prioritized\(\) or another rule of the library, or an object/],
    ["uniform", /got "uniform"/],
    [uniform, /takes a rule such as uniform\(\), got function uniform: call it/],
    [{}, /has no name/],
    [{ name: "mine" }, /mine has no method pushed\(\)/],
  ];
  for (const [rule, text] of cases) {
    assertMatch((assertThrows(() => add(rule)) as Error).message, text);
  }
  assertEquals(replay.selectors, []);
  const selector = replay.newPickSelector(uniform());
  assertThrows(
    () => add(selector),
    TypeError,
    "takes a rule such as uniform(), got a Selector, which newPickSelector() made",
  );
  assertEquals(replay.selectors, [selector]);
});

Deno.test("evict() and episode() refuse unknown handles", async () => {
  using replay = (await twoEpisodes()).replay;
  assertReplayError(() => replay.evict(2), "episode-unknown");
  assertReplayError(() => replay.episode(-1), "episode-unknown");
  assertThrows(() => loose(replay, "episode")("0"), TypeError);
  assertStrictEquals(replay.evict(0), true);
  assertStrictEquals(replay.evict(0), false);
});
