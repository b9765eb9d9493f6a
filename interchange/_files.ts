/**
 * Files for other formats: read at any place, and written from the beginning to the end under another name.
 *
 * Invariants: 1. A file has its name only once all of it is on the disk. 2. A folder that was not finished is removed, and nothing else is.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { builtinModule } from "../base/platform.ts";
import { type Files, platformFiles } from "../storage/files.ts";
import { pathOf } from "../storage/file.ts";

/** What is used of `node:fs/promises`, which Deno, Node and Bun have. */
interface NodeFiles {
  open(path: string, flags: "r" | "wx"): Promise<NodeHandle>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true; recursive?: boolean }): Promise<void>;
  mkdir(path: string, options: { recursive: true }): Promise<unknown>;
  readdir(path: string): Promise<string[]>;
  stat(path: string): Promise<{ readonly size: number; isDirectory(): boolean }>;
}

interface NodeHandle {
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    at: number,
  ): Promise<{ readonly bytesRead: number }>;
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
  ): Promise<{ readonly bytesWritten: number }>;
  stat(): Promise<{ readonly size: number }>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Where {@linkcode importEpisodes} reads: a path, a URL of a file, or the bytes of a file. */
export type EpisodeFile = string | URL | Uint8Array;

/** Bytes that can be read at any place. */
export interface DataFile {
  /** How many there are. */
  readonly size: number;
  /** Reads so many bytes from a place on; fewer where the file ends. */
  read(at: number, count: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Closes the file. */
  close(): Promise<void>;
}

/** The files of the platform, and `node:fs/promises`. */
export function filesOf(): { readonly files: Files; readonly fs: NodeFiles } {
  const files = platformFiles();
  const fs = builtinModule<NodeFiles>("node:fs/promises");
  if (files !== undefined && fs !== undefined) return { files, fs };
  throw new ReplayError("file", "there are no files here, as in any browser; give the bytes");
}

/** Does something with a file; what the system refuses becomes an error with a code. */
async function attempt<T>(verb: string, path: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const name = JSON.stringify(lastName(path));
    throw new ReplayError("file", `can't ${verb} ${name}: ${reasonOf(cause)}`, { cause });
  }
}

/** The path of a source or a target, of a file or a folder. */
export function pathOfData(where: string, source: string | URL): string {
  return pathOf(where, source, filesOf().files);
}

/** Opens a file or bytes. */
export async function openData(where: string, source: EpisodeFile): Promise<DataFile> {
  if (source instanceof Uint8Array) {
    return {
      size: source.length,
      read: (at, count) => Promise.resolve(new Uint8Array(source.subarray(at, at + count))),
      close: () => Promise.resolve(),
    };
  }
  const { fs } = filesOf();
  const path = pathOfData(where, source);
  const handle = await attempt("read", path, () => fs.open(path, "r"));
  const { size } = await attempt("read", path, () => handle.stat());
  return {
    size,
    async read(at, count): Promise<Uint8Array<ArrayBuffer>> {
      const bytes = new Uint8Array(Math.max(0, Math.min(count, size - at)));
      for (let have = 0; have < bytes.length;) {
        const { bytesRead } = await attempt(
          "read",
          path,
          () => handle.read(bytes, have, bytes.length - have, at + have),
        );
        if (bytesRead === 0) return bytes.slice(0, have);
        have += bytesRead;
      }
      return bytes;
    },
    close: () => handle.close(),
  };
}

/** The bytes of a whole file; undefined where there is none. */
export async function readWhole(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (!await isThere(path)) return undefined;
  const file = await openData("", path);
  try {
    return await file.read(0, file.size);
  } finally {
    await file.close();
  }
}

/** Whether something stands at a path. */
export async function isThere(path: string): Promise<boolean> {
  return await kindOf(path) !== undefined;
}

/** What stands at a path; undefined where nothing does. */
export async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
  try {
    return (await filesOf().fs.stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

/** The names in a folder, sorted; none where it is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  if (await kindOf(folder) !== "folder") return [];
  return (await attempt("read", folder, () => filesOf().fs.readdir(folder))).sort();
}

/** A name beside another one, which nobody has. */
function besides(path: string): string {
  const [tag = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `${path}.exrp-${tag.toString(36).padStart(7, "0")}.part`;
}

/** The name that something gets once it is done. */
export function lastName(path: string): string {
  return path.replaceAll(/\.exrp-\w{7}\.part/g, "");
}

/**
 * Makes what is to stand at `target`, a file or a folder, under a name beside it, and gives it its own name once `make` is done. What fails leaves
 * nothing, and what stood there before stays. A file that stood there is replaced. So is a folder that has nothing but some of the names in `replaced`.
 */
export async function makeAt<T>(
  target: string,
  kind: "file" | "folder",
  make: (temporary: string) => Promise<T>,
  replaced: readonly string[] = [],
): Promise<T> {
  const { fs, files } = filesOf();
  // Behind a slash, a name would be one in the folder.
  const path = files.path.join(files.path.dirname(target), files.path.basename(target));
  /** Whether something stands there that is replaced. */
  const check = async (): Promise<boolean> => {
    const there = await kindOf(path);
    const other = (await namesIn(path)).find((name) => !replaced.includes(name));
    const isOther = there !== undefined && there !== kind;
    if (!isOther && other === undefined) return there !== undefined;
    const found = isOther ? `a ${there} is there` : `the folder has ${JSON.stringify(other)} in it`;
    throw new ReplayError("file", `can't write ${JSON.stringify(lastName(path))}: ${found}`);
  };
  // Said before the work, which may take hours.
  await check();
  const temporary = besides(path);
  const old = besides(path);
  let isDone = false;
  try {
    const made = await make(temporary);
    if (kind === "file") await attempt("write", path, () => sync(temporary));
    // A name goes over a file at once, and over a folder in two steps.
    const isReplaced = await check() && kind === "folder";
    if (isReplaced) await attempt("write", path, () => fs.rename(path, old));
    try {
      await attempt("write", path, () => fs.rename(temporary, path));
    } catch (error) {
      if (isReplaced) await attempt("keep", path, () => fs.rename(old, path));
      throw error;
    }
    isDone = true;
    if (isReplaced) {
      await attempt("remove", old, () => fs.rm(old, { force: true, recursive: true }));
    }
    // Some systems sync no folders; they do it by themselves, sooner or later.
    await sync(files.path.dirname(path)).catch(() => {});
    return made;
  } finally {
    if (!isDone) await fs.rm(temporary, { force: true, recursive: true }).catch(() => {});
  }
}

/** Waits until a file or a folder is on the disk. */
async function sync(path: string): Promise<void> {
  const handle = await filesOf().fs.open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A new file that is written from its beginning to its end. */
export interface NewFile {
  /** Appends bytes. */
  write(bytes: Uint8Array): Promise<void>;
}

/** Writes a new file, which has its name once all of it is on the disk. */
export function makeFile<T>(path: string, fill: (file: NewFile) => Promise<T>): Promise<T> {
  const { fs } = filesOf();
  return makeAt(path, "file", async (temporary) => {
    const handle = await attempt("write", path, () => fs.open(temporary, "wx"));
    try {
      return await fill({
        async write(bytes): Promise<void> {
          for (let at = 0; at < bytes.length;) {
            const { bytesWritten } = await attempt(
              "write",
              path,
              () => handle.write(bytes, at, bytes.length - at),
            );
            at += bytesWritten;
          }
        },
      });
    } finally {
      await handle.close();
    }
  });
}

/** Makes a folder, with its parents. */
export async function makeFolder(path: string): Promise<void> {
  await attempt("write", path, () => filesOf().fs.mkdir(path, { recursive: true }));
}
