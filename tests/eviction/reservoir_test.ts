import { reservoir } from "@exrp/replay";
import { assert, assertEquals, assertNotEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "reservoir()", make: reservoir });

Deno.test("reservoir() keeps what the seed says, and another sample for another seed", async () => {
  const kept = async (seed: number): Promise<number[]> => {
    using replay = await smallReplay({ capacity: 20, eviction: reservoir(), seed });
    for (let k = 0; k < 500; k++) recordEpisode(replay, 1);
    return [...replay.episodes().handle];
  };
  assertEquals(await kept(5), await kept(5));
  assertNotEquals(await kept(5), await kept(6));
});

Deno.test("reservoir() spares open episodes while an ended one is left", async () => {
  using replay = await smallReplay({ capacity: 10, eviction: reservoir() });
  const open = [replay.newEpisode(), replay.newEpisode()];
  for (const handle of open) replay.record(handle, [0], 0, 0);
  for (let k = 0; k < 100; k++) {
    recordEpisode(replay, 2);
    for (const handle of open) assert(replay.episode(handle).ending === "open");
  }
});
