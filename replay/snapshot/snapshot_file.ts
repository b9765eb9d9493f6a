/**
 * Snapshots in files. A snapshot is written to a new file beside the old one, which takes the old one's place once it is on the
 * disk. A process that is killed in between leaves that new file; the next save of the same name removes it.
 *
 * Invariants: 1. a reader finds the old snapshot or the new one, never half of one. 2. Only files that this library named are
 * removed, and none that a live process writes: a writer locks its file, and the system frees the lock of a process that ends.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type { SnapshotWriting } from "./snapshot.ts";
import type { Reading } from "./snapshot_format.ts";
import { drive, joinPieces } from "./snapshot_io.ts";

/** The end of the names of files that are being written: `<name>.exrp-<7 random characters>.tmp`. */
const TEMPORARY = /^\.exrp-[0-9a-z]{7}\.tmp$/;

/** A younger file may be between two steps of its writer: made but not locked yet, or about to be renamed. */
const ABANDONED_AGE_MS = 60_000;

/** Into a new file beside `target`, which takes the place of `target` once everything is on the disk. */
export function writeToFile(target: string | URL, { pieces }: SnapshotWriting): void {
  const path = pathOf("serialize()", target);
  checkPermitted(path);
  removeAbandoned(path);
  const [tag = 0] = crypto.getRandomValues(new Uint32Array(1));
  const temporary = `${path}.exrp-${tag.toString(36).padStart(7, "0")}.tmp`;
  const attempt = <T>(call: () => T): T => attemptOn("serialize()", "write", path, call);
  const file = attempt(() => Deno.openSync(temporary, { write: true, createNew: true }));
  let isDone = false;
  try {
    try {
      lock(file);
      for (const piece of pieces) attempt(() => writeWhole(file, piece));
      attempt(() => {
        file.syncSync();
        // A sync may take minutes; the file is young again when it is renamed.
        file.utimeSync(new Date(), new Date());
      });
    } finally {
      file.close();
    }
    attempt(() => Deno.renameSync(temporary, path));
    isDone = true;
  } finally {
    if (!isDone) ignoreErrors(() => Deno.removeSync(temporary));
  }
}

/** From a file. */
export function readFromFile<T>(source: string | URL, reading: Reading<T>): T {
  const path = pathOf("unserialize()", source);
  const attempt = <R>(call: () => R): R => attemptOn("unserialize()", "read", path, call);
  using file = attempt(() => Deno.openSync(path, { read: true }));
  // Most pieces are small or 1 MiB; a larger one is taken as it comes, so that a lie about size costs nothing.
  return drive(reading, (count) => {
    const wanted = Math.max(1, count);
    const chunks: Uint8Array[] = [];
    let have = 0;
    while (have < wanted) {
      const chunk = new Uint8Array(Math.min(wanted - have, 2 ** 21));
      const got = attempt(() => file.readSync(chunk));
      if (got === null) break;
      chunks.push(chunk.subarray(0, got));
      have += got;
    }
    return joinPieces(chunks, have);
  });
}

/** The path that a file URL stands for: what follows `#` or `?` is no part of it. */
function pathOf(operation: string, target: string | URL): string {
  if (typeof target === "string") return target;
  if (target.protocol === "file:") return fileURLToPath(target);
  throw new TypeError(`${operation} takes a URL that begins with file:, got ${show(target.href)}`);
}

/** Asks for all that is needed before anything is written. */
function checkPermitted(path: string): void {
  const folder = dirname(path);
  const lacking = (["write", "read"] as const).filter((name) =>
    Deno.permissions.requestSync({ name, path: folder }).state !== "granted"
  );
  if (lacking.length === 0) return;
  throw new ReplayError(
    "permission",
    `serialize(): to save ${
      show(path)
    } the program must be allowed to write and to read its folder, because a new file beside it takes its place; run with ${
      lacking.map((name) => `--allow-${name}=${folder}`).join(" ")
    }`,
  );
}

/** Removes what savers of this path left that were killed. A file that stays is no reason not to save. */
function removeAbandoned(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  ignoreErrors(() => {
    for (const entry of Deno.readDirSync(folder)) {
      if (!entry.isFile || !entry.name.startsWith(name)) continue;
      if (!TEMPORARY.test(entry.name.slice(name.length))) continue;
      ignoreErrors(() => removeUnlocked(join(folder, entry.name)));
    }
  });
}

function removeUnlocked(path: string): void {
  using file = Deno.openSync(path, { read: true, write: true });
  const written = file.statSync().mtime?.getTime() ?? Date.now();
  if (Date.now() - written > ABANDONED_AGE_MS && file.tryLockSync(true)) Deno.removeSync(path);
}

/** Where the file system has no locks, nobody can remove the file either. */
function lock(file: Deno.FsFile): void {
  ignoreErrors(() => file.lockSync(true));
}

function writeWhole(file: Deno.FsFile, piece: Uint8Array): void {
  for (let at = 0; at < piece.length;) at += file.writeSync(piece.subarray(at));
}

function ignoreErrors(call: () => void): void {
  try {
    call();
  } catch {
    // Whoever calls this goes on without.
  }
}

/** Does something with a file: what the system refuses becomes an error with a code. */
function attemptOn<T>(
  operation: string,
  verb: "read" | "write",
  path: string,
  call: () => T,
): T {
  try {
    return call();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    if (cause instanceof Deno.errors.NotCapable) {
      const message = `${operation}: the program is not allowed to ${verb} ${
        show(path)
      }; run with --allow-${verb}=${path}`;
      throw new ReplayError("permission", message, { cause });
    }
    throw new ReplayError("file", `${operation}: can't ${verb} ${show(path)}: ${why}`, { cause });
  }
}
