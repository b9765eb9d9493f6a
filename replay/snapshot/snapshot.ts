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
import type { ReplayConfig } from "../../schema/create_options.ts";
import type { AnyPickPolicy } from "../../schema/pick_options.ts";
import { shownColumns } from "../../schema/pick_transforms.ts";
import { corrupt } from "../../storage/errors.ts";
import type { ReplayCore } from "../core.ts";
import { makePickView, makeSelector } from "../register/make.ts";
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
  type OwnSchema,
  readSchema,
  type SectionSchema,
  type SnapshotSchema,
} from "./snapshot_schema.ts";

/** What the snapshots of replays begin with. */
export const KIND: SnapshotKind = { magic: "EXRPSNAP", version: 2, of: "a replay" };

/** The bytes that the kernel knows nothing of, by section, such as `RULE 3`. */
export type OwnBytes = ReadonlyMap<string, Uint8Array>;

/** Where a section stands in a snapshot, and of what size it is. It is cut into frames of whole items. */
interface Section {
  readonly tag: "KERN" | "RULE" | "EVIC" | "SIDE";
  readonly index: number;
  readonly itemCount: number;
  readonly itemBytes: number;
}

/** All sections: those of the kernel, of rules in TypeScript, of such an eviction policy, and of the extra state. */
function sectionsOf({ sections, selectors, eviction, side }: SnapshotSchema): Section[] {
  const own = (tag: Section["tag"], index: number, itemCount: number): Section => (
    { tag, index, itemCount, itemBytes: 1 }
  );
  return [
    ...sections.map(({ section, ...size }): Section => ({ tag: "KERN", index: section, ...size })),
    ...selectors.flatMap(({ runs, bytes }, index) =>
      runs === "kernel" ? [] : [own("RULE", index, bytes)]
    ),
    ...(eviction.runs === "kernel" ? [] : [own("EVIC", 0, eviction.bytes)]),
    own("SIDE", 0, side.bytes),
  ];
}

/**
 * Plans a snapshot of the moment that the kernel keeps for this replay, by `exrp_replay_save_begin`. Its size is known in advance, and its pieces have
 * at most 1 MiB. The replay may change meanwhile.
 */
export function writeSnapshot(
  { kernel, id }: ReplayCore,
  mine: OwnSchema,
  own: OwnBytes,
): SnapshotWriting {
  const schema = { ...mine, sections: kernelSections(kernel, id, mine, "serialize()") };
  const side = mine.side.bytes > 0 ? mine.side : undefined;
  const begin = encodeBegin(kernel, KIND, { ...schema, side });
  const all = sectionsOf(schema);
  let bytes = begin.length + END_FRAME_BYTES;
  for (const { itemCount, itemBytes } of all) {
    const frameCount = Math.ceil(itemCount / itemsPerFrame(itemBytes));
    bytes += itemCount * itemBytes + frameCount * FRAME_OVERHEAD_BYTES;
  }

  function* frames(): Generator<Uint8Array<ArrayBuffer>> {
    for (const section of all) {
      const { tag, index, itemBytes } = section;
      const known = own.get(`${tag} ${index}`);
      for (const [first, count] of runsOf(section)) {
        yield encodeFrame(kernel, tag, index, count * itemBytes, (payload) => {
          if (known !== undefined) return payload.set(known.subarray(first, first + count));
          const size = lengthOf(payload);
          const { symbols } = kernel;
          const status = symbols.exrp_section_read(id, index, first, count, payload, size);
          checkStatus(kernel, "serialize()", status);
        });
      }
    }
  }
  return { bytes, pieces: encodeAll(kernel, begin, frames()) };
}

function itemsPerFrame(itemBytes: number): number {
  return Math.max(1, Math.floor((PIECE_BYTES_MAX - FRAME_OVERHEAD_BYTES) / Math.max(1, itemBytes)));
}

/** The first item of each frame of a section, and how many items it has. */
function* runsOf(
  { itemCount, itemBytes }: Section,
): Generator<readonly [first: number, count: number]> {
  const step = itemsPerFrame(itemBytes);
  for (let first = 0; first < itemCount; first += step) {
    yield [first, Math.min(step, itemCount - first)];
  }
}

/** The sections of the kernel. One without bytes has no frames. Where a section has no items, they have no size either. */
function kernelSections(
  kernel: Kernel,
  id: number,
  { selectors }: OwnSchema,
  operation: string,
): SectionSchema[] {
  const native = selectors.filter(({ runs }) => runs === "kernel").length;
  const length = abi.EXRP_SECTION_SELECTOR + 2 * native + 1;
  const sections = Array.from({ length }, (_, section): SectionSchema => {
    const info = new Float64Array(2);
    const status = kernel.symbols.exrp_section_info(id, section, info, lengthOf(info));
    checkStatus(kernel, operation, status);
    return { section, itemCount: info[0] ?? 0, itemBytes: info[1] ?? 0 };
  });
  return sections.filter(({ itemBytes }) => itemBytes > 0);
}

/** A snapshot that was read and found sound. */
export interface LoadedSnapshot {
  /** The new replay in the kernel. */
  readonly handle: ReplayHandle;
  /** The schema that the snapshot holds. */
  readonly schema: SnapshotSchema;
  /** What the kernel knows nothing of. */
  readonly own: OwnBytes;
}

/** Reads a snapshot into a new replay of the kernel, for a replay of this schema. */
export function* readSnapshot(core: ReplayCore, mine: OwnSchema): Reading<LoadedSnapshot> {
  const { kernel } = core;
  const reader = new FrameReader(kernel, KIND);
  const schema = readSchema("", yield* reader.begin());
  checkFits(mine, schema, core.config);
  const handle = core.createHandle(schema.seed, "unserialize()");
  let done = false;
  try {
    makeRules(core, handle.id, schema);
    checkSections(kernel, handle.id, schema);
    const own = new Map<string, Uint8Array>();
    for (const section of sectionsOf(schema)) {
      const bytes = yield* readSection(kernel, handle.id, reader, section);
      own.set(`${section.tag} ${section.index}`, bytes);
    }
    yield* reader.end();
    loadStatus(kernel, "the whole", kernel.symbols.exrp_snapshot_end(handle.id));
    done = true;
    return { handle, schema, own };
  } finally {
    if (!done) handle[Symbol.dispose]();
  }
}

/** Makes the pick views and the selectors of a snapshot in replay `id` of the kernel, which was made with the first view. */
function makeRules({ kernel, config }: ReplayCore, id: number, schema: SnapshotSchema): void {
  for (const [k, policy] of schema.views.entries()) {
    if (k === 0) continue;
    checkShown(k, policy, config);
    loadStatus(kernel, `pick view ${k}`, makePickView(kernel, id, policy, config));
  }
  for (const [k, rule] of schema.selectors.entries()) {
    if (rule.runs !== "kernel") continue;
    loadStatus(kernel, `selector ${k}`, makeSelector(kernel, id, rule.view, rule));
  }
}

/** Checks that the transforms of a pick view fit the columns. */
function checkShown(view: number, { transform }: AnyPickPolicy, { columns }: ReplayConfig): void {
  try {
    shownColumns(`pick view ${view}: transform`, columns, transform);
  } catch (cause) {
    throw corrupt(`the transforms of its pick view ${view} do not fit its columns`, cause);
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

/** Reads a section: gives the kernel what is its own, and returns the bytes of any other. */
function* readSection(
  kernel: Kernel,
  id: number,
  reader: FrameReader,
  section: Section,
): Reading<Uint8Array> {
  const { tag, index, itemBytes } = section;
  // The pieces are joined after the last one: until then the number of bytes in the schema may be wrong.
  const parts: Uint8Array[] = [];
  for (const [first, count] of runsOf(section)) {
    const payload = yield* reader.frame(tag, index, count * itemBytes);
    const size = lengthOf(payload);
    if (size !== count * itemBytes) {
      const needed = count * itemBytes;
      throw corrupt(`section ${tag} ${index} has ${size} bytes, needed are ${needed}`);
    }
    if (tag === "KERN") {
      const status = kernel.symbols.exrp_section_write(id, index, first, count, payload, size);
      loadStatus(kernel, `section ${index}`, status);
    } else parts.push(payload);
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
