import { nStepReturn, retrace, type RetraceOptions } from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import {
  assertRefused,
  assertResults,
  eachStep,
  forRandomRows,
  ratioOf,
  type Rows,
  tdError,
} from "./_helpers.ts";
import * as rlax from "./rlax_values.ts";

/** The options that rows give: their values serve as Q, with next values of their own. */
function optionsOf(rows: Rows): RetraceOptions {
  const { logProbBehaviour, logProbTarget, reward, value, nextValue, discount, seqLen } = rows;
  return {
    q: value,
    nextExpectedQ: nextValue,
    logProbBehaviour,
    logProbTarget,
    reward,
    discount,
    seqLen,
  };
}

/** Shifts the next values, which for Q are not the values one step later. */
function unlikeValues(rows: Rows): Rows {
  for (const [k, next] of rows.nextValue.entries()) rows.nextValue[k] = 0.5 * next - 1;
  return rows;
}

Deno.test("retrace() gives rlax's numbers", () => {
  const { q, nextExpectedQ, reward, discount, seqLen } = rlax;
  const all = {
    q,
    nextExpectedQ,
    logProbBehaviour: rlax.retraceLogProbBehaviour,
    logProbTarget: rlax.retraceLogProbTarget,
    reward,
    discount,
    seqLen,
  };
  assertResults(retrace(all), rlax.retrace1);
  assertResults(retrace({ ...all, lambda: 0.7 }), rlax.retrace70);
});

Deno.test("retrace() is equation 4, summed up as it stands there", () => {
  forRandomRows((given, random) => {
    const rows = unlikeValues(given);
    const lambda = random(11) / 10;
    const expected = eachStep(rows, (k, end) => {
      let [sum, weight] = [rows.value[k] as number, 1];
      for (let t = k; t < end; t++) {
        if (t > k) weight *= lambda * Math.min(1, ratioOf(rows, t));
        sum += weight * tdError(rows, t);
        weight *= rows.discount[t] as number;
      }
      return sum;
    });
    assertResults(retrace({ ...optionsOf(rows), lambda }), expected);
  });
});

Deno.test("retrace() with lambda 0, or where the policy leaves the actions taken, is the one-step return", () => {
  forRandomRows((given) => {
    const rows = unlikeValues(given);
    const all = optionsOf(rows);
    const { reward, discount, seqLen } = rows;
    const one = nStepReturn({ reward, discount, nextValue: rows.nextValue, seqLen, n: 1 });
    assertEquals(retrace({ ...all, lambda: 0 }), one);
    const logProbTarget = rows.logProbTarget.map(() => -Infinity);
    assertEquals(retrace({ ...all, logProbTarget }), one);
  });
});

Deno.test("retrace() cuts importance weights at 1", () => {
  forRandomRows((rows) => {
    const all = optionsOf(rows);
    const logProbTarget = rows.logProbBehaviour.map((x) => x + 3);
    const onPolicy = retrace({ ...all, logProbTarget: rows.logProbBehaviour });
    assertEquals(retrace({ ...all, logProbTarget }), onPolicy);
  });
});

Deno.test("retrace() writes into an array of the caller, an input if it likes", () => {
  forRandomRows((rows) => {
    const all = optionsOf(rows);
    const fresh = retrace(all);
    const into = new Float32Array(fresh.length).fill(NaN);
    assertStrictEquals(retrace({ ...all, into }), into);
    assertEquals(into, fresh);
    retrace({ ...all, into: rows.value });
    assertEquals(rows.value, fresh);
  });
});

Deno.test("retrace() refuses what it can't use, and has written nothing then", () => {
  const into = new Float32Array(2);
  const two = [1, 2];
  const good: RetraceOptions = {
    q: two,
    nextExpectedQ: two,
    logProbBehaviour: two,
    logProbTarget: two,
    reward: two,
    discount: two,
    seqLen: [2],
    into,
  };
  assertRefused(retrace, good, [
    [{ unknown: 1 }, TypeError, "retrace() has no option"],
    [{ q: [1] }, RangeError, "q must have 2 numbers"],
    [{ nextExpectedQ: [1] }, RangeError, "nextExpectedQ must have 2 numbers"],
    [{ logProbBehaviour: [1] }, RangeError, "logProbBehaviour must have 2 numbers"],
    [{ logProbTarget: 1 }, TypeError, "logProbTarget must be"],
    [{ reward: undefined }, TypeError, "reward must be"],
    [{ discount: [1, 2, 3] }, RangeError, "discount must have 2 numbers"],
    [{ seqLen: [NaN] }, RangeError, "seqLen[0]"],
    [{ lambda: -0.1 }, RangeError, "lambda"],
    [{ into: [0, 0] }, TypeError, "into must be a Float32Array"],
    [{ into: new Float32Array(3) }, RangeError, "into must have 2 elements"],
  ], [into]);
});
