/** Bugs of other libraries with saving and loading. */

import { assert, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { prioritized, secondChance, ucb, uniform } from "@exrp/replay";
import { range, recordEpisode, small } from "./_helpers.ts";

const options = {
  capacity: 60,
  segmentLength: 12,
  pick: { length: 3, allowShort: true },
  eviction: secondChance(),
} as const;

const rules = [
  uniform(),
  prioritized({ normalize: "view" }),
  ucb(),
  ucb({ mode: "proportional" }),
] as const;

Deno.test("cpprb 1.5.16: a saved replay has its priorities, its counts and its random numbers", async () => {
  // Saving dropped the priorities, the write head and the generator. After loading, all priorities were 1.0, and the next
  // write might replace a row that was not the oldest.
  using original = await small({ ...options, seed: 3 });
  const selectors = rules.map((rule) => original.newPickSelector(rule));
  for (const name of range(12)) recordEpisode(original, name, 4 + name % 5, "truncated");
  for (const selector of selectors) {
    const { pickEpisode, pickPosition } = original.getBatch(40, selector);
    original.setPriority(selector, pickEpisode, pickPosition, range(40).map((k) => 1 / (1 + k)));
  }
  const open = recordEpisode(original, 90, 5, "open");
  const bytes = await original.serialize();

  using loaded = await small({ ...options, seed: 99, blockLength: 2 });
  const others = rules.map((rule) => loaded.newPickSelector(rule));
  await loaded.unserialize(bytes);
  assertEquals(await loaded.serialize(), bytes);
  for (const round of range(1000)) {
    const [one, other] = [selectors[round % rules.length], others[round % rules.length]];
    assert(one !== undefined && other !== undefined);
    assertEquals(original.getBatch(8, one).bytes, loaded.getBatch(8, other).bytes);
  }
  const next = [original, loaded].map((replay) => replay.record(open, 905, 0, 0));
  assertEquals(next, [open, open]);
  // Both go on in the same way: what they forget is the same too.
  for (const round of range(300)) {
    const handles = [original, loaded].map((replay) => recordEpisode(replay, round, 3));
    assertStrictEquals(handles[0], handles[1]);
    assertEquals(original.episodes().handle, loaded.episodes().handle);
    for (const k of range(rules.length)) {
      const [one, other] = [selectors[k], others[k]];
      assert(one !== undefined && other !== undefined);
      assertEquals(original.getBatch(5, one).bytes, loaded.getBatch(5, other).bytes);
    }
  }
});

Deno.test("flashbax#66: a store that was exactly full when it was saved comes back full", async () => {
  // A vault written when the ring was exactly full came back empty.
  using replay = await small({ capacity: 24, segmentLength: 8 });
  for (const name of range(3)) recordEpisode(replay, name, 8);
  assertStrictEquals(replay.recordCount, 24);
  using loaded = await small({ capacity: 24, segmentLength: 8 });
  await loaded.unserialize(await replay.serialize());
  assertStrictEquals(loaded.recordCount, 24);
  assertStrictEquals(loaded.pickCount, replay.pickCount);
  recordEpisode(loaded, 3, 8);
  assertEquals([...loaded.episodes().handle], [1, 2, 3]);
});

Deno.test("cpprb 1.5.16: a snapshot keeps the largest priority, also of a pick that is gone", async () => {
  // A checkpoint forgot the running maximum, so that new picks after loading had priority 1.
  const make = async () => {
    const replay = await small({ capacity: 20, segmentLength: 4 });
    return { replay, selector: replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 })) };
  };
  const { replay, selector } = await make();
  const gone = recordEpisode(replay, 0, 1);
  replay.setPriority(selector, [gone], [0], [64]);
  replay.evict(gone);
  const kept = recordEpisode(replay, 1, 1);
  replay.setPriority(selector, [kept], [0], [64]);
  const other = await make();
  await other.replay.unserialize(await replay.serialize());
  recordEpisode(other.replay, 2, 1);
  assertEquals(new Set(other.replay.getBatch(20, other.selector).probability), new Set([0.5]));
  replay[Symbol.dispose]();
  other.replay[Symbol.dispose]();
});

Deno.test("cpprb 1.5.16: an episode that was open when it was saved goes on", async () => {
  // The write position was lost: after loading it was 0, whatever stood there.
  using replay = await small({ capacity: 40, segmentLength: 20, pick: { length: 2 } });
  let episode = recordEpisode(replay, 1, 5, "open");
  using loaded = await small({ capacity: 40, segmentLength: 20, pick: { length: 2 }, seed: 1 });
  const selector = loaded.newPickSelector(uniform());
  // The selector came before the snapshot, which has none: it does not fit. One that has it does.
  replay.newPickSelector(uniform());
  await loaded.unserialize(await replay.serialize());
  for (const step of range(5)) episode = loaded.record(episode, 105 + step, 0, 0);
  assertStrictEquals(loaded.episode(episode).recordCount, 10);
  const { state, nextState } = loaded.getBatch(100, selector);
  for (const [k, value] of state.entries()) assertStrictEquals(nextState[k], value + 1);
});

Deno.test("ElegantRL: a saved replay keeps apart what terminated and what was cut off", async () => {
  // The mask of truncations was left out when the buffer was saved: after loading every end counted as one of the task's own.
  using replay = await small({ capacity: 60, pick: { discount: 0.5 } });
  recordEpisode(replay, 1, 4, "truncated");
  recordEpisode(replay, 2, 4, "terminated");
  recordEpisode(replay, 3, 4, "open");
  using loaded = await small({ capacity: 60, pick: { discount: 0.5 }, seed: 4 });
  await loaded.unserialize(await replay.serialize());
  const states = [0, 1, 2].map((handle) => loaded.episode(handle).ending);
  assertEquals(states, ["truncated", "terminated", "open"]);
  const selector = loaded.newPickSelector(uniform());
  const { state, nextState, discount } = loaded.getBatch(200, selector);
  assertEquals(new Set(state).size, 11);
  for (const [k, value] of state.entries()) {
    assertStrictEquals(nextState[k], value + 1);
    assertStrictEquals(discount[k], value === 203 ? 0 : 0.5);
  }
});

Deno.test("ElegantRL#299, #303: loaded when full, the next record makes room as it would have", async () => {
  // After loading, the buffer treated itself as not full, and wrote from its beginning.
  using replay = await small({ capacity: 20, segmentLength: 5 });
  for (const name of range(7)) recordEpisode(replay, name, 5);
  using loaded = await small({ capacity: 20, segmentLength: 5 });
  await loaded.unserialize(await replay.serialize());
  for (const name of [7, 8, 9]) {
    recordEpisode(loaded, name, 5);
    assertEquals([...loaded.episodes().handle], range(4).map((k) => name - 3 + k));
    assertStrictEquals(loaded.recordCount, 20);
  }
});
