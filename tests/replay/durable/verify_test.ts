/**
 * verify(): whatever is damaged is named, and what it costs is what opening or loading makes of it.
 *
 * @module
 */

import { assert, assertEquals } from "../../_assert.ts";
import { every, ExperienceReplay, float32, prioritized, ReplayError } from "@exrp/replay";
import { assertReplayRejects, testRandom } from "../_helpers.ts";
import type { AnyReplay } from "../../whole/model/library_subject.ts";
import { open, segmentsOf, withCopy, withFolder } from "./_folders.ts";

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 2613);
const DAMAGES = Number(Deno.env.get("EXRP_DAMAGES") ?? 60);
const WIDE = 1000;

function test(name: string, fn: (folder: string) => Promise<void>): void {
  Deno.test(name, () => withFolder(fn));
}

function fill(replay: AnyReplay, from: number, count: number): void {
  for (let n = from; n < from + count; n += 10) {
    const reward = Float32Array.from({ length: 10 }, (_, k) => n + k);
    const state = new Float32Array(10 * WIDE).fill(n);
    replay.recordMany(
      replay.newEpisode(),
      { state, action: new Int32Array(10), reward, finalState: state.slice(0, WIDE) } as never,
    );
  }
}

/** A folder whose log begins at a checkpoint. */
async function make(folder: string): Promise<void> {
  const replay = await open(folder, { capacity: 300, state: float32(WIDE) });
  replay.newPickSelector(prioritized());
  for (let k = 0; (await segmentsOf(folder)).includes("log-00000001.exrp"); k++) {
    fill(replay, 100 * k, 100);
    await replay.flush();
  }
  fill(replay, 0, 50);
  await replay.flush();
  replay[Symbol.dispose]();
}

test("a whole folder is whole, also while a replay has it open", async (folder) => {
  await make(folder);
  const names = new Set(await Array.fromAsync(Deno.readDir(folder), ({ name }) => name));
  const whole = await ExperienceReplay.verify(folder);
  assertEquals([whole.kind, whole.isWhole, whole.damageCount, whole.cutBytes], [
    "folder",
    true,
    0,
    0,
  ]);
  assertEquals([whole.capacity, whole.recordCount], [300, undefined]);
  assertEquals(whole.columns, {
    state: `float32(${WIDE})`,
    action: "int32()",
    reward: "float32()",
  });
  assertEquals(new Set(await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)), names);
  using replay = await open(folder);
  let isDone = false;
  const verifying = (async () => {
    for (let k = 0; k < 10; k++) {
      const { isWhole, damages } = await ExperienceReplay.verify(folder);
      assert(isWhole, JSON.stringify(damages));
    }
    isDone = true;
  })();
  // Segments come and go meanwhile.
  for (let k = 0; !isDone; k++) {
    fill(replay, 10 * k, 20);
    await replay.flush();
  }
  await verifying;
});

test(`each damage is found, and costs what is said (seed ${SEED})`, async (folder) => {
  await make(folder);
  const files = [...await segmentsOf(folder), "checkpoint.exrp", "replay.json"];
  const whole = await open(folder);
  const { recordCount } = whole;
  whole[Symbol.dispose]();
  const costs = new Set<string>();
  for (let turn = 0; turn < DAMAGES; turn++) {
    const random = testRandom(SEED + turn);
    const words = `seed ${SEED + turn}`;
    const name = files[random(4) > 0 ? random(files.length - 2) : random(files.length)] ?? "";
    await withCopy(folder, async (copy) => {
      const file = `${copy}/${name}`;
      const bytes = await Deno.readFile(file);
      const at = random(bytes.length);
      const isBit = random(3) === 0;
      if (isBit) bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      else {for (let k = at; k < Math.min(bytes.length, at + 1 + random(200)); k++) {
          bytes[k] = (bytes[k] ?? 0) ^ (1 + random(255));
        }}
      await Deno.writeFile(file, bytes);
      const found = await ExperienceReplay.verify(copy);
      const cost = found.damages.map(({ cost }) => cost).sort()[0] ?? "none";
      costs.add(cost);
      // What nothing proves to have been flushed is no damage.
      assert(found.damageCount > 0 || found.cutBytes > 0, words);
      assertEquals(found.isWhole, found.damages.every(({ cost }) => cost === "nothing"), words);
      assert(found.damages.every((damage) => damage.file === name), words);
      const opened = await open(copy).catch((error) => error as ReplayError);
      const isAll = found.damages.some(({ cost }) => cost === "all");
      assertEquals(opened instanceof ReplayError, isAll, `${words}: ${opened}`);
      if (opened instanceof ReplayError) return;
      const { lostBlockCount = 0 } = opened.durability?.recovered ?? {};
      const mayLose = found.damages.some(({ cost }) => cost === "episodes");
      assert(lostBlockCount === 0 || mayLose, words);
      if (found.isWhole && found.cutBytes === 0) {
        assertEquals(opened.recordCount, recordCount, words);
      }
      opened[Symbol.dispose]();
    });
  }
  assertEquals([...costs].sort().filter((cost) => cost !== "none"), ["all", "episodes", "nothing"]);
});

test("files that are missing", async (folder) => {
  await make(folder);
  const segments = await segmentsOf(folder);
  for (const name of ["replay.json", segments[0] ?? "", segments.at(-2) ?? ""]) {
    await withCopy(folder, async (copy) => {
      await Deno.remove(`${copy}/${name}`);
      const { isWhole, damages } = await ExperienceReplay.verify(copy);
      assertEquals([isWhole, damages.some(({ file }) => file === name)], [false, true], name);
    });
  }
  await withCopy(folder, async (copy) => {
    for (const name of segments) await Deno.remove(`${copy}/${name}`);
    const { damages } = await ExperienceReplay.verify(copy);
    assertEquals(damages.map(({ file, cost }) => [file, cost]), [["log-00000001.exrp", "all"]]);
  });
  await assertReplayRejects(ExperienceReplay.verify(`${folder}/nothing`), "file");
});

Deno.test("a snapshot's file", () =>
  withFolder(async (folder) => {
    using replay = await ExperienceReplay.create({
      capacity: 100,
      state: float32(WIDE),
      extras: { goal: every(5, float32(2)) },
    });
    const goal = new Float32Array(100);
    for (let k = 0; k < 4; k++) {
      const state = new Float32Array(50 * WIDE);
      const steps = { state, action: new Int32Array(50), reward: new Float32Array(50) };
      replay.recordMany(replay.newEpisode(), { ...steps, extras: { goal } });
    }
    const file = `${folder}/saved.exrp`;
    await replay.serialize(file);
    const whole = await ExperienceReplay.verify(file);
    const { size } = await Deno.stat(file);
    assertEquals([whole.kind, whole.isWhole, whole.bytes], ["snapshot", true, size]);
    assertEquals([whole.capacity, whole.recordCount], [100, replay.recordCount]);
    assertEquals(whole.columns["extras.goal"], "every(5, float32(2))");
    const bytes = await Deno.readFile(file);
    for (let at = 0; at < bytes.length; at += 1 + Math.floor(bytes.length / 40)) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      await Deno.writeFile(file, damaged);
      const { isWhole, damages: [damage] } = await ExperienceReplay.verify(file);
      assertEquals([isWhole, damage?.file, damage?.cost], [false, "saved.exrp", "all"]);
      assert((damage?.byte ?? NaN) <= at, `byte ${damage?.byte}, and the damage is at ${at}`);
      await Deno.writeFile(file, bytes.subarray(0, at));
      assertEquals((await ExperienceReplay.verify(file)).isWhole, false);
    }
  }));
