/**
 * Pick policies that can't be, one by one: each is a clear error, by `create` as by `newPickView`, and nothing is changed by it.
 *
 * @module
 */

import { ExperienceReplay, float32, type PickOptions, prioritized, uniform } from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { recordEpisode, type SmallReplay, smallReplay, visibleState } from "../replay/_helpers.ts";

type Kind = typeof TypeError | typeof RangeError;

/** What is wrong, the error's class, what it says of the option, and the options. */
type Case = [string, Kind, RegExp, Record<string, unknown>];

const integers = (name: string, least: number, most: number): Case[] => {
  const range = `${name} must be an integer from ${least} to ${most}, got `;
  return [
    [`${name} of ${least - 1}`, RangeError, new RegExp(`${range}${least - 1}$`), {
      [name]: least - 1,
    }],
    [`${name} above ${most}`, RangeError, new RegExp(`${range}${most + 1}$`), { [name]: most + 1 }],
    [`a fractional ${name}`, RangeError, new RegExp(`${range}1\\.5$`), { [name]: 1.5 }],
    [`a NaN ${name}`, RangeError, new RegExp(`${range}NaN$`), { [name]: NaN }],
    [`an infinite ${name}`, RangeError, new RegExp(`${range}Infinity$`), { [name]: Infinity }],
    [`a ${name} of text`, TypeError, new RegExp(`${name} must be an integer, got "1"$`), {
      [name]: "1",
    }],
    [`a bigint ${name}`, TypeError, new RegExp(`${name} must be an integer, got 1n$`), {
      [name]: 1n,
    }],
  ];
};

const truths = (name: string): Case[] =>
  [[0, "0"], [1, "1"], ["yes", '"yes"']].map(([value, text]) => [
    `${name} of ${text}`,
    TypeError,
    new RegExp(`${name} must be true or false, got ${text}$`),
    { [name]: value },
  ]);

const CAPACITY_MAX = 2 ** 28;
const WINDOW_MAX = 65536;

const CASES: Case[] = [
  ...integers("length", 1, CAPACITY_MAX),
  ...integers("stride", 1, CAPACITY_MAX),
  ...integers("burnIn", 0, CAPACITY_MAX),
  ...integers("before", 0, CAPACITY_MAX),
  ...integers("stack", 1, WINDOW_MAX),
  ...integers("nStep", 1, WINDOW_MAX),
  ...truths("allowShort"),
  ...truths("allowOpenEnd"),
  ...truths("whole"),
  ...truths("reversed"),
  ...truths("stackCompact"),
  ...truths("masks"),
  ...truths("ends"),
  ...truths("returnToGo"),
  ["a discount above 1", RangeError, /discount must be a finite number from 0 to 1, got 1\.1$/, {
    discount: 1.1,
  }],
  ["a negative discount", RangeError, /discount must be .*, got -0\.5$/, { discount: -0.5 }],
  ["a NaN discount", RangeError, /discount must be .*, got NaN$/, { discount: NaN }],
  ["a discount of text", TypeError, /discount must be a number, got "0\.9"$/, { discount: "0.9" }],
  ["another padding", TypeError, /stackPadding must be "repeat" or "zeros", got "none"$/, {
    stackPadding: "none",
  }],
  ["a padding that is a number", TypeError, /stackPadding must be .*, got 0$/, { stackPadding: 0 }],
  ["other next states", TypeError, /nextState must be "copy", "overlap" or false, got "none"$/, {
    nextState: "none",
  }],
  ["next states of true", TypeError, /nextState must be .*, got true$/, { nextState: true }],
  ["no next states as null", TypeError, /nextState must be .*, got null$/, { nextState: null }],
  ["an n of several that is 0", RangeError, /nStep\[2\] must be an integer from 1 .*, got 0$/, {
    nStep: [1, 2, 0],
  }],
  ["an n of several of text", TypeError, /nStep\[1\] must be an integer, got "2"$/, {
    nStep: [1, "2"],
  }],
  ["more than 8 n", RangeError, /nStep takes at most 8 numbers, got 9$/, {
    nStep: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  }],
  ["an n twice", RangeError, /nStep has 3 twice, .*; name each n once$/, { nStep: [3, 1, 3] }],
  ["a typed array of n", TypeError, /nStep must be an integer, got Int32Array\(2\)$/, {
    nStep: Int32Array.of(1, 2),
  }],
  [
    "a misspelt option",
    TypeError,
    /has no option "nstep"; did you mean nStep\? It has length, stride, .*, returnToGo, where, transform$/,
    {
      nstep: 3,
    },
  ],
];

/** Options that can't be had together, and why. */
const PAIRS: [PickOptions, RegExp][] = [
  [{ whole: true, stride: 2 }, /whole can't be had with stride: there is one pick for each/],
  [{ whole: true, allowShort: true }, /whole can't be had with allowShort: there is one/],
  [{ whole: true, allowOpenEnd: true }, /whole can't be had with allowOpenEnd: there is one/],
  [{ burnIn: 1, before: 1 }, /burnIn can't be had with before: both say what comes before/],
  [{ reversed: true, burnIn: 1 }, /reversed can't be had with burnIn: rows begin with the pick's/],
  [{ reversed: true, before: 1 }, /reversed can't be had with before: rows begin with/],
  [{ reversed: true, stackCompact: true }, /reversed can't be had with stackCompact: rows begin/],
  [{ reversed: true, allowOpenEnd: true }, /reversed can't be had with allowOpenEnd: rows begin/],
  [
    { reversed: true, nextState: "overlap" },
    /reversed can't be had with nextState "overlap".*use "copy"/,
  ],
  [
    { stackCompact: true, nextState: "copy" },
    /stackCompact can't be had with nextState "copy".*use "overlap" or false/,
  ],
];

for (
  const [, kind, text, options] of PAIRS.map((
    [options, text],
  ): Case => ["", TypeError, text, { ...options }])
) {
  CASES.push([Object.keys(options).join(" with "), kind, text, options]);
}

async function filled(): Promise<SmallReplay> {
  const replay = await smallReplay({ segmentLength: 50 });
  replay.newPickSelector(uniform());
  replay.newPickView({ length: 2 }).newPickSelector(prioritized());
  recordEpisode(replay, 5);
  return replay;
}

for (const [name, kind, text, options] of CASES) {
  Deno.test(`a pick policy is refused for ${name}`, async () => {
    using replay = await filled();
    using twin = await filled();
    const before = visibleState(replay);
    const error = assertThrows(() => replay.newPickView(options as PickOptions));
    assertInstanceOf(error, kind, `${error}`);
    assertMatch(error.message, text);
    assertMatch(error.message, /^newPickView\(\)(: | has no option)/);
    assertEquals(visibleState(replay), before);
    for (const [k, selector] of replay.selectors.entries()) {
      const other = twin.selectors[k];
      assert(other);
      assertEquals(replay.getBatch(8, selector).bytes, twin.getBatch(8, other).bytes);
    }

    const atFirst = await assertRejects(() =>
      ExperienceReplay.create({ capacity: 100, state: float32(), pick: options as PickOptions })
    );
    assertInstanceOf(atFirst, kind);
    assertMatch(atFirst.message, text);
    assertMatch(atFirst.message, /^ExperienceReplay\.create\(\): pick(\.| has no option|: )/);
  });
}

Deno.test("a pick policy that is no object of options is refused", async () => {
  using replay = await filled();
  const loose = replay as unknown as { newPickView(...args: unknown[]): unknown };
  for (const [value, text] of [[undefined, "undefined"], [null, "null"], [3, "3"], ["a", '"a"']]) {
    const error = assertThrows(() => loose.newPickView(value), TypeError);
    assertStrictEquals(error.message, `newPickView() takes an object of options, got ${text}`);
  }
  assertStrictEquals(replay.pickViews.length, 2);
});

Deno.test("a pick longer than any episode is refused, not left without picks for ever", async () => {
  using replay = await filled();
  const before = visibleState(replay);
  const error = assertThrows(() => replay.newPickView({ length: 51 }), RangeError);
  assertMatch(
    error.message,
    /^newPickView\(\): length must be at most the replay's segmentLength, .*: 50, got 51$/,
  );
  assertThrows(() => replay.newPickView({ length: 51, whole: true }), RangeError, "got 51");
  assertEquals(visibleState(replay), before);
  assertStrictEquals(replay.newPickView({ length: 50 }).policy.length, 50);
  // What comes before and after a pick may well be longer: there is as much of it as the episode has.
  const wide = replay.newPickView({ length: 50, burnIn: 60, nStep: 70, stack: 80 });
  assertStrictEquals(wide.pickCount, 0);
});

Deno.test("whole episodes beside a segmentLength that is none: that is what the error is about", async () => {
  const values = [5n, "3", Infinity, NaN, 0, 2.5, 101];
  for (const segmentLength of values as number[]) {
    const error = await assertRejects(() =>
      ExperienceReplay.create({
        capacity: 100,
        state: float32(),
        segmentLength,
        pick: { whole: true },
      })
    );
    assertMatch((error as Error).message, /create\(\): segmentLength .* must be an integer/);
  }
});

Deno.test("a batch larger than the machine's memory is an error with code memory, when it is asked for", async () => {
  using replay = await filled();
  const view = replay.newPickView({ before: 2 ** 28, stack: 2 ** 16 });
  const error = assertThrows(() => replay.getBatch(2 ** 20, view.newPickSelector(uniform())));
  assertStrictEquals((error as { code?: string }).code, "memory");
  assertStrictEquals(view.pickCount, 5);
});
