import { prioritized, secondChance } from "@exrp/replay";
import { assertEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "secondChance()", make: secondChance });

Deno.test("secondChance() spares an episode that was drawn, once", async () => {
  using replay = await smallReplay({ capacity: 3, eviction: secondChance() });
  const selector = replay.newPickSelector(prioritized({ epsilon: 0 }));
  recordEpisode(replay, 1);
  replay.getBatch(1, selector); // episode 0 was drawn
  recordEpisode(replay, 1);
  recordEpisode(replay, 1);
  recordEpisode(replay, 1);
  assertEquals([...replay.episodes().handle], [0, 2, 3]);
  // From now on all are drawn but episode 0: when the hand comes round again, it goes.
  replay.setPriority(selector, [0], [0], [0]);
  for (let k = 0; k < 6; k++) {
    replay.getBatch(64, selector);
    recordEpisode(replay, 1);
  }
  assertEquals([...replay.episodes().handle].includes(0), false);
});
