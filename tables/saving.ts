/**
 * Writing tables as a snapshot and reading it back. See docs/internals/snapshot_format.md.
 *
 * Invariants: 1. A snapshot is of the moment at which its first piece is asked for. The tables may change while the rest is written.
 * 2. Its first piece has the header and the whole schema.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { ruleText } from "../base/inspect.ts";
import { dispose } from "../base/platform.ts";
import { VERSION } from "../base/version.ts";
import { EXRP_TABLES_INFO_BYTES, EXRP_TABLES_INFO_SIZE } from "../ffi/symbols.ts";
import type { Kernel } from "../ffi/library.ts";
import { dtypeOfName } from "../reverb/dtypes.ts";
import type { Signature } from "../reverb/signature.ts";
import {
  encodeEnd,
  encodeFrame,
  encodeHeader,
  END_FRAME_BYTES,
  FRAME_OVERHEAD_BYTES,
  FrameReader,
  PIECE_BYTES_MAX,
  type Reading,
  SCHEMA_BYTES_MAX,
  type SnapshotKind,
  split,
} from "../snapshot/container.ts";
import {
  array,
  boolean,
  count,
  malformed,
  number,
  NUMBER_MAX,
  object,
  options,
  parseJson,
  string,
} from "../snapshot/fields.ts";
import type { KnownColumn } from "./_item_data.ts";
import type { TableCore } from "./_tables_core.ts";
import type { LowTables } from "./low.ts";

const KIND: SnapshotKind = { magic: "EXRPTABL", version: 1, of: "tables" };

/** A piece of the kernel has at most so many bytes, unless it is a single chunk. */
const KERNEL_PIECE_BYTES = PIECE_BYTES_MAX - FRAME_OVERHEAD_BYTES;

/** A path to a column has at most so many names. */
const PATH_LENGTH_MAX = 1000;

/** A selector, as it is saved. */
interface RuleSchema {
  readonly name: string;
  readonly options: Readonly<Record<string, number | string>>;
  /** The kernel's number of the rule. */
  readonly native: number;
  /** The options as the kernel takes them. */
  readonly numbers: readonly number[];
}

/** A table, as it is saved. */
interface TableSchema {
  readonly name: string;
  /** Items. */
  readonly size: number;
  /** Bytes of their chunks. */
  readonly bytes: number;
  readonly sampler: RuleSchema;
  readonly remover: RuleSchema;
  /** As JSON with sorted names; undefined without one. */
  readonly signature: string | undefined;
  /** The columns of the first item that the program itself inserted, if it did. */
  readonly columns: readonly KnownColumn[] | undefined;
}

/** Which checkpoint of which folder a snapshot is, if a server made it. */
export interface CheckpointMark {
  /** The id of the folder. */
  readonly folder: string;
  /** The number of the checkpoint. */
  readonly number: number;
}

interface TablesSchema {
  readonly checkpoint: CheckpointMark | undefined;
  readonly tables: readonly TableSchema[];
}

/** Tables of a snapshot that was read and found sound. */
export interface LoadedTables {
  /** The tables in the kernel. */
  readonly low: LowTables;
  /** What is known of the columns of each table. */
  readonly columns: ReadonlyMap<string, readonly KnownColumn[]>;
}

/** The pieces of a snapshot of tables, each with memory of its own. */
export function* writeTables(
  low: LowTables,
  tables: readonly TableCore[],
  checkpoint?: CheckpointMark,
): Generator<Uint8Array<ArrayBuffer>> {
  const { kernel } = low;
  const saving = low.save(KERNEL_PIECE_BYTES);
  try {
    let step = saving.next(); // takes the snapshot now
    const schema = new TextEncoder().encode(JSON.stringify(schemaOf(low, tables, checkpoint)));
    if (schema.length > SCHEMA_BYTES_MAX) {
      throw new ReplayError(
        "not-savable",
        `serialize(): a schema of ${schema.length} bytes is too large`,
      );
    }
    const header = encodeHeader(kernel, KIND);
    const frame = encodeFrame(kernel, "SCHM", 0, schema.length, (payload) => payload.set(schema));
    const first = new Uint8Array(header.length + frame.length);
    first.set(header);
    first.set(frame, header.length);
    yield* split([first]);
    let bytes = first.length + END_FRAME_BYTES;
    let index = 0;
    for (; !step.done; step = saving.next()) {
      const piece = step.value;
      if (piece.length === 0) {
        yield new Uint8Array(0);
        continue;
      }
      bytes += FRAME_OVERHEAD_BYTES + piece.length;
      yield* split([
        encodeFrame(kernel, "TABL", index++, piece.length, (payload) => payload.set(piece)),
      ]);
    }
    yield encodeEnd(kernel, index + 1, bytes);
  } finally {
    saving.return();
  }
}

function schemaOf(
  low: LowTables,
  tables: readonly TableCore[],
  checkpoint: CheckpointMark | undefined,
): object {
  return {
    library: VERSION,
    checkpoint,
    tables: tables.map(({ name, number, options, known }) => {
      const { sampler, remover, rateLimiter, signature, ...limits } = options;
      const info = low.info(number);
      return {
        name,
        size: info[EXRP_TABLES_INFO_SIZE],
        bytes: info[EXRP_TABLES_INFO_BYTES],
        ...limits,
        sampler: ruleSchema(sampler),
        remover: ruleSchema(remover),
        rateLimiter: { name: rateLimiter.name, options: rateLimiter.options },
        signature,
        columns: known.save()?.map(({ dtype, ...rest }) => ({ ...rest, dtype: dtype.name })),
      };
    }),
  };
}

function ruleSchema(
  { kind, options, native, numbers }: TableCore["options"]["sampler"],
): RuleSchema {
  return { name: kind, options, native, numbers };
}

/** Reads a snapshot into a new set of tables. */
export function* readTables(low: LowTables, tables: readonly TableCore[]): Reading<LoadedTables> {
  const reader = new FrameReader(low.kernel, KIND);
  yield* reader.header();
  const schema = parseSchema(yield* reader.frame("SCHM", 0, SCHEMA_BYTES_MAX));
  checkFits(tables, schema);
  const fresh = low.fresh();
  let isDone = false;
  try {
    for (let index = 0; yield* reader.isNext("TABL", index); index++) {
      const piece = yield* reader.frame("TABL", index, NUMBER_MAX);
      loading(() => fresh.load(piece));
    }
    yield* reader.end();
    loading(() => fresh.loadEnd());
    isDone = true;
  } finally {
    if (!isDone) fresh[dispose]();
  }
  const columns = new Map<string, readonly KnownColumn[]>();
  for (const table of schema.tables) {
    if (table.columns !== undefined) columns.set(table.name, table.columns);
  }
  return { low: fresh, columns };
}

/** The mark of a checkpoint: all that is read of it. */
export function* readMark(kernel: Kernel): Reading<CheckpointMark | undefined> {
  const reader = new FrameReader(kernel, KIND);
  yield* reader.header();
  return parseSchema(yield* reader.frame("SCHM", 0, SCHEMA_BYTES_MAX)).checkpoint;
}

/** The field of an item in a piece, and what may be wrong with it, by the rules of kernel/tables/saving.hpp. */
const ITEM_FIELD = 4;
const ITEM_FAULTS: ReadonlyMap<number, string> = new Map([
  [3, "has a priority or a time that is not possible"],
  [5, "does not name its chunks"],
  [6, "has steps that its chunk does not have"],
]);

/** The kernel's error for a piece: unless memory ran out, the snapshot is wrong. */
function loading(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code === "memory") throw error;
    const [field, index = 0, rule = 0] = error.detail;
    const words = error.code === "snapshot-corrupt" && field === ITEM_FIELD
      ? ITEM_FAULTS.get(rule)
      : undefined;
    const why = words === undefined ? error.message : `item ${index + 1} ${words}`;
    throw new ReplayError(
      error.code === "order" ? "snapshot-corrupt" : error.code,
      `unserialize(): the snapshot is damaged, although its checksums are right: ${why}`,
      { status: error.status, detail: error.detail, cause: error },
    );
  }
}

function parseSchema(bytes: Uint8Array): TablesSchema {
  const root = parseJson(bytes);
  return {
    checkpoint: root.checkpoint === undefined ? undefined : parseMark(root.checkpoint),
    tables: array("tables", root.tables).map((value, k) => parseTable(`tables[${k}]`, value)),
  };
}

function parseMark(value: unknown): CheckpointMark {
  const mark = object("checkpoint", value);
  return {
    folder: string("checkpoint.folder", mark.folder),
    number: count("checkpoint.number", mark.number),
  };
}

function parseTable(where: string, value: unknown): TableSchema {
  const table = object(where, value);
  return {
    name: string(`${where}.name`, table.name),
    size: count(`${where}.size`, table.size),
    bytes: count(`${where}.bytes`, table.bytes),
    sampler: parseRule(`${where}.sampler`, table.sampler),
    remover: parseRule(`${where}.remover`, table.remover),
    signature: parseSignature(`${where}.signature`, table.signature),
    columns: table.columns === undefined
      ? undefined
      : array(`${where}.columns`, table.columns).map((column, k) =>
        parseColumn(`${where}.columns[${k}]`, column)
      ),
  };
}

function parseSignature(where: string, value: unknown): string | undefined {
  try {
    return signatureText(value);
  } catch {
    // It is nested so deep that the stack is full. No table has such a signature.
    throw malformed(where);
  }
}

function parseRule(where: string, value: unknown): RuleSchema {
  const rule = object(where, value);
  return {
    name: string(`${where}.name`, rule.name),
    options: options(`${where}.options`, rule.options),
    native: count(`${where}.native`, rule.native, NUMBER_MAX),
    numbers: array(`${where}.numbers`, rule.numbers).map((each) => number(where, each)),
  };
}

function parseColumn(where: string, value: unknown): KnownColumn {
  const column = object(where, value);
  const path = array(`${where}.path`, column.path).map((step) =>
    typeof step === "string" ? step : count(`${where}.path`, step)
  );
  const dtype = dtypeOfName(string(`${where}.dtype`, column.dtype));
  if (dtype === undefined || path.length > PATH_LENGTH_MAX) throw malformed(where);
  return {
    path,
    dtype,
    shape: array(`${where}.shape`, column.shape).map((size) => count(`${where}.shape`, size)),
    isSqueezed: boolean(`${where}.isSqueezed`, column.isSqueezed),
  };
}

/** Throws unless these tables can take what is in a snapshot. */
function checkFits(tables: readonly TableCore[], schema: TablesSchema): void {
  for (const found of schema.tables) {
    const where = `table ${JSON.stringify(found.name)}`;
    const mine = tables.find(({ name }) => name === found.name);
    if (mine === undefined) {
      const names = tables.map(({ name }) => JSON.stringify(name)).join(", ");
      throw mismatch(`the snapshot has ${where}, which is not here; here are ${names}`);
    }
    const { sampler, remover, signature, maxSize, maxBytes } = mine.options;
    sameRule(`${where}: the sampler`, ruleSchema(sampler), found.sampler);
    sameRule(`${where}: the remover`, ruleSchema(remover), found.remover);
    const text = signatureText(signature);
    if (text !== found.signature) {
      throw mismatch(
        `${where}: the signature here is ${text ?? "none"}, in the snapshot ${
          found.signature ?? "none"
        }`,
      );
    }
    if (found.size > maxSize) {
      throw mismatch(`${where}: the snapshot has ${found.size} items, maxSize is ${maxSize}`);
    }
    if (maxBytes !== undefined && found.bytes > maxBytes) {
      throw mismatch(
        `${where}: the snapshot has ${found.bytes} bytes of items, maxBytes is ${maxBytes}`,
      );
    }
  }
}

function sameRule(where: string, mine: RuleSchema, found: RuleSchema): void {
  const [a, b] = [mine, found].map(({ name, options, native, numbers }) =>
    JSON.stringify([name, sorted(options), native, numbers])
  );
  if (a === b) return;
  const [here, there] = [mine, found].map(({ name, options }) => ruleText(name, options));
  throw mismatch(`${where} here is ${here}, in the snapshot ${there}`);
}

function mismatch(what: string): ReplayError {
  return new ReplayError("snapshot-mismatch", `unserialize(): the snapshot does not fit: ${what}`);
}

function signatureText(signature: Signature | unknown): string | undefined {
  return signature === undefined ? undefined : JSON.stringify(sorted(signature));
}

/** The same JSON with the names of all objects in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]));
}
