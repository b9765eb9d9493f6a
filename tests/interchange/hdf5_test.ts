/** What HDF5 says of a read or a write that failed is an error: nothing that it could not read is recorded, and no broken file gets a name. */
import { assert, assertEquals, assertInstanceOf, assertRejects } from "../_assert.ts";
import { ExperienceReplay, float32, ReplayError } from "@exrp/replay";
import { describeEpisodes, exportEpisodes, importEpisodes } from "@exrp/replay/interchange";
import { writeD4rl } from "../../interchange/_d4rl.ts";
import { namesIn } from "../../interchange/_files.ts";
import { createH5 } from "../../interchange/_hdf5.ts";
import type { Rows } from "../../interchange/_table.ts";
import { withFolder } from "./_episodes.ts";
import { inRepository } from "../../tools/_repository.ts";

const COUNT = 64;
/** A row that is looked for in the file. */
const STATE = Float32Array.from({ length: 3 * COUNT }, (_, k) => k + 0.625);

/** The bytes of a D4RL file whose observations go through a filter: 1 is gzip, and 3 a checksum. */
async function packedFile(path: string, filter: number, options: number[]): Promise<Uint8Array> {
  const ends = Float32Array.from({ length: COUNT }, (_, k) => Number(k % 16 === 15));
  await createH5(path, (file) => {
    file.create_dataset({
      ...{ name: "observations", data: STATE, shape: [COUNT, 3], dtype: "<f", chunks: [16, 3] },
      ...{ compression: filter, compression_opts: options },
    });
    for (
      const [name, data] of [["actions", ends], ["rewards", ends], ["terminals", ends]] as const
    ) {
      file.create_dataset({ name, data, shape: [COUNT], dtype: "<f" });
    }
  });
  return await Deno.readFile(path);
}

/** Where some bytes stand; they must be there. */
function placeOf(bytes: Uint8Array, wanted: readonly number[]): number {
  const at = bytes.findIndex((_, k) => wanted.every((byte, j) => bytes[k + j] === byte));
  assert(at >= 0, `${wanted}`);
  return at;
}

/** Reads a damaged file from its path and from memory; gives what the error says. */
async function refused(path: string, bytes: Uint8Array): Promise<string> {
  await Deno.writeFile(path, bytes);
  const words: string[] = [];
  for (const source of [path, bytes]) {
    using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(3) });
    const error = await importEpisodes(replay as unknown as ExperienceReplay, "d4rl", source)
      .then(() => undefined, (error) => error);
    assertInstanceOf(error, ReplayError);
    assertEquals([error.code, replay.episodeCount], ["data-set", 0], error.message);
    words.push(error.message.replace(/^.* as d4rl: /, ""));
  }
  assertEquals(words[0], words[1]);
  return words[0] ?? "";
}

Deno.test("a chunk that can't be unpacked, or has a wrong checksum, is an error", () =>
  withFolder(async (folder) => {
    const path = `${folder}/a.hdf5`;
    const damaged =
      "observations can't be read: a packed part or a checksum of it is damaged; nothing was recorded";
    const packed = await packedFile(path, 1, [4]);
    assertEquals((await describeEpisodes("d4rl", packed)).stepCount, COUNT);
    const flip = (bytes: Uint8Array, at: number): Uint8Array =>
      bytes.map((byte, k) => k === at ? byte ^ 0xff : byte);
    // How zlib's bytes begin at this level.
    assertEquals(await refused(path, flip(packed, placeOf(packed, [0x78, 0x5e]) + 40)), damaged);
    const summed = await packedFile(path, 3, []);
    const row = placeOf(summed, [...new Uint8Array(STATE.slice(3, 6).buffer)]);
    assertEquals(await refused(path, flip(summed, row)), damaged);
  }));

/** A D4RL file of 64 rows that h5py 3.16 wrote with `compression="lzf"`, packed by gzip. */
const LZF =
  "H4sIAAAAAAACA+v0cHHj5ZLiYubgYICB/1BwHipkABW/KzV5s7+HSxATQwWTELJCGOBiYmBkYGATZwBSPPlJxal" +
  "FZYklmfl5xZuhJrAJgaTYE5PBovsZUUSLUssTi1KKTzNBRAUEGBges0DYCjCnVaruCwM7gZGBkVGFgYGJiZHRASrHDKXR+cwiDIyC" +
  "CvIMLFCjxDkYxOuBLFaga5m5uaUYGIGm1bIAncDMkFOVBlbHyggxgEMWpI6JmdGBmYWRnwEJwIKrnGGggIbVO2t4WIgAw4IRERbwM" +
  "OBhYASGIwMj1M1gP3NxAAOcmZGfA1Utww6GIQs2Zuz+QklY+A+jsKg9IDaNkrDoH0ZhYRZ64Lq/s4c3mwjIr5wlqUW5mXmJOcXXoY" +
  "VDnFknK8MoGAUjFQALgAf/wegxiM04xAEA5Sa91M8IAAA=";

Deno.test("a filter that nobody here has is named", () =>
  withFolder(async (folder) => {
    const packed = new Response(Uint8Array.fromBase64(LZF)).body as ReadableStream<
      Uint8Array<ArrayBuffer>
    >;
    const bytes = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).bytes();
    assertEquals(
      await refused(`${folder}/a.hdf5`, bytes),
      "observations can't be read: it is packed by lzf, and only gzip and szip are unpacked here. " +
        "Pack it anew: h5repack -f GZIP=4 OLD NEW; nothing was recorded",
    );
  }));

Deno.test("a file that is not there has the code of files", () =>
  withFolder(async (folder) => {
    for (const format of ["d4rl", "minari"] as const) {
      const error = await assertRejects(
        () => describeEpisodes(format, `${folder}/no`),
        ReplayError,
      );
      assertEquals(error.code, "file", error.message);
    }
  }));

Deno.test({
  name: "a disk that is full is an error of the file",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      await Deno.symlink("/dev/full", `${folder}/full`);
      const rows = async function* (): AsyncGenerator<Rows> {
        await Promise.resolve();
        yield { count: 2, values: [new Float32Array(2)] };
      };
      const columns = [{ name: "observations", dtype: "float32", shape: [] }] as const;
      const error = await assertRejects(
        () => writeD4rl(`${folder}/full`, columns, rows()),
        ReplayError,
        '/full": No space left on device',
      );
      assertEquals(error.code, "file");
      // It goes on with other files.
      await writeD4rl(`${folder}/good`, columns, rows());
      assertEquals((await Deno.readFile(`${folder}/good`)).length > 0, true);
    }),
});

Deno.test({
  name: "an export that the system cuts off leaves the old file, and has the code of files",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withFolder(async (folder) => {
      // The packages are fetched without a limit.
      using replay = await ExperienceReplay.create({ capacity: 1, state: float32() });
      replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
      for (const format of ["d4rl", "minari", "npz"] as const) {
        const path = `${folder}/${format}.hdf5`;
        await exportEpisodes(replay as unknown as ExperienceReplay, format, path);
        await Deno.writeTextFile(path, "old");
      }
      const before = await namesIn(folder);
      const script = "trap '' XFSZ; ulimit -f 2000; exec \"$@\"";
      const program = new URL("_exporter.ts", import.meta.url).pathname;
      const { stdout, stderr } = await new Deno.Command("sh", {
        args: ["-c", script, "sh", Deno.execPath(), "run", "-A", "--no-check", program, folder],
        cwd: inRepository(),
      }).output();
      const words = new TextDecoder().decode(stderr);
      assertEquals(
        new TextDecoder().decode(stdout).trim().split("\n"),
        ["d4rl", "minari", "npz"].map((format) =>
          `file can't write "${folder}/${format}.hdf5": File too large (os error 27)`
        ),
        words,
      );
      assertEquals(words, "");
      assertEquals(await namesIn(folder), before);
      for (const format of ["d4rl", "minari", "npz"]) {
        assertEquals(await Deno.readTextFile(`${folder}/${format}.hdf5`), "old");
      }
    }),
});
