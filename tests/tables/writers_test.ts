/** The writers of ReverbClient, on tables of this process. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import { oldest } from "../../mod.ts";
import { constantPriority, createPatternConfig, ReverbError, tdError } from "../../reverb/mod.ts";
import { Table } from "../../tables/mod.ts";
import { isSettled, onBoth } from "./_backends.ts";

const once = { maxSize: 100, sampler: oldest(), maxTimesSampled: 1 };

onBoth(
  "a trajectory writer's items share their steps, and what nobody needs goes",
  async (create) => {
    using tables = await create({ tables: { t: once } });
    const writer = tables.trajectoryWriter<{ a: Float32Array; b: number }>({
      numKeepAliveRefs: 3,
      chunkLength: 1,
    });
    for (let k = 0; k < 6; k++) {
      writer.append({ a: Float32Array.of(k, -k), b: k });
      if (k < 2) continue;
      const { a, b } = writer.history;
      await writer.createItem("t", k, { states: a.slice(-3), last: b.at(-1) });
    }
    await writer.flush();
    assertEquals(writer.pendingItems, 0);
    assertEquals([tables.table("t").size, tables.info().chunks], [4, 6 + 4]);
    const batch = await tables.table("t").getBatch(4);
    const [last, states] = batch.columns; // by sorted keys
    assertEquals([last?.shape, ...last?.data ?? []], [[4], 2, 3, 4, 5]);
    assertEquals(states?.shape, [4, 3, 2]);
    assertEquals([...states?.data.slice(0, 6) ?? []], [0, -0, 1, -1, 2, -2]);
    assertEquals([...batch.priorities], [2, 3, 4, 5]);
    await writer.endEpisode();
    await writer.close();
    assertEquals([tables.table("t").size, tables.info().chunks], [0, 0]);
  },
);

onBoth("a writer's items are in their table once createItem resolves", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 100 } } });
  const writer = tables.trajectoryWriter<{ a: number }>({ numKeepAliveRefs: 1, chunkLength: 1 });
  const sizes: number[] = [];
  for (let k = 0; k < 4; k++) {
    writer.append({ a: k });
    await writer.createItem("t", 1, { a: writer.history.a.slice(-1) });
    sizes.push(tables.table("t").size);
  }
  assertEquals(sizes, [1, 2, 3, 4]);
  await writer.close();
});

onBoth("a flush that waits ends where the tables are disposed", async (create) => {
  const tables = await create({ tables: { t: Table.queue(1) } });
  const writer = tables.writer({ maxSequenceLength: 1 });
  for (let k = 0; k < 2; k++) {
    writer.append([k]);
    await writer.createItem("t", 1, 1);
  }
  const flushed = assertRejects(() => writer.flush(), ReverbError, "disposed");
  tables[Symbol.dispose]();
  await flushed;
});

onBoth("writers of tables refuse misspelt options", async (create) => {
  using tables = await create({ tables: { t: once } });
  const options = { numKeepAliveRefs: 1, chunkLenght: 1 };
  assertThrows(() => tables.trajectoryWriter(options), TypeError, "chunkLenght");
});

onBoth("a writer waits for the rate limiter", async (create) => {
  using tables = await create({ tables: { q: Table.queue(2) } });
  const queue = tables.table("q");
  await using writer = tables.writer({ maxSequenceLength: 2 });
  for (let k = 0; k < 4; k++) {
    writer.append({ x: k });
    await writer.createItem("q", 1, 1);
  }
  const flushed = writer.flush();
  assertEquals(await isSettled(flushed), false);
  assertEquals([queue.size, queue.info().insertsWaiting], [2, 2]);
  const error = await assertRejects(() => writer.flush({ timeoutMs: 5 }), ReverbError);
  assertEquals(error.code, "deadline-exceeded");
  assertEquals([...(await queue.getBatch(3)).columns[0]?.data ?? []], [0, 1, 2]);
  await flushed;
  assertEquals([...(await queue.getBatch(1)).columns[0]?.data ?? []], [3]);
});

onBoth("items of writers may have a priority of their own for the remover", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 9 }, p: { maxSize: 9 } } });
  const shown = (): number[][] =>
    ["t", "p"].flatMap((name) => tables.table(name).items())
      .map(({ priority, removerPriority }) => [priority, removerPriority]);
  await using rows = tables.writer({ maxSequenceLength: 1 });
  rows.append({ x: 1 });
  await rows.createItem("t", 1, 2, { removerPriority: 0 });
  await rows.createItem("t", 1, 3);
  await rows.flush();
  await using trajectories = tables.trajectoryWriter<{ x: number }>({ numKeepAliveRefs: 1 });
  trajectories.append({ x: 1 });
  const part = { x: trajectories.history.x.slice(-1) };
  await trajectories.createItem("t", 4, part, { removerPriority: 5 });
  await trajectories.flush();
  const config = createPatternConfig<{ x: number; age: number }>({
    table: "p",
    pattern: (step) => [step.x.at(-1), step.age.at(-1)],
    priority: constantPriority(6),
    removerPriority: tdError<{ age: number }>(1, (step) => step.age),
  });
  await using patterns = tables.structuredWriter([config]);
  await patterns.append({ x: 1, age: 7 });
  await patterns.flush();
  assertEquals(shown(), [[2, 0], [3, 3], [4, 5], [6, 7]]);

  for (const removerPriority of [-1, NaN, Infinity]) {
    const words = "createItem(): removerPriority must be finite and not negative";
    await assertRejects(() => rows.createItem("t", 1, 1, { removerPriority }), RangeError, words);
    await assertRejects(
      () => trajectories.createItem("t", 1, part, { removerPriority }),
      RangeError,
      words,
    );
  }
  assertThrows(
    () =>
      createPatternConfig<{ x: number; age: number }>({
        table: "t",
        pattern: (step) => [step.x.at(-1)],
        removerPriority: tdError<{ age: number }>(1, (step) => step.age),
      }),
    TypeError,
    "no part of age",
  );
  assertEquals(shown().length, 4);
});

onBoth("a structured writer makes items by patterns", async (create) => {
  using tables = await create({ tables: { t: once } });
  const config = createPatternConfig<{ x: number }>({
    table: "t",
    pattern: (step) => [step.x.slice(-2)],
  });
  const writer = tables.structuredWriter([config]);
  for (let k = 0; k < 4; k++) await writer.append({ x: k });
  await writer.endEpisode();
  await writer.close();
  const { columns } = await tables.table("t").getBatch(3);
  assertEquals([columns[0]?.shape, ...columns[0]?.data ?? []], [[3, 2], 0, 1, 1, 2, 2, 3]);
});

onBoth(
  "a writer's item for a table that is not there, or that does not fit a signature, is refused",
  async (create) => {
    const signature = [{ dtype: "float32", shape: [1, 2] }];
    using tables = await create({ tables: { t: { maxSize: 9, signature } } });
    const writer = tables.writer({ maxSequenceLength: 1 });
    writer.append([Float32Array.of(1, 2)]);
    await assertRejects(() => writer.createItem("u", 1, 1), ReverbError, "no table");
    await writer.createItem("t", 1, 1);
    writer.append([Float32Array.of(3, 4)]);
    await writer.createItem("t", 1, 1);
    await writer.close();
    assertEquals(tables.table("t").size, 2);
    const wrong = tables.writer({ maxSequenceLength: 1 });
    wrong.append([Float32Array.of(1, 2, 3)]);
    await assertRejects(() => wrong.createItem("t", 1, 1), TypeError, "shape [3]");
    await wrong.close();
    const config = createPatternConfig<{ a: number; b: number }>({
      table: "t",
      pattern: (step) => ({ x: step.a.at(-1), y: step.b.at(-1) }),
    });
    await using patterns = tables.structuredWriter([config]);
    await assertRejects(
      () => patterns.append({ a: 1, b: 2 }),
      TypeError,
      'append(): items of table "t" have 1 column (0), got 2 (x, y)',
    );
    assertEquals(tables.table("t").size, 2);
  },
);

onBoth("a writer whose tables are disposed says so at each call", async (create) => {
  const tables = await create({ tables: { t: once } });
  const [used, unused] = [1, 2].map(() => tables.trajectoryWriter({ numKeepAliveRefs: 2 }));
  const rows = tables.writer({ maxSequenceLength: 1 });
  const ended = tables.writer({ maxSequenceLength: 1 });
  assert(used !== undefined && unused !== undefined);
  for (const writer of [used, unused]) writer.append({ x: 1 });
  const { x } = used.history;
  assert(x !== undefined);
  await used.createItem("t", 1, [x.at(-1)]);
  await used.flush();
  rows.append([1]);
  tables[Symbol.dispose]();
  const disposed = ["cancelled", "the tables are disposed"];
  const said = async (call: () => unknown): Promise<unknown[]> => {
    const error = await assertRejects(async () => void await call(), ReverbError);
    return [error.code, /the tables are disposed/.exec(error.message)?.[0]];
  };
  assertEquals(await said(() => used.append({ x: 2 })), disposed);
  assertEquals(await said(() => unused.createItem("t", 1, [x.at(-1)])), disposed);
  assertEquals(await said(() => unused.append({ x: 2 })), disposed);
  assertEquals(await said(() => rows.append([2])), disposed);
  assertEquals(await said(() => rows.close()), disposed);
  await ended.close(); // it had nothing to lose
});

onBoth("inserts and writers fill the same columns, and batches name them", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 9, sampler: oldest() } } });
  const table = tables.table<{ reward: number; last: { action: bigint } }>("t");
  const writer = tables.trajectoryWriter<{ reward: number; action: bigint }>({
    numKeepAliveRefs: 2,
  });
  for (let k = 0; k < 2; k++) writer.append({ reward: k, action: 5n });
  const { reward, action } = writer.history;
  await writer.createItem("t", 1, { reward: reward.slice(-2), last: { action: action.at(-1) } });
  await writer.flush();
  const { data } = await table.getBatch(1);
  assertEquals([...data.reward.data], [0, 1]);
  assertEquals([...data.last.action.data], [5n]);

  const has = "items of this table have the columns last/action, reward; got ";
  await assertRejects(() => tables.insert({ q: 1, y: 2 }, { t: 1 }), TypeError, `${has}q, y`);
  const other = { action: action.slice(-2), reward: reward.slice(-2) };
  const refuse = (call: () => unknown, words: string): Promise<Error> =>
    assertRejects(async () => void await call(), TypeError, words);
  await refuse(() => writer.createItem("t", 1, other), `createItem(): ${has}action, reward`);
  await refuse(
    () => writer.createItem("t", 1, { reward: reward.at(-1), last: { action: action.at(-1) } }),
    "createItem(): reward is a column of float64 of shape [] in this table, got float64 of shape [] without steps",
  );
  const rows = tables.writer({ maxSequenceLength: 1 });
  rows.append({ q: 1, y: 2 });
  await refuse(() => rows.createItem("t", 1, 1), `createItem(): ${has}q, y`);
  const free = tables.trajectoryWriter<{ q: number }>({
    numKeepAliveRefs: 1,
    validateItems: false,
  });
  free.append({ q: 1 });
  await free.createItem("t", 1, { q: free.history.q.at(-1) });
  await free.flush();
  assertEquals(table.size, 2);
  table.clear(); // an empty table takes any columns
  await rows.createItem("t", 1, 1);
  await rows.createItem("t", 1, 1);
  await refuse(
    () => tables.insert({ q: Float32Array.of(1), y: 2 }, { t: 1 }),
    "q is a column of float64 of shape [] in this table, got float32 of shape [1]",
  );
  assertEquals(table.size, 2);
});
