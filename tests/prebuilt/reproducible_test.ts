/** The same sources give the same bytes, wherever they lie. */
import { assert, assertEquals } from "../_assert.ts";
import { dirname, join } from "node:path";
import { inRepository, listTree } from "../../tools/_repository.ts";
import { namesIn, ownModule, ownTarget, prebuild } from "./_packed.ts";

Deno.test("two builds in two folders give the same modules, byte for byte", async () => {
  const root = await Deno.makeTempDir({ prefix: "exrp_two_builds_" });
  try {
    const files = ["deno.json"];
    for (const folder of ["kernel", "selectors", "eviction", "tools"]) {
      files.push(...await listTree(folder, ".cpp", ".hpp", ".h", ".txt", ".map", ".ts"));
    }
    const copy = join(root, "a copy", "of it");
    for (const file of files) {
      await Deno.mkdir(dirname(join(copy, file)), { recursive: true });
      await Deno.copyFile(inRepository(file), join(copy, file));
    }
    const [here, there] = [join(root, "here"), join(root, "there")];
    const flags = ["--native"];
    await prebuild([ownTarget], here, { flags });
    await prebuild([ownTarget], there, { root: copy, flags });
    const names = await namesIn(here);
    assertEquals(names, [ownModule, "targets.ts"].sort());
    for (const name of names) {
      const bytes = await Deno.readFile(join(here, name));
      assertEquals(bytes, await Deno.readFile(join(there, name)), name);
    }
    // The copy was compiled by itself, and is no copy of what lay in a cache.
    assert((await namesIn(join(copy, ".zig-cache"))).length > 0);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
