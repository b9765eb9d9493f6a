import { lowestPriorityFirst, prioritized, uniform } from "@exrp/replay";
import type { PickSelector, SelectorRule } from "@exrp/replay/selectors";
import { assertEquals } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "lowestPriorityFirst()", make: lowestPriorityFirst });

/** A user's selector, which keeps nothing. */
function own(): PickSelector {
  return {
    name: "own",
    pushed: () => {},
    moved: () => {},
    popped: () => {},
    setPriority: () => {},
    select: () => {},
  };
}

for (const rule of [prioritized, uniform, own] as readonly (() => SelectorRule)[]) {
  Deno.test(`lowestPriorityFirst() goes by the mean of the last call that named an episode, set on ${rule.name}()`, async () => {
    using replay = await smallReplay({ capacity: 8, eviction: lowestPriorityFirst() });
    const selector = replay.newPickSelector(rule());
    for (let k = 0; k < 4; k++) recordEpisode(replay, 2);
    replay.setPriority(selector, [0, 1, 2, 3, 3, 99 % 4], [0, 0, 0, 0, 1, 7], [5, 3, 4, 6, 0, 900]);
    replay.setPriority(selector, [1], [1], [4.5]); // the 3 of before is gone
    recordEpisode(replay, 2); // 3 has (6 + 0) / 2: the last is of no pick
    assertEquals([...replay.episodes().handle], [0, 1, 2, 4]);
    recordEpisode(replay, 2);
    assertEquals([...replay.episodes().handle], [0, 1, 4, 5]);
    recordEpisode(replay, 2);
    assertEquals([...replay.episodes().handle], [0, 4, 5, 6]); // 4, 5 and 6 have the 5 of 0, but later
    recordEpisode(replay, 2);
    assertEquals([...replay.episodes().handle], [4, 5, 6, 7]);
  });
}

Deno.test("lowestPriorityFirst() forgets an episode that is too short for a pick before all others", async () => {
  using replay = await smallReplay({ capacity: 9, length: 3, eviction: lowestPriorityFirst() });
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 3);
  recordEpisode(replay, 2);
  recordEpisode(replay, 3);
  replay.setPriority(selector, [0, 2], [0, 0], [1e-30, 1e-30]);
  recordEpisode(replay, 3);
  assertEquals([...replay.episodes().handle], [0, 2, 3]);
});
