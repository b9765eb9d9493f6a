import { ExperienceReplay, fifo, float32, lfu, lru, secondChance, uniform } from "@exrp/replay";
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "lfu()", make: lfu });

Deno.test("lfu() evicts what was drawn least often, of equals the oldest", async () => {
  using replay = await smallReplay({ capacity: 4, eviction: lfu() });
  const selector = replay.newPickSelector(uniform());
  for (let k = 0; k < 4; k++) recordEpisode(replay, 1);
  const drawn = [0, 0, 0, 0];
  for (const handle of replay.getBatch(31, selector).pickEpisode) {
    drawn[handle] = (drawn[handle] ?? 0) + 1;
  }
  // The new episode is open and was never drawn; among those that were, the least drawn goes first.
  const victim = drawn.indexOf(Math.min(...drawn));
  recordEpisode(replay, 1);
  const kept = [0, 1, 2, 3].filter((handle) => handle !== victim);
  assertEquals([...replay.episodes().handle].filter((handle) => handle < 4), kept);
});

Deno.test("lfu() forgets another episode than the one being recorded, however little that was drawn", async () => {
  // Failed before: the youngest episode has the lowest count, so each of its records evicted the one before.
  for (const eviction of [fifo(), secondChance(), lru(), lfu()]) {
    using replay = await ExperienceReplay.create({
      capacity: 100,
      state: float32(1),
      eviction,
      segmentLength: 50,
      seed: 1,
    });
    const selector = replay.newPickSelector(uniform());
    for (let episode = 0; episode < 10; episode++) {
      const handle = replay.newEpisode();
      for (let step = 0; step < 9; step++) replay.record(handle, [step], 0, 0);
      replay.record(handle, [9], 0, 0, { finalState: [10] });
    }
    replay.getBatch(1000, selector);
    const handle = replay.newEpisode();
    for (let step = 0; step < 40; step++) {
      assertStrictEquals(replay.record(handle, [step], 0, 0), handle, eviction.name);
    }
    assertStrictEquals(replay.episode(handle).recordCount, 40);
    assertStrictEquals(replay.recordCount, 100);
  }
});
