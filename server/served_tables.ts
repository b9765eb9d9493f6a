/**
 * Tables as the server sees them: the low door, by which messages go in and out, and the rules of each table.
 *
 * @module
 */
import { ruleText } from "../base/inspect.ts";
import * as abi from "../ffi/symbols.ts";
import type { Signature } from "../reverb/signature.ts";
import type { LowTables } from "../tables/low.ts";
import { lowOf, Tables } from "../tables/tables.ts";
import type { TableFigures } from "./figures.ts";

/** A rule's name and options, as `selectors/` makes it. */
export interface NamedRule {
  /** The rule's name, such as `prioritized`. */
  readonly kind: string;
  /** The options by name, all filled in. */
  readonly options: Readonly<Record<string, number | string>>;
}

/** A table that can be served. `Table` of `@exrp/replay/tables` is one. */
export interface ServedTable {
  /** Its options, with the defaults filled in. */
  readonly options: {
    /** How it draws. */
    readonly sampler: NamedRule;
    /** Which item goes when it is full. */
    readonly remover: NamedRule;
    /** What its items look like. */
    readonly signature?: Signature | undefined;
  };
}

/** Tables that can be served. {@linkcode servedTables} makes them of `Tables`. */
export interface ServedTables {
  /** The tables in the kernel. */
  readonly low: LowTables;
  /** A table by its name. */
  table(name: string): ServedTable;
}

/** Tables as the server sees them. */
export function servedTables(tables: Tables | ServedTables): ServedTables {
  if (!(tables instanceof Tables)) return tables;
  return { low: lowOf(tables), table: (name) => tables.table(name) };
}

/** The figures of a table. */
export function tableFigures(tables: ServedTables, name: string): TableFigures {
  const { sampler, remover } = tables.table(name).options;
  const info = tables.low.info(tables.low.numberOf(name));
  const at = (index: number): number => info[index] ?? 0;
  const limiter = abi.EXRP_TABLES_INFO_LIMITER;
  return {
    name,
    sampler: ruleText(sampler.kind, sampler.options),
    remover: ruleText(remover.kind, remover.options),
    size: at(abi.EXRP_TABLES_INFO_SIZE),
    maxSize: at(abi.EXRP_TABLES_INFO_MAX_SIZE),
    bytes: at(abi.EXRP_TABLES_INFO_BYTES),
    maxBytes: at(abi.EXRP_TABLES_INFO_MAX_BYTES),
    maxTimesSampled: at(abi.EXRP_TABLES_INFO_MAX_TIMES_SAMPLED),
    inserts: at(abi.EXRP_TABLES_INFO_INSERTS),
    samples: at(abi.EXRP_TABLES_INFO_SAMPLES),
    deletes: at(abi.EXRP_TABLES_INFO_DELETES),
    episodes: at(abi.EXRP_TABLES_INFO_EPISODES),
    deletedEpisodes: at(abi.EXRP_TABLES_INFO_EPISODES_DELETED),
    uniqueSamples: at(abi.EXRP_TABLES_INFO_UNIQUE_SAMPLES),
    waitingInserts: at(abi.EXRP_TABLES_INFO_INSERTS_WAITING),
    waitingSamplers: at(abi.EXRP_TABLES_INFO_SAMPLERS_WAITING),
    largestPriority: at(abi.EXRP_TABLES_INFO_PRIORITY_MAX),
    limiter: {
      samplesPerInsert: at(limiter + abi.EXRP_LIMITER_SAMPLES_PER_INSERT),
      minSize: at(limiter + abi.EXRP_LIMITER_MIN_SIZE),
      minDiff: at(limiter + abi.EXRP_LIMITER_MIN_DIFF),
      maxDiff: at(limiter + abi.EXRP_LIMITER_MAX_DIFF),
    },
  };
}

/** The figures of what all tables share. */
export function storeFigures(
  { low }: ServedTables,
): { chunks: number; chunkBytes: number; memoryBytes: number } {
  const info = low.storeInfo();
  return {
    chunks: info[abi.EXRP_TABLES_STORE_CHUNKS] ?? 0,
    chunkBytes: info[abi.EXRP_TABLES_STORE_CHUNK_BYTES] ?? 0,
    memoryBytes: info[abi.EXRP_TABLES_STORE_MEMORY_BYTES] ?? 0,
  };
}
