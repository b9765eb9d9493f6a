import { lfu, uniform } from "@exrp/replay";
import { assertEquals } from "@std/assert";
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
  assertEquals([...replay.episodes()].filter((handle) => handle < 4), kept);
});
