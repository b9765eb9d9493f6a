/**
 * What becomes a page of the docs site, and under which name.
 *
 * Guides lie in `docs/`, pages for contributors in `docs/internals/`, and the README becomes the first page. A file of the repository that a page links to, such as an
 * example, becomes a page that shows it. So the site links to nothing that is not in it.
 *
 * @module
 */
import { posix } from "node:path";
import { listFiles, listTree } from "./_repository.ts";
import { isElsewhere, markdownLinks, resolveLink } from "./_links.ts";

/** The pages that lie elsewhere. */
export const rootPages: readonly string[] = [
  "README.md",
  "examples/README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];

/** The pages of `docs/`: the guides, those of algorithms, and those for contributors in `docs/internals/` and its folders. */
export async function listPages(): Promise<string[]> {
  const folders = ["docs/algorithms", "docs/internals"].map((folder) => listTree(folder, ".md"));
  return [...await listFiles("docs", ".md"), ...(await Promise.all(folders)).flat()];
}

/** Whether a file is a page or a picture of `docs/`. A notebook becomes a page. */
function isPage(path: string): boolean {
  return path.startsWith("docs/") && !path.endsWith(".ipynb");
}

/** Where a file of the repository stands in the site, before Markdown becomes HTML. */
export function sitePath(path: string): string {
  if (path === "README.md") return "index.md";
  // Beside index.md, a README.md would claim the same address.
  if (path === "docs/README.md") return "contents.md";
  if (isPage(path)) return path.slice("docs/".length);
  if (path.endsWith(".md")) return path.replaceAll("/", "_").toLowerCase();
  return `source/${path}.md`;
}

/** The text of a page with its links as they are in the site. */
export function rewriteLinks(path: string, text: string): string {
  const here = posix.dirname(sitePath(path));
  const targets = new Set(markdownLinks(text).map(({ target }) => target));
  let result = text;
  for (const target of targets) {
    if (isElsewhere(target) || target.startsWith("#")) continue;
    const { file } = resolveLink(path, target);
    const hash = target.indexOf("#");
    const moved = posix.relative(here, sitePath(file)) + (hash < 0 ? "" : target.slice(hash));
    result = result.replaceAll(`](${target})`, `](${moved})`);
  }
  return result;
}

const languages: Readonly<Record<string, string>> = {
  c: "c",
  cpp: "cpp",
  h: "c",
  hpp: "cpp",
  json: "json",
  py: "python",
  ts: "ts",
};

/** The page that shows a file of code. */
export function sourcePage(path: string, code: string): string {
  const language = languages[posix.extname(path).slice(1)] ?? "text";
  return `# ${posix.basename(path)}\n\n\`${path}\`\n\n~~~~${language}\n${code.trimEnd()}\n~~~~\n`;
}

/** The page that shows a notebook: its text, its code, and what it was kept with. */
export function notebookPage(json: string): string {
  const join = (text: string | readonly string[] = ""): string =>
    typeof text === "string" ? text : text.join("");
  const page: string[] = [];
  for (const { cell_type, source, outputs = [] } of JSON.parse(json).cells) {
    const text = join(source);
    page.push(cell_type === "code" ? `~~~~ts\n${text}\n~~~~` : text);
    for (const { data = {} } of outputs) {
      const svg = new TextEncoder().encode(join(data["image/svg+xml"]));
      const plain = join(data["text/plain"]).trimEnd();
      if (svg.length > 0) {
        page.push(`![What the cell shows](data:image/svg+xml;base64,${svg.toBase64()})`);
      } else if (plain !== "") page.push(`~~~~text\n${plain}\n~~~~`);
    }
  }
  return `${page.join("\n\n")}\n`;
}

/** The text without the marks of a comment `<!-- site: … -->`, which holds what only the site shows. */
export function showSiteOnly(text: string): string {
  return text.replace(/<!-- site: ([\s\S]*?) -->/g, "$1");
}

/** The page of a file, as the site's generator reads it. */
export function sitePage(path: string, text: string): string {
  if (path.endsWith(".ipynb")) return notebookPage(text);
  if (!path.endsWith(".md")) return sourcePage(path, text);
  // The generator takes a fence with two words for text.
  const page = showSiteOnly(rewriteLinks(path, text)).replace(/^```ts ignore$/gm, "```ts");
  // Code of two languages side by side needs the room of the table of contents.
  return posix.basename(path).startsWith("from_") ? `---\nhide:\n  - toc\n---\n\n${page}` : page;
}

/** The files of the repository, other than pages and pictures of `docs/`, that a page links to. */
export function linkedFiles(path: string, text: string): string[] {
  return markdownLinks(text).filter(({ target }) => !isElsewhere(target))
    .map(({ target }) => resolveLink(path, target).file)
    .filter((file) => !isPage(file) && !rootPages.includes(file));
}
