/**
 * Prints what changed in a version, for its release: `deno run --allow-read tools/release_notes.ts v0.1.0`.
 *
 * It fails if `deno.json` has another version, or if CHANGELOG.md has no section for it.
 *
 * @module
 */
import { inRepository } from "./_repository.ts";

/** The section of a change log for a version, or why there is none. */
export function notesOf(
  tag: string,
  version: string,
  changelog: string,
): { notes: string } | { wrong: string } {
  if (tag !== `v${version}`) {
    return {
      wrong: `the tag is ${tag}, but deno.json has version ${version}: the tag must be v${version}`,
    };
  }
  const lines = changelog.split("\n");
  const head = lines.findIndex((line) => /^## \[?([^\]\s]+)/.exec(line)?.[1] === version);
  if (head < 0) return { wrong: `CHANGELOG.md has no section "## ${version}"` };
  const length = lines.slice(head + 1).findIndex((line) => line.startsWith("## "));
  const end = length < 0 ? undefined : head + 1 + length;
  const notes = lines.slice(head + 1, end).join("\n").trim();
  return notes === ""
    ? { wrong: `the section of CHANGELOG.md for ${version} is empty` }
    : { notes };
}

if (import.meta.main) {
  const [tag = ""] = Deno.args;
  const { version } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
  const result = notesOf(tag, version, await Deno.readTextFile(inRepository("CHANGELOG.md")));
  if ("wrong" in result) {
    console.error(result.wrong);
    Deno.exit(1);
  }
  console.log(result.notes);
}
