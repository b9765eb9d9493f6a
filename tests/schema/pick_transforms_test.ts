/** The option `transform`: what is refused, and with which words. A refused call changes nothing. */
import { every, ExperienceReplay, float32, uint8, uniform } from "@exrp/replay";
import {
  centerCrop,
  clip,
  normalize,
  randomCrop,
  randomShift,
  scale,
  toFloat16,
  toFloat32,
} from "@exrp/replay/transforms";
import { assertEquals, assertMatch, assertStrictEquals, assertThrows } from "../_assert.ts";
import { visibleState } from "../replay/_helpers.ts";

/** A call that is wrong in one place, what its error is, and what it says. */
type Wrong = readonly [call: () => unknown, kind: typeof TypeError | typeof RangeError, RegExp];

function assertRefused(calls: readonly Wrong[]): void {
  for (const [call, kind, words] of calls) {
    const error = assertThrows(call);
    assertStrictEquals(error.constructor, kind, error.message);
    assertMatch(error.message, words);
  }
}

/** What comes from JavaScript, or from JSON. */
// deno-lint-ignore no-explicit-any -- the tests give what must not compile
const loose = (value: unknown): any => value;

Deno.test("transforms are refused for options and numbers that they can't have", () => {
  assertRefused([
    [() => toFloat32({ scale: NaN }), RangeError, /^toFloat32\(\): scale must be a finite number/],
    [() => toFloat16({ offset: Infinity }), RangeError, /^toFloat16\(\): offset must be a finite/],
    [() => toFloat32({ scale: 1e39 }), RangeError, /^toFloat32\(\): scale must be a finite number/],
    [() => toFloat32(loose({ scael: 2 })), TypeError, /no option "scael"; did you mean scale\?/],
    [() => scale(loose("2")), TypeError, /^scale\(\): factor must be a number, got "2"/],
    [() => scale(NaN), RangeError, /^scale\(\): factor must be a finite number/],
    [() => clip(1, -1), RangeError, /^clip\(\): min must be at most max, got 1 and -1/],
    [() => clip(NaN, 1), RangeError, /^clip\(\): min must be a finite number/],
    [() => clip(0, loose(undefined)), TypeError, /^clip\(\): max must be a number, got undefined/],
    [
      () => normalize({ epsilon: 0 }),
      RangeError,
      /^normalize\(\): epsilon must be a finite number above 0/,
    ],
    [
      () => normalize({ clip: -1 }),
      RangeError,
      /^normalize\(\): clip must be a finite number above 0/,
    ],
    [
      () => normalize({ clip: loose(true) }),
      TypeError,
      /^normalize\(\): clip must be a number, got true/,
    ],
    [() => randomShift(0), RangeError, /^randomShift\(\): pad must be an integer from 1/],
    [() => randomShift(1.5), RangeError, /^randomShift\(\): pad must be an integer/],
    [() => randomCrop(84, 0), RangeError, /^randomCrop\(\): width must be an integer from 1/],
    [
      () => centerCrop(loose("84"), 84),
      TypeError,
      /^centerCrop\(\): height must be an integer, got "84"/,
    ],
    [
      () => randomShift(4, { channels: loose("middle") }),
      TypeError,
      /channels must be "first" or "last", got "middle"/,
    ],
  ]);
});

Deno.test("transforms are plain values, which nothing changes", () => {
  assertEquals({ ...toFloat32({ scale: 2 }) }, { kind: "toFloat32", scale: 2, offset: 0 });
  assertEquals({ ...normalize() }, { kind: "normalize", epsilon: 1e-8, clip: 10 });
  assertEquals({ ...randomShift() }, { kind: "randomShift", pad: 4, channels: "first" });
  for (
    const each of [
      toFloat16(),
      scale(2),
      clip(0, 1),
      normalize(),
      randomShift(),
      randomCrop(1, 1),
      centerCrop(1, 1),
    ]
  ) {
    assertStrictEquals(Object.isFrozen(each), true);
  }
});

Deno.test("newPickView() refuses transforms that do not fit, and changes nothing", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(3, 8, 9),
    action: float32(2),
    extras: { kept: every(4, float32(3)), value: float32() },
    seed: 1,
  });
  replay.newPickSelector(uniform());
  const before = visibleState(replay);
  const view = (transform: unknown) => () => replay.newPickView({ transform: loose(transform) });
  const many = Array.from({ length: 9 }, () => scale(1));
  assertRefused([
    [
      view([toFloat32()]),
      TypeError,
      /^newPickView\(\): transform must be an object of lists by column, .* got Array\(1\)/,
    ],
    [
      view(null),
      TypeError,
      /^newPickView\(\): transform must be an object of lists by column, .* got null/,
    ],
    [view({ stat: [] }), TypeError, /no option "stat"; did you mean state\?/],
    [
      view({ state: toFloat32() }),
      TypeError,
      /transform\.state must be a list of transforms, such as \[toFloat32\(\)\], got Object/,
    ],
    [
      view({ state: [toFloat32] }),
      TypeError,
      /transform\.state\[0\] must be a transform, made by one of toFloat32, .*; got function toFloat32/,
    ],
    [view({ state: [{ kind: "blur" }] }), TypeError, /transform\.state\[0\] must be a transform/],
    [
      view({ state: [{ kind: "toString" }] }),
      TypeError,
      /transform\.state\[0\] must be a transform/,
    ],
    [
      view({ state: [{ kind: "toFloat32", scale: NaN }] }),
      RangeError,
      /toFloat32\(\): scale must be a finite number/,
    ],
    [view({ state: many }), RangeError, /transform\.state takes at most 8 transforms, got 9/],
    [
      view({ state: [toFloat32(), normalize()] }),
      TypeError,
      /transform\.state: normalize\(\) must come first/,
    ],
    [
      view({ state: [toFloat16(), clip(0, 1)] }),
      TypeError,
      /transform\.state: toFloat16\(\) must come last/,
    ],
    [
      view({ state: [randomCrop(9, 9)] }),
      RangeError,
      /transform\.state: randomCrop\(9, 9\) is larger than the picture: the column is uint8\(3, 8, 9\)/,
    ],
    [
      view({ state: [centerCrop(4, 4), randomCrop(5, 4)] }),
      RangeError,
      /randomCrop\(5, 4\) is larger than the picture: the column is uint8\(3, 4, 4\)/,
    ],
    [
      view({ state: [randomCrop(4, 4, { channels: "last" })] }),
      RangeError,
      /randomCrop\(4, 4\) is larger than the picture/,
    ],
    [
      view({ action: [randomShift(1)] }),
      TypeError,
      /transform\.action: randomShift\(\) needs a column of shape \[…, height, width\], got float32\(2\)/,
    ],
    [
      view({ reward: [randomShift(1)] }),
      TypeError,
      /transform\.reward: a reward is no picture, so it can't have randomShift\(\)/,
    ],
    [
      view({ extras: [] }),
      TypeError,
      /transform\.extras must be an object of lists by extra, got Array\(0\)/,
    ],
    [
      view({ extras: { values: [scale(1)] } }),
      TypeError,
      /has a list for extras\.values, which is no column; there are state, action, reward, extras\.kept, extras\.value/,
    ],
    [
      view({ extras: { kept: [normalize()] } }),
      TypeError,
      /extras\.kept: normalize\(\) needs a column that all records keep/,
    ],
  ]);
  assertEquals(visibleState(replay), before);
  assertStrictEquals(replay.columnStatistics("action"), undefined);
  assertStrictEquals(replay.pickViews.length, 1);
});

Deno.test("create() names the place of a transform that does not fit", async () => {
  const options = { capacity: 10, state: uint8(4) } as const;
  const transform = { state: [randomShift(2)] };
  await ExperienceReplay.create({ ...options, pick: { transform } }).then(
    () => assertStrictEquals("a replay", "an error"),
    (error) => {
      assertStrictEquals(error.constructor, TypeError);
      assertMatch(
        error.message,
        /^ExperienceReplay\.create\(\): pick\.transform\.state: randomShift\(\) needs/,
      );
    },
  );
});

Deno.test("a crop that fits only with channels behind says how to name them", async () => {
  const refused = (height: number, ...shape: number[]): Promise<string> =>
    ExperienceReplay.create({
      capacity: 10,
      state: uint8(...shape),
      pick: { transform: { state: [randomCrop(height, 8)] } },
    }).then(() => "no error", (error) => error.message);
  const hint =
    /the column is uint8\(9, 9, 3\); write \{ channels: "last" \} for \[…, height, width, channels\]$/;
  assertMatch(await refused(8, 9, 9, 3), hint);
  assertMatch(await refused(10, 9, 9, 3), /the column is uint8\(9, 9, 3\)$/);
  assertMatch(await refused(8, 9, 7), /the column is uint8\(9, 7\)$/);
});

Deno.test("a policy has the transforms as they were given, without lists that are empty", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32(2) });
  const { policy } = replay.newPickView({
    transform: { state: [scale(2)], action: [], extras: {} },
  });
  assertEquals(
    JSON.stringify(policy.transform),
    '{"state":[{"kind":"toFloat32","scale":2,"offset":0}]}',
  );
  assertStrictEquals(replay.newPickView({ transform: { state: [] } }).policy.transform, undefined);
  assertMatch(String(replay.pickViews[1]), /transforms of state: toFloat32\(2, 0\)/);
});
