/**
 * The tables of LeRobot's data sets, versions 2 and 3: Parquet files in `data/`, and `meta/info.json`. Videos stay where they are.
 *
 * @module
 */

import { filesOf, kindOf, namesIn, openData, readWhole } from "./_files.ts";
import { openParquet } from "./_parquet.ts";
import type { Rows, Table, TableColumn } from "./_table.ts";
import { dataError, sizeOf } from "./_values.ts";

/** Columns that only say which row it is. */
const PLACES = ["index", "frame_index"];

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
      columns = table.columns.filter(({ name }) => !PLACES.includes(name)).map(shaped);
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

async function readInfo(path: string): Promise<Info> {
  const bytes = await readWhole(path);
  if (bytes === undefined) throw dataError(`${JSON.stringify(path)} is missing`);
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Info;
  } catch (cause) {
    throw dataError(`${JSON.stringify(path)} is no JSON`, cause);
  }
}
