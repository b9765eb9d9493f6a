/**
 * Tables as the server sees them: the low door, by which messages go in and out, and the rules of each table.
 *
 * @module
 */
import { ruleText } from "../base/inspect.ts";
import * as abi from "../ffi/symbols.ts";
import type { LowTables } from "../tables/low.ts";
import type { TableFigures } from "./figures.ts";

/** A rule's name and options, as `selectors/` makes it. */
export interface NamedRule {
  /** The rule's name, such as `prioritized`. */
  readonly kind: string;
  /** The options by name, all filled in. */
  readonly options: Readonly<Record<string, number | string>>;
}

/** What is known of a table besides its items. */
export interface TableRules {
  /** How it draws. */
  readonly sampler: NamedRule;
  /** Which item goes when it is full. */
  readonly remover: NamedRule;
  /** A StructuredValue of TensorFlow, as bytes, that says what its items look like. */
  readonly signature?: Uint8Array;
}

/** A set of tables that can be served. */
export interface ServedTables {
  /** The tables in the kernel. */
  readonly low: LowTables;
  /** The rules of each table, by its name. */
  readonly rules: ReadonlyMap<string, TableRules>;
}

/** The rules of a table. */
export function rulesOf({ rules }: ServedTables, name: string): TableRules {
  const found = rules.get(name);
  if (found === undefined) throw new RangeError(`there are no rules of the table ${name}`);
  return found;
}

/** The figures of a table. */
export function tableFigures(tables: ServedTables, name: string): TableFigures {
  const { sampler, remover } = rulesOf(tables, name);
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
