/**
 * What the WebAssembly kernel imports: the calls of kernel/log/disk.hpp, as a module has no files of its own. They come to folders of two kinds: of the
 * system's (`system_folder.ts`), or of a browser's (`browser_folder.ts`).
 *
 * An error becomes a negative number for the kernel: that of Linux for what happened, on every system.
 *
 * @module
 */

import { browserFolder } from "./browser_folder.ts";
import { type DiskFile, type DiskFolder, systemError } from "./disk.ts";
import { systemFolder } from "./system_folder.ts";

/** Those of Linux, by their names. */
const NUMBERS: Readonly<Record<string, number>> = {
  ...{ EPERM: 1, ENOENT: 2, EIO: 5, EACCES: 13, EBUSY: 16, EEXIST: 17, EXDEV: 18, ENOTDIR: 20 },
  ...{ EISDIR: 21, EINVAL: 22, EMFILE: 24, EFBIG: 27, ENOSPC: 28, EROFS: 30, EMLINK: 31 },
  ...{ ENAMETOOLONG: 36, ENOSYS: 38, ENOTEMPTY: 39, ENOTSUP: 95, EDQUOT: 122 },
  // Of Deno and of browsers, by the names of their classes.
  ...{ NotFound: 2, NotFoundError: 2, AlreadyExists: 17, PermissionDenied: 13, NotCapable: 13 },
  ...{ NotAllowedError: 13, NoModificationAllowedError: 16, QuotaExceededError: 122 },
};

/** The number of an error. What has none is a failure of the device. */
function numberOf(error: unknown): number {
  const { code, name } = error as { readonly code?: unknown; readonly name?: string };
  return NUMBERS[String(code)] ?? NUMBERS[name ?? ""] ?? 5;
}

/** A list whose items have numbers that are used again. */
class Numbered<T> {
  readonly #items: (T | undefined)[] = [];
  add(item: T): number {
    const free = this.#items.indexOf(undefined);
    const at = free < 0 ? this.#items.length : free;
    this.#items[at] = item;
    return at;
  }
  get(at: number): T {
    const item = this.#items[at];
    if (item === undefined) throw systemError("EINVAL", `nothing is open with number ${at}`);
    return item;
  }
  take(at: number): T {
    const item = this.get(at);
    this.#items[at] = undefined;
    return item;
  }
}

/** The number of a failed call, or what it returned. */
function attempt(call: () => number | void): number {
  try {
    return call() ?? 0;
  } catch (error) {
    return -numberOf(error);
  }
}

/** The imports of a module. `memory` gives its memory, once there is one. */
export function hostImports(memory: () => WebAssembly.Memory): WebAssembly.ModuleImports {
  const folders = new Numbered<DiskFolder>();
  const files = new Numbered<DiskFile>();
  let listed: ReturnType<DiskFolder["list"]> = [];
  const bytesAt = (at: number, size: number): Uint8Array<ArrayBuffer> =>
    new Uint8Array(memory().buffer as ArrayBuffer, at >>> 0, size >>> 0);
  const textAt = (at: number, size: number): string => new TextDecoder().decode(bytesAt(at, size));
  return {
    random: () => {
      const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
      return (high >>> 12) * 2 ** 32 + low;
    },
    openFolder: (path: number, size: number, isMaking: number) =>
      attempt(() => {
        const text = textAt(path, size);
        return folders.add(browserFolder(text) ?? systemFolder(text, isMaking !== 0));
      }),
    closeFolder: (folder: number) => {
      attempt(() => folders.take(folder).close());
    },
    open: (folder: number, name: number, size: number, how: number) =>
      attempt(() => files.add(folders.get(folder).open(textAt(name, size), how))),
    close: (file: number) => attempt(() => files.take(file).close()),
    size: (file: number) => attempt(() => files.get(file).size()),
    read: (file: number, at: number, bytes: number, size: number) =>
      attempt(() => files.get(file).read(bytesAt(bytes, size), at)),
    write: (file: number, at: number, bytes: number, size: number) =>
      attempt(() => files.get(file).write(bytesAt(bytes, size), at)),
    sync: (file: number) => attempt(() => files.get(file).sync()),
    truncate: (file: number, bytes: number) => attempt(() => files.get(file).truncate(bytes)),
    rename: (folder: number, from: number, fromSize: number, to: number, toSize: number) =>
      attempt(() => folders.get(folder).rename(textAt(from, fromSize), textAt(to, toSize))),
    remove: (folder: number, name: number, size: number) =>
      attempt(() => folders.get(folder).remove(textAt(name, size))),
    link: (folder: number, name: number, size: number, other: number, otherSize: number) =>
      attempt(() => folders.get(folder).link(textAt(name, size), textAt(other, otherSize))),
    list: (folder: number) =>
      attempt(() => {
        const all = folders.get(folder).list();
        listed = all;
        return all.length;
      }),
    listed: (_folder: number, index: number, name: number, room: number) => {
      const [text, bytes] = listed[index] ?? ["", 0];
      new TextEncoder().encodeInto(text, bytesAt(name, room - 1));
      return bytes;
    },
    syncFolder: (folder: number) => attempt(() => folders.get(folder).sync()),
    findFolder: (folder: number) => attempt(() => folders.get(folder).find()),
    freeBytes: (folder: number) => attempt(() => folders.get(folder).freeBytes()),
    lock: (folder: number, name: number, size: number) =>
      attempt(() => Number(folders.get(folder).lock(textAt(name, size)))),
    filesAhead: (folder: number) => folders.get(folder).filesAhead(),
  };
}
