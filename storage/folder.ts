/**
 * A folder of generations: whole snapshots of one thing, each in a file of its own, of which the newest ones stay.
 *
 * Invariants: 1. A file is removed only if its name and its header both say that it was written as a generation of this folder. Whatever
 * else is in the folder is never changed. 2. One process uses a folder at a time: it locks a file in it, and the system takes the lock back
 * when the process ends, however it ends. Node and Bun have no such locks, so there nobody checks. 3. A generation has its name only once all of it is
 * on the disk.
 *
 * The lock's file also holds the id of the folder, which is in the header of each generation. So one that somebody copied here from
 * another folder can be loaded, but is never removed.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { reasonOf, ReplayError, type ReplayErrorCode } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import type { Kernel } from "../ffi/library.ts";
import { count, object, optional, string } from "./fields.ts";
import {
  attemptOn,
  checkPermitted,
  filesFor,
  ignoreErrors,
  pathOf,
  readFromFile,
  writeNewFile,
} from "./file.ts";
import type { Files, OpenFile } from "./files.ts";
import { FrameReader, type Reading, type SnapshotKind } from "./frames.ts";

/** What a folder holds, and its words in the names of files and in errors. */
export interface FolderKind {
  /** Of what the snapshots are. */
  readonly of: SnapshotKind;
  /** One generation, such as `checkpoint`: files are named `checkpoint-<number>-<time in UTC>.exrp`. */
  readonly generation: string;
  /** Who writes, such as `server`. */
  readonly writer: string;
  /** How one begins without the generations of a folder, for the error where none can be read. */
  readonly anew: string;
}

/** Which generation of which folder a snapshot is: `checkpoint` in its schema. */
export interface Mark {
  /** The id of the folder. */
  readonly folder: string;
  /** The number of the generation. */
  readonly number: number;
}

interface Generation {
  readonly path: string;
  readonly number: number;
}

/** Nobody is still writing a file that has not changed for a day. */
const LEFT_AGE_MS = 24 * 3600 * 1000;

/**
 * What means that a file is damaged, so that the one before it is tried. A file that can't be read may be whole: whoever began with an older one
 * would lose what only this one has.
 */
const DAMAGES: readonly ReplayErrorCode[] = [
  "snapshot-corrupt",
  "snapshot-truncated",
  "snapshot-foreign",
];

/** A folder that this process holds. */
export class GenerationFolder implements Disposable {
  /** The whole path, from the root on: who hears of it may stand in another folder than this process. */
  readonly path: string;
  readonly #kind: FolderKind;
  readonly #kernel: Kernel;
  readonly #files: Files;
  readonly #lockPath: string;
  readonly #lock: OpenFile;
  readonly #id: string;
  readonly #damaged = new Set<string>();
  #next: number;

  /**
   * Takes a folder, which is made if there is none, and removes what a killed writer of it left half-written.
   *
   * @throws {ReplayError} `busy` if another process holds it; `permission` or `file`.
   */
  constructor(kind: FolderKind, folder: string | URL, kernel: Kernel) {
    const { generation, writer } = kind;
    const files = filesFor(generation);
    this.#kind = kind;
    this.#kernel = kernel;
    this.#files = files;
    this.path = files.path.resolve(pathOf(generation, folder, files));
    this.#lockPath = files.path.join(this.path, `.exrp-${generation}s.lock`);
    checkPermitted(generation, this.#lockPath, files);
    this.#lock = this.#attempt("write", () => this.#openLock());
    try {
      if (files.hasLocks && !this.#lock.tryLock()) {
        throw new ReplayError(
          "busy",
          `${generation}: another ${writer} writes its ${generation}s into ${
            show(this.path)
          }; each needs a folder of its own`,
        );
      }
      this.#id = this.#attempt("read", () => this.#readId());
      this.#removeLeft();
      // Numbers rise, whatever the clock says.
      this.#next = (this.#list()[0]?.number ?? 0) + 1;
    } catch (error) {
      this.#lock[dispose]();
      throw error;
    }
  }

  /** How many generations there are, by their names. */
  get count(): number {
    return this.#list().length;
  }

  /**
   * Loads the newest generation that is not damaged. Those that are stay in the folder and count no more.
   *
   * @returns The path that was loaded, undefined if there was none; and newer generations that are damaged, each with the reason.
   * @throws {ReplayError} `snapshot-corrupt` where all are damaged. The error of `load` where it is no damage, with the path.
   */
  async load(load: (path: string) => Promise<void>): Promise<{
    readonly path: string | undefined;
    readonly damaged: readonly { readonly path: string; readonly reason: string }[];
  }> {
    const { generation, anew } = this.#kind;
    const found = this.#list();
    const damaged: { path: string; reason: string }[] = [];
    for (const { path } of found) {
      try {
        await load(path);
        return { path, damaged };
      } catch (error) {
        if (!(error instanceof ReplayError)) throw error;
        if (!DAMAGES.includes(error.code)) {
          throw new ReplayError(error.code, `${show(path)}: ${error.message}`, { cause: error });
        }
        damaged.push({ path, reason: error.message });
        this.#damaged.add(path);
      }
    }
    const [first] = damaged;
    if (first === undefined) return { path: undefined, damaged };
    throw new ReplayError(
      "snapshot-corrupt",
      `none of ${found.length} ${generation}s in ${show(this.path)} can be loaded; the newest, ${
        show(first.path)
      }: ${first.reason}. To begin without them, ${anew}`,
    );
  }

  /** Writes the next generation, which is in the folder only when all of it is on the disk. The program goes on meanwhile. Returns its path. */
  async write(pieces: (mark: Mark) => Iterable<Uint8Array>): Promise<string> {
    const { generation } = this.#kind;
    const number = this.#next++;
    const time = new Date().toISOString().replace(/[-:]|\..*/g, "");
    const name = `${generation}-${String(number).padStart(9, "0")}-${time}Z.exrp`;
    const path = this.#files.path.join(this.path, name);
    await writeNewFile(generation, path, this.#files, pieces({ folder: this.#id, number }));
    return path;
  }

  /**
   * Removes old generations of this folder, so that `keep` are left, while the program goes on. Damaged ones stay and do not count.
   * One that can't be removed does not keep the others in the folder.
   *
   * @throws {ReplayError} `file` if some could not be removed. The next call tries again.
   */
  async removeOld(keep: number): Promise<void> {
    const { generation, writer } = this.#kind;
    let kept = 0;
    const failures = new Map<string, unknown>();
    for (const { path, number } of this.#list()) {
      if (this.#damaged.has(path) || !this.#isOwn(path, number) || ++kept <= keep) continue;
      try {
        await this.#files.removeLater(path);
      } catch (error) {
        failures.set(path, error);
      }
    }
    if (failures.size === 0) return;
    // Somebody else may have removed one meanwhile.
    const left = this.#list().filter(({ path }) => failures.has(path));
    const [first] = left;
    if (first === undefined) return;
    const cause = failures.get(first.path);
    throw new ReplayError(
      "file",
      `${generation}: the new one is whole, but ${left.length} old ${
        left.length === 1 ? "one" : "ones"
      } can't be removed, such as ${show(first.path)}: ${
        reasonOf(cause)
      }; the ${writer} tries again after its next ${generation}`,
      { cause },
    );
  }

  /** The generations by their names, the newest first. A number of 15 digits is still exact, and so is the next. */
  #list(): Generation[] {
    return this.#named("").sort((a, b) => b.number - a.number || (a.path < b.path ? 1 : -1));
  }

  /** The files whose names are those of generations with this end, a pattern. */
  #named(end: string): (Generation & { readonly end: string | undefined })[] {
    const pattern = new RegExp(
      `^${this.#kind.generation}-(\\d{9,15})-\\d{8}T\\d{6}Z\\.exrp${end}$`,
    );
    return this.#attempt("read", () => this.#files.list(this.path)).flatMap((name) => {
      const [, number, end] = pattern.exec(name) ?? [];
      if (number === undefined) return [];
      return [{ path: this.#files.path.join(this.path, name), number: Number(number), end }];
    });
  }

  /** Whether the header of a file says that it is this generation of this folder. */
  #isOwn(path: string, number: number): boolean {
    try {
      const mark = readFromFile(path, readMark(this.#kernel, this.#kind.of));
      return mark?.folder === this.#id && mark.number === number;
    } catch {
      return false;
    }
  }

  /** Removes what killed writers left: `.tmp` where there are locks, and `.part` in Node and Bun. This one writes nothing yet. */
  #removeLeft(): void {
    for (const { path, number, end } of this.#named("\\.exrp-[0-9a-z]{7}\\.(tmp|part)")) {
      ignoreErrors(() => {
        // The lock of the folder says that no other process writes. One of Node or Bun takes none.
        const isLeft = end === "tmp" ? this.#files.hasLocks : this.#ageMs(path) > LEFT_AGE_MS;
        if (!isLeft) return;
        if (readFromFile(path, isEmpty()) || this.#isOwn(path, number)) this.#files.remove(path);
      });
    }
  }

  #ageMs(path: string): number {
    using file = this.#files.open(path);
    return Date.now() - file.look().changedMs;
  }

  #openLock(): OpenFile {
    const { makeFolder, create, open, list } = this.#files;
    makeFolder(this.path);
    let refusal: unknown;
    try {
      create(this.#lockPath)[dispose]();
    } catch (error) {
      refusal = error; // it may be there already
    }
    try {
      return open(this.#lockPath, "r+");
    } catch (error) {
      // Where there is none, the reason is that it could not be made.
      const name = this.#files.path.basename(this.#lockPath);
      throw list(this.path).includes(name) ? error : refusal;
    }
  }

  /** The id of the folder. It is made when the folder is first used. */
  #readId(): string {
    const head = `exrp ${this.#kind.generation}s `;
    const bytes = new Uint8Array(1024);
    let size = 0;
    for (let got = 1; got > 0 && size < bytes.length; size += got) {
      got = this.#lock.read(bytes.subarray(size));
    }
    const text = new TextDecoder().decode(bytes.subarray(0, size));
    const known = new RegExp(`^${head}([0-9a-f]{32})$`, "m").exec(text)?.[1];
    if (known !== undefined) return known;
    // Only the beginning of what is written below may be there, where that was interrupted.
    if (!head.startsWith(text.trim().slice(0, head.length)) || size > 64) {
      throw new Error("the file is not of this library, and stays as it is");
    }
    const id = crypto.randomUUID().replaceAll("-", "");
    const line = new TextEncoder().encode(`${size === 0 ? "" : "\n"}${head}${id}\n`);
    for (let at = 0; at < line.length;) at += this.#lock.write(line.subarray(at));
    this.#lock.sync();
    return id;
  }

  #attempt<T>(verb: "read" | "write", call: () => T): T {
    return attemptOn(this.#kind.generation, verb, this.#lockPath, this.#files, call);
  }

  /** Lets the folder go. */
  [dispose](): void {
    this.#lock[dispose]();
  }
}

const markOf = object({
  checkpoint: optional(object({ folder: string, number: count })),
});

/** The mark of a snapshot: all that is read of it. */
function* readMark(kernel: Kernel, kind: SnapshotKind): Reading<Mark | undefined> {
  return markOf("", yield* new FrameReader(kernel, kind).begin()).checkpoint;
}

function* isEmpty(): Reading<boolean> {
  return (yield 1).length === 0;
}
