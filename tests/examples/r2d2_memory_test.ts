/** The R2D2 example: its command line, its recurrent network, that a seed fixes a run, and that memory is what solves the maze. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { TMaze } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";
import { SETTINGS, train } from "../../examples/r2d2_memory/agent.ts";
import {
  HIDDEN,
  RecurrentNetwork,
  type Sequences,
} from "../../examples/r2d2_memory/_recurrent_network.ts";
import { parseOptions } from "../../examples/r2d2_memory/main.ts";

const [COUNT, ROWS] = [3, 4];
const RATES = { learning: 1e-3, target: 0.5 };

/** Sequences of random numbers, whose first two rows are there for the hidden state only. */
function randomSequences(seed: number): Sequences {
  const random = new RandomStream(seed);
  const numbers = (count: number): Float32Array<ArrayBuffer> =>
    Float32Array.from({ length: count }, () => random.uniform());
  return {
    state: numbers(COUNT * (ROWS + 1) * TMaze.stateSize),
    hidden: numbers(COUNT * HIDDEN),
    action: Int32Array.from({ length: COUNT * ROWS }, () => random.below(TMaze.actionCount)),
    learnMask: Float32Array.from({ length: COUNT * ROWS }, (_, k) => k % ROWS < 2 ? 0 : 1),
    weight: new Float32Array(COUNT).fill(1),
  };
}

Deno.test("the R2D2 example refuses flags that are wrong", () => {
  assertEquals(parseOptions(["--seed", "0"]), {
    memories: ["stored", "none"],
    seed: 0,
    steps: 50_000,
  });
  assertEquals(parseOptions(["--memory", "zeros"]), {
    memories: ["zeros"],
    seed: 1,
    steps: 50_000,
  });
  assertStrictEquals(parseOptions(["-h"]), "help");
  for (const args of [["--seed", "-1"], ["--steps", "0"], ["--memory", "all"], ["r2d2"]]) {
    assertThrows(() => parseOptions(args), TypeError);
  }
});

Deno.test("the recurrent network values sequences as it values one step after the other", async () => {
  using network = await RecurrentNetwork.create(1, { remembers: true });
  const sequences = randomSequences(2);
  const together = network.nextValues(sequences); // both networks are the same yet
  const width = (ROWS + 1) * TMaze.stateSize;
  for (let k = 0; k < COUNT; k++) {
    let hidden = sequences.hidden.slice(k * HIDDEN, (k + 1) * HIDDEN);
    for (let row = 0; row <= ROWS; row++) {
      const first = k * width + row * TMaze.stateSize;
      const next = network.step(sequences.state.slice(first, first + TMaze.stateSize), hidden);
      hidden = next.hidden;
      if (row === 0) continue;
      const best = Math.max(...next.values);
      assertAlmostEquals(
        together[k * ROWS + row - 1] ?? NaN,
        best,
        1e-5,
        `sequence ${k}, row ${row}`,
      );
    }
  }
});

Deno.test("the recurrent network learns nothing from rows of burn-in, and through them from no row before", async () => {
  const goal = new Float32Array(COUNT * ROWS).fill(1);
  const other = goal.map((value, k) => k % ROWS < 2 ? 9 : value); // other goals where nothing is learned
  const weights: string[] = [];
  for (const goals of [goal, other]) {
    using network = await RecurrentNetwork.create(1, { remembers: true });
    const { tdError } = network.update(randomSequences(2), goals, RATES);
    assert(tdError.every((error, k) => (error === 0) === (k % ROWS < 2)), tdError.join());
    weights.push(network.weights().join());
  }
  assertStrictEquals(weights[0], weights[1]);

  // Only the last row is learned from here, and only in the first row is the first number of the state not 0. So the weights that lead from
  // that number have a gradient only if it goes back through the rows of burn-in. Without one, Adam leaves them as they are.
  const { state, ...sequences } = randomSequences(2);
  const learnMask = sequences.learnMask.map((_, k) => k % ROWS < ROWS - 1 ? 0 : 1);
  const width = (ROWS + 1) * TMaze.stateSize;
  const marked = state.map((value, k) => k % TMaze.stateSize !== 0 || k % width === 0 ? value : 0);
  using network = await RecurrentNetwork.create(1, { remembers: true });
  const before = network.weights();
  network.update({ ...sequences, state: marked, learnMask }, goal, RATES);
  const after = network.weights();
  const count = 3 * HIDDEN;
  assertEquals(after.subarray(0, count), before.subarray(0, count));
  assert(after.subarray(count).join() !== before.subarray(count).join());
});

Deno.test("without memory, the network's values depend on the present state only", async () => {
  const state = Float32Array.of(0, 0, 1);
  const values: string[] = [];
  for (const remembers of [true, false]) {
    using network = await RecurrentNetwork.create(1, { remembers });
    for (const value of [0, 1]) {
      values.push(network.step(state, new Float32Array(HIDDEN).fill(value)).values.join());
    }
  }
  const [zeros, ones, ...without] = values;
  assert(zeros !== ones);
  assertEquals(without, [zeros, zeros]);
});

Deno.test("the R2D2 example gives the same weights for the same seed, and others for another and for each memory", async () => {
  const saved = { ...SETTINGS };
  Object.assign(SETTINGS, { warmupSteps: 200, batchSize: 4 });
  try {
    const run = async (memory: "stored" | "zeros" | "none", seed: number): Promise<string> =>
      (await train({ memory, seed, steps: 320 })).weights.join();
    const first = await run("stored", 1);
    assertStrictEquals(await run("stored", 1), first);
    const all = [first, await run("stored", 2), await run("zeros", 1), await run("none", 1)];
    assertStrictEquals(new Set(all).size, all.length);
  } finally {
    Object.assign(SETTINGS, saved);
  }
});

Deno.test("with a memory the R2D2 example solves a small maze, and without one it stays at chance", async () => {
  const saved = { ...SETTINGS };
  Object.assign(SETTINGS, {
    maze: { corridorLength: 2, junctionCount: 2 }, // the best return is 2, and 0.95 without memory
    ...{ length: 6, stride: 3, burnIn: 3, batchSize: 16, warmupSteps: 500, stepsPerUpdate: 16 },
    evaluation: { every: 1_000, episodes: 100 },
    solved: { return: 1.8, times: 1 },
  });
  try {
    const best = async (memory: "stored" | "none", steps: number): Promise<number> => {
      const { evaluations } = await train({ memory, seed: 3, steps });
      return Math.max(...evaluations.map((point) => point.return));
    };
    const [stored, none] = [await best("stored", 12_000), await best("none", 4_000)];
    assert(stored >= 1.8, `with a memory it earned ${stored}`);
    assert(none <= 1.4, `without one it earned ${none}`);
  } finally {
    Object.assign(SETTINGS, saved);
  }
});
