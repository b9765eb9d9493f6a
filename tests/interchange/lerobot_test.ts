/** The tables of a data set of LeRobot's, in several files: states, ends by the episode's number, videos that stay where they are, and what is written. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { ExperienceReplay, float32, uint8 } from "@exrp/replay";
import { describeEpisodes, exportEpisodes, importEpisodes } from "@exrp/replay/interchange";
import { EpisodeReader } from "../../interchange/_export.ts";
import { namesIn } from "../../interchange/_files.ts";
import { writeLerobot } from "../../interchange/_lerobot.ts";
import { addStats, type Stats, statsOf } from "../../interchange/_lerobot_stats.ts";
import { writeParquet } from "../../interchange/_parquet.ts";
import type { Rows } from "../../interchange/_table.ts";
import { contentsOf, nestedReplay, plainReplay, withFolder } from "./_episodes.ts";

/** Writes one file of a data set: rows of the episodes with these numbers. */
async function table(path: string, episodes: readonly number[], hasReward: boolean): Promise<void> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const count = episodes.length;
  const numbers = (times: number): Float32Array<ArrayBuffer> =>
    Float32Array.from({ length: count * times }, (_, k) => k);
  const columns = [
    { name: "observation.state", dtype: "float32", shape: [3] },
    { name: "action", dtype: "float32", shape: [2] },
    { name: "timestamp", dtype: "float32", shape: [] },
    { name: "frame_index", dtype: "int64", shape: [] },
    { name: "episode_index", dtype: "int64", shape: [] },
    { name: "index", dtype: "int64", shape: [] },
    ...hasReward
      ? [
        { name: "next.reward", dtype: "float32", shape: [] } as const,
        { name: "next.done", dtype: "bool", shape: [] } as const,
      ]
      : [],
  ] as const;
  const done = Uint8Array.from(
    episodes,
    (each, k) => Number(episodes[k + 1] !== each && each % 2 === 0),
  );
  const values: Rows["values"] = [
    numbers(3),
    numbers(2),
    numbers(1),
    numbers(1),
    Float64Array.from(episodes),
    numbers(1),
    ...hasReward ? [numbers(1), done] : [],
  ];
  await writeParquet(
    { write: (bytes) => Promise.resolve(void parts.push(bytes.slice())) },
    columns,
    (async function* (): AsyncGenerator<Rows> {
      yield { count, values };
    })(),
  );
  await Deno.writeFile(path, await new Blob(parts).bytes());
}

async function dataset(folder: string, hasReward: boolean): Promise<void> {
  await Deno.mkdir(`${folder}/meta`);
  await Deno.mkdir(`${folder}/data/chunk-000`, { recursive: true });
  const features = {
    "observation.state": { dtype: "float32", shape: [3] },
    "observation.images.top": { dtype: "video", shape: [480, 640, 3] },
  };
  await Deno.writeTextFile(`${folder}/meta/info.json`, JSON.stringify({ features }));
  // Episode 1 begins in one file, and ends in the next.
  await table(`${folder}/data/chunk-000/file-000.parquet`, [0, 0, 0, 1, 1], hasReward);
  await table(`${folder}/data/chunk-000/file-001.parquet`, [1, 2, 2], hasReward);
}

Deno.test("episodes end where their number changes, and the last state is final", () =>
  withFolder(async (folder) => {
    await dataset(folder, false);
    const { columns, stepCount, notes } = await describeEpisodes("lerobot", folder);
    assertEquals(stepCount, 8);
    assertEquals(Object.keys(columns.extras), ["timestamp"]);
    assertEquals(notes.length, 2);
    assertEquals(
      notes[0]?.startsWith("observation.images.top is a video, so it was left out"),
      true,
    );
    assertEquals(notes[1], "The file has no rewards, so they are 0.");
    using replay = await ExperienceReplay.create({ ...columns, capacity: 100 });
    const { episodeCount } = await importEpisodes(
      replay as unknown as ExperienceReplay,
      "lerobot",
      folder,
    );
    assertEquals(episodeCount, 3);
    assertEquals([...replay.episodes().length], [2, 2, 1]);
    assertEquals([...replay.episodes().end], [2, 2, 2]);
    const { state, finalState } = replay.episodeRecords(replay.episodes().handle[1] ?? 0);
    assertEquals([...state.state], [9, 10, 11, 12, 13, 14]);
    assertEquals([...finalState.state], [0, 1, 2]);
  }));

Deno.test("rewards and done are read where they are there", () =>
  withFolder(async (folder) => {
    await dataset(folder, true);
    const { columns } = await describeEpisodes("lerobot", folder);
    using replay = await ExperienceReplay.create({ ...columns, capacity: 100 });
    await importEpisodes(replay as unknown as ExperienceReplay, "lerobot", folder);
    assertEquals([...replay.episodes().end], [1, 2, 1]);
    assertEquals([...replay.episodes().length], [3, 2, 2]);
    assertEquals([...replay.episodeRecords(replay.episodes().handle[0] ?? 0).reward], [0, 1, 2]);
  }));

/** Reads a data set into a replay with the columns of another one. */
async function readLike(replay: ExperienceReplay, folder: string): Promise<ExperienceReplay> {
  const other = await ExperienceReplay.create({ ...replay.columns, capacity: 10_000 });
  await importEpisodes(other as unknown as ExperienceReplay, "lerobot", folder);
  return other as unknown as ExperienceReplay;
}

for (const [name, make] of [["plain", plainReplay], ["nested", nestedReplay]] as const) {
  Deno.test(`what is written of ${name} states is the same again`, () =>
    withFolder(async (folder) => {
      using replay = await make(1);
      const path = `${folder}/data`;
      await exportEpisodes(replay, "lerobot", path, { fps: 20 });
      using other = await readLike(replay, path);
      assertEquals(contentsOf(other), contentsOf(replay));
      // Nothing that only LeRobot needs comes back.
      const { columns, stepCount } = await describeEpisodes("lerobot", path);
      assertEquals(Object.keys(columns.extras), Object.keys(replay.columns.extras));
      assertEquals(stepCount, replay.recordCount);
      const info = JSON.parse(await Deno.readTextFile(`${path}/meta/info.json`));
      assertEquals([info.fps, info.total_episodes], [20, replay.episodeCount]);
    }));
}

Deno.test("many episodes are in several files, and none is in two", () =>
  withFolder(async (folder) => {
    using replay = await plainReplay(2, 200);
    await writeLerobot(folder, new EpisodeReader(replay, {}, {}), 30, 40_000);
    const files = await namesIn(`${folder}/data/chunk-000`);
    assert(files.length > 3, `${files}`);
    assertEquals(files[1], "file-001.parquet");
    using other = await readLike(replay, folder);
    assertEquals(contentsOf(other), contentsOf(replay));
  }));

Deno.test("notes say what LeRobot takes in another way; what fails leaves nothing", () =>
  withFolder(async (folder) => {
    using replay = await ExperienceReplay.create({
      capacity: 10,
      state: { image: uint8(2, 2), one: float32(1) },
    });
    const state = { image: [1, 2, 3, 4], one: [5] };
    replay.record(replay.newEpisode(), state, 0, Infinity, { finalState: state });
    const some = replay as unknown as ExperienceReplay;
    const { notes } = await exportEpisodes(some, "lerobot", `${folder}/data`);
    assertEquals(notes, [
      "state.image: arrays of numbers, which LeRobot does not take for pictures.",
      "A replay has no times, so there are 30 steps a second; fps changes it.",
    ]);
    // A number alone is no list there, and one again here.
    const { columns } = await describeEpisodes("lerobot", `${folder}/data`);
    assertEquals(String(columns.state["one" as never]), "float32(1)");
    const stats = await Deno.readTextFile(`${folder}/data/meta/stats.json`);
    assert(stats.includes("Infinity") && !stats.includes("null"), stats);

    // A data set is replaced, and nothing else is.
    await exportEpisodes(some, "lerobot", `${folder}/data`);
    await Deno.writeTextFile(`${folder}/data/own.txt`, "mine");
    await assertRejects(
      () => exportEpisodes(some, "lerobot", `${folder}/data`),
      Error,
      'the folder has "own.txt" in it',
    );
    const ending = AbortSignal.abort(new Error("enough"));
    const path = `${folder}/other`;
    await assertRejects(
      () => exportEpisodes(some, "lerobot", path, { signal: ending }),
      Error,
      "enough",
    );
    using slashed = await ExperienceReplay.create({
      capacity: 10,
      state: { "a/b": float32(), c: float32() },
    });
    slashed.record(slashed.newEpisode(), { "a/b": 1, c: 2 }, 0, 0, {
      finalState: { "a/b": 1, c: 2 },
    });
    await assertRejects(
      () => exportEpisodes(slashed as unknown as ExperienceReplay, "lerobot", path),
      TypeError,
      'no "/" in their names',
    );
    assertEquals(await namesIn(folder), ["data"]);
  }));

Deno.test("statistics of parts together are those of the whole", () => {
  const values = Float64Array.from({ length: 60 }, (_, k) => (k * 37 % 61) - 20);
  const whole = statsOf(values, 2);
  const parts: Stats[] = [[0, 2], [2, 20], [20, 60]].map(([from, to]) =>
    statsOf(values.subarray(from, to), 2)
  );
  const joined = parts.reduce(addStats);
  assertEquals([joined.min, joined.max, joined.count], [whole.min, whole.max, [30]]);
  for (const name of ["mean", "std"] as const) {
    for (const [k, value] of joined[name].entries()) {
      assert(Math.abs(value - (whole[name][k] ?? NaN)) < 1e-9, `${name}: ${value}`);
    }
  }
  // Of the quantiles of parts, the outer ones are kept.
  assertEquals(joined.q10, [0, 1].map((k) => Math.min(...parts.map(({ q10 }) => q10[k] ?? NaN))));
  assertEquals(joined.q90, [0, 1].map((k) => Math.max(...parts.map(({ q90 }) => q90[k] ?? NaN))));
  // As numpy.quantile interpolates.
  assertEquals(statsOf(Float64Array.of(4, 1, 3, 2), 1).q10, [1.3]);
});
