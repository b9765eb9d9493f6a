/** What is written in a format is read again as it was: episodes, ends, final states, tags, extras, dtypes and structures. */
import { assert, assertEquals, assertGreater, assertRejects } from "../_assert.ts";
import { ExperienceReplay, float32, float64, int32 } from "@exrp/replay";
import {
  describeEpisodes,
  type EpisodeFormat,
  exportEpisodes,
  importEpisodes,
} from "@exrp/replay/interchange";
import { namesIn } from "../../interchange/_files.ts";
import { assertReplayRejects } from "../replay/_helpers.ts";
import { contentsOf, FILES, nestedReplay, plainReplay, withFolder } from "./_episodes.ts";

const SEED = Number(Deno.env.get("EXRP_INTERCHANGE_SEED") ?? 1);

/** Writes a replay, and reads it into a new one with the columns of the file. */
async function again(
  replay: ExperienceReplay,
  format: EpisodeFormat,
  path: string,
  isInMemory = false,
): Promise<ExperienceReplay> {
  await exportEpisodes(replay, format, path);
  const source = isInMemory ? await Deno.readFile(path) : path;
  const { columns, stepCount } = await describeEpisodes(format, source);
  assert(stepCount !== undefined && stepCount >= replay.recordCount, `${stepCount} steps`);
  const other = await ExperienceReplay.create({ ...columns, capacity: stepCount });
  const { episodeCount, stepCount: read } = await importEpisodes(other, format, source);
  assertEquals([episodeCount, read], [replay.episodeCount, replay.recordCount]);
  return other;
}

/** The dtypes that a format has not. */
const LOSSES: Readonly<Partial<Record<EpisodeFormat, Readonly<Record<string, string>>>>> = {
  d4rl: { float16: "float32", bool: "uint8" },
  minari: { float16: "float32", bool: "uint8" },
  parquet: { float16: "float32" },
};

function dtypesOf(replay: ExperienceReplay, format?: EpisodeFormat): string[] {
  return replay.describe().columns.map(({ name, dtype, shape }) => {
    const other = format === undefined ? undefined : LOSSES[format]?.[dtype];
    return `${name} ${other ?? dtype}(${shape})`;
  }).sort();
}

for (const format of FILES) {
  for (const [name, make] of [["plain", plainReplay], ["nested", nestedReplay]] as const) {
    Deno.test(`${format}: a replay of ${name} states is the same again (seed ${SEED})`, () =>
      withFolder(async (folder) => {
        using replay = await make(SEED);
        const path = `${folder}/data${format === "minari" ? ".hdf5" : ""}`;
        using other = await again(replay, format, path);
        assertEquals(contentsOf(other), contentsOf(replay));
        assertEquals(dtypesOf(other), dtypesOf(replay, format));
        using third = await again(replay, format, path, true);
        assertEquals(contentsOf(third), contentsOf(replay), "from bytes");
      }));
  }

  Deno.test(`${format}: open episodes are left out, and a filter chooses`, () =>
    withFolder(async (folder) => {
      using replay = await plainReplay(SEED + 1);
      const state = new Float32Array(3);
      const extras = { logProb: 0, flags: [0, 0], isGood: 0, depth: 0 };
      const { record } = replay as unknown as { record(...args: unknown[]): number };
      record.call(replay, replay.newEpisode(), state, [0, 0], 0, { extras });
      const path = `${folder}/data${format === "minari" ? ".hdf5" : ""}`;
      const filter = { tag: [0, 1] };
      const { notes, episodeCount } = await exportEpisodes(replay, format, path, { filter });
      const { length } = replay.episodes({ ...filter, ended: true }).handle;
      assertGreater(length, 0);
      assertEquals(episodeCount, length);
      assertEquals(notes[0], "1 open episode was left out.");
      using other = await ExperienceReplay.create({
        ...(await describeEpisodes(format, path)).columns,
        capacity: 10_000,
      });
      await importEpisodes(other, format, path, { tag: 7 });
      assertEquals([...new Set(other.episodes().tag)], [7]);
      assertEquals(other.episodeCount, length);
    }));
}

for (const format of ["d4rl", "minari", "npz", "tfrecord"] as const) {
  Deno.test(`${format}: a dot in the name of a part of the state stays one`, () =>
    withFolder(async (folder) => {
      using replay = await ExperienceReplay.create({
        capacity: 10,
        state: { agent: float32(), "agent.pos": float32(2) },
      });
      replay.record(replay.newEpisode(), { agent: 1, "agent.pos": [2, 3] }, 0, 0, {
        finalState: { agent: 4, "agent.pos": [5, 6] },
      });
      const all = replay as unknown as ExperienceReplay;
      using other = await again(all, format, `${folder}/data${format === "minari" ? ".hdf5" : ""}`);
      assertEquals(contentsOf(other), contentsOf(all));
      assertEquals(dtypesOf(other), dtypesOf(all));
    }));
}

Deno.test("a replay of other dtypes, fewer extras and another name of the state takes the numbers", () =>
  withFolder(async (folder) => {
    using replay = await plainReplay(SEED);
    const path = `${folder}/steps.npz`;
    await exportEpisodes(replay, "npz", path);
    using other = await ExperienceReplay.create({
      capacity: 10_000,
      state: { place: float64(3) },
      action: float64(2),
      reward: float64(),
      extras: { depth: int32() },
    });
    const { notes } = await importEpisodes(other as unknown as ExperienceReplay, "npz", path);
    assertEquals(notes, [
      "The replay has no column for extras.logProb, extras.flags, extras.isGood, so it was left out.",
    ]);
    const [first] = replay.episodes().handle;
    assertEquals(
      [...other.episodeRecords(other.episodes().handle[0] ?? 0).state.place],
      [...replay.episodeRecords(first ?? 0).state],
    );
  }));

Deno.test("a replay that lacks a column of the file's shape is refused by name", () =>
  withFolder(async (folder) => {
    using replay = await plainReplay(SEED);
    const path = `${folder}/steps.npz`;
    await exportEpisodes(replay, "npz", path);
    const refused = async (options: object, words: string): Promise<void> => {
      using other = await ExperienceReplay.create({
        ...{ capacity: 100, state: float32(3), action: float32(2) },
        ...options,
      });
      const error = await assertReplayRejects(
        importEpisodes(other as unknown as ExperienceReplay, "npz", path),
        "data-set",
      );
      assert(error.message.includes(words), error.message);
      assertEquals(other.episodeCount, 0);
    };
    await refused(
      { state: float32(4) },
      "state is float32(4) in the replay and float32(3) in the file",
    );
    await refused(
      { action: int32() },
      "action is int32() in the replay and float32(2) in the file",
    );
    await refused(
      { extras: { goal: float32() } },
      "the replay has extras.goal, and the file has not",
    );
    await refused({ state: { a: float32(3), b: float32() } }, "the replay has state.a");
  }));

Deno.test("an export that fails or is ended leaves no file, and the old one stays", () =>
  withFolder(async (folder) => {
    using replay = await plainReplay(SEED);
    for (const format of FILES) {
      const path = `${folder}/data.hdf5`;
      await Deno.writeTextFile(path, "old");
      const ending = new AbortController();
      ending.abort(new Error("enough"));
      const { signal } = ending;
      await assertRejects(() => exportEpisodes(replay, format, path, { signal }), Error, "enough");
      assertEquals(await Deno.readTextFile(path), "old");
      assertEquals((await namesIn(folder)).length, 1, format);
    }
    await assertReplayRejects(exportEpisodes(replay, "npz", `${folder}/no/data.npz`), "file");
    using empty = await ExperienceReplay.create({ capacity: 10, state: float32() });
    await assertReplayRejects(
      exportEpisodes(empty as unknown as ExperienceReplay, "npz", `${folder}/data.npz`),
      "empty",
    );
    await assertRejects(
      () => exportEpisodes(replay, "npz", `${folder}/data.npz`, { fps: 10 }),
      TypeError,
      "fps is for lerobot",
    );
  }));

Deno.test("timers and signals come in between", () =>
  withFolder(async (folder) => {
    using replay = await plainReplay(SEED, 30);
    for (const format of FILES) {
      const path = `${folder}/data.hdf5`;
      await exportEpisodes(replay, format, path);
      /** A signal of a timer, while each step of the call takes longer than a turn. */
      const ended = (): { signal: AbortSignal; onProgress: () => void } => {
        const ending = new AbortController();
        setTimeout(() => ending.abort(new Error("enough")), 0);
        const onProgress = (): void => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);
        };
        return { signal: ending.signal, onProgress };
      };
      using other = await ExperienceReplay.create({
        ...(await describeEpisodes(format, path)).columns,
        capacity: 10_000,
      });
      await assertRejects(() => importEpisodes(other, format, path, ended()), Error, "enough");
      assertEquals(other.episodes({ ended: false }).size, 0);
      await assertRejects(() => exportEpisodes(replay, format, path, ended()), Error, "enough");
    }
  }));

Deno.test("arguments are checked", async () => {
  using replay = await plainReplay(SEED, 1);
  const loose = importEpisodes as (...args: unknown[]) => Promise<unknown>;
  await assertRejects(
    () => loose(replay, "hdf5", "a"),
    TypeError,
    "format must be one of d4rl, minari",
  );
  await assertRejects(() => loose(replay, "npz", 5), TypeError, "source must be a path");
  await assertRejects(() => loose({}, "npz", "a"), TypeError, "takes a replay");
  await assertRejects(() => loose(replay, "npz", "a", { tags: 1 }), TypeError, 'no option "tags"');
  await assertRejects(() => loose(replay, "npz", "a", { tag: 0.5 }), RangeError, "tag must be");
  await assertReplayRejects(importEpisodes(replay, "npz", "no-such-file.npz"), "file");
});

Deno.test("npz: a file of many columns is read in several pieces", () =>
  withFolder(async (folder) => {
    const count = 300_000;
    using replay = await ExperienceReplay.create({
      capacity: count,
      state: { a: float32(2), b: float32(3), c: int32(), d: float64() },
      extras: { e: float64(), f: int32() },
    });
    const numbers = (each: number): Float32Array<ArrayBuffer> =>
      Float32Array.from({ length: each * count }, (_, k) => k % 1000);
    replay.recordMany(replay.newEpisode(), {
      state: { a: numbers(2), b: numbers(3), c: numbers(1), d: numbers(1) },
      action: numbers(1),
      reward: numbers(1),
      extras: { e: numbers(1), f: numbers(1) },
      finalState: { a: [1, 2], b: [3, 4, 5], c: 6, d: 7 },
    });
    using other = await again(replay as unknown as ExperienceReplay, "npz", `${folder}/a.npz`);
    const [one] = contentsOf(replay as unknown as ExperienceReplay);
    assertEquals(JSON.stringify(contentsOf(other)[0]), JSON.stringify(one));
  }));
