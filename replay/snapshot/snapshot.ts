/**
 * Writing a replay as a snapshot and reading it back, piece by piece. See docs/internals/snapshot_format.md.
 *
 * @module
 */

import { joinBytes } from "../../base/bytes.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkStatus, type Kernel, kernelError } from "../../ffi/library.ts";
import type { ReplayHandle } from "../../ffi/handle.ts";
import * as abi from "../../ffi/symbols.ts";
import { kernelPolicy } from "../../schema/pick_options.ts";
import { type DType, DTYPES } from "../../schema/columns.ts";
import { corrupt } from "../../storage/errors.ts";
import {
  encodeAll,
  encodeBegin,
  encodeFrame,
  END_FRAME_BYTES,
  FRAME_OVERHEAD_BYTES,
  FrameReader,
  PIECE_BYTES_MAX,
  type Reading,
  type SnapshotKind,
  type SnapshotWriting,
} from "../../storage/frames.ts";
import {
  checkFits,
  readSchema,
  type SectionSchema,
  type SnapshotSchema,
} from "./snapshot_schema.ts";

const KIND: SnapshotKind = { magic: "EXRPSNAP", version: 2, of: "a replay" };

/** What a snapshot is written from. */
export interface SnapshotSource {
  /** The kernel. */
  readonly kernel: Kernel;
  /** The replay in it. */
  readonly id: number;
  /** The schema without its list of sections. */
  readonly schema: Omit<SnapshotSchema, "sections">;
  /** The bytes of each selector written in TypeScript, by the selector's number. */
  readonly rules: ReadonlyMap<number, Uint8Array>;
  /** The bytes of an eviction policy written in TypeScript. */
  readonly eviction: Uint8Array | undefined;
  /** The bytes of the extra state. */
  readonly side: Uint8Array;
}

/**
 * Plans a snapshot of the moment that the kernel keeps for this replay, by `exrp_replay_save_begin`. Its size is known in advance, and its pieces have
 * at most 1 MiB. The replay may change meanwhile.
 */
export function writeSnapshot(source: SnapshotSource): SnapshotWriting {
  const { kernel, id } = source;
  const sections = kernelSections(kernel, id, source.schema, "serialize()");
  const { side: _, ...rest } = source.schema;
  const side = source.side.length > 0 ? { side: { bytes: source.side.length } } : {};
  const begin = encodeBegin(kernel, KIND, { ...rest, ...side, sections });
  let bytes = begin.length + END_FRAME_BYTES;
  const plan = (items: number, itemBytes: number): void => {
    bytes += items * itemBytes + Math.ceil(items / itemsPerFrame(itemBytes)) * FRAME_OVERHEAD_BYTES;
  };
  for (const { itemCount, itemBytes } of sections) plan(itemCount, itemBytes);
  for (const own of source.rules.values()) plan(own.length, 1);
  plan(source.eviction?.length ?? 0, 1);
  plan(source.side.length, 1);

  function* frames(): Generator<Uint8Array<ArrayBuffer>> {
    for (const section of sections) yield* sectionFrames(kernel, id, section);
    for (const [index, own] of source.rules) yield* ownFrames(kernel, "RULE", index, own);
    if (source.eviction !== undefined) yield* ownFrames(kernel, "EVIC", 0, source.eviction);
    yield* ownFrames(kernel, "SIDE", 0, source.side);
  }
  return { bytes, pieces: encodeAll(kernel, begin, frames()) };
}

function itemsPerFrame(itemBytes: number): number {
  return Math.max(1, Math.floor((PIECE_BYTES_MAX - FRAME_OVERHEAD_BYTES) / Math.max(1, itemBytes)));
}

/** The sections of the kernel. One without bytes has no frames. Where a section has no items, they have no size either. */
function kernelSections(
  kernel: Kernel,
  id: number,
  { selectors }: Pick<SnapshotSchema, "selectors">,
  operation: string,
): SectionSchema[] {
  const native = selectors.filter(({ runs }) => runs === "kernel").length;
  return Array.from(
    { length: abi.EXRP_SECTION_SELECTOR + 2 * native },
    (_, section) => sectionInfo(kernel, id, section, operation),
  ).filter(({ itemBytes }) => itemBytes > 0);
}

function sectionInfo(
  kernel: Kernel,
  id: number,
  section: number,
  operation: string,
): SectionSchema {
  const info = new Float64Array(2);
  checkStatus(
    kernel,
    operation,
    kernel.symbols.exrp_section_info(id, section, info, lengthOf(info)),
  );
  return { section, itemCount: info[0] ?? 0, itemBytes: info[1] ?? 0 };
}

function* sectionFrames(
  kernel: Kernel,
  id: number,
  { section, itemCount, itemBytes }: SectionSchema,
): Generator<Uint8Array<ArrayBuffer>> {
  const step = itemsPerFrame(itemBytes);
  for (let first = 0; first < itemCount; first += step) {
    const count = Math.min(step, itemCount - first);
    yield encodeFrame(kernel, "KERN", section, count * itemBytes, (payload) => {
      if (payload.length === 0) return;
      const status = kernel.symbols.exrp_section_read(
        id,
        section,
        first,
        count,
        payload,
        lengthOf(payload),
      );
      checkStatus(kernel, "serialize()", status);
    });
  }
}

function* ownFrames(
  kernel: Kernel,
  tag: "RULE" | "EVIC" | "SIDE",
  index: number,
  own: Uint8Array,
): Generator<Uint8Array<ArrayBuffer>> {
  const step = itemsPerFrame(1);
  for (let first = 0; first < own.length; first += step) {
    const part = own.subarray(first, first + step);
    yield encodeFrame(kernel, tag, index, part.length, (payload) => payload.set(part));
  }
}

/** The replay that a snapshot is read for. */
export interface SnapshotTarget {
  /** The kernel. */
  readonly kernel: Kernel;
  /** The schema of that replay, with the selectors that it has now. */
  readonly schema: Omit<SnapshotSchema, "sections">;
  /** Makes an empty replay of the same configuration with another seed. */
  readonly create: (seed: number) => ReplayHandle;
}

/** A snapshot that was read and found sound. */
export interface LoadedSnapshot {
  /** The new replay in the kernel. */
  readonly handle: ReplayHandle;
  /** The schema that the snapshot holds. */
  readonly schema: SnapshotSchema;
  /** The bytes of each selector written in TypeScript, by the selector's number. */
  readonly rules: ReadonlyMap<number, Uint8Array>;
  /** The bytes of an eviction policy written in TypeScript. */
  readonly eviction: Uint8Array | undefined;
  /** The bytes of the extra state; no bytes if there is none. */
  readonly side: Uint8Array;
}

/** Reads a snapshot into a new replay of the kernel. */
export function* readSnapshot(target: SnapshotTarget): Reading<LoadedSnapshot> {
  const { kernel } = target;
  const reader = new FrameReader(kernel, KIND);
  const schema = readSchema("", yield* reader.begin());
  checkFits({ ...target.schema, sections: [] }, schema);

  const handle = target.create(schema.seed);
  let done = false;
  try {
    createTables(kernel, handle.id, schema);
    createSelectors(kernel, handle.id, schema);
    checkSections(kernel, handle.id, schema);
    for (const section of schema.sections) yield* readSection(kernel, handle.id, reader, section);
    const rules = new Map<number, Uint8Array>();
    for (const [index, selector] of schema.selectors.entries()) {
      if (selector.runs === "kernel") continue;
      rules.set(index, yield* readOwn(reader, "RULE", index, selector.bytes));
    }
    const eviction = schema.eviction.runs === "kernel"
      ? undefined
      : yield* readOwn(reader, "EVIC", 0, schema.eviction.bytes);
    const side = yield* readOwn(reader, "SIDE", 0, schema.side.bytes);
    yield* reader.end();
    loadStatus(kernel, "the whole", kernel.symbols.exrp_snapshot_end(handle.id));
    done = true;
    return { handle, schema, rules, eviction, side };
  } finally {
    if (!done) handle[Symbol.dispose]();
  }
}

function createTables(kernel: Kernel, id: number, schema: SnapshotSchema): void {
  const number = new Uint32Array(1);
  const reward = dtypeOf(schema.columns[2]?.dtype);
  for (const [k, policy] of schema.views.entries()) {
    if (k === 0) continue; // the replay was made with it
    const numbers = kernelPolicy(policy, reward);
    const status = kernel.symbols.exrp_pick_view_create(id, numbers, lengthOf(numbers), number);
    loadStatus(kernel, `pick view ${k}`, status);
  }
}

function dtypeOf(name: string | undefined): DType {
  return DTYPES.find((dtype) => dtype === name) ?? "float32";
}

function createSelectors(kernel: Kernel, id: number, schema: SnapshotSchema): void {
  const number = new Uint32Array(1);
  for (const [k, selector] of schema.selectors.entries()) {
    if (selector.runs !== "kernel") continue;
    const numbers = new Float64Array(Math.max(1, selector.numbers.length));
    numbers.set(selector.numbers);
    const status = kernel.symbols.exrp_selector_create(
      id,
      selector.view,
      selector.native,
      numbers,
      selector.numbers.length,
      number,
    );
    loadStatus(kernel, `selector ${k}`, status);
  }
}

/** Checks that the sections are those that this kernel reads, with items of its size. The kernel checks how many items there are. */
function checkSections(kernel: Kernel, id: number, schema: SnapshotSchema): void {
  const own = kernelSections(kernel, id, schema, "unserialize()");
  if (schema.sections.length !== own.length) {
    throw corrupt(`it lists ${schema.sections.length} sections, needed are ${own.length}`);
  }
  for (const [k, { section, itemCount, itemBytes }] of schema.sections.entries()) {
    const [wanted, bytes] = [own[k]?.section, own[k]?.itemBytes];
    if (section !== wanted || itemBytes !== bytes) {
      throw corrupt(
        `section ${k} is said to be number ${section} with items of ${itemBytes} bytes; needed is number ${wanted} with ${bytes}`,
      );
    }
    if (itemCount > 2 * abi.EXRP_LIMIT_CAPACITY) {
      throw corrupt(`section ${section} is said to have ${itemCount} items`);
    }
  }
}

function* readSection(
  kernel: Kernel,
  id: number,
  reader: FrameReader,
  { section, itemCount, itemBytes }: SectionSchema,
): Reading<void> {
  const step = itemsPerFrame(itemBytes);
  for (let first = 0; first < itemCount; first += step) {
    const count = Math.min(step, itemCount - first);
    const payload = yield* reader.frame("KERN", section, count * itemBytes);
    if (payload.length !== count * itemBytes) {
      throw corrupt(
        `section ${section} has ${payload.length} bytes, needed are ${count * itemBytes}`,
      );
    }
    const status = kernel.symbols.exrp_section_write(
      id,
      section,
      first,
      count,
      payload.length === 0 ? new Uint8Array(1) : payload,
      lengthOf(payload),
    );
    loadStatus(kernel, `section ${section}`, status);
  }
}

function* readOwn(
  reader: FrameReader,
  tag: "RULE" | "EVIC" | "SIDE",
  index: number,
  bytes: number,
): Reading<Uint8Array> {
  // The pieces are joined after the last one: until then the number of bytes in the schema may be wrong.
  const parts: Uint8Array[] = [];
  const step = itemsPerFrame(1);
  for (let first = 0; first < bytes; first += step) {
    const part = yield* reader.frame(tag, index, Math.min(step, bytes - first));
    if (part.length !== Math.min(step, bytes - first)) {
      throw corrupt(`section ${tag} ${index} has a part of ${part.length} bytes`);
    }
    parts.push(part);
  }
  return joinBytes(parts);
}

/** The error for a status while loading: the snapshot is wrong, unless memory ran out. */
function loadStatus(kernel: Kernel, what: string, status: number): void {
  if (status === abi.EXRP_STATUS_OK) return;
  const error = kernelError(kernel, "unserialize()", status);
  if (
    status === abi.EXRP_STATUS_MEMORY || status === abi.EXRP_STATUS_JOURNAL_FULL ||
    status === abi.EXRP_STATUS_REPLAY_UNKNOWN || status === abi.EXRP_STATUS_DATA_MISMATCH
  ) {
    throw error;
  }
  throw new ReplayError(
    "snapshot-corrupt",
    `unserialize(): the snapshot is damaged: ${what}: ${error.message}`,
    { status, detail: error.detail },
  );
}
