/**
 * The folder of a durable replay, and the file in it that says what the replay is.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import * as described from "../../storage/described_folder.ts";
import {
  checkFolderPermitted,
  checkSameFacts,
  type DescribedKind,
  readDescription,
  writeDescription,
} from "../../storage/described_folder.ts";
import { attemptOn, filesFor } from "../../storage/file.ts";
import { configOf } from "../share/share_note.ts";

const OPEN = "ExperienceReplay.open()";

/** The file that says what the replay of a folder is. */
export const REPLAY_FILE = "replay.json";

/** The folder of a durable replay, before the replay is made. */
export interface Folder {
  /** As it was given. */
  readonly path: string;
  /** The configuration of the replay in it; undefined if it is new. */
  readonly config: ReplayConfig | undefined;
  /** The byte of its file in which a flipped bit was repaired, in memory. */
  readonly repairedByte: number | undefined;
}

/** What all folders of replays have. */
function kindOf(operation: string): DescribedKind {
  return { operation, name: REPLAY_FILE, format: 1, of: "replay", one: "a replay" };
}

/** The path of a folder. */
export function folderPath(operation: string, directory: string | URL): string {
  return described.folderPath(kindOf(operation), directory);
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
  checkFolderPermitted(kindOf(OPEN), path);
  return readConfig(OPEN, path);
}

/** What the file of a folder says. */
export function readConfig(operation: string, path: string): Folder {
  const found = readDescription(kindOf(operation), path);
  if (found === undefined) return { path, config: undefined, repairedByte: undefined };
  const { config, repairedByte } = found;
  try {
    return { path, config: configOf({ config: config as ReplayConfig }), repairedByte };
  } catch (cause) {
    throw new ReplayError(
      "log-damaged",
      `${operation}: ${show(path)} has a ${REPLAY_FILE} that describes no replay: ${cause}`,
      { cause },
    );
  }
}

/** Makes the folder of a new replay, if it is not there. */
export function makeFolder({ path }: Folder): void {
  described.makeFolder(kindOf(OPEN), path);
}

/** Writes the file that says what the replay of a folder is. Its limits are those that the replay is made with; the log says which it has. */
export function writeFolder({ path }: Pick<Folder, "path">, config: ReplayConfig): Promise<void> {
  return writeDescription(kindOf(OPEN), path, config);
}

/** What must be equal in the options and in the folder, by its name in errors. Limits may differ. */
function factsOf(
  { capacity: _1, capacityBytes: _2, maxAge: _3, ...config }: ReplayConfig,
): Map<string, string> {
  // The names of the columns say how the state is put together, and which extras there are.
  const { columns, leaves: _4, tree: _5, extraNames: _6, pick, eviction, ...numbers } = config;
  const text = (value: unknown): string => JSON.stringify(value) ?? "none";
  return new Map([
    ...columns.map(({ name, column }) => [name, String(column)] as const),
    ["the order of the columns", columns.map(({ name }) => name).join(", ")],
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
  checkSameFacts(kindOf(OPEN), path, asked, has);
}

/** Whether the file of a folder says that the replay has these limits, as it was written. */
export function isWritten({ config, repairedByte }: Folder, limits: ReplayConfig): boolean {
  return config !== undefined && repairedByte === undefined &&
    config.capacity === limits.capacity &&
    config.capacityBytes === limits.capacityBytes && config.maxAge === limits.maxAge;
}
