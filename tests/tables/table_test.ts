/** Tables in process: what goes in comes out, and sampler, remover and limits do what Reverb's do. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import {
  highestPriority,
  lowestPriority,
  newest,
  oldest,
  prioritized,
  uniform,
  withoutReplacement,
} from "../../mod.ts";
import { ReplayError } from "../../base/errors.ts";
import { tensor } from "../../reverb/mod.ts";
import { Table, type TableOptions } from "../../tables/mod.ts";
import { onBoth } from "./_backends.ts";
import { noise } from "../_noise.ts";

const SEED = 20261122;

onBoth("one step comes back as one row of each column, in its structure", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 10 } }, seed: 1 });
  const data = {
    state: {
      position: Float32Array.of(1, 2),
      velocity: tensor(new Float64Array(6), { shape: [2, 3] }),
    },
    action: 3,
    flags: [true, Uint8Array.of(7)],
    text: "left",
    big: 2n ** 60n,
  };
  const table = tables.table<typeof data>("t");
  const key = await table.insert(data, { priority: 2.5 });
  const batch = await table.getBatch(3);
  assertEquals([...batch.keys], [key, key, key]);
  assertEquals([...batch.priorities], [2.5, 2.5, 2.5]);
  assertEquals([...batch.probability], [1, 1, 1]);
  assertEquals([...batch.tableSizes], [1, 1, 1]);
  assertEquals([...batch.timesSampled], [1, 2, 3]);
  const { action, big, flags, state, text } = batch.data;
  const described = [
    action,
    big,
    flags[0],
    flags[1],
    state.position,
    state.velocity,
    text,
  ].map((column) => [column?.dtype, column?.shape]);
  assertEquals(described, [
    ["float64", [3, 1]],
    ["int64", [3, 1]],
    ["bool", [3, 1]],
    ["uint8", [3, 1, 1]],
    ["float32", [3, 1, 2]],
    ["float64", [3, 1, 2, 3]],
    ["string", [3, 1]],
  ]);
  // Python's clients see the leaves in the same order: by sorted keys.
  assertEquals(batch.columns.map(({ dtype }) => dtype), described.map(([dtype]) => dtype));
  assertEquals([...batch.columns[4]?.data ?? []], [1, 2, 1, 2, 1, 2]);
  assertEquals(new TextDecoder().decode(batch.columns[6]?.data[0] as Uint8Array), "left");
});

onBoth("many steps are items of their own on shared data", async (create) => {
  using tables = await create({
    tables: { t: { maxSize: 100, sampler: oldest(), maxTimesSampled: 1 } },
  });
  const table = tables.table("t");
  const values = Float32Array.from({ length: 10 }, (_, k) => k);
  const keys = await table.insert({ a: tensor(values, { shape: [5, 2] }), b: new Int32Array(5) }, {
    priorities: [1, 2, 3, 4, 5],
  });
  assertEquals(keys.length, 5);
  assertEquals([table.size, tables.info().chunks], [5, 1]);
  const batch = await table.getBatch(5);
  assertEquals([...batch.keys], [...keys]);
  assertEquals([...batch.priorities], [1, 2, 3, 4, 5]);
  assertEquals(batch.columns[0]?.shape, [5, 1, 2]);
  assertEquals([...batch.columns[0]?.data ?? []], [...values]);
  assertEquals([table.size, tables.info().chunks], [0, 0]);
  await assertRejects(
    () =>
      table.insert({ a: tensor(values, { shape: [5, 2] }), b: new Int32Array(4) }, {
        priorities: [1],
      }),
    RangeError,
    "all columns need as many steps, got 5 and 4",
  );
  await assertRejects(
    () =>
      table.insert({ a: tensor(values, { shape: [2, 5] }), b: new Int32Array(2) }, {
        priorities: [1],
      }),
    RangeError,
    "priorities must have a number for each of 2 steps",
  );
  assertEquals(table.size, 0);
});

onBoth(
  "trajectories have lengths of their own, and plain values no dimension of steps",
  async (create) => {
    using tables = await create({
      tables: { t: { maxSize: 9, sampler: oldest(), maxTimesSampled: 1 } },
    });
    const table = tables.table<{ x: Float32Array; y: Int32Array; z: number }>("t");
    const y = (count: number): Int32Array<ArrayBuffer> =>
      Int32Array.from({ length: count }, (_, k) => k);
    await table.insertTrajectory({ x: Float32Array.of(1, 2, 3), y: y(2), z: 7 });
    await table.insertTrajectory({ x: Float32Array.of(4), y: y(2), z: 8 });
    const { data } = await table.getBatch(2);
    assertEquals(data.x.shape, [4]);
    const floats: Float32Array = data.x.data; // the types say so, too
    assertEquals([...floats], [1, 2, 3, 4]);
    assertEquals([...data.x.lengths ?? []], [3, 1]);
    assertEquals([data.y.shape, data.y.lengths], [[2, 2], undefined]);
    assertEquals([data.z.shape, ...data.z.data], [[2], 7, 8]);
    await assertRejects(
      () => table.insertTrajectory({ x: new Float32Array(0), y: y(1), z: 1 }),
      RangeError,
      "x needs at least one step",
    );
  },
);

/** Inserts items with these priorities and these numbers as data, and returns the numbers that stay, in order. */
async function stays(
  create: Parameters<Parameters<typeof onBoth>[1]>[0],
  options: TableOptions,
  priorities: readonly number[],
): Promise<number[]> {
  using tables = await create({
    tables: { t: { ...options, sampler: withoutReplacement() } },
    seed: 3,
  });
  const table = tables.table("t");
  for (const [k, priority] of priorities.entries()) await table.insert(k, { priority });
  const { columns } = await table.getBatch(table.size);
  return [...columns[0]?.data as Float64Array].sort((a, b) => a - b);
}

onBoth(
  "the remover's choice goes once there is one item too many, and that may be the new one",
  async (create) => {
    const given = [5, 6, 1, 7, 7];
    assertEquals(await stays(create, { maxSize: 2, remover: oldest() }, given), [3, 4]);
    assertEquals(await stays(create, { maxSize: 2, remover: newest() }, given), [0, 1]);
    assertEquals(await stays(create, { maxSize: 2, remover: lowestPriority() }, [5, 6, 1]), [0, 1]);
    assertEquals(await stays(create, { maxSize: 2, remover: highestPriority() }, [5, 6, 1]), [
      0,
      2,
    ]);
    // Of equal priorities, the one inserted first goes.
    assertEquals(await stays(create, { maxSize: 2, remover: lowestPriority() }, given), [3, 4]);
  },
);

onBoth("items() lists what the table knows of its items", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 10, sampler: highestPriority() } } });
  const table = tables.table("t");
  assertEquals(table.items(), []);
  const before = Date.now();
  const keys = [];
  for (const priority of [1, 3, 2]) keys.push(await table.insert(5, { priority }));
  await table.getBatch(4);
  const items = table.items().toSorted((a, b) => a.priority - b.priority);
  assertEquals(items.map(({ key }) => key), [keys[0], keys[2], keys[1]]);
  assertEquals(items.map(({ timesSampled }) => timesSampled), [0, 0, 4]);
  for (const { insertedAt, bytes } of items) {
    assert(insertedAt >= before - 1 && insertedAt <= Date.now() + 1);
    assert(bytes > 8);
  }
  assertEquals(table.items({ limit: 2 }).length, 2);
  assertEquals(table.items({ limit: 100 }).length, 3);
  assertEquals(table.info().samples, 4);
  assertThrows(() => table.items({ limit: 0 }), RangeError, "items(): limit");
  // @ts-expect-error: there is no such option
  assertThrows(() => table.items({ count: 1 }), TypeError, "count");
});

onBoth("the remover may have priorities of its own", async (create) => {
  using tables = await create({
    tables: { t: { maxSize: 2, sampler: highestPriority(), remover: lowestPriority() } },
  });
  const table = tables.table("t");
  const first = await table.insert(1, { priority: 9, removerPriority: 1 });
  await table.insert(2, { priority: 1, removerPriority: 5 });
  await table.insert(3, { priority: 2, removerPriority: 5 });
  assertEquals([...(await table.getBatch(1)).columns[0]?.data ?? []], [3]); // 1 has gone, whatever its priority
  const keys = (await table.getBatch(1)).keys;
  table.setPriority(keys, [2], { removerPriorities: [0] });
  await table.insert(4, { priority: 1 });
  assertEquals([...(await table.getBatch(1)).columns[0]?.data ?? []], [2]);
  table.setPriority([first], [100]); // it is not there any more
  assertEquals(table.largestPriority, 1);
});

/** The priorities of all items for sampler and remover, by their data. */
function shownPriorities(table: Table<number>, keys: readonly bigint[]): unknown[] {
  const found = new Map(table.items().map((item) => [item.key, item]));
  return keys.map((key) => {
    const item = found.get(key);
    return item && [item.priority, item.removerPriority];
  });
}

onBoth(
  "an update of a priority took the remover's own from an item",
  async (create) => {
    const sampler = prioritized();
    using tables = await create({
      tables: { t: { maxSize: 3, sampler, remover: lowestPriority() } },
    });
    const table = tables.table<number>("t");
    const keys: bigint[] = [];
    for (const removerPriority of [10, 20, 5]) {
      keys.push(await table.insert(1, { priority: 1, removerPriority }));
    }
    table.setPriority(keys.slice(1, 2), [0.5]);
    assertEquals(shownPriorities(table, keys), [[1, 10], [0.5, 20], [1, 5]]);
    keys.push(await table.insert(1, { priority: 15 }));
    assertEquals(shownPriorities(table, keys), [[1, 10], [0.5, 20], undefined, [15, 15]]);
    // Without one of its own, an item has the same for both.
    table.setPriority(keys.slice(3), [1]);
    assertEquals(shownPriorities(table, keys.slice(3)), [[1, 1]]);
    table.setPriority(keys.slice(3), [30]);
    table.setPriority(keys.slice(1, 2), [0.5], { removerPriorities: [2] });
    keys.push(await table.insert(1, { priority: 40 }));
    assertEquals(shownPriorities(table, keys), [[1, 10], undefined, undefined, [30, 30], [40, 40]]);
  },
);

onBoth(
  "inserts of many, and into many tables, may have the remover's priorities too",
  async (create) => {
    using tables = await create({ tables: { a: { maxSize: 9 }, b: { maxSize: 9 } } });
    const [a, b] = [tables.table<number>("a"), tables.table<number>("b")];
    const keys = await a.insert(Float64Array.of(1, 2), {
      priorities: [1, 2],
      removerPriorities: [3, 0],
    });
    assertEquals(shownPriorities(a, [...keys]), [[1, 3], [2, 0]]);
    const both = await tables.insert(3, { a: 4, b: 5 }, { removerPriorities: { b: 6 } });
    assertEquals(shownPriorities(a, [both["a"] ?? 0n]), [[4, 4]]);
    assertEquals(shownPriorities(b, [both["b"] ?? 0n]), [[5, 6]]);

    for (const wrong of [-1, NaN, Infinity]) {
      const priorities = [1, 1];
      await assertRejects(
        () => a.insert(Float64Array.of(1, 2), { priorities, removerPriorities: [1, wrong] }),
        RangeError,
        "removerPriorities[1] must be",
      );
      await assertRejects(
        () => tables.insert(3, { a: 1 }, { removerPriorities: { a: wrong } }),
        RangeError,
        'the remover\'s priority for table "a"',
      );
    }
    const none = { removerPriorities: [undefined as unknown as number] };
    assertThrows(
      () => a.setPriority([keys[0] ?? 0n], [1], none),
      TypeError,
      "must be a number, got undefined",
    );
    await assertRejects(
      () => a.insert(Float64Array.of(1, 2), { priorities: [1, 1], removerPriorities: [1] }),
      RangeError,
      "removerPriorities must have a number for each of 2 steps",
    );
    await assertRejects(
      () => tables.insert(3, { a: 1 }, { removerPriorities: { b: 1 } }),
      TypeError,
      'removerPriorities has table "b", which gets no item',
    );
    assertEquals([a.size, b.size], [3, 1]);
  },
);

onBoth("samplers: the ends, proportional draws, and draws without replacement", async (create) => {
  using tables = await create({
    tables: {
      oldest: { maxSize: 9, sampler: oldest() },
      newest: { maxSize: 9, sampler: newest() },
      highest: { maxSize: 9, sampler: highestPriority() },
      lowest: { maxSize: 9, sampler: lowestPriority() },
      each: { maxSize: 9, sampler: withoutReplacement() },
      some: { maxSize: 9, sampler: prioritized({ alpha: 1, epsilon: 0 }) },
    },
    seed: SEED,
  });
  const priorities = [3, 1, 4, 1, 5];
  for (const [k, priority] of priorities.entries()) {
    await tables.insert(k, Object.fromEntries(tables.names.map((name) => [name, priority])));
  }
  assertEquals(tables.info().chunks, 5);
  const draw = async (
    name: string,
    count: number,
  ): Promise<number[]> => [
    ...(await tables.table(name).getBatch(count)).columns[0]?.data as Float64Array,
  ];
  assertEquals(await draw("oldest", 2), [0, 0]);
  assertEquals(await draw("newest", 2), [4, 4]);
  assertEquals(await draw("highest", 2), [4, 4]);
  assertEquals(await draw("lowest", 2), [1, 1]);
  assertEquals((await draw("each", 5)).sort(), [0, 1, 2, 3, 4]);
  const counts = [0, 0, 0, 0, 0];
  const batch = await tables.table("some").getBatch(14_000);
  for (const value of batch.columns[0]?.data as Float64Array) {
    counts[value] = (counts[value] ?? 0) + 1;
  }
  // 1,000 for each unit of priority; a sixth of the spread of the rarest is 5 standard deviations.
  for (const [k, priority] of priorities.entries()) {
    assert(
      Math.abs((counts[k] ?? 0) - 1000 * priority) < 5 * Math.sqrt(1000 * priority),
      `${counts}`,
    );
  }
  assertEquals(batch.probability[0], (batch.priorities[0] ?? 0) / 14);
});

Deno.test("the same seed and the same calls give the same draws on both kernels, and another seed others", async () => {
  const { Tables } = await import("../../tables/mod.ts");
  const draws = async (backend: "native" | "wasm", seed: number): Promise<string> => {
    using tables = await Tables.create({
      tables: { t: { maxSize: 50, sampler: uniform() } },
      seed,
      backend,
    });
    const table = tables.table("t");
    for (let k = 0; k < 60; k++) await table.insert(k);
    return String((await table.getBatch(40)).columns[0]?.data);
  };
  assertEquals(await draws("native", 5), await draws("wasm", 5));
  assert(await draws("native", 5) !== await draws("native", 6));
});

onBoth("priorities: all is checked before anything changes", async (create) => {
  using tables = await create({ tables: { t: { maxSize: 9, sampler: highestPriority() } } });
  const table = tables.table("t");
  const a = await table.insert(1, { priority: 1 });
  const b = await table.insert(2, { priority: 2 });
  for (const wrong of [-1, NaN, Infinity]) {
    assertThrows(
      () => table.setPriority([a, b], [9, wrong]),
      RangeError,
      "the priority of key",
    );
    await assertRejects(() => table.insert(3, { priority: wrong }), RangeError, "priority must be");
    await assertRejects(() => table.insert(3, { removerPriority: wrong }), RangeError);
  }
  assertThrows(() => table.setPriority([a], [1, 2]), RangeError, "a number for each key");
  assertThrows(
    () => table.setPriority([1 as unknown as bigint], [1]),
    TypeError,
    "must be a bigint",
  );
  assertEquals([table.largestPriority, table.size], [2, 2]);
  table.setPriority(BigUint64Array.of(a, 12345n), Float32Array.of(3, 4));
  assertEquals(table.largestPriority, 3);
  assertEquals([...(await table.getBatch(1)).columns[0]?.data ?? []], [1]);
  table.delete([a, 12345n]);
  assertEquals([table.size, table.largestPriority], [1, 2]);
});

onBoth("counts are Reverb's, and reset begins them anew", async (create) => {
  using tables = await create({
    tables: { t: { maxSize: 3, sampler: oldest(), maxTimesSampled: 2 } },
  });
  const table = tables.table("t");
  for (let k = 0; k < 4; k++) await table.insert(k);
  await table.getBatch(3);
  const info = table.info();
  assertEquals(
    [
      info.size,
      info.inserts,
      info.samples,
      info.deletes,
      info.uniqueSamples,
      info.episodes,
      info.deletedEpisodes,
    ],
    [2, 4, 3, 2, 2, 2, 2],
  );
  assert(info.bytes > 0);
  table.clear();
  const empty = table.info();
  assertEquals(
    [empty.size, empty.inserts, empty.samples, empty.deletes, empty.uniqueSamples, empty.bytes],
    [0, 0, 0, 0, 0, 0],
  );
  assertEquals(tables.info().chunks, 0);
});

onBoth("the same items take as many bytes in each set of tables", async (create) => {
  const found = new Set<number>();
  for (let k = 0; k < 12; k++) {
    using tables = await create({ tables: { t: { maxSize: 10 } } });
    await tables.table("t").insert({ reward: 1 });
    found.add(tables.table("t").info().bytes);
  }
  assertEquals(found.size, 1);
});

onBoth("maxBytes makes items go, and refuses one that alone is more", async (create) => {
  const random = noise(1000);
  using tables = await create({ tables: { t: { maxSize: 100, maxBytes: 5000 } } });
  const table = tables.table("t");
  for (let k = 0; k < 10; k++) await table.insert(random);
  const { size, bytes } = table.info();
  assert(size >= 3 && size < 5 && bytes <= 5000, `${size} items of ${bytes} bytes`);
  const large = noise(6000);
  const error = await assertRejects(
    () => table.insertTrajectory(tensor(large, { shape: [6, 1000] })),
    ReplayError,
  );
  assertEquals(error.code, "item-bytes");
  assertEquals(table.info().size, size);
});

onBoth(
  "misspelt options, unknown tables and wrong counts are refused with words",
  async (create) => {
    await assertRejects(
      () => create({ tables: { t: { maxSise: 9 } as never } }),
      TypeError,
      "maxSise",
    );
    await assertRejects(() => create({ tables: {} }), RangeError, "the number of tables");
    await assertRejects(
      () => create({ tables: { t: { maxSize: 9, signature: { x: { dtype: "int8" } } as never } } }),
      TypeError,
      "tables.t: signature.x.shape must be an array of sizes",
    );
    await assertRejects(
      () => create({ tables: { t: { maxSize: 0 } } }),
      RangeError,
      "tables.t: maxSize",
    );
    await assertRejects(
      () => create({ tables: { t: { maxSize: 1, maxTimesSampled: 2 ** 31 } } }),
      RangeError,
      "tables.t: maxTimesSampled must be an integer from 1 to 2147483647, got 2147483648",
    );
    await assertRejects(
      () => create({ tables: { t: { maxSize: 1, rateLimiter: 3 as never } } }),
      TypeError,
      "rateLimiter must be minSize(), samplesPerInsert() or queue(), got 3",
    );
    await assertRejects(
      () => create({ tables: { t: { maxSize: 1, sampler: {} as never } } }),
      TypeError,
      "sampler must be a selector",
    );
    using tables = await create({ tables: { t: Table.queue(4), u: { maxSize: 1 } } });
    const error = assertThrows(
      () => tables.table("v"),
      ReplayError,
      'there is no table "v"; there are "t", "u"',
    );
    assertEquals(error.code, "table-unknown");
    await assertRejects(() => tables.table("t").insert(1, { prio: 1 } as never), TypeError, "prio");
    for (const options of [2, null]) {
      await assertRejects(
        () => tables.table("t").insert(1, options as never),
        TypeError,
        `insert() takes an object of options, got ${options}`,
      );
    }
    await assertRejects(() => tables.table("t").getBatch(0), RangeError, "count");
    await assertRejects(() => tables.insert(1, {}), TypeError, "at least one table");
    await assertRejects(() => tables.insert(1, { t: 1, w: 1 }), ReplayError, "no table");
    assertEquals(tables.table("t").size, 0);
  },
);
