/** Python's libraries read what is written here, and what they write is read here: numpy, h5py, pyarrow, minari and tfrecord. */
import { assert, assertEquals, assertMatch, assertRejects } from "../_assert.ts";
import { ExperienceReplay, float64, ReplayError, uint8 } from "@exrp/replay";
import {
  describeEpisodes,
  type EpisodeFormat,
  exportEpisodes,
  importEpisodes,
} from "@exrp/replay/interchange";
import { inRepository, run } from "../../tools/_repository.ts";
import { contentsOf, plainReplay, withFolder } from "./_episodes.ts";
import { findLibraries } from "./_venv.ts";

const libraries = await findLibraries();
const skipped = typeof libraries === "string" ? ` (skipped: ${libraries})` : "";

async function python(command: "read" | "write", folder: string): Promise<unknown> {
  assert(typeof libraries === "object");
  const script = inRepository("tests", "interchange", "interchange.py");
  const { success, stdout, stderr } = await run([libraries.python, script, command, folder]);
  assert(success, stderr);
  return JSON.parse(stdout);
}

interface Contents {
  readonly states: Readonly<Record<string, number[]>>;
  readonly finalStates: Readonly<Record<string, number[]>>;
  readonly action: number[];
  readonly reward: number[];
  readonly ending: string;
  readonly tag: number;
}

Deno.test({
  name: `Python reads what is written here${skipped}`,
  ignore: typeof libraries === "string",
  fn: () =>
    withFolder(async (folder) => {
      using replay = await plainReplay(5);
      const files: [EpisodeFormat, string][] = [
        ["d4rl", "d4rl.hdf5"],
        ["npz", "steps.npz"],
        ["parquet", "steps.parquet"],
        ["arrow", "steps.arrow"],
        ["tfrecord", "steps.tfrecord"],
        ["minari", "minari"],
        ["lerobot", "lerobot"],
      ];
      for (const [format, name] of files) await exportEpisodes(replay, format, `${folder}/${name}`);
      const found = await python("read", folder) as Record<string, unknown>;
      const expected = (contentsOf(replay) as Contents[]).map((each) => ({
        state: each.states["state"],
        final: each.finalStates["state"],
        action: each.action,
        reward: each.reward,
        terminated: each.ending === "terminated",
        tag: each.tag,
      }));
      const sorted = (episodes: unknown): string[] =>
        (episodes as Record<string, unknown>[]).map((each) =>
          JSON.stringify(Object.entries(each).sort(([one], [other]) => one < other ? -1 : 1))
        );
      for (const [format] of files) {
        assertEquals(sorted(found[format]), sorted(expected), format);
      }
    }),
});

Deno.test({
  name: `what Python writes is read here${skipped}`,
  ignore: typeof libraries === "string",
  fn: () =>
    withFolder(async (folder) => {
      const expected = await python("write", folder);
      const files: [EpisodeFormat, string][] = [
        ["minari", "minari"],
        ["d4rl", "d4rl.hdf5"],
        ["npz", "steps.npz"],
        ["npz", "packed.npz"],
        ...["snappy", "zstd", "gzip", "none", "plain", "pages", "delta", "ones"].map((
          name,
        ): [EpisodeFormat, string] => ["parquet", `${name}.parquet`]),
        ["arrow", "steps.arrow"],
        ["arrow", "stream.arrow"],
        ["arrow", "kinds.arrow"],
        ["arrow", "large.arrow"],
        ["tfrecord", "steps.tfrecord"],
        ["tfrecord", "lists.tfrecord"],
      ];
      for (const [format, name] of files) {
        const path = `${folder}/${name}`;
        const { columns, stepCount, notes } = await describeEpisodes(format, path);
        assertEquals(String(columns.action), "int32()", name);
        assertEquals(
          notes.slice(name === "kinds.arrow" ? 10 : 0),
          format === "parquet"
            ? ["note has UTF8, so it was left out."]
            : format === "arrow"
            ? ["note has Utf8, so it was left out."]
            : [],
          name,
        );
        using replay = await ExperienceReplay.create({ ...columns, capacity: stepCount ?? 1 });
        const into = replay as unknown as ExperienceReplay;
        await importEpisodes(into, format, path);
        const found = (contentsOf(into) as (Contents & { extras: unknown })[]).map((
          { tag: _, extras: __, ...each },
        ) => each);
        assertEquals(found, expected as typeof found, name);
      }
      {
        const path = `${folder}/equal.parquet`;
        const { columns, stepCount } = await describeEpisodes("parquet", path);
        using replay = await ExperienceReplay.create({ ...columns, capacity: stepCount ?? 1 });
        const into = replay as unknown as ExperienceReplay;
        assertEquals((await importEpisodes(into, "parquet", path)).stepCount, 200_000);
      }
      // What is packed in other ways is refused in words of that.
      for (
        const [format, name, words] of [
          ["d4rl", "lzf.hdf5", /packed by lzf/],
          ["parquet", "lz4.parquet", /packed by LZ4_RAW/],
          ["arrow", "lz4.arrow", /batches are compressed/],
        ] as const
      ) {
        using replay = await ExperienceReplay.create({
          capacity: 1000,
          state: { image: uint8(3, 4), speed: float64(2) },
        });
        const into = replay as unknown as ExperienceReplay;
        await assertRejects(() => importEpisodes(into, format, `${folder}/${name}`), ReplayError)
          .then(({ message }) => assertMatch(message, words));
        assertEquals(replay.episodeCount, 0);
      }
    }),
});
