/** Tables that are saved and loaded: what comes back, what is refused, and that a call that fails changes nothing. */
import { assert, assertEquals, assertMatch, assertRejects } from "../_assert.ts";
import {
  lowestPriority,
  minSize,
  prioritized,
  ReplayError,
  samplesPerInsert,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import { power } from "@exrp/replay/selectors";
import { Table, type TableOptions, Tables } from "@exrp/replay/tables";
import { openKernel } from "../../ffi/library.ts";
import { checksum } from "../../storage/frames.ts";
import { type Create, onBoth } from "./_backends.ts";
import { borders } from "./_snapshots.ts";
import { refused } from "../_refused.ts";
import { noise } from "../_noise.ts";

const kernel = await openKernel();

const rules: Record<string, TableOptions> = {
  p: { maxSize: 50, sampler: prioritized({ alpha: 0.8 }), remover: lowestPriority() },
  r: { maxSize: 90, sampler: power({ exponent: 0.5 }), maxBytes: 100_000 },
  w: {
    maxSize: 40,
    sampler: withoutReplacement(),
    rateLimiter: samplesPerInsert(2, { minSize: 5, error: 500 }),
  },
  jobs: Table.queue(200),
};

interface Step {
  readonly state: Float32Array;
  readonly inner: readonly [number, { readonly word: string }];
}

async function filled(create: Create, seed = 1): Promise<Tables> {
  const tables = await create({ tables: rules, seed });
  for (let k = 0; k < 120; k++) {
    await tables.insert(
      { state: Float32Array.of(k, -k), inner: [k, { word: `word ${k}` }] },
      { p: 1 + k % 11, r: k % 7, w: 1, jobs: 1 },
    );
    if (k % 5 === 0) await tables.table("p").getBatch(3);
  }
  const { keys } = await tables.table("r").getBatch(9);
  tables.table("r").setPriority(keys, new Float64Array(9).fill(20));
  tables.table("r").delete(keys.slice(0, 1));
  return tables;
}

/** All that a set shows, and its next draws. */
async function shown(tables: Tables): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const name of tables.names) {
    const table = tables.table<Step>(name);
    all.push(table.info());
    const batch = await table.getBatch(20);
    all.push(batch.keys, batch.probability, batch.priorities, batch.timesSampled);
    all.push(batch.data.state.data, batch.data.state.shape, batch.columns[0]?.data);
    all.push(table.info());
  }
  return all;
}

onBoth(
  "tables that are loaded go on as those that were saved, through bytes, a file and a stream",
  async (create) => {
    using tables = await filled(create);
    const bytes = await tables.serialize();
    const folder = await Deno.makeTempDir();
    try {
      await tables.serialize(`${folder}/a`);
      assertEquals(await Deno.readFile(`${folder}/a`), bytes);
      const pipe = new TransformStream<Uint8Array, Uint8Array>();
      const streamed = new Response(pipe.readable).bytes();
      await tables.serialize(pipe.writable);
      assertEquals(await streamed, bytes);
      const expected = await shown(tables);
      for (
        const source of [
          bytes,
          `${folder}/a`,
          new URL(`file://${folder}/a`),
          new Blob([bytes]).stream(),
        ]
      ) {
        using copy = await create({ tables: rules, seed: 99 });
        await copy.insert({ other: 1 }, { p: 1 }); // goes
        await copy.table("p").getBatch(1);
        await copy.unserialize(source);
        assertEquals(await copy.serialize(), bytes);
        assertEquals(await shown(copy), expected);
        // Its own calls go on, with the columns that were saved.
        await copy.insert({ state: Float32Array.of(1, 2), inner: [3, { word: "" }] }, { p: 1 });
        await assertRejects(() => copy.insert({ other: 1 }, { p: 1 }), TypeError, "columns");
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

onBoth(
  "priorities of the remover's own are saved",
  async (create) => {
    const rules = { maxSize: 3, sampler: prioritized(), remover: lowestPriority() };
    const options = { tables: { t: rules, other: { maxSize: 3 } }, seed: 1 };
    using tables = await create(options);
    const table = tables.table<number>("t");
    await table.insert(1, { priority: 1, removerPriority: 10 });
    await table.insert(2, { priority: 12 });
    await table.insert(3, { priority: 1, removerPriority: 0 });
    await tables.insert(4, { other: 1 }, { removerPriorities: { other: 2 } });
    using copy = await create(options);
    await copy.unserialize(await tables.serialize());
    assertEquals(await copy.serialize(), await tables.serialize());
    const left = copy.table<number>("t");
    for (const name of ["t", "other"]) {
      assertEquals(copy.table(name).items(), tables.table(name).items());
    }
    const keys = left.items().map(({ key }) => key);
    left.setPriority(keys, [9, 9, 9]);
    const own = left.items().map(({ removerPriority }) => removerPriority);
    assertEquals(own.toSorted(), [0, 10, 9]);
    await left.insert(5, { priority: 11 });
    await left.insert(6, { priority: 11 });
    const numbers = new Set<unknown>([...(await left.getBatch(200)).data.data]);
    assertEquals([...numbers].toSorted(), [1, 5, 6]);
  },
);

onBoth(
  "what a large snapshot kept is let go in parts, and others have a turn between them",
  async (create) => {
    const options = { tables: { t: { maxSize: 20_000 } }, seed: 1 };
    using tables = await create(options);
    for (let k = 0; k < 20_000; k++) await tables.insert({ k }, { t: 1 });
    const bytes = await tables.serialize();
    const counts: number[] = [];
    const all: Uint8Array[] = [];
    const target = new WritableStream<Uint8Array>({
      write(piece): void {
        assert(piece.length > 0);
        all.push(piece);
        // All items go, so only the snapshot keeps their chunks.
        if (all.length === 1) tables.table("t").clear();
        if (counts.length === 0) look();
      },
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      counts.push(tables.info().chunks);
      timer = setTimeout(look, 0);
    };
    await tables.serialize(target);
    clearTimeout(timer);
    assertEquals(
      new Uint8Array(await new Blob(all as Uint8Array<ArrayBuffer>[]).arrayBuffer()),
      bytes,
    );
    assertEquals(tables.info().chunks, 0);
    // 4,096 of them at a time.
    assert(new Set(counts).size >= 4, `${[...new Set(counts)]} chunks were seen`);
    using copy = await create(options);
    await copy.unserialize(bytes);
    assertEquals(copy.table("t").size, 20_000);
  },
);

Deno.test("both kernels write the same snapshot, and read each other's", async () => {
  const bytes: Uint8Array<ArrayBuffer>[] = [];
  const both = ["native", "wasm"] as const;
  for (const backend of both) {
    const create: Create = (options) => Tables.create({ ...options, backend });
    using tables = await create({ tables: rules, seed: 1 });
    const messages = [1, 2, 3];
    for (const k of messages) await tables.insert({ reward: k }, { p: k, r: k });
    bytes.push(await tables.serialize());
  }
  for (const [k, backend] of both.entries()) {
    using other = await Tables.create({ tables: rules, backend, seed: 3 });
    const source = bytes[1 - k] ?? new Uint8Array();
    await other.unserialize(source);
    assertEquals(await other.serialize(), source);
  }
});

onBoth(
  "the tables may change while a snapshot is written, and there is one at a time",
  async (create) => {
    using tables = await create({ tables: { t: { maxSize: 5000 } }, seed: 1 });
    const state = new Float64Array(noise(800).buffer);
    for (let k = 0; k < 3000; k++) await tables.insert({ state, k }, { t: 1 });
    const still = await tables.serialize();
    assert(still.length > 2 ** 21, `${still.length}`);
    const pipe = new TransformStream<Uint8Array, Uint8Array>();
    const writing = tables.serialize(pipe.writable);
    tables.table("t").clear();
    await tables.insert({ state, k: 1 }, { t: 1 });
    await refused(() => tables.serialize(), "busy", /another snapshot/);
    await refused(() => tables.unserialize(still), "busy", /is being written/);
    assertEquals(await new Response(pipe.readable).bytes(), still);
    await writing;
    assertEquals(tables.table("t").size, 1);
    await tables.unserialize(still);
    assertEquals(tables.table("t").size, 3000);
  },
);

onBoth(
  "a stream that fails lets go of the snapshot, and of tables that were disposed meanwhile",
  async (create) => {
    using tables = await filled(create);
    const broken = new WritableStream({
      write(): never {
        throw new Error("no room");
      },
    });
    await assertRejects(() => tables.serialize(broken), Error, "no room");
    assertEquals((await tables.serialize()).length > 0, true);
    const gone = await create({ tables: { t: { maxSize: 3000 } } });
    for (let k = 0; k < 3000; k++) {
      await gone.insert(noise(1000, k), { t: 1 });
    }
    const pipe = new TransformStream<Uint8Array, Uint8Array>();
    const writing = gone.serialize(pipe.writable);
    gone[Symbol.dispose]();
    const reading = new Response(pipe.readable).bytes().catch(() => {});
    await assertRejects(() => writing, ReplayError, "disposed");
    await reading;
    await refused(() => gone.serialize(), "disposed", /disposed/);
    await refused(() => gone.unserialize(new Uint8Array()), "disposed", /disposed/);
  },
);

onBoth("tables in use are not replaced", async (create) => {
  using tables = await filled(create);
  const bytes = await tables.serialize();
  const before = tables.table("p").info();
  {
    await using writer = tables.trajectoryWriter({ numKeepAliveRefs: 1, validateItems: false });
    writer.append({ x: 1 });
    await writer.createItem("r", 1, { x: writer.history.x?.slice(-1) as never });
    await writer.flush();
    await refused(() => tables.unserialize(bytes), "busy", /1 stream of writers/);
  }
  const many = Array.from(
    { length: 300 },
    (_, k) =>
      tables.table("jobs").insert({ state: Float32Array.of(k, 0), inner: [k, { word: "" }] }),
  );
  await refused(() => tables.unserialize(bytes), "busy", /streams of writers/);
  tables.table("jobs").clear();
  await Promise.all(many.slice(0, 200));
  await tables.table("jobs").getBatch(200);
  await Promise.all(many);
  assertEquals(tables.table("p").info(), before);
  await tables.unserialize(bytes);
  assertEquals(tables.table("jobs").size, 120);
});

onBoth("limits may differ where the items fit, and rules may not", async (create) => {
  using tables = await filled(create);
  const bytes = await tables.serialize();
  const { p, r, w, jobs } = rules;
  assert(p && r && w && jobs);
  const items = tables.table("r").info();
  using other = await create({
    tables: {
      jobs,
      more: { maxSize: 3 },
      w,
      r: { ...r, maxBytes: items.bytes, maxSize: 1000 },
      p: { ...p, rateLimiter: minSize(50) },
    },
  });
  await other.insert(1, { more: 1 });
  await other.unserialize(bytes);
  assertEquals([other.table("r").info(), other.table("more").size], [items, 0]);
  assertEquals(other.table("p").canSample(), true);
  assertEquals(other.table("p").options.rateLimiter.numbers.minSize, 50);
  for (
    const [tables, words] of [
      [{ p, r, w }, /has table "jobs", which is not here; here are "p", "r", "w"/],
      [
        { p: { ...p, maxSize: 49 }, r, w, jobs },
        /table "p": the snapshot has 50 items, maxSize is 49/,
      ],
      [{ p, r: { ...r, maxBytes: items.bytes - 1 }, w, jobs }, /bytes of items, maxBytes is/],
      [
        { p, r: { ...r, sampler: power({ exponent: 0.6 }) }, w, jobs },
        /table "r": the sampler here is power\(.*0\.6.*\), in the snapshot power\(.*0\.5/,
      ],
      [
        { p: { ...p, remover: uniform() }, r, w, jobs },
        /table "p": the remover here is uniform\(\), in the snapshot lowestPriority/,
      ],
      [
        { p, r, w: { ...w, signature: { dtype: "int64", shape: [1] } }, jobs },
        /table "w": the signature here is \{"dtype".*, in the snapshot none/,
      ],
    ] as const
  ) {
    using wrong = await create({ tables });
    await wrong.insert({ x: 1 }, { p: 1 });
    await refused(() => wrong.unserialize(bytes), "snapshot-mismatch", words);
    assertEquals(wrong.table("p").size, 1);
  }
});

onBoth("a signature is the same, whatever the order of its names", async (create) => {
  const x = { dtype: "float32", shape: [null, 2] };
  const y = { dtype: "int64", shape: [null] };
  using tables = await create({ tables: { t: { maxSize: 9, signature: { x, y } } } });
  using other = await create({ tables: { t: { maxSize: 9, signature: { y, x } } } });
  await other.unserialize(await tables.serialize());
});

onBoth(
  "a snapshot that ends too soon, goes on, or has a wrong bit is refused, and changes nothing",
  async (create) => {
    using tables = await create({ tables: { a: { maxSize: 2000 }, b: { maxSize: 9 } }, seed: 1 });
    const state = noise(1500);
    for (let k = 0; k < 1500; k++) await tables.insert({ state, k }, { a: 1, b: 2 });
    const bytes = await tables.serialize();
    const frames = borders(bytes);
    assert(frames.length >= 6, `${frames}`);
    assertEquals(frames.at(-1), bytes.length);
    using other = await create({ tables: { a: { maxSize: 2000 }, b: { maxSize: 9 } } });
    await other.insert(1, { b: 1 });
    for (const border of frames.slice(0, -1)) {
      for (const end of [border, border + 1, border + 10, border + 19, border + 21]) {
        await refused(
          () => other.unserialize(bytes.slice(0, end)),
          "snapshot-truncated",
          /ends at byte \d+/,
        );
      }
    }
    const longer = new Uint8Array(bytes.length + 1);
    longer.set(bytes);
    await refused(() => other.unserialize(longer), "snapshot-corrupt", /goes on after its end/);
    const [, schema = 0, first = 0, second = 0, third = 0] = frames;
    assert(schema < first);
    const swapped = new Uint8Array([
      ...bytes.slice(0, first),
      ...bytes.slice(second, third),
      ...bytes.slice(first, second),
      ...bytes.slice(third),
    ]);
    await refused(() => other.unserialize(swapped), "snapshot-corrupt", /TABL 0 has to come/);
    const seed = Number(Deno.env.get("SEED") ?? 261123);
    let state32 = seed >>> 0;
    const below = (count: number): number => {
      state32 = (Math.imul(state32, 1664525) + 1013904223) >>> 0;
      return Math.floor(state32 / 2 ** 32 * count);
    };
    for (let round = 0; round < 150; round++) {
      const damaged = bytes.slice();
      const border = frames[below(frames.length - 1)] ?? 0;
      const at = round % 2 === 0
        ? below(bytes.length)
        : Math.min(bytes.length - 1, border + below(30));
      damaged[at] = (damaged[at] ?? 0) ^ (1 << below(8));
      const error = await assertRejects(
        () => other.unserialize(damaged),
        ReplayError,
        undefined,
        `seed ${seed}, round ${round}, byte ${at}`,
      );
      assertMatch(error.code, /^snapshot-(corrupt|foreign|truncated)$/, `seed ${seed}, byte ${at}`);
    }
    assertEquals(other.table("b").size, 1);
    await other.unserialize(bytes);
    assertEquals(other.table("a").size, 1500);
  },
);

Deno.test("other files are refused with words: a replay's snapshot, a newer version, none at all", async () => {
  const { ExperienceReplay, float32 } = await import("@exrp/replay");
  using replay = await ExperienceReplay.create({ capacity: 9, state: float32() });
  using tables = await Tables.create({ tables: { t: { maxSize: 9 } } });
  const bytes = await tables.serialize();
  await refused(
    async () => tables.unserialize(await replay.serialize()),
    "snapshot-foreign",
    /no snapshot of tables: it does not begin with EXRPTABL/,
  );
  await refused(
    () => replay.unserialize(bytes),
    "snapshot-foreign",
    /no snapshot of a replay: it does not begin with EXRPSNAP/,
  );
  await refused(() => tables.unserialize("/nowhere/file"), "file", /can't read "\/nowhere\/file"/);
  await assertRejects(() => tables.unserialize(7 as never), TypeError, "takes a Uint8Array");
  await assertRejects(() => tables.serialize(7 as never), TypeError, "takes a path");
  const newer = bytes.slice();
  const view = new DataView(newer.buffer);
  view.setUint32(8, 3, true);
  view.setUint32(12, checksum(kernel, newer.slice(0, 12)), true);
  await refused(
    () => tables.unserialize(newer),
    "snapshot-version",
    /version 3 of the format, this library reads 2: use a newer/,
  );
});

Deno.test("a file that can't be written leaves the old one, and nothing beside it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    using tables = await Tables.create({ tables: { t: { maxSize: 9 } } });
    await Deno.mkdir(`${folder}/a`);
    await refused(() => tables.serialize(`${folder}/a`), "file", /can't write/);
    await refused(() => tables.serialize(`${folder}/no/a`), "file", /can't write/);
    assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), ["a"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
