/** The tables of a data set of LeRobot's, in several files: states, ends by the episode's number, and videos that stay where they are. */
import { assertEquals } from "../_assert.ts";
import { ExperienceReplay } from "@exrp/replay";
import { describeEpisodes, importEpisodes } from "@exrp/replay/interchange";
import { writeParquet } from "../../interchange/_parquet.ts";
import type { Rows } from "../../interchange/_table.ts";
import { withFolder } from "./_episodes.ts";

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
