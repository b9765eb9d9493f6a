/**
 * The options of `deno task bench:peers`.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { listDatasets } from "./_datasets.ts";
import { peers } from "./_environments.ts";

/** The options of a run. */
export interface Options {
  /** The ids of the peers to measure. */
  readonly only: readonly string[];
  readonly install: boolean;
  readonly quick: boolean;
  /** The beginnings of the names of the groups to measure; all groups if undefined. */
  readonly groups: readonly string[] | undefined;
  /** The file to write. */
  readonly out: string;
  /** Whether the groups take the place of those in the results of the last whole run. */
  readonly save: boolean;
  readonly help: boolean;
}

/** The text of `--help`. */
export const USAGE =
  `deno task bench:peers: our library and its peers, on the same workloads, in one run

  --install            first makes the virtual environments that are missing, in .cache/peers (8 GB with all peers)
  --only=cpprb,numpy   these peers only; none with --only=
  --groups=uniform     only groups of workloads whose names begin so, separated by commas
  --quick              small buffers and short windows: shows that everything works, in minutes
  --save               with --groups: these groups replace those of the last whole run, with a date and a commit of their own
  --out=FILE           writes there

A whole run writes bench/results/peers.json, of which deno task bench:report makes the pages of benchmarks. A run with --only or with --groups
but without --save writes build/peers_part.json, a quick one build/peers_quick.json. Each prints its tables.

peers: ${peers.map(({ id }) => id).join(", ")}
groups: ${groupNames().join("; ")}`;

/** Options that nobody understands. The message says which options there are. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

function groupNames(): string[] {
  return [...new Set(listDatasets(true).map(({ group }) => group))];
}

const KNOWN = {
  only: { type: "string" },
  install: { type: "boolean", default: false },
  quick: { type: "boolean", default: false },
  groups: { type: "string" },
  save: { type: "boolean", default: false },
  out: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Reads the arguments; throws a {@linkcode UsageError}. */
export function parseOptions(args: readonly string[]): Options {
  const names = Object.keys(KNOWN);
  const stray = args.find((arg) => !names.some((name) => arg.split("=")[0] === `--${name}`));
  if (stray !== undefined) {
    throw new UsageError(
      `unknown option ${stray}; there are ${names.map((name) => `--${name}`).join(", ")}`,
    );
  }
  const bare = args.find((arg) => ["--only", "--groups", "--out"].includes(arg));
  if (bare !== undefined) throw new UsageError(`${bare} needs a value: ${bare}=...`);
  const valued = args.find((arg) => /^--(install|quick|save|help)=/.test(arg));
  if (valued !== undefined) throw new UsageError(`${valued.split("=")[0]} takes no value`);
  const { values } = parseArgs({ args: [...args], options: KNOWN });
  const known = peers.map(({ id }) => id);
  const only = split(values.only) ?? known;
  const unknown = only.find((id) => !known.includes(id));
  if (unknown !== undefined) {
    throw new UsageError(`--only: there is no peer ${unknown}; there are ${known.join(", ")}`);
  }
  const groups = split(values.groups);
  const all = groupNames();
  const stranger = groups?.find((name) => !all.some((group) => group.startsWith(name)));
  if (stranger !== undefined || groups?.length === 0) {
    throw new UsageError(
      `--groups: no group's name begins with "${stranger ?? ""}"; there are ${all.join("; ")}`,
    );
  }
  const { save, install, quick, help } = values;
  if (
    save && (groups === undefined || values.only !== undefined || quick || values.out !== undefined)
  ) {
    throw new UsageError(
      "--save needs --groups=..., and does not go with --only, --quick or --out",
    );
  }
  // Results of a part of a run must not stand alone where the documentation takes them from.
  const name = save
    ? "../results/peers.json"
    : values.only !== undefined || groups !== undefined
    ? "../../build/peers_part.json"
    : quick
    ? "../../build/peers_quick.json"
    : "../results/peers.json";
  const out = values.out ?? fileURLToPath(new URL(name, import.meta.url));
  return { only, install, quick, groups, save, out, help };
}

function split(value: string | undefined): string[] | undefined {
  return value?.split(",").map((name) => name.trim()).filter((name) => name !== "");
}
