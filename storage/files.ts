/**
 * Files, as storage needs them: by `node:fs`, which Deno, Node and Bun have. Nothing is imported, so a bundle for the browser needs no
 * stand-in; there, a call that needs a file says that there are none.
 *
 * Invariants: 1. `tryLock()` is true only for a file that no live process holds. `node:fs` has no locks, so Deno opens files by its own
 * functions. In Node and Bun it is always false, and files are named so that nobody takes them for abandoned ones ({@linkcode Files.hasLocks}).
 *
 * @module
 */

import { builtinModule, deno, dispose } from "../base/platform.ts";

/** What is used of `node:fs`. The library has its own types for it, so that its users need not have those of Node. */
interface NodeFs {
  openSync(path: string, flags: Flags | "wx", mode?: number): number;
  writeSync(file: number, bytes: Uint8Array): number;
  write(file: number, bytes: Uint8Array, done: (error: unknown, count: number) => void): void;
  fsync(file: number, done: (error: unknown) => void): void;
  mkdirSync(folder: string, options: { recursive: true }): void;
  readSync(file: number, into: Uint8Array): number;
  fsyncSync(file: number): void;
  futimesSync(file: number, accessed: Date, changed: Date): void;
  fstatSync(file: number): {
    readonly mtimeMs: number;
    readonly size: number;
    isFile(): boolean;
  };
  closeSync(file: number): void;
  chmodSync(path: string, mode: number): void;
  lstatSync(path: string): {
    readonly mode: number;
    isFile(): boolean;
    isSymbolicLink(): boolean;
  };
  readlinkSync(path: string): string;
  realpathSync(path: string): string;
  renameSync(from: string, to: string): void;
  unlinkSync(path: string): void;
  rmdirSync(path: string): void;
  unlink(path: string, done: (error: unknown) => void): void;
  readdirSync(folder: string, options: { withFileTypes: true }): {
    readonly name: string;
    isFile(): boolean;
    isDirectory(): boolean;
  }[];
}

/** What is used of `node:path`. */
interface NodePath {
  basename(path: string): string;
  dirname(path: string): string;
  join(...parts: string[]): string;
  resolve(...parts: string[]): string;
}

/** What is used of `node:url`. */
interface NodeUrl {
  fileURLToPath(url: URL): string;
}

/** How a file is opened: to read it, also to write to it, or to write behind its end. */
type Flags = "r" | "r+" | "a";

/** What stands at a path. */
export interface Found {
  /** Whether it is a file: no folder, link, pipe or device. */
  readonly isFile: boolean;
  /** Who may read and write it. */
  readonly mode: number;
  /** Where it leads to, if it is a link. */
  readonly link: string | undefined;
}

/** A file that is open. */
export interface OpenFile extends Disposable {
  /** Writes some of the bytes, at least one, and returns how many. */
  write(bytes: Uint8Array): number;
  /** Reads at most as many bytes as fit. Returns how many, 0 at the end of the file. */
  read(into: Uint8Array): number;
  /** The same as `write()`, while the program goes on. */
  writeLater(bytes: Uint8Array): Promise<number>;
  /** Waits until everything is on the disk. */
  sync(): void;
  /** The same, while the program goes on. */
  syncLater(): Promise<void>;
  /** Says that the file was changed now. */
  touch(): void;
  /**
   * How many bytes the file has, which is undefined for a pipe or a device, whose end is not known. And when it was changed, in milliseconds since
   * 1970, which is now where the system does not say.
   */
  look(): { readonly bytes: number | undefined; readonly changedMs: number };
  /** Takes the file for this process alone, and waits for that if need be. The system gives it back when the process ends. */
  lock(): void;
  /** The same, without waiting. Returns whether that worked. */
  tryLock(): boolean;
}

/** The files of a platform. */
export interface Files {
  /** Whether a process can hold a file as its own. */
  readonly hasLocks: boolean;
  /** `node:path`. */
  readonly path: NodePath;
  /** The path that a `file:` URL stands for. */
  fromUrl(url: URL): string;
  /** Makes a file that is not there yet, to write to it. `mode` is 0o666 by default; the program's umask takes away from it. */
  create(path: string, mode?: number): OpenFile;
  /** Makes a folder, and those that it is in. One that is there already stays. */
  makeFolder(path: string): void;
  /** Opens a file, to read it by default. Most systems open a folder too, which can then be synced. */
  open(path: string, flags?: Flags): OpenFile;
  /** What stands at a path. Links are not followed. It throws where nothing is. */
  find(path: string): Found;
  /** The same path without any links. It throws where nothing is. */
  realPath(path: string): string;
  /** Says who may read and write a file. */
  setMode(path: string, mode: number): void;
  /** Gives a file or a folder another name. A file that had that name before is gone. */
  rename(from: string, to: string): void;
  /** Removes a file. */
  remove(path: string): void;
  /** Removes a folder that is empty. */
  removeFolder(path: string): void;
  /** The same, while the program goes on: the system may need some 100 ms for a large one. */
  removeLater(path: string): Promise<void>;
  /** The names of the files in a folder, or of the folders in it. Links are neither. */
  list(folder: string, kind?: "files" | "folders"): string[];
  /** The permissions that the program lacks for a folder. The user is asked for them. */
  lacking(folder: string): ("write" | "read")[];
  /** Whether an error says that the program has no permission. */
  isRefusal(error: unknown): boolean;
}

let known: Files | undefined;

/** The files of this platform, or undefined where there are none, as in a browser. */
export function platformFiles(): Files | undefined {
  // Asked for late: Deno loads what it has of Node's when these names are first read, which takes 16 ms.
  known ??= filesOf(deno, builtinModule);
  return known;
}

/** The files of a platform that has these. */
export function filesOf(
  deno: typeof Deno | undefined,
  builtin: typeof builtinModule,
): Files | undefined {
  const path = builtin<NodePath>("node:path");
  const url = builtin<NodeUrl>("node:url");
  const fs = builtin<NodeFs>("node:fs");
  if (path === undefined || url === undefined || fs === undefined) return undefined;
  const files = { path, fromUrl: (it: URL): string => url.fileURLToPath(it), ...filesOfNode(fs) };
  return deno === undefined ? files : { ...files, ...openingOfDeno(deno) };
}

/** What Deno has beyond `node:fs`: files with locks, and permissions that can be asked for. */
function openingOfDeno(
  deno: typeof Deno,
): Pick<Files, "hasLocks" | "create" | "open" | "lacking" | "isRefusal"> {
  const opened = (file: Deno.FsFile): OpenFile => ({
    write: (bytes) => file.writeSync(bytes),
    read: (into) => file.readSync(into) ?? 0,
    writeLater: (bytes) => file.write(bytes),
    sync: () => file.syncSync(),
    syncLater: () => file.sync(),
    touch: () => file.utimeSync(new Date(), new Date()),
    look: () => {
      const { isFile, size, mtime } = file.statSync();
      return { bytes: isFile ? size : undefined, changedMs: mtime?.getTime() ?? Date.now() };
    },
    lock: () => file.lockSync(true),
    tryLock: () => file.tryLockSync(true),
    [dispose]: () => file.close(),
  });
  return {
    hasLocks: true,
    create: (path, mode = 0o666) =>
      opened(deno.openSync(path, { write: true, createNew: true, mode })),
    open: (path, flags = "r") =>
      opened(deno.openSync(path, {
        read: flags !== "a",
        write: flags === "r+",
        append: flags === "a",
      })),
    lacking: (path) =>
      (["write", "read"] as const).filter((name) =>
        deno.permissions.requestSync({ name, path }).state !== "granted"
      ),
    isRefusal: (error) => error instanceof deno.errors.NotCapable,
  };
}

/** What a call of `node:fs` comes to. */
function settled<T>(call: (done: (error: unknown, result: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) =>
    call((error, result) => error ? reject(error) : resolve(result))
  );
}

function filesOfNode(fs: NodeFs): Omit<Files, "path" | "fromUrl"> {
  const opened = (file: number): OpenFile => ({
    write: (bytes) => fs.writeSync(file, bytes),
    read: (into) => fs.readSync(file, into),
    writeLater: (bytes) => settled((done) => fs.write(file, bytes, done)),
    sync: () => fs.fsyncSync(file),
    syncLater: () => settled((done) => fs.fsync(file, done)),
    touch: () => fs.futimesSync(file, new Date(), new Date()),
    look: () => {
      const found = fs.fstatSync(file);
      return { bytes: found.isFile() ? found.size : undefined, changedMs: found.mtimeMs };
    },
    lock: () => {},
    tryLock: () => false,
    [dispose]: () => fs.closeSync(file),
  });
  return {
    hasLocks: false,
    create: (path, mode) => opened(fs.openSync(path, "wx", mode)),
    makeFolder: (path) => fs.mkdirSync(path, { recursive: true }),
    open: (path, flags = "r") => opened(fs.openSync(path, flags)),
    find: (path) => {
      const found = fs.lstatSync(path);
      const link = found.isSymbolicLink() ? fs.readlinkSync(path) : undefined;
      // Of a mode, only the bits that `setMode` takes.
      return { isFile: found.isFile(), mode: found.mode & 0o7777, link };
    },
    realPath: (path) => fs.realpathSync(path),
    setMode: (path, mode) => fs.chmodSync(path, mode),
    rename: (from, to) => fs.renameSync(from, to),
    remove: (path) => fs.unlinkSync(path),
    removeFolder: (path) => fs.rmdirSync(path),
    removeLater: (path) => settled((done) => fs.unlink(path, done)),
    list: (folder, kind = "files") =>
      fs.readdirSync(folder, { withFileTypes: true })
        .filter((entry) => kind === "files" ? entry.isFile() : entry.isDirectory())
        .map(({ name }) => name),
    lacking: () => [],
    isRefusal: (error) =>
      error instanceof Error && "code" in error && error.code === "ERR_ACCESS_DENIED",
  };
}
