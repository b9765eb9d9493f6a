/**
 * The results of benches as files: the figures, the machine, the versions and the date. The pages of benchmarks are made from them.
 *
 * @module
 */

import { arch, cpus, totalmem } from "node:os";
import { dirname } from "node:path";
import { inRepository, run } from "../tools/_repository.ts";
import { pinnedVersion } from "../tools/_zig.ts";
import description from "../deno.json" with { type: "json" };

/** What a result says of its program and its machine. */
export interface Origin {
  /** The name of the bench. */
  readonly bench: string;
  /** The date of its end. */
  readonly date: string;
  /** The commit of the sources; empty outside of a repository. A `+` means that they had changes beside it. */
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
      cpu: thisCpu(),
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

/** The place of a bench's results. Given a processor, that of the results which are kept by processor. */
export function resultsPath(bench: string, cpu?: string): string {
  const kind = cpu === undefined ? "" : `.${cpuName(cpu)}`;
  return inRepository("bench", "results", `${bench}${kind}.json`);
}

/** A processor's name as a part of a file's name: "AMD EPYC" is "amd_epyc". */
export function cpuName(cpu: string): string {
  return cpu.replaceAll(/\(\w+\)|\bprocessor\b/gi, "").trim().replaceAll(/[^a-z0-9]+/gi, "_")
    .toLowerCase();
}

/** The model of this machine's processor. */
export function thisCpu(): string {
  return cpus()[0]?.model.trim() ?? "unknown";
}

/** Writes the results of a bench; by default where the documentation takes them from. */
export async function saveResults(
  results: Origin,
  path: string = resultsPath(results.bench),
): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, JSON.stringify(results, null, 1) + "\n");
  console.error(`written: ${path}`);
}

/** Ends the program and lists the names, because none of them contains `filter`. */
export function noneMatches(filter: string, names: readonly string[]): never {
  console.error(`nothing has "${filter}" in its name; there are\n  ${names.join("\n  ")}`);
  Deno.exit(2);
}
