/**
 * What a server says of its tables: their figures.
 *
 * @module
 */
import { ruleText } from "../base/inspect.ts";
import * as abi from "../ffi/symbols.ts";
import { numbersAt } from "../rate_limiters/rate_limiter.ts";
import { lowOf, type Tables } from "../tables/tables.ts";
import type { TableFigures } from "./figures.ts";

/** A rule's name and options, as `selectors/` makes it. */
export interface NamedRule {
  /** The rule's name, such as `prioritized`. */
  readonly kind: string;
  /** The options by name, all filled in. */
  readonly options: Readonly<Record<string, number | string>>;
}

/** The figures of a table that are numbers. */
export type TableNumbers = Omit<TableFigures, "name" | "sampler" | "remover">;

/** The figures of a table. */
export function tableFigures(tables: Tables, name: string): TableFigures {
  const { sampler, remover } = tables.table(name).options;
  return {
    name,
    sampler: ruleText(sampler.kind, sampler.options),
    remover: ruleText(remover.kind, remover.options),
    ...tableNumbers(tables, name),
  };
}

/** Those of them that are numbers. */
export function tableNumbers(tables: Tables, name: string): TableNumbers {
  const low = lowOf(tables);
  const info = low.info(low.numberOf(name));
  const at = (index: number): number => info[index] ?? 0;
  return {
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
    rateLimiter: numbersAt(info, abi.EXRP_TABLES_INFO_RATE_LIMITER),
  };
}

/** The figures of what all tables share. */
export function storeFigures(
  tables: Tables,
): { chunks: number; chunkBytes: number; memoryBytes: number } {
  const info = lowOf(tables).storeInfo();
  return {
    chunks: info[abi.EXRP_TABLES_STORE_CHUNKS] ?? 0,
    chunkBytes: info[abi.EXRP_TABLES_STORE_CHUNK_BYTES] ?? 0,
    memoryBytes: info[abi.EXRP_TABLES_STORE_MEMORY_BYTES] ?? 0,
  };
}
