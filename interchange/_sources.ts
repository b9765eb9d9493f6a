/**
 * Which format is read by what.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { openArrow } from "./_arrow.ts";
import { openD4rl } from "./_d4rl.ts";
import { type DataFile, type EpisodeFile, openData, pathOfData } from "./_files.ts";
import { openLerobot } from "./_lerobot.ts";
import { openMinari } from "./_minari.ts";
import { openNpz } from "./_npz.ts";
import { openParquet } from "./_parquet.ts";
import type { Reading, Source } from "./_steps.ts";
import { type Table, tableSource } from "./_table.ts";
import { openTfrecord } from "./_tfrecord.ts";
import { dataError } from "./_values.ts";

/**
 * A format of files with episodes. {@linkcode importEpisodes} reads them, and {@linkcode exportEpisodes} writes them.
 *
 * | format | files |
 * |---|---|
 * | `d4rl` | HDF5 with flat arrays: `observations`, `actions`, `rewards`, `terminals`, `timeouts`, `next_observations` |
 * | `minari` | HDF5 with a group for each episode: Minari's `main_data.hdf5`, or the folder that it is in |
 * | `npz` | arrays of NumPy's, with the names of `d4rl` |
 * | `parquet`, `arrow` | a row for each step, as RLDS has them, or with other names that are known |
 * | `tfrecord` | episodes as `tf.train.Example` or `tf.train.SequenceExample`, as RLDS has them |
 * | `lerobot` | the folder of a data set of LeRobot's, version 2 or 3; version 3 is written |
 */
export type EpisodeFormat =
  | "d4rl"
  | "minari"
  | "npz"
  | "parquet"
  | "arrow"
  | "tfrecord"
  | "lerobot";

/** All formats. */
export const FORMATS: readonly EpisodeFormat[] = [
  "d4rl",
  "minari",
  "npz",
  "parquet",
  "arrow",
  "tfrecord",
  "lerobot",
];

/** Checks the name of a format. */
export function checkFormat(where: string, format: unknown): EpisodeFormat {
  const found = FORMATS.find((each) => each === format);
  if (found !== undefined) return found;
  throw new TypeError(`${where}: format must be one of ${FORMATS.join(", ")}, got ${show(format)}`);
}

/** Tables in one file. */
const TABLES: Readonly<Partial<Record<EpisodeFormat, (file: DataFile) => Promise<Table>>>> = {
  npz: openNpz,
  parquet: openParquet,
  arrow: openArrow,
  tfrecord: openTfrecord,
};

/** Opens a file with episodes. */
export async function openSource(
  where: string,
  format: EpisodeFormat,
  source: EpisodeFile,
  reading: Reading,
): Promise<Source> {
  const local = source instanceof Uint8Array ? source : pathOfData(where, source);
  try {
    return await open(where, format, local, reading);
  } catch (error) {
    throw inContext(where, format, source, error);
  }
}

async function open(
  where: string,
  format: EpisodeFormat,
  source: string | Uint8Array,
  reading: Reading,
): Promise<Source> {
  const table = await openTable(where, format, source, reading);
  try {
    return tableSource(table, reading, format === "lerobot");
  } catch (error) {
    await table.close();
    throw error;
  }
}

async function openTable(
  where: string,
  format: EpisodeFormat,
  source: string | Uint8Array,
  reading: Reading,
): Promise<Table> {
  if (format === "minari") return await openMinari(source, reading);
  if (format === "d4rl") return await openD4rl(source);
  if (format === "lerobot") {
    if (typeof source === "string") return await openLerobot(source);
    throw dataError("a data set of LeRobot's is a folder; give its path");
  }
  const file = await openData(where, source);
  try {
    return await (TABLES[format] as (file: DataFile) => Promise<Table>)(file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** An error that says which file it is about. Others than those of files come as they are. */
export function inContext(
  where: string,
  format: EpisodeFormat,
  source: EpisodeFile,
  error: unknown,
): unknown {
  if (!(error instanceof ReplayError) || error.code !== "data-set") return error;
  const name = source instanceof Uint8Array ? "the bytes" : show(String(source));
  return dataError(`${where}: ${name} as ${format}: ${reasonOf(error)}`, error.cause ?? error);
}
