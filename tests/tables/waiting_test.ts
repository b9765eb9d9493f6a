/** Waits of tables in process: rate limiters, timeouts, signals, and the order of those who wait. No wait spins, and none leaves anything behind. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import { minSize, oldest, queue as queueRateLimiter, samplesPerInsert } from "../../mod.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { ReplayError } from "../../base/errors.ts";
import { tensor } from "../../reverb/mod.ts";
import { Table, type TableBatch } from "../../tables/mod.ts";
import { kernelTablesOf } from "../../tables/tables.ts";
import { isSettled, onBoth } from "./_backends.ts";
import { pause } from "../_wait.ts";

const SEED = 20261122;

function values(batch: TableBatch): number[] {
  return [...batch.columns[0]?.data as Float64Array];
}

function codeOf(promise: Promise<unknown>): Promise<string> {
  return assertRejects(() => promise, ReplayError).then(({ code }) => code);
}

onBoth("inserts into a full queue wait in their order, and samples let them in", async (create) => {
  using tables = await create({ tables: { q: Table.queue(2) } });
  const queue = tables.table("q");
  await queue.insert(0);
  await queue.insert(1);
  const waiting = [queue.insert(2), queue.insert(3), queue.insert(4)];
  assertEquals(await isSettled(Promise.race(waiting)), false);
  assertEquals([queue.size, queue.info().insertsWaiting, queue.canInsert()], [2, 3, false]);
  assertEquals(values(await queue.getBatch(1)), [0]);
  await waiting[0];
  assertEquals([queue.size, queue.info().insertsWaiting], [2, 2]);
  assertEquals(values(await queue.getBatch(2)), [1, 2]);
  await Promise.all(waiting);
  assertEquals(values(await queue.getBatch(2)), [3, 4]);
  assertEquals([queue.size, tables.info().chunks], [0, 0]);
});

onBoth(
  "samples of an empty queue wait in their order, and inserts let them through",
  async (create) => {
    using tables = await create({ tables: { q: Table.queue(9) } });
    const queue = tables.table("q");
    const first = queue.getBatch(2);
    const second = queue.getBatch(1);
    assertEquals(await isSettled(first), false);
    assertEquals(queue.info().samplersWaiting, 2);
    await queue.insert(10);
    await queue.insert(11);
    await queue.insert(12);
    assertEquals([values(await first), values(await second)], [[10, 11], [12]]);
    assertEquals(queue.info().samplersWaiting, 0);
  },
);

onBoth("a table knows its columns once the first item of an insert is in", async (create) => {
  using tables = await create({ tables: { q: Table.queue(1), r: { maxSize: 9 } } });
  const [queue, replay] = [tables.table("q"), tables.table("r")];
  const waiting = queue.insert({ a: Float64Array.of(1, 2) }, { priorities: [1, 1] });
  assertEquals(Object.keys((await queue.getBatch(1)).data as object), ["a"]);
  await waiting;

  const late = tables.insert({ b: 3 }, { q: 1, r: 1 }, { timeoutMs: 5 });
  await assertRejects(() => late, TypeError, "items of this table have the columns a");
  await queue.getBatch(1);
  queue.clear();
  await queue.insert(0);
  const half = tables.insert(4, { q: 1, r: 1 }, { timeoutMs: 5 });
  assertEquals(await codeOf(half), "timeout");
  assertEquals(replay.size, 1);
  await assertRejects(() => replay.insert({ b: 5 }), TypeError, "got b");

  const old = queue.insert(6);
  queue.clear();
  await assertRejects(() => queue.insert({ b: 7 }), TypeError, "got b");
  await old;
});

onBoth(
  "an insert whose time is over, or that is aborted, is not inserted later",
  async (create) => {
    using tables = await create({ tables: { q: Table.queue(1) } });
    const queue = tables.table("q");
    await queue.insert(0);
    const late = queue.insert(1, { timeoutMs: 10 });
    const controller = new AbortController();
    const aborted = queue.insert(2, { signal: controller.signal });
    const kept = queue.insert(3);
    const error = await assertRejects(() => late, ReplayError);
    assertEquals(error.code, "timeout");
    assertEquals(
      error.message,
      'insert(): the rate limiter of table "q" let 0 of 1 items in within 10 ms; the others are not inserted',
    );
    controller.abort(new Error("enough"));
    await assertRejects(() => aborted, Error, "enough");
    assertEquals([queue.info().insertsWaiting, tables.info().chunks], [1, 2]);
    assertEquals(values(await queue.getBatch(1)), [0]);
    await kept;
    assertEquals(values(await queue.getBatch(1)), [3]);
    assertEquals([queue.info().inserts, tables.info().chunks], [2, 0]);
    await assertRejects(() => queue.insert(4, { signal: controller.signal }), Error, "enough");
    assertEquals(await codeOf(queue.getBatch(1, { timeoutMs: 0 })), "timeout");
  },
);

onBoth("items of inserts and of writers wait in one line, as they came", async (create) => {
  // A writer sends no more once a tenth of maxSize waits.
  const q = { ...Table.queue(100), rateLimiter: queueRateLimiter(1) };
  using tables = await create({ tables: { q } });
  const queue = tables.table("q");
  await queue.insert(0);
  await using writer = tables.writer({ maxSequenceLength: 1 });
  const written: Promise<void>[] = [];
  const write = async (value: number): Promise<void> => {
    writer.append(value);
    await writer.createItem("q", 1, 1);
    written.push(writer.flush());
  };
  const first = queue.insert(1);
  await write(2);
  const late = assertRejects(() => queue.insert(3, { timeoutMs: 1 }), ReplayError, "let 0 of 1");
  await write(4);
  const last = queue.insert(5);
  await late;
  assertEquals([queue.info().insertsWaiting, tables.info().chunks], [4, 5]);
  assertEquals(values(await queue.getBatch(5)), [0, 1, 2, 4, 5]);
  await Promise.all([first, last, ...written]);
  assertEquals(queue.info().insertsWaiting, 0);
});

onBoth("an insert goes on by what it made others do", async (create) => {
  using tables = await create({ tables: { q: Table.queue(1) } });
  const queue = tables.table("q");
  // The kernel holds at most 4 MiB for who takes a part, here 26 samples. The others are drawn while it is told of these, within the insert.
  const sample = queue.getBatch(100, { isPartialAllowed: true });
  const random = new RandomStream(SEED);
  const rows = Float64Array.from({ length: 100 * 200 }, () => random.next());
  const keys = await queue.insert(tensor(rows, { shape: [100, 200] }), {
    priorities: new Float64Array(100).fill(1),
  });
  assertEquals((await sample).keys, keys);
});

onBoth("many steps go in one by one, and a timeout says how many did", async (create) => {
  using tables = await create({ tables: { q: Table.queue(3) } });
  const queue = tables.table("q");
  const steps = Float64Array.of(1, 2, 3, 4, 5);
  const options = { priorities: [1, 1, 1, 1, 1] };
  const error = await assertRejects(
    () => queue.insert(steps, { ...options, timeoutMs: 5 }),
    ReplayError,
  );
  assert(error.message.includes("let 3 of 5 items in within 5 ms"), error.message);
  assertEquals(values(await queue.getBatch(3)), [1, 2, 3]);
  const all = queue.insert(steps, options);
  const behind = queue.insert(6);
  assertEquals(await isSettled(all), false);
  assertEquals(values(await queue.getBatch(6)), [1, 2, 3, 4, 5, 6]);
  assertEquals([(await all).length, typeof await behind], [5, "bigint"]);
  assertEquals(tables.info().chunks, 0);
});

onBoth("an insert into several tables waits for each of them", async (create) => {
  using tables = await create({
    tables: { a: Table.queue(1), b: Table.queue(1), c: { maxSize: 9 } },
  });
  const [a, b, c] = [tables.table("a"), tables.table("b"), tables.table("c")];
  await a.insert(0);
  await b.insert(0);
  const all = tables.insert(1, { a: 1, b: 1, c: 1 });
  assertEquals(await isSettled(all), false);
  assertEquals([a.size, b.size, c.size], [1, 1, 1]); // c lets it in at once
  await b.getBatch(1);
  assertEquals([a.size, b.size, await isSettled(all)], [1, 1, false]);
  await a.getBatch(1);
  assertEquals(Object.keys(await all), ["a", "b", "c"]);
  assertEquals([a.size, b.size, c.size, tables.info().chunks], [1, 1, 1, 1]);
});

onBoth("a sample whose time is over says how many came, and may return them", async (create) => {
  using tables = await create({ tables: { q: Table.queue(9) } });
  const queue = tables.table("q");
  for (let k = 0; k < 5; k++) await queue.insert(k);
  const none = await assertRejects(() => queue.getBatch(6, { timeoutMs: 0 }), ReplayError);
  assert(none.message.includes("can't give 6 samples now"), none.message);
  assertEquals(queue.size, 5); // nothing was drawn
  const part = await queue.getBatch(6, { timeoutMs: 5, isPartialAllowed: true });
  assertEquals([part.size, ...values(part)], [5, 0, 1, 2, 3, 4]);
  assertEquals(
    await codeOf(queue.getBatch(1, { timeoutMs: 5, isPartialAllowed: true })),
    "timeout",
  );
  const error = await assertRejects(() => queue.getBatch(2, { timeoutMs: 5 }), ReplayError);
  assertEquals(
    error.message,
    'getBatch(): 0 of 2 samples came within 5 ms, as the rate limiter of table "q" lets no more through',
  );
  const controller = new AbortController();
  const aborted = queue.getBatch(1, { signal: controller.signal });
  controller.abort();
  await assertRejects(() => aborted, DOMException);
  await queue.insert(7);
  assertEquals(values(await queue.getBatch(1)), [7]); // nobody else took it
});

onBoth("another rate limiter, a delete or a reset lets those through who wait", async (create) => {
  using tables = await create({
    tables: { t: { maxSize: 100, rateLimiter: minSize(50), sampler: oldest() } },
  });
  const table = tables.table("t");
  const waiting = table.getBatch(1);
  const first = await table.insert(1);
  assertEquals(await isSettled(waiting), false);
  table.setRateLimiter(minSize(1));
  assertEquals(values(await waiting), [1]);
  assertEquals(table.options.rateLimiter, minSize(1));
  // Inserts are one ahead at most. A delete counts too, where the table then has fewer items than it must have.
  table.setRateLimiter(samplesPerInsert(1, { minSize: 2, error: [-1, 1] }));
  await table.insert(2);
  const insert = table.insert(3);
  assertEquals(await isSettled(insert), false);
  table.delete([first]);
  await insert;
  const another = table.insert(4);
  assertEquals(await isSettled(another), false);
  table.clear();
  await another;
  assertEquals([table.size, table.info().inserts], [1, 1]);
});

onBoth(
  "a narrow band goes on for ever, and one that could deadlock is refused",
  async (create) => {
    const narrow = samplesPerInsert(2, { minSize: 4, error: [9, 11] });
    using tables = await create({ tables: { t: { maxSize: 20, rateLimiter: narrow } } });
    const table = tables.table("t");
    const inserting = Promise.all(Array.from({ length: 100 }, (_, k) => table.insert(k)));
    assertEquals((await table.getBatch(190)).size, 190); // 9 of 200 stay
    await inserting;
    const still = samplesPerInsert(2, { minSize: 4, error: [9, 10.5] });
    const words =
      "could deadlock, as inserts × 2 - samples must stay from 9 to 10.5; make error at least 3 wide";
    assertThrows(() => table.setRateLimiter(still), RangeError, words);
    const tiny = samplesPerInsert(5e-324, { minSize: 1, error: [5, 5] });
    assertThrows(() => table.setRateLimiter(tiny), RangeError, "make error at least 1.001 wide");
    assertEquals(table.options.rateLimiter, narrow);
    const options = { t: { maxSize: 20, rateLimiter: still } };
    await assertRejects(
      () => create({ tables: options }),
      RangeError,
      "Tables.create(): tables.t: rateLimiter: samplesPerInsert(",
    );
  },
);

onBoth("a rate limiter that its table can't keep is refused, new or later", async (create) => {
  const waits = "waits for 4 items, but the table holds at most 3 (maxSize); so nothing could";
  await assertRejects(
    () => create({ tables: { t: { maxSize: 3, rateLimiter: minSize(4) } } }),
    RangeError,
    `tables.t: rateLimiter ${waits}`,
  );
  using tables = await create({ tables: { t: { maxSize: 3 }, q: Table.queue(3) } });
  const [table, line] = [tables.table("t"), tables.table("q")];
  assertThrows(
    () => table.setRateLimiter(minSize(4)),
    RangeError,
    `setRateLimiter(): rateLimiter ${waits}`,
  );
  assertThrows(
    () => line.setRateLimiter(queueRateLimiter(10)),
    RangeError,
    "lets 10 items wait, but the table holds at most 3 (maxSize); so items would be removed that were never sampled",
  );
  assertEquals([table.options.rateLimiter, line.options.rateLimiter], [
    minSize(1),
    queueRateLimiter(3),
  ]);
  table.setRateLimiter(queueRateLimiter(10)); // its items stay where they were sampled, so it is a rate limiter
  line.setRateLimiter(queueRateLimiter(2));
  assertEquals([line.canInsert(2), line.canInsert(3)], [true, false]);
});

onBoth("a band may be open to one side", async (create) => {
  const t = {
    maxSize: 20,
    rateLimiter: samplesPerInsert(1, { minSize: 2, error: [-3, Infinity] }),
  };
  using tables = await create({ tables: { t } });
  const table = tables.table("t");
  for (let k = 0; k < 50; k++) await table.insert(k);
  assertEquals([table.canSample(53), table.canSample(54)], [true, false]);
  table.setRateLimiter(samplesPerInsert(1, { minSize: 2, error: [-Infinity, 7] }));
  assertEquals([table.canSample(1000), table.canInsert()], [true, false]);
  await table.getBatch(1000);
  assertEquals(table.canInsert(957), true);
});

onBoth("disposing tables ends all waits, and later calls say so", async (create) => {
  const tables = await create({ tables: { q: Table.queue(1) } });
  const queue = tables.table("q");
  await queue.insert(1);
  const insert = queue.insert(2);
  await isSettled(insert);
  const other = await create({ tables: { q: Table.queue(1) } });
  const sample = other.table("q").getBatch(1);
  tables[Symbol.dispose]();
  other[Symbol.dispose]();
  other[Symbol.dispose]();
  assertEquals([await codeOf(insert), await codeOf(sample)], ["disposed", "disposed"]);
  assertEquals(await codeOf(queue.insert(3)), "disposed");
  assertEquals(await codeOf(queue.getBatch(1)), "disposed");
  assertEquals(await codeOf(tables.insert(3, { q: 1 })), "disposed");
});

onBoth("who waits does not look again until something happens", async (create) => {
  using tables = await create({ tables: { q: Table.queue(1) } });
  const queue = tables.table("q");
  await queue.insert(1);
  const waits = [queue.insert(2), tables.insert(3, { q: 1 })];
  await isSettled(Promise.race(waits));
  const kernelTables = kernelTablesOf(tables);
  let looks = 0;
  const tellReady = kernelTables.tellReady.bind(kernelTables);
  kernelTables.tellReady = () => (looks++, tellReady());
  await pause(30);
  assertEquals(looks, 0);
  assertEquals(values(await queue.getBatch(3)), [1, 2, 3]);
  await Promise.all(waits);
  assert(looks > 0);
});

/** Reverb's rules, as its documentation has them. */
class PlainRateLimiter {
  inserts = 0;
  samples = 0;
  deletes = 0;
  constructor(
    readonly ratio: number,
    readonly least: number,
    readonly min: number,
    readonly max: number,
  ) {}
  mayInsert(): boolean {
    return this.inserts + 1 - this.deletes <= this.least ||
      (this.inserts + 1) * this.ratio - this.samples <= this.max;
  }
  maySample(): boolean {
    return this.inserts - this.deletes >= this.least &&
      this.inserts * this.ratio - this.samples - 1 >= this.min;
  }
}

onBoth(`random calls are let through as Reverb's rules say (seed ${SEED})`, async (create) => {
  const random = new RandomStream(SEED);
  for (let round = 0; round < 60; round++) {
    const ratio = [0.25, 0.5, 1, 1.5, 3][random.below(5)] ?? 1;
    const least = 1 + random.below(5);
    const width = Math.max(1, ratio) + random.below(4);
    const plain = new PlainRateLimiter(ratio, least, ratio * least - width, ratio * least + width);
    const maxSize = least + random.below(12);
    const rateLimiter = samplesPerInsert(ratio, { minSize: least, error: width });
    using tables = await create({ tables: { t: { maxSize, rateLimiter, sampler: oldest() } } });
    const table = tables.table("t");
    const keys: bigint[] = [];
    for (let step = 0; step < 60; step++) {
      const where = `round ${round}, step ${step}`;
      const what = random.below(5);
      if (what === 4 && keys.length > 0) {
        table.delete([keys.shift() ?? 0n]);
        plain.deletes++;
      } else if (what % 2 === 0) {
        const may = plain.mayInsert();
        assertEquals(table.canInsert(), may, where);
        const done = await table.insert(step, { timeoutMs: 0 }).then((key) => key, () => undefined);
        assertEquals(done !== undefined, may, where);
        if (done === undefined) continue;
        plain.inserts++;
        keys.push(done);
        if (keys.length > maxSize) {
          keys.shift();
          plain.deletes++;
        }
      } else {
        const may = plain.maySample() && keys.length > 0;
        assertEquals(table.canSample(), plain.maySample(), where);
        const done = await table.getBatch(1, { timeoutMs: 0 }).then(() => true, () => false);
        assertEquals(done, may, where);
        if (done) plain.samples++;
      }
      const { size, inserts, samples, deletes } = table.info();
      assertEquals(
        [size, inserts, samples, deletes],
        [keys.length, plain.inserts, plain.samples, plain.deletes],
        where,
      );
    }
  }
});
