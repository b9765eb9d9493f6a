/** Each assertion of the tests passes what it should, and finds each planted difference. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertGreater,
  assertInstanceOf,
  assertLess,
  assertMatch,
  assertNotEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
} from "./_assert.ts";

/** Pairs that differ, each by as little as may be. */
const differences: readonly (readonly [unknown, unknown])[] = [
  [0, -0],
  [1, "1"],
  [1, 1n],
  [null, undefined],
  [[1, undefined], [1]],
  [[undefined], new Array(1)],
  [{ a: undefined }, {}],
  [{ a: 1 }, Object.assign(Object.create(null), { a: 1 })],
  [
    { a: 1 },
    new (class Other {
      a = 1;
    })(),
  ],
  [new Float32Array([1, 2]), new Float32Array([1, 3])],
  [new Float32Array([0]), new Float32Array([-0])],
  [new Float32Array([1]), new Float64Array([1])],
  [new Uint8Array(1), new Uint8Array(2)],
  [new Uint8Array(1), [0]],
  [new Map([[1, { a: 2 }]]), new Map([[1, { a: 3 }]])],
  [new Set([1, 2]), new Set([1, 3])],
  [new Date(1), new Date(2)],
  [new RangeError("a"), new RangeError("b")],
  [new RangeError("a"), new TypeError("a")],
  [{ a: [{ b: NaN }] }, { a: [{ b: 0 }] }],
];

/** Runs what must fail; returns what it says. */
function failure(run: () => void): string {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AssertionError") throw error;
    return error.message;
  }
  throw new Error("it passed");
}

Deno.test("assertEquals() finds each difference, and shows it after the words of the test", () => {
  for (const [one, other] of differences) {
    for (const [actual, expected] of [[one, other], [other, one]] as const) {
      failure(() => assertEquals(actual, expected));
      assertNotEquals(actual, expected);
    }
  }
  const same = (): unknown => [NaN, { a: new Map([[1, new Set(["x"])]]) }, new Float32Array([NaN])];
  assertEquals(same(), same());
  failure(() => assertNotEquals(same(), same()));
  const text = failure(() => assertEquals({ a: [1, 2] }, { a: [1, 3] }, "round 5"));
  assertMatch(text, /^round 5\n[^]*\n\+ +2\n- +3\n/);
});

/** Name, what must pass, and what must fail. */
const cases: readonly (readonly [string, () => void, () => void])[] = [
  ["assert", () => assert(1), () => assert(0)],
  ["assertStrictEquals", () => assertStrictEquals(NaN, NaN), () => assertStrictEquals(0, -0)],
  ["assertStrictEquals of arrays", () => {}, () => assertStrictEquals<unknown>([], [])],
  ["assertNotStrictEquals", () => assertNotStrictEquals([], []), () => assertNotStrictEquals(1, 1)],
  ["assertAlmostEquals", () => assertAlmostEquals(1, 1 + 1e-8), () => assertAlmostEquals(1, 1.001)],
  [
    "assertAlmostEquals within",
    () => assertAlmostEquals(1, 1.1, 0.2),
    () => assertAlmostEquals(1, 1.1, 0.05),
  ],
  [
    "assertAlmostEquals of NaN",
    () => assertAlmostEquals(NaN, NaN),
    () => assertAlmostEquals(1, NaN),
  ],
  [
    "assertAlmostEquals of infinity",
    () => assertAlmostEquals(Infinity, Infinity),
    () => assertAlmostEquals(1, Infinity),
  ],
  ["assertInstanceOf", () => assertInstanceOf(new Date(), Date), () => assertInstanceOf({}, Date)],
  ["assertGreater", () => assertGreater(2, 1), () => assertGreater(1, 1)],
  ["assertLess", () => assertLess(1, 2), () => assertLess(NaN, 1)],
  ["assertMatch", () => assertMatch("abc", /b/), () => assertMatch("abc", /x/)],
  [
    "assertStringIncludes",
    () => assertStringIncludes("abc", "bc"),
    () => assertStringIncludes("abc", "x"),
  ],
  ["assertExists", () => assertExists(0), () => assertExists(null)],
  ["fail", () => {}, () => fail("on purpose")],
  ["assertThrows", () => assertThrows(() => JSON.parse("{")), () => assertThrows(() => {})],
  [
    "assertThrows with a class",
    () => assertThrows(() => fail("here"), Error),
    () => assertThrows(() => fail("here"), TypeError),
  ],
  [
    "assertThrows with a text",
    () => assertThrows(() => fail("here"), Error, "here"),
    () => assertThrows(() => fail("here"), Error, "there"),
  ],
];
for (const [name, passes, fails] of cases) {
  Deno.test(`${name}() passes what holds and fails what does not`, () => {
    passes();
    failure(fails);
  });
}

Deno.test("assertThrows() and assertRejects() return the error", async () => {
  const error = new RangeError("too large");
  const thrown = assertThrows(() => {
    throw error;
  }, RangeError);
  assertStrictEquals(thrown, error);
  assertStrictEquals(await assertRejects(() => Promise.reject(error), RangeError, "large"), error);
  for (
    const wrong of [
      () => assertRejects(() => Promise.resolve()),
      () => assertRejects(() => Promise.reject(error), TypeError),
      () => assertRejects(() => Promise.reject(error), RangeError, "small"),
      () => assertRejects(() => Promise.reject("no error")),
    ]
  ) {
    const { name } = await assertRejects(wrong);
    assertStrictEquals(name, "AssertionError");
  }
});
