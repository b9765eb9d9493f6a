/**
 * Results of benches as files: what was measured, with what, on which machine and when. `docs/benchmarks.md` is made of them.
 *
 * @module
 */

import { arch, cpus, totalmem } from "node:os";
import { dirname } from "node:path";
import { inRepository, run } from "../tools/_repository.ts";
import { pinnedVersion } from "../tools/_zig.ts";
import description from "../deno.json" with { type: "json" };

/** What a result says of the program and the machine it is from. */
export interface Origin {
  /** Which bench. */
  readonly bench: string;
  /** When it ended. */
  readonly date: string;
  /** The commit of the sources, with `+` where they were changed since; empty outside of a repository. */
  readonly commit: string;
  /** Versions by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** The machine. */
  readonly machine: {
    readonly os: string;
    readonly cpu: string;
    readonly cores: number;
    readonly memoryGiB: number;
  };
}

/** Says where a result comes from. */
export async function origin(
  bench: string,
  versions: Record<string, string> = {},
): Promise<Origin> {
  const head = await run(["git", "rev-parse", "--short=10", "HEAD"]);
  const changes = await run(["git", "status", "--porcelain", "--untracked-files=no"]);
  const commit = head.success ? head.stdout.trim() + (changes.stdout.trim() === "" ? "" : "+") : "";
  return {
    bench,
    date: new Date().toISOString().slice(0, 16) + "Z",
    commit,
    versions: {
      [description.name]: description.version,
      zig: pinnedVersion,
      deno: Deno.version.deno,
      v8: Deno.version.v8,
      ...versions,
    },
    machine: {
      os: `${Deno.build.os} ${arch()}`,
      cpu: cpus()[0]?.model.trim() ?? "unknown",
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
    },
  };
}

/** One line for a document: the processor, the versions and the date. */
export function originLine({ machine, versions, date, commit }: Origin): string {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
  return `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.os}; ${named}; ${date}` +
    (commit === "" ? "" : `, commit ${commit}`);
}

/** Where the results of a bench are. */
export function resultsPath(bench: string): string {
  return inRepository("bench", "results", `${bench}.json`);
}

/** Writes the results of a bench, by default where those that the documentation is made of stand. */
export async function saveResults(
  results: Origin,
  path: string = resultsPath(results.bench),
): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, JSON.stringify(results, null, 1) + "\n");
  console.error(`written: ${path}`);
}

/** The value of `--name=value`, `""` of a bare `--name`, undefined where it was not given. */
export function option(name: string): string | undefined {
  const given = Deno.args.find((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  return given?.slice(name.length + 3);
}

/** The options that make a run a part of itself, whose results would take the place of whole ones. */
const PARTIAL = ["quick", "filter"];

/** What is wrong with the arguments of a bench that has the options `names`; undefined where nothing is. */
export function optionsTrouble(
  args: readonly string[],
  names: readonly string[],
): string | undefined {
  const nameOf = (arg: string): string => arg.split("=")[0] ?? "";
  const unknown = args.find((arg) => !names.some((name) => nameOf(arg) === `--${name}`));
  if (unknown !== undefined) {
    const known = names.map((name) => `--${name}`).join(", ");
    return `unknown option ${unknown}; there ${names.length > 1 ? "are" : "is"} ${known || "none"}`;
  }
  const partial = args.find((arg) => PARTIAL.some((name) => nameOf(arg) === `--${name}`));
  if (partial === undefined || !args.some((arg) => nameOf(arg) === "--save")) return undefined;
  return `--save was asked for with ${partial}: what a part of the bench gives would take the place of the results of all of it, ` +
    "which docs/benchmarks.md is made of and later runs are compared with; nothing was measured, leave one of the two out";
}

/** Ends the program, and says why, where an option is not among these, or where a part of a run would be saved. */
export function checkOptionNames(names: readonly string[]): void {
  const trouble = optionsTrouble(Deno.args, names);
  if (trouble === undefined) return;
  console.error(trouble);
  Deno.exit(2);
}

/** Ends the program, and says which names there are, as none has `filter` in it. */
export function noneMatches(filter: string, names: readonly string[]): never {
  console.error(`nothing has "${filter}" in its name; there are\n  ${names.join("\n  ")}`);
  Deno.exit(2);
}
