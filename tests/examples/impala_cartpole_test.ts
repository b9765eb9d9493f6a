/** The example of IMPALA and IMPACT: its command line, the circular buffer, that a seed fixes a run, and that both learn. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { type Method, METHODS, train } from "../../examples/impala_cartpole/_agent.ts";
import { CircularBuffer } from "../../examples/impala_cartpole/_circular_buffer.ts";
import { parseOptions } from "../../examples/impala_cartpole/main.ts";

Deno.test("the IMPALA example refuses flags that are wrong", () => {
  assertEquals(parseOptions(["--lag", "0"]), {
    methods: ["impala", "impact"],
    ...{ lag: 0, seed: 1, steps: 120_000 },
  });
  assertEquals(parseOptions(["--method=impact", "--seed", "4", "--steps", "9"]), {
    methods: ["impact"],
    ...{ lag: 16, seed: 4, steps: 9 },
  });
  assertStrictEquals(parseOptions(["-h"]), "help");
  for (const args of [["--method", "ppo"], ["--lag", "-1"], ["--steps", "0"], ["impala"]]) {
    assertThrows(() => parseOptions(args), TypeError);
  }
});

Deno.test("the circular buffer gives each batch in turn, as often as it should, and never again", () => {
  const buffer = new CircularBuffer<number>(3, 2);
  const taken: number[] = [];
  for (let batch = 0; batch < 30; batch++) {
    buffer.push(batch);
    if (batch < 2) assert(!buffer.isFull);
    while (buffer.isFull) taken.push(buffer.take());
  }
  assertEquals(taken.slice(0, 10), [0, 1, 2, 0, 1, 2, 3, 4, 5, 3]);
  for (let batch = 0; batch < 27; batch++) {
    assertStrictEquals(taken.filter((each) => each === batch).length, 2, `batch ${batch}`);
  }
  assertThrows(
    () => {
      for (let batch = 0; batch < 4; batch++) buffer.push(batch);
    },
    RangeError,
    "full",
  );
  assertThrows(() => new CircularBuffer(1, 1).take(), RangeError, "empty");
});

const weightsOf = async (method: Method, lag: number, seed: number): Promise<string> =>
  (await train({ method, lag, seed, steps: 1_024 })).weights.join();

Deno.test("the IMPALA example gives the same weights for the same seed, and others for another, each method and lag", async () => {
  const first = await weightsOf("impala", 2, 1);
  assertStrictEquals(await weightsOf("impala", 2, 1), first);
  const all = [first, await weightsOf("impala", 2, 2), await weightsOf("impala", 0, 1)];
  for (const method of METHODS.slice(1)) all.push(await weightsOf(method, 2, 1));
  assertStrictEquals(new Set(all).size, all.length);
});

Deno.test("without a lag, V-trace corrects nothing", async () => {
  assertStrictEquals(await weightsOf("impala", 0, 1), await weightsOf("uncorrected", 0, 1));
});

Deno.test("IMPALA and IMPACT earn far more than chance from policies that are four batches old", async () => {
  for (const method of ["impala", "impact"] as const) {
    const { evaluations, updates } = await train({ method, lag: 4, seed: 1, steps: 16_384 });
    const best = Math.max(...evaluations.map((point) => point.return));
    assert(best > 100, `${method}: the best evaluation earned ${best}`);
    // 64 batches, each used once or eight times; the last ones are still in the buffer.
    assert(
      method === "impala" ? updates === 64 : updates > 7 * 60 && updates < 8 * 64,
      `${updates}`,
    );
  }
});
