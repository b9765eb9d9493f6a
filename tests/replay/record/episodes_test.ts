/** endEpisode() ends an episode as a final state with its last record does, and refuses what is wrong. */
import { fifo } from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { assertReplayError, smallReplay, visibleState } from "../_helpers.ts";
import { loose, youngestButOne } from "./_record_helpers.ts";

Deno.test("endEpisode() leaves what a final state with the last record leaves", async () => {
  // 1 to 20 records: the final state lies in the last block, or takes another.
  for (let count = 1; count <= 20; count++) {
    using replay = await smallReplay({ length: 3, allowShort: true });
    using twin = await smallReplay({ length: 3, allowShort: true });
    const [episode, other] = [replay.newEpisode(), twin.newEpisode()];
    for (let step = 0; step < count; step++) {
      replay.record(episode, [step], 0, 0);
      twin.record(other, [step], 0, 0, step < count - 1 ? {} : { finalState: [count] });
    }
    assertStrictEquals(replay.endEpisode(episode, { finalState: [count] }), true);
    assertEquals(await replay.serialize(), await twin.serialize());
    assertReplayError(() => replay.endEpisode(episode, { finalState: [1] }), "episode-ended");
  }
});

Deno.test("endEpisode() of an evicted or empty episode is false, and an empty one is forgotten", async () => {
  for (const eviction of [fifo(), youngestButOne()]) {
    using replay = await smallReplay({ capacity: 5, eviction });
    const [empty, evicted] = [replay.newEpisode(), replay.newEpisode()];
    replay.record(evicted, [1], 0, 0);
    replay.evict(evicted);
    assertStrictEquals(replay.endEpisode(evicted, { finalState: [1] }), false);
    assertStrictEquals(replay.endEpisode(empty, { finalState: [1] }), false);
    assertStrictEquals(replay.episode(empty).ending, "evicted");
    for (const handle of [evicted, empty]) {
      assertReplayError(() => replay.endEpisode(handle, { finalState: [1] }), "episode-ended");
    }
    // A policy of the user's has heard of it: it never names the one that is gone.
    let episode = replay.newEpisode();
    for (let step = 0; step < 30; step++) {
      episode = replay.record(episode, [step], 0, 0);
      if (step % 3 === 2) episode = replay.newEpisode();
    }
    assert(replay.recordCount <= 5);
  }
});

Deno.test("endEpisode() refuses what is wrong, and nothing has changed", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  replay.record(episode, [0], 0, 0);
  const before = [visibleState(replay), await replay.serialize()];
  const end = loose(replay, "endEpisode");
  const cases: [() => unknown, RegExp][] = [
    [() => end("0", { finalState: [0] }), /endEpisode\(\): episode must be the number/],
    [() => end(episode), /endEpisode\(\) takes an object of options, got undefined/],
    [() => end(episode, {}), /endEpisode\(\): finalState .* got undefined/],
    [() => end(episode, { finalState: [0, 1] }), /endEpisode\(\): finalState .* got 2/],
    [() => end(episode, { finalState: [0], truncated: 1 }), /truncated must be true or false/],
    [() => end(episode, { finalState: [0], terminated: true }), /has no option "terminated"/],
    [() => end(9, { finalState: [0] }), /endEpisode\(\): no episode has handle 9/],
  ];
  for (const [call, text] of cases) {
    assertMatch((assertThrows(call) as Error).message, text);
    assertEquals([visibleState(replay), await replay.serialize()], before);
  }
});
