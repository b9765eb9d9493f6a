/**
 * What the tables of a set share.
 *
 * @module
 */

import type { KeySource } from "../wire/keys.ts";
import type { SampleDecoder } from "../reverb/sample_decoder.ts";
import type { ChunkEncoder } from "../wire/new_rows.ts";
import type { Inserting } from "./_inserting.ts";
import type { KnownColumns } from "./_item_data.ts";
import type { Sampling } from "./_sampling.ts";
import type { Outbox } from "./_local_channel.ts";
import type { KernelTables } from "./kernel_tables.ts";
import type { FilledTableOptions } from "./table_options.ts";

/** The parts of a set. */
export interface TablesCore {
  readonly kernelTables: KernelTables;
  readonly encoder: ChunkEncoder;
  readonly decoder: SampleDecoder;
  /** Where the keys of chunks, items and episodes come from. */
  readonly keys: KeySource;
  readonly inserting: Inserting;
  /** What writers are about to send. */
  readonly outbox: Outbox;
  /** Writes down what TypeScript knows of durable tables. */
  noteChange?: () => void;
}

/** The parts of one table. */
export interface TableCore {
  readonly name: string;
  /** Its number in the kernel. */
  readonly number: number;
  options: FilledTableOptions;
  readonly sampling: Sampling;
  readonly known: KnownColumns;
}
