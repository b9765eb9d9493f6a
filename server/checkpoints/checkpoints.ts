/**
 * The checkpoints of a server: written on demand, from time to time and when it stops, and loaded when it starts.
 *
 * Invariants: 1. A checkpoint has everything that was confirmed before it was asked for. 2. One is written at a time; whoever asks meanwhile
 * waits for the next one, which answers all who wait.
 *
 * @module
 */

import { checkBoolean, checkInteger, show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkOptions } from "../../base/option_names.ts";
import { dispose } from "../../base/platform.ts";
import { filesFor, pathOf } from "../../storage/file.ts";
import type { Files } from "../../storage/files.ts";
import { type FolderKind, GenerationFolder } from "../../storage/folder.ts";
import { TABLES_KIND } from "../../storage/described_folder.ts";
import { loadReverbCheckpoint } from "../../tables/reverb_checkpoint.ts";
import { kernelTablesOf, type Tables, writeCheckpoint } from "../../tables/tables.ts";
import type { CheckpointFigures } from "../figures.ts";
import type { Checkpointer } from "../service.ts";

/** Where a server writes checkpoints, and when. {@linkcode serve} takes it. */
export interface CheckpointOptions {
  /** The folder, which is made if there is none. Each server needs its own. Files in it that the server did not write are never touched. */
  readonly folder?: string | URL;
  /** How many checkpoints stay, 1 or more; 3 by default. */
  readonly keep?: number;
  /** Milliseconds between two checkpoints that the server writes by itself, 100 or more. It writes none by default. */
  readonly everyMs?: number;
  /** Whether the server writes a checkpoint when it stops; true by default. */
  readonly onStop?: boolean;
  /** Whether the newest whole checkpoint of the folder is loaded when the server starts; true by default. */
  readonly load?: boolean;
  /**
   * What the tables begin with while the folder has no checkpoint: the path of a file, which is a snapshot of tables or a checkpoint of another
   * folder; or of a folder, which is a checkpoint of Reverb's own server.
   */
  readonly from?: string | URL;
}

const NAMES = ["folder", "keep", "everyMs", "onStop", "load", "from"];

const KIND: FolderKind = {
  of: TABLES_KIND,
  generation: "checkpoint",
  writer: "server",
  anew: "say load: false",
};

/** How often a checkpoint looks whether a snapshot that the program itself writes has ended. */
const BUSY_STEP_MS = 10;

/** How long the last checkpoint waits for that. */
const BUSY_MS = 30_000;

/** Throws unless these are options of checkpoints. */
export function checkCheckpointOptions(where: string, options: CheckpointOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${where} must be an object with a folder, got ${show(options)}`);
  }
  checkOptions(where, options, NAMES);
  const { folder, keep, everyMs, onStop, load, from } = options;
  for (const [name, path] of [["folder", folder], ["from", from]] as const) {
    const isPath = path === undefined || path instanceof URL ||
      (typeof path === "string" && path !== "");
    if (!isPath) throw new TypeError(`${where}.${name} must be a path, got ${show(path)}`);
  }
  if (folder === undefined) {
    if (from === undefined) throw new TypeError(`${where} needs a folder`);
    const other = NAMES.find((name) =>
      name !== "from" && options[name as keyof CheckpointOptions] !== undefined
    );
    if (other !== undefined) throw new TypeError(`${where}.${other} needs ${where}.folder`);
  }
  if (keep !== undefined) checkInteger(`${where}.keep`, keep, 1, 2 ** 31 - 1);
  if (everyMs !== undefined) checkInteger(`${where}.everyMs`, everyMs, 100, 2 ** 31 - 1);
  if (onStop !== undefined) checkBoolean(`${where}.onStop`, onStop);
  if (load !== undefined) checkBoolean(`${where}.load`, load);
}

/** What a server began with; {@linkcode ReverbServer.checkpoint} has an example. */
export interface LoadedCheckpoint {
  /** The path that was loaded; undefined if there was nothing to load. */
  readonly path: string | undefined;
  /** Newer checkpoints that are damaged, each with the reason. */
  readonly damaged: readonly { readonly path: string; readonly reason: string }[];
}

/** Loads what a server begins with, and takes its folder. Tests have a `busyMs` of their own. */
export async function openCheckpoints(
  tables: Tables,
  options: CheckpointOptions,
  onError: (error: unknown) => void,
  busyMs: number = BUSY_MS,
): Promise<{ readonly checkpoints?: Checkpoints; readonly loaded: LoadedCheckpoint }> {
  if (options.folder === undefined) {
    return { loaded: { path: await loadFrom(tables, options.from), damaged: [] } };
  }
  const folder = new GenerationFolder(KIND, options.folder, kernelTablesOf(tables).kernel);
  try {
    const loaded = options.load === false
      ? { path: undefined, damaged: [] }
      : await loadNewest(tables, folder, options.from);
    for (const { path, reason } of loaded.damaged) {
      const message = `${show(path)} is damaged, so an older checkpoint was loaded: ${reason}`;
      onError(new ReplayError("snapshot-corrupt", message));
    }
    const checkpoints = new Checkpoints(tables, folder, options, onError, busyMs);
    return { checkpoints, loaded };
  } catch (error) {
    folder[dispose]();
    throw error;
  }
}

async function loadNewest(
  tables: Tables,
  folder: GenerationFolder,
  from: string | URL | undefined,
): Promise<LoadedCheckpoint> {
  if (folder.count === 0) return { path: await loadFrom(tables, from), damaged: [] };
  checkEmpty(tables, `${show(folder.path)} has checkpoints`);
  return await folder.load((path) => tables.unserialize(path));
}

/** Loads what tables begin with. Returns its path. */
async function loadFrom(
  tables: Tables,
  from: string | URL | undefined,
): Promise<string | undefined> {
  if (from === undefined) return undefined;
  const files = filesFor("checkpoint.from");
  const path = pathOf("checkpoint.from", from, files);
  checkEmpty(tables, `checkpoint.from is ${show(path)}`);
  if (isFolder(path, files)) await loadReverbCheckpoint(tables, path);
  else await tables.unserialize(path);
  return path;
}

function isFolder(path: string, files: Files): boolean {
  try {
    files.list(path);
    return true;
  } catch {
    return false;
  }
}

/** Throws if something would be lost by loading. */
function checkEmpty(tables: Tables, why: string): void {
  const full = tables.names.find((name) => tables.table(name).size > 0);
  if (full === undefined) return;
  throw new ReplayError(
    "order",
    `serve(): ${why}, but table ${show(full)} has ${
      tables.table(full).size
    } items already; serve empty tables to load it, or say load: false to keep these`,
  );
}

/** Writes checkpoints of tables into a folder. */
export class Checkpoints implements Checkpointer {
  readonly #tables: Tables;
  readonly #folder: GenerationFolder;
  readonly #options: CheckpointOptions;
  readonly #busyMs: number;
  readonly #onError: (error: unknown) => void;
  /** What was written since the server started. */
  figures: CheckpointFigures = { written: 0, failed: 0, last: undefined };
  #current: Promise<unknown> = Promise.resolve();
  #next: Promise<string> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** {@linkcode openCheckpoints} makes it. */
  constructor(
    tables: Tables,
    folder: GenerationFolder,
    options: CheckpointOptions,
    onError: (error: unknown) => void,
    busyMs: number,
  ) {
    this.#tables = tables;
    this.#folder = folder;
    this.#options = options;
    this.#onError = onError;
    this.#busyMs = busyMs;
    this.#startTimer();
  }

  /** @inheritDoc */
  async save(): Promise<string> {
    if (this.#isClosed) {
      throw new ReplayError(
        "order",
        `checkpoint: the server has stopped, and ${show(this.#folder.path)} may be another's now`,
      );
    }
    return await this.#save();
  }

  #save(): Promise<string> {
    if (this.#next === undefined) {
      const next = this.#current.then(() => {
        this.#next = undefined;
        return this.#write();
      });
      this.#next = next;
      this.#current = next.catch(() => {});
    }
    return this.#next;
  }

  async #write(): Promise<string> {
    let path: string;
    try {
      await this.#untilSaved();
      path = await this.#writeFile();
    } catch (error) {
      const { failed } = this.figures;
      this.figures = { ...this.figures, failed: failed + 1 };
      throw error;
    }
    // Whether or not old ones can be removed, this one is whole.
    await this.#folder.removeOld(this.#options.keep ?? 3).catch(this.#onError);
    return path;
  }

  /** Waits until no snapshot that the program itself writes is open. */
  async #untilSaved(): Promise<void> {
    for (let waited = 0; kernelTablesOf(this.#tables).isSaving; waited += BUSY_STEP_MS) {
      if (this.#isClosed && waited >= this.#busyMs) {
        throw new ReplayError(
          "busy",
          `stop(): the last checkpoint was not written, because tables.serialize() has not ended in ${
            this.#busyMs / 1000
          } s`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, BUSY_STEP_MS));
    }
  }

  /** Writes the next file. Returns its path. */
  async #writeFile(): Promise<string> {
    const start = performance.now();
    let bytes = 0;
    function* counted(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
      for (const piece of pieces) {
        bytes += piece.length;
        yield piece;
      }
    }
    const path = await this.#folder.write((mark) => counted(writeCheckpoint(this.#tables, mark)));
    const last = { at: Date.now() / 1000, bytes, seconds: (performance.now() - start) / 1000 };
    this.figures = { ...this.figures, written: this.figures.written + 1, last };
    return path;
  }

  #startTimer(): void {
    const { everyMs } = this.#options;
    if (everyMs === undefined || this.#isClosed) return;
    this.#timer = setTimeout(async () => {
      await this.save().catch(this.#onError);
      this.#startTimer();
    }, everyMs);
  }

  /** Writes the last checkpoint, if that is wanted, and lets the folder go. */
  async close(isLast: boolean): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    try {
      if (isLast && this.#options.onStop !== false) await this.#save();
      await this.#current;
    } finally {
      this.#folder[dispose]();
    }
  }
}
