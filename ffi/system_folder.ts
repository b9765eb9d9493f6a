/**
 * Folders of the system's, for the WebAssembly kernel in Deno, Node and Bun: by `node:fs`, which all three have.
 *
 * Invariants: 1. The lock ends with the process. Only Deno has such locks. In Node and Bun, it keeps out only those of the same thread.
 *
 * @module
 */

import { builtinModule, deno } from "../base/platform.ts";
import { type DiskFile, type DiskFolder, FRESH, systemError, WRITE } from "./disk.ts";

/** What is used of `node:fs`. */
interface NodeFs {
  openSync(path: string, flags: "r" | "r+" | "wx+" | "a"): number;
  closeSync(file: number): void;
  fstatSync(file: number): { readonly size: number; readonly nlink: number };
  statSync(path: string): { isDirectory(): boolean };
  readSync(file: number, into: Uint8Array, from: number, size: number, at: number): number;
  writeSync(file: number, bytes: Uint8Array, from: number, size: number, at: number): number;
  fdatasyncSync(file: number): void;
  fsyncSync(file: number): void;
  ftruncateSync(file: number, bytes: number): void;
  renameSync(from: string, to: string): void;
  unlinkSync(path: string): void;
  linkSync(from: string, to: string): void;
  mkdirSync(path: string): void;
  readdirSync(
    path: string,
    options: { withFileTypes: true },
  ): { readonly name: string; isFile(): boolean }[];
  lstatSync(path: string): { readonly size: number };
  statfsSync(path: string): { readonly bavail: number; readonly bsize: number };
}

/** What is used of `node:path`. */
interface NodePath {
  resolve(...parts: string[]): string;
  join(...parts: string[]): string;
  dirname(path: string): string;
}

/** Names that the kernel would not take are nobody's here. */
const NAME = /^[A-Za-z0-9_.-]{1,63}$/;

/** The folders that are locked in this thread, where the system has no locks. */
const held = new Set<string>();

function throwUnlessNamed(nlink: number): void {
  if (nlink === 0) throw systemError("ENOENT", "the file has no name any more");
}

/** Opens a folder, which is made if need be. */
export function systemFolder(given: string, isMaking: boolean): DiskFolder {
  const fs = builtinModule<NodeFs>("node:fs");
  const names = builtinModule<NodePath>("node:path");
  if (fs === undefined || names === undefined) {
    throw systemError("ENOSYS", "there are no files here");
  }
  const path = names.resolve(given);
  const at = (name: string): string => names.join(path, name);
  if (isMaking && make(fs, path)) syncNames(fs, names.dirname(path));
  if (!fs.statSync(path).isDirectory()) throw systemError("ENOTDIR", "it is no folder");
  // Windows opens no folder.
  const folder = ifPossible(() => fs.openSync(path, "r"));
  let unlock = (): void => {};
  return {
    open(name, how): DiskFile {
      const flags = how === FRESH ? "wx+" : how === WRITE ? "r+" : "r";
      return opened(fs, fs.openSync(at(name), flags));
    },
    rename: (from, to) => fs.renameSync(at(from), at(to)),
    remove: (name) => fs.unlinkSync(at(name)),
    link: (name, other) => fs.linkSync(at(name), names.join(names.resolve(other), name)),
    list: () =>
      fs.readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isFile() && NAME.test(entry.name))
        .flatMap(({ name }) => sizeIfThere(fs, name, at(name))),
    sync(): void {
      if (folder !== undefined) fs.fsyncSync(folder);
    },
    find(): void {
      if (folder !== undefined) throwUnlessNamed(fs.fstatSync(folder).nlink);
    },
    freeBytes(): number {
      const { bavail, bsize } = fs.statfsSync(path);
      return bavail * bsize;
    },
    lock(name): boolean {
      const taken = deno === undefined ? lockHere(fs, at(name)) : lockFile(deno, at(name));
      unlock = taken ?? unlock;
      return taken !== undefined;
    },
    filesAhead: () => 2 ** 32 - 1,
    close(): void {
      unlock();
      if (folder !== undefined) fs.closeSync(folder);
    },
  };
}

function opened(fs: NodeFs, file: number): DiskFile {
  return {
    size: () => fs.fstatSync(file).size,
    read(into, from): number {
      let count = 0;
      for (let got = 1; got > 0 && count < into.length; count += got) {
        got = fs.readSync(file, into, count, into.length - count, from + count);
      }
      return count;
    },
    write: (bytes, to) => fs.writeSync(file, bytes, 0, bytes.length, to),
    sync(): void {
      fs.fdatasyncSync(file);
      throwUnlessNamed(fs.fstatSync(file).nlink);
    },
    truncate: (bytes) => fs.ftruncateSync(file, bytes),
    close: () => fs.closeSync(file),
  };
}

/** A file's name and size; nothing if it was removed meanwhile. */
function sizeIfThere(
  fs: NodeFs,
  name: string,
  path: string,
): (readonly [name: string, bytes: number])[] {
  try {
    return [[name, fs.lstatSync(path).size]];
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "ENOENT") throw error;
    return [];
  }
}

/** Makes a folder. False where one is there. */
function make(fs: NodeFs, path: string): boolean {
  try {
    fs.mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "EEXIST") throw error;
    return false;
  }
}

/** Puts the names of a folder on the disk, where the system can. */
function syncNames(fs: NodeFs, path: string): void {
  const folder = ifPossible(() => fs.openSync(path, "r"));
  if (folder === undefined) return;
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}

function ifPossible<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Takes a file's lock, and returns what gives it back; undefined where another has it. */
function lockFile(system: typeof Deno, path: string): (() => void) | undefined {
  const file = system.openSync(path, { read: true, write: true, create: true });
  let isTaken = false;
  try {
    isTaken = file.tryLockSync(true);
  } finally {
    if (!isTaken) file.close();
  }
  return isTaken ? () => file.close() : undefined;
}

/** The same among those of this thread. */
function lockHere(fs: NodeFs, path: string): (() => void) | undefined {
  if (held.has(path)) return undefined;
  fs.closeSync(fs.openSync(path, "a"));
  held.add(path);
  return () => held.delete(path);
}
