/**
 * Which format is written by what.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { writeArrow } from "./_arrow.ts";
import { writeD4rl } from "./_d4rl.ts";
import {
  append,
  D4RL_NAMES,
  type EpisodeReader,
  rldsRows,
  rowsByEpisode,
  rowsInBatches,
  stepRows,
} from "./_export.ts";
import { filesOf, isThere, kindOf, makeAt, makeFile, makeFolder } from "./_files.ts";
import type { EpisodesMoved } from "./_import.ts";
import { DEFAULT_FPS, hasLerobot, writeLerobot } from "./_lerobot.ts";
import { MAIN_FILE, METADATA_FILE, type MinariEpisode, writeMinari } from "./_minari.ts";
import { writeNpz } from "./_npz.ts";
import { writeParquet } from "./_parquet.ts";
import type { EpisodeFormat } from "./_sources.ts";
import { writeTfrecord } from "./_tfrecord.ts";
import type { Values } from "./_values.ts";

/** Bytes that are written at once. */
const BATCH_BYTES = 2 ** 22;
/** The same of Parquet, whose lists become many small objects on the way. */
const PARQUET_BYTES = 2 ** 20;

/** Types of number that a format has not, and what stands in their place. */
const LOSSES: Readonly<Partial<Record<EpisodeFormat, Readonly<Record<string, string>>>>> = {
  d4rl: { float16: "float32" },
  lerobot: { float16: "float32" },
  minari: { float16: "float32" },
  parquet: { float16: "float32" },
  tfrecord: { float64: "float32" },
};

/** Writes all episodes of a reader. */
export async function writeEpisodes(
  where: string,
  reader: EpisodeReader,
  format: EpisodeFormat,
  path: string,
  fps: number | undefined,
): Promise<EpisodesMoved> {
  if (reader.episodeCount === 0) {
    const none = reader.endedCount === 0
      ? "no episode has ended"
      : `the filter leaves out ${
        reader.endedCount === 1
          ? "the only episode that has ended"
          : `all ${reader.endedCount} episodes that have ended`
      }`;
    throw new ReplayError("empty", `${where}: ${none}, so there is nothing to write`);
  }
  await write(reader, format, path, fps ?? DEFAULT_FPS);
  const notes = notesOf(reader, format);
  if (format === "lerobot" && fps === undefined) {
    notes.push(
      `A replay has no times, so there are ${DEFAULT_FPS} steps a second; fps changes it.`,
    );
  }
  return reader.moved(notes);
}

/** What a format changes, in sentences. */
function notesOf({ named, hasTags }: EpisodeReader, format: EpisodeFormat): string[] {
  const notes = named.columns.flatMap(({ name, column }) => {
    const other = LOSSES[format]?.[column.dtype];
    return other === undefined ? [] : [`${name} is ${column.dtype}, and was written as ${other}.`];
  });
  const kept = named.columns.filter(({ column }) => column.every > 1).map(({ name }) => name);
  if (kept.length > 0) {
    notes.push(
      `${kept.join(", ")} ${kept.length === 1 ? "has" : "have"} a value for each step in the file.`,
    );
  }
  if (format === "minari" && hasTags) {
    notes.push("Tags are attributes of the episodes' groups.");
  }
  const pictures = named.leaves.filter(({ column }) => column.shape.length > 1);
  if (format === "lerobot" && pictures.length > 0) {
    notes.push(
      `${
        pictures.map(({ name }) => name).join(", ")
      }: arrays of numbers, which LeRobot does not take for pictures.`,
    );
  }
  return notes;
}

async function write(
  reader: EpisodeReader,
  format: EpisodeFormat,
  path: string,
  fps: number,
): Promise<void> {
  switch (format) {
    case "d4rl": {
      const maker = stepRows(reader, D4RL_NAMES);
      return await makeAt(
        path,
        "file",
        (temporary) =>
          writeD4rl(temporary, maker.columns, rowsInBatches(reader, maker, BATCH_BYTES)),
      );
    }
    case "minari":
      return await writeMinariAt(reader, path);
    case "npz": {
      const maker = stepRows(reader, D4RL_NAMES);
      // Each column is a pass, so its length must be known: what goes meanwhile would shorten it.
      return await makeFile(path, async (file) => {
        let rowCount = 0;
        for await (const { count } of reader.episodes()) rowCount += count;
        await writeNpz(
          file,
          maker.columns,
          rowCount,
          () => rowsInBatches(reader, maker, BATCH_BYTES),
        );
      });
    }
    case "parquet": {
      const maker = rldsRows(reader, ".");
      return await makeFile(
        path,
        (file) => writeParquet(file, maker.columns, rowsInBatches(reader, maker, PARQUET_BYTES)),
      );
    }
    case "arrow": {
      const maker = rldsRows(reader, ".");
      return await makeFile(
        path,
        (file) => writeArrow(file, maker.columns, rowsInBatches(reader, maker, BATCH_BYTES)),
      );
    }
    case "tfrecord": {
      const maker = rldsRows(reader, "/");
      return await makeFile(
        path,
        (file) => writeTfrecord(file, maker.columns, rowsByEpisode(reader, maker)),
      );
    }
    case "lerobot":
      return await makeAt(
        path,
        "folder",
        (folder) => writeLerobot(folder, reader, fps),
        await hasLerobot(path) ? ["data", "meta"] : [],
      );
  }
}

async function writeMinariAt(reader: EpisodeReader, path: string): Promise<void> {
  const { join, dirname } = filesOf().files.path;
  const metadata = async (folder: string, text: string): Promise<void> =>
    await makeFile(
      join(folder, METADATA_FILE),
      (file) => file.write(new TextEncoder().encode(text)),
    );
  const fill = (to: string): Promise<string> =>
    writeMinari(to, reader.named, minariEpisodes(reader));
  const there = await kindOf(path);
  if (path.endsWith(".hdf5") || there === "file") {
    // Said before the work. The one beside a file that is replaced belongs to that file.
    if (there === undefined && await isThere(join(dirname(path), METADATA_FILE))) {
      throw new ReplayError(
        "file",
        `can't write ${
          JSON.stringify(path)
        }: ${METADATA_FILE} beside it belongs to something else; take another folder`,
      );
    }
    await metadata(dirname(path), await makeAt(path, "file", fill));
    return;
  }
  await makeAt(path, "folder", async (folder) => {
    await makeFolder(folder);
    await metadata(folder, await makeAt(join(folder, MAIN_FILE), "file", fill));
  }, [MAIN_FILE, METADATA_FILE]);
}

/** Episodes with their final states as one more observation. */
async function* minariEpisodes(reader: EpisodeReader): AsyncGenerator<MinariEpisode> {
  for await (const { columns, finalState, ...episode } of reader.episodes()) {
    const leaves = finalState.map((state, k) => append(columns[k] as Values, state));
    yield { ...episode, columns: [...leaves, ...columns.slice(leaves.length)] };
  }
}
