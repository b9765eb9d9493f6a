/**
 * Episodes of a replay as rows of a table, an episode at a time.
 *
 * @module
 */

import { joinInto, lengthOfAll } from "../base/bytes.ts";
import type { ExperienceReplay } from "../mod.ts";
import type { NamedColumn } from "../schema/columns.ts";
import { checkColumns, type NamedColumns } from "../schema/record_columns.ts";
import { leavesOf } from "../schema/state.ts";
import { ReplayError } from "../base/errors.ts";
import type { EpisodeFilter } from "../schema/episode_filter.ts";
import { type EpisodesMoved, Turns, type Watching } from "./_import.ts";
import { fileNames } from "./_steps.ts";
import { type Rows, rowsFor, type TableColumn } from "./_table.ts";
import { bytesOf, rowsOf, sizeOf, type Values } from "./_values.ts";

/** An episode that is written. */
export interface Written {
  readonly count: number;
  /** `[count, ...shape]` of each column: the leaves of the state, the action, the reward, the extras. */
  readonly columns: readonly Values[];
  /** The final state's leaves. */
  readonly finalState: readonly Values[];
  readonly isTruncated: boolean;
  readonly tag: number;
  /** Its number in the file. */
  readonly number: number;
}

/** Reads the ended episodes of a replay, the oldest first. What goes meanwhile is left out. */
export class EpisodeReader {
  readonly #replay: ExperienceReplay;
  readonly #watching: Watching;
  readonly #handles: readonly number[];
  readonly #tags: readonly number[];
  readonly named: NamedColumns;
  readonly notes: string[] = [];
  /** How many episodes have ended, also those that the filter leaves out. */
  readonly endedCount: number;
  /** Steps of all episodes that are listed. */
  readonly stepsInAll: number;
  #gone = new Set<number>();
  #counts = { episodeCount: 0, stepCount: 0 };

  constructor(replay: ExperienceReplay, filter: EpisodeFilter, watching: Watching) {
    this.#replay = replay;
    this.#watching = watching;
    this.named = checkColumns("the replay", replay.columns);
    const all = replay.episodes({ lengthMin: 1, ...filter });
    const ended = [...all.handle.keys()].filter((k) => all.end[k] !== 0);
    this.#handles = ended.map((k) => all.handle[k] as number);
    this.endedCount = replay.episodes({ ended: true }).size;
    this.#tags = ended.map((k) => all.tag[k] as number);
    this.stepsInAll = ended.reduce((sum, k) => sum + (all.length[k] ?? 0), 0);
    const open = all.size - ended.length;
    if (open > 0) {
      this.notes.push(`${open} open ${open === 1 ? "episode was" : "episodes were"} left out.`);
    }
  }

  get episodeCount(): number {
    return this.#handles.length;
  }

  get hasTags(): boolean {
    return this.#tags.some((tag) => tag !== 0);
  }

  /** The episodes. Each call begins again. */
  async *episodes(): AsyncGenerator<Written> {
    const { signal, onProgress } = this.#watching;
    const turns = new Turns();
    let [number, stepCount] = [0, 0];
    for (const [k, handle] of this.#handles.entries()) {
      signal?.throwIfAborted();
      const written = this.#read(handle, this.#tags[k] ?? 0, number);
      if (written === undefined) continue;
      yield written;
      number++;
      stepCount += written.count;
      onProgress?.({ stepCount, episodeCount: number, stepsInAll: this.stepsInAll });
      await turns.take();
    }
    this.#counts = { episodeCount: number, stepCount };
  }

  #read(handle: number, tag: number, number: number): Written | undefined {
    if (this.#gone.has(handle)) return undefined;
    try {
      const records = this.#replay.episodeRecords(handle);
      const { tree } = this.named;
      const { state, action, reward, extras, finalState, size, ending } = records;
      const others = this.named.extraNames.map((name) => extras[name] as Values);
      return {
        count: size,
        columns: [...leavesOf<Values>(tree, state), action, reward, ...others],
        finalState: leavesOf<Values>(tree, finalState),
        isTruncated: ending === "truncated",
        tag,
        number,
      };
    } catch (error) {
      if (!(error instanceof ReplayError) || error.code !== "record-unknown") throw error;
      this.#gone.add(handle);
      return undefined;
    }
  }

  /** What was written by the latest pass. */
  moved(notes: readonly string[] = []): EpisodesMoved {
    const gone = this.#gone.size;
    return {
      ...this.#counts,
      notes: [
        ...this.notes,
        ...gone === 0
          ? []
          : [`${gone} episodes were evicted meanwhile, so they are not in the file.`],
        ...notes,
      ],
    };
  }
}

/** How the columns of a table are made of an episode. */
export interface RowMaker {
  readonly columns: readonly TableColumn[];
  rows(episode: Written): Rows;
}

/** Rows of a column, and more rows behind them. */
export function append(values: Values, more: Values): Values {
  const all = blank(values, values.length + more.length);
  all.set(values as never);
  all.set(more as never, values.length);
  return all;
}

function blank(like: Values, count: number): Values {
  return new (like.constructor as new (count: number) => Values)(count);
}

/** How columns are named in a table with a row for each step and its next state. */
export interface StepNames {
  readonly state: string;
  readonly next: string;
  readonly action: string;
  readonly reward: string;
  readonly terminated: string;
  readonly truncated: string;
  readonly tag: string;
  readonly extras: string;
  /** Stands between the names of a part. */
  readonly separator: "." | "/";
}

/** The names of D4RL. */
export const D4RL_NAMES: StepNames = {
  state: "observations",
  next: "next_observations",
  action: "actions",
  reward: "rewards",
  terminated: "terminals",
  truncated: "timeouts",
  tag: "tags",
  extras: "infos",
  separator: "/",
};

/** Rows in the style of D4RL: a row for each step, with its next state. */
export function stepRows({ named, hasTags }: EpisodeReader, names: StepNames): RowMaker {
  const { leaves, others, extras } = columnsOf(named, names.separator, names.extras);
  const leafCount = named.leaves.length;
  return {
    columns: [
      ...leaves(names.state),
      ...others(names.action, names.reward),
      one(names.terminated, "bool"),
      one(names.truncated, "bool"),
      ...leaves(names.next),
      ...hasTags ? [one(names.tag, "int32")] : [],
      ...extras,
    ],
    rows({ count, columns, finalState, isTruncated, tag }): Rows {
      const flags = (isSet: boolean): Values => {
        const values = new Uint8Array(count);
        values[count - 1] = Number(isSet);
        return values;
      };
      const next = named.leaves.map(({ column: { elementCount } }, k) =>
        append(
          rowsOf(columns[k] as Values, elementCount, 1, count),
          finalState[k] as Values,
        )
      );
      return {
        count,
        values: [
          ...columns.slice(0, leafCount + 2),
          flags(!isTruncated),
          flags(isTruncated),
          ...next,
          ...hasTags ? [new Int32Array(count).fill(tag)] : [],
          ...columns.slice(leafCount + 2),
        ],
      };
    },
  };
}

/** Rows in the style of RLDS: one row more than steps, for the final state. `separator` stands between the names of a part. */
export function rldsRows({ named, hasTags }: EpisodeReader, separator: "." | "/"): RowMaker {
  const { leaves, others, extras } = columnsOf(named, separator, "extras");
  const leafCount = named.leaves.length;
  return {
    columns: [
      one("episode", "int64"),
      ...leaves("observation"),
      ...others("action", "reward"),
      one("is_first", "bool"),
      one("is_last", "bool"),
      one("is_terminal", "bool"),
      ...hasTags ? [one("tag", "int32")] : [],
      ...extras,
    ],
    rows({ count, columns, finalState, isTruncated, tag, number }): Rows {
      const size = count + 1;
      const flags = (row: number, isSet: boolean): Values => {
        const values = new Uint8Array(size);
        values[row] = Number(isSet);
        return values;
      };
      const padded = columns.map((values, k) =>
        append(
          values,
          finalState[k] ?? blank(values, named.columns[k]?.column.elementCount ?? 1),
        )
      );
      return {
        count: size,
        values: [
          new Float64Array(size).fill(number),
          ...padded.slice(0, leafCount + 2),
          flags(0, true),
          flags(count, true),
          flags(count, !isTruncated),
          ...hasTags ? [new Int32Array(size).fill(tag)] : [],
          ...padded.slice(leafCount + 2),
        ],
      };
    },
  };
}

/** A column of one number a row. */
function one(name: string, dtype: TableColumn["dtype"]): TableColumn {
  return { name, dtype, shape: [] };
}

/** The columns of a replay in a table. */
function columnsOf(
  { tree, leaves, columns, extraNames }: NamedColumns,
  separator: string,
  extras: string,
): {
  readonly leaves: (head: string) => TableColumn[];
  readonly others: (action: string, reward: string) => TableColumn[];
  readonly extras: readonly TableColumn[];
} {
  const paths = fileNames(tree);
  const from = leaves.length;
  const named = (names: readonly string[], at: number): TableColumn[] =>
    names.map((name, k) => {
      const { dtype, shape } = (columns[at + k] as NamedColumn).column;
      return { name, dtype, shape };
    });
  return {
    leaves: (head) => named(paths.map((path) => [head, ...path].join(separator)), 0),
    others: (action, reward) => named([action, reward], from),
    extras: named(extraNames.map((name) => `${extras}${separator}${name}`), from + 2),
  };
}

/** The rows of all episodes, each episode by itself. */
export async function* rowsByEpisode(
  reader: EpisodeReader,
  maker: RowMaker,
): AsyncGenerator<Rows> {
  for await (const episode of reader.episodes()) yield maker.rows(episode);
}

/** Makes batches of about so many bytes of the rows of episodes. */
export class RowBatches {
  readonly #widths: readonly number[];
  readonly #step: number;
  readonly #waiting: Rows[] = [];
  #have = 0;

  constructor(columns: readonly TableColumn[], bytes: number) {
    this.#widths = columns.map(({ shape }) => sizeOf(shape));
    this.#step = rowsFor(
      columns.map(({ dtype }, k) => ({ bytes: bytesOf(dtype) * (this.#widths[k] ?? 1) })),
      bytes,
    );
  }

  /** Takes rows, and gives the batches that are full. */
  *add(rows: Rows): Generator<Rows> {
    this.#waiting.push(rows);
    this.#have += rows.count;
    while (this.#have >= this.#step) yield this.#take(this.#step);
  }

  /** Gives the rows that are left. */
  *rest(): Generator<Rows> {
    if (this.#have > 0) yield this.#take(this.#have);
  }

  #take(count: number): Rows {
    const parts: Rows[] = [];
    for (let left = count; left > 0;) {
      const [first] = this.#waiting;
      if (first === undefined) break;
      if (first.count <= left) {
        parts.push(first);
        this.#waiting.shift();
        left -= first.count;
        continue;
      }
      const cut = (from: number, to: number): Rows => ({
        count: to - from,
        values: first.values.map((values, k) => rowsOf(values, this.#widths[k] ?? 1, from, to)),
      });
      parts.push(cut(0, left));
      this.#waiting[0] = cut(left, first.count);
      left = 0;
    }
    this.#have -= count;
    return parts.length === 1 ? parts[0] as Rows : joined(parts, count);
  }
}

/** The rows of all episodes in batches of about so many bytes. */
export async function* rowsInBatches(
  reader: EpisodeReader,
  maker: RowMaker,
  bytes: number,
): AsyncGenerator<Rows> {
  const batches = new RowBatches(maker.columns, bytes);
  for await (const episode of reader.episodes()) yield* batches.add(maker.rows(episode));
  yield* batches.rest();
}

function joined(parts: readonly Rows[], count: number): Rows {
  const values = (parts[0]?.values ?? []).map((first, k) => {
    const rows = parts.map(({ values }) => values[k] as Values);
    return joinInto<Values, Values>(blank(first, lengthOfAll(rows)), rows);
  });
  return { count, values };
}
