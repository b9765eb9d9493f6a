import { ucb } from "@exrp/replay";
import { assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "ucb()", make: () => ucb(), deterministic: true });
conforms({ name: "ucb({ c: 0.1 })", make: () => ucb({ c: 0.1 }), deterministic: true });
conforms({
  name: "ucb({ mode: proportional })",
  make: () => ucb({ mode: "proportional", initialPriority: 2 }),
});

Deno.test("ucb(): picks never drawn come first, the oldest of them first", async () => {
  for (const mode of ["greedy", "proportional"] as const) {
    using replay = await smallReplay();
    const selector = replay.newPickSelector(ucb({ mode }));
    recordEpisode(replay, 10);
    assertEquals([...replay.getBatch(4, selector).state], [0, 1, 2, 3]);
    recordEpisode(replay, 2, 50);
    assertEquals([...replay.getBatch(8, selector).state], [4, 5, 6, 7, 8, 9, 50, 51]);
  }
});

Deno.test("ucb(): greedy takes the best score, by the formula", async () => {
  using replay = await smallReplay();
  const c = 0.3;
  const selector = replay.newPickSelector(ucb({ c }));
  const episode = recordEpisode(replay, 5);
  const priorities = [1, 4, 2, 3, 0.5];
  replay.setPriority(selector, new Array(5).fill(episode), [0, 1, 2, 3, 4], priorities);
  const counts = [0, 0, 0, 0, 0];
  let total = 0;
  for (let round = 0; round < 300; round++) {
    const scores = priorities.map((priority, k) => {
      const count = counts[k] as number;
      return count === 0 ? Infinity : priority / 4 + c * Math.sqrt(Math.log(total) / count);
    });
    const [drawn = -1] = replay.getBatch(1, selector).pickPosition;
    const best = Math.max(...scores);
    if (!((scores[drawn] as number) >= best - 1e-12)) {
      throw new Error(`round ${round}: drew ${drawn} of ${scores}`);
    }
    counts[drawn] = (counts[drawn] as number) + 1;
    total++;
  }
});

Deno.test("ucb(): bad options are refused at the call", () => {
  const cases: [unknown, RegExp][] = [
    [{ C: 1 }, /ucb\(\) has no option "C"; did you mean c\? It has c, mode, initialPriority/],
    [{ c: -1 }, /c must be a finite number .*, got -1/],
    [{ mode: "best" }, /mode must be "greedy" or "proportional", got "best"/],
    [{ initialPriority: -1 }, /initialPriority/],
  ];
  const make = ucb as (options: unknown) => unknown;
  for (const [options, text] of cases) {
    assertMatch((assertThrows(() => make(options)) as Error).message, text);
  }
});
