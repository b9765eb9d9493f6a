/**
 * Makes the pages of benchmarks and their pictures from the results in `bench/results`: `deno task bench:report`. `docs/benchmarks.md` is
 * short, and `docs/internals/benchmarks_raw.md` has all figures.
 *
 * A missing file gives no section. To add a section, write a module with a {@linkcode Section}, and add a line to {@linkcode sections}.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { benchOptions } from "./_options.ts";
import type { Section } from "./_section.ts";
import { peersSection } from "./peers/_report.ts";
import {
  actorsSection,
  limitSection,
  ownSection,
  paperSection,
  reverbSection,
} from "./report/sections.ts";

/** All sections, in their order on the pages. */
export const sections: readonly Section[] = [
  peersSection,
  reverbSection,
  actorsSection,
  limitSection,
  paperSection,
  ownSection,
];

/** Where the pages and the pictures lie in `docs`. */
const SHORT = "benchmarks.md";
const RAW = "internals/benchmarks_raw.md";

const MADE =
  "`deno task bench:report` makes this page from the files in `bench/results`, so don't edit it.";

const HEAD = `# Benchmarks

${MADE} [All figures](${RAW}) are on a page of their own, with their conditions.`;

const REPEAT = `## How to repeat this

Use a quiet machine. The processor, the versions and the commit of each run stand above its figures.

\`\`\`sh
deno task bench:peers --install   # makes Python environments of 8 GB, then measures for 10 minutes
deno task reverb:install          # installs Reverb, 1.7 GB
deno task bench:reverb --save     # measures for 11 minutes
deno task bench:report            # makes this page from the results
\`\`\`

[CONTRIBUTING.md](../CONTRIBUTING.md#benchmarks) lists all benchmarks and their options. [performance.md](internals/performance.md) says what was
decided from such figures.`;

const RAW_HEAD = `# All figures of the benchmarks

${MADE} [benchmarks.md](../${SHORT}) has the most important ones. A \`+\` after a commit means that the sources had changes that were not
committed.`;

/** Both pages, and their pictures by name. */
export interface Report {
  /** The short page. */
  readonly short: string;
  /** The page with all figures. */
  readonly raw: string;
  readonly images: ReadonlyMap<string, string>;
}

/** The files of a folder that `file` stands for, in order. */
async function namesOf(file: string, folder: URL): Promise<string[]> {
  const [before, after = ""] = file.split("*");
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return names.filter((name) =>
    file.includes("*")
      ? name.startsWith(before ?? "") && name.endsWith(after) && name.length >= file.length
      : name === file
  ).toSorted();
}

/** What the files hold that `file` stands for. */
async function readAll(file: string, folder: URL): Promise<unknown[]> {
  const names = await namesOf(file, folder);
  return Promise.all(
    names.map(async (name) => JSON.parse(await Deno.readTextFile(new URL(name, folder)))),
  );
}

/** Links to all sections of the page with all figures, by their headings. */
function contents(parts: readonly string[]): string {
  const links = parts.flatMap((part) => /^## (.*)$/m.exec(part)?.[1] ?? []).map((heading) => {
    const anchor = heading.toLowerCase().replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-");
    return `- [${heading}](${RAW}#${anchor})`;
  });
  return links.length === 0 ? "" : `## All figures\n\n${links.join("\n")}`;
}

/** Makes the pages from the sections whose file is in `folder`. The folder's URL ends with `/`. */
export async function makeReport(
  folder: URL,
  from: readonly Section[] = sections,
): Promise<Report> {
  const summaries: string[] = [];
  const parts: string[] = [];
  const images = new Map<string, string>();
  for (const { file, also, render } of from) {
    const found = await readAll(file, folder);
    if (found.length === 0) continue;
    const [other] = also === undefined ? [] : await readAll(also, folder);
    const rendered = await render(file.includes("*") ? found : found[0], other);
    if (rendered.summary !== undefined) summaries.push(rendered.summary);
    parts.push(rendered.markdown);
    for (const [name, svg] of rendered.images) images.set(name, svg);
  }
  const page = (texts: readonly string[]) =>
    `${texts.filter((text) => text !== "").join("\n\n")}\n`;
  return {
    short: page([HEAD, ...summaries, REPEAT, contents(parts)]),
    raw: page([RAW_HEAD, ...parts]),
    images,
  };
}

async function write(): Promise<void> {
  const docs = new URL("../docs/", import.meta.url);
  const { short, raw, images } = await makeReport(new URL("results/", import.meta.url));
  await Deno.writeTextFile(new URL(SHORT, docs), short);
  await Deno.writeTextFile(new URL(RAW, docs), raw);
  await Deno.mkdir(new URL("images/", docs), { recursive: true });
  for (const [name, svg] of images) await Deno.writeTextFile(new URL(`images/${name}`, docs), svg);
  console.log(`${fileURLToPath(docs)}: ${SHORT}, ${RAW}, ${images.size} pictures`);
}

if (import.meta.main) {
  benchOptions(
    "bench:report",
    "Makes docs/benchmarks.md, docs/internals/benchmarks_raw.md and their pictures from the files in bench/results.",
    [],
  );
  await write();
}
