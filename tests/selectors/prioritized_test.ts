import { prioritized } from "@exrp/replay";
import { assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({
  name: "prioritized()",
  make: () => prioritized(),
  stationary: true,
  followsPriority: true,
});
conforms({
  name: "prioritized({ epsilon: 0, draw: independent })",
  make: () => prioritized({ alpha: 1, epsilon: 0, draw: "independent" }),
  stationary: true,
  zeroIsNever: true,
  followsPriority: true,
});
conforms({
  name: "prioritized({ epsilon: 0, normalize: view })",
  make: () => prioritized({ alpha: 1.5, epsilon: 0, normalize: "view", initialPriority: 3 }),
  stationary: true,
  zeroIsNever: true,
  followsPriority: true,
});
conforms({
  name: "prioritized({ alpha: 0 })",
  make: () => prioritized({ alpha: 0 }),
  stationary: true,
});

Deno.test("prioritized(): probabilities and importance weights are those of Schaul et al.", async () => {
  for (const normalize of ["batch", "view"] as const) {
    using replay = await smallReplay();
    const selector = replay.newPickSelector(prioritized({ alpha: 0.5, epsilon: 0.25, normalize }));
    const episode = recordEpisode(replay, 4);
    const priorities = [0, 2, 6, 1.75];
    replay.setPriority(selector, new Array(4).fill(episode), [0, 1, 2, 3], priorities);
    const weights = priorities.map((priority) => Math.sqrt(priority + 0.25));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const beta = 0.4;
    for (const size of [1, 2, 40]) {
      const batch = replay.getBatch(size, selector, { beta });
      const drawn = [...batch.pickPosition].map((position) => (weights[position] ?? 0) / total);
      const smallest = Math.min(...(normalize === "batch" ? drawn : weights.map((w) => w / total)));
      for (const [k, probability] of drawn.entries()) {
        assertAlmostEquals(batch.probability[k] ?? 0, probability, 1e-6);
        const importance = (probability / smallest) ** -beta;
        assertAlmostEquals(batch.importanceWeight[k] ?? 0, importance, 1e-6);
      }
    }
  }
});

Deno.test("prioritized(): bad options are refused at the call", () => {
  const cases: [unknown, RegExp][] = [
    [
      { alfa: 1 },
      /prioritized\(\) has no option "alfa"; did you mean alpha\? It has alpha, epsilon/,
    ],
    [{ alpha: -1 }, /alpha must be a finite number of at least 0, got -1/],
    [{ alpha: NaN }, /alpha .* got NaN/],
    [{ alpha: "1" }, /alpha must be a number, got "1"/],
    [{ epsilon: Infinity }, /epsilon .* got Infinity/],
    [{ initialPriority: 0 }, /initialPriority .* got 0/],
    [{ normalize: "max" }, /normalize must be "batch" or "view", got "max"/],
    [{ draw: 1 }, /draw must be "stratified" or "independent", got 1/],
    [3, /takes an object of options, got 3/],
  ];
  const make = prioritized as (options: unknown) => unknown;
  for (const [options, text] of cases) {
    assertMatch((assertThrows(() => make(options)) as Error).message, text);
  }
  assertEquals(prioritized({ alpha: 0.7 }).options.alpha, 0.7);
});
