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
import type { Kernel } from "../ffi/library.ts";
import { EXRP_TABLES_INFO_BYTES, EXRP_TABLES_INFO_SIZE } from "../ffi/symbols.ts";
import { dtypeOfName } from "../reverb/dtypes.ts";
import { rowSpec } from "../reverb/tensor.ts";
import { TABLES_KIND } from "../storage/described_folder.ts";
import { mismatch } from "../storage/errors.ts";
import {
  boolean,
  count,
  type Fields,
  list,
  malformed,
  NUMBER_MAX,
  object,
  optional,
  rule,
  string,
} from "../storage/fields.ts";
import type { Mark } from "../storage/folder.ts";
import {
  encodeAll,
  encodeBegin,
  encodeFrame,
  FRAME_OVERHEAD_BYTES,
  FrameReader,
  PIECE_BYTES_MAX,
  type Reading,
} from "../storage/frames.ts";
import type { ColumnShape } from "../reverb/check_item.ts";
import type { TableCore } from "./_tables_core.ts";
import { CHUNK, type KernelTables, TABLE } from "./kernel_tables.ts";

/** A piece of the kernel has at most so many bytes, unless it is a single chunk. */
const KERNEL_PIECE_BYTES = PIECE_BYTES_MAX - FRAME_OVERHEAD_BYTES;

/** A path to a column has at most so many names. */
const PATH_LENGTH_MAX = 1000;

type Saving = ReturnType<KernelTables["save"]>;

/** A selector, as it is saved. */
type RuleSchema = Fields<typeof rule>;

/** What is read of a schema. `size` is in items, and `bytes` are those of their chunks. */
const readSchema = object({
  tables: list(object({
    name: string,
    size: count,
    bytes: count,
    sampler: object(rule),
    remover: object(rule),
    signature,
    /** The columns of the first item that the program itself inserted, if it did. */
    columns: optional(list(column)),
  })),
});

type TablesSchema = ReturnType<typeof readSchema>;

/** A signature as JSON with sorted names; undefined without one. */
function signature(where: string, value: unknown): string | undefined {
  try {
    return signatureText(value);
  } catch {
    // It is nested so deep that the stack is full. No table has such a signature.
    throw malformed(where);
  }
}

const columnFields = object({
  path: list((where, step) => typeof step === "string" ? step : count(where, step)),
  dtype: string,
  shape: list(count),
  isSqueezed: boolean,
});

function column(where: string, value: unknown): ColumnShape {
  const { dtype: name, shape, ...rest } = columnFields(where, value);
  const dtype = dtypeOfName(name);
  if (dtype === undefined || rest.path.length > PATH_LENGTH_MAX) throw malformed(where);
  return { ...rest, spec: rowSpec(dtype, shape) };
}

/** Tables of a snapshot that was read and found sound. */
export interface LoadedTables {
  /** The tables in the kernel. */
  readonly kernelTables: KernelTables;
  /** What is known of the columns of each table. */
  readonly columns: ReadonlyMap<string, readonly ColumnShape[]>;
}

/** The pieces of a snapshot of tables, each with memory of its own. */
export function* writeTables(
  kernelTables: KernelTables,
  tables: readonly TableCore[],
  mark?: Mark,
): Generator<Uint8Array<ArrayBuffer>> {
  const { kernel } = kernelTables;
  const saving = kernelTables.save(KERNEL_PIECE_BYTES);
  try {
    const first = saving.next(); // takes the snapshot now
    const begin = encodeBegin(kernel, TABLES_KIND, schemaOf(kernelTables, tables, mark));
    yield* encodeAll(kernel, begin, framesOf(kernel, first, saving));
  } finally {
    saving.return();
  }
}

/** What the kernel gives, each piece in a frame. An empty piece is a turn for others. */
function* framesOf(
  kernel: Kernel,
  first: ReturnType<Saving["next"]>,
  saving: Saving,
): Generator<Uint8Array<ArrayBuffer>> {
  let index = 0;
  for (let step = first; !step.done; step = saving.next()) {
    const { value } = step;
    if (value.length === 0) yield value;
    else yield encodeFrame(kernel, "TABL", index++, value.length, (to) => to.set(value));
  }
}

function schemaOf(
  kernelTables: KernelTables,
  tables: readonly TableCore[],
  checkpoint: Mark | undefined,
): object {
  return {
    library: VERSION,
    checkpoint,
    tables: tables.map(({ name, number, options, known }) => {
      const { sampler, remover, rateLimiter, signature, ...limits } = options;
      const info = kernelTables.info(number);
      return {
        name,
        size: info[EXRP_TABLES_INFO_SIZE],
        bytes: info[EXRP_TABLES_INFO_BYTES],
        ...limits,
        sampler: ruleSchema(sampler),
        remover: ruleSchema(remover),
        rateLimiter: { name: rateLimiter.name, options: rateLimiter.options },
        signature,
        columns: known.first?.map(({ path, spec: { shape, dtype }, isSqueezed }) => (
          { path, shape, isSqueezed, dtype: dtype.name }
        )),
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
export function* readTables(
  kernelTables: KernelTables,
  tables: readonly TableCore[],
): Reading<LoadedTables> {
  const reader = new FrameReader(kernelTables.kernel, TABLES_KIND);
  const schema = readSchema("", yield* reader.begin());
  checkFits(tables, schema);
  const fresh = kernelTables.fresh();
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
  const columns = new Map<string, readonly ColumnShape[]>();
  for (const table of schema.tables) {
    if (table.columns !== undefined) columns.set(table.name, table.columns);
  }
  return { kernelTables: fresh, columns };
}

/** What may be wrong with a chunk or an item, by the rule of kernel/tables/saving.hpp. */
const FAULTS: ReadonlyMap<number, string> = new Map([
  [4, "does not name its chunks"],
  [5, "does not name its chunks"],
  [6, "has a priority that is not possible"],
  [7, "has a time or a count that is not possible"],
  [9, "has steps that its chunk does not have"],
  [11, "has changed since it was inserted"],
]);

/** The kernel's error for a piece: unless memory ran out, the snapshot is wrong. */
function loading(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code === "memory") throw error;
    const [field, index = 0, rule = 0] = error.detail;
    const words = error.code === "snapshot-corrupt" ? FAULTS.get(rule) : undefined;
    const what = field === CHUNK ? "chunk" : "item";
    const why = words === undefined || field === TABLE
      ? error.message
      : `${what} ${index + 1} ${words}`;
    throw new ReplayError(
      error.code === "order" ? "snapshot-corrupt" : error.code,
      `unserialize(): the snapshot is damaged, although its checksums are right: ${why}`,
      { status: error.status, detail: error.detail, cause: error },
    );
  }
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

function signatureText(signature: unknown): string | undefined {
  return signature === undefined ? undefined : JSON.stringify(sorted(signature));
}

/** The same JSON with the names of all objects in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]));
}
