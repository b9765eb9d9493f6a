import { afterDraws, newest, oldest } from "@exrp/replay";
import { assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "afterDraws(3)", make: () => afterDraws(3) });

Deno.test("afterDraws() evicts episodes in the order in which they were spent", async () => {
  using replay = await smallReplay({ capacity: 6, eviction: afterDraws(2) });
  const [first, last] = [replay.newPickSelector(oldest()), replay.newPickSelector(newest())];
  recordEpisode(replay, 2);
  recordEpisode(replay, 2);
  replay.getBatch(4, last); // episode 1 is spent
  recordEpisode(replay, 2);
  replay.getBatch(3, last); // episode 2 is not
  replay.getBatch(4, first); // episode 0 is, but later; all four draws were of one pick
  recordEpisode(replay, 2);
  assertEquals([...replay.episodes().handle], [0, 2, 3]);
  recordEpisode(replay, 2);
  assertEquals([...replay.episodes().handle], [2, 3, 4]);
  recordEpisode(replay, 2); // none is spent: the oldest
  assertEquals([...replay.episodes().handle], [3, 4, 5]);
});

Deno.test("afterDraws() counts the draws of an open episode, but spares it until it has ended", async () => {
  using replay = await smallReplay({ capacity: 5, eviction: afterDraws(1) });
  const last = replay.newPickSelector(newest());
  recordEpisode(replay, 1);
  const open = replay.newEpisode();
  for (let step = 0; step < 2; step++) replay.record(open, [step], 0, 0);
  replay.getBatch(50, last); // of its first record: the second's next state is not known
  recordEpisode(replay, 2);
  recordEpisode(replay, 1);
  assertEquals([...replay.episodes().handle], [1, 2, 3]);
  replay.endEpisode(open, { finalState: [2] });
  recordEpisode(replay, 1);
  assertEquals([...replay.episodes().handle], [2, 3, 4]);
});

Deno.test("afterDraws() refuses what is no number of draws", () => {
  for (const draws of [0, -1, 1.5, NaN, Infinity, 2 ** 32 - 1]) {
    assertMatch(
      (assertThrows(() => afterDraws(draws)) as Error).message,
      /afterDraws\(\): draws must be an integer/,
    );
  }
  assertThrows(() => afterDraws("3" as unknown as number), TypeError);
});
