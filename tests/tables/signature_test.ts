/** What a table's signature lets in, in which order, and what items are like in a table without one. */
import { assertEquals, assertRejects } from "../_assert.ts";
import { oldest } from "../../mod.ts";
import { tensor } from "../../reverb/mod.ts";
import { onBoth } from "./_backends.ts";

onBoth(
  "a signature says what goes in: numbers take its dtypes, and what does not fit is refused",
  async (create) => {
    const signature = {
      state: { dtype: "float32", shape: [1, 2] },
      action: { dtype: "int32", shape: [null] },
    };
    using tables = await create({ tables: { t: { maxSize: 9, signature } } });
    const table = tables.table<{ state: Float32Array; action: number }>("t");
    await table.insert({ action: 3, state: Float32Array.of(1, 2) });
    const { data } = await table.getBatch(1);
    assertEquals([data.action.dtype, ...data.action.data], ["int32", 3]);
    await assertRejects(
      () => table.insert({ action: 3, state: new Float32Array(3) }),
      TypeError,
      "signature says that state is float32 of shape [1, 2], got float32 of shape [1,3]",
    );
    await assertRejects(
      () => table.insert({ action: 1.5, state: new Float32Array(2) }),
      RangeError,
      "insert(): action: int32 can't hold 1.5",
    );
    await assertRejects(
      () => table.insert({ state: new Float32Array(2) } as never),
      TypeError,
      "items of this table have the columns action, state; got state",
    );
    for (const name of ["insert", "insertTrajectory"] as const) {
      const misspelt = { state: Float32Array.of(1, 2), activity: 3 } as never;
      await assertRejects(
        () => table[name](misspelt),
        TypeError,
        "items of this table have the columns action, state; got activity, state",
      );
    }
    await assertRejects(
      () => tables.insert({ state: Float32Array.of(1, 2), activity: 3 }, { t: 1 }),
      TypeError,
      "items of this table have the columns action, state; got activity, state",
    );
    assertEquals(table.size, 1);
  },
);

onBoth(
  "a signature with a named tuple has the tuple's order, and takes data by name",
  async (create) => {
    const signature = {
      namedTuple: "Step",
      fields: [
        ["state", { dtype: "int64", shape: [1] }],
        ["action", { dtype: "int32", shape: null }],
      ],
    } as const;
    const once = { maxSize: 9, sampler: oldest(), maxTimesSampled: 1 };
    using tables = await create({ tables: { t: { ...once, signature }, plain: once } });
    const table = tables.table<{ state: number | bigint; action: number }>("t");
    await table.insert({ action: 1, state: 10n });
    await table.insertTrajectory({
      action: 2,
      state: tensor([20], { dtype: "int64", shape: [1] }) as never,
    });
    await tables.insert({ action: tensor(3, { dtype: "int32" }), state: 30n }, { plain: 1, t: 1 });
    await table.insert({ action: Int32Array.of(4), state: BigInt64Array.of(40n) } as never, {
      priorities: [1],
    });
    for (const k of [1, 2, 3, 4]) {
      const { data, columns } = await table.getBatch(1);
      assertEquals(columns.map(({ dtype }) => dtype), ["int64", "int32"]);
      assertEquals([...data.state.data, ...data.action.data], [BigInt(10 * k), k]);
    }
    const { columns } = await tables.table("plain").getBatch(1);
    assertEquals(columns.map(({ dtype }) => dtype), ["int32", "int64"]);
    await assertRejects(
      () => table.insert({ action: 1, stat: 2 } as never),
      TypeError,
      "items of this table have the columns state, action; got action, stat",
    );
    const saved = await tables.serialize();
    using other = await create({ tables: { t: { ...once, signature }, plain: once } });
    await other.unserialize(saved);
  },
);

onBoth(
  "an item for several tables has each table's order, whichever is named first",
  async (create) => {
    const spec = { dtype: "float32", shape: [1] };
    const signature = { namedTuple: "S", fields: [["b", spec], ["a", spec]] } as const;
    for (const order of [["nt", "plain"], ["plain", "nt"]]) {
      using tables = await create({
        tables: { nt: { maxSize: 9, signature }, plain: { maxSize: 9 } },
      });
      await tables.insert({ a: 1, b: 2 }, Object.fromEntries(order.map((name) => [name, 1])));
      for (const name of order) {
        const { data } = await tables.table<{ a: number; b: number }>(name).getBatch(1);
        assertEquals([...data.a.data, ...data.b.data], [1, 2]);
        assertEquals(data.a.dtype, "float32");
      }
      await tables.table("plain").insert({ a: Float32Array.of(3).at(0) ?? 0, b: 4 });
    }
  },
);

onBoth("with a signature, data without names goes by place", async (create) => {
  const spec = { dtype: "float32", shape: [1] };
  using tables = await create({
    tables: {
      named: { maxSize: 9, signature: { a: spec, b: spec } },
      placed: { maxSize: 9, signature: [spec, spec] },
      one: { maxSize: 9, signature: spec },
      mixed: { maxSize: 9, signature: [{ x: spec, y: spec }, spec] },
    },
  });
  await tables.table("named").insert([1, 2]);
  await tables.table("placed").insert({ a: 1, b: 2 });
  await tables.table("one").insert({ a: 1 });
  for (const wrong of [[{ x: 1, z: 2 }, 3], { x: 1, y: 2, z: 3 }]) {
    await assertRejects(() => tables.table("mixed").insert(wrong), TypeError, "have the columns");
    const writer = tables.writer({ maxSequenceLength: 1 });
    writer.append(wrong);
    await assertRejects(() => writer.createItem("mixed", 1, 1), TypeError, "have 3 columns (0/x,");
    await writer.close();
  }
  await tables.table("mixed").insert([{ y: 1, x: 2 }, 3]);
});

onBoth("without a signature, items that are inserted here are like the first", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 9 } } });
  const table = tables.table("t");
  await table.insert({ a: Float32Array.of(1), b: 2 });
  await assertRejects(
    () => table.insert({ a: Float64Array.of(1), b: 2 }),
    TypeError,
    "a is a column of float32 of shape [1] in this table, got float64 of shape [1]",
  );
  await assertRejects(
    () => table.insert({ a: Float32Array.of(1), c: 2 }),
    TypeError,
    "items of this table have the columns a, b; got a, c",
  );
  await assertRejects(
    () => table.insert({ a: Float32Array.of(1), b: null }),
    TypeError,
    "b is missing",
  );
  await assertRejects(() => table.insert({}), TypeError, "at least one value");
  await assertRejects(() => table.insert(new Date() as never), TypeError, "must be");
  assertEquals(table.size, 1);
  table.clear();
  await table.insert("now strings");
  assertEquals((await table.getBatch(1)).columns[0]?.dtype, "string");
});
