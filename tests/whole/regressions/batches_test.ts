/** Bugs of other libraries with batches in flight, and with calls that failed halfway. */

import { assert, assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
import { assertCode, range, recordEpisode, small } from "./_helpers.ts";

Deno.test("cpprb 1.5.1: two batches in flight: the second changes nothing of the first", async () => {
  // Weights and indexes of a batch were views of the buffer's own vectors, which the next sample() rewrote.
  using replay = await small({ capacity: 100, pick: { length: 2, allowShort: true } });
  const selector = replay.newPickSelector(prioritized());
  for (const name of range(8)) recordEpisode(replay, name, 6);
  const first = replay.getBatch(16, selector);
  const bytes = first.bytes.slice();
  const second = replay.getBatch(16, selector);
  assert(second.bytes.buffer !== first.bytes.buffer);
  assertEquals(first.bytes, bytes);
});

Deno.test("cpprb 1.5.1: two batches in flight: each updates its own picks", async () => {
  // Updating "batch A" after sampling B changed all of B's rows and none of A's.
  using replay = await small();
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const episode = recordEpisode(replay, 0, 50);
  const a = replay.getBatch(4, selector);
  const b = replay.getBatch(4, selector);
  const zeros = new Float64Array(50);
  replay.setPriority(selector, zeros.map(() => episode), Int32Array.from(range(50)), zeros);
  replay.setPriority(selector, b.pickEpisode, b.pickPosition, new Float32Array(4).fill(1));
  replay.setPriority(selector, a.pickEpisode, a.pickPosition, new Float32Array(4).fill(1));
  const drawn = new Set(replay.getBatch(500, selector).pickPosition);
  assertEquals(drawn, new Set([...a.pickPosition, ...b.pickPosition]));
});

Deno.test("cpprb 1.5.2: a larger batch later leaves an earlier one as it was", async () => {
  // When a later batch was larger the vectors moved, and the kept indexes were the contents of unrelated memory.
  using replay = await small();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 0, 20);
  const held = range(20).map(() => replay.getBatch(3, selector));
  const bytes = held.map((batch) => batch.bytes.slice());
  for (const size of [32, 1000, 100_000]) replay.getBatch(size, selector);
  assertEquals(held.map((batch) => batch.bytes), bytes);
});

Deno.test("cpprb 1.5.17: no call changes the caller's arrays", async () => {
  // An n-step add of float32 rewards changed the caller's array in place.
  using replay = await ExperienceReplay.create({ capacity: 20, state: float32(2), seed: 1 });
  const selector = replay.newPickSelector(prioritized());
  const state = Float32Array.of(1, 2);
  const finalState = [3, 4];
  const episode = replay.newEpisode();
  replay.record(episode, state, 0, 0, { finalState });
  const [episodes, positions, priorities] = [[episode, 99, episode], [0, 0, 0], [1, 2, 3]];
  replay.newEpisode();
  assertCode(
    () => replay.setPriority(selector, episodes, positions, priorities),
    "episode-unknown",
  );
  episodes[1] = 1;
  replay.setPriority(selector, episodes, positions, priorities);
  assertEquals([...state, ...finalState], [1, 2, 3, 4]);
  assertEquals([episodes, positions, priorities], [[episode, 1, episode], [0, 0, 0], [1, 2, 3]]);
});

Deno.test("cpprb 1.5.15: a call that failed has moved nothing", async () => {
  // After a missing column or a shape error the head had moved already, and the slots counted as stored.
  using replay = await ExperienceReplay.create({
    capacity: 6,
    state: float32(2),
    extras: { logProb: float32() },
    seed: 5,
  });
  const selector = replay.newPickSelector(uniform());
  const loose = replay as unknown as { record(...args: unknown[]): unknown };
  let episode = replay.newEpisode();
  const good = { extras: { logProb: 0 } };
  for (const step of range(6)) episode = replay.record(episode, [step, step], 0, 0, good);
  const before = [replay.recordCount, replay.episodeCount, replay.pickCount];
  const bytes = await replay.serialize();
  for (
    const call of [
      () => loose.record(episode, [1], 0, 0, good),
      () => loose.record(episode, [1, 2], 0, 0, {}),
      () => loose.record(episode, [1, 2], 0, 0, { extras: {} }),
      () => loose.record(episode, [1, 2], 0, 0, { ...good, finalState: [1, 2, 3] }),
      () => loose.record(episode, [1, 2], 0.5, 0, good),
      () => loose.record(episode, [1, 2], 0, 0, { ...good, truncated: true }),
      () => loose.record(99, [1, 2], 0, 0, good),
      () => replay.getBatch(0, selector),
    ]
  ) {
    assertThrows(call);
    assertEquals([replay.recordCount, replay.episodeCount, replay.pickCount], before);
  }
  assertEquals(await replay.serialize(), bytes);
});

Deno.test("cpprb 1.5.7: an option of an unknown name is refused, not ignored", async () => {
  // A misspelt `priority=` was accepted: all rows of its own benchmark's prioritized buffer had the same priority.
  using replay = await small();
  const selector = replay.newPickSelector(uniform());
  const loose = replay as unknown as {
    record(...args: unknown[]): unknown;
    getBatch(...args: unknown[]): unknown;
  };
  const episode = recordEpisode(replay, 0, 2, "open");
  assertThrows(() => loose.record(episode, 1, 0, 0, { priorities: 3 }), TypeError, '"priorities"');
  assertThrows(() => loose.record(episode, 1, 0, 0, { final: 3 }), TypeError, '"final"');
  assertThrows(() => loose.getBatch(1, selector, { Beta: 1 }), TypeError, '"Beta"');
  const misspelt = prioritized as (options: object) => unknown;
  assertThrows(() => misspelt({ Alpha: 1 }), TypeError, '"Alpha"');
  assertStrictEquals(replay.recordCount, 2);
});

Deno.test("cpprb 1.5.8: columns of unequal length are refused, not broadcast", async () => {
  // One observation with three rewards stored the same observation three times, silently.
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(3),
    action: float32(2),
    reward: float32(3),
  });
  const loose = replay as unknown as { record(...args: unknown[]): unknown };
  const episode = replay.newEpisode();
  const cases = [
    [[1], [1, 2], [1, 2, 3]],
    [[1, 2, 3], [1], [1, 2, 3]],
    [[1, 2, 3], [1, 2], [1]],
    [[1, 2, 3, 4], [1, 2], [1, 2, 3]],
    [[], [1, 2], [1, 2, 3]],
  ];
  for (const [state, action, reward] of cases) {
    assertThrows(() => loose.record(episode, state, action, reward), RangeError);
  }
  assertThrows(() => loose.record(episode, 1, [1, 2], [1, 2, 3]), TypeError);
  assertStrictEquals(replay.recordCount, 0);
});
