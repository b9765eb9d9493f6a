/** Tables of the kernel, on both kernels: what goes in comes out, and each refusal has its code and its words. */
import { assert, assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { type Kernel, openKernel } from "../../ffi/library.ts";
import {
  EXRP_TABLES_INFO_BYTES,
  EXRP_TABLES_INFO_INSERTS_WAITING,
  EXRP_TABLES_INFO_PRIORITY_MAX,
  EXRP_TABLES_INFO_SIZE,
  EXRP_TABLES_STORE_CHUNKS,
  EXRP_TABLES_STORE_INSERTERS,
  EXRP_TABLES_STORE_SAMPLERS,
} from "../../ffi/symbols.ts";
import { highestPriority, oldest, uniform } from "../../mod.ts";
import { power } from "../../selectors/mod.ts";
import { type KernelTableOptions, KernelTables, type Sampler } from "../../tables/kernel_tables.ts";
import { chunk, confirmedKeys, insertMessage, mutateMessage, samplesOf } from "./_messages.ts";

const MIN_SIZE_1: readonly number[] = [1, 1, -Number.MAX_VALUE, Number.MAX_VALUE];

function tableOf(name: string, options: Partial<KernelTableOptions> = {}): KernelTableOptions {
  return {
    name,
    maxSize: 10,
    sampler: uniform(),
    remover: oldest(),
    rateLimiter: MIN_SIZE_1,
    ...options,
  };
}

/** One item on one chunk of its own. */
function single(key: bigint, table = "t", priority = 1, size = 20): Uint8Array {
  return insertMessage([chunk(key, 1n, size)], [{ key, table, priority, chunks: [key] }]);
}

function readAll(sampler: Sampler, room = 1 << 16): ReturnType<typeof samplesOf> {
  const bytes = new Uint8Array(room);
  return samplesOf(bytes.subarray(0, sampler.read(bytes)));
}

function refused(call: () => void, code: string, words: RegExp): void {
  const error = assertThrows(call, ReplayError);
  assertEquals(error.code, code);
  assertMatch(error.message, words);
}

for (const backend of ["native", "wasm"] as const) {
  const kernel: Kernel = await openKernel({ backend });
  const name = (text: string): string => `tables, ${backend}: ${text}`;

  Deno.test(name("an item comes back as it went, and its key is confirmed"), () => {
    using tables = KernelTables.create(kernel, [tableOf("a"), tableOf("t")], 1);
    using inserter = tables.inserter();
    const before = Date.now() - 1;
    const message = insertMessage(
      [chunk(2n ** 64n - 1n, 9n, 300), chunk(5n, 9n)],
      [{ key: 2n ** 63n + 1n, table: "t", priority: 2.5, chunks: [5n, 2n ** 64n - 1n] }],
      [5n],
    );
    inserter.feed(message);
    assertEquals([inserter.waiting, inserter.confirmed, inserter.chunks], [0, 1, 1]);
    const out = new Uint8Array(64);
    assertEquals(confirmedKeys(out.subarray(0, inserter.readConfirmations(out))), [2n ** 63n + 1n]);
    assertEquals(inserter.readConfirmations(out), 0);

    using sampler = tables.sampler(tables.numberOf("t"));
    sampler.ask(3);
    const samples = readAll(sampler);
    assertEquals([samples.length, sampler.samples, sampler.wanted, sampler.isWaiting], [
      3,
      3,
      0,
      false,
    ]);
    for (const [k, { info, data, endOfSequence }] of samples.entries()) {
      assertEquals(info?.item?.key, 2n ** 63n + 1n);
      assertEquals(info?.item?.table, "t");
      assertEquals(info?.item?.priority, 2.5);
      assertEquals(info?.item?.timesSampled, k + 1);
      assertEquals(info?.probability, 1);
      assertEquals(info?.tableSize, 1n);
      assertEquals(endOfSequence, true);
      assertEquals(data.map(({ chunkKey }) => chunkKey), [5n, 2n ** 64n - 1n]);
      assertEquals(
        data[1]?.data?.tensors[0]?.tensorContent,
        new Uint8Array(300).fill(Number((2n ** 64n - 1n) % 251n)),
      );
      const insertedAt = Number(info?.item?.insertedAt?.seconds) * 1000 +
        Number(info?.item?.insertedAt?.nanos) / 1e6;
      assert(insertedAt >= before && insertedAt <= Date.now() + 1, String(insertedAt));
    }
    const [item] = tables.items(1, 0, 1);
    assertEquals([item?.key, item?.priority, item?.timesSampled], [2n ** 63n + 1n, 2.5, 3]);
    assertEquals(tables.info(1)[EXRP_TABLES_INFO_BYTES], item?.bytes);
  });

  Deno.test(name("streams that wait are told when another call makes progress"), () => {
    using tables = KernelTables.create(
      kernel,
      [tableOf("t", { sampler: oldest(), rateLimiter: [1, 1, 0, 2], maxTimesSampled: 1 })],
      1,
    );
    const told: string[] = [];
    using inserter = tables.inserter(() => told.push("inserter"));
    using sampler = tables.sampler(0, () => {
      told.push("sampler");
      // A call within onReady() is allowed.
      assertEquals(readAll(sampler).map(({ info }) => info?.item?.key), [1n]);
    });
    sampler.ask(1);
    assertEquals(readAll(sampler), []);
    assert(sampler.isWaiting);
    inserter.feed(single(1n));
    assertEquals(told, ["sampler"]);
    for (const key of [2n, 3n, 4n]) inserter.feed(single(key));
    assertEquals([inserter.waiting, inserter.isFull], [1, true]);
    assertEquals(tables.info(0)[EXRP_TABLES_INFO_INSERTS_WAITING], 1);
    assertEquals([tables.canInsert(0, 1), tables.canSample(0, 2), tables.canSample(0, 3)], [
      false,
      true,
      false,
    ]);
    tables.setRateLimiter(0, [1, 1, 0, 3]);
    assertEquals(told, ["sampler", "inserter"]);
    inserter.refresh();
    assertEquals([inserter.waiting, inserter.confirmed], [0, 4]);
  });

  Deno.test(name("a sample that does not fit says how many bytes it needs, and is kept"), () => {
    using tables = KernelTables.create(kernel, [tableOf("t", { sampler: oldest() })], 1);
    using inserter = tables.inserter();
    inserter.feed(single(1n, "t", 1, 5000));
    using sampler = tables.sampler(0);
    sampler.ask(2);
    assertEquals(sampler.read(new Uint8Array(100)), 0);
    assert(sampler.needed > 5000 && sampler.needed < 5200, String(sampler.needed));
    const exact = new Uint8Array(sampler.needed);
    assertEquals(sampler.read(exact), exact.length);
    assertEquals([sampler.samples, sampler.wanted, sampler.needed], [1, 1, 0]);
    assertEquals(samplesOf(exact)[0]?.info?.item?.key, 1n);
  });

  Deno.test(name("each refusal has a code and says what is wrong, and nothing has changed"), () => {
    using tables = KernelTables.create(kernel, [
      tableOf("t", { sampler: highestPriority(), maxBytes: 500 }),
    ], 1);
    using inserter = tables.inserter();
    inserter.feed(single(1n));
    const before = [...tables.info(0), ...tables.storeInfo().subarray(0, 2)];
    const item = { key: 2n ** 40n + 7n, table: "t", priority: 1, chunks: [2n] };
    const chunks = [chunk(2n, 2n)];
    const feed = (message: Uint8Array) => (): void => inserter.feed(message);
    for (const priority of [-1, NaN, Infinity]) {
      refused(
        feed(insertMessage(chunks, [{ ...item, priority }])),
        "invalid-priority",
        new RegExp(`^insert\\(\\): the priority of item 1099511627783 .* is ${priority}; `),
      );
      refused(
        () => tables.mutate(mutateMessage("t", [[1n, 5], [3n, priority]], [1n])),
        "invalid-priority",
        /^setPriority\(\): the priority of item 3 /,
      );
    }
    refused(
      feed(insertMessage(chunks, [item, { ...item, table: "u" }])),
      "table-unknown",
      /items\[1\] names a table that is not among the 1 table/,
    );
    refused(
      feed(insertMessage(chunks, [{ ...item, chunks: [2n, 99n] }])),
      "chunk-unknown",
      /items\[0\] refers to chunk 99/,
    );
    refused(feed(insertMessage(chunks, [item], [2n, 98n])), "chunks-kept", /keeps chunk 98/);
    refused(feed(insertMessage(chunks, [{ ...item, chunks: [] }])), "item-empty", /1099511627783/);
    refused(
      feed(insertMessage([chunk(2n, 2n, 600)], [item])),
      "item-bytes",
      /the chunks of items\[0\] have/,
    );
    refused(feed(new Uint8Array()), "message-empty", /neither chunks nor items/);
    refused(feed(Uint8Array.of(10, 5, 1)), "message-damaged", /3 bytes of it cannot be read/);
    refused(() => tables.mutate(mutateMessage("u", [])), "table-unknown", /there is no such table/);
    refused(() => tables.numberOf("u"), "table-unknown", /there is no table "u"; there are "t"/);
    assertEquals([...tables.info(0), ...tables.storeInfo().subarray(0, 2)], before);
    tables.mutate(mutateMessage("t", [[1n, 5], [77n, 9]]));
    assertEquals(tables.info(0)[EXRP_TABLES_INFO_PRIORITY_MAX], 5);
  });

  Deno.test(
    name("what is closed or disposed gives everything back, and says so afterwards"),
    () => {
      const count = kernel.symbols.exrp_tables_count();
      const tables = KernelTables.create(kernel, [tableOf("t")], 1);
      const inserter = tables.inserter();
      inserter.feed(insertMessage([chunk(1n, 1n)], []));
      assertEquals(tables.storeInfo()[EXRP_TABLES_STORE_CHUNKS], 1);
      inserter[Symbol.dispose]();
      inserter[Symbol.dispose]();
      assertEquals(tables.storeInfo()[EXRP_TABLES_STORE_CHUNKS], 0);
      refused(() => inserter.feed(single(1n)), "disposed", /the stream is closed/);
      const sampler = tables.sampler(0);
      const stores = tables.storeInfo();
      assertEquals([stores[EXRP_TABLES_STORE_INSERTERS], stores[EXRP_TABLES_STORE_SAMPLERS]], [
        0,
        1,
      ]);
      tables[Symbol.dispose]();
      tables[Symbol.dispose]();
      assert(tables.isDisposed);
      refused(() => sampler.ask(1), "disposed", /the tables are disposed/);
      refused(() => tables.info(0), "disposed", /the tables are disposed/);
      sampler[Symbol.dispose]();
      assertEquals(kernel.symbols.exrp_tables_count(), count);
    },
  );

  Deno.test(name("a reset lets go of all items"), () => {
    using tables = KernelTables.create(kernel, [tableOf("t", { maxSize: 5000 })], 1);
    using inserter = tables.inserter();
    for (let key = 0n; key < 5000n; key++) inserter.feed(single(key));
    assertEquals(tables.info(0)[EXRP_TABLES_INFO_SIZE], 5000);
    const full = tables.storeInfo();
    tables.reset(0);
    const empty = tables.storeInfo();
    assertEquals([full[EXRP_TABLES_STORE_CHUNKS], empty[EXRP_TABLES_STORE_CHUNKS]], [5000, 0]);
    assertEquals(tables.info(0)[EXRP_TABLES_INFO_SIZE], 0);
  });

  Deno.test(name("a loaded snapshot goes on as the saved tables do"), () => {
    const options = [tableOf("t", { maxSize: 100, sampler: power({ exponent: 0.5 }) })];
    using tables = KernelTables.create(kernel, options, 5);
    using inserter = tables.inserter();
    for (let key = 0n; key < 150n; key++) {
      inserter.feed(single(key, "t", Number(key % 7n), Number(key)));
    }
    using other = KernelTables.create(kernel, options, 6);
    let count = 0;
    for (const piece of tables.save(1000)) {
      other.load(piece);
      count++;
    }
    assert(count > 10, String(count));
    refused(() => other.reset(0), "order", /pieces of a snapshot/);
    other.loadEnd();
    assertEquals(other.info(0), tables.info(0));
    assertEquals(other.items(0, 0, 100), tables.items(0, 0, 100));
    const drawn = [tables, other].map((each) => {
      using sampler = each.sampler(0);
      sampler.ask(100);
      return readAll(sampler, 1 << 20).map(({ info }) => [info?.item?.key, info?.probability]);
    });
    assertEquals(drawn[0], drawn[1]);
    using wrong = KernelTables.create(kernel, [tableOf("u")], 5);
    const [first = new Uint8Array()] = tables.save();
    refused(() => wrong.load(first), "snapshot-mismatch", /another configuration/);
    refused(() => wrong.loadEnd(), "order", /pieces of a snapshot/);
  });
}

Deno.test("tables: the same seed and the same messages give the same draws on both kernels", async () => {
  const drawn: string[] = [];
  for (const backend of ["native", "wasm"] as const) {
    const kernel = await openKernel({ backend });
    using tables = KernelTables.create(kernel, [tableOf("t", { maxSize: 50 })], 42);
    using inserter = tables.inserter();
    for (let key = 0n; key < 80n; key++) inserter.feed(single(key));
    using sampler = tables.sampler(0);
    sampler.ask(500);
    drawn.push(readAll(sampler, 1 << 20).map(({ info }) => info?.item?.key).join());
  }
  assertEquals(drawn[0]?.split(",").length, 500);
  assertEquals(drawn[0], drawn[1]);
});
