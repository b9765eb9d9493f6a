/**
 * Tables of items on shared data, as those of DeepMind's Reverb: with a sampler, a remover and a rate limiter each. They live in this process, and
 * need no server. The guide `docs/tables.md` goes through them.
 *
 * @example
 * ```ts
 * import { prioritized } from "@exrp/replay";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { sampler: prioritized(), maxSize: 1000 } } });
 * const replay = tables.table<{ state: Float32Array }>("replay");
 * await replay.insert({ state: Float32Array.of(1, 2) }, { priority: 3 });
 * const { data, keys } = await replay.getBatch(32);
 * console.log(data.state.shape); // [32, 1, 2]: items, steps, and the state
 * replay.setPriority(keys, new Float64Array(32).fill(0.5));
 * ```
 *
 * @module
 */

export type { TablesDurability, TablesRecovery } from "./durable.ts";
export { Tables } from "./tables.ts";
export type { InsertIntoOptions, TablesInfo, TablesOptions } from "./tables_options.ts";
export {
  type InsertManyOptions,
  type InsertOptions,
  type SetPriorityOptions,
  Table,
  type TableGetBatchOptions,
  type TableInfo,
} from "./table.ts";
export type { TableBatch } from "./table_batch.ts";
export type { ItemsOptions, TableItem } from "./table_item.ts";
export type { FilledTableOptions, QueueOptions, TableOptions } from "./table_options.ts";
export {
  loadReverbCheckpoint,
  readReverbCheckpoint,
  type ReverbCheckpointCounts,
  type ReverbCheckpointOptions,
} from "./reverb_checkpoint.ts";
export type { TableWaitOptions } from "./_wait.ts";
