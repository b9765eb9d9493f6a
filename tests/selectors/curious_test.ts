import { curious, type Selector } from "@exrp/replay";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { recordEpisode, type SmallReplay, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "curious()", make: () => curious() });
conforms({
  name: "curious({ draw: independent, normalize: view })",
  make: () => curious({ c: 100, draw: "independent", normalize: "view" }),
});
conforms({
  name: "curious({ c: 0 })",
  make: () => curious({ c: 0, alpha: 1, epsilon: 0 }),
  stationary: true,
  zeroIsNever: true,
});
conforms({ name: "curious({ beta: 1 })", make: () => curious({ beta: 1 }), stationary: true });
conforms({ name: "curious({ beta: 0 })", make: () => curious({ c: 1, beta: 0, pMax: 1 }) });

/** Counts of draws and losses, kept beside a selector, and what the paper makes of them. */
class Curiosity {
  readonly draws: number[];
  readonly losses: (number | undefined)[];
  constructor(
    private readonly replay: SmallReplay,
    private readonly selector: Selector,
    private readonly normalize: "batch" | "view",
    count: number,
  ) {
    this.draws = new Array<number>(count).fill(0);
    this.losses = new Array<undefined>(count).fill(undefined);
  }

  setLosses(positions: readonly number[], losses: readonly number[]): void {
    this.replay.setPriority(this.selector, positions.map(() => 0), positions, losses);
    for (const [k, position] of positions.entries()) this.losses[position] = losses[k];
  }

  /** Draws a batch and checks its probabilities and weights. */
  drawAndCheck(size: number): void {
    const weights = this.draws.map((draws, k) => {
      const loss = this.losses[k];
      return loss === undefined ? 1e5 : 1e4 * 0.7 ** draws + (loss + 0.01) ** 0.7;
    });
    const total = weights.reduce((a, b) => a + b, 0);
    const batch = this.replay.getBatch(size, this.selector, { beta: 0.6 });
    const due = [...batch.pickPosition].map((position) => (weights[position] ?? NaN) / total);
    const least = this.normalize === "batch" ? Math.min(...due) : Math.min(...weights) / total;
    for (const [k, probability] of due.entries()) {
      assertAlmostEquals(batch.probability[k] ?? NaN, probability, 1e-6);
      const importance = (probability / least) ** -0.6;
      assertAlmostEquals(batch.importanceWeight[k] ?? NaN, importance, 1e-5);
    }
    for (const position of batch.pickPosition) {
      this.draws[position] = (this.draws[position] ?? NaN) + 1;
    }
  }
}

Deno.test("curious(): probabilities and importance weights are those of Kauvar et al., draw after draw", async () => {
  for (const normalize of ["batch", "view"] as const) {
    using replay = await smallReplay();
    const selector = replay.newPickSelector(curious({ normalize }));
    recordEpisode(replay, 5);
    const curiosity = new Curiosity(replay, selector, normalize, 5);
    curiosity.drawAndCheck(7); // none has a loss
    curiosity.setLosses([0, 1, 2], [0, 3, 1e6]);
    for (let round = 0; round < 20; round++) curiosity.drawAndCheck(1 + round % 9); // two have none
    curiosity.setLosses([3, 4, 3], [7, 0.5, 2]);
    for (let round = 0; round < 60; round++) {
      curiosity.drawAndCheck(1 + round % 9);
      curiosity.setLosses([round % 5], [(round * 7) % 11]);
    }
    assert(curiosity.draws.every((draws) => draws > 10), `${curiosity.draws}`);
  }
});

Deno.test("curious(): a pick keeps pMax until its first loss, however often it is drawn", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    curious({ c: 4, beta: 0.5, alpha: 1, epsilon: 0, pMax: 8 }),
  );
  const episode = recordEpisode(replay, 2);
  // Both have 8: of each four stratified draws, two go to each.
  for (let round = 0; round < 3; round++) {
    const batch = replay.getBatch(4, selector);
    assertEquals([...batch.state], [0, 0, 1, 1]);
    assertEquals([...batch.probability], [0.5, 0.5, 0.5, 0.5]);
  }
  // Six draws of each count once there is a loss: 4 / 64 + 7.9375 = 8.
  replay.setPriority(selector, [episode], [0], [7.9375]);
  assertEquals([...replay.getBatch(2, selector).probability], [0.5, 0.5]);
});

Deno.test("curious(): a priority that comes with a record is its first loss", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(curious({ c: 8, beta: 0.5, alpha: 1, epsilon: 0 }));
  const episode = replay.record(replay.newEpisode(), [0], 0, 0, { priority: 4 });
  replay.record(episode, [1], 0, 0, { priority: 28, finalState: [2] });
  const { state, probability } = replay.getBatch(8, selector); // 8 + 4 and 8 + 28
  for (const [k, each] of state.entries()) assertEquals(probability[k], each === 0 ? 0.25 : 0.75);
});

Deno.test("curious(): of two losses for one pick the last counts, and a pick of loss 0 without novelty is not drawn", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(curious({ c: 0, epsilon: 0 }));
  const episode = recordEpisode(replay, 3);
  replay.setPriority(selector, new Array(5).fill(episode), [0, 1, 2, 2, 0], [1, 1, 0, 1, 0]);
  assertEquals(new Set(replay.getBatch(100, selector).state), new Set([1, 2]));
});

Deno.test("curious(): what takes the place of a forgotten pick is new", async () => {
  using replay = await smallReplay({ capacity: 4 });
  const selector = replay.newPickSelector(
    curious({ pMax: 3, c: 1, beta: 0.5, alpha: 1, epsilon: 0 }),
  );
  const episode = recordEpisode(replay, 4);
  replay.setPriority(selector, new Array(4).fill(episode), [0, 1, 2, 3], [1, 1, 1, 1]);
  replay.getBatch(50, selector);
  recordEpisode(replay, 2, 10);
  assertEquals([...replay.getBatch(2, selector).probability], [0.5, 0.5]);
  assertEquals(replay.pickCount, 2);
});

Deno.test("curious(): bad options are refused at the call", () => {
  const cases: [unknown, RegExp][] = [
    [{ rho: 1 }, /curious\(\) has no option "rho"; it has c, beta, alpha, epsilon, pMax/],
    [{ c: -1 }, /curious\(\): c must be a finite number of at least 0, got -1/],
    [{ beta: 1.5 }, /beta must be a finite number from 0 to 1, got 1.5/],
    [{ alpha: NaN }, /alpha .* got NaN/],
    [{ epsilon: -1 }, /epsilon .* got -1/],
    [{ pMax: 0 }, /pMax .* got 0/],
    [{ normalize: "max" }, /normalize must be "batch" or "view", got "max"/],
    [{ draw: 1 }, /draw must be "stratified" or "independent", got 1/],
    [3, /takes an object of options, got 3/],
  ];
  const make = curious as (options: unknown) => unknown;
  for (const [options, text] of cases) {
    assertMatch((assertThrows(() => make(options)) as Error).message, text);
  }
  assertEquals(curious().options, {
    c: 1e4,
    beta: 0.7,
    alpha: 0.7,
    epsilon: 0.01,
    pMax: 1e5,
    normalize: "batch",
    draw: "stratified",
  });
});
