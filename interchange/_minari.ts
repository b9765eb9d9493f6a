/**
 * Minari's HDF5 files: a group for each episode, with one observation more than there are actions, and `metadata.json` beside the file.
 *
 * @module
 */

import { release } from "../base/bytes.ts";
import { show } from "../base/checks.ts";
import type { Column, DType } from "../schema/columns.ts";
import type { NamedColumns } from "../schema/record_columns.ts";
import type { StateTree } from "../schema/state.ts";
import { h5Values } from "./_d4rl.ts";
import { filesOf, kindOf } from "./_files.ts";
import {
  arraysIn,
  attributeOf,
  createH5,
  H5_DTYPES,
  type H5Dataset,
  h5DType,
  type H5Group,
  h5Kind,
  isDataset,
  isGroup,
  namesOf,
  openH5,
  partOf,
  readRows,
} from "./_hdf5.ts";
import { fileNames, type Reading } from "./_steps.ts";
import { isState, type Rows, rowsFor, type Table, type TableColumn } from "./_table.ts";
import { bytesOf, dataError, pythonJson, sizeOf, type Values } from "./_values.ts";

/** The name of the file in a data set of Minari's. */
export const MAIN_FILE = "main_data.hdf5";
/** That of the text beside it. */
export const METADATA_FILE = "metadata.json";

/** Bytes that are read at once. */
const READ_BYTES = 2 ** 20;

/** The path of the file: Minari's data sets are folders. */
export async function mainFile(source: string): Promise<string> {
  const { join } = filesOf().files.path;
  if (await kindOf(source) !== "folder") return source;
  for (const path of [join(source, MAIN_FILE), join(source, "data", MAIN_FILE)]) {
    if (await kindOf(path) === "file") return path;
  }
  throw dataError(`there is no ${MAIN_FILE} in ${JSON.stringify(source)}`);
}

/** The table in a data set: the steps of all episodes, each with a row more for its final state. */
export async function openMinari(source: string | Uint8Array, reading: Reading): Promise<Table> {
  const opened = await openH5(typeof source === "string" ? await mainFile(source) : source);
  const { file } = opened;
  try {
    const episodes = namesOf(file).filter((name) => /^episode_\d+$/.test(name)).sort((one, other) =>
      Number(one.slice("episode_".length)) - Number(other.slice("episode_".length))
    );
    const [first] = episodes;
    if (first === undefined) {
      throw dataError(
        `there is no group episode_0; there is ${
          namesOf(file).slice(0, 8).join(", ") || "nothing"
        }`,
      );
    }
    const [example, steps] = episodeOf(file, first);
    for (const name of ["actions", ...ENDS]) arrayOf(example, name, first);
    const notes: string[] = [];
    const columns: TableColumn[] = [];
    for (const [name, array] of arraysIn(example)) {
      const dtype = h5DType(array);
      const [count, ...shape] = array.metadata.shape ?? [];
      if (isState(name) && isJpeg(array)) {
        throw dataError(
          `${first}: ${name} has pictures as JPEG, which is lossy, and is not unpacked here; write the data set with jpeg_encoding=False`,
        );
      }
      const [head] = name.split("/");
      if (head === "infos") {
        const isStep = count === steps || count === steps + 1;
        if (dtype !== undefined && isStep) columns.push({ name, dtype, shape });
        else notes.push(`${name} has no number for each step, so it was left out.`);
      } else if (head === "observations" || head === "actions" || head === "rewards") {
        if (dtype === undefined) {
          throw dataError(`${first}: ${name} has ${h5Kind(array)}, and numbers are needed`);
        }
        columns.push({ name, dtype, shape });
      }
    }
    if (!columns.some(({ name }) => isState(name))) arrayOf(example, "observations", first);
    let stepCount = 0;
    for (const name of episodes) stepCount += episodeOf(file, name)[1];
    return {
      columns: [...columns, ...OWN],
      rowCount: stepCount + episodes.length,
      stepCount,
      episodeCount: episodes.length,
      notes,
      async *rows(asked): AsyncGenerator<Rows> {
        for (const name of episodes) yield* rowsOf(file, name, asked, reading);
      },
      close: () => Promise.resolve(opened.close()),
    };
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** What says how an episode ended. */
const ENDS = ["terminations", "truncations"];
/** Columns that are made of that, and of the attributes. */
const OWN: readonly TableColumn[] = [
  { name: "is_last", dtype: "bool", shape: [] },
  { name: "is_terminal", dtype: "bool", shape: [] },
  { name: "tag", dtype: "int32", shape: [] },
];

/** An array that each episode must have. */
function arrayOf(episode: H5Group, name: string, at: string): H5Dataset {
  const array = partOf(episode, name);
  if (isDataset(array)) return array;
  throw dataError(
    isGroup(array)
      ? `${at}: ${name} has several parts, and here it is one column`
      : `${at}: ${name} is missing; there is ${namesOf(episode).join(", ") || "nothing"}`,
  );
}

/** The group of an episode, and how many steps it has. */
function episodeOf(file: H5Group, name: string): readonly [episode: H5Group, steps: number] {
  const episode = partOf(file, name);
  if (!isGroup(episode)) throw dataError(`${name} is no group`);
  return [episode, arrayOf(episode, "rewards", name).metadata.shape?.[0] ?? 0];
}

/** Whether an array has pictures as the bytes of JPEG files. */
function isJpeg(array: H5Dataset): boolean {
  const { shape, type } = array.metadata;
  if (type === 9) return true;
  if (h5DType(array) !== "uint8" || shape?.length !== 2 || (shape[1] ?? 0) < 4) return false;
  const first = readRows(array, "observations", 0, 1);
  return first[0] === 0xff && first[1] === 0xd8 && first[2] === 0xff;
}

/** The rows of one episode. */
async function* rowsOf(
  file: H5Group,
  at: string,
  asked: readonly TableColumn[],
  { truncatesUnfinished }: Reading,
): AsyncGenerator<Rows> {
  const [episode, steps] = episodeOf(file, at);
  if (steps === 0) return;
  const arrays = new Map(arraysIn(episode));
  const [isTerminated, isTruncated] = ENDS.map((name) => {
    const array = arrayOf(episode, name, at);
    const count = array.metadata.shape?.[0];
    if (count !== steps) {
      throw dataError(`${at}: ${name} has ${count} rows, and there are ${steps} rewards`);
    }
    return readRows(array, name, steps - 1, steps)[0] === 1;
  });
  if (!isTerminated && !isTruncated && !truncatesUnfinished) {
    throw dataError(
      `${at} has no end: its last step is neither terminated nor truncated. To take such episodes as truncated, give unfinished: "truncate"`,
    );
  }
  const tagged = attributeOf(episode, "tag") ?? 0;
  const tag = Number(tagged);
  if (tag !== (tag | 0)) {
    throw dataError(`${at}: its tag is ${show(tagged)}, and tags are whole numbers of 32 bits`);
  }
  // Of each column, how many rows stand before those of the steps: infos may have one of the reset.
  const before = asked.map(({ name, shape }) => {
    if (OWN.some((own) => own.name === name)) return 0;
    const [count = 0, ...found] = arrays.get(name)?.metadata.shape ?? [];
    const isInfo = name.startsWith("infos/");
    const needed = steps + Number(isState(name));
    if (count !== needed && !(isInfo && count === steps + 1)) {
      throw dataError(
        arrays.has(name)
          ? `${at}: ${name} has ${count} rows, and for ${steps} rewards it needs ${needed}`
          : `${at}: ${name} is missing`,
      );
    }
    if (sizeOf(found) !== sizeOf(shape)) {
      throw dataError(`${at}: ${name} has [${found}] in a row, and [${shape}] before`);
    }
    return isInfo ? count - steps : 0;
  });
  const step = rowsFor(
    asked.map(({ dtype, shape }) => ({ bytes: bytesOf(dtype) * sizeOf(shape) })),
    READ_BYTES,
  );
  for (let from = 0; from < steps; from += step) {
    const to = Math.min(steps, from + step);
    const isEnd = to === steps;
    const count = to - from + Number(isEnd);
    const values = asked.map(({ name }, k): Values => {
      if (name === "tag") return new Int32Array(count).fill(tag);
      const array = arrays.get(name);
      if (array === undefined) {
        const flags = new Uint8Array(count);
        if (isEnd) flags[count - 1] = Number(name === "is_last" || isTerminated);
        return flags;
      }
      // The final state is read with the states before it. Other columns have no row there, and none is asked for.
      const first = from + (before[k] ?? 0);
      return readRows(array, name, first, first + (isState(name) ? count : to - from));
    });
    yield { count, values, release: () => release(values) };
  }
}

// ---- writing ----

/** The least and the most of the numbers of an action. */
interface Bounds {
  least: number;
  most: number;
}

/** An episode that is written. */
export interface MinariEpisode {
  readonly count: number;
  /** The leaves of the state with the final state as one more row, the action, the reward, the extras. */
  readonly columns: readonly Values[];
  readonly isTruncated: boolean;
  readonly tag: number;
}

/** Writes a data set: the file, and the text of `metadata.json` as the result. */
export async function writeMinari(
  path: string,
  named: NamedColumns,
  episodes: Iterable<MinariEpisode> | AsyncIterable<MinariEpisode>,
): Promise<string> {
  const paths = fileNames(named.tree);
  const bounds: Bounds = { least: 0, most: 0 };
  const leafCount = named.leaves.length;
  let [episodeCount, stepCount] = [0, 0];
  await createH5(path, async (file, writing) => {
    for await (const { count, columns, isTruncated, tag } of episodes) {
      writing(() => {
        const group = file.create_group(`episode_${episodeCount}`);
        const write = (at: H5Group, name: string, column: Column, values: Values): void => {
          at.create_dataset({
            name,
            data: h5Values(values),
            shape: [values.length / column.elementCount, ...column.shape],
            dtype: H5_DTYPES[column.dtype] ?? "<f",
          });
        };
        for (const [k, { name, column }] of named.columns.entries()) {
          const values = columns[k] as Values;
          if (k < leafCount) {
            const { at, last } = placeIn(group, ["observations", ...paths[k] ?? []]);
            write(at, last, column, values);
          } else if (k === leafCount) {
            if (isDiscrete(column)) widen(bounds, values);
            write(group, "actions", column, values);
          } else if (k === leafCount + 1) write(group, "rewards", column, values);
          else {
            const parts = ["infos", ...name.slice("extras.".length).split("/")];
            const { at, last } = placeIn(group, parts);
            const all = new (values.constructor as new (count: number) => Values)(
              (count + 1) * column.elementCount,
            );
            all.set(values as never, column.elementCount);
            write(at, last, column, all);
          }
        }
        const flags = (isSet: boolean): Uint8Array => {
          const values = new Uint8Array(count);
          values[count - 1] = Number(isSet);
          return values;
        };
        for (
          const [name, data] of [
            ["terminations", flags(!isTruncated)],
            ["truncations", flags(isTruncated)],
          ] as const
        ) {
          group.create_dataset({ name, data, shape: [count], dtype: "<B" });
        }
        const number = (name: string, value: number): void =>
          group.create_attribute(name, BigInt64Array.of(BigInt(value)), [], "<q");
        number("id", episodeCount);
        number("total_steps", count);
        if (tag !== 0) number("tag", tag);
      });
      episodeCount++;
      stepCount += count;
    }
  });
  const action = named.columns[leafCount]?.column as Column;
  return JSON.stringify({
    total_episodes: episodeCount,
    total_steps: stepCount,
    data_format: "hdf5",
    jpeg_encoding: false,
    observation_space: spaceOf(named.tree, named.leaves.map(({ column }) => column)),
    action_space: pythonJson(
      isDiscrete(action)
        ? {
          type: "Discrete",
          dtype: "int64",
          start: bounds.least,
          n: bounds.most - bounds.least + 1,
        }
        : boxOf(action),
    ),
    dataset_id: "exrp/replay-v0",
    minari_version: "0.5.4",
  });
}

/** Makes the groups above a name. */
function placeIn(group: H5Group, path: readonly string[]): { at: H5Group; last: string } {
  let at = group;
  for (const part of path.slice(0, -1)) {
    const found = at.get(part);
    at = isGroup(found) ? found : at.create_group(part);
  }
  return { at, last: path.at(-1) ?? "" };
}

function isDiscrete({ dtype, shape }: Column): boolean {
  return shape.length === 0 && !dtype.startsWith("float");
}

function widen(bounds: Bounds, values: Values): void {
  for (let k = 0; k < values.length; k++) {
    const value = values[k] as number;
    if (value < bounds.least) bounds.least = value;
    if (value > bounds.most) bounds.most = value;
  }
}

/** The space of a state, as Minari writes it: JSON as Python has it. */
function spaceOf(tree: StateTree, columns: readonly Column[]): string {
  const space = (of: StateTree): object => {
    if (typeof of === "number") return boxOf(columns[of] as Column);
    const parts = of.parts.map(space);
    return of.names === undefined ? { type: "Tuple", subspaces: parts } : {
      type: "Dict",
      subspaces: Object.fromEntries(of.names.map((name, k) => [name, parts[k]])),
    };
  };
  return pythonJson(space(tree));
}

/** The least and the most that a type of number can be. */
const LIMITS: Readonly<Record<DType, readonly [number, number]>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  float16: [-Infinity, Infinity],
  float32: [-Infinity, Infinity],
  float64: [-Infinity, Infinity],
  bool: [0, 1],
};

function boxOf({ dtype, shape }: Column): object {
  const [low, high] = LIMITS[dtype];
  const fill = (value: number, [size, ...rest]: readonly number[]): unknown =>
    size === undefined ? value : Array.from({ length: size }, () => fill(value, rest));
  const name = dtype === "bool" ? "uint8" : dtype === "float16" ? "float32" : dtype;
  return {
    type: "Box",
    dtype: name,
    shape: [...shape],
    low: fill(low, shape),
    high: fill(high, shape),
  };
}
