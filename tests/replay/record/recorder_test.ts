/** recordStep() stores what record() stores, ends episodes as the environment says, and refuses what is wrong. */
import { assertEquals, assertMatch, assertStrictEquals, assertThrows } from "@std/assert";
import { smallReplay, visibleState } from "../_helpers.ts";
import { loose } from "./_record_helpers.ts";

Deno.test("recordStep() ends an episode as the environment says, and begins the next", async () => {
  using replay = await smallReplay();
  let episode = replay.newEpisode();
  episode = replay.recordStep(episode, [0], 0, 0, false, false, [1]);
  assertStrictEquals(episode, 0);
  episode = replay.recordStep(episode, [1], 0, 0, true, true, [2]);
  assertStrictEquals(episode, 1);
  episode = replay.recordStep(episode, [3], 0, 0, false, true, [4]);
  assertStrictEquals(episode, 2);
  assertEquals([0, 1, 2].map((handle) => replay.episode(handle).state), [
    "terminated",
    "truncated",
    "open",
  ]);
  // What it stores is what record() stores.
  using twin = await smallReplay();
  twin.record(twin.newEpisode(), [0], 0, 0);
  twin.record(0, [1], 0, 0, { finalState: [2] });
  twin.record(twin.newEpisode(), [3], 0, 0, { finalState: [4], truncated: true });
  twin.newEpisode();
  assertEquals(await replay.serialize(), await twin.serialize());
});

Deno.test("recordStep() takes 1 and 0 for true and false, as recordBatch() does", async () => {
  using replay = await smallReplay();
  using twin = await smallReplay();
  let [episode, other] = [replay.newEpisode(), twin.newEpisode()];
  for (const [terminated, truncated] of [[0, 0], [1, 0], [0, 1], [1, 1]] as const) {
    episode = replay.recordStep(episode, [0], 0, 0, terminated, truncated, [1]);
    other = twin.recordStep(other, [0], 0, 0, terminated === 1, truncated === 1, [1]);
  }
  assertEquals([...replay.episodes()].map((handle) => replay.episode(handle).state), [
    "terminated",
    "truncated",
    "terminated",
    "open",
  ]);
  assertEquals(await replay.serialize(), await twin.serialize());
});

Deno.test("recordStep() refuses what is wrong, and nothing has changed", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  replay.record(episode, [0], 0, 0);
  const before = [visibleState(replay), await replay.serialize()];
  const step = loose(replay, "recordStep");
  const cases: [() => unknown, RegExp][] = [
    [() => step("0", [0], 0, 0, false, false, [0]), /recordStep\(\): episode must be the number/],
    [
      () => step(episode, [0], 0, 0, 2, false, [0]),
      /recordStep\(\): terminated must be true, false, 1 or 0, got 2/,
    ],
    [
      () => step(episode, [0], 0, 0, true, undefined, [0]),
      /truncated must be true, false, 1 or 0, got undefined/,
    ],
    [() => step(episode, [0], 0, 0, true, false), /recordStep\(\): nextState .* got undefined/],
    [() => step(episode, [0, 0], 0, 0, true, false, [0]), /recordStep\(\): state .* got 2/],
    [
      () => step(episode, [0], 0, 0, false, false, [0], { done: 1 }),
      /recordStep\(\) has no option "done"/,
    ],
    [() => step(9, [0], 0, 0, false, false, [0]), /recordStep\(\): no episode has handle 9/],
  ];
  for (const [call, text] of cases) {
    assertMatch((assertThrows(call) as Error).message, text);
    assertEquals([visibleState(replay), await replay.serialize()], before);
  }
});
