import { fifo } from "@exrp/replay";
import { assertEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "fifo()", make: fifo });

Deno.test("fifo() evicts the oldest episode after one in the middle was removed", async () => {
  using replay = await smallReplay({ capacity: 4, eviction: fifo() });
  for (let k = 0; k < 4; k++) recordEpisode(replay, 1);
  replay.evict(1);
  recordEpisode(replay, 1);
  assertEquals([...replay.episodes().handle], [0, 2, 3, 4]);
  recordEpisode(replay, 1);
  assertEquals([...replay.episodes().handle], [2, 3, 4, 5]);
});
