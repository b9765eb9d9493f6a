/**
 * Makes `docs/benchmarks.md` and its pictures from the results in `bench/results`: `deno task bench:report`.
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

/** All sections, in their order on the page. */
export const sections: readonly Section[] = [
  peersSection,
  reverbSection,
  actorsSection,
  limitSection,
  paperSection,
  ownSection,
];

const HEAD = `# Benchmarks

\`deno task bench:report\` makes this page from the files in \`bench/results\`, so don't edit it. [performance.md](internals/performance.md) says what was decided
from such figures. A \`+\` after a commit means that the tree had changes beside that commit.`;

/** The page and its pictures by name. */
export interface Report {
  readonly markdown: string;
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

/** Makes the page from the sections whose file is in `folder`. The folder's URL ends with `/`. */
export async function makeReport(
  folder: URL,
  from: readonly Section[] = sections,
): Promise<Report> {
  const summaries: string[] = [];
  const parts: string[] = [];
  const images = new Map<string, string>();
  for (const { file, render } of from) {
    const found: unknown[] = [];
    for (const name of await namesOf(file, folder)) {
      found.push(JSON.parse(await Deno.readTextFile(new URL(name, folder))));
    }
    if (found.length === 0) continue;
    const rendered = await render(file.includes("*") ? found : found[0]);
    if (rendered.summary !== undefined) summaries.push(rendered.summary);
    parts.push(rendered.markdown);
    for (const [name, svg] of rendered.images) images.set(name, svg);
  }
  return { markdown: `${[HEAD, ...summaries, ...parts].join("\n\n")}\n`, images };
}

async function write(): Promise<void> {
  const docs = new URL("../docs/", import.meta.url);
  const { markdown, images } = await makeReport(new URL("results/", import.meta.url));
  await Deno.writeTextFile(new URL("benchmarks.md", docs), markdown);
  await Deno.mkdir(new URL("images/", docs), { recursive: true });
  for (const [name, svg] of images) await Deno.writeTextFile(new URL(`images/${name}`, docs), svg);
  console.log(`${fileURLToPath(docs)}benchmarks.md, ${images.size} pictures`);
}

if (import.meta.main) {
  benchOptions(
    "bench:report",
    "Makes docs/benchmarks.md and its pictures from the files in bench/results.",
    [],
  );
  await write();
}
