/**
 * The tables of LeRobot's data sets: Parquet files in `data/`, and what they have in `meta/`. Versions 2 and 3 are read, and 3 is written. Videos stay where
 * they are.
 *
 * @module
 */

import { VERSION } from "../base/version.ts";
import {
  type EpisodeReader,
  RowBatches,
  type RowMaker,
  type StepNames,
  stepRows,
  type Written,
} from "./_export.ts";
import { filesOf, kindOf, makeFile, makeFolder, namesIn, openData, readWhole } from "./_files.ts";
import { addStats, STATS, type Stats, statsOf } from "./_lerobot_stats.ts";
import { elementsOf, type KeyValue, newParquet, newTable, openParquet } from "./_parquet.ts";
import type { Rows, Table, TableColumn } from "./_table.ts";
import { dataError, pythonJson, sizeOf, type Values } from "./_values.ts";

/** Columns that only say which row it is. */
const PLACES = ["index", "frame_index"];
/** Stands beside a table that this library wrote. Then times and tasks are made up. */
const MARK = "exrp.lerobot";
const MADE = ["timestamp", "task_index"];

/** What is read of `meta/info.json`. */
interface Info {
  readonly features?: Readonly<
    Record<string, { readonly dtype?: unknown; readonly shape?: unknown }>
  >;
}

/** The table in a data set's folder. */
export async function openLerobot(folder: string): Promise<Table> {
  const { join } = filesOf().files.path;
  if (await kindOf(folder) !== "folder") {
    throw dataError(`a data set of LeRobot's is a folder, and ${JSON.stringify(folder)} is none`);
  }
  const info = await readInfo(join(folder, "meta", "info.json"));
  const paths: string[] = [];
  for (const chunk of await namesIn(join(folder, "data"))) {
    for (const name of await namesIn(join(folder, "data", chunk))) {
      if (name.endsWith(".parquet")) paths.push(join(folder, "data", chunk, name));
    }
  }
  const [first] = paths;
  if (first === undefined) {
    throw dataError(`there is no data/…/*.parquet in ${JSON.stringify(folder)}`);
  }
  const notes: string[] = [];
  const features = Object.entries(info.features ?? {});
  for (const [name, { dtype }] of features) {
    if (dtype !== "video" && dtype !== "image") continue;
    notes.push(
      `${name} is a ${dtype}, so it was left out; its files stay in ${
        JSON.stringify(folder)
      }, and extras.timestamp says where a step is in a video.`,
    );
  }
  /** A column with the shape that the data set says it has: Parquet's lists are flat. */
  const shaped = (column: TableColumn): TableColumn => {
    const { shape } = info.features?.[column.name] ?? {};
    const isShape = Array.isArray(shape) && sizeOf(shape) === sizeOf(column.shape);
    return isShape && column.shape.length > 0 ? { ...column, shape } : column;
  };
  let rowCount = 0;
  let columns: readonly TableColumn[] = [];
  for (const path of paths) {
    const table = await openParquet(await openData("", path));
    rowCount += table.rowCount;
    if (path === first) {
      const left = table.keys.includes(MARK) ? [...PLACES, ...MADE] : PLACES;
      columns = table.columns.filter(({ name }) => !left.includes(name)).map(shaped);
      const isNamed = (note: string): boolean => features.some(([name]) => note.startsWith(name));
      notes.push(...table.notes.filter((note) => !isNamed(note)));
    }
    await table.close();
  }
  return {
    columns,
    rowCount,
    notes,
    async *rows(asked): AsyncGenerator<Rows> {
      for (const path of paths) {
        const table = await openParquet(await openData("", path));
        try {
          for (const { name } of asked) {
            if (table.columns.some((column) => column.name === name)) continue;
            throw dataError(`${name} is missing in ${JSON.stringify(path)}`);
          }
          yield* table.rows(asked);
        } finally {
          await table.close();
        }
      }
    },
    close: () => Promise.resolve(),
  };
}

/** Whether a folder has a data set of LeRobot's. */
export async function hasLerobot(folder: string): Promise<boolean> {
  return await kindOf(filesOf().files.path.join(folder, "meta", "info.json")) === "file";
}

async function readInfo(path: string): Promise<Info> {
  const bytes = await readWhole(path);
  if (bytes === undefined) throw dataError(`${JSON.stringify(path)} is missing`);
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Info;
  } catch (cause) {
    throw dataError(`${JSON.stringify(path)} is no JSON`, cause);
  }
}

// ---- writing ----

/** What LeRobot calls the parts of a step. Its learners compute next states from the next row; the column has them for the last row of an episode, too. */
const NAMES: StepNames = {
  state: "observation",
  next: "next_observation",
  action: "action",
  reward: "next.reward",
  terminated: "next.done",
  truncated: "next.truncated",
  tag: "tag",
  extras: "complementary_info",
  separator: ".",
};

/** The columns that each data set of LeRobot's has. */
const PLACED: readonly TableColumn[] = [
  { name: "timestamp", dtype: "float32", shape: [] },
  ...["frame_index", "episode_index", "index", "task_index"].map((name): TableColumn => ({
    name,
    dtype: "int64",
    shape: [],
  })),
];

/** Where files are, by their chunk and their number in it. */
const DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet";
const EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet";
/** Files of one folder. */
const CHUNK_FILES = 1000;
/** Bytes of the numbers in a data file, after which the next episode gets another one. */
const DATA_FILE_MB = 100;
/** Bytes of numbers that become a group of rows: lists become many small objects on the way. */
const BATCH_BYTES = 2 ** 20;
/** Numbers that wait for their place in the table of episodes. */
const WAITING_NUMBERS = 100_000;

/** Steps a second, where nobody says how many. */
export const DEFAULT_FPS = 30;

const INTEGER = { type: "INT64" };
const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8" };

/** The table of a replay: LeRobot has a name for a state of one part, too. */
function rowsLike(reader: EpisodeReader): RowMaker {
  const maker = stepRows(reader, NAMES);
  const columns = maker.columns.map((column) => {
    const isWhole = column.name === NAMES.state || column.name === NAMES.next;
    const part = column.shape.length > 1 ? "image" : "state";
    const name = isWhole ? `${column.name}.${part}` : column.name;
    if (!name.includes("/")) return { ...column, name };
    throw new TypeError(`LeRobot's columns have no "/" in their names, and there is ${name}`);
  });
  return { columns: [...columns, ...PLACED], rows: (episode) => maker.rows(episode) };
}

/** Whether a column has statistics: LeRobot wants them of numbers, and refuses those of a column that sounds like a picture. */
function hasStats({ name, shape }: TableColumn): boolean {
  return shape.length < 2 && !name.includes("image");
}

function placeOf(file: number): { readonly chunk: number; readonly number: number } {
  return { chunk: Math.floor(file / CHUNK_FILES), number: file % CHUNK_FILES };
}

function dataPath({ chunk, number }: ReturnType<typeof placeOf>): string {
  const three = (value: number): string => String(value).padStart(3, "0");
  return DATA_PATH.replace("{chunk_index:03d}", three(chunk))
    .replace("{file_index:03d}", three(number));
}

/** Writes a data set into a folder. */
export async function writeLerobot(
  folder: string,
  reader: EpisodeReader,
  fps: number,
  fileBytes = DATA_FILE_MB * 1e6,
): Promise<void> {
  const { path } = filesOf().files;
  const at = (name: string): string => path.join(folder, ...name.split("/"));
  const maker = rowsLike(reader);
  const { columns } = maker;
  const counts = { rows: 0, episodes: 0 };
  /** The number of each tag's task. */
  const tasks = new Map<number, number>();
  const all = new Map<string, Stats>();

  /** The rows of an episode, with their places. */
  const rowsAt = (episode: Written, task: number): Rows => {
    const { count, values } = maker.rows(episode);
    const fill = (value: (k: number) => number): Values =>
      Float64Array.from({ length: count }, (_, k) => value(k));
    return {
      count,
      values: [
        ...values,
        Float32Array.from({ length: count }, (_, k) => k / fps),
        fill((k) => k),
        fill(() => counts.episodes),
        fill((k) => counts.rows + k),
        fill(() => task),
      ],
    };
  };

  const episodes = reader.episodes();
  let next = await episodes.next();
  await makeFolder(path.dirname(at(EPISODES_PATH)));
  await makeFile(at(EPISODES_PATH), async (file) => {
    const table = await EpisodeTable.begin(file, columns.filter(hasStats));
    for (let number = 0; next.done !== true; number++) {
      const place = placeOf(number);
      const data = at(dataPath(place));
      await makeFolder(path.dirname(data));
      await makeFile(data, async (file) => {
        let bytes = 0;
        const parquet = await newTable(file, columns, "nested", [{ key: MARK, value: VERSION }]);
        const batches = new RowBatches(columns, BATCH_BYTES);
        while (next.done !== true && bytes < fileBytes) {
          const { value: episode } = next;
          const task = tasks.get(episode.tag) ?? tasks.size;
          tasks.set(episode.tag, task);
          const rows = rowsAt(episode, task);
          const stats = new Map<string, Stats>();
          for (const [k, column] of columns.entries()) {
            if (!hasStats(column)) continue;
            const own = statsOf(rows.values[k] as Values, sizeOf(column.shape));
            stats.set(column.name, own);
            const before = all.get(column.name);
            all.set(column.name, before === undefined ? own : addStats(before, own));
          }
          for (const { byteLength } of rows.values) bytes += byteLength;
          for (const batch of batches.add(rows)) await parquet.write(batch);
          await table.add({
            numbers: [
              ...[counts.episodes, rows.count, place.chunk, place.number],
              ...[counts.rows, counts.rows + rows.count, 0, 0],
            ],
            task: taskOf(episode.tag),
            stats,
          });
          counts.rows += rows.count;
          counts.episodes++;
          next = await episodes.next();
        }
        for (const batch of batches.rest()) await parquet.write(batch);
        await parquet.finish();
      });
    }
    await table.finish();
  });

  await writeTasks(at("meta/tasks.parquet"), [...tasks.keys()]);
  await writeJson(at("meta/stats.json"), Object.fromEntries(all));
  await writeJson(at("meta/info.json"), {
    codebase_version: "v3.0",
    robot_type: null,
    total_episodes: counts.episodes,
    total_frames: counts.rows,
    total_tasks: tasks.size,
    chunks_size: CHUNK_FILES,
    data_files_size_in_mb: DATA_FILE_MB,
    video_files_size_in_mb: 200,
    fps,
    splits: { train: `0:${counts.episodes}` },
    data_path: DATA_PATH,
    video_path: null,
    features: Object.fromEntries(columns.map(({ name, dtype, shape }) => [name, {
      // Parquet has no such column, and LeRobot would ask it for one.
      dtype: dtype === "float16" ? "float32" : dtype,
      shape: shape.length === 0 ? [1] : shape,
      names: null,
    }])),
  });
}

/** LeRobot says in words what an episode is for. */
function taskOf(tag: number): string {
  return `tag ${tag}`;
}

async function writeJson(path: string, value: object): Promise<void> {
  await makeFile(path, (file) => file.write(new TextEncoder().encode(pythonJson(value, 4))));
}

/** A row of the table of episodes. */
interface EpisodeRow {
  /** In the order of the table. */
  readonly numbers: readonly number[];
  readonly task: string;
  readonly stats: ReadonlyMap<string, Stats>;
}

/** The table of episodes: where each begins, and the statistics of its columns. */
class EpisodeTable {
  static readonly #numbers = [
    ...["episode_index", "length", "data/chunk_index", "data/file_index"],
    ...["dataset_from_index", "dataset_to_index"],
    ...["meta/episodes/chunk_index", "meta/episodes/file_index"],
  ];
  readonly #parquet: Awaited<ReturnType<typeof newParquet>>;
  readonly #columns: readonly TableColumn[];
  readonly #rowNumbers: number;
  #rows: EpisodeRow[] = [];

  private constructor(
    parquet: Awaited<ReturnType<typeof newParquet>>,
    columns: readonly TableColumn[],
  ) {
    this.#parquet = parquet;
    this.#columns = columns;
    this.#rowNumbers = STATS.length * columns.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  }

  static async begin(
    file: Parameters<typeof newParquet>[0],
    columns: readonly TableColumn[],
  ): Promise<EpisodeTable> {
    const elements = [
      ...EpisodeTable.#numbers.map((name) => elementsOf(name, INTEGER, 0)),
      elementsOf("tasks", TEXT, 1),
      ...columns.flatMap(({ name }) =>
        STATS.map((stat) =>
          elementsOf(`stats/${name}/${stat}`, stat === "count" ? INTEGER : { type: "DOUBLE" }, 1)
        )
      ),
    ];
    return new EpisodeTable(await newParquet(file, elements, []), columns);
  }

  async add(row: EpisodeRow): Promise<void> {
    this.#rows.push(row);
    if (this.#rows.length * this.#rowNumbers >= WAITING_NUMBERS) await this.#write();
  }

  async #write(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    await this.#parquet.write([
      ...EpisodeTable.#numbers.map((name, k) => ({
        name,
        data: rows.map(({ numbers }) => BigInt(numbers[k] as number)),
      })),
      { name: "tasks", data: rows.map(({ task }) => [task]) },
      ...this.#columns.flatMap(({ name }) =>
        STATS.map((stat) => ({
          name: `stats/${name}/${stat}`,
          data: rows.map(({ stats }) => {
            const numbers = stats.get(name)?.[stat] ?? [];
            return stat === "count" ? numbers.map(BigInt) : numbers;
          }),
        }))
      ),
    ]);
  }

  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#write();
    await this.#parquet.finish();
  }
}

/** The table of tasks. The words are its index, and a note says so to pandas. */
async function writeTasks(path: string, tags: readonly number[]): Promise<void> {
  const column = (
    name: string | null,
    pandas: string,
    numpy: string,
    metadata: object | null,
  ): object => ({
    name,
    field_name: name,
    pandas_type: pandas,
    numpy_type: numpy,
    metadata,
  });
  const note: KeyValue = {
    key: "pandas",
    value: JSON.stringify({
      index_columns: ["task"],
      column_indexes: [column(null, "unicode", "object", { encoding: "UTF-8" })],
      columns: [
        column("task_index", "int64", "int64", null),
        column("task", "unicode", "object", null),
      ],
      creator: { library: "exrp", version: VERSION },
      pandas_version: "2.0.0",
    }),
  };
  await makeFile(path, async (file) => {
    const elements = [elementsOf("task_index", INTEGER, 0), elementsOf("task", TEXT, 0)];
    const table = await newParquet(file, elements, [note]);
    await table.write([
      { name: "task_index", data: tags.map((_, k) => BigInt(k)) },
      { name: "task", data: tags.map(taskOf) },
    ]);
    await table.finish();
  });
}
