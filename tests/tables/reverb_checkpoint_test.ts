/** Checkpoints of Reverb's: a recorded one is read whole, and damaged ones are refused in words. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { lowestPriority, minSize, newest, uniform } from "../../mod.ts";
import { joinBytes } from "../../base/bytes.ts";
import { ReplayError } from "../../base/errors.ts";
import {
  ChunkDataSchema,
  type PrioritizedItem,
  PrioritizedItemSchema,
  type PriorityTableCheckpoint,
  PriorityTableCheckpointSchema,
} from "../../reverb/messages/reverb_pb.ts";
import {
  loadReverbCheckpoint,
  readReverbCheckpoint,
  type ReverbCheckpointOptions,
  Tables,
} from "../../tables/mod.ts";
import {
  drainOurs,
  filesOf,
  readRecorded,
  type RecordedCheckpoint,
  tables as recordedTables,
  withCheckpoint,
} from "../reverb/_checkpoints.ts";
import { type Files, refusal } from "./_checkpoint_files.ts";
import { bytesField, oldCheckpoint } from "../reverb/_old_checkpoint.ts";
import { bytesOfField } from "../../wire/fields.ts";
import { framed, pack, readRecords, unpack, writeRecords } from "../reverb/_tfrecords.ts";

const recorded: RecordedCheckpoint = await readRecorded();
const [first = new Uint8Array()] = readRecords(
  filesOf(recorded)["items.tfrecord"] ?? new Uint8Array(),
);

/** The recorded files with changes to messages of one kind. */
function changed<M>(
  name: "tables" | "chunks" | "items",
  change: (records: Uint8Array<ArrayBuffer>[]) => Uint8Array<ArrayBuffer>[],
): Files {
  const files = filesOf(recorded);
  const file = `${name}.tfrecord`;
  return { ...files, [file]: writeRecords(change(readRecords(files[file] ?? new Uint8Array()))) };
}

function changedItem(index: number, change: (item: PrioritizedItem) => void): Files {
  return changed("items", (records) =>
    records.map((record, k) => {
      if (k !== index) return record;
      const item = fromBinary(PrioritizedItemSchema, record);
      change(item);
      return toBinary(PrioritizedItemSchema, item);
    }));
}

function changedTable(name: string, change: (table: PriorityTableCheckpoint) => void): Files {
  return changed("tables", (records) =>
    records.map((record) => {
      const table = fromBinary(PriorityTableCheckpointSchema, record);
      if (table.tableName !== name) return record;
      change(table);
      return toBinary(PriorityTableCheckpointSchema, table);
    }));
}

for (const backend of ["native", "wasm"] as const) {
  Deno.test(`a recorded checkpoint is read whole (${backend})`, async () => {
    await withCheckpoint(filesOf(recorded), async (folder) => {
      using tables = await readReverbCheckpoint(folder, { backend, seed: 1 });
      assertEquals([...tables.names].sort(), recordedTables.map(({ name }) => name).sort());
      const fifo = tables.table("fifo");
      assertEquals(fifo.options.maxTimesSampled, 4);
      assertEquals([fifo.options.maxSize, fifo.options.remover], [50, newest()]);
      const { inserts, samples, deletes } = fifo.info();
      assertEquals([inserts, samples, deletes], [7, 9, 2]);
      assertEquals(tables.table("prioritized").options.sampler.options["exponent"], 0.6);
      assertEquals(tables.table("heap").options.remover, lowestPriority());
      assertEquals(tables.table("empty").options.rateLimiter.numbers.differenceMin, 720);
      assertEquals(tables.table("empty").canSample(1), false);
      assertEquals(tables.table("signed").options.signature, {
        last: { dtype: "int64", shape: [], name: "last" },
        window: { dtype: "float32", shape: [3, 2] },
      });
      assertEquals(await drainOurs(tables), recorded.items);
      assertEquals(tables.info().chunks, 0);
    });
  });
}

Deno.test("items of a checkpoint share their data as before, and new ones come after them", async () => {
  await withCheckpoint(filesOf(recorded), async (folder) => {
    using tables = await readReverbCheckpoint(folder);
    const chunks = readRecords(filesOf(recorded)["chunks.tfrecord"] ?? new Uint8Array());
    assertEquals(tables.info().chunks, chunks.length);
    const queue = tables.table("queue");
    const key = await queue.insert({ reward: 1 });
    const keys: bigint[] = [];
    while (queue.size > 0) keys.push(...(await queue.getBatch(1)).keys);
    assertEquals(keys.length, 4);
    assertEquals(keys.at(-1), key);
  });
});

Deno.test("a chunk that Reverb saved several times counts once", async () => {
  const twice = changed("chunks", (all) => [...all, all[3] ?? first, ...all]);
  await withCheckpoint(twice, async (folder) => {
    using tables = await readReverbCheckpoint(folder);
    const chunks = readRecords(filesOf(recorded)["chunks.tfrecord"] ?? new Uint8Array());
    assertEquals(tables.info().chunks, chunks.length);
    assertEquals(await drainOurs(tables), recorded.items);
  });
});

Deno.test("of several checkpoints the newest whole one is read", async () => {
  await withCheckpoint({}, async (root) => {
    const write = async (name: string, files: Files): Promise<void> => {
      await Deno.mkdir(`${root}/${name}`);
      for (const [file, bytes] of Object.entries(files)) {
        await Deno.writeFile(`${root}/${name}/${file}`, bytes);
      }
    };
    const { DONE: _, ...unfinished } = filesOf(recorded);
    await write("2026-11-22T10:00:00+00:00", changedItem(0, (item) => item.priority = -1));
    await write("2026-11-22T11:00:00+00:00", filesOf(recorded));
    await write("2026-11-22T12:00:00+00:00", unfinished);
    await write("notes", {});
    using tables = await readReverbCheckpoint(new URL(`file://${root}`));
    assertEquals(tables.table("fifo").size, 5);
    const within = `${root}/2026-11-22T12:00:00+00:00`;
    const { message } = await assertRejects(() => readReverbCheckpoint(within), ReplayError);
    assert(message.includes("has no DONE; Reverb was interrupted"), message);
  });
});

Deno.test("a table whose clients delete items keeps a rate limiter that would stand still otherwise", async () => {
  const files = changedTable("fifo", (table) => {
    const { rateLimiter } = table;
    assert(rateLimiter !== undefined);
    rateLimiter.samplesPerInsert = 1;
    [rateLimiter.minDiff, rateLimiter.maxDiff] = [0, 0.5];
  });
  await withCheckpoint(files, async (folder) => {
    using tables = await readReverbCheckpoint(folder);
    const { differenceMin, differenceMax } = tables.table("fifo").options.rateLimiter.numbers;
    assertEquals([differenceMin, differenceMax], [0, 0.5]);
  });
});

Deno.test("an old checkpoint, with items in its tables, is read whole", async () => {
  const { files, changed } = oldCheckpoint(filesOf(recorded));
  assert(changed > 10, `${changed}`);
  await withCheckpoint(files, async (folder) => {
    using tables = await readReverbCheckpoint(folder);
    assertEquals(await drainOurs(tables), recorded.items);
  });
});

/** Old files in which the table `name` has this many more items, which repeat its own under other keys. */
function grown(files: Files, names: readonly string[], more: number): Files {
  const records = readRecords(files["tables.tfrecord"] ?? first).map((record) => {
    const table = fromBinary(PriorityTableCheckpointSchema, record, { readUnknownFields: false });
    if (!names.includes(table.tableName) || table.rateLimiter === undefined) return record;
    const items = bytesOfField(record, 2).map((bytes) => fromBinary(PrioritizedItemSchema, bytes));
    for (let k = 0; k < more; k++) {
      const one = items[k];
      assert(one !== undefined);
      items.push({ ...one, key: BigInt(names.indexOf(table.tableName) * more + k) });
    }
    table.maxSize = 100_000n;
    table.rateLimiter.insertCount += BigInt(more);
    const written = items.map((one) => bytesField(2, toBinary(PrioritizedItemSchema, one)));
    return joinBytes([toBinary(PriorityTableCheckpointSchema, table), ...written]);
  });
  return { ...files, "tables.tfrecord": writeRecords(records) };
}

Deno.test("an old checkpoint is read whole where its tables unpack to many pieces", async () => {
  const { files } = oldCheckpoint(filesOf(recorded));
  const names = ["uniform", "fifo", "prioritized"];
  await withCheckpoint(grown(files, names, 5000), async (folder) => {
    using tables = await readReverbCheckpoint(folder);
    for (const name of tables.names) {
      const own = recorded.items[name]?.length ?? 0;
      assertEquals(tables.table(name).size, own + (names.includes(name) ? 5000 : 0));
    }
    const { keys } = await tables.table("uniform").getBatch(500);
    assert(keys.some((key) => key < 5000n));
  });
});

Deno.test("old items that can't be are refused before they take memory", async () => {
  const { files } = oldCheckpoint(filesOf(recorded));
  const [table = first, ...others] = readRecords(files["tables.tfrecord"] ?? first);
  const { tableName } = fromBinary(PriorityTableCheckpointSchema, table);
  const own = bytesOfField(table, 2).length;
  const refusalOf = (more: Uint8Array): Promise<ReplayError> =>
    refusal({ ...files, "tables.tfrecord": writeRecords([joinBytes([table, more]), ...others]) });
  const copies = (field: readonly number[], count: number): Uint8Array => {
    const bytes = new Uint8Array(field.length * count);
    for (let at = 0; at < bytes.length; at += field.length) bytes.set(field, at);
    return bytes;
  };
  for (
    const [more, words] of [
      [copies([0x12, 0], 1 << 20), `can't be read: its item ${own + 1} has no bytes`],
      [copies([0x12, 1, 0], 1 << 20), `table "${tableName}" has ${own + (1 << 20)} items, but`],
      // A signature that comes again and again.
      [copies([0x4a, 0], 1 << 20), "bytes besides its items, and at most 1048576 can be"],
    ] as const
  ) {
    const { code, message } = await refusalOf(more);
    assertEquals(code, "snapshot-corrupt");
    assert(message.includes(words), message);
  }
});

Deno.test("tables may be other than in the checkpoint, and there may be more", async () => {
  await withCheckpoint(filesOf(recorded), async (folder) => {
    using tables = await readReverbCheckpoint(folder, {
      tables: {
        heap: { sampler: lowestPriority(), rateLimiter: minSize(3) },
        more: { maxSize: 5, sampler: uniform() },
      },
    });
    assertEquals(tables.names.at(-1), "more");
    assertEquals(tables.table("more").size, 0);
    const { priorities } = await tables.table("heap").getBatch(1);
    assertEquals([...priorities], [0.125]);
    await tables.table("more").insert(1);
  });
});

Deno.test("a checkpoint is loaded into tables in the place of what they held", async () => {
  await withCheckpoint(filesOf(recorded), async (folder) => {
    const own = Object.fromEntries(recordedTables.map(({ name }) => [name, { maxSize: 20 }]));
    using tables = await Tables.create({ tables: { other: { maxSize: 5 }, ...own } });
    await tables.insert({ reward: 1 }, { other: 1, fifo: 1 });
    const { items, chunks } = await loadReverbCheckpoint(tables, folder);
    assertEquals([items, chunks], [29, tables.info().chunks]);
    assertEquals([tables.table("other").size, tables.table("fifo").size], [0, 5]);
    assertEquals(tables.table("fifo").options.sampler, uniform());
    assertEquals((await tables.table("fifo").getBatch(20)).columns.length, 2);

    // What is refused leaves them as they are.
    const { chunks: before } = tables.info();
    await withCheckpoint(changedItem(9, (one) => one.priority = -1), async (damaged) => {
      await assertRejects(
        () => loadReverbCheckpoint(tables, damaged),
        ReplayError,
        "the priority -1",
      );
    });
    const writer = tables.writer({ maxSequenceLength: 1 });
    writer.append({ reward: 1 });
    writer.createItem("other", 1, 1);
    await writer.flush();
    const busy = await assertRejects(() => loadReverbCheckpoint(tables, folder), ReplayError);
    assertEquals(busy.code, "busy");
    await writer.close();
    assertEquals([tables.info().chunks, tables.table("fifo").size], [before + 1, 5]);

    using few = await Tables.create({ tables: { fifo: { maxSize: 5 } } });
    const lacking = await assertRejects(() => loadReverbCheckpoint(few, folder), ReplayError);
    assertEquals(lacking.code, "snapshot-mismatch");
    assert(
      /the checkpoint has a table "\w+", but here there are only "fifo"/.test(lacking.message),
    );
    await assertRejects(() => loadReverbCheckpoint({} as Tables, folder), TypeError);
  });
});

Deno.test("tables that don't fit a checkpoint are refused", async () => {
  const files = filesOf(recorded);
  const small = await refusal(files, { tables: { fifo: { maxSize: 4 } } });
  assertEquals(small.code, "snapshot-mismatch");
  assert(small.message.includes('table "fifo" has 5 items in the checkpoint, and at most 4 here'));
  const bytes = await refusal(files, { tables: { fifo: { maxBytes: 9 } } });
  assertEquals(bytes.code, "snapshot-mismatch");
  assert(
    /the items of table "fifo" have \d+ bytes of data, but the table may have 9/.test(
      bytes.message,
    ),
    bytes.message,
  );
  await withCheckpoint(
    changedTable("empty", (table) => table.maxSize = 2n ** 40n),
    async (folder) => {
      const { message } = await assertRejects(() => readReverbCheckpoint(folder), RangeError);
      assert(message.includes('{ tables: { "empty": { maxSize: … } } }'), message);
      using _ = await readReverbCheckpoint(folder, { tables: { empty: { maxSize: 10 } } });
    },
  );
  for (
    const [options, words] of [
      [{ tabels: {} }, "did you mean tables?"],
      [{ maxBytes: 0 }, "maxBytes must be"],
      [{ tables: { more: {} } }, "maxSize"],
      [{ tables: 3 }, "tables must be an object"],
    ] as const
  ) {
    await withCheckpoint(files, async (folder) => {
      const { message } = await assertRejects(
        () => readReverbCheckpoint(folder, options as ReverbCheckpointOptions),
        Error,
      );
      assert(message.includes(words), message);
    });
  }
});

const { key, table } = fromBinary(PrioritizedItemSchema, first);
const item = `items.tfrecord", record 1: item ${key} of table "${table}" `;

for (
  const [what, files, words] of [
    [
      "a negative priority",
      changedItem(0, (one) => one.priority = -1),
      `${item}has the priority -1; a priority must be finite and not negative. Delete the item in Reverb`,
    ],
    [
      "an infinite priority",
      changedItem(0, (one) => one.priority = Infinity),
      `${item}has the priority Infinity`,
    ],
    [
      "a time before 1970",
      changedItem(
        0,
        (one) =>
          one.insertedAt = { $typeName: "google.protobuf.Timestamp", seconds: -5n, nanos: 0 },
      ),
      `${item}has a time of insertion`,
    ],
    [
      "a negative count of samples",
      changedItem(0, (one) => one.timesSampled = -5),
      "or a count of samples that can't be",
    ],
    [
      "an item of another table",
      changedItem(0, (one) => one.table = "nowhere"),
      `items.tfrecord", record 1: item ${key} of table "nowhere" is of a table that the checkpoint does not have`,
    ],
    [
      "an item without data",
      changedItem(0, (one) => delete one.flatTrajectory),
      `${item}refers to no chunk`,
    ],
    [
      "more steps than a chunk has",
      changedItem(0, (one) => {
        for (const column of one.flatTrajectory?.columns ?? []) {
          for (const slice of column.chunkSlices) slice.length += 1000;
        }
      }),
      `${item}has steps that its chunk does not have`,
    ],
    [
      "no chunks",
      changed("chunks", () => []),
      `${item}needs a chunk that the checkpoint does not have`,
    ],
    [
      "an item twice",
      changed("items", (all) => [all[0] ?? first, ...all]),
      `items.tfrecord", record 2: item ${key} of table "${table}" comes for the second time`,
    ],
    [
      "an item too few",
      changed("items", (all) => all.slice(1)),
      `items.tfrecord" has fewer items of table "${table}" than its inserts without its deletes`,
    ],
    [
      "two chunks with one key",
      changed("chunks", (all) => [...all, joinBytes([all[3] ?? first, Uint8Array.of(0x78, 1)])]),
      `chunks.tfrecord", record ${
        readRecords(filesOf(recorded)["chunks.tfrecord"] ?? first).length + 1
      }: chunk `,
    ],
    ["no tables", changed("tables", () => []), 'tables.tfrecord" has no table'],
    ["a table twice", changed("tables", (all) => [...all, ...all]), "comes for the second time"],
    [
      "a table without a sampler",
      changedTable("fifo", (one) => delete one.sampler),
      'table "fifo" has an unknown sampler',
    ],
    [
      "a table without a rate limiter",
      changedTable("fifo", (one) => delete one.rateLimiter),
      'table "fifo" has no rate limiter',
    ],
    [
      "deletes without inserts",
      changedTable("empty", (one) => one.rateLimiter && (one.rateLimiter.deleteCount = 4n)),
      'table "empty" has 4 deletes, but 0 inserts',
    ],
    [
      "negative inserts",
      changedTable("empty", (one) => one.rateLimiter && (one.rateLimiter.insertCount = -4n)),
      'table "empty" has -4 inserts',
    ],
    [
      "a rate limiter without room",
      changedTable("fifo", (one) => one.rateLimiter && (one.rateLimiter.minDiff = NaN)),
      'table "fifo" has a rate limiter without room between NaN and',
    ],
    [
      "an item more than the counts say",
      changedTable("fifo", (one) => one.rateLimiter && (one.rateLimiter.deleteCount = 3n)),
      'of table "fifo" is one more than the inserts',
    ],
  ] as const
) {
  Deno.test(`a checkpoint with ${what} is refused in words`, async () => {
    const { code, message } = await refusal(files);
    assertEquals(code, "snapshot-corrupt");
    assert(message.startsWith("readReverbCheckpoint(): "), message);
    assert(message.includes(words), message);
  });
}

Deno.test("a folder that is no checkpoint is refused in words", async () => {
  const { "items.tfrecord": _items, "chunks.tfrecord": _chunks, ...rest } = filesOf(recorded);
  const lacking = await refusal(rest);
  assertEquals(lacking.code, "snapshot-truncated");
  assert(lacking.message.includes("has no chunks.tfrecord"), lacking.message);
  const foreign = await refusal({ DONE: new Uint8Array() });
  assertEquals(foreign.code, "snapshot-foreign");
  assert(foreign.message.includes("is a whole checkpoint of Reverb"), foreign.message);
  const missing = await assertRejects(() => readReverbCheckpoint("/no/such/folder"), ReplayError);
  assertEquals(missing.code, "file");
  await assertRejects(() => readReverbCheckpoint(5 as unknown as string), TypeError);
});

Deno.test("the records of a file are checked one by one", async () => {
  const files = filesOf(recorded);
  const bytes = unpack(files["items.tfrecord"] ?? first);
  const second = 16 + first.length; // where the second record begins
  for (
    const [at, words] of [
      [second + 2, "record 2: its length and the checksum do not agree"],
      [second + 9, "record 2: its length and the checksum do not agree"],
      [second + 12, "record 2: its bytes and the checksum do not agree"],
      [second - 1, "record 1: its bytes and the checksum do not agree"],
    ] as const
  ) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 16;
    const { message } = await refusal({ ...files, "items.tfrecord": pack(damaged) });
    assert(message.includes(words), message);
  }
  const cut = await refusal({ ...files, "items.tfrecord": pack(bytes.slice(0, second + 20)) });
  assertEquals(cut.code, "snapshot-truncated");
  assert(cut.message.endsWith('items.tfrecord" ends within its record 2'), cut.message);
  const [head, size] = [framed(new Uint8Array()), new Uint8Array(8)];
  new DataView(size.buffer).setBigUint64(0, 2n ** 40n, true);
  // The checksum of the length is that of a record whose bytes are the length.
  head.set(size);
  head.set(framed(size).subarray(20, 24), 8);
  const large = await refusal({ ...files, "items.tfrecord": pack(head) });
  assert(large.message.includes("it has 1099511627776 bytes"), large.message);
});

Deno.test("a file that unpacks to more than maxBytes is refused before it fills the memory", async () => {
  const files = filesOf(recorded);
  const chunk = create(ChunkDataSchema, { chunkKey: 1n });
  const large = joinBytes([
    toBinary(ChunkDataSchema, chunk),
    Uint8Array.of(0x7a, 0x80, 0x80, 0x80, 0x04),
    new Uint8Array(8 << 20),
  ]);
  const bomb = await refusal({ ...files, "chunks.tfrecord": writeRecords([large]) }, {
    maxBytes: 1 << 20,
  });
  assertEquals(bomb.code, "limit");
  assert(bomb.message.includes("unpacks to more than maxBytes"), bomb.message);
  const zeros = await refusal({ ...files, "tables.tfrecord": pack(new Uint8Array(64 << 20)) });
  assert(
    zeros.message.includes("record 1: its length and the checksum do not agree"),
    zeros.message,
  );
});
