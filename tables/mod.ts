/**
 * Tables of items on shared data, as those of DeepMind's Reverb: with a sampler, a remover and a rate limiter each. They live in this process, and
 * need no server. {@linkcode Tables} has an example, and the guide `docs/tables.md` goes through them.
 *
 * @module
 */

export { Tables } from "./tables.ts";
export type { InsertIntoOptions, TablesInfo, TablesOptions } from "./tables_options.ts";
export {
  type InsertManyOptions,
  type InsertOptions,
  type SetPrioritiesOptions,
  Table,
  type TableInfo,
  type TableSampleOptions,
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
