/** Files that are damaged, incomplete or of another kind: a clear error, and nothing half recorded. The file is long because each format can be wrong in ways of its own. */
import { assert, assertEquals, assertInstanceOf, assertRejects } from "../_assert.ts";
import { ExperienceReplay, float32, int32, ReplayError } from "@exrp/replay";
import {
  describeEpisodes,
  type EpisodeFormat,
  exportEpisodes,
  importEpisodes,
} from "@exrp/replay/interchange";
import { readExample } from "../../interchange/_tf_example.ts";
import { MessageWriter } from "../../wire/message_writer.ts";
import { createH5, type H5File } from "../../interchange/_hdf5.ts";
import { writeNpz } from "../../interchange/_npz.ts";
import { writeParquet } from "../../interchange/_parquet.ts";
import type { Rows } from "../../interchange/_table.ts";
import { testRandom } from "../replay/_helpers.ts";
import { contentsOf, FILES, plainReplay, withFolder } from "./_episodes.ts";
import * as arrow from "npm:apache-arrow@21.2.0";
import * as hyparquetWriter from "npm:hyparquet-writer@0.17.0";
import * as zip from "npm:@zip.js/zip.js@2.24.0";

const SEED = Number(Deno.env.get("EXRP_INTERCHANGE_SEED") ?? 1);

/** Reads into a replay that has an episode, and gives what the error says, without the name of the file. */
async function refused(
  format: EpisodeFormat,
  source: string | Uint8Array,
  wholeEpisodes = 0,
): Promise<string> {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2) });
  replay.record(replay.newEpisode(), [1, 2], 0, 0, { finalState: [3, 4] });
  try {
    await importEpisodes(replay as unknown as ExperienceReplay, format, source);
  } catch (error) {
    assertInstanceOf(error, ReplayError);
    assertEquals(error.code, "data-set", error.message);
    assertEquals(replay.episodeCount, 1 + wholeEpisodes, error.message);
    assertEquals(replay.episodes({ ended: false }).size, 0, error.message);
    return error.message.replace(/^importEpisodes\(\): .*? as \w+: /, "");
  }
  throw new Error("no error");
}

/** Makes an HDF5 file. */
async function h5(path: string, fill: (file: H5File) => void): Promise<string> {
  await createH5(path, fill);
  return path;
}

/** Writes an array of numbers. */
function put(
  file: Pick<H5File, "create_dataset">,
  name: string,
  shape: number[],
  values: number[] = [],
): void {
  const count = shape.reduce((product, size) => product * size, 1);
  const data = Float32Array.from({ length: count }, (_, k) => values[k] ?? 0);
  file.create_dataset({ name, data, shape, dtype: "<f" });
}

Deno.test("d4rl: what is missing, of the wrong kind or ragged is named", () =>
  withFolder(async (folder) => {
    let n = 0;
    const file = (fill: (file: H5File) => void): Promise<string> =>
      h5(`${folder}/${n++}.hdf5`, fill);
    const all = ["observations", "actions", "rewards", "terminals"];
    const without = (left: string) =>
      file((to) =>
        all.filter((name) => name !== left).forEach((name) =>
          put(to, name, name === "observations" ? [4, 2] : [4], [0, 0, 0, 1])
        )
      );
    assertEquals(
      await refused("d4rl", await without("observations")),
      "observations is missing; there is actions, rewards, terminals",
    );
    for (const name of ["actions", "rewards", "terminals"]) {
      assert((await refused("d4rl", await without(name))).includes(`${name} or`), name);
    }
    const ragged = await file((to) => {
      put(to, "observations", [4, 2]);
      put(to, "actions", [3]);
      put(to, "rewards", [4]);
      put(to, "terminals", [4]);
    });
    assertEquals(
      await refused("d4rl", ragged),
      "actions has 3 rows, and observations has 4: all must have as many",
    );
    const texts = await file((to) => {
      put(to, "observations", [4, 2]);
      to.create_dataset({ name: "actions", data: ["a", "b", "c", "d"], shape: [4], dtype: "S" });
      put(to, "rewards", [4]);
      put(to, "terminals", [4]);
    });
    assertEquals(await refused("d4rl", texts), "actions has text, and numbers are needed");
    const flags = await file((to) => {
      put(to, "observations", [4, 2]);
      put(to, "actions", [4]);
      put(to, "rewards", [4]);
      put(to, "terminals", [4], [0, 1, 5, 1]);
    });
    assertEquals(
      await refused("d4rl", flags, 1),
      "row 2: terminals must be 0 or 1, got 5; 1 whole episode before it is recorded",
    );
  }));

Deno.test("an episode without an end is an error, or truncated where that is asked for", () =>
  withFolder(async (folder) => {
    const path = await h5(`${folder}/a.hdf5`, (to) => {
      put(to, "observations", [5, 2], [0, 0, 1, 0, 2, 0, 3, 0, 4, 0]);
      put(to, "actions", [5]);
      put(to, "rewards", [5], [1, 2, 3, 4, 5]);
      put(to, "terminals", [5], [0, 1, 0, 0, 0]);
    });
    assert(
      (await refused("d4rl", path, 1)).startsWith(
        "the last 3 rows are of an episode that has no end",
      ),
    );
    using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
    await importEpisodes(replay as unknown as ExperienceReplay, "d4rl", path, {
      unfinished: "truncate",
    });
    const [first, second] = replay.episodes().handle;
    const one = replay.episodeRecords(first ?? 0);
    const two = replay.episodeRecords(second ?? 0);
    assertEquals([one.ending, [...one.reward], [...one.finalState ?? []]], ["terminated", [1, 2], [
      1,
      0,
    ]]);
    // Nobody knows where the last step led to, so its state is the final state.
    assertEquals([two.ending, [...two.reward], [...two.finalState ?? []]], ["truncated", [3, 4], [
      4,
      0,
    ]]);
  }));

Deno.test("next states of another shape than states are refused by both shapes", () =>
  withFolder(async (folder) => {
    let n = 0;
    const file = (next: number[]): Promise<string> =>
      h5(`${folder}/${n++}.hdf5`, (to) => {
        put(to, "observations", [3, 2], [1, 2, 3, 4, 5, 6]);
        put(to, "next_observations", [3, ...next], [1, 2, 3, 4, 5, 6]);
        for (const name of ["actions", "rewards", "terminals"]) put(to, name, [3], [0, 0, 1]);
      });
    for (const next of [[3], [2, 2], []]) {
      assertEquals(
        await refused("d4rl", await file(next)),
        `next_observations has [${next}] in a row, and observations has [2]: both must have the same`,
      );
    }
    using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
    const into = replay as unknown as ExperienceReplay;
    assertEquals((await importEpisodes(into, "d4rl", await file([2, 1]))).stepCount, 3);
  }));

Deno.test("minari: what is missing or ragged is named, and pictures as JPEG are", () =>
  withFolder(async (folder) => {
    let n = 0;
    const file = (change: Readonly<Record<string, number[] | undefined>>): Promise<string> =>
      h5(`${folder}/${n++}.hdf5`, (to) => {
        for (const name of ["episode_0", "episode_1"]) {
          const group = to.create_group(name);
          const shapes: Record<string, number[] | undefined> = {
            ...{ observations: [4, 2], actions: [3], rewards: [3] },
            ...{ terminations: [3], truncations: [3] },
            ...name === "episode_1" ? change : {},
          };
          for (const [array, shape] of Object.entries(shapes)) {
            if (shape !== undefined) {
              put(group, array, shape, array === "terminations" ? [0, 0, 1] : []);
            }
          }
        }
      });
    assertEquals(
      await refused("minari", await file({ rewards: undefined })),
      "episode_1: rewards is missing; there is actions, observations, terminations, truncations",
    );
    assertEquals(
      await refused("minari", await file({ observations: [3, 2] }), 1),
      "episode_1: observations has 3 rows, and for 3 rewards it needs 4; 1 whole episode before it is recorded",
    );
    assertEquals(
      await refused("minari", await file({ observations: [4, 3] }), 1),
      "episode_1: observations has [3] in a row, and [2] before; 1 whole episode before it is recorded",
    );
    const blind = await h5(`${folder}/blind.hdf5`, (to) => {
      const group = to.create_group("episode_0");
      for (const name of ["actions", "rewards", "terminations", "truncations"]) {
        put(group, name, [3]);
      }
    });
    assertEquals(
      await refused("minari", blind),
      "episode_0: observations is missing; there is actions, rewards, terminations, truncations",
    );
    const none = await h5(`${folder}/none.hdf5`, (to) => put(to, "observations", [3]));
    assertEquals(
      await refused("minari", none),
      "there is no group episode_0; there is observations",
    );
    const jpeg = await h5(`${folder}/jpeg.hdf5`, (to) => {
      const group = to.create_group("episode_0");
      const data = new Uint8Array(4 * 20);
      for (let k = 0; k < 4; k++) data.set([0xff, 0xd8, 0xff, 0xe0], 20 * k);
      group.create_dataset({ name: "observations", data, shape: [4, 20], dtype: "<B" });
      for (const name of ["actions", "rewards", "terminations", "truncations"]) {
        put(group, name, [3]);
      }
    });
    assert((await refused("minari", jpeg)).includes("pictures as JPEG"));
  }));

Deno.test("minari: numbers of another type in a later episode are not cut to that of the first", () =>
  withFolder(async (folder) => {
    const path = await h5(`${folder}/types.hdf5`, (to) => {
      const actions = [Uint8Array.of(1, 2, 3), Int32Array.of(1, 300, -5)];
      for (const [k, data] of actions.entries()) {
        const group = to.create_group(`episode_${k}`);
        put(group, "observations", [4, 2]);
        put(group, "rewards", [3]);
        put(group, "terminations", [3], [0, 0, 1]);
        put(group, "truncations", [3]);
        group.create_dataset({ name: "actions", data, shape: [3], dtype: k === 0 ? "<B" : "<i" });
      }
    });
    using replay = await ExperienceReplay.create({
      ...{ capacity: 100, state: float32(2), action: int32() },
    });
    await importEpisodes(replay as unknown as ExperienceReplay, "minari", path);
    const actions = [...replay.episodes().handle].map((
      episode,
    ) => [...replay.episodeRecords(episode).action]);
    assertEquals(actions, [[1, 2, 3], [1, 300, -5]]);
  }));

Deno.test("minari: a tag that is no whole number of 32 bits is refused, and not cut", () =>
  withFolder(async (folder) => {
    const tags = [[2 ** 31 + 5, "2147483653"], [1.5, "1.5"], ["a", '"a"']] as const;
    for (const [k, [tag, text]] of tags.entries()) {
      const path = await h5(`${folder}/${k}.hdf5`, (to) => {
        const group = to.create_group("episode_0");
        put(group, "observations", [2, 2]);
        for (const name of ["actions", "rewards", "terminations", "truncations"]) {
          put(group, name, [1], [1]);
        }
        if (typeof tag === "string") group.create_attribute("tag", tag);
        else group.create_attribute("tag", Float64Array.of(tag), [], "<d");
      });
      assertEquals(
        await refused("minari", path),
        `episode_0: its tag is ${text}, and tags are whole numbers of 32 bits; nothing was recorded`,
      );
    }
  }));

Deno.test("a file of another kind, and one that was cut off, are refused in every format", () =>
  withFolder(async (folder) => {
    using replay = await plainReplay(SEED, 4);
    for (const format of FILES) {
      await refused(format, new Uint8Array(0));
      await refused(format, new Uint8Array(1000).fill(7));
      const path = `${folder}/data.hdf5`;
      await exportEpisodes(replay, format, path);
      const bytes = await Deno.readFile(path);
      for (const share of [0.02, 0.3, 0.6, 0.95]) {
        using other = await ExperienceReplay.create({
          ...{ capacity: 1000, state: float32(3), action: float32(2) },
        });
        const cut = bytes.slice(0, Math.floor(share * bytes.length));
        const error = await importEpisodes(other as unknown as ExperienceReplay, format, cut)
          .then(() => undefined, (error) => error);
        assertInstanceOf(error, ReplayError, `${format} ${share}: ${error}`);
        assertEquals(error.code, "data-set", `${format} ${share}: ${error.message}`);
        assertEquals(other.episodes({ ended: false }).size, 0, format);
      }
    }
  }));

Deno.test(`npz and tfrecord find a flipped bit by its checksum (seed ${SEED})`, () =>
  withFolder(async (folder) => {
    const random = testRandom(SEED);
    using replay = await plainReplay(SEED, 6);
    const contents = new Set(contentsOf(replay).map((each) => JSON.stringify(each)));
    for (const format of ["npz", "tfrecord"] as const) {
      const path = `${folder}/data`;
      await exportEpisodes(replay, format, path);
      const bytes = await Deno.readFile(path);
      // A zip file has no checksum of its list of names.
      const list = new TextDecoder("latin1").decode(bytes).indexOf("PK\x01\x02");
      for (let k = 0; k < 40; k++) {
        const at = random(list < 0 ? bytes.length : list);
        const flipped = bytes.slice();
        flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8));
        using other = await ExperienceReplay.create({
          ...{ capacity: 1000, state: float32(3), action: float32(2) },
          extras: replay.columns.extras,
        });
        const into = other as unknown as ExperienceReplay;
        const failed = await importEpisodes(into, format, flipped).then(() => false, (error) => {
          assert(error instanceof ReplayError, `${format}, byte ${at}: ${error?.stack}`);
          return true;
        });
        // A zip file has bytes that mean nothing to a reader, such as dates.
        if (failed && format === "tfrecord") assertEquals(other.episodes({ ended: false }).size, 0);
        if (!failed) assertEquals(other.episodeCount, replay.episodeCount, `${format}, byte ${at}`);
        for (const each of contentsOf(into)) {
          assert(contents.has(JSON.stringify(each)), `byte ${at}`);
        }
      }
    }
  }));

Deno.test("tfrecord: what is written in another way than numbers of a list is none", () => {
  const writer = new MessageWriter();
  const example = (list: number, write: () => void): number[] => {
    writer.reset();
    for (const field of [1, 1]) writer.begin(field);
    writer.text(1, "x");
    for (const field of [2, list]) writer.begin(field);
    write();
    for (let k = 0; k < 4; k++) writer.end();
    const { floats, integers } = readExample(writer.message()).get("x") ?? {};
    return Array.from(floats ?? integers ?? []);
  };
  const floats = (): void => writer.bytes(1, new Uint8Array(Float32Array.of(1, 2).buffer));
  // A number of four bytes, and one of eight, which hold no floats and no integers.
  const number = (): void => writer.number(1, 2 ** 27);
  const double = (): void => writer.double(1, 3.5);
  assertEquals(example(2, () => [floats(), number(), double(), floats()]), [1, 2, 1, 2]);
  assertEquals(example(3, () => [number(), double(), writer.integers(1, [-7, 300])]), [
    ...[2 ** 27, -7, 300],
  ]);
});

Deno.test("parquet: rows of other lengths, and missing ones, are named", () =>
  withFolder(async (folder) => {
    const path = `${folder}/a.parquet`;
    const parts: Uint8Array[] = [];
    await writeParquet(
      { write: (bytes) => Promise.resolve(void parts.push(bytes.slice())) },
      [
        { name: "observation", dtype: "float32", shape: [2] },
        { name: "action", dtype: "int32", shape: [] },
        { name: "done", dtype: "bool", shape: [] },
      ],
      (async function* (): AsyncGenerator<Rows> {
        yield { count: 1, values: [new Float32Array(2), new Int32Array(1), new Uint8Array([1])] };
      })(),
    );
    await Deno.writeFile(path, await new Blob(parts as Uint8Array<ArrayBuffer>[]).bytes());
    assertEquals(
      await refused("parquet", path),
      "rewards or reward or next.reward is missing; there is observation, action, done",
    );
  }));

Deno.test("what is no number is called what it is, and what is read is said", () =>
  withFolder(async (folder) => {
    const numbers = { observation: [1, 2], action: [0, 0], is_last: [0, 1], is_terminal: [0, 1] };
    const only =
      "Only numbers and lists of numbers are read: convert it, such as to float32 or int32";
    const table = arrow.tableFromArrays({
      ...Object.fromEntries(
        Object.entries(numbers).map(([name, values]) => [name, Float32Array.from(values)]),
      ),
      reward: ["1", "2"],
    });
    assertEquals(
      await refused("arrow", arrow.tableToIPC(table, "file")),
      `reward has Dictionary<Int32, Utf8>. ${only}`,
    );
    // Text among the parts of a state is left out.
    const parts = Object.fromEntries(
      ["observation.x", "action", "reward", "is_last", "is_terminal"].map((name) =>
        [name, Float32Array.of(0, 1)] as const
      ),
    );
    const named = arrow.tableFromArrays({ ...parts, "observation.text": ["a", "b"] });
    assertEquals(
      (await describeEpisodes("arrow", arrow.tableToIPC(named, "file"))).notes,
      ["observation.text has Dictionary<Int32, Utf8>, so it was left out."],
    );
    const parquet = (codec: string, reward: object): Uint8Array =>
      new Uint8Array(hyparquetWriter.parquetWriteBuffer({
        columnData: [
          ...Object.entries(numbers).map(([name, data]) => ({
            name,
            data,
            type: "INT32" as const,
          })),
          { name: "reward", ...reward } as { name: string; data: unknown[] },
        ],
        codec: codec as "SNAPPY",
        compressors: { [codec]: (bytes: Uint8Array) => bytes },
      }));
    assertEquals(
      await refused("parquet", parquet("SNAPPY", { data: ["1", "2"], type: "STRING" })),
      `reward has UTF8. ${only}`,
    );
    using replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
    const into = replay as unknown as ExperienceReplay;
    const packed = parquet("LZ4_RAW", { data: [1, 2], type: "INT32" });
    const { message } = await assertRejects(
      () => importEpisodes(into, "parquet", packed),
      ReplayError,
    );
    assertEquals(
      message.replace(/^.* as parquet: /, ""),
      "observation is packed by LZ4_RAW, and only Snappy, gzip, zstd and Brotli are unpacked: write the file anew by one of them; nothing was recorded",
    );
    const flat = (file: H5File, count: number, width: number): void => {
      put(file, "observations", [count, width]);
      for (const name of ["actions", "rewards", "terminals"]) put(file, name, [count]);
    };
    assertEquals(
      await refused("d4rl", await h5(`${folder}/a`, (to) => flat(to, 3, 0))),
      `observations has no number in a row, as its shape is [0]. ${only}`,
    );
    const pieces: Uint8Array[] = [];
    await writeNpz(
      { write: (bytes) => Promise.resolve(void pieces.push(bytes.slice())) },
      [{ name: "observations", dtype: "float32", shape: [2] }],
      0,
      async function* (): AsyncGenerator<Rows> {},
    );
    const empty = await new Blob(pieces as Uint8Array<ArrayBuffer>[]).bytes();
    assertEquals(await refused("npz", empty), "the file has no steps");
  }));

Deno.test("lerobot: what is no data set is refused", () =>
  withFolder(async (folder) => {
    const file = `${folder}/file`;
    await Deno.writeTextFile(file, "no folder");
    assert((await refused("lerobot", file)).includes("is a folder"));
    assert((await refused("lerobot", folder)).includes("info.json"));
    await Deno.mkdir(`${folder}/meta`);
    await Deno.writeTextFile(`${folder}/meta/info.json`, "{");
    assert((await refused("lerobot", folder)).includes("is no JSON"));
    await Deno.writeTextFile(`${folder}/meta/info.json`, "{}");
    assert((await refused("lerobot", folder)).includes("parquet"));
  }));

Deno.test("hdf5: groups that lead around in circles, and rows that no column holds, are refused", () =>
  withFolder(async (folder) => {
    let n = 0;
    const file = (fill: (file: H5File) => void): Promise<string> =>
      h5(`${folder}/${n++}.hdf5`, fill);
    const circle = await file((to) => {
      put(to, "observations", [3, 2]);
      to.create_group("infos");
      (to as unknown as { create_hard_link(target: string, name: string): void })
        .create_hard_link("/", "/infos/all");
    });
    assertEquals(
      (await refused("d4rl", circle)).replace(/^[^ ]*/, "…"),
      "… has too many groups: 32 in each other, and 1000 in all, are read",
    );
    const wide = await file((to) => {
      (to as unknown as { create_dataset(options: object): void }).create_dataset({
        ...{ name: "observations", data: new Float32Array(2), shape: [1, 2], dtype: "<f" },
        ...{ maxshape: [null, null], chunks: [1, 2] },
      });
      (to.get("observations") as { resize(shape: number[]): void }).resize([3, 2 ** 31]);
      for (const name of ["actions", "rewards", "terminals"]) put(to, name, [3]);
    });
    assert(
      (await refused("d4rl", wide)).startsWith("rows of the shape [2147483648] fit no column: "),
    );
    const minari = await file((to) => put(to.create_group("episode_0"), "rewards", [3]));
    assertEquals(
      await refused("d4rl", minari),
      'it has a group for each episode, as Minari lays files out: read it as "minari"',
    );
  }));

Deno.test("npz: an array whose head has no text is refused", async () => {
  const head = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, 0, 0, 0, 0);
  const writer = new zip.ZipWriter(new zip.Uint8ArrayWriter(), { useWebWorkers: false });
  await writer.add("observations.npy", new zip.Uint8ArrayReader(head));
  assertEquals(
    await refused("npz", await writer.close()),
    "observations: its head is damaged: it has no text",
  );
});

Deno.test("arrow: a batch whose place is before the file is refused", async () => {
  const names = ["observation", "action", "reward", "is_last", "is_terminal"];
  const table = arrow.tableFromArrays(
    Object.fromEntries(names.map((name) => [name, Float32Array.of(0, 1)] as const)),
  );
  const bytes = arrow.tableToIPC(table, "file");
  const view = new DataView(bytes.buffer);
  // The footer is at the end, and has the place of the first batch, which is 8.
  let at = bytes.length - 8;
  while (view.getBigInt64(at, true) !== 8n) at--;
  view.setBigInt64(at, -8n, true);
  assertEquals(
    await refused("arrow", bytes),
    "byte -8 is no place for a part",
  );
});

Deno.test("arrow: a column without a name is refused", async () => {
  const numbers = arrow.vectorFromArray(Float32Array.of(0, 1));
  const table = new arrow.Table({ observation: numbers });
  Object.defineProperty(table.schema.fields[0], "name", { value: null });
  assertEquals(await refused("arrow", arrow.tableToIPC(table, "file")), "a column has no name");
});

Deno.test("parquet: a column with less than no parts is refused", async () => {
  const writer = new hyparquetWriter.ByteWriter();
  const file = new hyparquetWriter.ParquetWriter({
    writer,
    schema: [{ name: "root", num_children: 2 }, { name: "observation", num_children: -1 }, {
      name: "action",
      type: "INT32",
      repetition_type: "REQUIRED",
    }],
  } as never);
  await file.finish();
  await refused("parquet", new Uint8Array(writer.getBytes()));
});
