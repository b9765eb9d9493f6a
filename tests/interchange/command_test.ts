/** The command: what it imports, shows, checks and exports, what it says, and its exit status. */
import { assert, assertEquals, assertMatch } from "../_assert.ts";
import { ExperienceReplay, float32, lru, mixture, prioritized, uniform } from "@exrp/replay";
import { exrp } from "@exrp/replay/exrp";
import { exportEpisodes, importEpisodes } from "@exrp/replay/interchange";
import { Tables } from "@exrp/replay/tables";
import { namesIn } from "../../interchange/_files.ts";
import { createH5 } from "../../interchange/_hdf5.ts";
import { native } from "../_native.ts";
import { testRandom } from "../replay/_helpers.ts";
import { contentsOf, nestedReplay, plainReplay, withFolder } from "./_episodes.ts";

/** Runs the command; gives its status and what it printed. */
async function run(...args: string[]): Promise<{ status: number; out: string; wrong: string }> {
  const [out, wrong]: [string[], string[]] = [[], []];
  const status = await exrp(args, {
    print: (line) => out.push(line),
    complain: (line) => wrong.push(line),
  });
  return { status, out: out.join("\n"), wrong: wrong.join("\n") };
}

/** The files of a folder. */
async function bytesOf(folder: string): Promise<[string, Uint8Array<ArrayBuffer>][]> {
  const names = await namesIn(folder);
  return await Promise.all(
    names.map(async (name) => [name, await Deno.readFile(`${folder}/${name}`)]),
  );
}

function test(name: string, fn: (folder: string) => Promise<void>): void {
  native.test(name, () => withFolder(fn));
}

test("import makes a durable replay, adds to it, and export is the way back", async (folder) => {
  using replay = await plainReplay(1);
  const [file, pool] = [`${folder}/a/main_data.hdf5`, `${folder}/pool`];
  await Deno.mkdir(`${folder}/a`);
  await exportEpisodes(replay, "minari", file);
  const first = await run("import", "minari", file, pool, "--capacity", "100000");
  assertEquals(first.wrong, "");
  assertEquals(first.status, 0);
  assertEquals(
    first.out,
    `imported ${replay.recordCount} steps in ${replay.episodeCount} episodes into ${pool}`,
  );
  const second = await run("import", "minari", `${folder}/a`, pool, "--tag", "5");
  assertEquals([second.status, second.wrong], [0, ""]);
  assertMatch(second.out, /^added \d+ steps in 12 episodes to /);
  const back = `${folder}/back.parquet`;
  const third = await run("export", "parquet", pool, back, "--tag", "5");
  assertEquals([third.status, third.wrong], [0, ""]);
  const fourth = await run("import", "parquet", back, `${folder}/other`);
  assertEquals([fourth.status, fourth.wrong], [0, ""]);
  using other = await ExperienceReplay.open(`${folder}/other`);
  assertEquals([...new Set(other.episodes().tag)], [5]);
  const untagged = (of: ExperienceReplay): unknown[] =>
    contentsOf(of).map((each) => ({ ...each as object, tag: 0 }));
  assertEquals(untagged(other), untagged(replay));
  assertEquals(await namesIn(folder), [
    ...["a", "back.parquet", "other", "pool"],
  ]);
});

test("an import that fails leaves no folder, and one that was there as it was", async (folder) => {
  using replay = await plainReplay(1);
  const file = `${folder}/a.npz`;
  await exportEpisodes(replay, "npz", file);
  const bytes = await Deno.readFile(file);
  bytes[3000] = (bytes[3000] ?? 0) ^ 1;
  await Deno.writeFile(`${folder}/bad.npz`, bytes);
  const bad = await run("import", "npz", `${folder}/bad.npz`, `${folder}/pool`);
  assertEquals([bad.status, bad.out], [1, ""]);
  assertMatch(bad.wrong, /^exrp: import: ".*bad\.npz" as npz: .* is damaged/);
  assertEquals(await namesIn(folder), ["a.npz", "bad.npz"]);
  // An empty folder is as good as none.
  await Deno.mkdir(`${folder}/pool`);
  assertEquals((await run("import", "npz", file, `${folder}/pool`)).status, 0);
  const again = await run("import", "npz", `${folder}/bad.npz`, `${folder}/pool`);
  assertEquals(again.status, 1);
  using other = await ExperienceReplay.open(`${folder}/pool`);
  assertEquals(contentsOf(other), contentsOf(replay));
});

test("an import that fails says what is left: nothing in a new folder, whole episodes in another", async (folder) => {
  const [bad, pool] = [`${folder}/bad`, `${folder}/pool`];
  // The second of its episodes has no end.
  await createH5(bad, (to) => {
    for (const name of ["observations", "actions", "rewards", "terminals"]) {
      to.create_dataset({ name, data: Uint8Array.of(0, 1, 0, 0), shape: [4], dtype: "<B" });
    }
  });
  // A slash behind the name changes nothing.
  const fresh = await run("import", "d4rl", bad, `${pool}/`);
  assertEquals(fresh.status, 1);
  assertMatch(fresh.wrong, /; nothing was recorded$/);
  assertEquals(await namesIn(folder), ["bad"]);
  const taken = await run("import", "d4rl", bad, `${pool}/`, "--unfinished", "truncate");
  assertEquals([taken.status, taken.wrong], [0, ""]);
  assertEquals(await namesIn(folder), ["bad", "pool"]);
  const { wrong } = await run("import", "d4rl", bad, pool);
  assertMatch(wrong, /; 1 whole episode before it is recorded$/);
  using other = await ExperienceReplay.open(pool, { capacity: 100 });
  assertEquals([...other.episodes().length], [1, 2]);
});

test("an episode that is too long is refused, what gives way is told, and a capacity may change", async (folder) => {
  using replay = await ExperienceReplay.create({ capacity: 30, state: float32() });
  for (let k = 0; k < 3; k++) {
    const values = new Float32Array(10);
    const steps = { state: values, action: values, reward: values, finalState: 0 };
    replay.recordMany(replay.newEpisode(), steps);
  }
  const [file, pool] = [`${folder}/a.npz`, `${folder}/pool`];
  await exportEpisodes(replay as unknown as ExperienceReplay, "npz", file);
  const short = await run("import", "npz", file, pool, "--capacity", "9");
  assertEquals([short.status, short.out], [1, ""]);
  assertMatch(
    short.wrong,
    /an episode has (at least )?10 steps, and this replay holds 9; give it a larger capacity; nothing was recorded$/,
  );
  assertEquals(await namesIn(folder), ["a.npz"]);
  assertEquals(
    (await run("import", "npz", file, pool, "--capacity", "15")).out,
    `imported 30 steps in 3 episodes into ${pool}\n- 2 episodes gave way: the replay holds 15 records.`,
  );
  assertEquals(
    (await run("import", "npz", file, pool, "--capacity", "50")).out,
    `added 30 steps in 3 episodes to ${pool}`,
  );
  assertEquals(
    (await run("import", "npz", file, pool, "--capacity", "30")).out,
    `10 records gave way to the smaller capacity\nadded 30 steps in 3 episodes to ${pool}\n- 3 episodes gave way: the replay holds 30 records.`,
  );
  using other = await ExperienceReplay.open(pool);
  assertEquals([other.capacity, other.recordCount], [30, 30]);
});

test("an export replaces what an export made, and nothing else; a filter that leaves out all is told", async (folder) => {
  using replay = await plainReplay(1);
  const [file, pool, out] = [`${folder}/a.arrow`, `${folder}/pool`, `${folder}/out`];
  await exportEpisodes(replay, "arrow", file);
  assertEquals((await run("import", "arrow", file, pool)).status, 0);
  const none = await run("export", "minari", pool, out, "--tag", "99");
  assertEquals(none.status, 1);
  assertMatch(none.wrong, /the filter leaves out all 12 episodes that have ended/);
  await Deno.mkdir(out);
  for (let turn = 0; turn < 2; turn++) {
    assertEquals((await run("export", "minari", pool, out)).wrong, "");
    assertEquals((await run("export", "npz", pool, `${folder}/out.npz`)).wrong, "");
    assertEquals(await namesIn(out), ["main_data.hdf5", "metadata.json"]);
    assertEquals(await namesIn(folder), ["a.arrow", "out", "out.npz", "pool"]);
  }
  await Deno.writeTextFile(`${out}/notes.txt`, "mine");
  const refused = await run("export", "minari", pool, out);
  assertMatch(refused.wrong, /can't write ".*out": the folder has "notes\.txt" in it/);
  assertEquals(await namesIn(out), ["main_data.hdf5", "metadata.json", "notes.txt"]);
  assertEquals(await namesIn(folder), ["a.arrow", "out", "out.npz", "pool"]);
  // The file beside a new one belongs to another data set, or to nobody that is known here.
  await Deno.writeTextFile(`${folder}/metadata.json`, "mine");
  const beside = await run("export", "minari", pool, `${folder}/new.hdf5`);
  assertMatch(beside.wrong, /metadata\.json beside it belongs to something else/);
  assertEquals(await Deno.readTextFile(`${folder}/metadata.json`), "mine");
  assertEquals((await run("export", "minari", pool, `${out}/main_data.hdf5`)).wrong, "");
});

test("--resident bounds the memory of records, and says what is too little", async (folder) => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(200) });
  for (let k = 0; k < 4; k++) {
    replay.recordMany(replay.newEpisode(), {
      state: new Float32Array(200 * 250).fill(k),
      action: new Int32Array(250),
      reward: new Float32Array(250),
      finalState: new Float32Array(200),
    });
  }
  const [file, pool] = [`${folder}/a.npz`, `${folder}/pool`];
  await exportEpisodes(replay as unknown as ExperienceReplay, "npz", file);
  for (
    const args of [
      ["import", "npz", file, pool],
      ["import", "npz", file, pool],
      ["inspect", pool],
      ["export", "npz", pool, `${folder}/b.npz`],
    ]
  ) {
    const { status, wrong } = await run(...args, "--resident", "1");
    assertEquals([status, wrong], [0, ""], args.join(" "));
  }
  using other = await ExperienceReplay.create({ capacity: 1000, state: float32(200) });
  const into = other as unknown as ExperienceReplay;
  await importEpisodes(into, "npz", `${folder}/b.npz`);
  assertEquals(contentsOf(into), contentsOf(replay as unknown as ExperienceReplay));
  const { status, wrong } = await run("inspect", pool, "--resident", "0");
  assertEquals([status, wrong], [
    1,
    "exrp: ExperienceReplay.open(): resident must be an integer of at least 1, got 0",
  ]);
});

test("a signal ends an import, and nothing is left", async (folder) => {
  using replay = await plainReplay(1, 40);
  const file = `${folder}/a.tfrecord`;
  await exportEpisodes(replay, "tfrecord", file);
  const ending = new AbortController();
  const status = await exrp(["import", "tfrecord", file, `${folder}/pool`], {
    progress: () => ending.abort(new Error("interrupted")),
    complain: () => {},
    print: () => {},
    signal: ending.signal,
  });
  assertEquals(status, 1);
  assertEquals(await namesIn(folder), ["a.tfrecord"]);
});

test("inspect shows columns, episodes, tags, selectors and pictures, of folders and snapshots", async (folder) => {
  const pool = `${folder}/pool`;
  const snapshot = `${folder}/replay.exrp`;
  {
    using replay = await ExperienceReplay.open(pool, {
      capacity: 1000,
      state: { place: float32(2), "left eye": [float32(), float32(3)] },
      eviction: lru(),
      seed: 1,
    });
    const selector = replay.newPickSelector(prioritized());
    for (let k = 0; k < 30; k++) {
      const state = { place: [k, 0], "left eye": [1, [1, 2, 3]] } as const;
      let episode = replay.newEpisode({ tag: k % 2 });
      for (let t = 0; t < 10; t++) {
        const rest = t === 9 ? { finalState: state, truncated: k % 3 === 0 } : {};
        episode = replay.record(episode, state, 0, k, rest);
      }
    }
    for (let turn = 0; turn < 20; turn++) {
      const batch = replay.getBatch(32, selector);
      replay.setPriority(selector, batch, batch.reward);
    }
    await replay.flush();
    await replay.serialize(snapshot);
    const busy = await run("inspect", pool);
    assertEquals(busy.status, 1);
    assertMatch(busy.wrong, /is open already/);
    assertEquals((await run("verify", pool)).status, 0);
  }
  // What a crash leaves is told, and left there.
  const logs = (await namesIn(pool)).filter((name) => name.startsWith("log-"));
  await Deno.writeFile(`${pool}/${logs.at(-1)}`, new Uint8Array(20).fill(7), { append: true });
  const before = await bytesOf(pool);
  const torn = await run("inspect", pool);
  assertMatch(torn.out, /checksums {2}20 bytes of the end cut off/);
  assertEquals(await bytesOf(pool), before);
  await ExperienceReplay.open(pool).then((replay) => replay[Symbol.dispose]());
  const [one, other] = [await run("inspect", pool), await run("inspect", snapshot)];
  assertEquals([one.status, one.wrong, other.status, other.wrong], [0, "", 0, ""]);
  for (const { out } of [one, other]) {
    for (
      const part of [
        ...["state.place", 'state["left eye"][1]', "float32(3)", "lru", "prioritized"],
        ...["lengths  least 10, median 10, most 10", "returns  least 0, median 140, most 290"],
        ...["0 open, 20 terminated, 10 truncated", "tags     0 (15 episodes), 1 (15 episodes)"],
        ...["ages of records", "priorities", "█", "checksums  all are right"],
      ]
    ) {
      assert(out.includes(part), `${part} is missing in\n${out}`);
    }
  }
});

test("inspect shows the schema of a snapshot whose rules it can't have", async (folder) => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
  const one = replay.newPickSelector(uniform());
  replay.newPickSelector(mixture([{ selector: one, share: 1 }]));
  await replay.serialize(`${folder}/a.exrp`);
  const { status, out } = await run("inspect", `${folder}/a.exrp`);
  assertEquals(status, 0);
  assertMatch(out, /only the schema is shown.*\n.*capacity {2}100\n.*state {2}float32\(2\)/);
});

test("inspect says of a damaged snapshot which file it is, with status 1", async (folder) => {
  using replay = await plainReplay(1);
  const file = `${folder}/saved.exrp`;
  await replay.serialize(file);
  const bytes = await Deno.readFile(file);
  // In the text of the schema, and in the last section but one.
  for (const at of [60, bytes.length - 200]) {
    await Deno.writeFile(file, bytes.map((byte, k) => k === at ? byte ^ 0x60 : byte));
    const { status, out, wrong } = await run("inspect", file);
    assertEquals([status, out], [1, ""]);
    assertMatch(wrong, /^exrp: ".*saved\.exrp": .*; exrp verify says where$/);
  }
});

test("verify finds each flipped bit of a folder and of a snapshot, and changes nothing", async (folder) => {
  const random = testRandom(3);
  const [pool, file] = [`${folder}/pool`, `${folder}/replay.exrp`];
  {
    using replay = await nestedReplay(1);
    await exportEpisodes(replay, "arrow", `${folder}/a.arrow`);
    await replay.serialize(file);
  }
  assertEquals((await run("import", "arrow", `${folder}/a.arrow`, pool)).status, 0);
  const whole = await run("verify", pool, file);
  assertEquals([whole.status, whole.wrong], [0, ""]);
  assertEquals(whole.out.match(/nothing is damaged/g)?.length, 2);
  const paths = [file, ...(await namesIn(pool)).map((name) => `${pool}/${name}`)];
  for (const path of paths) {
    const bytes = await Deno.readFile(path);
    // The bit of a description is looked for, which takes longer.
    const flips = path.endsWith(".json") ? 6 : Math.min(60, bytes.length);
    for (let k = 0; k < flips; k++) {
      const at = random(bytes.length);
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8));
      await Deno.writeFile(path, flipped);
      const found = await run("verify", path === file ? file : pool);
      // What nothing proves to have been on the disk is the last mark only.
      const isTail = found.out.includes("were never flushed as a whole");
      assert(found.status === 1 || isTail, `${path}, byte ${at}: ${found.out}`);
      assertEquals(await Deno.readFile(path), flipped);
    }
    await Deno.writeFile(path, bytes);
  }
  assertEquals((await run("verify", pool, file)).status, 0);
});

test("verify tells a torn tail from damage, and files that are missing", async (folder) => {
  const pool = `${folder}/pool`;
  {
    using replay = await ExperienceReplay.open(pool, {
      capacity: 100_000,
      state: float32(64),
      segmentBytes: 2 ** 20,
    });
    const step = { state: new Float32Array(64 * 500), action: new Int32Array(500) };
    for (let k = 0; k < 30; k++) {
      replay.recordMany(replay.newEpisode(), {
        ...step,
        reward: new Float32Array(500),
        finalState: new Float32Array(64),
      });
    }
    await replay.flush();
  }
  const logs = (await namesIn(pool)).filter((name) => name.startsWith("log-"));
  assert(logs.length > 2, `${logs}`);
  assertEquals((await run("verify", pool)).status, 0);
  const last = `${pool}/${logs.at(-1)}`;
  const bytes = await Deno.readFile(last);
  await Deno.writeFile(last, bytes.slice(0, bytes.length - 12));
  const torn = await run("verify", pool);
  assertEquals(torn.status, 0);
  assertMatch(torn.out, /were never flushed as a whole; open cuts them off/);
  await Deno.writeFile(last, bytes);
  const middle = `${pool}/${logs[1]}`;
  const kept = await Deno.readFile(middle);
  await Deno.writeFile(middle, kept.slice(0, kept.length - 8));
  assertMatch((await run("verify", pool)).out, /what was there is missing/);
  await Deno.remove(middle);
  const missing = await run("verify", pool);
  assertEquals(missing.status, 1);
  assertMatch(missing.out, /log-00000002\.exrp, byte 0: what was there is missing/);
});

Deno.test("arguments that it does not understand have status 2, and help has 0", async () => {
  const unknown = await run("inspekt", "a");
  assertEquals(unknown.status, 2);
  assertMatch(unknown.wrong, /unknown command 'inspekt'[\s\S]*Did you mean inspect/);
  assertEquals((await run("import", "npz")).status, 2);
  assertEquals((await run("verify", "a", "--hurry")).status, 2);
  const help = await run("--help");
  assertEquals(help.status, 0);
  for (const name of ["inspect", "verify", "import", "export"]) {
    assert(help.out.includes(name), help.out);
  }
});

Deno.test("verify checks snapshots of tables, too", () =>
  withFolder(async (folder) => {
    const file = `${folder}/tables.exrp`;
    using tables = await Tables.create({ tables: { replay: { maxSize: 10 } } });
    await tables.table("replay").insert({ x: Float32Array.of(1, 2, 3) });
    await tables.serialize(file);
    assertEquals((await run("verify", file)).status, 0);
    const bytes = await Deno.readFile(file);
    const at = bytes.length - 60;
    await Deno.writeFile(file, bytes.map((byte, k) => k === at ? byte ^ 1 : byte));
    const { status, out } = await run("verify", file);
    assertEquals(status, 1);
    assertMatch(out, /the checksum of section TABL 0 .* is wrong/);
  }));

Deno.test("what is not there is said", () =>
  withFolder(async (folder) => {
    for (const name of ["inspect", "verify"]) {
      const { status, wrong } = await run(name, `${folder}/nothing`);
      assertEquals(status, 1);
      assertMatch(wrong, /there is nothing at/);
    }
    await Deno.writeTextFile(`${folder}/text`, "some text that is no snapshot");
    for (const name of ["inspect", "verify"]) {
      const { status, out, wrong } = await run(name, `${folder}/text`);
      assertEquals(status, 1);
      assertMatch(out + wrong, /is no snapshot/);
    }
    assertEquals((await run("verify", folder)).status, 1);
    using replay = await ExperienceReplay.create({ capacity: 1, state: float32() });
    await replay.serialize(`${folder}/good.exrp`);
    const several = await run("verify", `${folder}/nothing`, `${folder}/good.exrp`);
    assertEquals(several.status, 1);
    assertMatch(several.wrong, /there is nothing at/);
    assertMatch(several.out, /good\.exrp: .* nothing is damaged/);
    const { status, wrong } = await run("export", "csv", folder, "a");
    assertEquals(status, 1);
    assertMatch(wrong, /format must be one of/);
  }));
