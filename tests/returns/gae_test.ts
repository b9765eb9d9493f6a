import { ExperienceReplay, float32, uniform } from "@exrp/replay";
import { gae, type GaeOptions, lambdaReturn } from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import {
  assertRefused,
  assertResults,
  eachStep,
  forRandomRows,
  nStepByRecursion,
  tdError,
} from "./_helpers.ts";
import * as rlax from "./rlax_values.ts";

Deno.test("gae() gives rlax's numbers", () => {
  const { reward, value, nextValue, discount, seqLen } = rlax;
  for (const [lambda, expected] of [[0.95, rlax.gae95], [0, rlax.gae0], [1, rlax.gae1]] as const) {
    const { advantage, valueTarget } = gae({ reward, value, nextValue, discount, seqLen, lambda });
    assertResults(advantage, expected, `lambda ${lambda}`);
    assertResults(valueTarget, expected.map((a, k) => a + (value[k] ?? 0)), `lambda ${lambda}`);
  }
  const { advantage } = gae({ reward, value, nextValue, discount, seqLen });
  assertResults(advantage, rlax.gae95, "lambda is 0.95 by default");
});

Deno.test("gae() is the sum of discounted TD errors that the paper defines", () => {
  forRandomRows((rows, random) => {
    const lambda = random(101) / 100;
    const { reward, value, nextValue, discount, seqLen } = rows;
    const expected = eachStep(rows, (k, end) => {
      let [sum, weight] = [0, 1];
      for (let step = k; step < end; step++) {
        sum += weight * tdError(rows, step);
        weight *= lambda * (discount[step] as number);
      }
      return sum;
    });
    const result = gae({ reward, value, nextValue, discount, seqLen, lambda });
    assertResults(result.advantage, expected);
    assertResults(result.valueTarget, eachStep(rows, (k) => (expected[k] ?? 0) + (value[k] ?? 0)));
  });
});

Deno.test("gae() with lambda 1 is the Monte-Carlo return less the value, with lambda 0 the TD error", () => {
  forRandomRows((rows) => {
    const { reward, value, nextValue, discount, seqLen } = rows;
    const all = { reward, value, nextValue, discount, seqLen };
    const monteCarlo = eachStep(rows, (k, end) => nStepByRecursion(rows, k, end, Infinity));
    const one = gae({ ...all, lambda: 1 });
    assertResults(one.valueTarget, monteCarlo);
    assertResults(one.advantage, eachStep(rows, (k) => (monteCarlo[k] ?? 0) - (value[k] ?? 0)));
    assertResults(gae({ ...all, lambda: 0 }).advantage, eachStep(rows, (k) => tdError(rows, k)));
  });
});

Deno.test("gae()'s value target is the lambda-return", () => {
  forRandomRows((rows, random) => {
    const { reward, value, nextValue, discount, seqLen } = rows;
    const lambda = random(101) / 100;
    const target = gae({ reward, value, nextValue, discount, seqLen, lambda }).valueTarget;
    const other = lambdaReturn({ reward, nextValue, discount, seqLen, lambda });
    assertResults(target, other, "", 2e-6);
  });
});

Deno.test("gae() takes the last next values alone", () => {
  forRandomRows((rows) => {
    const { reward, value, nextValue, lastValue, discount, seqLen } = rows;
    const full = gae({ reward, value, nextValue, discount, seqLen });
    const short = gae({ reward, value, nextValue: lastValue, discount, seqLen });
    assertEquals(short, full);
  });
});

Deno.test("gae() writes into arrays of the caller, inputs among them", () => {
  forRandomRows((rows) => {
    const { reward, value, nextValue, discount, seqLen } = rows;
    const fresh = gae({ reward, value, nextValue, discount, seqLen });
    const into = {
      advantage: new Float32Array(reward.length).fill(NaN),
      valueTarget: new Float32Array(reward.length).fill(NaN),
    };
    assertStrictEquals(gae({ reward, value, nextValue, discount, seqLen, into }), into);
    assertEquals(into, fresh);
    const over = { advantage: nextValue, valueTarget: value };
    gae({ reward, value, nextValue, discount, seqLen, into: over });
    assertEquals(over, fresh);
  });
});

Deno.test("gae() takes plain arrays and arrays of any dtype", () => {
  const all = { value: [1, 2], nextValue: [2, 3], discount: [1, 1], seqLen: [2], lambda: 1 };
  for (const kind of [Array, Uint8Array, Int16Array, Float16Array, Float64Array]) {
    assertEquals([...gae({ ...all, reward: kind.of(4, 5) }).advantage], [11, 6]);
  }
  const none = gae({ reward: [], value: [], nextValue: [], discount: [], seqLen: [] });
  assertStrictEquals(none.advantage.length, 0);
});

Deno.test("gae() refuses what it can't use, and has written nothing then", () => {
  const into = { advantage: new Float32Array(6), valueTarget: new Float32Array(6) };
  const six = [1, 2, 3, 4, 5, 6];
  const good: GaeOptions = {
    reward: six,
    value: six,
    nextValue: six,
    discount: six,
    seqLen: [3, 2],
    into,
  };
  assertRefused(gae, good, [
    [{ unknown: 1 }, TypeError, "gae() has no option"],
    [{ reward: undefined }, TypeError, "reward must be a plain or typed array"],
    [{ reward: "123456" }, TypeError, "reward must be a plain or typed array"],
    [{ reward: new BigInt64Array(6) }, TypeError, "reward must be a plain or typed array"],
    [{ reward: new DataView(new ArrayBuffer(6)) }, TypeError, "reward must be"],
    [{ reward: [1, 2, 3, 4, 5] }, RangeError, "5 numbers do not make 2 rows"],
    [{ value: [1] }, RangeError, "value must have 6 numbers"],
    [{ discount: 0.9 }, TypeError, "discount must be a plain or typed array"],
    [{ nextValue: [1, 2, 3] }, RangeError, "or 2, one per row, got 3"],
    [{ seqLen: [3, 4] }, RangeError, "seqLen[1] must be an integer from 0 to 3, got 4"],
    [{ seqLen: [-1, 3] }, RangeError, "seqLen[0]"],
    [{ seqLen: [1.5, 3] }, RangeError, "seqLen[0]"],
    [{ seqLen: [] }, RangeError, "not make 0 rows"],
    [{ lambda: 1.1 }, RangeError, "lambda must be a finite number from 0 to 1"],
    [{ lambda: NaN }, RangeError, "lambda"],
    [{ lambda: "1" }, TypeError, "lambda must be a number"],
    [{ into: { ...into, advantage: new Float32Array(5) } }, RangeError, "must have 6 elements"],
    [{ into: { ...into, advantage: new Float64Array(6) } }, TypeError, "must be a Float32Array"],
    [{ into: { ...into, other: 1 } }, TypeError, "gae(): into has no option"],
    [{ into: { ...into, advantage: into.valueTarget } }, TypeError, "must be two arrays"],
  ], [into.advantage, into.valueTarget]);
  assertThrows(() => gae(undefined as unknown as GaeOptions), TypeError, "takes an object");
});

Deno.test("gae() on a batch: a truncated episode bootstraps, a terminated one and an open one do not", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(),
    pick: { length: 3, allowShort: true, allowOpenEnd: true, discount: 0.5 },
  });
  const record = (last?: { finalState: number; truncated: boolean }): number => {
    const episode = replay.newEpisode();
    replay.record(episode, 1, 0, 1);
    return replay.record(episode, 2, 0, 1, last);
  };
  const truncated = record({ finalState: 4, truncated: true });
  const terminated = record({ finalState: 4, truncated: false });
  replay.record(record(), 3, 0, 1); // goes on
  const batch = replay.getBatch(200, replay.newPickSelector(uniform()));
  const V = (states: Float32Array): Float32Array => states.map((state) => 2 * state);
  const { advantage } = gae({
    reward: batch.reward,
    value: V(batch.state),
    nextValue: V(batch.nextState),
    discount: batch.discount,
    seqLen: batch.nextSeqLen,
    lambda: 1,
  });
  const seen = new Map<string, number[]>();
  for (const [k, position] of batch.pickPosition.entries()) {
    const kind = { [truncated]: "truncated", [terminated]: "terminated" };
    const name = `${kind[batch.pickEpisode[k] ?? -1] ?? "open"} ${position}`;
    seen.set(name, [...advantage.subarray(3 * k, 3 * k + 3)]);
  }
  assertEquals(Object.fromEntries([...seen].sort()), {
    // V = 2, 4, then 6, whose own next state is not known: it is no step yet.
    "open 0": [1 + 0.5 * (1 + 0.5 * 6) - 2, 1 + 0.5 * 6 - 4, 0],
    // 1 + 0.5 · V(4) − V(2), and what that means for the step before.
    "truncated 0": [1 + 0.5 * (1 + 0.5 * 8) - 2, 1 + 0.5 * 8 - 4, 0],
    "truncated 1": [1 + 0.5 * 8 - 4, 0, 0],
    "terminated 0": [1 + 0.5 * 1 - 2, 1 - 4, 0],
    "terminated 1": [1 - 4, 0, 0],
  });
});
