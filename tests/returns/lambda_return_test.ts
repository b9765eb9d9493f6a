import { lambdaReturn, type LambdaReturnOptions, nStepReturn } from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import {
  assertRefused,
  assertResults,
  eachStep,
  forRandomRows,
  nStepByRecursion,
} from "./_helpers.ts";
import * as rlax from "./rlax_values.ts";

Deno.test("lambdaReturn() gives rlax's numbers", () => {
  const { reward, discount, nextValue, seqLen } = rlax;
  const all = { reward, discount, nextValue, seqLen };
  assertResults(lambdaReturn({ ...all, lambda: 0.8 }), rlax.lambdaReturn80);
  assertResults(lambdaReturn({ ...all, lambda: 1 }), rlax.lambdaReturn1);
});

Deno.test("lambdaReturn() is the mixture of all n-step returns", () => {
  forRandomRows((rows, random) => {
    const lambda = random(101) / 100;
    const { reward, discount, nextValue, seqLen } = rows;
    const expected = eachStep(rows, (k, end) => {
      let [sum, weight] = [0, 1];
      for (let n = 1; n < end - k; n++) {
        sum += (1 - lambda) * weight * nStepByRecursion(rows, k, end, n);
        weight *= lambda;
      }
      return sum + weight * nStepByRecursion(rows, k, end, end - k);
    });
    assertResults(lambdaReturn({ reward, discount, nextValue, seqLen, lambda }), expected);
  });
});

Deno.test("lambdaReturn() with lambda 0 is the one-step return, with lambda 1 that of all steps", () => {
  forRandomRows((rows) => {
    const { reward, discount, nextValue, seqLen } = rows;
    const all = { reward, discount, nextValue, seqLen };
    assertEquals(lambdaReturn({ ...all, lambda: 0 }), nStepReturn({ ...all, n: 1 }));
    const whole = nStepReturn({ ...all, n: rows.length });
    assertResults(lambdaReturn({ ...all, lambda: 1 }), whole, "", 2e-6);
  });
});

Deno.test("lambdaReturn() writes into an array of the caller, an input if it likes", () => {
  forRandomRows((rows) => {
    const { reward, discount, nextValue, seqLen } = rows;
    for (const input of [reward, discount, nextValue]) {
      const all = { reward, discount, nextValue, seqLen, lambda: 0.9 };
      const fresh = lambdaReturn(all);
      const kept = input.slice();
      assertStrictEquals(lambdaReturn({ ...all, into: input }), input);
      assertEquals(input, fresh);
      input.set(kept);
    }
  });
});

Deno.test("lambdaReturn() refuses what it can't use, and has written nothing then", () => {
  const into = new Float32Array(2);
  const two = [1, 2];
  const good: LambdaReturnOptions = {
    reward: two,
    discount: two,
    nextValue: two,
    lambda: 0.5,
    seqLen: [2],
    into,
  };
  assertRefused(lambdaReturn, good, [
    [{ unknown: 1 }, TypeError, "lambdaReturn() has no option"],
    [{ lambda: undefined }, TypeError, "lambda must be a number"],
    [{ lambda: 1.5 }, RangeError, "lambda"],
    [{ reward: [1, 2, 3] }, RangeError, "nextValue must have 3 numbers"],
    [{ discount: [] }, RangeError, "discount must have 2 numbers"],
    [{ nextValue: {} }, TypeError, "nextValue must be"],
    [{ seqLen: [5] }, RangeError, "seqLen[0]"],
    [{ into: new Float32Array(1) }, RangeError, "into must have 2 elements"],
  ], [into]);
});
