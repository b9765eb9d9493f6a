/** Durable tables: what opening asks for and refuses, what is kept, and what is found after damage. */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "../../_assert.ts";
import { ExperienceReplay, minSize, newest, prioritized, samplesPerInsert } from "@exrp/replay";
import { Table, Tables, type TablesOptions } from "@exrp/replay/tables";
import { assertReplayError, assertReplayRejects, testRandom } from "../../replay/_helpers.ts";
import { copyFolder, logsOf, test } from "./_folders.ts";

const OPTIONS = {
  tables: {
    steps: { sampler: prioritized(), maxSize: 100 },
    jobs: Table.queue(500),
  },
  seed: 3,
} satisfies TablesOptions;

/** Bytes that no compressor makes fewer. */
function bytesOf(random: (bound: number) => number, count: number): Uint8Array {
  return new Uint8Array(count).map(() => random(256));
}

async function fill(tables: Tables, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) {
    await tables.insert({ state: Float32Array.of(n, -n), id: n }, { steps: 1 + n % 5, jobs: 1 });
  }
}

test("a new folder needs options, and one with tables needs none", async (folder) => {
  await assertRejects(() => Tables.open(folder), TypeError, "give the options");
  {
    using tables = await Tables.open(folder, OPTIONS);
    assertEquals(tables.durability?.recovered, undefined);
    await fill(tables, 1, 20);
  }
  using tables = await Tables.open(folder);
  assertEquals(tables.names, ["steps", "jobs"]);
  assertEquals(tables.table("steps").options.sampler.kind, "prioritized");
  const { cutBytes, repairedCount, lostItemCount, damage } = tables.durability?.recovered ?? {};
  assertEquals([cutBytes, repairedCount, lostItemCount, damage], [0, 0, 0, undefined]);
  assertEquals([tables.table("steps").size, tables.table("jobs").size], [20, 20]);
  // The queue goes on where it was, and knows the names of its columns.
  const jobs = tables.table<{ state: Float32Array; id: number }>("jobs");
  const { data } = await jobs.getBatch(3);
  assertEquals([...data.id.data], [1, 2, 3]);
  await assertRejects(() => jobs.insert({ id: 1 } as never), TypeError, "columns");
});

test("other options are refused, and the first that differs is named", async (folder) => {
  (await Tables.open(folder, OPTIONS))[Symbol.dispose]();
  const { steps, jobs } = OPTIONS.tables;
  const others: readonly (readonly [Partial<TablesOptions>, RegExp])[] = [
    [{ tables: { steps } }, /: tables is steps, jobs in the tables of .* and steps in the opt/],
    [{ tables: { jobs, steps } }, /: tables is steps, jobs in .* and jobs, steps in/],
    [{ tables: { jobs, steps: { ...steps, maxSize: 99 } } }, /tables is/],
    [{ tables: { steps: { ...steps, maxSize: 99 }, jobs } }, /steps\.maxSize is 100 .* and 99 in/],
    [{ tables: { steps: { ...steps, remover: newest() }, jobs } }, /steps\.remover is/],
    [
      { tables: { steps: { ...steps, sampler: prioritized({ alpha: 0.5 }) }, jobs } },
      /tables\.steps\.sampler is prioritized\(.*\) in the tables of .*, and prioritized\(/,
    ],
    [{ tables: { steps: { ...steps, rateLimiter: minSize(2) }, jobs } }, /steps\.rateLimiter is/],
    [{ tables: { steps: { ...steps, maxBytes: 9e9 }, jobs } }, /maxBytes is not there .* 9000000/],
    [{ seed: 4 }, /seed is 3 in the tables of .*, and 4 in the options/],
  ];
  for (const [options, words] of others) {
    const error = await assertReplayRejects(
      Tables.open(folder, options as TablesOptions),
      "log-mismatch",
    );
    assertMatch(error.message, words);
  }
  for (const same of [OPTIONS, { tables: OPTIONS.tables }, { seed: 3 }, {}]) {
    (await Tables.open(folder, same))[Symbol.dispose]();
  }
});

test("what can't be is refused", async (folder) => {
  const where = `${folder}/new`;
  await assertRejects(() => Tables.open(3 as never), TypeError, "directory must be a path");
  const misspelt = { ...OPTIONS, flushIntervalMS: 1 };
  await assertRejects(() => Tables.open(where, misspelt as never), TypeError, "flushIntervalMs");
  await assertRejects(
    () => Tables.open(where, { ...OPTIONS, segmentBytes: 1 }),
    RangeError,
    "segmentBytes",
  );
  await assertRejects(() => Deno.stat(where), Deno.errors.NotFound);
  using tables = await Tables.open(where, OPTIONS);
  const taken = await assertReplayRejects(Tables.open(where), "log-taken");
  assertMatch(taken.message, /this folder is open already/);
  using others = await Tables.create(OPTIONS);
  await fill(others, 1, 3);
  const snapshot = await others.serialize();
  await assertReplayRejects(tables.unserialize(snapshot), "busy");
  assertEquals(others.durability, undefined);
  await assertReplayRejects(others.flush(), "file");
  // The tables are as they were, and go on.
  await fill(tables, 1, 3);
  await tables.flush();
  tables[Symbol.dispose]();
  await assertReplayRejects(tables.flush(), "disposed");
});

test("what was flushed is there after a crash: items, rate limiters, and the next draws", async (folder) => {
  using tables = await Tables.open(`${folder}/live`, { ...OPTIONS, flushIntervalMs: 0 });
  await fill(tables, 1, 150);
  const steps = tables.table("steps");
  steps.setPriority((await steps.getBatch(30)).keys, new Float64Array(30).fill(9));
  steps.setRateLimiter(samplesPerInsert(4, { minSize: 3, error: 500 }));
  steps.delete(steps.items().slice(0, 5).map(({ key }) => key));
  const [jobs] = [tables.table("jobs")];
  await jobs.getBatch(7);
  await tables.flush();
  await copyFolder(`${folder}/live`, `${folder}/crashed`);
  using found = await Tables.open(`${folder}/crashed`);
  assertEquals(await found.serialize(), await tables.serialize());
  assertEquals(found.table("steps").options.rateLimiter, steps.options.rateLimiter);
  assertEquals(found.table("steps").info(), steps.info());
  for (const name of tables.names) {
    const [one, other] = [
      await tables.table(name).getBatch(20),
      await found.table(name).getBatch(20),
    ];
    assertEquals([...one.keys], [...other.keys]);
    assertEquals(one.probability, other.probability);
    assertEquals(one.columns, other.columns);
  }
});

test("without a call of flush, the log is on the disk after flushIntervalMs", async (folder) => {
  using tables = await Tables.open(`${folder}/live`, { ...OPTIONS, flushIntervalMs: 5 });
  await fill(tables, 1, 10);
  for (let copy = 0;; copy++) {
    await copyFolder(`${folder}/live`, `${folder}/${copy}`);
    using found = await Tables.open(`${folder}/${copy}`);
    const { size } = found.table("steps");
    assert(size <= 10);
    if (size < 10) continue;
    assertEquals(await found.serialize(), await tables.serialize());
    break;
  }
});

test("items of writers that share steps are there, each step once", async (folder) => {
  const options = { tables: { pairs: { maxSize: 100 } } };
  let chunks = 0;
  {
    using tables = await Tables.open(folder, options);
    {
      await using writer = tables.trajectoryWriter<{ state: Float32Array }>({
        numKeepAliveRefs: 3,
      });
      for (let k = 0; k < 30; k++) {
        writer.append({ state: Float32Array.of(k) });
        if (k > 1) await writer.createItem("pairs", 1, { states: writer.history.state.slice(-3) });
      }
      await writer.flush();
    }
    chunks = tables.info().chunks;
  }
  using tables = await Tables.open(folder);
  assertEquals([tables.table("pairs").size, tables.info().chunks], [28, chunks]);
  const { columns } = await tables.table("pairs").getBatch(10);
  const states = columns[0]?.data as Float32Array;
  for (let k = 0; k < 30; k += 3) {
    const first = states[k] ?? NaN;
    assertEquals([...states.subarray(k, k + 3)], [first, first + 1, first + 2]);
  }
});

test("who waits for a rate limiter is not in the log until he is let in", async (folder) => {
  using tables = await Tables.open(`${folder}/live`, { tables: { jobs: Table.queue(2) }, seed: 1 });
  const jobs = tables.table("jobs");
  for (const n of [1, 2]) await jobs.insert(n);
  const waiting = jobs.insert(3);
  await tables.flush();
  await copyFolder(`${folder}/live`, `${folder}/before`);
  await jobs.getBatch(1);
  await waiting;
  await tables.flush();
  await copyFolder(`${folder}/live`, `${folder}/after`);
  for (const [copy, numbers] of [["before", [1, 2]], ["after", [2, 3]]] as const) {
    using found = await Tables.open(`${folder}/${copy}`);
    const { columns } = await found.table("jobs").getBatch(2);
    assertEquals(Array.from(columns[0]?.data ?? [], Number), [...numbers]);
  }
});

test("a torn tail is cut off, and reported", async (folder) => {
  {
    using tables = await Tables.open(folder, OPTIONS);
    await fill(tables, 1, 10);
  }
  const [log = ""] = await logsOf(folder);
  await Deno.truncate(log, (await Deno.stat(log)).size - 50);
  using tables = await Tables.open(folder);
  assert((tables.durability?.recovered?.cutBytes ?? 0) > 0);
  const { size } = tables.table("jobs");
  assert(size === 9 || size === 10, `${size}`);
  await fill(tables, 11, 1);
  await tables.flush();
});

test("a flipped bit is repaired; more damage costs the items of that data, and is named", async (folder) => {
  const random = testRandom(4);
  const images = Array.from({ length: 9 }, () => bytesOf(random, 500));
  {
    const options = { tables: { steps: { maxSize: 100 }, others: { maxSize: 3 } } };
    using tables = await Tables.open(`${folder}/whole`, options);
    for (const [n, image] of images.entries()) {
      await tables.insert({ image }, n === 4 ? { steps: 1, others: 1 } : { steps: 1 });
    }
  }
  const hit = images[4]?.subarray(200, 230) ?? new Uint8Array();
  for (const [name, count] of [["bit", 1], ["bytes", 30]] as const) {
    const copy = `${folder}/${name}`;
    await copyFolder(`${folder}/whole`, copy);
    const [log = ""] = await logsOf(copy);
    const bytes = await Deno.readFile(log);
    const at = bytes.findIndex((_, k) => hit.every((byte, j) => bytes[k + j] === byte));
    for (let k = 0; k < count; k++) bytes[at + k] = (bytes[at + k] ?? 0) ^ 8;
    assertEquals((await ExperienceReplay.verify(copy)).damages, []);
    await Deno.writeFile(log, bytes);
    const { damages, isWhole } = await ExperienceReplay.verify(copy);
    assertEquals(damages.map(({ cost }) => cost), [name === "bit" ? "nothing" : "episodes"]);
    assertEquals(isWhole, name === "bit");
    for (let time = 0; time < 2; time++) {
      using tables = await Tables.open(copy);
      const { repairedCount, lostItemCount, damage } = tables.durability?.recovered ?? {};
      const [steps, others] = [tables.table("steps"), tables.table("others")];
      assertEquals([steps.size, others.size], name === "bit" ? [9, 1] : [8, 0]);
      if (name === "bit") {
        assertEquals([lostItemCount, damage], [0, undefined]);
        assert((repairedCount ?? 0) > 0);
      } else if (time === 0) {
        assertEquals(lostItemCount, 2);
        assertMatch(damage ?? "", /^log-00000001\.exrp, byte \d+$/);
      }
      const { data } = await tables.table<{ image: Uint8Array }>("steps").getBatch(50);
      const known = new Set(images.map((image) => image.join()));
      for (let k = 0; k < 50; k++) {
        assert(known.has(data.image.data.subarray(500 * k, 500 * (k + 1)).join()));
      }
    }
  }
});

test("a damaged description, one of a newer library, and a log without one are refused", async (folder) => {
  (await Tables.open(folder, OPTIONS))[Symbol.dispose]();
  const file = `${folder}/tables.json`;
  const text = await Deno.readTextFile(file);
  for (
    const [written, code] of [
      ["{", "log-mismatch"],
      [text.replace('"format":1', '"format":2'), "log-mismatch"],
      [text.replace('"maxSize":100', '"maxSize":103'), "log-damaged"],
      [text.replace('"library":"', '"library":"1'), "log-damaged"],
    ] as const
  ) {
    await Deno.writeTextFile(file, written);
    await assertReplayRejects(Tables.open(folder), code);
    const { damages: [damage] } = await ExperienceReplay.verify(folder);
    assertEquals([damage?.file, damage?.cost], ["tables.json", "all"]);
  }
  // One flipped bit is repaired.
  await Deno.writeTextFile(file, text.replace('"maxSize":100', '"maxSize":101'));
  {
    const { damages: [damage] } = await ExperienceReplay.verify(folder);
    assertEquals([damage?.file, damage?.cost], ["tables.json", "nothing"]);
    using tables = await Tables.open(folder);
    assertEquals(tables.durability?.recovered?.repairedCount, 1);
    assertEquals(await Deno.readTextFile(file), text);
    await fill(tables, 1, 1);
  }
  await Deno.remove(file);
  await assertReplayRejects(Tables.open(folder, OPTIONS), "log-mismatch");
  await Deno.writeTextFile(file, text);
  for (const log of await logsOf(folder)) await Deno.remove(log);
  await assertReplayRejects(Tables.open(folder), "log-damaged");
});

test("a crash before the description was written leaves a folder that can be opened anew", async (folder) => {
  (await Tables.open(folder, OPTIONS))[Symbol.dispose]();
  await Deno.remove(`${folder}/tables.json`);
  // The state that TypeScript writes at first is a change, too: such a log is what a crash leaves before it.
  for (const log of await logsOf(folder)) await Deno.truncate(log, 56);
  using tables = await Tables.open(folder, OPTIONS);
  await fill(tables, 1, 2);
  assertEquals(tables.table("steps").size, 2);
});

test("a log that is written for long stays small, and goes on after each end of the program", async (folder) => {
  const options = { tables: { a: { maxSize: 50 }, b: { maxSize: 5, remover: newest() } }, seed: 1 };
  const random = testRandom(5);
  let [bytes, written] = [0, 0];
  for (let round = 0; round < 4; round++) {
    using tables = await Tables.open(folder, { ...options, segmentBytes: 2 ** 20 });
    for (let n = 0; n < 200; n++) {
      const image = bytesOf(random, 20_000);
      await tables.insert({ image }, n % 40 === 0 ? { a: 1, b: 1 } : { a: 1 });
      await tables.table("a").getBatch(1);
      if (n % 20 === 19) await tables.flush();
    }
    const known = tables.durability;
    [bytes, written] = [known?.logBytes ?? 0, written + (known?.writtenBytes ?? 0)];
    assertEquals([tables.table("a").size, tables.table("b").size], [50, 5]);
  }
  assert(written > 16e6 && bytes < 8e6, `${bytes} bytes are left of ${written}`);
  using tables = await Tables.open(folder);
  assertEquals([tables.table("a").size, tables.table("b").size], [50, 5]);
});

test("after the disk has failed, an insert is refused, or the tables go on in memory", async (folder) => {
  const random = testRandom(6);
  for (const whenDiskFails of ["throw", "memory"] as const) {
    const path = `${folder}/${whenDiskFails}`;
    const options = { tables: { wide: { maxSize: 9 } }, whenDiskFails, segmentBytes: 2 ** 20 };
    using wide = await Tables.open(path, options);
    // The next segment can't be made, as something stands in its place.
    await Deno.mkdir(`${path}/log-00000002.exrp`);
    const large = { state: new Float32Array(2 ** 19).map(() => random(2 ** 24)), id: 1 };
    await wide.insert(large, { wide: 1 });
    const error = await assertReplayRejects(wide.flush(), "disk");
    assertMatch(error.message, /the system could not/);
    assertEquals(wide.durability?.hasFailed, true);
    if (whenDiskFails === "throw") {
      await assertReplayRejects(wide.insert(large, { wide: 1 }), "disk");
    } else {
      await wide.insert(large, { wide: 1 });
      assertEquals(wide.table("wide").size, 2);
    }
    assertEquals((await wide.table("wide").getBatch(1)).size, 1);
  }
});

test("a getter of disposed tables says that they are disposed", async (folder) => {
  const tables = await Tables.open(folder, OPTIONS);
  tables[Symbol.dispose]();
  assertReplayError(() => tables.durability, "disposed");
  assertThrows(() => tables.table("steps").size);
});

Deno.test({
  name: "a folder that is removed meanwhile: flush() says so, and the tables go on in memory",
  // Windows removes no folder whose files are open.
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const parent = await Deno.makeTempDir();
    // Nothing is written between the two calls of flush().
    using tables = await Tables.open(`${parent}/tables`, { ...OPTIONS, flushIntervalMs: 0 });
    await fill(tables, 1, 20);
    await tables.flush();
    await Deno.remove(parent, { recursive: true });
    const error = await assertReplayRejects(tables.flush(), "disk");
    assertMatch(error.message, /was removed/);
    assertEquals(tables.table("steps").size, 20);
    assert((await tables.serialize()).length > 0);
  },
});
