/**
 * A file is written beside the old one, whose place it takes once it is on the disk. A process that is killed in between leaves that new file;
 * the next save of the same name removes it.
 *
 * Invariants: 1. A reader finds the old file or the new one, never half of one, also after a power cut: the bytes are on the disk before the file
 * gets its name, and the name is there before the call ends. 2. What fails on that way is an error with the system's error as its cause.
 * 3. The new file can be read and written by those who could the old one, as far as the file system has modes. 4. Only files that this library named are removed, and none that a live process writes: a writer locks its file, and the system frees the lock
 * of a process that ends. Node and Bun have no locks. Nobody removes what their killed writers leave, and its name says so:
 * `<name>.exrp-<7 random characters>.part`.
 *
 * @module
 */

import { joinBytes, release } from "../base/bytes.ts";
import { show } from "../base/checks.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { truncated } from "./errors.ts";
import { type Files, type Found, type OpenFile, platformFiles } from "./files.ts";
import { drive, type Reading } from "./frames.ts";

/** The end of the names of files that are being written: `<name>.exrp-<7 random characters>.tmp`. */
const TEMPORARY = /^\.exrp-[0-9a-z]{7}\.tmp$/;

/** A younger file may be between two steps of its writer: made but not locked yet, or about to be renamed. */
const ABANDONED_AGE_MS = 60_000;

/**
 * Into a new file beside `target`, which takes the place of `target` once everything is on the disk, while the program goes on. The new file
 * has the mode of the old one. Behind a link, it takes the place of the link's target. What is no file, such as a pipe, is written to as it is.
 */
export async function writeToFile(
  target: string | URL,
  pieces: Iterable<Uint8Array>,
): Promise<void> {
  const operation = "serialize()";
  const files = filesFor(operation);
  const named = pathOf(operation, target, files);
  checkPermitted(operation, named, files);
  const attempt = <T>(call: () => T): T => attemptOn(operation, "write", named, files, call);
  const { path, found } = attempt(() => endOf(named, files));
  if (found?.isFile === false || DESCRIPTOR.test(path)) {
    using file = attempt(() => files.open(named, "a"));
    for (const piece of pieces) await attempt(() => writeAll(file, piece));
    return;
  }
  if (path !== named) checkPermitted(operation, path, files);
  removeAbandoned(path, files);
  await writeNewFile(operation, path, files, pieces, found?.mode);
}

/** What a process has open, such as that behind `/dev/stdout`. Nothing takes its place, even where it is a file: others write to it, too. */
const DESCRIPTOR = /^[/](dev|proc[/][^/]+)[/]fd[/]\d+$/;

/** As many links as systems follow. */
const LINKS_MAX = 40;

/** Where a path leads behind links, and what is there; undefined where nothing is yet. */
function endOf(named: string, files: Files): { path: string; found: Found | undefined } {
  const { dirname, resolve } = files.path;
  let path = named;
  for (let k = 0; k <= LINKS_MAX; k++) {
    const found = unlessMissing(() => files.find(path));
    if (found?.link === undefined || DESCRIPTOR.test(path)) return { path, found };
    path = resolve(files.realPath(dirname(path)), found.link);
  }
  throw new Error(`it is a link, and still no file is found behind ${LINKS_MAX} links`);
}

/** What a call returns, now or later; undefined if the system says that the file or folder is not there. */
export function unlessMissing<T>(call: () => T): T | undefined {
  return rescue(call, (error) => {
    const { code, name } = error as { readonly code?: string; readonly name?: string };
    if (code !== "ENOENT" && name !== "NotFound") throw error;
    return undefined;
  });
}

/**
 * Writes a new file at `path`, in the place of one that may be there and has this `mode`, while the program goes on. A file that was not renamed
 * in the end is removed.
 */
export async function writeNewFile(
  operation: string,
  path: string,
  files: Files,
  pieces: Iterable<Uint8Array>,
  mode?: number,
): Promise<void> {
  const attempt = <T>(call: () => T): T => attemptOn(operation, "write", path, files, call);
  const [tag = 0] = crypto.getRandomValues(new Uint32Array(1));
  const end = files.hasLocks ? "tmp" : "part";
  const temporary = `${path}.exrp-${tag.toString(36).padStart(7, "0")}.${end}`;
  let isRenamed = false;
  try {
    {
      // Nobody may read it meanwhile who may not read the old one.
      using file = attempt(() => files.create(temporary, mode === undefined ? 0o666 : 0o600));
      // Where the file system has no locks, nobody can remove the file either.
      ignoreErrors(() => file.lock());
      for (const piece of pieces) await attempt(() => writeAll(file, piece));
      await attempt(() => file.syncLater());
      // A sync may take minutes; the file is young again when it is renamed.
      attempt(() => file.touch());
    }
    // Some file systems have no modes.
    if (mode !== undefined) ignoreErrors(() => files.setMode(temporary, mode));
    attempt(() => files.rename(temporary, path));
    isRenamed = true;
  } finally {
    if (!isRenamed) ignoreErrors(() => files.remove(temporary));
  }
  await syncNames(operation, path, files);
}

/** Puts the name of a file or a folder on the disk, where it was made, renamed or removed. */
export async function syncNames(operation: string, path: string, files: Files): Promise<void> {
  const attempt = <T>(call: () => T): T => attemptOn(operation, NAME, path, files, call);
  using folder = attempt(() => rescue(() => files.open(files.path.dirname(path)), unsyncable));
  if (folder !== undefined) await attempt(() => rescue(() => folder.syncLater(), unsyncable));
}

/** Writes a piece, and gives its memory back. */
async function writeAll(file: OpenFile, piece: Uint8Array): Promise<void> {
  let at = 0;
  // An empty piece is a turn for the others, too.
  do at += await file.writeLater(piece.subarray(at)); while (at < piece.length);
  if (at > 0) release([piece]);
}

/** How systems say that they open no folder, or sync none, as Windows and some shares. They do it by themselves, sooner or later. */
const UNSYNCABLE = ["EACCES", "EBADF", "EINVAL", "EISDIR", "ENOSYS", "ENOTSUP", "EPERM"];

function unsyncable(error: unknown): undefined {
  const { name, code } = error as { readonly name?: string; readonly code?: string };
  // Deno has no codes for some errors of Windows, but a class for this one.
  if (name !== "PermissionDenied" && !UNSYNCABLE.includes(code ?? "")) throw error;
}

/** Most pieces are small or 1 MiB. Before a piece above this size is read, it is checked against the size of the file. */
const LARGE_BYTES = 2 ** 21;

/** From a file. */
export function readFromFile<T>(source: string | URL, reading: Reading<T>): T {
  const operation = "unserialize()";
  const files = filesFor(operation);
  const path = pathOf(operation, source, files);
  const attempt = <R>(call: () => R): R => attemptOn(operation, "read", path, files, call);
  using file = attempt(() => files.open(path));
  let taken = 0;
  return drive(reading, (count) => {
    const wanted = Math.max(1, count);
    let chunkBytes = wanted;
    if (wanted > LARGE_BYTES) {
      // A lie about size must cost nothing: the file has the bytes, or they are taken as they come.
      const { bytes } = attempt(() => file.look());
      if (bytes === undefined) chunkBytes = LARGE_BYTES;
      else if (bytes - taken < wanted) {
        throw truncated("a section", bytes, wanted - (bytes - taken));
      }
    }
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let have = 0;
    while (have < wanted) {
      const chunk = new Uint8Array(Math.min(wanted - have, chunkBytes));
      const got = attempt(() => file.read(chunk));
      if (got === 0) break;
      chunks.push(chunk.subarray(0, got));
      have += got;
    }
    taken += have;
    const [first] = chunks;
    return first?.length === have ? first : joinBytes(chunks);
  });
}

/** The files of this platform. */
export function filesFor(operation: string): Files {
  const files = platformFiles();
  if (files !== undefined) return files;
  throw new ReplayError(
    "file",
    `${operation}: there are no files here, as in any browser; Deno, Bun and Node (from 20.16 on) have them. Without a path, serialize() returns bytes, and unserialize() takes bytes`,
  );
}

/** The path that a file URL stands for: what follows `#` or `?` is no part of it. */
export function pathOf(operation: string, target: string | URL, files: Files): string {
  if (typeof target === "string") return target;
  if (target.protocol === "file:") return files.fromUrl(target);
  throw new TypeError(`${operation} takes a URL that begins with file:, got ${show(target.href)}`);
}

/** Asks for all that is needed before anything is written. */
export function checkPermitted(operation: string, path: string, files: Files): void {
  const folder = files.path.dirname(path);
  const lacking = files.lacking(folder);
  if (lacking.length === 0) return;
  throw new ReplayError(
    "permission",
    `${operation}: to save ${
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
  using file = files.open(path, "r+");
  const isOld = Date.now() - file.look().changedMs > ABANDONED_AGE_MS;
  if (isOld && file.tryLock()) files.remove(path);
}

/** Calls, and goes on without where that fails. */
export function ignoreErrors(call: () => void): void {
  try {
    call();
  } catch {
    // Goes on.
  }
}

/** What is done with a file. */
type Verb = "read" | "write" | typeof NAME;

/** The file is whole and in its place, but a power cut may bring back what was there before. */
const NAME = "put on the disk the new name of";

/** Does something with a file, or gives a promise to: what the system refuses becomes an error with a code. */
export function attemptOn<T>(
  operation: string,
  verb: Verb,
  path: string,
  files: Files,
  call: () => T,
): T {
  return rescue(call, (cause) => {
    throw refusal(operation, verb, path, files, cause);
  });
}

/** Calls, and where that fails, now or later, calls `failed` with the error. */
function rescue<T, F>(call: () => T, failed: (cause: unknown) => F): T | F {
  try {
    const made = call();
    return made instanceof Promise ? made.catch(failed) as T : made;
  } catch (cause) {
    return failed(cause);
  }
}

/** The error for what the system refused. */
function refusal(
  operation: string,
  verb: Verb,
  path: string,
  files: Files,
  cause: unknown,
): ReplayError {
  const isRefused = files.isRefusal(cause);
  if (isRefused && verb !== NAME && files.lacking(path).includes(verb)) {
    const message = `${operation}: the program is not allowed to ${verb} ${
      show(path)
    }; run with --allow-${verb}=${path}`;
    return new ReplayError("permission", message, { cause });
  }
  // Deno asks for more than this permission where a path belongs to the system, and Node has flags of its own. Their words say so.
  const message = `${operation}: can't ${verb} ${show(path)}: ${reasonOf(cause)}`;
  return new ReplayError(isRefused ? "permission" : "file", message, { cause });
}
