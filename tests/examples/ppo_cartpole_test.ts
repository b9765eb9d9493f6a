/** The PPO example: its command line, that a seed fixes a run, and that it learns. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { mean } from "../../examples/_curve.ts";
import { parseOptions, SETTINGS, train } from "../../examples/ppo_cartpole/main.ts";

Deno.test("the PPO example refuses flags that are wrong", () => {
  assertEquals(parseOptions([]), { seed: 1, steps: 200_000 });
  assertEquals(parseOptions(["--seed", "0", "--steps=7"]), { seed: 0, steps: 7 });
  assertStrictEquals(parseOptions(["-h"]), "help");
  for (const args of [["--seed", "-1"], ["--steps", "0"], ["--step", "1"], ["ppo"]]) {
    assertThrows(() => parseOptions(args), TypeError);
  }
});

Deno.test("the PPO example gives the same weights for the same seed, and others for another", async () => {
  const steps = 2 * SETTINGS.environments * SETTINGS.rolloutSteps;
  const [one, again, other] = [
    await train({ seed: 1, steps }),
    await train({ seed: 1, steps }),
    await train({ seed: 2, steps }),
  ];
  assertEquals(again, one);
  assert(one.weights.join() !== other.weights.join());
});

Deno.test("the PPO example earns far more than chance after 20,000 steps", async () => {
  const { episodes } = await train({ seed: 1, steps: 20_000 });
  const returns = episodes.map((point) => point.return);
  const [first, last] = [mean(returns.slice(0, 20)), mean(returns.slice(-20))];
  assert(first < 40, `the first 20 episodes earned ${first}: an untrained policy earns about 22`);
  assert(last > 100, `the last 20 episodes earned ${last}`);
});
