/**
 * Saving and loading: which parts of a replay go into a snapshot, and how a loaded snapshot takes a replay's place.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { dispose } from "../../base/platform.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import {
  EXRP_INFO_NEXT_HANDLE,
  EXRP_INFO_SEGMENT_LENGTH,
  EXRP_SHARE_LOADING,
  EXRP_STATUS_NOT_SHARABLE,
  EXRP_STATUS_ORDER,
} from "../../ffi/symbols.ts";
import { NativeSelector } from "../../selectors/native_selector.ts";
import type { ReplayCore } from "../core.ts";
import { notedSelector } from "../register/noted_register.ts";
import type { Register } from "../register/register.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { VERSION } from "../../base/version.ts";
import type { ExtraState } from "./extra_state.ts";
import { type LoadedSnapshot, type OwnBytes, readSnapshot, writeSnapshot } from "./snapshot.ts";
import type { SnapshotWriting } from "../../storage/frames.ts";
import {
  readFrom,
  type SerializeTarget,
  type UnserializeSource,
  writeTo,
  writeToBytes,
} from "../../storage/io.ts";
import type { OwnSchema } from "./snapshot_schema.ts";

/** Saves and loads one replay. */
export class Saver {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #register: Register;
  readonly #extra: ExtraState;

  /** Saves and loads the replay that has these parts. */
  constructor(core: ReplayCore, rules: UserRules, register: Register, extra: ExtraState) {
    this.#core = core;
    this.#rules = rules;
    this.#register = register;
    this.#extra = extra;
  }

  /** Writes a snapshot of this moment. The replay may change meanwhile. */
  async serialize(target?: SerializeTarget): Promise<Uint8Array<ArrayBuffer> | undefined> {
    using moment = this.#begin();
    if (target === undefined) return writeToBytes(moment.writing);
    await writeTo(target, moment.writing, moment.ended);
    return undefined;
  }

  /** Keeps this moment until the result is disposed. `ended` aborts if the replay is disposed before. */
  #begin(): Disposable & { readonly writing: SnapshotWriting; readonly ended: AbortSignal } {
    const core = this.#core;
    const { id, kernel: { symbols } } = core;
    return core.together("serialize()", () => {
      const status = symbols.exrp_replay_save_begin(id);
      if (status === EXRP_STATUS_ORDER) throw isSaving("serialize()");
      core.check("serialize()", status);
      const saving = new AbortController();
      core.saving = saving;
      const end = (): void => {
        core.saving = undefined;
        symbols.exrp_replay_save_end(id);
      };
      try {
        return { writing: this.#write(), ended: saving.signal, [dispose]: end };
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
    if (core.durable !== undefined) {
      throw new ReplayError(
        "busy",
        "unserialize(): a durable replay has its own folder, and takes no snapshot; load the snapshot into a replay of create()",
      );
    }
    if (core.saving !== undefined) throw isSaving("unserialize()");
    const reading = readSnapshot(core, this.#schema(new Map()));
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
    const { eviction } = this.#rules;
    this.#register.tellRules();
    const own = new Map<string, Uint8Array>();
    for (const { selector, custom, composed } of this.#register.entries) {
      const rule = custom ?? composed;
      if (rule !== undefined) own.set(`RULE ${selector.id}`, rule.save());
    }
    if (eviction !== undefined) own.set("EVIC 0", eviction.save());
    own.set("SIDE 0", this.#extra.save());
    return writeSnapshot(this.#core, this.#schema(own), own);
  }

  /** The schema of this replay, whose sections in `own` have so many bytes. */
  #schema(own: OwnBytes): OwnSchema {
    const { config, seed } = this.#core;
    const { eviction } = config;
    const register = this.#register;
    const bytesOf = (section: string): number => lengthOf(own.get(section) ?? new Uint8Array(0));
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
      views: register.views.map(({ policy }) => policy),
      segmentLength: this.#core.info("serialize()")[EXRP_INFO_SEGMENT_LENGTH] ?? 0,
      seed,
      eviction: {
        runs: "native" in eviction ? "kernel" : "typescript",
        name: eviction.name,
        options: "native" in eviction ? eviction.options : {},
        bytes: bytesOf("EVIC 0"),
      },
      selectors: register.entries.map((entry) => {
        const { selector: { id }, native, custom } = entry;
        return {
          native: 0,
          ...notedSelector(entry),
          runs: native !== undefined ? "kernel" : custom !== undefined ? "typescript" : "parts",
          bytes: bytesOf(`RULE ${id}`),
          drawnCount: register.drawnCount("serialize()", entry),
          drawnAsPart: register.drawnAsPart(id),
        };
      }),
      side: { bytes: bytesOf("SIDE 0") },
    };
  }

  /** Puts a loaded snapshot in the place of what there is. On failure everything stays as it was. */
  #adopt({ handle, schema, own }: LoadedSnapshot): void {
    const core = this.#core;
    const register = this.#register;
    const { selectors } = this.#rules;
    let takeSide: () => void;
    try {
      takeSide = this.#extra.read(own.get("SIDE 0") ?? new Uint8Array(0), handle.id);
      if (selectors.size > 0) {
        selectors.drain(core.occupiedId);
        selectors.openJournals(handle.id);
      }
      this.#loadRules(handle.id, own);
    } catch (error) {
      handle[Symbol.dispose]();
      throw error;
    }
    core.adopt(handle, schema.seed);
    register.setDrawn(
      schema.selectors.map(({ drawnCount }) => drawnCount),
      schema.selectors.map(({ drawnAsPart }) => drawnAsPart),
    );
    takeSide();
    for (const policy of schema.views.slice(register.views.length)) register.addTable(policy);
    for (const rule of schema.selectors.slice(register.entries.length)) {
      const { name, native, options, numbers, view } = rule;
      const selector = new NativeSelector(name, native, options, numbers);
      register.addNative(selector, register.nativeCount, view);
    }
  }

  /** Gives each rule in TypeScript its bytes, and replay `id` of the kernel. If one refuses, all get back what they had. */
  #loadRules(id: number, own: OwnBytes): void {
    const core = this.#core;
    const undo: (() => void)[] = [];
    const give = (name: string, load: () => void, takeBack: () => void): void => {
      undo.push(takeBack);
      try {
        load();
      } catch (cause) {
        throw new ReplayError(
          "rule",
          `unserialize(): the rule ${name} refused its part of the snapshot: ${cause}`,
          { cause },
        );
      }
    };
    try {
      for (const { selector: { id: k, kind, view }, custom, composed } of this.#register.entries) {
        const [rule, bytes] = [custom ?? composed, own.get(`RULE ${k}`)];
        if (rule === undefined || bytes === undefined) continue;
        const load = (count: number, from: Uint8Array): void =>
          custom === undefined ? composed?.load(from) : custom.load(count, from);
        const [countBefore, before] = [custom?.count ?? 0, rule.save()];
        const count = this.#register.pickCount(view, id);
        give(kind, () => load(count, bytes), () => load(countBefore, before));
      }
      const { eviction } = this.#rules;
      const bytes = own.get("EVIC 0");
      if (eviction === undefined || bytes === undefined) return;
      const before = core.episodes("unserialize()", undefined, core.occupiedId).handle;
      const after = core.episodes("unserialize()", undefined, id).handle;
      const [saved, nextBefore] = [eviction.save(), eviction.nextHandle];
      const next = core.info("unserialize()", id)[EXRP_INFO_NEXT_HANDLE] ?? 0;
      give(
        eviction.policy.name,
        () => eviction.load(before, after, id, next, bytes),
        () => eviction.load(after, before, core.occupiedId, nextBefore, saved),
      );
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    }
  }
}

function isSaving(operation: string): ReplayError {
  return new ReplayError(
    "busy",
    `${operation}: another snapshot of this replay is being written; await that serialize() first`,
  );
}
