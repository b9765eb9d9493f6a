/** The pages of the docs site: every guide is in the navigation, and links are as the site needs them. */
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { joinPage, joinTry } from "../../tools/build_docs.ts";
import { inRepository } from "../../tools/_repository.ts";
import {
  linkedFiles,
  listPages,
  notebookPage,
  rewriteLinks,
  rootPages,
  sitePage,
  sitePath,
} from "../../tools/_site_pages.ts";

Deno.test("the navigation has every guide and every other page once", async () => {
  const config = await Deno.readTextFile(inRepository("docs/site/zensical.toml"));
  const named = [...config.matchAll(/= "([^"]+\.md)"/g)].map(([, page = ""]) => page);
  const pages = [...rootPages, ...await listPages()].map(sitePath);
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

Deno.test("a comment may hold what only the site shows", () => {
  const text = 'one\n<!-- site: <a href="try/index.html">two</a> -->\n<!-- three -->';
  assertEquals(
    sitePage("docs/a.md", text),
    'one\n<a href="try/index.html">two</a>\n<!-- three -->',
  );
});

Deno.test("code that the tests do not run is shown as other code", () => {
  assertEquals(sitePage("docs/a.md", "```ts ignore\nf();\n```"), "```ts\nf();\n```");
});

Deno.test("a file of code is shown in its language, whatever it quotes", () => {
  assertEquals(
    sitePage("examples/a.ts", "// ```ts\nlet a;\n"),
    "# a.ts\n\n`examples/a.ts`\n\n~~~~ts\n// ```ts\nlet a;\n~~~~\n",
  );
});

Deno.test("a notebook is shown as its text, its code and its outputs", () => {
  const svg = "<svg/>";
  const page = notebookPage(JSON.stringify({
    cells: [
      { cell_type: "markdown", source: ["# Title\n", "text"] },
      { cell_type: "code", source: "1 + 1", outputs: [{ data: { "text/plain": ["2"] } }] },
      { cell_type: "code", source: "draw()", outputs: [{ data: { "image/svg+xml": svg } }] },
    ],
  }));
  assertStrictEquals(
    page,
    `# Title\ntext\n\n~~~~ts\n1 + 1\n~~~~\n\n~~~~text\n2\n~~~~\n\n~~~~ts\ndraw()\n~~~~\n\n![What the cell shows](data:image/svg+xml;base64,${
      btoa(svg)
    })\n`,
  );
});

Deno.test("the page that trains an agent links to its guide where there is one", async () => {
  const page = await Deno.readTextFile(inRepository("examples/browser/index.html"));
  const link = '<a href="../in_the_browser.html">its guide</a> says how';
  assertStrictEquals(joinTry(page).split(link).length, 2);
});

Deno.test("a page of the API leads back to the guides, and its imports are those of users", () => {
  const manifest = { name: "@a/b", exports: { ".": "./mod.ts", "./c": "./c/mod.ts" } };
  const imports = (from: string): string => `import { type X } from &quot;${from}&quot;;`;
  const page = (...from: string[]): string => from.map(imports).join("\n");
  assertEquals(
    joinPage(page(".", "c", "@std/assert"), "../index.html", manifest),
    page("@a/b", "@a/b/c", "@std/assert"),
  );
  assertEquals(
    joinPage('<ul class="breadcrumbs">\n', "../index.html", manifest),
    '<ul class="breadcrumbs"><li><a href="../index.html" class="contextLink guides">Guides</a></li>\n',
  );
  assertEquals(
    joinPage("<p>See <code>docs/a/b.md#c</code>.</p>", "../../index.html", manifest),
    '<p>See <a href="../../a/b.html#c"><code>docs/a/b.md#c</code></a>.</p>',
  );
});
