/** Links between the pages of the documentation lead somewhere, anchors included; and the check finds those that don't. */
import { assertEquals } from "../_assert.ts";
import {
  brokenCommentLinks,
  brokenHtmlLinks,
  brokenMarkdownLinks,
  headingAnchors,
  markdownLinks,
} from "../../tools/_links.ts";
import { inRepository } from "../../tools/_repository.ts";
import { house } from "./house/_house.ts";
import { listPages, rootPages } from "../../tools/_site_pages.ts";

function isInRepository(path: string): boolean {
  try {
    Deno.statSync(inRepository(path));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function textsOf(paths: readonly string[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const path of paths) texts.set(path, await Deno.readTextFile(inRepository(path)));
  return texts;
}

Deno.test("no link of a page leads nowhere", async () => {
  const pages = await textsOf([
    ...rootPages,
    "replay/README.md",
    "net/README.md",
    ...await listPages(),
  ]);
  assertEquals(brokenMarkdownLinks(pages, isInRepository), []);
});

Deno.test("no comment of a published module has a relative link, and the pages that it names are there", async () => {
  const library = house.sources.filter((one) => one.isTypeScript && house.isLibrary(one.path));
  const modules = new Map(library.map(({ path, text }) => [path, text]));
  assertEquals(brokenCommentLinks(modules, await textsOf(await listPages())), []);
});

Deno.test("relative links and missing pages in comments are found, with their lines", () => {
  const code = `/**
 * One [a](../docs/one.md), [b](https://x.y/z) and \`docs/one.md#right\`.
 * \`\`\`ts
 * f([0](1), "docs/none.md");
 * \`\`\`
 */
const text = "[c](d.md) docs/none.md";
  /** See docs/one.md#wrong. */
/** See \`docs/two/three.md\`, and [e](f.ts). */ const g = "[h](i.md)";
`;
  const pages = new Map([["docs/one.md", "# Right\n"]]);
  const advice =
    "no relative path leads anywhere from JSR; name the page as code, such as `docs/tables.md`";
  assertEquals(brokenCommentLinks(new Map([["a.ts", code]]), pages), [
    `a.ts:2: ../docs/one.md: ${advice}`,
    `a.ts:9: f.ts: ${advice}`,
    "a.ts:8: docs/one.md#wrong: docs/one.md has no heading #wrong",
    "a.ts:9: there is no docs/two/three.md",
  ]);
});

Deno.test("links to missing files and headings are found, with their lines", () => {
  const pages = new Map([
    [
      "README.md",
      "# One `thing`\n[a](docs/two.md#right) [b](docs/two.md#wrong)\n[c](docs/three.md)",
    ],
    [
      "docs/two.md",
      "## Right\n[d](../README.md#one-thing) ![e](images/no.svg) <a@b.c> [f](https://x.y/z)",
    ],
  ]);
  assertEquals(brokenMarkdownLinks(pages, (path) => pages.has(path)), [
    "README.md:2: docs/two.md#wrong: docs/two.md has no heading #wrong",
    "README.md:3: docs/three.md: there is no docs/three.md",
    "docs/two.md:2: images/no.svg: there is no docs/images/no.svg",
  ]);
});

Deno.test("code has no links and no headings", () => {
  const text = "# A\n```sh\n# B\n[x](y.md)\n```\n`[x](z.md)` [w](w.md)\n";
  assertEquals(markdownLinks(text), [{ target: "w.md", line: 6 }]);
  assertEquals([...headingAnchors(text)], ["a"]);
});

Deno.test("anchors are those of GitHub", () => {
  const text =
    "# What can't be had, together\n## `getBatch()` & co\n## [Linked](x.md) β\n## Again\n## Again\n";
  assertEquals([...headingAnchors(text)], [
    "what-cant-be-had-together",
    "getbatch--co",
    "linked-β",
    "again",
    "again-1",
  ]);
});

Deno.test("links of built pages stay in the site and find their anchors", () => {
  const pages = new Map([
    ["a.html", '<h1 id="top"></h1> <a href="source/b.html#here"></a> <a href="#gone"></a>'],
    [
      "source/b.html",
      '<p id=here></p> <img src="../c.png"> <a href="/a.html"></a> <a href="../../d.html"> <a href="..&#x2F;source&#x2F;">',
    ],
  ]);
  assertEquals(brokenHtmlLinks(pages, (path) => pages.has(path)), [
    "a.html: #gone: a.html has no #gone",
    "source/b.html: ../c.png: there is no c.png",
    "source/b.html: /a.html: leads out of the site",
    "source/b.html: ../../d.html: leads out of the site",
    "source/b.html: ..&#x2F;source&#x2F;: there is no source/index.html",
  ]);
});
