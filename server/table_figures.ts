/**
 * What a server says of its tables: their figures.
 *
 * @module
 */
import { ruleText } from "../base/inspect.ts";
import * as abi from "../ffi/symbols.ts";
import { lowOf, type Tables } from "../tables/tables.ts";
import type { TableFigures } from "./figures.ts";

/** The figures of a table. */
export function tableFigures(tables: Tables, name: string): TableFigures {
  const table = tables.table(name);
  const { sampler, remover, rateLimiter, maxSize, maxBytes = 0, maxTimesSampled = 0 } =
    table.options;
  const { insertsWaiting, samplersWaiting, ...counts } = table.info();
  return {
    name,
    sampler: ruleText(sampler.kind, sampler.options),
    remover: ruleText(remover.kind, remover.options),
    ...{ maxSize, maxBytes, maxTimesSampled },
    ...counts,
    waitingInserts: insertsWaiting,
    waitingSamplers: samplersWaiting,
    rateLimiter: rateLimiter.numbers,
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
