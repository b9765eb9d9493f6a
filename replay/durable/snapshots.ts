/**
 * The snapshots of a durable replay: folders in its own folder, each of which can be opened as a replay of its own. The files of the log are linked, so that a
 * snapshot costs only what is new.
 *
 * Invariants: 1. A snapshot has its name only once all of it is on the disk. 2. Only files that this library wrote are removed. A folder with another file in it stays
 * as it is.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import {
  attemptOn,
  checkPermitted,
  filesFor,
  syncNames,
  unlessMissing,
} from "../../storage/file.ts";
import type { Files } from "../../storage/files.ts";
import { folderPath, readConfig, REPLAY_FILE, writeFolder } from "./folder.ts";

/** A snapshot of a durable replay, from {@linkcode ExperienceReplay.snapshots}, which has an example. */
export interface DurableSnapshot {
  /** Its name. */
  readonly name: string;
  /** Its folder, which {@linkcode ExperienceReplay.open} opens. */
  readonly path: string;
  /** When it was made. */
  readonly madeAt: Date;
  /** Bytes of all its files. Other snapshots, and the replay itself, may share them. */
  readonly bytes: number;
}

/** A snapshot that was just made, by {@linkcode ExperienceReplay.snapshot}, which has an example. */
export interface MadeSnapshot extends DurableSnapshot {
  /** Bytes that were written for it. The others are shared, or had been in the log already. */
  readonly writtenBytes: number;
}

/** The folder that they are in. */
const FOLDER = "snapshots";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$/;
const NAME_MAX = 100;

/** Names of folders that are being made or removed. What a killed program left of them is removed. */
const [MAKING, GOING] = [".making-", ".going-"];

/** The files of a durable folder. */
const OWN =
  /^(log-\d{8,10}\.exrp|checkpoint\.(exrp|new)|lock\.exrp|exrp-sync|replay\.json(\.exrp-[0-9a-z]{7}\.(tmp|part))?)$/;

/** The name of a snapshot, checked. */
export function checkName(operation: string, name: unknown): string {
  if (typeof name === "string" && NAME.test(name) && name.length <= NAME_MAX) return name;
  throw new TypeError(
    `${operation}: the name of a snapshot has letters, digits, "-", "_" and single dots within, at most ${NAME_MAX}, got ${
      show(name)
    }`,
  );
}

/** Makes a folder, has it filled by `fill`, which gives the bytes that it wrote, and gives it its name. */
export async function makeSnapshot(
  operation: string,
  directory: string,
  name: string,
  config: ReplayConfig,
  fill: (path: string) => Promise<number>,
): Promise<MadeSnapshot> {
  const files = filesFor(operation);
  const { join } = files.path;
  const folder = join(directory, FOLDER);
  const [path, making] = [join(folder, name), join(folder, MAKING + name)];
  if (readConfig(operation, directory).config === undefined) {
    throw new ReplayError(
      "file",
      `${operation}: the replay's folder is not at ${
        show(directory)
      } any more; the replay goes on in it, but to make a snapshot, open it where it is now`,
    );
  }
  await removeLeft(operation, folder, files);
  attemptOn(operation, "write", making, files, () => files.makeFolder(making));
  try {
    await writeFolder({ path: making }, config);
    const writtenBytes = await fill(making);
    attemptOn(operation, "write", path, files, () => files.rename(making, path));
    await syncNames(operation, path, files);
    await syncNames(operation, folder, files);
    return { ...look(operation, path, name, files), writtenBytes };
  } catch (error) {
    await removeFolder(operation, making, files).catch(() => {});
    throw error;
  }
}

/** Refuses a name that is taken. */
export function checkFree(operation: string, directory: string, name: string): void {
  const files = filesFor(operation);
  const folder = files.path.join(directory, FOLDER);
  checkPermitted(operation, files.path.join(folder, name), files);
  if (!namesIn(folder, files).includes(name)) return;
  throw new ReplayError(
    "file",
    `${operation}: there is a snapshot ${
      show(name)
    } already; remove it first, or take another name`,
  );
}

/** The snapshots of a folder, the oldest first. */
export function listSnapshots(operation: string, directory: string | URL): DurableSnapshot[] {
  const files = filesFor(operation);
  const folder = files.path.join(folderPath(operation, directory), FOLDER);
  const names = attemptOn(operation, "read", folder, files, () => namesIn(folder, files));
  return names.filter((name) => NAME.test(name))
    .map((name) => look(operation, files.path.join(folder, name), name, files))
    .sort((a, b) => a.madeAt.getTime() - b.madeAt.getTime() || (a.name < b.name ? -1 : 1));
}

/** Removes a snapshot. False if there is none of this name. */
export async function removeSnapshot(
  operation: string,
  directory: string | URL,
  name: string,
): Promise<boolean> {
  const files = filesFor(operation);
  const { join } = files.path;
  const folder = join(folderPath(operation, directory), FOLDER);
  const path = join(folder, checkName(operation, name));
  checkPermitted(operation, path, files);
  if (!namesIn(folder, files).includes(name)) return false;
  checkOwn(operation, path, files);
  checkClosed(operation, path, files);
  // From here on it is no snapshot any more, whatever happens.
  const going = join(folder, GOING + name);
  attemptOn(operation, "write", path, files, () => files.rename(path, going));
  await removeFolder(operation, going, files);
  await syncNames(operation, path, files);
  return true;
}

/** The folders in a folder; none if it is not there. */
function namesIn(folder: string, files: Files): string[] {
  return unlessMissing(() => files.list(folder, "folders")) ?? [];
}

function look(operation: string, path: string, name: string, files: Files): DurableSnapshot {
  return attemptOn(operation, "read", path, files, () => {
    let [bytes, madeMs] = [0, 0];
    for (const each of files.list(path)) {
      using file = files.open(files.path.join(path, each));
      const found = file.look();
      bytes += found.bytes ?? 0;
      if (each === REPLAY_FILE) madeMs = found.changedMs;
    }
    return { name, path, madeAt: new Date(madeMs), bytes };
  });
}

/** Throws if a folder has a file that this library did not write. */
function checkOwn(operation: string, path: string, files: Files): void {
  const other = attemptOn(
    operation,
    "read",
    path,
    files,
    () => {
      // What is left where a snapshot was opened and had snapshots itself.
      const inner = namesIn(files.path.join(path, FOLDER), files).length;
      const folders = files.list(path, "folders").filter((name) => name !== FOLDER || inner > 0);
      return [...files.list(path).filter((name) => !OWN.test(name)), ...folders][0];
    },
  );
  if (other === undefined) return;
  throw new ReplayError(
    "file",
    `${operation}: ${show(path)} has ${
      show(other)
    }, which is no file of a snapshot; nothing was removed`,
  );
}

/** Throws if somebody has the snapshot open. */
function checkClosed(operation: string, path: string, files: Files): void {
  if (!files.hasLocks || !files.list(path).includes("lock.exrp")) return;
  using lock = files.open(files.path.join(path, "lock.exrp"), "r+");
  if (lock.tryLock()) return;
  throw new ReplayError(
    "log-taken",
    `${operation}: a replay has the snapshot ${show(path)} open; dispose it first`,
  );
}

/** Removes a folder. Another call, of this program or of another one, may remove it at the same time. */
async function removeFolder(operation: string, path: string, files: Files): Promise<void> {
  const { join } = files.path;
  const attempt = <T>(call: () => T): T => attemptOn(operation, "write", path, files, call);
  const names = attempt(() => unlessMissing(() => files.list(path)));
  if (names === undefined) return;
  checkOwn(operation, path, files);
  for (const name of names) {
    await attempt(() => unlessMissing(() => files.removeLater(join(path, name))));
  }
  for (const each of [join(path, FOLDER), path]) {
    attempt(() => unlessMissing(() => files.removeFolder(each)));
  }
}

/** Removes what killed programs left. Who makes a snapshot has the replay's folder open, so nobody else makes one there. */
async function removeLeft(operation: string, folder: string, files: Files): Promise<void> {
  for (const name of namesIn(folder, files)) {
    if (!name.startsWith(MAKING) && !name.startsWith(GOING)) continue;
    await removeFolder(operation, files.path.join(folder, name), files);
  }
}
