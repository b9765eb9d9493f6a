/** recordMany() and recordBatch() refuse wrong calls, and a refused call changes nothing. */
import { ExperienceReplay, float32, uint8 } from "@exrp/replay";
import { assertEquals, assertMatch, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { visibleState } from "../_helpers.ts";
import { loose } from "./_record_helpers.ts";

const good = { state: [1, 2, 3, 4], action: [0, 1], reward: [1, 1], extras: { steps: [5, 6] } };

const MANY: [string, unknown[], RegExp][] = [
  ["no handle", ["0", good], /recordMany\(\): episode must be the number .* got "0"/],
  ["no options", [0], /recordMany\(\) takes an object of options, got undefined/],
  ["an unknown option", [0, { ...good, done: [1] }], /recordMany\(\) has no option "done"/],
  ["no state", [0, { ...good, state: undefined }], /state is float32\(2\) .* got undefined/],
  [
    "half a state",
    [0, { ...good, state: [1, 2, 3] }],
    /takes 2 values for each of one or more.* got 3/,
  ],
  ["no steps", [0, { state: [], action: [], reward: [] }], /each of one or more steps, got 0/],
  [
    "too few actions",
    [0, { ...good, action: [1] }],
    /action is int32\(\) and takes 2 values for 2 steps, got 1/,
  ],
  [
    "too many rewards",
    [0, { ...good, reward: [1, 2, 3] }],
    /reward .* takes 2 values for 2 steps, got 3/,
  ],
  [
    "rewards of big integers",
    [0, { ...good, reward: new BigUint64Array(2) }],
    /reward .* one plain or typed array of numbers, got BigUint64Array\(2\)/,
  ],
  [
    "actions with a fraction in a typed array",
    [0, { ...good, action: Float64Array.of(0, 0.5) }],
    /recordMany\(\): action\[1\] must be an integer .* got 0\.5/,
  ],
  ["one action for all", [0, { ...good, action: 1 }], /action .* got 1/],
  [
    "a fractional action",
    [0, { ...good, action: [0, 0.5] }],
    /recordMany\(\): action\[1\] must be an integer .* got 0\.5/,
  ],
  [
    "no extras",
    [0, { ...good, extras: undefined }],
    /recordMany\(\): extras are missing; the schema of this replay has steps/,
  ],
  ["an extra too few", [0, { ...good, extras: {} }], /recordMany\(\): extras\.steps is missing/],
  [
    "an unknown extra",
    [0, { ...good, extras: { steps: [1, 2], x: 1 } }],
    /extras has no option "x"/,
  ],
  [
    "an extra of other length",
    [0, { ...good, extras: { steps: [1] } }],
    /extras\.steps .* takes 2 values for 2 steps, got 1/,
  ],
  ["truncated alone", [0, { ...good, truncated: true }], /truncated needs finalState/],
  [
    "a final state for each",
    [0, { ...good, finalState: [1, 2, 3, 4] }],
    /recordMany\(\): finalState .* got 4/,
  ],
  ["an unknown handle", [9, good], /no episode has handle 9/],
  ["an ended episode", [1, good], /episode 1 has ended/],
];

const BATCH: [string, unknown[], RegExp][] = [
  [
    "a plain array of handles",
    [[0, 2], good],
    /episodes must be a Float64Array of handles, .* got Array\(2\)/,
  ],
  [
    "no environments",
    [new Float64Array(0), good],
    /number of environments must be an integer from 1/,
  ],
  [
    "a state too few",
    [[0, 2], { ...good, state: [1, 2] }],
    /state is float32\(2\) and takes 4 values for 2 steps, got 2/,
  ],
  ["a reward too few", [[0, 2], { ...good, reward: [1] }], /recordBatch\(\): reward .* got 1/],
  [
    "a flag too few",
    [[0, 2], { ...good, terminated: [true] }],
    /terminated takes 2 values for 2 steps, got 1/,
  ],
  [
    "a flag that is none",
    [[0, 2], { ...good, truncated: [0, 2] }],
    /truncated\[1\] must be true, false, 1 or 0, got 2/,
  ],
  [
    "one flag for all",
    [[0, 2], { ...good, terminated: true }],
    /terminated must be a plain or typed array of booleans or of 0 and 1, got true/,
  ],
  [
    "no next state of one that is done",
    [[0, 2], { ...good, terminated: [0, 1] }],
    /nextState is missing: environment 1 is done/,
  ],
  [
    "a next state too few",
    [[0, 2], { ...good, nextState: [1, 2] }],
    /nextState is float32\(2\) .* got 2/,
  ],
  [
    "a next state of text",
    [[0, 2], { ...good, nextState: [1, 2, 3, "4"], terminated: [0, 1] }],
    /nextState\[3\] \(step 1\) must be a number/,
  ],
  [
    "an unknown option",
    [[0, 2], { ...good, finalState: [1, 2] }],
    /recordBatch\(\) has no option "finalState"/,
  ],
  ["an unknown handle", [[0, 9], good], /no episode has handle 9/],
  ["a handle that is NaN", [[0, NaN], good], /no episode has handle NaN/],
  ["an ended episode after a good one", [[0, 1], good], /episode 1 has ended/],
  ["one episode twice", [[2, 2], good], /environments 0 and 1 both record into episode 2/],
];

for (const [method, cases] of [["recordMany", MANY], ["recordBatch", BATCH]] as const) {
  for (const [name, [first, options], text] of cases) {
    Deno.test(`${method}() refuses ${name}, and nothing has changed`, async () => {
      using replay = await ExperienceReplay.create({
        capacity: 20,
        state: float32(2),
        extras: { steps: uint8() },
      });
      for (const finalState of [undefined, [0, 0], undefined]) {
        replay.record(replay.newEpisode(), [0, 0], 0, 0, {
          extras: { steps: 1 },
          ...(finalState === undefined ? {} : { finalState }),
        });
      }
      const before = [visibleState(replay), await replay.serialize()];
      const handles =
        method === "recordBatch" && Array.isArray(first) && !name.startsWith("a plain")
          ? Float64Array.from(first)
          : first;
      const error = assertThrows(() => loose(replay, method)(handles, options));
      assertMatch((error as Error).message, text);
      assertEquals([visibleState(replay), await replay.serialize()], before);
      if (handles instanceof Float64Array) {
        assertEquals([...handles], [...first as Iterable<number>]);
      }
      // And the call works when it is right.
      loose(replay, method)(method === "recordMany" ? 0 : Float64Array.of(0, 2), good);
      assertStrictEquals(replay.recordCount, 5);
    });
  }
}
