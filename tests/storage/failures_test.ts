/** A disk that fails, is full, or may only be read: an error with the system's as its cause, and the old file as it was. */
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { writeToFile } from "../../storage/file.ts";
import { type Files, type OpenFile, platformFiles } from "../../storage/files.ts";

/** What the system says, as Deno and Node put it. */
function systemError(code: string): Error {
  return Object.assign(new Error(`the system says ${code}`), { code });
}

type Step = "write" | "sync" | "rename" | "sync of the folder";

/** Lets one step of writing fail. Returns what ends it. */
function failAt(step: Step, error: Error): () => void {
  const files = platformFiles();
  assert(files !== undefined);
  const { create, open, rename } = files;
  const fail = (): never => {
    throw error;
  };
  const later = (): Promise<never> => Promise.reject(error);
  const noSync = { syncLater: later };
  const changed = (file: OpenFile, is: boolean, how: Partial<OpenFile>): OpenFile =>
    is ? Object.assign(file, how) : file;
  const broken: Partial<Files> = {
    create: (path, mode) => {
      const file = changed(create(path, mode), step === "sync", noSync);
      return changed(file, step === "write", { writeLater: later });
    },
    open: (path, flags) => {
      const file = open(path, flags);
      return changed(
        file,
        step === "sync of the folder" && file.look().bytes === undefined,
        noSync,
      );
    },
    rename: step === "rename" ? fail : rename,
  };
  Object.assign(files, broken);
  return () => void Object.assign(files, { create, open, rename });
}

/** The pieces of a file, in two. */
function* pieces(): Generator<Uint8Array<ArrayBuffer>> {
  yield Uint8Array.of(110, 101);
  yield Uint8Array.of(119);
}

const write = (path: string): Promise<void> => writeToFile(path, pieces());

async function inFolder(use: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  await Deno.writeTextFile(`${folder}/a`, "old");
  try {
    await use(`${folder}/a`);
    assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), ["a"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const step of ["write", "sync", "rename", "sync of the folder"] as const) {
  Deno.test(`a ${step} that fails is an error with its cause`, async () => {
    await inFolder(async (path) => {
      const cause = systemError("EIO");
      const end = failAt(step, cause);
      const error = await write(path).catch((error) => error).finally(end);
      assert(error instanceof ReplayError, String(error));
      assertEquals([error.code, error.cause], ["file", cause]);
      assertMatch(error.message, /^serialize\(\): can't .* ".*\/a": the system says EIO$/);
      // The name is the last step: the new file is whole, and only not known to be there after a power cut.
      const isNew = step === "sync of the folder";
      assertEquals(error.message.includes("the new name of"), isNew);
      assertEquals(await Deno.readTextFile(path), isNew ? "new" : "old");
      await write(path);
      assertEquals(await Deno.readTextFile(path), "new");
    });
  });
}

Deno.test("a system that syncs no folders is none that fails", async () => {
  const denied = new Deno.errors.PermissionDenied("Access is denied. (os error 5)");
  for (const error of [systemError("EINVAL"), systemError("EPERM"), denied]) {
    await inFolder(async (path) => {
      const end = failAt("sync of the folder", error);
      await write(path).finally(end);
      assertEquals(await Deno.readTextFile(path), "new");
    });
  }
});

const PROGRAM = `
import { ExperienceReplay, float32 } from ${
  JSON.stringify(new URL("../../mod.ts", import.meta.url))
};
import { Tables } from ${JSON.stringify(new URL("../../tables/mod.ts", import.meta.url))};
const [folder, size] = Deno.args;
const replay = await ExperienceReplay.create({ capacity: 10_000, state: float32(64) });
const tables = await Tables.create({ tables: { t: { maxSize: 10_000 } } });
let episode = replay.newEpisode();
for (let k = 0; k < Number(size); k++) {
  episode = replay.record(episode, Float32Array.from({ length: 64 }, (_, n) => Math.sin(k * 64 + n)), 0, 0);
  await tables.insert({ x: Float32Array.from({ length: 64 }, (_, n) => Math.sin(k * 64 + n)) }, { t: 1 });
}
for (const [name, saved] of Object.entries({ replay, tables })) {
  const said = await saved.serialize(folder + "/" + name).then(() => "saved", (error) =>
    error.code + " " + error.cause?.code + " " + error.message);
  console.log(said);
}
console.log(Array.from(Deno.readDirSync(folder), ({ name }) => name).sort().join());
`;

/** Runs the program three times on a disk of 512 KiB: with little, with more than it holds, and where nothing may be written. */
const SHELL = `
mount -t tmpfs -o size=512k none "$1" || exit 77
run() { "$2" eval --no-check "$3" "$1" "$4" || exit 1; (cd "$1" && md5sum replay tables) || exit 1; }
run "$1" "$2" "$3" 10
run "$1" "$2" "$3" 5000
mount -o remount,ro "$1"
run "$1" "$2" "$3" 10
`;

/** Whether this machine lets a program mount a file system of its own. */
function canMount(): boolean {
  try {
    const args = ["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k none /tmp"];
    return new Deno.Command("unshare", { args, stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

Deno.test({
  name:
    "a disk that is full, and then may only be read: both say so, and what was saved before is whole",
  ignore: !canMount(),
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      const args = ["-Urm", "sh", "-c", SHELL, "sh", folder, Deno.execPath(), PROGRAM];
      const { code, stdout, stderr } = await new Deno.Command("unshare", { args }).output();
      assertStrictEquals(code, 0, new TextDecoder().decode(stderr));
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      const runs = [0, 5, 10].map((at) => lines.slice(at, at + 5));
      const [first = [], full = [], readOnly = []] = runs;
      assertEquals(first.slice(0, 3), ["saved", "saved", "replay,tables"]);
      for (const [run, code] of [[full, "ENOSPC"], [readOnly, "EROFS"]] as const) {
        for (const line of run.slice(0, 2)) {
          assert(line.startsWith(`file ${code} serialize(): can't write "`), line);
        }
        // No other file is left, and these have the bytes that they had.
        assertEquals(run.slice(2), first.slice(2));
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
