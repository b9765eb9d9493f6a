/** Tables with the sampler withoutReplacement(): each item once before any again, whichever calls draw. */
import { assert, assertEquals } from "../_assert.ts";
import { samplesPerInsert, uniform, withoutReplacement } from "../../mod.ts";
import type { Table, TableOptions, Tables } from "../../tables/mod.ts";
import { type Create, onBoth } from "./_backends.ts";

/** A table `t` that holds the numbers from 0 on. */
async function numbered(
  create: Create,
  count: number,
  options: Partial<TableOptions> = {},
  seed = 1,
): Promise<Tables> {
  const each = { maxSize: count, sampler: withoutReplacement(), ...options };
  const tables = await create({ tables: { t: each }, seed });
  for (let k = 0; k < count; k++) await tables.table("t").insert(k);
  return tables;
}

async function draw(table: Table, count: number): Promise<number[]> {
  return [...(await table.getBatch(count)).columns[0]?.data as Float64Array];
}

const distinct = (values: readonly number[]): number => new Set(values).size;

onBoth("an epoch has each item once, however many calls it takes", async (create) => {
  for (const [size, counts] of [[100, [100]], [100, [1, 2, 40, 7, 50]], [8000, [8000]]] as const) {
    using tables = await numbered(create, size);
    const table = tables.table("t");
    for (let epoch = 0; epoch < 3; epoch++) {
      const values: number[] = [];
      for (const count of counts) values.push(...await draw(table, count));
      assertEquals(distinct(values), size);
    }
  }
});

onBoth("calls that take turns share an epoch", async (create) => {
  using tables = await numbered(create, 100);
  const [a, b] = [tables.table("t"), tables.table("t")];
  const values: number[] = [];
  for (let k = 0; k < 10; k++) {
    values.push(...(await Promise.all([draw(a, 3), draw(b, 7)])).flat());
  }
  assertEquals(distinct(values), 100);
});

onBoth(
  "no batch has an item twice, also where one epoch ends and the next begins",
  async (create) => {
    for (
      const [size, count] of [[100, 40], [100, 99], [100, 100], [9, 2], [20_000, 15_000]] as const
    ) {
      using tables = await numbered(create, size);
      const table = tables.table("t");
      const values: number[] = [];
      for (let k = 0; k < 9; k++) {
        const batch = await draw(table, count);
        assertEquals(distinct(batch), count);
        values.push(...batch);
      }
      // And each epoch has each item once, wherever batches end.
      for (let from = 0; from + size <= values.length; from += size) {
        assertEquals(distinct(values.slice(from, from + size)), size);
      }
    }
  },
);

onBoth("more than all items come as often as they can", async (create) => {
  using tables = await numbered(create, 10);
  const table = tables.table("t");
  await draw(table, 4);
  const times = new Map<number, number>();
  for (const value of await draw(table, 25)) times.set(value, (times.get(value) ?? 0) + 1);
  assertEquals(times.size, 10);
  assert([...times.values()].every((count) => count === 2 || count === 3));
});

onBoth("items with a limit of samples come once an epoch, too", async (create) => {
  using tables = await numbered(create, 100, { maxTimesSampled: 5 });
  const table = tables.table("t");
  for (let epoch = 1; epoch <= 5; epoch++) {
    const halves = [await draw(table, 50), await draw(table, 50)];
    assertEquals(halves.map(distinct), [50, 50]);
    assertEquals(distinct(halves.flat()), 100);
    assertEquals(table.size, epoch < 5 ? 100 : 0);
  }
  // Each goes with its first sample, and no draw of the call finds it again.
  using once = await numbered(create, 100, { maxTimesSampled: 1 });
  assertEquals(distinct(await draw(once.table("t"), 100)), 100);
});

onBoth("items that come in an epoch are drawn in it, and removed ones are not", async (create) => {
  using tables = await numbered(create, 100, { maxSize: 130 });
  const table = tables.table("t");
  const seen = await draw(table, 60);
  const gone = await table.getBatch(10);
  seen.push(...gone.columns[0]?.data as Float64Array);
  table.delete(gone.keys);
  const left = table.items().filter(({ timesSampled }) => timesSampled === 0).slice(0, 5);
  table.delete(left.map(({ key }) => key));
  for (let k = 100; k < 120; k++) await table.insert(k);
  seen.push(...await draw(table, 45));
  assertEquals(distinct(seen), 115);
  assert(seen.filter((value) => value >= 100).length === 20);
  assertEquals(table.size, 105);
  assertEquals(distinct(await draw(table, 105)), 105);
});

onBoth("a batch that waits for the rate limiter in its midst has no item twice", async (create) => {
  using tables = await numbered(create, 10, { maxSize: 20 });
  const table = tables.table("t");
  await draw(table, 7);
  // 3 of the epoch and 5 of the next one; then each insert lets one through.
  table.setRateLimiter(samplesPerInsert(1, { minSize: 1, error: 6 }));
  const waiting = draw(table, 10);
  for (let k = 10; k < 15; k++) await table.insert(k);
  assertEquals(distinct(await waiting), 10);
});

onBoth("the probability is that of each item alike, 1 / size", async (create) => {
  using tables = await numbered(create, 10);
  const table = tables.table("t");
  for (let k = 0; k < 3; k++) {
    assertEquals([...(await table.getBatch(4)).probability], [0.1, 0.1, 0.1, 0.1]);
  }
});

onBoth("each place in an epoch is as probable for each item", async (create) => {
  const SIZE = 8;
  const EPOCHS = 4000;
  for (const tilt of [0, 0.1]) {
    using tables = await numbered(create, SIZE, {}, 20261123);
    const table = tables.table("t");
    const counts = new Float64Array(SIZE * SIZE);
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const order = [...await draw(table, 3), ...await draw(table, 5)];
      // The twin: 0 comes first a little too often.
      if (epoch % 10 < 10 * tilt) order.sort((a, b) => a - b);
      for (const [place, value] of order.entries()) {
        counts[place * SIZE + value] = (counts[place * SIZE + value] ?? 0) + 1;
      }
    }
    const expected = EPOCHS / SIZE;
    const sum = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    const freedom = (SIZE - 1) ** 2;
    const deviation = (sum - freedom) / Math.sqrt(2 * freedom);
    assert(tilt === 0 ? Math.abs(deviation) < 4 : deviation > 6, `${tilt}: ${deviation}`);
  }
});

onBoth(
  "the same seed gives the same order, and a snapshot goes on with the epoch",
  async (create) => {
    using tables = await numbered(create, 50, {}, 7);
    using twin = await numbered(create, 50, {}, 7);
    using loaded = await create({ tables: { t: { maxSize: 60, sampler: withoutReplacement() } } });
    const seen = await draw(tables.table("t"), 30);
    assertEquals(await draw(twin.table("t"), 30), seen);
    await loaded.unserialize(await tables.serialize());
    const rest = await draw(loaded.table("t"), 20);
    assertEquals(distinct([...seen, ...rest]), 50);
    assertEquals(await draw(twin.table("t"), 20), rest);
    assertEquals(await draw(twin.table("t"), 20), await draw(loaded.table("t"), 20));
  },
);

onBoth(
  "a loaded table draws on in the same order, also with items that came later",
  async (create) => {
    const options = { maxSize: 20, sampler: withoutReplacement() };
    using tables = await numbered(create, 12, options);
    using loaded = await create({ tables: { t: options } });
    for (const count of [3, 2]) await draw(tables.table("t"), count);
    await loaded.unserialize(await tables.serialize());
    const orders: number[][] = [];
    for (const table of [tables.table("t"), loaded.table("t")]) {
      for (let k = 12; k < 15; k++) await table.insert(k);
      const order: number[] = [];
      for (let k = 0; k < 9; k++) order.push(...await draw(table, 4));
      orders.push(order);
    }
    assertEquals(orders[1], orders[0]);
  },
);

onBoth("reset() begins an epoch", async (create) => {
  using tables = await numbered(create, 20);
  const table = tables.table("t");
  await draw(table, 13);
  table.clear();
  for (let k = 0; k < 20; k++) await table.insert(k);
  assertEquals(distinct(await draw(table, 20)), 20);
});

onBoth("a remover without replacement draws from all items each time", async (create) => {
  const options = { maxSize: 5, sampler: uniform(), remover: withoutReplacement() };
  using tables = await create({ tables: { t: options }, seed: 1 });
  const table = tables.table("t");
  let newestWent = 0;
  for (let k = 0; k < 600; k++) {
    const key = await table.insert(k);
    if (k >= 5 && table.items().every((item) => item.key !== key)) newestWent++;
  }
  // One of six, each time; a fifth of it is more than 4 standard deviations.
  assert(newestWent > 60 && newestWent < 140, String(newestWent));
});
