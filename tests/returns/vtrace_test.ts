import { gae, nStepReturn, vtrace, type VtraceOptions } from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import {
  assertRefused,
  assertResults,
  bootstrap,
  eachStep,
  forRandomRows,
  ratioOf,
  type Rows,
  tdError,
} from "./_helpers.ts";
import * as rlax from "./rlax_values.ts";

/** The options that rows give. */
function optionsOf(rows: Rows): VtraceOptions {
  const { logProbBehaviour, logProbTarget, reward, value, nextValue, discount, seqLen } = rows;
  return { logProbBehaviour, logProbTarget, reward, value, nextValue, discount, seqLen };
}

Deno.test("vtrace() gives rlax's numbers", () => {
  const { logProbBehaviour, logProbTarget, reward, value, nextValue, discount, seqLen } = rlax;
  const all = { logProbBehaviour, logProbTarget, reward, value, nextValue, discount, seqLen };
  const plain = vtrace(all);
  assertResults(plain.valueTarget, rlax.vtraceTarget);
  assertResults(plain.policyAdvantage, rlax.vtraceAdvantage);
  const mixed = vtrace({ ...all, lambda: 0.8 });
  assertResults(mixed.valueTarget, rlax.vtraceLambda80Target);
  assertResults(mixed.policyAdvantage, rlax.vtraceLambda80Advantage);
  const wide = vtrace({ ...all, rhoMax: 2, cMax: 1 });
  assertResults(wide.valueTarget, rlax.vtraceRho2Target);
  assertResults(wide.policyAdvantage, rlax.vtraceRho2Advantage);
});

Deno.test("vtrace() is equation 1, summed up as it stands there", () => {
  forRandomRows((rows, random) => {
    const [rhoMax, cMax, lambda] = [0.2 + random(30) / 10, 0.2 + random(30) / 10, random(11) / 10];
    const { value, discount } = rows;
    const expected = eachStep(rows, (k, end) => {
      let [sum, weight] = [value[k] as number, 1];
      for (let t = k; t < end; t++) {
        sum += weight * Math.min(rhoMax, ratioOf(rows, t)) * tdError(rows, t);
        weight *= (discount[t] as number) * lambda * Math.min(cMax, ratioOf(rows, t));
      }
      return sum;
    });
    const result = vtrace({ ...optionsOf(rows), rhoMax, cMax, lambda });
    assertResults(result.valueTarget, expected);
    assertResults(result.rho, eachStep(rows, (k) => Math.min(rhoMax, ratioOf(rows, k))));
    const one = vtrace({ ...optionsOf(rows), rhoMax, cMax });
    const advantage = eachStep(rows, (k, end) => {
      const gamma = rows.discount[k] as number;
      const next = k + 1 === end ? bootstrap(rows, k) : gamma * (one.valueTarget[k + 1] as number);
      const error = (rows.reward[k] as number) + next - (value[k] as number);
      return Math.min(rhoMax, ratioOf(rows, k)) * error;
    });
    assertResults(one.policyAdvantage, advantage, "", 1e-4); // from rounded targets, which may be large
  });
});

Deno.test("vtrace() on-policy is the return over all steps that are left, and with lambda gae()", () => {
  forRandomRows((rows, random) => {
    const all = optionsOf(rows);
    const onPolicy = { ...all, logProbTarget: all.logProbBehaviour };
    const { reward, nextValue, value, discount, seqLen } = all;
    const returns = nStepReturn({ reward, nextValue, discount, seqLen, n: rows.length });
    assertResults(vtrace(onPolicy).valueTarget, returns, "", 2e-6);
    const lambda = random(11) / 10;
    const { valueTarget, policyAdvantage } = vtrace({ ...onPolicy, lambda });
    const estimate = gae({ reward, value, nextValue, discount, seqLen, lambda });
    assertResults(policyAdvantage, estimate.advantage, "", 2e-6);
    assertResults(valueTarget, estimate.valueTarget, "", 2e-6);
  });
});

Deno.test("vtrace() without bounds is importance sampling; of actions that are never taken nothing is learned", () => {
  forRandomRows((rows) => {
    const all = optionsOf(rows);
    const { rho } = vtrace({ ...all, rhoMax: Infinity, cMax: Infinity });
    assertResults(rho, eachStep(rows, (k) => ratioOf(rows, k)));
    const logProbTarget = rows.logProbTarget.map(() => -Infinity);
    const never = vtrace({ ...all, logProbTarget });
    assertEquals(never.valueTarget, Float32Array.from(eachStep(rows, (k) => rows.value[k] ?? 0)));
    assertEquals(new Set(never.policyAdvantage.map(Math.abs)), new Set([0]));
  });
});

Deno.test("vtrace() takes the last next values alone", () => {
  forRandomRows((rows) => {
    const all = optionsOf(rows);
    assertEquals(vtrace({ ...all, nextValue: rows.lastValue }), vtrace(all));
  });
});

Deno.test("vtrace() writes into arrays of the caller, inputs among them", () => {
  forRandomRows((rows) => {
    const all = optionsOf(rows);
    const fresh = vtrace(all);
    const make = (): Float32Array<ArrayBuffer> => new Float32Array(rows.reward.length).fill(NaN);
    const into = { valueTarget: make(), policyAdvantage: make(), rho: make() };
    assertStrictEquals(vtrace({ ...all, into }), into);
    assertEquals(into, fresh);
    const over = { valueTarget: rows.value, policyAdvantage: rows.nextValue, rho: rows.reward };
    vtrace({ ...all, into: over });
    assertEquals(over, fresh);
  });
});

Deno.test("vtrace() refuses what it can't use, and has written nothing then", () => {
  const [a, b, c] = [new Float32Array(2), new Float32Array(2), new Float32Array(2)];
  const into = { valueTarget: a, policyAdvantage: b, rho: c };
  const two = [1, 2];
  const good: VtraceOptions = {
    logProbBehaviour: two,
    logProbTarget: two,
    reward: two,
    value: two,
    nextValue: two,
    discount: two,
    seqLen: [2],
    into,
  };
  assertRefused(vtrace, good, [
    [{ unknown: 1 }, TypeError, "vtrace() has no option"],
    [{ logProbTarget: [1] }, RangeError, "logProbTarget must have 2 numbers"],
    [{ logProbBehaviour: undefined }, TypeError, "logProbBehaviour must be"],
    [{ reward: null }, TypeError, "reward must be"],
    [{ value: [1, 2, 3] }, RangeError, "value must have 2 numbers"],
    [{ nextValue: [] }, RangeError, "nextValue must have 2 numbers"],
    [{ discount: [] }, RangeError, "discount must have 2 numbers"],
    [{ seqLen: [3] }, RangeError, "seqLen[0]"],
    [{ rhoMax: 0 }, RangeError, "rhoMax must be more than 0"],
    [{ rhoMax: NaN }, RangeError, "rhoMax must be more than 0"],
    [{ cMax: -1 }, RangeError, "cMax must be more than 0"],
    [{ cMax: "1" }, TypeError, "cMax must be a number"],
    [{ lambda: 2 }, RangeError, "lambda"],
    [{ into: { ...into, rho: a } }, TypeError, "into.valueTarget and into.rho must be two"],
    [{ into: { ...into, rho: b } }, TypeError, "into.policyAdvantage and into.rho must be two"],
    [{ into: { ...into, policyAdvantage: a } }, TypeError, "must be two arrays"],
    [{ into: { ...into, rho: new Float32Array(3) } }, RangeError, "into.rho must have 2 elements"],
    [{ into: { ...into, more: a } }, TypeError, "into has no option"],
  ], [a, b, c]);
});
