import { lru, uniform } from "@exrp/replay";
import { assertEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "lru()", make: lru });

Deno.test("lru() evicts what was not drawn for the longest time", async () => {
  using replay = await smallReplay({ capacity: 3, eviction: lru() });
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 1);
  recordEpisode(replay, 1);
  recordEpisode(replay, 1);
  // Draw one at a time until all were drawn, and remember the order of last draws.
  let order: number[] = [];
  while (order.length < 3) {
    const [drawn = -1] = replay.getBatch(1, selector).pickEpisode;
    order = [...order.filter((handle) => handle !== drawn), drawn];
  }
  recordEpisode(replay, 1);
  assertEquals([...replay.episodes().handle], [...order.slice(1).sort((a, b) => a - b), 3]);
});
