/** The Python of the documentation is Python. Its libraries are not here, so it is compiled and not run. */
import { assertMatch, assertStrictEquals } from "../_assert.ts";
import { inRepository, run } from "../../tools/_repository.ts";
import { listPages } from "../../tools/_site_pages.ts";
import { findPython } from "../../tools/_zig.ts";

const script = inRepository("tests", "tools", "python_blocks.py");
const python = await findPython();

Deno.test({
  name: "every Python block of the documentation compiles",
  ignore: python === undefined,
  fn: async () => {
    const pages = (await listPages()).filter((page) =>
      page.startsWith("docs/from_") || page === "docs/reverb.md"
    );
    assertStrictEquals(pages.length, 7);
    const { code, stdout, stderr } = await run([python ?? "", script, ...pages]);
    assertStrictEquals(code, 0, stderr);
    assertMatch(stdout, /^(?:1[5-9]|[2-9]\d) blocks, 0 failed/);
  },
});

Deno.test({
  name: "a block that is no Python is an error that names its line in the page",
  ignore: python === undefined,
  fn: async () => {
    const page = await Deno.makeTempFile({ suffix: ".md" });
    await Deno.writeTextFile(page, "# Title\n\n```python\nvalue = 1\nvalue =\n```\n");
    const { code, stdout, stderr } = await run([python ?? "", script, page]);
    await Deno.remove(page);
    assertStrictEquals(code, 1);
    assertMatch(stderr, /line 5/);
    assertMatch(stdout, /1 blocks, 1 failed/);
  },
});
