/**
 * The note that a shared replay carries in the kernel: what the threads must know of it, and the kernel does not. All threads are of one
 * process and run the same version of the library, which the note says first.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { ReplayError } from "../../base/errors.ts";
import { NativeEviction } from "../../eviction/native_eviction.ts";
import { checkStatus, type Kernel } from "../../ffi/library.ts";
import { EXRP_SHARE_INFO_COUNT, EXRP_SHARE_INFO_NOTE } from "../../ffi/symbols.ts";
import { Column, KeptColumn } from "../../schema/columns.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import type { NotedRegister } from "../register/noted_register.ts";
import { VERSION } from "../../base/version.ts";

/** The note. Where a thread ended early, the kernel may not have the last view or the last selector. */
export interface ShareNote extends NotedRegister {
  /** The library's version. */
  readonly library: string;
  /** The configuration. Its columns and its eviction policy are plain objects in a note that was read. */
  readonly config: ReplayConfig;
  /** The seed of the replay. */
  readonly seed: number;
  /** How many picks each selector had drawn before the snapshot that the replay was loaded from. */
  readonly drawnBefore: readonly number[];
  /** How far the replay was drained. */
  readonly drained: {
    readonly drained: number;
    readonly lost: number;
    readonly counts: readonly (readonly [number, number])[];
  };
}

/** The configuration of a note, or of another JSON that has one. */
export function configOf({ config }: Pick<ShareNote, "config">): ReplayConfig {
  // A replay with a policy of the user's own is never shared.
  const { name, native, options, number } = config.eviction as NativeEviction;
  const columns = config.columns.map(({ name, column: { dtype, shape, every } }) => ({
    name,
    column: every === 1 ? new Column(dtype, shape) : new KeptColumn(dtype, shape, every),
  }));
  return {
    ...config,
    columns,
    leaves: columns.slice(0, config.leaves.length),
    eviction: new NativeEviction(name, native, options, number),
  };
}

/** Reads the note of replay `id`. The caller holds the replay, as the note may change else. */
export function readNote(operation: string, kernel: Kernel, id: number): ShareNote {
  const { symbols } = kernel;
  const info = new Float64Array(EXRP_SHARE_INFO_COUNT);
  checkStatus(kernel, operation, symbols.exrp_share_info(id, info, lengthOf(info)));
  const bytes = new Uint8Array(info[EXRP_SHARE_INFO_NOTE] ?? 0);
  checkStatus(kernel, operation, symbols.exrp_share_note_get(id, bytes, lengthOf(bytes)));
  const note = JSON.parse(new TextDecoder().decode(bytes)) as ShareNote;
  if (note.library === VERSION) return note;
  throw new ReplayError(
    "ticket",
    `${operation}: the replay was shared by version ${note.library} of the library, but this thread runs ${VERSION}`,
  );
}

/** Writes the note of replay `id`. */
export function writeNote(operation: string, kernel: Kernel, id: number, note: ShareNote): void {
  const bytes = new TextEncoder().encode(JSON.stringify(note));
  checkStatus(kernel, operation, kernel.symbols.exrp_share_note_set(id, bytes, lengthOf(bytes)));
}
