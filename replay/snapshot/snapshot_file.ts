/**
 * Snapshots in files. A snapshot is written to a new file beside the old one, which takes the old one's place once it is on the
 * disk. A process that is killed in between leaves that new file; the next save of the same name removes it.
 *
 * Invariants: 1. a reader finds the old snapshot or the new one, never half of one. 2. Only files that this library named are
 * removed, and none that a live process writes: a writer locks its file, and the system frees the lock of a process that ends. Node and
 * Bun have no locks. Nobody removes what their killed writers leave, and its name says so: `<name>.exrp-<7 random characters>.part`.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { type Files, type OpenFile, platformFiles } from "../../base/files.ts";
import type { SnapshotWriting } from "./snapshot.ts";
import type { Reading } from "./snapshot_format.ts";
import { drive, joinPieces } from "./snapshot_io.ts";

/** The end of the names of files that are being written: `<name>.exrp-<7 random characters>.tmp`. */
const TEMPORARY = /^\.exrp-[0-9a-z]{7}\.tmp$/;

/** A younger file may be between two steps of its writer: made but not locked yet, or about to be renamed. */
const ABANDONED_AGE_MS = 60_000;

/** Into a new file beside `target`, which takes the place of `target` once everything is on the disk. */
export function writeToFile(target: string | URL, { pieces }: SnapshotWriting): void {
  const operation = "serialize()";
  const files = filesFor(operation);
  const path = pathOf(operation, target, files);
  checkPermitted(path, files);
  removeAbandoned(path, files);
  const [tag = 0] = crypto.getRandomValues(new Uint32Array(1));
  const end = files.hasLocks ? "tmp" : "part";
  const temporary = `${path}.exrp-${tag.toString(36).padStart(7, "0")}.${end}`;
  const attempt = <T>(call: () => T): T => attemptOn(operation, "write", path, files, call);
  const file = attempt(() => files.create(temporary));
  let isDone = false;
  try {
    try {
      // Where the file system has no locks, nobody can remove the file either.
      ignoreErrors(() => file.lock());
      for (const piece of pieces) attempt(() => writeWhole(file, piece));
      attempt(() => {
        file.sync();
        // A sync may take minutes; the file is young again when it is renamed.
        file.touch();
      });
    } finally {
      file[Symbol.dispose]();
    }
    attempt(() => files.rename(temporary, path));
    isDone = true;
  } finally {
    if (!isDone) ignoreErrors(() => files.remove(temporary));
  }
}

/** From a file. */
export function readFromFile<T>(source: string | URL, reading: Reading<T>): T {
  const operation = "unserialize()";
  const files = filesFor(operation);
  const path = pathOf(operation, source, files);
  const attempt = <R>(call: () => R): R => attemptOn(operation, "read", path, files, call);
  using file = attempt(() => files.open(path));
  // Most pieces are small or 1 MiB; a larger one is taken as it comes, so that a lie about size costs nothing.
  return drive(reading, (count) => {
    const wanted = Math.max(1, count);
    const chunks: Uint8Array[] = [];
    let have = 0;
    while (have < wanted) {
      const chunk = new Uint8Array(Math.min(wanted - have, 2 ** 21));
      const got = attempt(() => file.read(chunk));
      if (got === 0) break;
      chunks.push(chunk.subarray(0, got));
      have += got;
    }
    return joinPieces(chunks, have);
  });
}

/** The files of this platform. */
function filesFor(operation: string): Files {
  const files = platformFiles();
  if (files !== undefined) return files;
  throw new ReplayError(
    "file",
    `${operation}: there are no files here, as in any browser; Deno, Bun and Node (from 20.16 on) have them. Without a path, serialize() returns bytes, and unserialize() takes bytes`,
  );
}

/** The path that a file URL stands for: what follows `#` or `?` is no part of it. */
function pathOf(operation: string, target: string | URL, files: Files): string {
  if (typeof target === "string") return target;
  if (target.protocol === "file:") return files.fromUrl(target);
  throw new TypeError(`${operation} takes a URL that begins with file:, got ${show(target.href)}`);
}

/** Asks for all that is needed before anything is written. */
function checkPermitted(path: string, files: Files): void {
  const folder = files.path.dirname(path);
  const lacking = files.lacking(folder);
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
function removeAbandoned(path: string, files: Files): void {
  if (!files.hasLocks) return;
  const { basename, dirname, join } = files.path;
  const [folder, name] = [dirname(path), basename(path)];
  ignoreErrors(() => {
    for (const other of files.list(folder)) {
      if (!other.startsWith(name) || !TEMPORARY.test(other.slice(name.length))) continue;
      ignoreErrors(() => removeUnlocked(join(folder, other), files));
    }
  });
}

function removeUnlocked(path: string, files: Files): void {
  using file = files.open(path, true);
  const changed = file.changedMs() ?? Date.now();
  if (Date.now() - changed > ABANDONED_AGE_MS && file.tryLock()) files.remove(path);
}

function writeWhole(file: OpenFile, piece: Uint8Array): void {
  for (let at = 0; at < piece.length;) at += file.write(piece.subarray(at));
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
  files: Files,
  call: () => T,
): T {
  try {
    return call();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    if (files.isRefusal(cause)) {
      const message = `${operation}: the program is not allowed to ${verb} ${
        show(path)
      }; run with --allow-${verb}=${path}`;
      throw new ReplayError("permission", message, { cause });
    }
    throw new ReplayError("file", `${operation}: can't ${verb} ${show(path)}: ${why}`, { cause });
  }
}
