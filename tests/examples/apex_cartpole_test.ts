/** The Ape-X example: its command line, its schedule of ε, that lock-step fixes a run, and that actors in Workers are of use. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { epsilonOf } from "../../examples/apex_cartpole/actor.ts";
import { parseOptions, train } from "../../examples/apex_cartpole/main.ts";
import { native } from "../_native.ts";

Deno.test("the Ape-X example refuses flags that are wrong", () => {
  const defaults = { actors: 4, seed: 1, steps: 60_000, runs: 1, lockStep: false };
  assertEquals(parseOptions([]), defaults);
  assertEquals(parseOptions(["--lock-step"]), { ...defaults, actors: 1, lockStep: true });
  assertEquals(parseOptions(["--actors", "2", "--seed=0"]), { ...defaults, actors: 2, seed: 0 });
  assertStrictEquals(parseOptions(["-h"]), "help");
  const wrong = [["--actors", "0"], ["--actors", "65"], ["--lock-step", "--actors", "2"], [
    "--step",
    "1",
  ]];
  for (const args of wrong) assertThrows(() => parseOptions(args), TypeError);
});

Deno.test("ε of the actors is that of the paper", () => {
  const epsilons = [0, 1, 2, 3].map((index) => epsilonOf(index, 4));
  const expected = [0.4, 0.4 ** (1 + 7 / 3), 0.4 ** (1 + 14 / 3), 0.4 ** 8];
  epsilons.forEach((epsilon, k) => assertAlmostEquals(epsilon, expected[k] ?? NaN));
  assertStrictEquals(epsilonOf(0, 1), 0.4 ** 4.5);
});

/** Trains, and notes which picks each batch had, with their weights. */
async function trained(
  options: Parameters<typeof train>[0],
): Promise<{ picks: string[]; result: unknown }> {
  const picks: string[] = [];
  const result = await train(options, ({ batch }) => {
    picks.push(`${batch.pickEpisode}/${batch.pickPosition}/${batch.importanceWeight}`);
  });
  return { picks, result };
}

native.test("in lock-step, the same seed gives the same batches, curve and weights, and another seed gives others", async () => {
  const options = { actors: 1, seed: 1, steps: 1_150, lockStep: true };
  const [one, again] = [await trained(options), await trained(options)];
  assertStrictEquals(one.picks.length, 200);
  assertEquals(again, one);
  const other = await trained({ ...options, seed: 2 });
  assert(other.picks.join() !== one.picks.join());
});

native.test("two actors in Workers and a learner go on together, and stop when told to", async () => {
  const result = await train({ actors: 2, seed: 1, steps: 1_500, lockStep: false });
  assert(result.episodes.length > 10);
  assert(result.weights.every(Number.isFinite));
});
