/** recordStep() stores what record() stores, ends episodes as the environment says, and refuses what is wrong. */
import { ExperienceReplay, float32 } from "@exrp/replay";
import {
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "../../_assert.ts";
import { assertSameContents, smallReplay, visibleState } from "../_helpers.ts";
import { loose } from "./_record_helpers.ts";

Deno.test("recordStep() ends an episode as the environment says, and begins the next", async () => {
  using replay = await smallReplay();
  let episode = replay.newEpisode();
  episode = replay.recordStep(episode, {
    state: [0],
    action: 0,
    reward: 0,
    terminated: false,
    truncated: false,
    nextState: [1],
  });
  assertStrictEquals(episode, 0);
  episode = replay.recordStep(episode, {
    state: [1],
    action: 0,
    reward: 0,
    terminated: true,
    truncated: true,
    nextState: [2],
  });
  assertStrictEquals(episode, 1);
  episode = replay.recordStep(episode, {
    state: [3],
    action: 0,
    reward: 0,
    terminated: false,
    truncated: true,
    nextState: [4],
  });
  assertStrictEquals(episode, 2);
  assertEquals([0, 1, 2].map((handle) => replay.episode(handle).ending), [
    "terminated",
    "truncated",
    "open",
  ]);
  // It stores the same as record().
  using twin = await smallReplay();
  twin.record(twin.newEpisode(), [0], 0, 0);
  twin.record(0, [1], 0, 0, { finalState: [2] });
  twin.record(twin.newEpisode(), [3], 0, 0, { finalState: [4], truncated: true });
  twin.newEpisode();
  assertSameContents(replay as never, twin as never);
});

Deno.test("recordStep() takes 1 and 0 for true and false, as recordBatch() does", async () => {
  using replay = await smallReplay();
  using twin = await smallReplay();
  let [episode, other] = [replay.newEpisode(), twin.newEpisode()];
  for (const [terminated, truncated] of [[0, 0], [1, 0], [0, 1], [1, 1]] as const) {
    episode = replay.recordStep(episode, {
      state: [0],
      action: 0,
      reward: 0,
      terminated,
      truncated,
      nextState: [1],
    });
    other = twin.recordStep(other, {
      state: [0],
      action: 0,
      reward: 0,
      terminated: terminated === 1,
      truncated: truncated === 1,
      nextState: [1],
    });
  }
  assertEquals([...replay.episodes().handle].map((handle) => replay.episode(handle).ending), [
    "terminated",
    "truncated",
    "terminated",
    "open",
  ]);
  assertEquals(await replay.serialize(), await twin.serialize());
});

Deno.test("recordStep() without truncated: the episode was not cut off", async () => {
  using replay = await smallReplay();
  using twin = await smallReplay();
  let [one, other] = [replay.newEpisode(), twin.newEpisode()];
  for (let t = 0; t < 6; t++) {
    const step = { state: [t], action: 0, reward: 1, terminated: t === 3, nextState: [t + 1] };
    one = replay.recordStep(one, t % 2 === 0 ? step : { ...step, priority: 2 });
    other = twin.recordStep(other, {
      ...step,
      ...(t % 2 === 0 ? {} : { priority: 2 }),
      truncated: false,
    });
    assertEquals(one, other);
  }
  assertEquals(await replay.serialize(), await twin.serialize());
  assertEquals(replay.episode(0).ending, "terminated");
  assertEquals(replay.episode(1).ending, "open");
  // As for the other options, undefined is as good as nothing.
  const loosely = loose(replay, "recordStep");
  const step = { state: [0], action: 0, reward: 1, terminated: false, nextState: [1] };
  assertEquals(loosely(one, { ...step, truncated: undefined }), one);
  assertMatch(
    String(assertThrows(() => loosely(one, { ...step, truncatd: true }))),
    /no option "truncatd"; did you mean truncated\?/,
  );
});

Deno.test("recordStep() refuses what is wrong, and nothing has changed", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  replay.record(episode, [0], 0, 0);
  const before = [visibleState(replay), await replay.serialize()];
  const loosely = loose(replay, "recordStep");
  const good = {
    state: [0],
    action: 0,
    reward: 0,
    terminated: false,
    truncated: false,
    nextState: [0],
  };
  const step = (handle: unknown, wrong: object): unknown => loosely(handle, { ...good, ...wrong });
  const cases: [() => unknown, RegExp][] = [
    [() => step("0", {}), /recordStep\(\): episode must be the number/],
    [
      () => step(episode, { terminated: 2 }),
      /recordStep\(\): terminated must be true, false, 1 or 0, got 2/,
    ],
    [
      () => step(episode, { terminated: true, truncated: null }),
      /truncated must be true, false, 1 or 0, got null/,
    ],
    [
      () => step(episode, { terminated: undefined }),
      /terminated must be true, false, 1 or 0, got undefined/,
    ],
    [
      () => step(episode, { terminated: true, nextState: undefined }),
      /recordStep\(\): nextState .* got undefined/,
    ],
    [
      () => step(episode, { nextState: undefined }),
      /recordStep\(\): nextState must be the state that step\(\) returned, at every step; got undefined$/,
    ],
    [
      () => step(episode, { done: true }),
      /recordStep\(\) has no option "done": use terminated and truncated\. It has state/,
    ],
    [() => step(episode, { terminated: true, state: [0, 0] }), /recordStep\(\): state .* got 2/],
    [
      () => step(episode, { terminatd: true }),
      /recordStep\(\) has no option "terminatd"; did you mean terminated\?/,
    ],
    [
      () => {
        const { terminated: terminatd, ...others } = good as unknown as { terminated: boolean };
        return loosely(episode, { ...others, terminatd });
      },
      /recordStep\(\) has no option "terminatd"; did you mean terminated\?/,
    ],
    [
      () => loosely(episode, new StepOfAClass()),
      /recordStep\(\) has no option "priorty"; did you mean priority\?/,
    ],
    [() => loosely(episode), /recordStep\(\) takes an object of options, got undefined/],
    [() => loosely(episode, [0], 0, 0, false, false, [0]), /recordStep\(\) has no option "0"/],
    [() => step(9, {}), /recordStep\(\): no episode has handle 9/],
  ];
  for (const [call, text] of cases) {
    assertMatch((assertThrows(call) as Error).message, text);
    assertEquals([visibleState(replay), await replay.serialize()], before);
  }
});

Deno.test("finalState ends an episode, so terminated and done are refused with what to write instead", async () => {
  using replay = await smallReplay();
  const ends = { finalState: [1] };
  const rows = { state: [0], action: [0], reward: [0] };
  for (const flag of ["terminated", "done"]) {
    const calls: readonly (readonly [string, () => unknown])[] = [
      ["record", () => loose(replay, "record")(0, [0], 0, 0, { ...ends, [flag]: true })],
      ["recordMany", () => loose(replay, "recordMany")(0, { ...rows, ...ends, [flag]: true })],
      ["endEpisode", () => loose(replay, "endEpisode")(0, { ...ends, [flag]: true })],
    ];
    for (const [name, call] of calls) {
      assertStrictEquals(
        (assertThrows(call, TypeError) as Error).message.split(". It has")[0],
        `${name}() has no option "${flag}": finalState alone means that the episode terminated; add truncated: true only if it was cut off`,
      );
    }
  }
  const batch = { ...rows, done: [true] };
  const call = (): unknown => loose(replay, "recordBatch")(Float64Array.of(0), batch);
  assertMatch(
    (assertThrows(call, TypeError) as Error).message,
    /"done": use terminated and truncated\./,
  );
});

Deno.test("an episode that was cut: the error names the call whose handle is needed", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 8,
    state: float32(1),
    segmentLength: 1,
  });
  const steps = { state: [0], action: [0], reward: [0] };
  const ended = replay.newEpisode();
  replay.record(ended, [0], 0, 0, { finalState: [1] });
  const step = {
    state: [0],
    action: 0,
    reward: 0,
    nextState: [1],
    terminated: false,
    truncated: false,
  };
  const calls: readonly (readonly [() => unknown, string])[] = [
    [() => replay.record(ended, [0], 0, 0), "the handle that the last record() returned"],
    [() => replay.recordStep(ended, step), "the handle that the last recordStep() returned"],
    [() => replay.recordMany(ended, steps), "the handle that the last recordMany() returned"],
    [
      () => replay.recordBatch(Float64Array.of(ended), steps),
      "the handles that the last recordBatch() wrote",
    ],
    [
      () => replay.endEpisode(ended, { finalState: [1] }),
      "the handle that the last call that recorded returned",
    ],
  ];
  for (const [call, text] of calls) {
    assertStringIncludes((assertThrows(call) as Error).message, text);
  }
});

/** A step with a misspelt part and one that only its prototype has: as many as a loop over a right one finds. */
class StepOfAClass {
  readonly state = [0];
  readonly action = 0;
  readonly reward = 0;
  readonly terminated = false;
  readonly truncated = false;
  readonly priorty = 1;
  get nextState(): readonly number[] {
    return [1];
  }
}
