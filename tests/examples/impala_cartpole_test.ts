/**
 * The example of IMPALA and IMPACT: its command line, the circular buffer, that a seed fixes a run, and that both learn; and with actors in
 * Workers, that no step is lost, that it ends, and that an error of a Worker reaches you.
 */
import { fileURLToPath } from "node:url";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { train } from "../../examples/impala_cartpole/_agent.ts";
import { CircularBuffer } from "../../examples/impala_cartpole/_circular_buffer.ts";
import { type Method, METHODS } from "../../examples/impala_cartpole/learner.ts";
import { trainWithActors } from "../../examples/impala_cartpole/_workers.ts";
import { parseOptions } from "../../examples/impala_cartpole/main.ts";
import { inTime, PATIENCE_MS } from "../_wait.ts";
import { native } from "../_native.ts";

Deno.test("the IMPALA example refuses flags that are wrong", () => {
  assertEquals(parseOptions(["--lag", "0"]), {
    methods: ["impala", "impact"],
    ...{ lag: 0, actors: 0, seed: 1, steps: 120_000 },
  });
  assertEquals(parseOptions(["--method=impact", "--actors", "8", "--seed", "4", "--steps", "9"]), {
    methods: ["impact"],
    ...{ lag: 16, actors: 8, seed: 4, steps: 9 },
  });
  assertStrictEquals(parseOptions(["-h"]), "help");
  for (
    const args of [["--method", "ppo"], ["--lag", "-1"], ["--actors", "9"], ["--steps", "0"], [
      "impala",
    ]]
  ) {
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

for (
  const { method, actors, lag } of [
    { method: "impala", actors: 2, lag: 0 },
    { method: "impact", actors: 3, lag: 4 },
  ] as const
) {
  native.test(`${method} learns from ${actors} actors in Workers: each step is taken once or left, and the program ends`, async () => {
    const steps = 16 * 256;
    let batches = 0;
    const run = trainWithActors(
      { method, actors, lag, seed: 1, steps },
      ({ step }) => assertStrictEquals(step, 256 * ++batches),
    );
    const { recorded, drained, left, age, updates, evaluations, weights } = await inTime(
      "the run is over",
      run,
    );
    assertStrictEquals(batches, 16);
    assertEquals({ drained, left }, { drained: steps, left: recorded - steps });
    // The learner goes on while they act, so they have old weights.
    assert(age > 0 && age < batches, `the policies were ${age} batches old`);
    assert(method === "impala" ? updates === 16 : updates > 8 * 12, `${updates} updates`);
    assertEquals(evaluations.map(({ step }) => step), [steps]);
    assert(weights.every(Number.isFinite));
  });
}

native.test("an error of a Worker reaches you, while the learner waits for steps", async () => {
  const worker = new URL("./_failing_actor.ts", import.meta.url);
  const options = { method: "impala", actors: 2, lag: 1, seed: 1, steps: 4_096, worker } as const;
  const run = trainWithActors(options);
  await assertRejects(
    () => inTime("the run is over", run),
    Error,
    "actor 1: Uncaught (in promise) Error: no pole",
  );
});

native.test("an error of a Worker ends the program with exit status 1", async () => {
  const examples = new URL("../../examples/", import.meta.url).href;
  const worker = new URL("./_failing_actor.ts", import.meta.url).href;
  const program = `
    import { runExample } from "${examples}_options.ts";
    import { trainWithActors } from "${examples}impala_cartpole/_workers.ts";
    const options = { method: "impact", actors: 2, lag: 1, seed: 1, steps: 4096, worker: new URL("${worker}") };
    Deno.exitCode = await runExample([], () => options, "", async () => { await trainWithActors(options); });
  `;
  const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--config", config, program],
    stdout: "null",
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).output();
  assertStrictEquals(code, 1);
  assertMatch(new TextDecoder().decode(stderr), /actor 1: .*no pole/);
});
