import { nStepReturn, type NStepReturnOptions } from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import {
  assertRefused,
  assertResults,
  eachStep,
  forRandomRows,
  nStepByRecursion,
} from "./_helpers.ts";
import * as rlax from "./rlax_values.ts";

Deno.test("nStepReturn() gives rlax's numbers", () => {
  const { reward, discount, nextValue, seqLen } = rlax;
  for (const [n, expected] of [[1, rlax.nStep1], [3, rlax.nStep3], [9, rlax.nStep9]] as const) {
    assertResults(nStepReturn({ reward, discount, nextValue, seqLen, n }), expected, `n ${n}`);
  }
});

Deno.test("nStepReturn() is the recursion on n", () => {
  forRandomRows((rows, random) => {
    const n = 1 + random(14);
    const { reward, discount, nextValue, seqLen } = rows;
    const expected = eachStep(rows, (k, end) => nStepByRecursion(rows, k, end, n));
    assertResults(nStepReturn({ reward, discount, nextValue, seqLen, n }), expected);
  });
});

Deno.test("nStepReturn() ends at a discount of 0 within a row", () => {
  const target = nStepReturn({
    reward: [1, 2, NaN],
    discount: [0.5, 0, 0.5],
    nextValue: [NaN, NaN, NaN],
    n: 3,
    seqLen: [3],
  });
  assertEquals([...target], [2, 2, NaN]);
});

Deno.test("nStepReturn() writes into an array of the caller, an input if it likes", () => {
  forRandomRows((rows) => {
    const { reward, discount, nextValue, seqLen } = rows;
    for (const input of [reward, discount, nextValue]) {
      const all = { reward, discount, nextValue, seqLen, n: 2 };
      const fresh = nStepReturn(all);
      const kept = input.slice();
      assertStrictEquals(nStepReturn({ ...all, into: input }), input);
      assertEquals(input, fresh);
      input.set(kept);
    }
  });
});

Deno.test("nStepReturn() refuses what it can't use, and has written nothing then", () => {
  const into = new Float32Array(2);
  const two = [1, 2];
  const good: NStepReturnOptions = {
    reward: two,
    discount: two,
    nextValue: two,
    n: 1,
    seqLen: [2],
    into,
  };
  assertRefused(nStepReturn, good, [
    [{ unknown: 1 }, TypeError, "nStepReturn() has no option"],
    [{ n: 0 }, RangeError, "n must be an integer of at least 1, got 0"],
    [{ n: 1.5 }, RangeError, "n must be an integer"],
    [{ n: undefined }, TypeError, "n must be an integer"],
    [{ reward: [1, 2, 3] }, RangeError, "discount must have 3 numbers"],
    [{ discount: [] }, RangeError, "discount must have 2 numbers"],
    [{ nextValue: [1] }, RangeError, "nextValue must have 2 numbers"],
    [{ seqLen: 2 }, TypeError, "seqLen must be"],
    [{ into: new Float32Array(1) }, RangeError, "into must have 2 elements"],
  ], [into]);
});
