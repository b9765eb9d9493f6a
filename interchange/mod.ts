/**
 * Episodes from files of other libraries, and into them: HDF5 as D4RL and Minari lay it out, npz, Parquet, Arrow, TFRecord as RLDS has it, and the tables of
 * LeRobot. Files may be larger than memory, because they are read and written piece by piece.
 *
 * The package of a format is fetched when the format is first used: h5wasm, hyparquet, hyparquet-writer, apache-arrow or zip.js. In Node, install the ones that
 * you need. The command `exrp` does the same from a terminal; `docs/interchange.md` shows it, and says what each format keeps.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { describeEpisodes, exportEpisodes, importEpisodes } from "@exrp/replay/interchange";
 *
 * const folder = await Deno.makeTempDir();
 * {
 *   using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 *   replay.record(replay.newEpisode(), [1, 2], 0, 0.5, { finalState: [3, 4] });
 *   await exportEpisodes(replay, "npz", `${folder}/steps.npz`);
 * }
 *
 * // Another program knows nothing of the file but its name.
 * const { columns, stepCount } = await describeEpisodes("npz", `${folder}/steps.npz`);
 * using replay = await ExperienceReplay.create({ ...columns, capacity: stepCount ?? 1 });
 * await importEpisodes(replay, "npz", `${folder}/steps.npz`);
 * console.log(replay.recordCount, String(replay.columns.state)); // 1 float32(2)
 * ```
 *
 * @module
 */

import { checkInteger, checkWord, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { ExperienceReplay } from "../mod.ts";
import type { EpisodeFilter } from "../schema/episode_filter.ts";
import type { Column, Columns } from "../schema/columns.ts";
import { columnsOf } from "../schema/record_columns.ts";
import type { StateColumns } from "../schema/state.ts";
import { EpisodeReader } from "./_export.ts";
import { type EpisodeFile, pathOfData } from "./_files.ts";
import { type EpisodeProgress, type EpisodesMoved, record } from "./_import.ts";
import { checkFormat, type EpisodeFormat, inContext, openSource } from "./_sources.ts";
import type { Reading } from "./_steps.ts";
import { writeEpisodes } from "./_targets.ts";

export type { EpisodeFile } from "./_files.ts";
export type { EpisodeProgress, EpisodesMoved } from "./_import.ts";
export type { EpisodeFormat } from "./_sources.ts";

/** How {@linkcode describeEpisodes} and {@linkcode importEpisodes} read a file. */
export interface ReadEpisodesOptions {
  /**
   * What becomes of an episode that just stops, without a flag that says that it ended: an error, by default, or `"truncate"`, as if it was cut off. Where
   * the state after its last step is not in the file, that step's own state is the final state.
   */
  readonly unfinished?: "error" | "truncate";
}

/** Options of {@linkcode importEpisodes}. */
export interface ImportEpisodesOptions extends ReadEpisodesOptions {
  /** The tag of all episodes, instead of those in the file: a whole number from -2^31 to 2^31 - 1. */
  readonly tag?: number;
  /** Ends the call when it aborts. Whole episodes stay. */
  readonly signal?: AbortSignal;
  /** Hears how far the call is. */
  readonly onProgress?: (progress: EpisodeProgress) => void;
}

/** Options of {@linkcode exportEpisodes}. */
export interface ExportEpisodesOptions {
  /** Which episodes: all that have ended, by default. */
  readonly filter?: EpisodeFilter;
  /** How many steps there are in a second, for `lerobot`, whose steps have times: a whole number from 1 on, 30 by default. */
  readonly fps?: number;
  /** Ends the call when it aborts. No file is left then. */
  readonly signal?: AbortSignal;
  /** Hears how far the call is. */
  readonly onProgress?: (progress: EpisodeProgress) => void;
}

/** What {@linkcode describeEpisodes} says of a file. */
export interface EpisodesDescription {
  /** The columns of the steps, as {@linkcode ExperienceReplay.create} takes them. */
  readonly columns: {
    /** The column of the state, or those of its leaves. */
    readonly state: StateColumns;
    /** That of the action. */
    readonly action: Column;
    /** That of the reward. */
    readonly reward: Column;
    /** Further columns. */
    readonly extras: Columns;
  };
  /** How many steps there are at most; rows with final states only may be among them. Undefined where only reading all would tell. */
  readonly stepCount: number | undefined;
  /** How many episodes there are; undefined where only reading all would tell. */
  readonly episodeCount: number | undefined;
  /** What of the file {@linkcode importEpisodes} leaves out, in sentences. */
  readonly notes: readonly string[];
}

const READ_OPTIONS = ["unfinished"] as const;
const IMPORT_OPTIONS = [...READ_OPTIONS, "tag", "signal", "onProgress"] as const;
const EXPORT_OPTIONS = ["filter", "fps", "signal", "onProgress"] as const;

function readingOf(where: string, { unfinished = "error" }: ReadEpisodesOptions): Reading {
  const word = checkWord(`${where}: unfinished`, unfinished, ["error", "truncate"]);
  return { truncatesUnfinished: word === "truncate" };
}

function checkReplay(where: string, replay: unknown): ExperienceReplay {
  if (replay instanceof ExperienceReplay) return replay;
  throw new TypeError(`${where} takes a replay, got ${show(replay)}`);
}

function checkTarget(where: string, target: unknown): string {
  if (typeof target === "string" || target instanceof URL) return pathOfData(where, target);
  throw new TypeError(`${where}: target must be a path or a URL of a file, got ${show(target)}`);
}

function checkSource(where: string, source: unknown): EpisodeFile {
  if (typeof source === "string" || source instanceof URL || source instanceof Uint8Array) {
    return source;
  }
  throw new TypeError(
    `${where}: source must be a path, a URL of a file, or a Uint8Array, got ${show(source)}`,
  );
}

/**
 * Says what a file has: the columns of a replay that can take its episodes, and how many steps there are.
 *
 * Whole numbers of 64 bits become `int32` in states and actions, and `float64` in rewards and extras.
 *
 * @throws {TypeError} For an unknown format or option.
 * @throws {ReplayError} `data-set` if the file is damaged, or has not what the format needs. `file` or `permission` if it can't be read.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { describeEpisodes, exportEpisodes } from "@exrp/replay/interchange";
 *
 * const path = `${await Deno.makeTempDir()}/steps.npz`;
 * using replay = await ExperienceReplay.create({ capacity: 100, state: { image: float32(2), speed: float32() } });
 * replay.record(replay.newEpisode(), { image: [1, 2], speed: 3 }, 0, 1, { finalState: { image: [3, 4], speed: 5 } });
 * await exportEpisodes(replay, "npz", path);
 * const { columns } = await describeEpisodes("npz", path, { unfinished: "truncate" });
 * console.log(Object.keys(columns.state)); // ["image", "speed"]
 * ```
 */
export async function describeEpisodes(
  format: EpisodeFormat,
  source: EpisodeFile,
  options: ReadEpisodesOptions = {},
): Promise<EpisodesDescription> {
  const where = "describeEpisodes()";
  checkOptions(where, options, READ_OPTIONS);
  const read = await openSource(
    where,
    checkFormat(where, format),
    checkSource(where, source),
    readingOf(where, options),
  );
  const { named, stepCount, episodeCount, notes } = read;
  await read.close();
  const { state, action, reward, extras } = columnsOf(named);
  return { columns: { state, action, reward, extras }, stepCount, episodeCount, notes };
}

/**
 * Records the episodes of a file. An episode is recorded as a whole or not at all: after an error, those before it are there, and nothing else.
 *
 * The replay must have the columns of the file, by their names, with rows of as many elements. A dtype may differ; values are checked and converted. A state
 * of one column takes the only observation of the file, whatever its name is. Extras of the file that the replay lacks are left out, and `notes` says so.
 *
 * If the replay has too little room, older episodes give way as always. An episode that is longer than the whole replay is an error.
 *
 * @throws {TypeError} For an unknown format or option.
 * @throws {ReplayError} `data-set` if the file is damaged, has not what the format needs, or does not fit the replay. `file` or `permission` if it can't be
 * read. What `recordMany` throws.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { exportEpisodes, importEpisodes } from "@exrp/replay/interchange";
 *
 * const path = `${await Deno.makeTempDir()}/steps.npz`;
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 * replay.record(replay.newEpisode(), [1, 2], 0, 1, { finalState: [3, 4] });
 * await exportEpisodes(replay, "npz", path);
 * // Offline data gets a tag, so that draws can be mixed.
 * const { episodeCount, stepCount } = await importEpisodes(replay, "npz", path, { tag: 1 });
 * console.log(episodeCount, stepCount); // 1 1
 * console.log([...replay.episodes().tag]); // [0, 1]
 * ```
 */
export async function importEpisodes(
  replay: ExperienceReplay,
  format: EpisodeFormat,
  source: EpisodeFile,
  options: ImportEpisodesOptions = {},
): Promise<EpisodesMoved> {
  const where = "importEpisodes()";
  checkOptions(where, options, IMPORT_OPTIONS);
  const into = checkReplay(where, replay);
  const kind = checkFormat(where, format);
  const from = checkSource(where, source);
  const reading = readingOf(where, options);
  if (options.tag !== undefined) {
    checkInteger(`${where}: tag`, options.tag, -(2 ** 31), 2 ** 31 - 1);
  }
  const read = await openSource(where, kind, from, reading);
  try {
    return await record(into, read, options);
  } catch (error) {
    throw inContext(where, kind, from, error);
  } finally {
    await read.close();
  }
}

/**
 * Writes the ended episodes of a replay into a file. Steps, final states, the two kinds of ends, tags and extras are in it; `notes` says what the format has
 * no place for. Priorities, pick views and selectors are not: {@linkcode ExperienceReplay.serialize} keeps those.
 *
 * The file has its name once all of it is on the disk. After an error there is none. One that stood there is replaced then, and so is a folder that has nothing
 * but such a data set. A folder with anything else in it is an error.
 *
 * @param target A path or a URL of a file. For `lerobot` it is a folder. For `minari` it is a file whose name ends in `.hdf5`, or a folder for
 * `main_data.hdf5`; `metadata.json` is written beside the file, and one that stands beside a new file is an error.
 * @throws {TypeError} For an unknown format or option.
 * @throws {ReplayError} `file` or `permission` if the file can't be written. `empty` if no episode has ended.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { exportEpisodes } from "@exrp/replay/interchange";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 * for (const tag of [0, 1]) replay.record(replay.newEpisode({ tag }), [1, 2], 0, 1, { finalState: [3, 4] });
 * replay.record(replay.newEpisode(), [1, 2], 0, 1);
 * const path = `${await Deno.makeTempDir()}/steps.npz`;
 * const { episodeCount } = await exportEpisodes(replay, "npz", path, { filter: { tag: 1 } });
 * console.log(episodeCount); // 1
 * console.log((await exportEpisodes(replay, "npz", path)).notes); // ["1 open episode was left out."]
 * ```
 */
export async function exportEpisodes(
  replay: ExperienceReplay,
  format: EpisodeFormat,
  target: string | URL,
  options: ExportEpisodesOptions = {},
): Promise<EpisodesMoved> {
  const where = "exportEpisodes()";
  checkOptions(where, options, EXPORT_OPTIONS);
  const from = checkReplay(where, replay);
  const kind = checkFormat(where, format);
  const path = checkTarget(where, target);
  const reader = new EpisodeReader(from, options.filter ?? {}, options);
  const { fps } = options;
  if (fps !== undefined) {
    checkInteger(`${where}: fps`, fps, 1, 1e6);
    if (kind !== "lerobot") {
      throw new TypeError(`${where}: fps is for lerobot, and not for ${kind}`);
    }
  }
  return await writeEpisodes(where, reader, kind, path, fps);
}
