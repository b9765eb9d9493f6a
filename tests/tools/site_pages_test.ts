/** The pages of the docs site: every guide is in the navigation, and links are as the site needs them. */
import { assertEquals } from "@std/assert";
import { inRepository, listFiles } from "../../tools/_repository.ts";
import {
  linkedFiles,
  rewriteLinks,
  rootPages,
  sitePage,
  sitePath,
} from "../../tools/_site_pages.ts";

Deno.test("the navigation has every guide and every page at the root once", async () => {
  const config = await Deno.readTextFile(inRepository("docs/site/zensical.toml"));
  const named = [...config.matchAll(/= "([^"]+\.md)"/g)].map(([, page = ""]) => page);
  const pages = [...rootPages, ...await listFiles("docs", ".md")].map(sitePath);
  assertEquals(named.toSorted(), [...pages, "api.md"].toSorted());
});

Deno.test("links lead to the site's pages, and those to other files to pages that show them", () => {
  const text =
    "[p](docs/picks.md#columns) [e](examples/minimal.ts) [c](CONTRIBUTING.md) [w](https://a.b/) [h](#use-it)";
  assertEquals(
    rewriteLinks("README.md", text),
    "[p](picks.md#columns) [e](source/examples/minimal.ts.md) [c](contributing.md) [w](https://a.b/) [h](#use-it)",
  );
  assertEquals(rewriteLinks("docs/picks.md", "[r](../README.md#use-it)"), "[r](index.md#use-it)");
  assertEquals(linkedFiles("README.md", text), ["examples/minimal.ts"]);
});

Deno.test("a file of code is shown in its language, whatever it quotes", () => {
  assertEquals(
    sitePage("examples/a.ts", "// ```ts\nlet a;\n"),
    "# a.ts\n\n`examples/a.ts`\n\n~~~~ts\n// ```ts\nlet a;\n~~~~\n",
  );
});
