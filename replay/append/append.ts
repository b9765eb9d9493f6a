/**
 * Taking the episodes of another replay in, from a snapshot's file or a durable folder.
 *
 * A file is read twice: first all of it, so that nothing is taken from one that is damaged, and then its records, a piece at a time. A column that not all records
 * keep is read beside them, by one more reading. A folder is opened as a replay that may be
 * larger than memory, and its episodes are copied in pieces.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { dispose } from "../../base/platform.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import { type AnyColumnArray, Column, type DType, viewOf } from "../../schema/columns.ts";
import { stepsOf } from "../../schema/record_columns.ts";
import { oneState } from "../../schema/state.ts";
import type { ReplayCore } from "../core.ts";
import { folderPath, isFolder } from "../durable/folder.ts";
import { readSchema, type SnapshotSchema } from "../snapshot/snapshot_schema.ts";
import { corruptItems, FileSections, SectionRows } from "./_file_sections.ts";

/** The operation, in errors. */
export const APPEND = "append()";
/** How much of an episode is recorded by one call. */
const PIECE_BYTES = 2 ** 20;

/** What {@linkcode ExperienceReplay.append} took in. */
export interface Appended {
  /** Episodes that came. */
  readonly episodeCount: number;
  /** Their records. */
  readonly recordCount: number;
  /** Open episodes of the other replay, which did not come. */
  readonly openCount: number;
}

/** What records into the replay that takes the episodes. */
export interface Target {
  /** Begins an episode. */
  newEpisode(options: { readonly tag: number }): number;
  /** Records steps, and perhaps the end of their episode. */
  recordMany(episode: number, steps: never): number;
  /** Ends an episode. */
  endEpisode(episode: number, options: never): unknown;
  /** Forgets an episode. */
  evict(episode: number): unknown;
}

/** What is read of a replay in a folder. */
export interface Source extends Disposable {
  /** Its columns, by name. */
  readonly core: ReplayCore;
  /** The handles of its episodes. */
  readonly handles: ArrayLike<number>;
  /** What an episode is. */
  episode(handle: number): {
    readonly tag: number;
    readonly ending: string;
    readonly firstPosition: number;
    readonly recordCount: number;
  };
  /** An array for so many rows of a column. */
  array(k: number, count: number): AnyColumnArray;
  /** Copies `count` rows of a column, from a place on, to the beginning of `rows`. */
  copy(k: number, place: readonly [number, number], count: number, rows: AnyColumnArray): void;
}

/** Takes the ended episodes of what stands at a path. `open` opens a folder. */
export async function appendFrom(
  core: ReplayCore,
  target: Target,
  path: string | URL,
  open: (path: string) => Promise<Source>,
): Promise<Appended> {
  core.checkUsable(APPEND);
  const at = folderPath(APPEND, path);
  return isFolder(APPEND, at)
    ? await appendFolder(core, target, at, open)
    : await appendFile(core, target, at);
}

async function appendFolder(
  core: ReplayCore,
  target: Target,
  path: string,
  open: (path: string) => Promise<Source>,
): Promise<Appended> {
  using source = await open(path);
  checkColumns(core, source.core.config.columns.map(({ name, column }) => [name, column]), path);
  const isEnded = (handle: number): boolean => source.episode(handle).ending !== "open";
  const ended = Float64Array.from(source.handles).filter(isEnded);
  for (const handle of ended) checkLength(core, source.episode(handle).recordCount, path);
  const { columns, leaves } = core.config;
  const recordBytes = columns.reduce(
    (sum, { column }) => sum + column.elementBytes * column.elementCount,
    0,
  );
  const most = Math.max(1, Math.floor(PIECE_BYTES / recordBytes));
  // Not for each piece: such arrays are many times as much memory before they are collected.
  const room = columns.map((_, k) => source.array(k, most));
  let recordCount = 0;
  for (const handle of ended) {
    const { tag, ending, firstPosition, recordCount: size } = source.episode(handle);
    const finalState = oneState(
      core.config,
      leaves.map((_, k) => {
        const row = source.array(k, 1);
        source.copy(k, [handle, firstPosition + size], 1, row);
        return row;
      }),
    );
    const { id } = core;
    let episode = target.newEpisode({ tag });
    try {
      for (let at = 0; at < size; at += most) {
        core.checkUsable(APPEND);
        const count = Math.min(most, size - at);
        const values = columns.map(({ column: { elementCount } }, k) => {
          const rows = room[k] as AnyColumnArray;
          source.copy(k, [handle, firstPosition + at], count, rows);
          return rows.subarray(0, count * elementCount);
        });
        const end = at + count < size ? {} : { finalState, truncated: ending === "truncated" };
        episode = target.recordMany(episode, { ...stepsOf(core.config, values), ...end } as never);
        await turn();
      }
    } catch (error) {
      // Episodes come whole. A snapshot that was loaded meanwhile has others, by the same handles.
      if (core.id === id) target.evict(episode);
      throw error;
    }
    recordCount += size;
  }
  return {
    episodeCount: ended.length,
    recordCount,
    openCount: source.handles.length - ended.length,
  };
}

/** An episode as a snapshot has it. */
interface SavedEpisode {
  readonly first: number;
  readonly count: number;
  readonly state: number;
  readonly tag: number;
}

async function appendFile(core: ReplayCore, target: Target, path: string): Promise<Appended> {
  const { schema, episodes } = await readWhole(core, path);
  const columns = schema.columns.map(({ name, dtype, shape, every }) =>
    [name, new Column(dtype as DType, shape, every)] as const
  );
  checkColumns(core, columns, path);
  const ended = episodes.filter(({ state }) => state !== abi.EXRP_EPISODE_OPEN);
  for (const { count, first } of ended) checkLength(core, count - first, path);
  using rows = new RecordRows(core, path);
  let recordCount = 0;
  for (const episode of episodes) {
    if (episode.state === abi.EXRP_EPISODE_OPEN) {
      await rows.skip(episode);
      continue;
    }
    core.checkUsable(APPEND);
    const { id } = core;
    let handle = target.newEpisode({ tag: episode.tag });
    try {
      for (let at = episode.first; at <= episode.count;) {
        const { records, steps, finalState } = await rows.next(episode, at);
        const truncated = episode.state === abi.EXRP_EPISODE_TRUNCATED;
        const end = finalState === undefined ? {} : { finalState, truncated };
        if (records > 0) handle = target.recordMany(handle, { ...steps, ...end } as never);
        else target.endEpisode(handle, end as never);
        at += records + (finalState === undefined ? 0 : 1);
        recordCount += records;
        await turn();
        core.checkUsable(APPEND);
      }
    } catch (error) {
      // Here, too, only in the replay that it came to.
      if (core.id === id) target.evict(handle);
      throw error;
    }
  }
  return { episodeCount: ended.length, recordCount, openCount: episodes.length - ended.length };
}

/** Reads all of a file and checks it. Returns what it has. */
async function readWhole(
  core: ReplayCore,
  path: string,
): Promise<{ schema: SnapshotSchema; episodes: SavedEpisode[] }> {
  using sections = new FileSections(APPEND, core.kernel, path);
  const episodes: SavedEpisode[] = [];
  for (let found = sections.next(); found !== undefined; found = sections.next()) {
    if (found.name === `section KERN ${abi.EXRP_SECTION_EPISODES}`) {
      const { buffer, byteOffset, byteLength } = found.payload;
      const view = new DataView(buffer, byteOffset, byteLength);
      for (let at = 0; at < byteLength; at += 32) {
        const episode = {
          count: view.getUint32(at + 8, true),
          state: view.getUint16(at + 12, true),
          tag: view.getInt32(at + 16, true),
          first: view.getUint32(at + 24, true),
        };
        if (episode.first > episode.count) throw corruptItems(found.name);
        episodes.push(episode);
      }
    }
    await turn();
  }
  return { schema: readSchema("", sections.schema), episodes };
}

/** The records of a file's episodes, in order, in pieces. */
class RecordRows implements Disposable {
  readonly #core: ReplayCore;
  readonly #rows: SectionRows;
  /** The columns of every record, with the byte of a row where each begins. */
  readonly #columns: readonly (readonly [column: Column, number: number, at: number])[];
  /** The columns that not all records keep. */
  readonly #kept: readonly (readonly [column: Column, number: number, rows: SectionRows])[];

  constructor(core: ReplayCore, path: string) {
    this.#core = core;
    const { columns } = core.config;
    const of = (section: number, bytes: number): SectionRows =>
      new SectionRows(
        new FileSections(APPEND, core.kernel, path),
        `section KERN ${section}`,
        bytes,
      );
    let at = 0;
    const dense: (readonly [Column, number, number])[] = [];
    const kept: (readonly [Column, number, SectionRows])[] = [];
    for (const [k, { column }] of columns.entries()) {
      const bytes = column.elementBytes * column.elementCount;
      if (column.every > 1) kept.push([column, k, of(abi.EXRP_SECTION_KEPT + kept.length, bytes)]);
      else {
        dense.push([column, k, at]);
        at += bytes;
      }
    }
    this.#columns = dense;
    this.#kept = kept;
    this.#rows = of(abi.EXRP_SECTION_RECORDS, at);
  }

  /** Goes on to the next episode. */
  async skip({ first, count }: SavedEpisode): Promise<void> {
    await this.#rows.skip(count - first);
    for (const [{ every }, , rows] of this.#kept) {
      await rows.skip(keptRows(every, first, count));
    }
  }

  /** The records from `at` on that are at hand, as a call takes them; and the final state, if it is. */
  async next(episode: SavedEpisode, at: number): Promise<{
    readonly records: number;
    readonly steps: object;
    readonly finalState: unknown;
  }> {
    const { bytes, count } = await this.#rows.take(episode.count + 1 - at);
    const isLast = at + count === episode.count + 1;
    if (isLast) await this.#rows.skip(episode.count + 1 - episode.first);
    const records = count - (isLast ? 1 : 0);
    const rowBytes = lengthOf(bytes) / count;
    const values: unknown[] = [];
    const finals: ArrayLike<number>[] = [];
    for (const [column, k, begin] of this.#columns) {
      const size = column.elementBytes * column.elementCount;
      const all = new Uint8Array(count * size);
      for (let row = 0; row < count; row++) {
        const from = row * rowBytes + begin;
        all.set(bytes.subarray(from, from + size), row * size);
      }
      const view = (first: number, rows: number): ArrayLike<number> =>
        viewOf(column.dtype, all.buffer, first * size, rows * column.elementCount);
      values[k] = view(0, records);
      if (isLast) finals[k] = view(records, 1);
    }
    for (const [column, k, rows] of this.#kept) {
      values[k] = await this.#keptValues(column, rows, episode, at, records, isLast);
    }
    const { config } = this.#core;
    return {
      records,
      steps: stepsOf(config, values),
      finalState: isLast ? oneState(config, finals) : undefined,
    };
  }

  /** The values of a column that not all records keep: of each record that keeps one where the episode begins at its first record. */
  async #keptValues(
    column: Column,
    rows: SectionRows,
    { first, count }: SavedEpisode,
    at: number,
    records: number,
    isLast: boolean,
  ): Promise<unknown> {
    const { every, dtype, elementBytes, elementCount } = column;
    const size = elementBytes * elementCount;
    const all = new Uint8Array(records * size);
    const begin = at - first;
    for (let k = Math.ceil(begin / every) * every; k < begin + records; k += every) {
      const row = Math.floor((first + k) / every) - Math.floor(first / every);
      all.set(await rows.row(row), (k - begin) * size);
    }
    if (isLast) await rows.skip(keptRows(every, first, count));
    return viewOf(dtype, all.buffer, 0, records * elementCount);
  }

  [dispose](): void {
    this.#rows[dispose]();
    for (const [, , rows] of this.#kept) rows[dispose]();
  }
}

/** How many rows a column has of the records from `first` to `count`, of which every nth keeps one. */
function keptRows(every: number, first: number, count: number): number {
  return Math.ceil(count / every) - Math.floor(first / every);
}

/** Refuses a replay with other columns. */
function checkColumns(
  { config }: ReplayCore,
  found: readonly (readonly [name: string, column: Column])[],
  path: string,
): void {
  const mine = new Map(config.columns.map(({ name, column }) => [name, String(column)]));
  const its = new Map(found.map(([name, column]) => [name, String(column)]));
  for (const name of new Set([...mine.keys(), ...its.keys()])) {
    if (mine.get(name) === its.get(name)) continue;
    throw new ReplayError(
      "snapshot-mismatch",
      `${APPEND}: ${name} is ${its.get(name) ?? "not there"} in ${show(path)}, and ${
        mine.get(name) ?? "not there"
      } in this replay; nothing was taken`,
    );
  }
}

/** Refuses an episode that this replay could only hold in part. */
function checkLength(
  { config: { capacity, maxAge } }: ReplayCore,
  count: number,
  path: string,
): void {
  const most = maxAge === 0 ? capacity : Math.min(capacity, maxAge);
  if (count <= most) return;
  throw new ReplayError(
    "capacity",
    `${APPEND}: ${
      show(path)
    } has an episode of ${count} records, and this replay holds ${most}; nothing was taken`,
  );
}

/** A turn for others. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
