/** Which items StructuredWriter makes, without a network. */
import { assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import {
  Condition,
  createPatternConfig,
  type PatternConfig,
  type PatternConfigOptions,
  type StepData,
  tdError,
  tensor,
} from "../../reverb/mod.ts";
import { newStructuredWriter } from "../../reverb/structured_writer.ts";
import { doorTo, FakeChannel } from "./_fake_channel.ts";

interface Step {
  readonly a: number;
  readonly b?: number;
  readonly done?: boolean;
  readonly unused?: string;
}

function config(options: Partial<PatternConfigOptions<Step>>): PatternConfig {
  return createPatternConfig<Step>({
    table: "t",
    pattern: (step) => [step.a.slice(-2)],
    ...options,
  });
}

/** The items that the writer makes of steps: their values. */
async function itemsOf(
  configs: readonly PatternConfig[],
  steps: readonly StepData[],
): Promise<unknown[]> {
  const channel = new FakeChannel();
  const writer = newStructuredWriter(doorTo(channel), configs, {});
  for (const step of steps) await writer.append(step);
  await writer.endEpisode();
  await writer.close();
  return channel.items.map((item) => channel.values(item));
}

const steps = Array.from(
  { length: 8 },
  (_, k): StepData => ({ a: k, b: 10 * k, done: k === 5, unused: "x" }),
);

Deno.test("an item comes for each step for which there are enough", async () => {
  assertEquals(await itemsOf([config({})], steps.slice(0, 4)), [[[0, 1]], [[1, 2]], [[2, 3]]]);
});

Deno.test("parts are slices, every kth step, or one step", async () => {
  const pattern = config({
    pattern: (step) => ({ z: step.a.slice(-4, 0, 2), y: step.b.slice(-3, -1), x: step.a.at(-2) }),
  });
  assertEquals(await itemsOf([pattern], steps.slice(0, 5)), [
    [[2], [10, 20], [0, 2]],
    [[3], [20, 30], [1, 3]],
  ]);
});

const last = (condition: PatternConfigOptions<Step>["conditions"]): PatternConfig =>
  config({
    pattern: (step) => [step.a.at(-1)],
    ...(condition === undefined ? {} : { conditions: condition }),
  });

Deno.test("conditions look at the step, the steps since the last item, a column, and the end", async () => {
  const cases: [PatternConfig, number[]][] = [
    [last([Condition.stepIndex().eq(3)]), [3]],
    [last([Condition.stepIndex().ne(3)]), [0, 1, 2, 4, 5, 6, 7]],
    [last([Condition.stepIndex().ge(6)]), [6, 7]],
    [last([Condition.stepIndex().gt(6)]), [7]],
    [last([Condition.stepIndex().le(1)]), [0, 1]],
    [last([Condition.stepIndex().lt(1)]), [0]],
    [last([Condition.stepIndex().mod(3).eq(1)]), [1, 4, 7]],
    [last([Condition.stepIndex().mod(3).ne(1)]), [0, 2, 3, 5, 6]],
    [last([Condition.stepsSinceApplied().ge(3)]), [2, 5]],
    [last([Condition.data<Step>((step) => step.done).eq(1)]), [5]],
    [last([Condition.data<Step>((step) => step.b).ge(60)]), [6, 7]],
    [last([Condition.isEndEpisode()]), [7]],
    [last([Condition.stepIndex().ge(2), Condition.stepIndex().lt(4)]), [2, 3]],
  ];
  for (const [pattern, wanted] of cases) {
    assertEquals(
      (await itemsOf([pattern], steps) as number[][][]).map((item) => item[0]?.[0]),
      wanted,
    );
  }
});

Deno.test("conditions compare fractions as they are", async () => {
  const values = [-0.5, 0, 0.5, 1, NaN].map((b, a): StepData => ({ a, b }));
  const value = Condition.data<Step>((step) => step.b);
  const cases: [PatternConfig, number[]][] = [
    [last([value.gt(0)]), [2, 3]],
    [last([value.ge(0.5)]), [2, 3]],
    [last([value.le(0)]), [0, 1]],
    [last([value.lt(0.5)]), [0, 1]],
    [last([value.ne(0.5)]), [0, 1, 3, 4]],
  ];
  for (const [pattern, wanted] of cases) {
    assertEquals(
      (await itemsOf([pattern], values) as number[][][]).map((item) => item[0]?.[0]),
      wanted,
    );
  }
});

Deno.test("a pattern makes at most one item a step, also where the step comes in parts", async () => {
  const parts: StepData[] = [{ a: 1 }, { a: 2 }];
  const channel = new FakeChannel();
  const writer = newStructuredWriter(doorTo(channel), [
    last(undefined),
    config({ pattern: (step) => [step.b.at(-1)] }),
  ], {});
  for (const part of parts) {
    await writer.append(part, { partialStep: true });
    await writer.append({ b: 7 });
  }
  await writer.endEpisode();
  await writer.close();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[1]], [[7]], [[2]], [[7]]]);
});

Deno.test("a step without a value that the pattern needs makes no item", async () => {
  const some: StepData[] = [{ a: 0, b: 0 }, { a: 1 }, { a: 2, b: 2 }, { a: 3, b: 3 }];
  assertEquals(await itemsOf([config({ pattern: (step) => [step.b.slice(-2)] })], some), [[[
    2,
    3,
  ]]]);
});

Deno.test("the priority of R2D2 is of the TD errors of the item's steps", async () => {
  const channel = new FakeChannel();
  const pattern = config({
    pattern: (step) => ({ a: step.a.slice(-3), b: step.b.slice(-3) }),
    priority: tdError<Step>(0.9, (step) => step.b),
  });
  const writer = newStructuredWriter(doorTo(channel), [pattern], {});
  for (const b of [1, -4, 1]) await writer.append({ a: 0, b });
  await writer.close();
  assertEquals(channel.items.map(({ priority }) => priority), [0.9 * 4 + (1 - 0.9) * 2]);
});

Deno.test("patterns reach back into an episode that ended, where the history is kept", async () => {
  for (const clearBuffers of [true, false]) {
    const channel = new FakeChannel();
    const writer = newStructuredWriter(doorTo(channel), [
      config({ pattern: (step) => [step.a.slice(-3)] }),
    ], {});
    for (const a of [0, 1]) await writer.append({ a });
    await writer.endEpisode({ clearBuffers });
    for (const a of [2, 3]) await writer.append({ a });
    await writer.close();
    assertEquals(
      channel.items.map((item) => channel.values(item)),
      clearBuffers ? [] : [[[0, 1, 2]], [[1, 2, 3]]],
    );
  }
});

Deno.test("columns that no pattern has are not sent", async () => {
  const channel = new FakeChannel();
  const writer = newStructuredWriter(doorTo(channel), [config({})], {});
  for (const step of steps) await writer.append(step);
  await writer.close();
  assertEquals(
    new Set([...channel.chunks.values()].map(({ data }) => data?.tensors[0]?.dtype)),
    new Set([2]),
  );
});

Deno.test("patterns that can't be are refused", async () => {
  const refused: [() => unknown, string][] = [
    [() => config({ pattern: (step) => [step.a.slice(0)] }), "the start"],
    [() => config({ pattern: (step) => [step.a.slice(-2, -2)] }), "the stop"],
    [() => config({ pattern: (step) => [step.a.slice(-2, 1)] }), "the stop"],
    [() => config({ pattern: (step) => [step.a.at(0)] }), "the position"],
    [() => config({ pattern: () => [] }), "no column"],
    [() => config({ pattern: () => 3 as never }), "must be a part of a column"],
    [() => config({ table: "" }), "name of a table"],
    [() => config({ priority: tdError<Step>(0.5, (step) => step.b) }), "no part of b"],
    [
      () => config({ priority: 5 as never }),
      "createPatternConfig(): priority must be constantPriority() or tdError(), got 5",
    ],
    [
      () => config({ removerPriority: 5 as never }),
      "createPatternConfig(): removerPriority must be constantPriority() or tdError(), got 5",
    ],
    [() => Condition.stepIndex().mod(2).ge(1), "eq() and ne() only"],
    [() => Condition.stepIndex().mod(0), "mod()"],
    [() => newStructuredWriter(doorTo(new FakeChannel()), [], {}), "at least one config"],
  ];
  for (const [make, words] of refused) assertThrows(make, Error, words);
  const writer = newStructuredWriter(doorTo(new FakeChannel()), [
    last([Condition.data<Step>((step) => step.b).eq(1)]),
  ], {});
  const two = tensor([1, 2], { dtype: "int32" });
  await assertRejects(
    () => writer.append({ a: 1, b: two }),
    TypeError,
    "b must be one number or boolean",
  );
  await writer.close();
});

Deno.test("an episode that ends twice makes no second item of its last step", async () => {
  const channel = new FakeChannel();
  const writer = newStructuredWriter(doorTo(channel), [last(undefined)], {});
  await writer.append({ a: 1 });
  await writer.endEpisode({ clearBuffers: false });
  await writer.endEpisode({ clearBuffers: false });
  await writer.close();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[1]]]);
});
