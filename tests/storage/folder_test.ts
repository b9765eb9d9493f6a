/** A folder of generations: what it writes, loads, keeps and removes, of a kind that only this file knows. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { type FolderKind, GenerationFolder, type Mark } from "../../storage/folder.ts";
import { encodeAll, encodeBegin, FrameReader, type Reading } from "../../storage/frames.ts";
import { readFromFile } from "../../storage/file.ts";
import { refused } from "../_refused.ts";

const kernel = await openKernel();
const kind: FolderKind = {
  of: { magic: "EXRPTEST", version: 1, of: "a number" },
  generation: "note",
  writer: "diary",
  anew: "say anew",
};

/** A whole generation that holds a number. */
function holding(value: number, checkpoint: Mark): Iterable<Uint8Array<ArrayBuffer>> {
  return encodeAll(kernel, encodeBegin(kernel, kind.of, { checkpoint, value }), []);
}

function* valueIn(): Reading<number> {
  const reader = new FrameReader(kernel, kind.of);
  const { value } = yield* reader.begin();
  yield* reader.end();
  return Number(value);
}

/** Calls `use` with an empty folder, and removes it. */
async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Writes a generation, of which `keep` stay. */
async function write(folder: GenerationFolder, value: number, keep = 9): Promise<string> {
  const path = await folder.write((mark) => holding(value, mark));
  await folder.removeOld(keep);
  return path;
}

/** What is loaded, and from where. */
async function newest(folder: GenerationFolder): Promise<{
  readonly value: number | undefined;
  readonly path: string | undefined;
  readonly damaged: readonly { readonly path: string }[];
}> {
  let value: number | undefined;
  const loaded = await folder.load((path) => {
    value = readFromFile(path, valueIn());
    return Promise.resolve();
  });
  return { ...loaded, value };
}

/** The paths of all that is in a folder, by name. */
function pathsIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`).sort();
}

/** The values of all whole generations in a folder, by name. */
function valuesIn(folder: string): number[] {
  return pathsIn(folder).filter((path) => /note-\d+-\w+\.exrp$/.test(path))
    .map((path) => readFromFile(path, valueIn()));
}

Deno.test("numbers rise from one process to the next, and the newest are kept", async () => {
  await inFolder(async (at) => {
    for (let round = 0; round < 3; round++) {
      using folder = new GenerationFolder(kind, at, kernel);
      assertEquals((await newest(folder)).value, round === 0 ? undefined : 2 * round);
      for (const k of [1, 2]) {
        const path = await write(folder, 2 * round + k, 3);
        assert(path.startsWith(`${folder.path}/note-00000000${2 * round + k}-`), path);
      }
    }
    assertEquals(valuesIn(at), [4, 5, 6]);
  });
});

Deno.test("a folder has one holder; a file of others in the lock's place stays", async () => {
  await inFolder(async (at) => {
    const lock = `${at}/.exrp-notes.lock`;
    const open = (): GenerationFolder => new GenerationFolder(kind, at, kernel);
    {
      using _ = open();
      const { code, message } = assertThrows(open, ReplayError) as ReplayError;
      assertEquals(code, "busy");
      assert(message.startsWith("note: another diary writes its notes into "), message);
    }
    open()[Symbol.dispose]();
    await Deno.writeTextFile(lock, "mine");
    assertThrows(open, ReplayError, "the file is not of this library, and stays as it is");
    assertEquals(await Deno.readTextFile(lock), "mine");
    // What a process leaves that was killed while it wrote the id.
    await Deno.writeTextFile(lock, "exrp no");
    open()[Symbol.dispose]();
    assertEquals(/^exrp no\nexrp notes [0-9a-f]{32}\n$/.test(await Deno.readTextFile(lock)), true);
  });
});

Deno.test("a damaged generation is passed over and stays; where all are damaged, the error says what to do", async () => {
  await inFolder(async (at) => {
    const paths: string[] = [];
    {
      using folder = new GenerationFolder(kind, at, kernel);
      for (const value of [1, 2, 3]) paths.push(await write(folder, value));
    }
    const [first = "", second = "", third = ""] = paths;
    const whole = await Deno.readFile(third);
    for (let size = 0; size < whole.length; size += 7) {
      await Deno.writeFile(third, whole.subarray(0, size));
      using folder = new GenerationFolder(kind, at, kernel);
      const { value, path, damaged } = await newest(folder);
      assertEquals([value, path, damaged.map((each) => each.path)], [2, second, [third]]);
    }
    {
      using folder = new GenerationFolder(kind, at, kernel);
      await newest(folder);
      // It neither counts nor goes, and its number is not given again.
      assert((await write(folder, 4, 1)).includes("note-000000004-"));
      assert((await Deno.stat(third)).isFile);
      await Deno.remove(third);
      assertEquals(valuesIn(at), [4]);
      await Deno.writeTextFile(first, "");
    }
    using folder = new GenerationFolder(kind, at, kernel);
    assertEquals(folder.count, 2);
    for (const path of pathsIn(at)) {
      if (path.endsWith(".exrp")) await Deno.writeTextFile(path, "no generation");
    }
    await refused(
      () => newest(folder),
      "snapshot-corrupt",
      /^none of 2 notes in .* can be loaded; the newest, .*note-000000004-.* To begin without them, say anew$/,
    );
  });
});

Deno.test("what can't be read is no damage: nothing older is loaded in its place", async () => {
  await inFolder(async (at) => {
    using folder = new GenerationFolder(kind, at, kernel);
    for (const value of [1, 2]) await write(folder, value);
    const cause = new ReplayError("file", "can't read it");
    const load = (): Promise<never> => Promise.reject(cause);
    await refused(() => folder.load(load), "file", /^".*note-000000002-.*": can't read it$/);
  });
});

Deno.test("only what this folder wrote is removed: no file of that name, and no generation of another folder", async () => {
  await inFolder(async (at) => {
    await inFolder(async (elsewhere) => {
      using other = new GenerationFolder(kind, elsewhere, kernel);
      const copied = await write(other, 100);
      const foreign = {
        "note-000000000-20260101T000000Z.exrp": "mine",
        "note-000000000-20260101T000000Z.exrp.exrp-0000000.tmp": "half of mine",
        "checkpoint-000000001-20260101T000000Z.exrp": "another kind",
      };
      for (const [name, text] of Object.entries(foreign)) {
        await Deno.writeTextFile(`${at}/${name}`, text);
      }
      await Deno.copyFile(copied, `${at}/note-000000001-20260101T000000Z.exrp`);
      {
        using folder = new GenerationFolder(kind, at, kernel);
        assertEquals((await newest(folder)).value, 100);
        for (const value of [1, 2, 3]) await write(folder, value, 1);
      }
      for (const [name, text] of Object.entries(foreign)) {
        assertEquals(await Deno.readTextFile(`${at}/${name}`), text);
        await Deno.remove(`${at}/${name}`);
      }
      assertEquals(valuesIn(at), [100, 3]);
    });
  });
});

Deno.test("half a generation that a killed process left goes, whole header or not", async () => {
  await inFolder(async (at) => {
    let path = "";
    {
      using folder = new GenerationFolder(kind, at, kernel);
      path = await write(folder, 1);
    }
    const whole = await Deno.readFile(path);
    const left = ["0000000", "1111111"].map((tag) => `${path}.exrp-${tag}.tmp`);
    for (const [k, each] of left.entries()) {
      await Deno.writeFile(each, whole.subarray(0, k * (whole.length - 10)));
    }
    new GenerationFolder(kind, at, kernel)[Symbol.dispose]();
    assertEquals(pathsIn(at), [`${at}/.exrp-notes.lock`, path]);
  });
});
