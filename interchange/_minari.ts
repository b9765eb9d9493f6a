/**
 * Minari's HDF5 files: a group for each episode, with one observation more than there are actions, and `metadata.json` beside the file.
 *
 * @module
 */

import { release } from "../base/bytes.ts";
import type { Column, Columns, DType } from "../schema/columns.ts";
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
import {
  fileNames,
  type Leaf,
  nameColumns,
  type Piece,
  type Reading,
  type Source,
} from "./_steps.ts";
import { columnFor, dataError, pythonJson, rowsOf, sizeOf, type Values } from "./_values.ts";

/** The name of the file in a data set of Minari's. */
export const MAIN_FILE = "main_data.hdf5";
/** That of the text beside it. */
export const METADATA_FILE = "metadata.json";

/** Bytes that are read at once. */
const READ_BYTES = 2 ** 20;

/** An array of an episode. */
interface Part {
  readonly path: readonly string[];
  readonly array: H5Dataset;
}

/** The path of the file: Minari's data sets are folders. */
export async function mainFile(source: string): Promise<string> {
  const { join } = filesOf().files.path;
  if (await kindOf(source) !== "folder") return source;
  for (const path of [join(source, MAIN_FILE), join(source, "data", MAIN_FILE)]) {
    if (await kindOf(path) === "file") return path;
  }
  throw dataError(`there is no ${MAIN_FILE} in ${JSON.stringify(source)}`);
}

/** Opens a data set. */
export async function openMinari(source: string | Uint8Array, reading: Reading): Promise<Source> {
  const opened = await openH5(typeof source === "string" ? await mainFile(source) : source);
  const { file } = opened;
  try {
    const names = namesOf(file).filter((name) => /^episode_\d+$/.test(name)).sort((one, other) =>
      Number(one.slice("episode_".length)) - Number(other.slice("episode_".length))
    );
    const [first] = names;
    if (first === undefined) {
      throw dataError(
        `there is no group episode_0; there is ${
          namesOf(file).slice(0, 8).join(", ") || "nothing"
        }`,
      );
    }
    const notes: string[] = [];
    const episode = groupOf(file, first);
    const steps = lengthOf(episode, first);
    const named = columnsOf(episode, first, steps, notes);
    let stepCount = 0;
    for (const name of names) stepCount += lengthOf(groupOf(file, name), name);
    return {
      named,
      stepCount,
      episodeCount: names.length,
      notes,
      async *pieces(): AsyncGenerator<Piece> {
        for (const name of names) {
          yield* piecesOf(groupOf(file, name), name, named, reading);
        }
      },
      close: () => Promise.resolve(opened.close()),
    };
  } catch (error) {
    opened.close();
    throw error;
  }
}

function groupOf(of: H5Group, name: string): H5Group {
  const group = partOf(of, name);
  if (isGroup(group)) return group;
  throw dataError(`${name} is no group`);
}

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

/** How many steps an episode has. */
function lengthOf(episode: H5Group, at: string): number {
  return arrayOf(episode, "rewards", at).metadata.shape?.[0] ?? 0;
}

/** The arrays of the observations. */
function observationsOf(episode: H5Group, at: string): readonly Part[] {
  const observations = partOf(episode, "observations");
  if (isDataset(observations)) return [{ path: [], array: observations }];
  if (!isGroup(observations)) {
    throw dataError(
      `${at}: observations is missing; there is ${namesOf(episode).join(", ") || "nothing"}`,
    );
  }
  return [...arraysIn(observations)].map(([name, array]) => ({ path: name.split("/"), array }));
}

/** The arrays of the infos that have a row for each step, or also one for the reset. */
function infosOf(episode: H5Group, steps: number): Map<string, H5Dataset> {
  const infos = partOf(episode, "infos");
  const found = new Map<string, H5Dataset>();
  if (!isGroup(infos)) return found;
  for (const [name, array] of arraysIn(infos)) {
    const count = array.metadata.shape?.[0];
    const isFull = !array.metadata.shape?.slice(1).includes(0);
    if (isFull && h5DType(array) !== undefined && (count === steps || count === steps + 1)) {
      found.set(name, array);
    }
  }
  return found;
}

/** Whether an array has pictures as the bytes of JPEG files. */
function isJpeg(array: H5Dataset): boolean {
  const { shape, type } = array.metadata;
  if (type === 9) return true;
  if (h5DType(array) !== "uint8" || shape?.length !== 2 || (shape[1] ?? 0) < 4) return false;
  const first = readRows(array, "observations", 0, 1);
  return first[0] === 0xff && first[1] === 0xd8 && first[2] === 0xff;
}

/** The column of an array. */
function columnOf(array: H5Dataset, name: string, at: string, isSmall: boolean): Column {
  const dtype = h5DType(array);
  if (isJpeg(array)) {
    throw dataError(
      `${at}: ${name} has pictures as JPEG, which is lossy, and is not unpacked here; write the data set with jpeg_encoding=False`,
    );
  }
  if (dtype === undefined) {
    throw dataError(`${at}: ${name} has ${h5Kind(array)}, and numbers are needed`);
  }
  const shape = (array.metadata.shape ?? []).slice(1);
  if (shape.includes(0)) {
    throw dataError(`${at}: ${name} has no number in a row, as its shape is [${shape}]`);
  }
  return columnFor(dtype, shape, isSmall);
}

/** The columns of a data set, by its first episode. */
function columnsOf(
  episode: H5Group,
  at: string,
  steps: number,
  notes: string[],
): NamedColumns {
  const leaves = observationsOf(episode, at).map(({ path, array }): Leaf => ({
    path,
    column: columnOf(array, ["observations", ...path].join("/"), at, true),
  }));
  const action = columnOf(arrayOf(episode, "actions", at), "actions", at, true);
  const reward = columnOf(arrayOf(episode, "rewards", at), "rewards", at, false);
  const infos = infosOf(episode, steps);
  const all = partOf(episode, "infos");
  const left = isGroup(all)
    ? [...arraysIn(all)].map(([name]) => name).filter((name) => !infos.has(name))
    : [];
  if (left.length > 0) {
    notes.push(
      `infos/${left.join(", infos/")} have no number for each step, so they were left out.`,
    );
  }
  const extras: Columns = Object.fromEntries(
    [...infos].map(([name, array]) => [name, columnOf(array, `infos/${name}`, at, false)]),
  );
  return nameColumns(leaves, action, reward, extras);
}

/** The steps of one episode. */
async function* piecesOf(
  episode: H5Group,
  at: string,
  named: NamedColumns,
  { truncatesUnfinished }: Reading,
): AsyncGenerator<Piece> {
  const steps = lengthOf(episode, at);
  if (steps === 0) return;
  const parts = observationsOf(episode, at);
  const observations = fileNames(named.tree).map((path) => {
    const name = path.join("/");
    const part = parts.find((each) => each.path.join("/") === name);
    if (part === undefined) throw dataError(`${at}: observations/${name} is missing`);
    return part.array;
  });
  const infos = infosOf(episode, steps);
  const { extraNames } = named;
  const extras = extraNames.map((name) => {
    const array = infos.get(name);
    if (array === undefined) throw dataError(`${at}: infos/${name} has no number for each step`);
    return array;
  });
  const arrays = [
    ...observations,
    arrayOf(episode, "actions", at),
    arrayOf(episode, "rewards", at),
  ];
  const leafCount = observations.length;
  for (const [k, array] of [...arrays, ...extras].entries()) {
    const { name = "", column } = named.columns[k] ?? {};
    const [count, ...shape] = array.metadata.shape ?? [];
    const needed = k < leafCount ? steps + 1 : steps;
    if (k < arrays.length && count !== needed) {
      throw dataError(
        `${at}: ${name} has ${count} rows, and for ${steps} rewards it needs ${needed}`,
      );
    }
    if (column !== undefined && sizeOf(shape) !== column.elementCount) {
      throw dataError(`${at}: ${name} has [${shape}] in a row, and [${column.shape}] before`);
    }
  }
  const isSet = (name: string): boolean => {
    const array = arrayOf(episode, name, at);
    const count = array.metadata.shape?.[0];
    if (count !== steps) {
      throw dataError(`${at}: ${name} has ${count} rows, and there are ${steps} rewards`);
    }
    const [last] = readRows(array, name, steps - 1, steps);
    return last === 1;
  };
  const isTerminated = isSet("terminations");
  if (!isTerminated && !isSet("truncations") && !truncatesUnfinished) {
    throw dataError(
      `${at} has no end: its last step is neither terminated nor truncated. To take such episodes as truncated, give unfinished: "truncate"`,
    );
  }
  const rowBytes = named.columns.reduce(
    (sum, { column }) => sum + column.elementBytes * column.elementCount,
    0,
  );
  const step = Math.max(1, Math.floor(READ_BYTES / rowBytes));
  const tag = attributeOf(episode, "tag");
  for (let from = 0; from < steps; from += step) {
    const to = Math.min(steps, from + step);
    const isEnd = to === steps;
    const width = (k: number): number => named.columns[k]?.column.elementCount ?? 1;
    // The final state is read with the states before it.
    const states = observations.map((array, k) =>
      readRows(array, named.columns[k]?.name ?? "", from, isEnd ? to + 1 : to)
    );
    const others = [
      ...arrays.slice(leafCount).map((array, k) =>
        readRows(array, named.columns[leafCount + k]?.name ?? "", from, to)
      ),
      // The first row of infos is that of the reset.
      ...extras.map((array, k) => {
        const reset = (array.metadata.shape?.[0] ?? 0) - steps;
        return readRows(array, extraNames[k] ?? "", from + reset, to + reset);
      }),
    ];
    yield {
      count: to - from,
      columns: [
        ...states.map((values, k) => rowsOf(values, width(k), 0, to - from)),
        ...others,
      ],
      end: isEnd
        ? {
          finalState: states.map((values, k) => rowsOf(values, width(k), to - from, to - from + 1)),
          isTruncated: !isTerminated,
        }
        : undefined,
      tag: typeof tag === "number" ? tag : tag === undefined ? undefined : Number(tag),
    };
    release([...states, ...others]);
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
