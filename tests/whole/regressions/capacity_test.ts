/** Bugs of other libraries with full stores, and with stores of special sizes. */

import { assert, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { lru, prioritized, secondChance, ucb, uniform } from "@exrp/replay";
import { allPicks, range, recordEpisode, small } from "./_helpers.ts";

Deno.test("pytorch/rl#1969: the store holds exactly its capacity, never more", async () => {
  // Trajectory samplers crashed or were wrong once the storage was at capacity.
  for (const capacity of [1, 2, 3, 7, 8, 9, 31]) {
    using replay = await small({ capacity, segmentLength: capacity });
    const selector = replay.newPickSelector(uniform());
    let full = false;
    for (const name of range(60)) {
      recordEpisode(replay, name, 1 + (name % Math.min(3, capacity)));
      assert(replay.recordCount <= capacity);
      full ||= replay.recordCount === capacity;
      assertStrictEquals(allPicks(replay, selector).length, replay.recordCount);
    }
    assert(full);
  }
});

Deno.test("ray#7180: prioritized draws at exactly 4096 records stay within the table", async () => {
  // A prioritized buffer drew an index out of range when it held exactly 4096 items.
  using replay = await small({ capacity: 4096, pick: {} });
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  for (const name of range(128)) recordEpisode(replay, name, 32);
  assertStrictEquals(replay.pickCount, 4096);
  const { probability, pickPosition } = replay.getBatch(4096, selector);
  assertEquals(new Set(probability), new Set([1 / 4096]));
  assert(pickPosition.every((position) => position >= 0 && position < 32));
});

Deno.test("cleanrl#546: a table that is no power of two gives each pick its own priority", async () => {
  // A sum tree that was not padded to a power of two returned wrong indices.
  for (const count of [1, 2, 3, 5, 6, 7, 11, 17, 33]) {
    using replay = await small({ capacity: count, segmentLength: count });
    const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
    const episode = recordEpisode(replay, 0, count);
    for (const only of range(count)) {
      const priorities = range(count).map((k) => k === only ? 3 : 0);
      replay.setPriority(selector, priorities.map(() => episode), range(count), priorities);
      assertEquals(new Set(replay.getBatch(9, selector).pickPosition), new Set([only]));
    }
  }
});

Deno.test("ElegantRL#298: prioritized draws work at capacities that are powers of two", async () => {
  // The tree's loops stopped two levels early: `assert 0 <= indices.min()` failed at every power of two tried.
  for (const capacity of [2, 16, 256, 4096, 65536]) {
    using replay = await small({ capacity, segmentLength: Math.min(capacity, 1000) });
    const selector = replay.newPickSelector(prioritized());
    let episode = replay.newEpisode();
    for (const step of range(capacity + 10)) episode = replay.record(episode, step, 0, 0);
    const { state, nextState } = replay.getBatch(256, selector);
    for (const [k, value] of state.entries()) assertStrictEquals(nextState[k], value + 1);
  }
});

Deno.test("ElegantRL: a write across the end of the store keeps the priorities of the rest", async () => {
  // A prioritized write that crossed the end of the ring raised, because its range ended before it began.
  using replay = await small({ capacity: 10, segmentLength: 5 });
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  recordEpisode(replay, 0, 4);
  const kept = recordEpisode(replay, 1, 4);
  replay.setPriority(selector, [kept, kept, kept, kept], [0, 1, 2, 3], [0, 0, 5, 0]);
  recordEpisode(replay, 2, 4); // forgets episode 0 and crosses the end
  const { pickEpisode, pickPosition } = replay.getBatch(200, selector);
  for (const [k, episode] of pickEpisode.entries()) {
    assert(episode !== kept || pickPosition[k] === 2);
  }
  assert(pickEpisode.includes(kept) && pickEpisode.includes(2));
});

Deno.test("cpprb 1.5.18: a full store goes on storing", async () => {
  // SelectiveReplayBuffer stopped storing when it was full, without an error.
  using replay = await small({ capacity: 6, eviction: secondChance() });
  const selector = replay.newPickSelector(uniform());
  for (const name of range(50)) {
    const episode = recordEpisode(replay, name, 2);
    assertEquals(replay.episode(episode).recordCount, 2);
    assert(allPicks(replay, selector).some(([handle]) => handle === episode));
  }
});

Deno.test("stable-baselines3#234: many laps with open episodes, and every rule still draws", async () => {
  // Hindsight replay crashed when the buffer wrapped while an episode was being written.
  using replay = await small({
    capacity: 9,
    pick: { length: 2, allowShort: true },
    eviction: lru(),
  });
  const selectors = [uniform(), prioritized(), ucb()].map((rule) => replay.newPickSelector(rule));
  let episodes = [replay.newEpisode(), replay.newEpisode()];
  for (const step of range(500)) {
    episodes = episodes.map((episode) => replay.record(episode, step, 0, 0));
    if (step % 7 === 6) episodes[step % 2] = replay.newEpisode();
    if (replay.pickCount === 0) continue;
    for (const selector of selectors) {
      const { state, seqLen } = replay.getBatch(4, selector);
      for (const k of range(4)) {
        if (seqLen[k] === 2) assertStrictEquals(state[2 * k + 1], (state[2 * k] ?? NaN) + 1);
      }
    }
  }
});
