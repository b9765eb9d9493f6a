/** Files by Deno's functions and by node:fs: the same calls have the same effects. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { builtinModule } from "../../base/platform.ts";
import { filesOf } from "../../storage/files.ts";

const platforms = {
  "Deno's files": filesOf(Deno, builtinModule),
  "the files of node:fs": filesOf(undefined, builtinModule),
};

for (const [name, files] of Object.entries(platforms)) {
  Deno.test(`${name} are made, written, read, renamed and removed`, async () => {
    assert(files !== undefined);
    assertStrictEquals(files.hasLocks, name === "Deno's files");
    const begun = Date.now();
    const folder = await Deno.realPath(await Deno.makeTempDir());
    const path = files.path.join(folder, "a#b.bin");
    try {
      {
        using file = files.create(path);
        file.lock();
        const bytes = Uint8Array.of(1, 2, 3, 4, 5);
        for (let at = 0; at < 3;) at += file.write(bytes.subarray(at, 3));
        for (let at = 3; at < 5;) at += await file.writeLater(bytes.subarray(at));
        file.sync();
        await file.syncLater();
        file.touch();
        const { changedMs: changed, bytes: size } = file.look();
        assertStrictEquals(size, 5);
        // File systems may cut off parts of a second, or two.
        assert(changed > begun - 3_000 && changed < Date.now() + 2_000, `${changed}`);
      }
      assertThrows(() => files.create(path), Error);
      assertEquals(files.list(folder), ["a#b.bin"]);
      files.makeFolder(files.path.join(folder, "folder", "inner"));
      files.makeFolder(files.path.join(folder, "folder"));
      assertEquals(files.list(files.path.join(folder, "folder")), []);
      assertEquals(files.list(folder), ["a#b.bin"]);
      assertEquals(files.list(folder, "folders"), ["folder"]);
      const moved = files.path.join(files.path.dirname(path), "moved");
      files.rename(path, moved);
      assertStrictEquals(files.path.basename(moved), "moved");
      {
        using file = files.open(moved);
        const into = new Uint8Array(9);
        assertStrictEquals(file.read(into), 5);
        assertEquals([...into], [1, 2, 3, 4, 5, 0, 0, 0, 0]);
        assertStrictEquals(file.read(into), 0);
      }
      {
        using file = files.open(moved, "r+");
        assertStrictEquals(file.tryLock(), files.hasLocks);
      }
      assertEquals(files.lacking(folder), []);
      files.remove(moved);
      assertThrows(() => files.open(moved), Error);
      assertEquals(files.list(folder), []);
      files.create(moved)[Symbol.dispose]();
      await files.removeLater(moved);
      assertEquals(files.list(folder), []);
      await assertRejects(() => files.removeLater(moved), Error);
      assertStrictEquals(files.fromUrl(new URL("file:///a%20b?c")), files.path.join("/", "a b"));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

for (const [name, files] of Object.entries(platforms)) {
  Deno.test({
    name: `${name} say what stands at a path, and who may read it`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      assert(files !== undefined);
      const folder = await Deno.realPath(await Deno.makeTempDir());
      const [path, link] = [`${folder}/file`, `${folder}/link`];
      try {
        files.create(path, 0o600)[Symbol.dispose]();
        assertEquals(files.find(path), { isFile: true, mode: 0o600, link: undefined });
        files.setMode(path, 0o640);
        assertStrictEquals(files.find(path).mode, 0o640);
        await Deno.symlink("file", link);
        const { isFile, link: to } = files.find(link);
        assertEquals([isFile, to, files.realPath(link)], [false, "file", path]);
        assertStrictEquals(files.find(folder).isFile, false);
        assertStrictEquals(
          Reflect.get(assertThrows(() => files.find(`${path}s`)), "code"),
          "ENOENT",
        );
        for (const text of ["be", "hind"]) {
          using file = files.open(link, "a");
          await file.writeLater(new TextEncoder().encode(text));
        }
        assertStrictEquals(await Deno.readTextFile(path), "behind");
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test("a platform without Deno and node:fs has no files, and says so in words", async () => {
  assertStrictEquals(filesOf(undefined, () => undefined), undefined);
  const main = new URL("../../storage/file.ts", import.meta.url).href;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `const { log } = console; delete globalThis.Deno; delete globalThis.process;
      const { writeToFile } = await import(${JSON.stringify(main)});
      try { await writeToFile("a.bin", []); } catch (error) { log(error.code, error.message); }`,
    ],
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertStrictEquals(code, 0, new TextDecoder().decode(stderr));
  assert(text.startsWith("file serialize(): there are no files here"), text);
});

Deno.test("an import of the library does not make Deno load what it has of Node's", async () => {
  const main = new URL("../../mod.ts", import.meta.url).href;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `Object.defineProperty(globalThis, "process", {
        get() { throw new Error("process was asked for"); },
      });
      await import(${JSON.stringify(main)});`,
    ],
  }).output();
  assertStrictEquals(code, 0, new TextDecoder().decode(stderr));
});
