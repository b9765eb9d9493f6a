/**
 * The folder of a durable replay, and the file in it that says what the replay is.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import { attemptOn, checkPermitted, filesFor, pathOf, writeNewFile } from "../../storage/file.ts";
import { configOf } from "../share/share_note.ts";

const OPEN = "ExperienceReplay.open()";

/** The file that says what the replay of a folder is. */
export const REPLAY_FILE = "replay.json";

/** The version of that file. */
const FORMAT = 1;

/** The folder of a durable replay, before the replay is made. */
export interface Folder {
  /** As it was given. */
  readonly path: string;
  /** The configuration of the replay in it; undefined if it is new. */
  readonly config: ReplayConfig | undefined;
}

/** The path of a folder. */
export function folderPath(operation: string, directory: string | URL): string {
  if (typeof directory !== "string" && !(directory instanceof URL)) {
    throw new TypeError(
      `${operation}: directory must be a path or a file URL, got ${show(directory)}`,
    );
  }
  return pathOf(operation, directory, filesFor(operation));
}

/** Whether a folder stands at a path. It throws where nothing is. */
export function isFolder(operation: string, path: string): boolean {
  const files = filesFor(operation);
  attemptOn(operation, "read", path, files, () => files.realPath(path));
  try {
    files.list(path);
    return true;
  } catch {
    return false;
  }
}

/** Looks into a folder that is to be opened. */
export function readFolder(directory: string | URL): Folder {
  const path = folderPath(OPEN, directory);
  const files = filesFor(OPEN);
  checkPermitted(OPEN, files.path.join(path, REPLAY_FILE), files);
  return { path, config: readConfig(OPEN, path) };
}

/** What the file of a folder says; undefined if it is not there. */
export function readConfig(operation: string, path: string): ReplayConfig | undefined {
  const files = filesFor(operation);
  const file = files.path.join(path, REPLAY_FILE);
  try {
    using open = files.open(file);
    const { bytes = 0 } = open.look();
    const all = new Uint8Array(bytes);
    let at = 0;
    for (let got = 1; got > 0 && at < bytes; at += got) got = open.read(all.subarray(at));
    return parseConfig(operation, file, new TextDecoder().decode(all.subarray(0, at)));
  } catch (cause) {
    const { code, name } = cause as { readonly code?: string; readonly name?: string };
    if (code === "ENOENT" || name === "NotFound") return undefined;
    if (cause instanceof ReplayError) throw cause;
    return attemptOn(operation, "read", file, files, () => {
      throw cause;
    });
  }
}

/** A sum of a text (FNV-1a), which differs where a bit of it does. */
function sumOf(text: string): number {
  let sum = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

function parseConfig(operation: string, file: string, text: string): ReplayConfig {
  let json: {
    readonly format?: unknown;
    readonly library?: unknown;
    readonly sum?: unknown;
    readonly config?: ReplayConfig;
  };
  try {
    json = JSON.parse(text);
    if (json.config === undefined) throw new TypeError("it has no config");
  } catch (cause) {
    throw new ReplayError(
      "log-mismatch",
      `${operation}: ${show(file)} does not describe a replay: ${cause}`,
      { cause },
    );
  }
  if (json.format !== FORMAT) {
    throw new ReplayError(
      "log-mismatch",
      `${operation}: ${show(file)} has format ${show(json.format)} of library version ${
        show(json.library)
      }, and this is ${VERSION}, which reads format ${FORMAT}`,
    );
  }
  if (json.sum !== sumOf(JSON.stringify(json.config))) {
    throw new ReplayError(
      "log-damaged",
      `${operation}: ${show(file)} is damaged: it has not the bytes that were written`,
    );
  }
  return configOf({ config: json.config });
}

/** Makes the folder of a new replay, if it is not there. */
export function makeFolder({ path }: Folder): void {
  const files = filesFor(OPEN);
  attemptOn(OPEN, "write", path, files, () => files.makeFolder(path));
}

/** Writes the file that says what the replay of a folder is. Its limits are those that the replay is made with; the log says which it has. */
export async function writeFolder({ path }: Folder, config: ReplayConfig): Promise<void> {
  const files = filesFor(OPEN);
  const file = files.path.join(path, REPLAY_FILE);
  const sum = sumOf(JSON.stringify(config));
  const json = JSON.stringify({ format: FORMAT, library: VERSION, sum, config });
  await writeNewFile(OPEN, file, files, [new TextEncoder().encode(json)]);
}

/** What must be equal in the options and in the folder, by its name in errors. Limits may differ. */
function factsOf(
  { columns, leaves: _, pick, eviction, capacity: _1, capacityBytes: _2, maxAge: _3, ...numbers }:
    ReplayConfig,
): Map<string, string> {
  const text = (value: unknown): string => JSON.stringify(value) ?? "none";
  return new Map([
    ...columns.map(({ name, column }) => [name, String(column)] as const),
    ...Object.entries(pick).map(([name, value]) => [`pick.${name}`, text(value)] as const),
    ["eviction", text(eviction)],
    ...Object.entries(numbers).map(([name, value]) => [name, text(value)] as const),
  ]);
}

/** Compares the options that were given with the replay of the folder. */
export function checkSameConfig(
  { path }: Folder,
  given: ReplayConfig,
  found: ReplayConfig,
  hasSeed: boolean,
): void {
  const [asked, has] = [factsOf(given), factsOf(found)];
  if (!hasSeed) asked.set("seed", has.get("seed") ?? "none");
  for (const name of new Set([...asked.keys(), ...has.keys()])) {
    if (asked.get(name) === has.get(name)) continue;
    throw new ReplayError(
      "log-mismatch",
      `${OPEN}: ${name} is ${has.get(name) ?? "not there"} in the replay of ${show(path)}, and ${
        asked.get(name) ?? "not there"
      } in the options that you gave; leave the options out, or give those of the folder`,
    );
  }
}

/** Whether these limits are those that the file of a folder says. */
export function areLimitsOf({ config }: Folder, limits: ReplayConfig): boolean {
  return config !== undefined && config.capacity === limits.capacity &&
    config.capacityBytes === limits.capacityBytes && config.maxAge === limits.maxAge;
}
