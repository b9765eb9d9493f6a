/**
 * Saving and loading: which parts of a replay go into a snapshot, and how a loaded snapshot takes a replay's place.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { dispose } from "../../base/platform.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import {
  EXRP_INFO_NEXT_HANDLE,
  EXRP_INFO_SEGMENT_LENGTH,
  EXRP_SHARE_LOADING,
  EXRP_STATUS_NOT_SHARABLE,
  EXRP_STATUS_ORDER,
} from "../../ffi/symbols.ts";
import type { ReplayHandle } from "../../ffi/handle.ts";
import { NativeSelector } from "../../selectors/native_selector.ts";
import type { ReplayCore } from "../core.ts";
import type { Register, SelectorEntry } from "../register/register.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { VERSION } from "../../base/version.ts";
import type { ExtraState } from "./extra_state.ts";
import {
  type LoadedSnapshot,
  readSnapshot,
  type SnapshotTarget,
  writeSnapshot,
} from "./snapshot.ts";
import { writeToFile } from "../../storage/file.ts";
import type { SnapshotWriting } from "../../storage/frames.ts";
import {
  readFrom,
  type SerializeTarget,
  type UnserializeSource,
  writeToBytes,
  writeToStream,
  wrongTarget,
} from "../../storage/io.ts";
import type { SelectorSchema, SnapshotSchema } from "./snapshot_schema.ts";

/** Saves and loads one replay. */
export class Saver {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #register: Register;
  readonly #extra: ExtraState;
  #isSaving = false;

  /** Saves and loads the replay that has these parts. */
  constructor(core: ReplayCore, rules: UserRules, register: Register, extra: ExtraState) {
    this.#core = core;
    this.#rules = rules;
    this.#register = register;
    this.#extra = extra;
  }

  /** Writes a snapshot. */
  async serialize(target?: SerializeTarget): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#core.checkUsable("serialize()");
    if (target === undefined) return this.#together(writeToBytes);
    if (typeof target === "string" || target instanceof URL) {
      this.#together((writing) => writeToFile(target, writing));
      return undefined;
    }
    if (!(target instanceof WritableStream)) throw wrongTarget(target);
    using moment = this.#begin();
    await writeToStream(target, moment.writing);
    return undefined;
  }

  /** Takes a snapshot and writes it at once. */
  #together<T>(write: (writing: SnapshotWriting) => T): T {
    return this.#core.together("serialize()", () => {
      using moment = this.#begin();
      return write(moment.writing);
    });
  }

  /** Keeps this moment until the result is disposed. The replay may change meanwhile. */
  #begin(): Disposable & { readonly writing: SnapshotWriting } {
    const { id, kernel: { symbols } } = this.#core;
    return this.#core.together("serialize()", () => {
      const status = symbols.exrp_replay_save_begin(id);
      if (status === EXRP_STATUS_ORDER) throw isSaving("serialize()");
      this.#core.check("serialize()", status);
      this.#isSaving = true;
      const end = (): void => {
        this.#isSaving = false;
        symbols.exrp_replay_save_end(id);
      };
      try {
        return { writing: this.#write(), [dispose]: end };
      } catch (error) {
        end();
        throw error;
      }
    });
  }

  /** Reads a snapshot and puts it in the place of what there is. */
  async unserialize(source: UnserializeSource): Promise<void> {
    const core = this.#core;
    core.checkUsable("unserialize()");
    if (core.shared !== undefined) {
      throw errorOfStatus("unserialize()", EXRP_STATUS_NOT_SHARABLE, [EXRP_SHARE_LOADING]);
    }
    if (this.#isSaving) throw isSaving("unserialize()");
    const reading = readSnapshot(this.#target());
    using _occupied = source instanceof ReadableStream ? core.occupy("unserialize()") : undefined;
    const read = readFrom(source, reading);
    const loaded = read instanceof Promise ? await read : read;
    if (core.isDisposed) {
      loaded.handle[Symbol.dispose]();
      throw new ReplayError("disposed", "unserialize(): the replay was disposed meanwhile");
    }
    this.#adopt(loaded);
  }

  #write(): SnapshotWriting {
    const core = this.#core;
    const { selectors } = this.#rules;
    if (selectors.size > 0) selectors.drain(core.id);
    const rules = new Map<number, Uint8Array>();
    for (const { selector, custom, composed } of this.#register.entries) {
      const own = custom ?? composed;
      if (own !== undefined) rules.set(selector.id, own.save());
    }
    const eviction = this.#rules.eviction?.save();
    const schema = this.#schema(core.id, rules, eviction?.length ?? 0);
    const side = this.#extra.save();
    return writeSnapshot({ kernel: core.kernel, id: core.id, schema, rules, eviction, side });
  }

  #target(): SnapshotTarget {
    const core = this.#core;
    const schema = this.#schema(core.id, new Map(), 0);
    const create = (seed: number): ReplayHandle => core.createHandle(seed, "unserialize()");
    return { kernel: core.kernel, schema, create };
  }

  #schema(
    id: number,
    rules: ReadonlyMap<number, Uint8Array>,
    evictionBytes: number,
  ): Omit<SnapshotSchema, "sections"> {
    const { config, seed } = this.#core;
    const { eviction } = config;
    return {
      library: VERSION,
      capacity: config.capacity,
      capacityBytes: config.capacityBytes,
      maxAge: config.maxAge,
      columns: config.columns.map(({ name, column }) => ({
        name,
        dtype: column.dtype,
        shape: column.shape,
        every: column.every,
      })),
      views: this.#register.views.map(({ policy }) => policy),
      segmentLength: this.#core.info("serialize()", id)[EXRP_INFO_SEGMENT_LENGTH] ?? 0,
      seed,
      eviction: {
        runs: "native" in eviction ? "kernel" : "typescript",
        name: eviction.name,
        options: "native" in eviction ? eviction.options : {},
        bytes: evictionBytes,
      },
      selectors: this.#register.entries.map((entry) =>
        selectorSchema(entry, rules, this.#register)
      ),
      side: { bytes: 0 },
    };
  }

  /** Puts a loaded snapshot in the place of what there is. On failure everything stays as it was. */
  #adopt(loaded: LoadedSnapshot): void {
    const core = this.#core;
    const { selectors } = this.#rules;
    const { entries } = this.#register;
    const { handle, schema } = loaded;
    let takeSide: () => void;
    try {
      takeSide = this.#extra.read(loaded.side, handle.id);
      const info = core.info("unserialize()", handle.id);
      if (selectors.size > 0) {
        selectors.drain(core.occupiedId);
        selectors.openJournals(handle.id);
      }
      this.#loadRules(loaded, info);
    } catch (error) {
      handle[Symbol.dispose]();
      throw error;
    }
    core.adopt(handle, schema.seed);
    this.#register.setDrawn(
      schema.selectors.map(({ drawnCount }) => drawnCount),
      schema.selectors.map(({ drawnAsPart }) => drawnAsPart),
    );
    takeSide();
    for (const policy of schema.views.slice(this.#register.views.length)) {
      this.#register.addTable(policy);
    }
    let nativeId = this.#register.nativeCount;
    for (
      const { name, native, options, numbers, view } of schema.selectors.slice(entries.length)
    ) {
      this.#register.addNative(
        new NativeSelector(name, native, options, numbers),
        nativeId++,
        view,
      );
    }
  }

  /** Gives each rule in TypeScript its bytes. If one refuses, all get back what they had. */
  #loadRules(loaded: LoadedSnapshot, info: Float64Array): void {
    const core = this.#core;
    const undo: (() => void)[] = [];
    try {
      for (const { selector, custom, composed } of this.#register.entries) {
        const bytes = loaded.rules.get(selector.id);
        if (composed !== undefined && bytes !== undefined) {
          const before = composed.save();
          undo.push(() => composed.load(before));
          refusable(composed.rule.name, () => composed.load(bytes));
        }
        if (custom === undefined || bytes === undefined) continue;
        const [countBefore, before] = [custom.count, custom.save()];
        undo.push(() => custom.load(countBefore, before));
        const count = this.#register.pickCount(selector.view, loaded.handle.id);
        refusable(custom.rule.name, () => custom.load(count, bytes));
      }
      const { eviction } = this.#rules;
      if (eviction === undefined || loaded.eviction === undefined) return;
      const own = loaded.eviction;
      const after = this.#episodesOf(loaded.handle.id);
      const before = this.#episodesOf(core.occupiedId);
      const [saved, nextBefore] = [eviction.save(), eviction.nextHandle];
      undo.push(() => eviction.load(after, before, core.occupiedId, nextBefore, saved));
      refusable(eviction.policy.name, () => {
        const nextHandle = info[EXRP_INFO_NEXT_HANDLE] ?? 0;
        eviction.load(before, after, loaded.handle.id, nextHandle, own);
      });
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    }
  }

  #episodesOf(id: number): Float64Array {
    return this.#core.episodes("unserialize()", undefined, id).handle;
  }
}

function isSaving(operation: string): ReplayError {
  return new ReplayError(
    "busy",
    `${operation}: another snapshot of this replay is being written; await that serialize() first`,
  );
}

function refusable(name: string, load: () => void): void {
  try {
    load();
  } catch (cause) {
    throw new ReplayError(
      "rule",
      `unserialize(): the rule ${name} refused its part of the snapshot: ${cause}`,
      { cause },
    );
  }
}

function selectorSchema(
  entry: SelectorEntry,
  rules: ReadonlyMap<number, Uint8Array>,
  register: Register,
): SelectorSchema {
  const { selector, native, custom, composed } = entry;
  return {
    runs: native !== undefined ? "kernel" : custom !== undefined ? "typescript" : "parts",
    view: selector.view,
    parts: selector.parts.map(({ id }) => id),
    name: selector.kind,
    native: native?.native ?? 0,
    options: native?.options ?? composed?.rule.options ?? {},
    numbers: native?.numbers ?? [],
    bytes: rules.get(selector.id)?.length ?? 0,
    drawnCount: register.drawnCount("serialize()", entry),
    drawnAsPart: register.drawnAsPart(selector.id),
  };
}
