/**
 * Snapshots of a durable replay: each is of one moment, can be opened, shares what it can, and neither it nor the replay ever changes the other.
 *
 * @module
 */

import { assert, assertEquals, assertMatch, assertRejects } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
import { assertReplayRejects, testRandom } from "../_helpers.ts";
import type { AnyReplay } from "../../whole/model/library_subject.ts";
import { inTime } from "../../_wait.ts";
import { native } from "../../_native.ts";
import { open, segmentsOf, stateOf, withCopy, withFolder } from "./_folders.ts";

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 2612);
const TURNS = Number(Deno.env.get("EXRP_SNAPSHOTS") ?? amount(4, 12));
const WIDE = 3000;

function test(name: string, fn: (folder: string) => Promise<void>): void {
  Deno.test(name, () => withFolder(fn));
}

/** One that needs several threads. */
function nativeTest(name: string, fn: (folder: string) => Promise<void>): void {
  native.test(name, () => withFolder(fn));
}

/** Episodes of random lengths, whose rewards count. */
function work(replay: AnyReplay, random: (bound: number) => number): void {
  const width = replay.columns.state.elementCount;
  for (let k = 1 + random(4); k > 0; k--) {
    const count = 1 + random(40);
    const from = replay.describe().recordedCount;
    const reward = Float32Array.from({ length: count }, (_, k) => from + k);
    const state = new Float32Array(count * width).fill(from);
    const last = random(3) > 0 ? { finalState: state.slice(0, width) } : {};
    replay.recordMany(
      replay.newEpisode(),
      { state, action: new Int32Array(count), reward, ...last } as never,
    );
  }
  for (const selector of replay.selectors) {
    const batch = replay.getBatch(4, selector);
    replay.setPriority(selector, batch, batch.reward);
  }
}

/** The bytes of all files of a folder that no other name stands for. */
async function ownBytes(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name } of Deno.readDir(folder)) {
    const { size, nlink } = await Deno.stat(`${folder}/${name}`);
    if (nlink === 1) bytes += size;
  }
  return bytes;
}

async function sumsOf(folder: string): Promise<Map<string, string>> {
  const sums = new Map<string, string>();
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (!isFile) continue;
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(`${folder}/${name}`));
    sums.set(name, new Uint8Array(digest).join());
  }
  return sums;
}

test(`snapshots of many moments are those moments (seed ${SEED})`, async (folder) => {
  const random = testRandom(SEED);
  let replay = await open(folder, { capacity: 300, state: float32(WIDE), seed: 5 });
  replay.newPickSelector(prioritized());
  replay.newPickSelector(uniform());
  const states = new Map<string, string>();
  const check = async (name: string, path: string): Promise<void> => {
    const before = await sumsOf(path);
    await withCopy(path, async (copy) => {
      using again = await open(copy);
      assertEquals(await stateOf(again), states.get(name), `${name}, seed ${SEED}`);
    });
    assertEquals(await sumsOf(path), before);
  };
  for (let turn = 0; turn < TURNS; turn++) {
    work(replay, random);
    if (random(2) === 0) await replay.flush();
    if (random(5) === 0) {
      replay[Symbol.dispose]();
      replay = await open(folder, random(2) === 0 ? {} : { capacity: 250 + random(100) });
    }
    if (random(2) === 0) continue;
    states.set(`at-${turn}`, await stateOf(replay));
    const making = replay.snapshot(`at-${turn}`);
    // It is of the moment of the call.
    work(replay, random);
    const { path, name } = await making;
    await check(name, path);
  }
  const list = ExperienceReplay.snapshots(folder);
  assertEquals(new Set(list.map(({ name }) => name)), new Set(states.keys()));
  for (const { name, path } of list) await check(name, path);
  // A snapshot that is opened goes on by itself.
  const [{ name = "", path = "" } = {}, second] = list;
  assert(second !== undefined);
  const mine = await stateOf(replay);
  {
    using other = await open(path);
    assertEquals(await stateOf(other), states.get(name));
    for (let k = 0; k < 5; k++) work(other, random);
    await other.flush();
  }
  await check(second.name, second.path);
  assertEquals(await stateOf(replay), mine);
  await replay.flush();
  replay[Symbol.dispose]();
  using again = await open(folder);
  assertEquals(await stateOf(again), mine);
});

test("a second snapshot writes only what is new", async (folder) => {
  using replay = await open(folder, { capacity: 2000, state: float32(WIDE) });
  const random = testRandom(1);
  while (replay.recordCount < 1500) work(replay, random);
  const first = await replay.snapshot("first");
  const count = Math.ceil(replay.recordCount / 100);
  const state = new Float32Array(count * WIDE);
  const steps = { state, action: new Int32Array(count), reward: new Float32Array(count) };
  const { writtenBytes = 0 } = replay.durability ?? {};
  replay.recordMany(replay.newEpisode(), steps as never);
  const second = await replay.snapshot("second");
  const written = second.writtenBytes + (replay.durability?.writtenBytes ?? 0) - writtenBytes;
  assert(written < 0.03 * first.bytes, `${written} of ${first.bytes} bytes`);
  assert(await ownBytes(second.path) < 0.01 * first.bytes);
  // The parent's log lost its first files, and the snapshot keeps them.
  while ((await segmentsOf(folder)).includes("log-00000001.exrp")) {
    work(replay, random);
    await replay.flush();
  }
  assert((await segmentsOf(first.path)).includes("log-00000001.exrp"));
  const { isWhole } = await ExperienceReplay.verify(first.path);
  assertEquals(isWhole, true);
});

nativeTest("Workers record while snapshots are made, and each is of one moment", async (folder) => {
  using replay = await open(folder, {
    capacity: 10_000_000,
    state: float32(2),
    flushIntervalMs: 10,
  });
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const workers = [1, 2].map((worker) => {
    const made = new Worker(import.meta.resolve("./_recorder.ts"), { type: "module" });
    made.postMessage({ ticket: replay.share(), worker, stop });
    return made;
  });
  const told = (worker: Worker, what?: string): Promise<void> =>
    new Promise((resolve) => {
      worker.onmessage = ({ data }) => what === undefined || data === what ? resolve() : undefined;
    });
  try {
    let before = 0;
    for (let k = 0; k < 4; k++) {
      await inTime("both Workers record", Promise.all(workers.map((worker) => told(worker))));
      const { path } = await replay.snapshot(`at-${k}`);
      using again = await open(path);
      const { recordedCount } = again.describe();
      assert(recordedCount > before, `${recordedCount} records, and ${before} before`);
      before = recordedCount;
      const counts = [0, 0];
      for (const handle of again.episodes().handle) {
        const { tag } = again.episode(handle);
        const { reward, state } = again.episodeRecords(handle);
        for (const [t, n] of reward.entries()) {
          assertEquals([n, (state as Float32Array)[2 * t + 1]], [counts[tag - 1], tag]);
          counts[tag - 1] = Number(n) + 1;
        }
      }
      assertEquals(counts.reduce((sum, count) => sum + count), recordedCount);
    }
  } finally {
    const ended = Promise.all(workers.map((worker) => told(worker, "done")));
    Atomics.store(stop, 0, 1);
    await inTime("both Workers end", ended);
    for (const worker of workers) worker.terminate();
  }
});

test("a replay that is disposed while a snapshot is made, and one that moves", async (folder) => {
  const replay = await open(folder, { capacity: 50, state: float32(1) });
  const making = replay.snapshot("a");
  replay[Symbol.dispose]();
  await assertReplayRejects(making, "disposed");
  assertEquals(ExperienceReplay.snapshots(folder), []);
  const here = Deno.cwd();
  try {
    Deno.chdir(folder);
    using again = await open(".");
    await Deno.mkdir("elsewhere");
    Deno.chdir("elsewhere");
    await again.snapshot("b");
    assertEquals(ExperienceReplay.snapshots(folder).map(({ name }) => name), ["b"]);
  } finally {
    Deno.chdir(here);
  }
});

nativeTest("names are checked, and one that is taken stays", async (folder) => {
  using replay = await open(folder, { capacity: 50, state: float32(1) });
  for (const name of ["", ".", "..", "a/b", "a b", "-a", ".a", "a.", "a..b", "x".repeat(101), 5]) {
    await assertRejects(() => replay.snapshot(name as never), TypeError, "name of a snapshot");
  }
  assertEquals(ExperienceReplay.snapshots(folder), []);
  const { path } = await replay.snapshot("v1.2_b-3");
  const sums = await sumsOf(path);
  await assertReplayRejects(replay.snapshot("v1.2_b-3"), "file");
  assertEquals(await sumsOf(path), sums);
  const both = await Promise.allSettled([replay.snapshot("a"), replay.snapshot("b")]);
  assertEquals(both.map(({ status }) => status), ["fulfilled", "rejected"]);
  await replay.snapshot("c");
  using memory = await ExperienceReplay.create({ capacity: 50, state: float32(1) });
  await assertReplayRejects(memory.snapshot("d"), "file");
  const other = await ExperienceReplay.attach(replay.share());
  await assertReplayRejects(other.snapshot("e"), "file");
  other[Symbol.dispose]();
});

test("snapshots are removed by name, and what others wrote is not touched", async (folder) => {
  using replay = await open(folder, { capacity: 50, state: float32(1) });
  const [a, b] = [await replay.snapshot("a"), await replay.snapshot("b")];
  assertEquals(await ExperienceReplay.removeSnapshot(folder, "c"), false);
  await Deno.writeTextFile(`${a.path}/notes.txt`, "mine");
  const sums = await sumsOf(a.path);
  await assertReplayRejects(ExperienceReplay.removeSnapshot(folder, "a"), "file");
  assertEquals(await sumsOf(a.path), sums);
  {
    using _open = await open(b.path);
    await assertReplayRejects(ExperienceReplay.removeSnapshot(folder, "b"), "log-taken");
  }
  assertEquals(await ExperienceReplay.removeSnapshot(folder, "b"), true);
  await Deno.remove(`${a.path}/notes.txt`);
  assertEquals(await ExperienceReplay.removeSnapshot(folder, "a"), true);
  assertEquals(ExperienceReplay.snapshots(folder), []);
  assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/snapshots`)), []);
});

test("what a killed program left of a snapshot is no snapshot, and goes with the next", async (folder) => {
  using replay = await open(folder, { capacity: 50, state: float32(1) });
  const { path } = await replay.snapshot("a");
  await Deno.rename(path, `${folder}/snapshots/.making-b`);
  assertEquals(ExperienceReplay.snapshots(folder), []);
  await replay.snapshot("c");
  const names = await Array.fromAsync(Deno.readDir(`${folder}/snapshots`), ({ name }) => name);
  assertEquals(names, ["c"]);
});

test("a snapshot that lacks a file of the log is refused", async (folder) => {
  using replay = await open(folder, { capacity: 300, state: float32(WIDE) });
  const random = testRandom(5);
  while ((await segmentsOf(folder)).length < 3) {
    work(replay, random);
    await replay.flush();
  }
  await Deno.remove(`${folder}/${(await segmentsOf(folder))[1]}`);
  const error = await assertReplayRejects(replay.snapshot("a"), "disk");
  assert(/^snapshot\(\): the system could not open a file/.test(error.message), error.message);
  assertEquals(ExperienceReplay.snapshots(folder), []);
});

test("a snapshot that had snapshots of its own can be removed, and calls at once are no fault", async (folder) => {
  using replay = await open(folder, { capacity: 50, state: float32(1) });
  const { path } = await replay.snapshot("a");
  {
    using inner = await open(path);
    await inner.snapshot("b");
  }
  await assertReplayRejects(ExperienceReplay.removeSnapshot(folder, "a"), "file");
  assertEquals(await ExperienceReplay.removeSnapshot(path, "b"), true);
  assertEquals(await ExperienceReplay.removeSnapshot(folder, "a"), true);
  for (let k = 0; k < 5; k++) {
    await replay.snapshot(`c${k}`);
    await Promise.all([
      ExperienceReplay.removeSnapshot(folder, `c${k}`),
      replay.snapshot(`d${k}`),
    ]);
  }
  assertEquals(ExperienceReplay.snapshots(folder).length, 5);
});

test("a replay that was killed after a snapshot changes none of its files", async (folder) => {
  const replay = await open(folder, { capacity: 100, state: float32(WIDE) });
  work(replay, testRandom(2));
  const { path } = await replay.snapshot("a");
  const sums = await sumsOf(path);
  // A crash at this moment: the files are linked, not copied.
  await withFolder(async (crashed) => {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile && name !== "lock.exrp") {
        await Deno.link(`${folder}/${name}`, `${crashed}/${name}`);
      }
    }
    replay[Symbol.dispose]();
    using again = await open(crashed);
    work(again, testRandom(3));
    await again.flush();
    assertEquals(await sumsOf(path), sums);
  });
});

test("where files can't be linked they are copied, and only if there is room", async (folder) => {
  // A folder of another file system, in place of the snapshots.
  const replay = await open(folder, { capacity: 400, state: float32(WIDE) });
  const random = testRandom(4);
  while (replay.recordCount < 300) work(replay, random);
  const program = `
    import { ExperienceReplay } from ${JSON.stringify(new URL("../../../mod.ts", import.meta.url))};
    const [folder] = Deno.args;
    using replay = await ExperienceReplay.open(folder, { segmentBytes: 2 ** 20 });
    const made = await replay.snapshot("copied").catch((error) => error);
    console.log(made instanceof Error ? made.code + " " + made.message : "copied " + (made.writtenBytes > 3e6));
    if (made instanceof Error) Deno.exit();
    console.log(JSON.stringify(ExperienceReplay.snapshots(folder).map(({ name }) => name)));
    using again = await ExperienceReplay.open(made.path);
    console.log(again.recordCount === replay.recordCount);`;
  replay[Symbol.dispose]();
  await Deno.mkdir(`${folder}/snapshots`);
  const shell = `mount -t tmpfs -o size="$3" none "$1/snapshots" || exit 77
"$2" eval --no-check "$4" "$1"`;
  for (const [size, expected] of [["64m", "copied true"], ["3m", "disk "]] as const) {
    const args = ["-Urm", "sh", "-c", shell, "sh", folder, Deno.execPath(), size, program];
    const { code, stdout } = await new Deno.Command("unshare", { args, stderr: "inherit" }).output()
      .catch(() => ({ code: 77, stdout: new Uint8Array() }));
    if (code === 77) return; // this machine mounts nothing for a program
    const [first = "", ...lines] = new TextDecoder().decode(stdout).trim().split("\n");
    assert(first.startsWith(expected), first);
    if (size === "64m") assertEquals(lines, ['["copied"]', "true"]);
    else assert(first.includes("free space"), first);
  }
});

nativeTest(
  "a folder that was renamed goes on, and a snapshot says where it is not any more",
  async (folder) => {
    if (Deno.build.os === "windows") return;
    const options = { capacity: 100, state: float32(1) };
    using replay = await ExperienceReplay.open(`${folder}/one`, options);
    replay.record(replay.newEpisode(), [1], 0, 1);
    await Deno.rename(`${folder}/one`, `${folder}/two`);
    const error = await assertReplayRejects(replay.snapshot("a"), "file");
    assertMatch(error.message, /is not at .*one.* any more/);
    assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), ["two"]);
    replay.record(replay.newEpisode(), [2], 0, 1);
    await replay.flush();
    replay[Symbol.dispose]();
    using again = await ExperienceReplay.open(`${folder}/two`);
    assertEquals(again.recordCount, 2);
    assertEquals((await again.snapshot("a")).name, "a");
  },
);
