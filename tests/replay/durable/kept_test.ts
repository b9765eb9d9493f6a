/** What another part of the library keeps with a durable replay belongs to the records that are on the disk. */
import { assertEquals } from "../../_assert.ts";
import { ExperienceReplay, float32 } from "@exrp/replay";
import { coreOf } from "../../../replay/replay_view.ts";
import { until } from "../../_wait.ts";

const ignore = Deno.env.get("EXRP_BACKEND") === "wasm";
const OPTIONS = { capacity: 10_000, state: float32(256), flushIntervalMs: 0 } as const;

/** How many records a copy of a folder has, and what was kept with them. */
async function found(folder: string): Promise<[records: number, kept: number[]]> {
  const copy = await Deno.makeTempDir();
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (name !== "lock.exrp") await Deno.copyFile(`${folder}/${name}`, `${copy}/${name}`);
    }
    using replay = await ExperienceReplay.open(copy, { flushIntervalMs: 0 });
    const bytes = coreOf("test", replay).durable?.keep(() => new Uint8Array(0));
    return [replay.recordCount, [...bytes ?? []]];
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

Deno.test({
  name:
    "once bytes are kept with a replay, the kernel ends no group by itself, however many records come",
  ignore,
  fn: async () => {
    for (const isKept of [false, true]) {
      const folder = await Deno.makeTempDir();
      using replay = await ExperienceReplay.open(folder, OPTIONS);
      let kept = 0;
      if (isKept) coreOf("test", replay).durable?.keep(() => Uint8Array.of(kept));
      await replay.flush();
      const [calls, count] = [10, 500]; // 5 MB, and a group is one of them
      const state = new Float32Array(256 * count);
      let episode = replay.newEpisode();
      const steps = { state, action: new Int32Array(count), reward: new Float32Array(count) };
      for (let k = 0; k < calls; k++) episode = replay.recordMany(episode, steps);
      kept = 1;
      if (isKept) assertEquals((await found(folder))[0], 0);
      else await until("a group ends by itself", async () => (await found(folder))[0] > 0);
      await replay.flush();
      assertEquals(await found(folder), [calls * count, isKept ? [1] : []]);
      replay[Symbol.dispose]();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "what was kept stays, also where a program in between keeps nothing",
  ignore,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    {
      using replay = await ExperienceReplay.open(folder, OPTIONS);
      assertEquals(
        coreOf("test", replay).durable?.keep(() => Uint8Array.of(7, 8)),
        new Uint8Array(0),
      );
      // Who keeps bytes after somebody else gets what that one kept last.
      assertEquals(
        coreOf("test", replay).durable?.keep(() => Uint8Array.of(7, 8, 9)),
        Uint8Array.of(7, 8),
      );
      await replay.flush();
    }
    {
      using replay = await ExperienceReplay.open(folder, OPTIONS);
      replay.record(replay.newEpisode(), new Float32Array(256), 0, 1);
      await replay.flush();
    }
    assertEquals(await found(folder), [1, [7, 8, 9]]);
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test("a replay in memory keeps nothing", async () => {
  using replay = await ExperienceReplay.create(OPTIONS_IN_MEMORY);
  assertEquals(coreOf("test", replay).durable, undefined);
});

const OPTIONS_IN_MEMORY = { capacity: 10, state: float32() } as const;
