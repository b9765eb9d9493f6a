import { newest, oldest } from "@exrp/replay";
import { assertEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "oldest()", make: oldest, deterministic: true, someOnly: true });
conforms({ name: "newest()", make: newest, deterministic: true, someOnly: true });

Deno.test("oldest() and newest(): every draw is the end, until it is forgotten; priorities do not count", async () => {
  using replay = await smallReplay();
  const [first, second] = [recordEpisode(replay, 3), recordEpisode(replay, 3, 10)];
  const ends = [replay.newPickSelector(oldest()), replay.newPickSelector(newest())];
  const drawn = (): number[][] => ends.map((selector) => [...replay.getBatch(2, selector).state]);
  assertEquals(drawn(), [[0, 0], [12, 12]]);
  for (const selector of ends) replay.setPriority(selector, [first, second], [0, 2], [0, 0]);
  assertEquals(drawn(), [[0, 0], [12, 12]]);
  const batch = replay.getBatch(1, replay.newPickSelector(oldest()));
  assertEquals([batch.probability[0], batch.importanceWeight[0]], [1, 1]);
  const third = recordEpisode(replay, 2, 20);
  assertEquals(drawn(), [[0, 0], [21, 21]]);
  replay.evict(first);
  assertEquals(drawn(), [[10, 10], [21, 21]]);
  replay.evict(third);
  assertEquals(drawn(), [[10, 10], [12, 12]]);
});
