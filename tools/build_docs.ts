/**
 * Makes the docs site: `deno task docs`. `--help` says what it writes.
 *
 * The guides are made by Zensical, which is a Python package, and the API by `deno doc --html`. Every link is checked at
 * the end, in the HTML. The page that trains an agent in the browser lies in the folder `try`.
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import { readArguments } from "./_arguments.ts";
import { buildPage } from "./build_page.ts";
import { brokenHtmlLinks } from "./_links.ts";
import { exists, inRepository, listFiles, run, seconds } from "./_repository.ts";
import { linkedFiles, listPages, rootPages, sitePage, sitePath } from "./_site_pages.ts";
import { findPython, ToolError } from "./_zig.ts";

const usage = `deno task docs [OPTION]

Makes the docs site in out/docs: static files that any server can hand out, under any path.
Its generator comes from the Python package index and is kept in .cache.

  --out=FOLDER   writes into this folder instead; it is emptied first
  --help         prints this`;

/** What the manifest of the package says. */
export interface Package {
  readonly name: string;
  readonly exports: Readonly<Record<string, string>>;
}

const manifest: Package = JSON.parse(Deno.readTextFileSync(inRepository("deno.json")));

/** The entry points of the package and their files. */
function entryPoints(): [name: string, file: string][] {
  return Object.entries(manifest.exports).map((
    [path, file],
  ) => [manifest.name + path.slice(1), file]);
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, text);
}

/** The first sentence of a file's head. */
async function firstSentence(file: string): Promise<string> {
  const text = await Deno.readTextFile(inRepository(file));
  const head = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1]?.replace(/^\s*\* ?/gm, "").trim() ?? "";
  const sentence = /^[\s\S]*?\.(?=\s|$)/.exec(head)?.[0] ?? "";
  return sentence.replace(/\s+/g, " ").replace(/\{@link(?:code)? ([^}]*)\}/g, "`$1`");
}

/** The page that leads to the API. */
async function apiPage(template: string): Promise<string> {
  const rows = [];
  for (const [name, file] of entryPoints()) {
    // `deno doc` names the folders by the entry points.
    const folder = name.slice(manifest.name.length + 1).replace(/.$/, "$&/");
    const link = `api/${folder}index.html`;
    rows.push(`| [\`${name}\`](${link}) | ${await firstSentence(file)} |`);
  }
  return template.replace("ENTRY_POINTS", rows.join("\n"));
}

/** Puts all pages into a folder as the generator reads them. */
async function stage(folder: string): Promise<void> {
  if (await exists(folder)) await Deno.remove(folder, { recursive: true });
  const pages = `${folder}/pages`;
  const waiting = [...rootPages, ...await listPages()];
  for (const path of waiting) {
    const text = await Deno.readTextFile(inRepository(path));
    await write(`${pages}/${sitePath(path)}`, sitePage(path, text));
    if (!path.endsWith(".md")) continue;
    for (const file of linkedFiles(path, text)) if (!waiting.includes(file)) waiting.push(file);
  }
  await Deno.mkdir(`${pages}/images`);
  for (const picture of await listFiles("docs/images", ".svg", ".webp")) {
    await Deno.copyFile(inRepository(picture), `${pages}/${sitePath(picture)}`);
  }
  const own = (name: string): Promise<string> =>
    Deno.readTextFile(inRepository("docs", "site", name));
  await write(`${pages}/site.css`, await own("site.css"));
  await write(`${pages}/api.md`, await apiPage(await own("api.md")));
  await write(`${folder}/zensical.toml`, await own("zensical.toml"));
}

/** Runs a program and throws with what it said if it fails. */
async function must(
  what: string,
  command: readonly string[],
  env?: Record<string, string>,
): Promise<string> {
  const { success, stdout, stderr } = await run(command, { env: { NO_COLOR: "1", ...env } });
  if (!success) throw new ToolError(`${what} failed:\n${stdout}${stderr}`.trimEnd());
  return stdout + stderr;
}

/** Zensical's folder, fetched if it is not there. The folder's name follows from the versions. */
async function findGenerator(python: string, log: (line: string) => void): Promise<string> {
  const requirements = inRepository("docs", "site", "requirements.txt");
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(requirements));
  const tag = new Uint8Array(digest).toHex().slice(0, 8);
  const folder = inRepository(".cache", `zensical-${tag}`);
  if (await exists(folder)) return folder;
  log("fetching Zensical from the Python package index (about 50 MB, once)");
  await Deno.mkdir(dirname(folder), { recursive: true });
  // Into a folder of its own first: an interrupted download must not look like an installation.
  const partial = await Deno.makeTempDir({ dir: dirname(folder), prefix: "zensical-partial-" });
  await must("pip", [
    ...[python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"],
    ...["--no-cache-dir", "--no-deps", "--target", partial, "--requirement", requirements],
  ]);
  try {
    await Deno.rename(partial, folder);
  } catch (error) {
    if (!(await exists(folder))) throw error; // another build was first
    await Deno.remove(partial, { recursive: true });
  }
  return folder;
}

/** Makes the site and returns how many pages it has. */
async function build(out: string, log: (line: string) => void): Promise<number> {
  const python = await findPython();
  if (python === undefined) {
    throw new ToolError("Found no Python for the docs' generator: install python3 with pip.");
  }
  const source = inRepository("out", "docs-source");
  await stage(source);
  const generator = await findGenerator(python, log);
  const said = await must("Zensical", [
    ...[python, "-m", "zensical", "build", "--clean"],
    ...["--config-file", `${source}/zensical.toml`],
  ], { PYTHONPATH: generator });
  if (/^Warning/m.test(said)) log(said);
  if (await exists(out)) await Deno.remove(out, { recursive: true });
  await Deno.mkdir(dirname(out), { recursive: true });
  await Deno.rename(`${source}/site`, out);
  // These two would know one path only, and the site may lie under any.
  for (const name of ["404.html", "sitemap.xml"]) await Deno.remove(`${out}/${name}`);
  await must("deno doc", [
    ...[Deno.execPath(), "doc", "--quiet", "--html", "--name=@exrp/replay", `--output=${out}/api`],
    ...entryPoints().map(([, file]) => file),
  ]);
  await joinApi(`${out}/api`);
  await buildPage(`${out}/try`);
  const page = `${out}/try/index.html`;
  await Deno.writeTextFile(page, joinTry(await Deno.readTextFile(page)));
  return await check(out);
}

/**
 * A page of the API with a link back to the guides, with links to the guides that it names, such as `docs/tables.md`, and with imports as
 * users write them: `deno doc` knows the entry points only.
 */
export function joinPage(page: string, guides: string, { name, exports }: Package): string {
  const link = `<li><a href="${guides}" class="contextLink guides">Guides</a></li>`;
  return page.replace('<ul class="breadcrumbs">', (list) => list + link)
    .replace(
      /(import (?:\{ (?:type )?\w+ \}|\* as \w+) from )&quot;([\w.]+)&quot;;/g,
      (all, start, entry) => {
        const path = entry === "." ? "." : `./${entry}`;
        return path in exports ? `${start}&quot;${name}${path.slice(1)}&quot;;` : all;
      },
    )
    .replace(
      /<code>docs\/([\w/]+)\.md(#[\w-]+)?<\/code>/g,
      (code, page, anchor = "") =>
        `<a href="${guides.replace("index.html", `${page}.html${anchor}`)}">${code}</a>`,
    );
}

/** The page that trains an agent, with a link to its guide. */
export function joinTry(page: string): string {
  return page.replace(
    /<span id="guide">[^<]*<\/span>/,
    '<a href="../in_the_browser.html">its guide</a>',
  );
}

/** Adds our style to the pages of the API, and joins them with the guides. */
async function joinApi(folder: string): Promise<void> {
  const css = await Deno.readTextFile(inRepository("docs", "site", "api.css"));
  await Deno.writeTextFile(`${folder}/page.css`, `\n${css}`, { append: true });
  const look = async (path: string, up: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      if (isDirectory) await look(`${path}/${name}`, `${up}../`);
      if (!name.endsWith(".html")) continue;
      const page = await Deno.readTextFile(`${path}/${name}`);
      await Deno.writeTextFile(`${path}/${name}`, joinPage(page, `${up}index.html`, manifest));
    }
  };
  await look(folder, "../");
}

/** Links for which `deno doc` itself makes no target: to type parameters, and to the methods that `console.log` calls. */
const DENO_DOC_FAULT = /: #type_param_\w+: |\[Symbol\.for\(/;

/** Throws if a link leads nowhere. Returns how many pages there are, besides those of the API. */
async function check(out: string): Promise<number> {
  const files = new Set<string>();
  const pages = new Map<string, string>();
  const look = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(`${out}/${folder}`)) {
      const path = `${folder}${name}`;
      files.add(path);
      if (isDirectory) await look(`${path}/`);
      else if (path.endsWith(".html")) {
        pages.set(path, await Deno.readTextFile(`${out}/${path}`));
      }
    }
  };
  await look("");
  const broken = brokenHtmlLinks(pages, (path) => path === "." || files.has(path))
    .filter((each) => !DENO_DOC_FAULT.test(each));
  if (broken.length > 0) {
    throw new ToolError(`${broken.length} links lead nowhere:\n${broken.join("\n")}`);
  }
  return [...pages.keys()].filter((path) => !path.startsWith("api/")).length;
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { out: { type: "string" } }, usage);
  if (typeof options === "number") return options;
  const out = resolve(options.out ?? inRepository("out", "docs"));
  const start = performance.now();
  const log = (line: string): void => console.log(`docs: ${line}`);
  try {
    const count = await build(out, log);
    log(`${count} pages and the API are in ${out} (${seconds(performance.now() - start)})`);
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`docs: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
