/**
 * What a set of tables takes and says.
 *
 * @module
 */

import type { TableWaitOptions } from "./_wait.ts";
import type { TableOptions } from "./table_options.ts";

/** The options of {@linkcode Tables.create}. {@linkcode Tables} has an example. */
export interface TablesOptions {
  /** The tables by name: 1 to 64. */
  readonly tables: Readonly<Record<string, TableOptions>>;
  /** A whole number, 0 to 2^53: the same seed and the same calls give the same draws. Random by default. */
  readonly seed?: number;
  /** Which kernel runs: the native one, that of WebAssembly, or `"auto"`, the default: whichever can. */
  readonly backend?: "auto" | "native" | "wasm";
  /** The path of the native kernel, as in `ExperienceReplay.create`. */
  readonly kernelPath?: string | URL;
  /** The folder for the kernel that the package carries, as in `ExperienceReplay.create`. */
  readonly kernelCache?: string | URL;
}

/** The options of {@linkcode Tables.insert}. */
export interface InsertIntoOptions extends TableWaitOptions {
  /** Priorities of its own for the remover, in some of the tables; by default the item has the same for both. */
  readonly removerPriorities?: Readonly<Record<string, number>>;
}

/** What {@linkcode Tables.info} says. */
export interface TablesInfo {
  /** Pieces of data that items, writers and samples refer to. */
  readonly chunks: number;
  /** Their bytes, as they are stored. */
  readonly chunkBytes: number;
  /** Bytes of all memory of the set in the kernel. */
  readonly memoryBytes: number;
}
