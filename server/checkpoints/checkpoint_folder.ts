/**
 * A folder of checkpoints: which files in it are this folder's own, and who may write to it.
 *
 * Invariants: 1. A file is removed only if its name and its header both say that a server wrote it as a checkpoint into this folder. Whatever
 * else is in the folder is never changed. 2. One server uses a folder at a time: it locks a file in it, and the system takes the lock back
 * when the server's process ends, however it ends. Node and Bun have no such locks, so there nobody checks.
 *
 * The lock's file also holds the id of the folder, which is in the header of each checkpoint. So a checkpoint that somebody copied here from
 * another folder can be loaded, but is never removed.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type { Files, OpenFile } from "../../base/files.ts";
import { dispose } from "../../base/platform.ts";
import type { Kernel } from "../../ffi/library.ts";
import type { Reading } from "../../snapshot/container.ts";
import {
  attemptOn,
  checkPermitted,
  filesFor,
  ignoreErrors,
  pathOf,
  readFromFile,
  writeNewFile,
} from "../../snapshot/file.ts";
import { type CheckpointMark, readMark } from "../../tables/saving.ts";

const OPERATION = "checkpoint";
const LOCK_NAME = ".exrp-checkpoints.lock";
const ID = /^exrp checkpoints ([0-9a-f]{32})$/m;
/** `checkpoint-<number>-<time in UTC>.exrp`. Numbers rise, whatever the clock says. One of 15 digits is still exact, and so is the next. */
const NAME = /^checkpoint-(\d{9,15})-\d{8}T\d{6}Z\.exrp$/;
/** What a killed server leaves: a checkpoint that was being written, as `.tmp` where there are locks, and as `.part` in Node and Bun. */
const LEFT = /^checkpoint-(\d{9,15})-\d{8}T\d{6}Z\.exrp\.exrp-[0-9a-z]{7}\.(tmp|part)$/;
/** Nobody is still writing a file that has not changed for a day. */
const LEFT_AGE_MS = 24 * 3600 * 1000;

/** A checkpoint by its name. */
export interface CheckpointFile {
  readonly name: string;
  readonly path: string;
  readonly number: number;
}

/** A folder that this process holds. */
export class CheckpointFolder implements Disposable {
  /** The whole path, from the root on: a client stands in another folder than the server. */
  readonly path: string;
  readonly #files: Files;
  readonly #kernel: Kernel;
  readonly #lock: OpenFile;
  readonly #id: string;

  private constructor(path: string, files: Files, kernel: Kernel, lock: OpenFile) {
    this.path = path;
    this.#files = files;
    this.#kernel = kernel;
    this.#lock = lock;
    this.#id = this.#attempt("read", () => this.#readId());
  }

  /**
   * Takes a folder, which is made if there is none, and removes what a killed server of it left half-written.
   *
   * @throws {ReplayError} `busy` if another process holds it; `permission` or `file`.
   */
  static open(folder: string | URL, kernel: Kernel): CheckpointFolder {
    const files = filesFor(OPERATION);
    const path = files.path.resolve(pathOf(OPERATION, folder, files));
    const lockPath = files.path.join(path, LOCK_NAME);
    checkPermitted(OPERATION, lockPath, files);
    const lock = attemptOn(OPERATION, "write", lockPath, files, () => {
      files.makeFolder(path);
      let refusal: unknown;
      try {
        files.create(lockPath)[dispose]();
      } catch (error) {
        refusal = error; // it may be there already
      }
      try {
        return files.open(lockPath, true);
      } catch (error) {
        // Where there is none, the reason is that it could not be made.
        throw files.list(path).includes(LOCK_NAME) ? error : refusal;
      }
    });
    try {
      if (files.hasLocks && !lock.tryLock()) {
        throw new ReplayError(
          "busy",
          `checkpoint: another server writes its checkpoints into ${
            show(path)
          }; each needs a folder of its own`,
        );
      }
      const opened = new CheckpointFolder(path, files, kernel, lock);
      opened.#removeLeft();
      return opened;
    } catch (error) {
      lock[dispose]();
      throw error;
    }
  }

  /** The checkpoints by their names, the newest first. */
  list(): CheckpointFile[] {
    const found: CheckpointFile[] = [];
    for (const name of this.#attempt("read", () => this.#files.list(this.path))) {
      const [, number] = NAME.exec(name) ?? [];
      if (number === undefined) continue;
      found.push({ name, path: this.#files.path.join(this.path, name), number: Number(number) });
    }
    return found.sort((a, b) => b.number - a.number || (a.name < b.name ? 1 : -1));
  }

  /** Writes a checkpoint, which is in the folder only when all of it is on the disk. The program goes on meanwhile. Returns its path. */
  async write(
    number: number,
    pieces: (mark: CheckpointMark) => Iterable<Uint8Array>,
  ): Promise<string> {
    const time = new Date().toISOString().replace(/[-:]|\..*/g, "");
    const name = `checkpoint-${String(number).padStart(9, "0")}-${time}Z.exrp`;
    const path = this.#files.path.join(this.path, name);
    await writeNewFile(OPERATION, path, this.#files, pieces({ folder: this.#id, number }));
    return path;
  }

  /**
   * Removes old checkpoints of this folder, so that `keep` are left, while the program goes on. Those of `damaged` stay and do not count.
   * One that can't be removed does not keep the others in the folder.
   *
   * @throws {ReplayError} `file` if some could not be removed. The next call tries again.
   */
  async removeOld(keep: number, damaged: ReadonlySet<string>): Promise<void> {
    let kept = 0;
    const failures = new Map<string, unknown>();
    for (const { name, path, number } of this.list()) {
      if (damaged.has(name) || !this.#isOwn(path, number) || ++kept <= keep) continue;
      try {
        await this.#files.removeLater(path);
      } catch (error) {
        failures.set(path, error);
      }
    }
    if (failures.size === 0) return;
    // Somebody else may have removed one meanwhile.
    const left = this.list().filter(({ path }) => failures.has(path));
    const [first] = left;
    if (first === undefined) return;
    const cause = failures.get(first.path);
    throw new ReplayError(
      "file",
      `checkpoint: the new one is whole, but ${left.length} old ${
        left.length === 1 ? "one" : "ones"
      } can't be removed, such as ${show(first.path)}: ${
        cause instanceof Error ? cause.message : String(cause)
      }; the server tries again after its next checkpoint`,
      { cause },
    );
  }

  #isOwn(path: string, number: number): boolean {
    try {
      const mark = readFromFile(path, readMark(this.#kernel));
      return mark?.folder === this.#id && mark.number === number;
    } catch {
      return false;
    }
  }

  /** Removes what killed servers left. This one writes nothing yet. */
  #removeLeft(): void {
    for (const name of this.#attempt("read", () => this.#files.list(this.path))) {
      const [, number, end] = LEFT.exec(name) ?? [];
      if (number === undefined) continue;
      const path = this.#files.path.join(this.path, name);
      ignoreErrors(() => {
        // The lock of the folder says that no other server writes. One of Node or Bun takes none.
        const isLeft = end === "tmp" ? this.#files.hasLocks : this.#ageMs(path) > LEFT_AGE_MS;
        if (!isLeft) return;
        if (readFromFile(path, isEmpty()) || this.#isOwn(path, Number(number))) {
          this.#files.remove(path);
        }
      });
    }
  }

  #ageMs(path: string): number {
    using file = this.#files.open(path);
    return Date.now() - (file.changedMs() ?? Date.now());
  }

  /** The id of the folder. It is made when the folder is first used. */
  #readId(): string {
    const bytes = new Uint8Array(1024);
    let size = 0;
    for (let got = 1; got > 0 && size < bytes.length; size += got) {
      got = this.#lock.read(bytes.subarray(size));
    }
    const text = new TextDecoder().decode(bytes.subarray(0, size));
    const known = ID.exec(text)?.[1];
    if (known !== undefined) return known;
    // Only the beginning of what is written below may be there, where that was interrupted.
    if (!"exrp checkpoints ".startsWith(text.trim().slice(0, 17)) || size > 64) {
      throw new Error("the file is not of this library, and stays as it is");
    }
    const id = crypto.randomUUID().replaceAll("-", "");
    const line = new TextEncoder().encode(`${size === 0 ? "" : "\n"}exrp checkpoints ${id}\n`);
    for (let at = 0; at < line.length;) at += this.#lock.write(line.subarray(at));
    this.#lock.sync();
    return id;
  }

  #attempt<T>(verb: "read" | "write", call: () => T): T {
    return attemptOn(
      OPERATION,
      verb,
      this.#files.path.join(this.path, LOCK_NAME),
      this.#files,
      call,
    );
  }

  /** Lets the folder go. */
  [dispose](): void {
    this.#lock[dispose]();
  }
}

function* isEmpty(): Reading<boolean> {
  return (yield 1).length === 0;
}
