/** Each assertion of the stand-in passes what it should and fails what it should; so does the real package. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertNotMatch,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
  unreachable,
} from "@std/assert";

/** Name, what must pass, and what must fail. */
const cases: [string, () => void, () => void][] = [
  ["assert", () => assert(1), () => assert(0, "zero")],
  ["assertFalse", () => assertFalse(""), () => assertFalse("a")],
  [
    "assertEquals",
    () => assertEquals({ a: [1, NaN] }, { a: [1, NaN] }),
    () => assertEquals([1], [2]),
  ],
  [
    "assertEquals of typed arrays",
    () => assertEquals(new Float32Array([1, 2]), new Float32Array([1, 2])),
    () => assertEquals(new Float32Array([1, 2]), new Float32Array([1, 3])),
  ],
  [
    "assertEquals of typed arrays of other lengths",
    () => assertEquals(new Uint8Array(0), new Uint8Array(0)),
    () => assertEquals(new Uint8Array(1), new Uint8Array(2)),
  ],
  ["assertNotEquals", () => assertNotEquals([1], [2]), () => assertNotEquals({ a: 1 }, { a: 1 })],
  [
    "assertStrictEquals",
    () => assertStrictEquals(NaN, NaN),
    () => assertStrictEquals<unknown>([], []),
  ],
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
  ["assertInstanceOf", () => assertInstanceOf(new Date(), Date), () => assertInstanceOf({}, Date)],
  ["assertGreater", () => assertGreater(2, 1), () => assertGreater(1, 1)],
  ["assertGreaterOrEqual", () => assertGreaterOrEqual(1, 1), () => assertGreaterOrEqual(0, 1)],
  ["assertLess", () => assertLess(1, 2), () => assertLess(1, 1)],
  ["assertLessOrEqual", () => assertLessOrEqual(1, 1), () => assertLessOrEqual(2, 1)],
  ["assertMatch", () => assertMatch("abc", /b/), () => assertMatch("abc", /x/)],
  ["assertNotMatch", () => assertNotMatch("abc", /x/), () => assertNotMatch("abc", /b/)],
  [
    "assertStringIncludes",
    () => assertStringIncludes("abc", "bc"),
    () => assertStringIncludes("abc", "x"),
  ],
  ["assertExists", () => assertExists(0), () => assertExists(null)],
  ["fail", () => {}, () => fail("on purpose")],
  ["unreachable", () => {}, () => unreachable()],
  [
    "assertThrows",
    () => assertThrows(() => JSON.parse("{"), SyntaxError),
    () => assertThrows(() => {}),
  ],
  [
    "assertThrows with a class",
    () => assertThrows(() => fail("here"), AssertionError, "here"),
    () => assertThrows(() => fail("here"), TypeError),
  ],
  [
    "assertThrows with a text",
    () => assertThrows(() => fail("here"), Error, "here"),
    () => assertThrows(() => fail("here"), Error, "there"),
  ],
];
for (const [name, passes, fails] of cases) {
  Deno.test(`${name} passes what holds and fails what does not`, () => {
    passes();
    let thrown: unknown;
    try {
      fails();
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof AssertionError)) {
      throw new Error(`threw ${thrown}, not an AssertionError`);
    }
  });
}

Deno.test("assertThrows returns what was thrown", () => {
  const error = new RangeError("too large");
  assertStrictEquals(
    assertThrows(() => {
      throw error;
    }, RangeError),
    error,
  );
});

Deno.test("assertRejects passes what holds and fails what does not", async () => {
  const error = new RangeError("too large");
  assertStrictEquals(await assertRejects(() => Promise.reject(error), RangeError, "large"), error);
  await assertRejects(() => assertRejects(() => Promise.resolve()), AssertionError);
  await assertRejects(() => assertRejects(() => Promise.reject(error), TypeError), AssertionError);
});

Deno.test("assert and assertExists narrow types", () => {
  const value: number | undefined = [1][0];
  assertExists(value);
  assertEquals(value + 1, 2);
});
