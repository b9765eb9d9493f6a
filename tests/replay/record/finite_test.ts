/** checkFinite refuses NaN and infinite values in every call that records, and names where they are. */
import { ExperienceReplay, float16, float32, float64, int32, ReplayError } from "@exrp/replay";
import { assertEquals, assertMatch, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { visibleState } from "../_helpers.ts";
import { loose } from "./_record_helpers.ts";

const BAD = [NaN, Infinity, -Infinity];

/** A replay with an open episode of one record. */
async function started(checkFinite?: boolean): Promise<[ExperienceReplay, number]> {
  const replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(3),
    action: float64(2),
    reward: float16(),
    extras: { logits: float32() },
    ...(checkFinite === undefined ? {} : { checkFinite }),
  });
  const episode = replay.newEpisode();
  replay.record(episode, [0, 0, 0], [0, 0], 0, { extras: { logits: -Infinity } });
  return [replay as unknown as ExperienceReplay, episode];
}

const [GOOD, TWO] = [[1, 2, 3], [1, 2]];
const extras = { logits: -Infinity };

/** Calls with a bad value, and where the error must say that it is. */
function calls(bad: number): [name: string, method: string, args: unknown[], where: string][] {
  const step = {
    state: GOOD,
    action: TWO,
    reward: 0,
    terminated: true,
    truncated: false,
    nextState: GOOD,
    extras,
  };
  const many = {
    state: [...GOOD, ...GOOD],
    action: [...TWO, ...TWO],
    reward: [0, 0],
    extras: { logits: [-Infinity, NaN] },
  };
  const batch = { ...many, nextState: [...GOOD, ...GOOD], terminated: [0, 1] };
  const [first, last] = [[1, 2, bad], [...GOOD, 1, bad, 3]];
  return [
    ["a state", "record", [0, first, TWO, 0, { extras }], "element 2 of state is"],
    [
      "a typed state",
      "record",
      [0, new Float32Array(first), TWO, 0, { extras }],
      "element 2 of state is",
    ],
    ["an action", "record", [0, GOOD, [bad, 0], 0, { extras }], "element 0 of action is"],
    ["a reward", "record", [0, GOOD, TWO, bad, { extras }], "reward is"],
    [
      "a final state",
      "record",
      [0, GOOD, TWO, 0, { extras, finalState: first }],
      "element 2 of finalState is",
    ],
    ["a state", "recordStep", [0, { ...step, state: first }], "element 2 of state is"],
    ["a reward", "recordStep", [0, { ...step, reward: bad }], "reward is"],
    ["a next state", "recordStep", [0, { ...step, nextState: first }], "element 2 of nextState is"],
    ["states", "recordMany", [0, { ...many, state: last }], "element 1 of state of step 1 is"],
    [
      "typed states",
      "recordMany",
      [0, { ...many, state: new Float32Array(last) }],
      "element 1 of state of step 1 is",
    ],
    ["rewards", "recordMany", [0, { ...many, reward: [0, bad] }], "reward of step 1 is"],
    [
      "a final state",
      "recordMany",
      [0, { ...many, finalState: first }],
      "element 2 of finalState is",
    ],
    [
      "states",
      "recordBatch",
      [[0, 1], { ...batch, state: last }],
      "element 1 of state of step 1 is",
    ],
    [
      "actions",
      "recordBatch",
      [[0, 1], { ...batch, action: [1, bad, 1, 1] }],
      "element 1 of action of step 0 is",
    ],
    [
      "next states",
      "recordBatch",
      [[0, 1], { ...batch, nextState: last }],
      "element 1 of nextState of step 1 is",
    ],
    ["a final state", "endEpisode", [0, { finalState: first }], "element 2 of finalState is"],
  ];
}

for (const [name, method] of calls(NaN)) {
  Deno.test(`${method}() with checkFinite refuses ${name} of NaN and infinities, and nothing has changed`, async () => {
    for (const bad of BAD) {
      for (const [each, same, args, where] of calls(bad)) {
        if (each !== name || same !== method) continue;
        using replay = (await started(true))[0];
        replay.newEpisode();
        const before = visibleState(replay);
        if (Array.isArray(args[0])) args[0] = Float64Array.from(args[0]);
        const error = assertThrows(() => loose(replay, method)(...args), RangeError);
        assertMatch(String(error), new RegExp(`${where} ${bad} as float`));
        assertMatch(String(error), /takes only finite states, actions and rewards \(checkFinite\)/);
        assertEquals(visibleState(replay), before);

        using plain = (await started())[0];
        plain.newEpisode();
        loose(plain, method)(...args);
      }
    }
  });
}

Deno.test("checkFinite takes finite values, and infinite extras; a next state is kept, so it must be finite", async () => {
  const [made, episode] = await started(true);
  using replay = made;
  const record = loose(replay, "record");
  record(episode, [1, -3e38, 1e-40], [1e300, -0], 65504, { extras: { logits: NaN } });
  const step = { state: GOOD, action: TWO, reward: 0, extras, nextState: [NaN, 0, 0] };
  const goesOn = { ...step, terminated: false, truncated: false };
  assertThrows(() => loose(replay, "recordStep")(episode, goesOn), RangeError, "nextState is NaN");
  assertStrictEquals(replay.recordCount, 2);
});

Deno.test("checkFinite looks at what is stored: a number too large for the dtype is infinite", async () => {
  const [made, episode] = await started(true);
  using replay = made;
  const record = loose(replay, "record");
  const state = assertThrows(() => record(episode, [1, 1e300, 0], TWO, 0, { extras }), RangeError);
  assertMatch(String(state), /record\(\): element 1 of state is Infinity as float32/);
  const reward = assertThrows(() => record(episode, GOOD, TWO, 1e5, { extras }), RangeError);
  assertMatch(String(reward), /reward is Infinity as float16/);
});

Deno.test("checkFinite finds a bad value at any place of many steps", async () => {
  for (const count of [1, 2, 7, 64, 65]) {
    for (let at = 0; at < count; at++) {
      using replay = await ExperienceReplay.create({
        capacity: 100,
        state: float32(),
        checkFinite: true,
      });
      const state = new Float32Array(count);
      state[at] = NaN;
      const steps = { state, action: new Int32Array(count), reward: new Float32Array(count) };
      const error = assertThrows(() => replay.recordMany(replay.newEpisode(), steps), RangeError);
      assertMatch(String(error), new RegExp(`recordMany\\(\\): state of step ${at} is NaN`));
    }
  }
});

Deno.test("checkFinite is true or false, and whole numbers need no check", async () => {
  const options = { capacity: 10, state: int32(2), reward: int32(), checkFinite: true };
  using replay = await ExperienceReplay.create(options);
  replay.record(replay.newEpisode(), [1, 2], 0, 0, { finalState: [3, 4] });
  const create = (checkFinite: unknown): Promise<ExperienceReplay> =>
    ExperienceReplay.create({ ...options, checkFinite } as never);
  for (const wrong of [1, "yes", null]) {
    const error = await create(wrong).then(() => undefined, (error: unknown) => error);
    assertMatch(String(error), /TypeError: .*checkFinite must be true or false/);
    assertStrictEquals(error instanceof ReplayError, false);
  }
});
