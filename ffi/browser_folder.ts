/**
 * Folders of a browser's own file system (OPFS), for the WebAssembly kernel in a dedicated Worker.
 *
 * There, an open file is read and written at once, but files are opened, made and removed only while the program waits. So all files of a folder are opened before
 * the kernel asks for one, and those of the next segments ahead of time. The files are those of any other system, byte by byte.
 *
 * Invariants: 1. A file is there for the kernel if it has bytes. An empty one is open ahead, or is to be removed. 2. Who has the lock's file open alone touches the
 * folder. The browser gives it back when the Worker ends, however it ends. 3. `rename` is one step: the file that is to be moved first says where to, and is synced. Who opens
 * the folder after a crash does such a move again. 4. Where no segment is open ahead, the kernel writes on in its last one.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { builtinModule } from "../base/platform.ts";
import { type DiskFile, type DiskFolder, FRESH, systemError } from "./disk.ts";
import { segmentFile } from "./status_errors.ts";

/** What is used of `FileSystemSyncAccessHandle`. */
interface Handle {
  getSize(): number;
  read(into: Uint8Array, options: { readonly at: number }): number;
  write(bytes: Uint8Array, options: { readonly at: number }): number;
  flush(): void;
  truncate(bytes: number): void;
  close(): void;
}

/** What is used of `FileSystemFileHandle`. Outside of a dedicated Worker, it opens nothing for writing at once. */
interface FileEntry {
  readonly kind: "file" | "directory";
  createSyncAccessHandle?(): Promise<Handle>;
}

/** What is used of `FileSystemDirectoryHandle`. */
interface Directory {
  entries(): AsyncIterable<[string, FileEntry]>;
  getFileHandle(name: string, options?: { readonly create: boolean }): Promise<FileEntry>;
  getDirectoryHandle(name: string, options: { readonly create: boolean }): Promise<Directory>;
  removeEntry(name: string): Promise<void>;
}

/** The file whose being open is the lock, the one that is moved, and the one that says where the last checkpoint is. */
const [LOCK, NEW, CHECKPOINT] = ["lock.exrp", "checkpoint.new", "checkpoint.exrp"] as const;

const SEGMENT = /^log-(\d{8,10})\.exrp$/;

/** So many segments are open ahead. */
const AHEAD = 4;

/** A page that is loaded again may come before its last Worker has ended. */
const LOCK_WAIT_MS = 2000;
const LOCK_TRY_MS = 50;

/** The end of a file that is being moved: behind its bytes and its new name are their lengths, a sum of all before, and this. */
const MOVE = 0x45564f4d;

function segmentOf(name: string): number {
  return Number(SEGMENT.exec(name)?.[1] ?? 0);
}

function nameOf(error: unknown): string {
  return (error as { readonly name?: string }).name ?? "";
}

/** A sum of bytes (FNV-1a). */
function sumOf(bytes: Uint8Array): number {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

function readAll(handle: Handle): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(handle.getSize());
  return bytes.subarray(0, handle.read(bytes, { at: 0 }));
}

function writeAll(handle: Handle, bytes: Uint8Array, to: number): void {
  for (let at = 0; at < bytes.length;) {
    const count = handle.write(bytes.subarray(at), { at: to + at });
    if (count === 0) throw systemError("ENOSPC", "the browser writes no more bytes");
    at += count;
  }
}

/** Opens a file. One that is removed meanwhile is made again. */
async function openHandle(directory: Directory, name: string): Promise<Handle> {
  for (;;) {
    const entry = await directory.getFileHandle(name, { create: true });
    try {
      if (entry.createSyncAccessHandle === undefined) throw systemError("ENOSYS", NEEDED);
      return await entry.createSyncAccessHandle();
    } catch (error) {
      if (nameOf(error) !== "NotFoundError") throw error;
    }
  }
}

/** A folder that is open. */
export class BrowserFolder implements DiskFolder {
  readonly #key: string;
  readonly #directory: Directory;
  readonly #handles = new Map<string, Handle>();
  #work: Promise<void> = Promise.resolve();
  #isLocked = false;
  #isEnded = false;

  private constructor(key: string, directory: Directory) {
    this.#key = key;
    this.#directory = directory;
  }

  /** Opens a folder, with its lock and all its files. `description` is the file that says what is in it. */
  static async open(
    key: string,
    directory: Directory,
    description: string,
  ): Promise<BrowserFolder> {
    const folder = new BrowserFolder(key, directory);
    const handles = folder.#handles;
    handles.set(LOCK, await openHandle(directory, LOCK));
    try {
      const names = new Set<string>([NEW, CHECKPOINT, description]);
      for await (const [name, { kind }] of directory.entries()) {
        if (kind === "file" && SEGMENT.test(name)) names.add(name);
      }
      const results = await Promise.allSettled(Array.from(names, async (name) => {
        handles.set(name, await openHandle(directory, name));
      }));
      for (const result of results) if (result.status === "rejected") throw result.reason;
      folder.#moveAgain();
      folder.#levelSoon();
      await folder.settled;
    } catch (error) {
      for (const handle of handles.values()) handle.close();
      throw error;
    }
    return folder;
  }

  /** Whether a kernel has it. */
  get isLocked(): boolean {
    return this.#isLocked;
  }

  /** Resolves once files that were asked for are open, and those that are gone are removed. */
  get settled(): Promise<void> {
    return this.#work;
  }

  /** The bytes of a file; undefined if it is not there. */
  read(name: string): Uint8Array<ArrayBuffer> | undefined {
    const handle = this.#handles.get(name);
    return handle === undefined || handle.getSize() === 0 ? undefined : readAll(handle);
  }

  /** Writes a small file, in the place of one that may be there. */
  replace(name: string, bytes: Uint8Array): void {
    const file = this.#handle(NEW);
    file.truncate(0);
    writeAll(file, bytes, 0);
    this.rename(NEW, name);
  }

  open(name: string, how: number): DiskFile {
    const handle = this.#handles.get(name);
    if (how === FRESH) {
      if (handle === undefined) throw systemError("EMFILE", `${name} is not open ahead`);
      if (handle.getSize() > 0) throw systemError("EEXIST", `${name} is there`);
      this.#levelSoon();
    } else if (handle === undefined || handle.getSize() === 0) {
      throw systemError("ENOENT", `${name} is not there`);
    }
    return {
      size: () => handle.getSize(),
      read: (into, at) => handle.read(into, { at }),
      write: (bytes, at) => handle.write(bytes, { at }),
      sync: () => handle.flush(),
      truncate: (bytes) => handle.truncate(bytes),
      close: () => {},
    };
  }

  rename(from: string, to: string): void {
    const file = this.#handle(from);
    const bytes = readAll(file);
    const name = new TextEncoder().encode(to);
    const all = new Uint8Array(bytes.length + name.length + 16);
    all.set(bytes);
    all.set(name, bytes.length);
    const end = new DataView(all.buffer, bytes.length + name.length);
    end.setUint32(0, bytes.length, true);
    end.setUint32(4, name.length, true);
    end.setUint32(8, sumOf(all.subarray(0, -8)), true);
    end.setUint32(12, MOVE, true);
    writeAll(file, all.subarray(bytes.length), bytes.length);
    file.flush();
    this.#move(file, bytes, to);
  }

  /** Copies what is to be moved. From here on, a crash changes nothing of the result. */
  #move(from: Handle, bytes: Uint8Array, to: string): void {
    const handle = this.#handle(to);
    handle.truncate(0);
    writeAll(handle, bytes, 0);
    handle.flush();
    from.truncate(0);
  }

  /** Does a move again that a crash may have broken off. What was not to be moved yet is of no use. */
  #moveAgain(): void {
    const file = this.#handle(NEW);
    const all = readAll(file);
    if (all.length >= 16) {
      const end = new DataView(all.buffer, all.length - 16);
      const [size, nameSize] = [end.getUint32(0, true), end.getUint32(4, true)];
      const isMove = end.getUint32(12, true) === MOVE && size + nameSize + 16 === all.length;
      if (isMove && end.getUint32(8, true) === sumOf(all.subarray(0, -8))) {
        const to = new TextDecoder().decode(all.subarray(size, size + nameSize));
        return this.#move(file, all.subarray(0, size), to);
      }
    }
    file.truncate(0);
  }

  remove(name: string): void {
    const handle = this.#handles.get(name);
    if (handle === undefined || handle.getSize() === 0) {
      throw systemError("ENOENT", `${name} is not there`);
    }
    handle.truncate(0);
    handle.flush();
    this.#levelSoon();
  }

  link(): void {
    throw systemError("ENOTSUP", "a browser has no links");
  }

  list(): (readonly [name: string, bytes: number])[] {
    return Array.from(this.#handles, ([name, handle]) => [name, handle.getSize()] as const)
      .filter(([, bytes]) => bytes > 0);
  }

  // A browser has no call that puts names on the disk. The names of segments are there long before their bytes.
  sync(): void {}
  find(): void {}

  freeBytes(): number {
    throw systemError("ENOSYS", "a browser says only while the program waits what is free");
  }

  lock(): boolean {
    if (this.#isLocked) return false;
    this.#isLocked = true;
    return true;
  }

  filesAhead(): number {
    let count = 0;
    for (let segment = this.#last() + 1; this.#handles.has(segmentFile(segment)); segment++) {
      count += 1;
    }
    return count;
  }

  /** Gives the folder back. It may be opened again before the program waits for something. */
  close(): void {
    this.#isLocked = false;
    queueMicrotask(() => {
      if (!this.#isLocked) this.end();
    });
  }

  /** Closes all files, and removes the empty ones. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const empty: string[] = [];
    for (const [name, handle] of this.#handles) {
      if (name === LOCK) continue;
      if (handle.getSize() === 0) empty.push(name);
      handle.close();
    }
    const ended = this.#work.then(async () => {
      await Promise.allSettled(empty.map((name) => this.#directory.removeEntry(name)));
      this.#handles.get(LOCK)?.close();
      if (opened.get(this.#key) === ended) opened.delete(this.#key);
    });
    opened.set(this.#key, ended);
  }

  #handle(name: string): Handle {
    const handle = this.#handles.get(name);
    if (handle !== undefined) return handle;
    throw systemError("EMFILE", `${name} is not open ahead`);
  }

  /** The number of the last segment. */
  #last(): number {
    return Math.max(0, ...this.list().map(([name]) => segmentOf(name)));
  }

  #levelSoon(): void {
    this.#work = this.#work.then(() => this.#level()).catch(() => {
      // Then the last segment goes on, and an empty file is removed another time.
    });
  }

  /** Opens the next segments, and removes those that are empty before the last one. */
  async #level(): Promise<void> {
    for (const [name, handle] of this.#handles) {
      const segment = segmentOf(name);
      if (this.#isEnded) return;
      const isGone = segment > 0 && segment < this.#last() && handle.getSize() === 0;
      if (!isGone) continue;
      this.#handles.delete(name);
      handle.close();
      await this.#directory.removeEntry(name);
    }
    for (let k = 1; k <= AHEAD; k++) {
      const name = segmentFile(this.#last() + k);
      if (this.#handles.has(name)) continue;
      const handle = await openHandle(this.#directory, name);
      if (this.#isEnded) {
        handle.close();
        await this.#directory.removeEntry(name);
        return;
      }
      this.#handles.set(name, handle);
    }
  }
}

/** The folders that are open in this Worker, by their paths, and the ends of those that are being closed. */
const opened = new Map<string, BrowserFolder | Promise<void>>();

const NEEDED =
  "in a browser, it needs a dedicated Worker: call it in a script that the page starts by new Worker(). Only there files can be written without waiting";

/** The parts of a path. */
function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** The folder of a path, if it is open in this Worker. */
export function browserFolder(path: string): BrowserFolder | undefined {
  if (opened.size === 0) return undefined;
  const found = opened.get(partsOf(path).join("/"));
  return found instanceof BrowserFolder ? found : undefined;
}

/**
 * Calls, once a folder is open in a browser, as the kernel can't open one. Where the call fails, the folder is closed. Elsewhere it only calls.
 *
 * @param description The file that says what is in the folder.
 * @throws {ReplayError} `file` where the browser has no such files, or not here. `log-taken` if another has the folder open.
 */
export async function withOpenAhead<T>(
  operation: string,
  path: string | URL,
  description: string,
  call: () => Promise<T>,
): Promise<T> {
  const folder = await openAhead(operation, path, description);
  try {
    return await call();
  } catch (error) {
    if (folder?.isLocked === false) folder.end();
    throw error;
  }
}

async function openAhead(
  operation: string,
  path: string | URL,
  description: string,
): Promise<BrowserFolder | undefined> {
  if (builtinModule("node:fs") !== undefined) return undefined;
  const parts = partsOf(String(path));
  const key = parts.join("/");
  const root = await rootOf(operation);
  const taken = (): ReplayError =>
    new ReplayError(
      "log-taken",
      `${operation}: the folder ${
        JSON.stringify(key)
      } is open already, in this page, another tab or another Worker; dispose that replay or close the tab first`,
    );
  const known = opened.get(key);
  if (known instanceof BrowserFolder) throw taken();
  await known;
  const until = Date.now() + LOCK_WAIT_MS;
  try {
    let directory = root;
    for (const part of parts) {
      directory = await directory.getDirectoryHandle(part, { create: true });
    }
    for (;;) {
      try {
        const folder = await BrowserFolder.open(key, directory, description);
        opened.set(key, folder);
        return folder;
      } catch (error) {
        if (nameOf(error) !== "NoModificationAllowedError") throw error;
        if (Date.now() > until) throw taken();
        await new Promise((resolve) => setTimeout(resolve, LOCK_TRY_MS));
      }
    }
  } catch (cause) {
    if (cause instanceof ReplayError) throw cause;
    throw new ReplayError(
      "file",
      `${operation}: the browser does not open the files of ${JSON.stringify(key)}: ${
        reasonOf(cause)
      }`,
      { cause },
    );
  }
}

/** The folder of the page's origin. */
async function rootOf(operation: string): Promise<Directory> {
  const { navigator, FileSystemFileHandle } = globalThis as {
    readonly navigator?: { readonly storage?: { getDirectory?(): Promise<unknown> } };
    readonly FileSystemFileHandle?: { readonly prototype: object };
  };
  const storage = navigator?.storage;
  const problem = storage?.getDirectory === undefined || FileSystemFileHandle === undefined
    ? "this browser has no file system of the page's own (OPFS), or the page comes neither over HTTPS nor from localhost"
    : "createSyncAccessHandle" in FileSystemFileHandle.prototype
    ? undefined
    : NEEDED;
  if (problem !== undefined || storage?.getDirectory === undefined) {
    throw new ReplayError("file", `${operation}: ${problem}`);
  }
  try {
    return await storage.getDirectory() as Directory;
  } catch (cause) {
    throw new ReplayError(
      "file",
      `${operation}: the browser refuses its file system, as in some private windows: ${
        reasonOf(cause)
      }`,
      { cause },
    );
  }
}
