import { rankBased } from "@exrp/replay";
import { assertAlmostEquals, assertMatch, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "rankBased()", make: () => rankBased(), stationary: true });
conforms({
  name: "rankBased({ draw: independent, normalize: view })",
  make: () => rankBased({ alpha: 1.2, draw: "independent", normalize: "view" }),
  stationary: true,
});
conforms({
  name: "rankBased({ alpha: 0 })",
  make: () => rankBased({ alpha: 0, initialPriority: 0 }),
  stationary: true,
});

Deno.test("rankBased(): probabilities and importance weights are those of Schaul et al.", async () => {
  for (const normalize of ["batch", "view"] as const) {
    using replay = await smallReplay();
    const selector = replay.newPickSelector(rankBased({ alpha: 0.5, normalize }));
    const episode = recordEpisode(replay, 5);
    const priorities = [0.2, 7, 0, 1e30, 7];
    replay.setPriority(selector, new Array(5).fill(episode), [0, 1, 2, 3, 4], priorities);
    const ranks = [4, 2, 5, 1, 3]; // of the two with priority 7 the older first
    const total = ranks.reduce((sum, rank) => sum + rank ** -0.5, 0);
    const beta = 0.4;
    for (const size of [1, 2, 40]) {
      const batch = replay.getBatch(size, selector, { beta });
      const drawn = [...batch.pickPosition].map((k) => (ranks[k] ?? NaN) ** -0.5 / total);
      const smallest = normalize === "batch" ? Math.min(...drawn) : 5 ** -0.5 / total;
      for (const [k, probability] of drawn.entries()) {
        assertAlmostEquals(batch.probability[k] ?? 0, probability, 1e-6);
        const importance = (probability / smallest) ** -beta;
        assertAlmostEquals(batch.importanceWeight[k] ?? 0, importance, 1e-6);
      }
    }
  }
});

Deno.test("rankBased(): bad options are refused at the call", () => {
  const cases: [unknown, RegExp][] = [
    [{ alfa: 1 }, /rankBased\(\) has no option "alfa"/],
    [{ alpha: -1 }, /alpha must be a finite number of at least 0, got -1/],
    [{ initialPriority: NaN }, /initialPriority .* got NaN/],
    [{ normalize: "max" }, /normalize must be "batch" or "view", got "max"/],
    [{ draw: 1 }, /draw must be "stratified" or "independent", got 1/],
  ];
  const make = rankBased as (options: unknown) => unknown;
  for (const [options, text] of cases) {
    assertMatch((assertThrows(() => make(options)) as Error).message, text);
  }
});
