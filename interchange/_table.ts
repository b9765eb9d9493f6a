/**
 * Tables of steps: one row after the other, with flags or numbers that say where an episode ends. D4RL's files, npz, Parquet, Arrow and LeRobot are
 * such tables. Their columns have different names for the same things, which are known here.
 *
 * @module
 */

import type { NamedColumns } from "../schema/record_columns.ts";
import { fileNames, nameColumns, type Piece, type Reading, type Source } from "./_steps.ts";
import { columnFor, dataError, type FileDType, rowsOf, sizeOf, type Values } from "./_values.ts";

/** A column of a table. */
export interface TableColumn {
  /** Its name, with `/` or `.` between its parts. */
  readonly name: string;
  readonly dtype: FileDType;
  /** The shape of a row. */
  readonly shape: readonly number[];
}

/** Some rows: the values of each column that was asked for. */
export interface Rows {
  readonly count: number;
  readonly values: readonly Values[];
  /** Gives their memory back at once. Nobody needs to, but the engine would keep up to 100 MB of it for a while. */
  readonly release?: () => void;
}

/** A table in a file. */
export interface Table {
  readonly columns: readonly TableColumn[];
  readonly rowCount: number;
  /** How many steps there are, if that is known without reading. */
  readonly stepCount?: number;
  /** The same of episodes. In such a table, each episode has a row that says that it is the last one. */
  readonly episodeCount?: number;
  /** What of the file is no column, in sentences. */
  readonly notes: readonly string[];
  /** What is in columns that are not read, by their names. */
  readonly unread?: ReadonlyMap<string, string>;
  /** All rows of some columns, in order, some at a time. */
  rows(columns: readonly TableColumn[]): AsyncGenerator<Rows>;
  close(): Promise<void>;
}

/** What a column is for, by its names. */
const ROLES = {
  state: ["observations", "observation", "obs", "states", "state"],
  next: [
    "next_observations",
    "next_observation",
    "next_obs",
    "new_obs",
    "next_states",
    "next_state",
  ],
  action: ["actions", "action"],
  reward: ["rewards", "reward", "next.reward"],
  terminated: [
    ...["terminals", "terminal", "terminations", "terminated", "terminateds"],
    ...["dones", "done", "next.done"],
  ],
  truncated: ["timeouts", "timeout", "truncations", "truncated", "truncateds", "next.truncated"],
  isLast: ["is_last"],
  isTerminal: ["is_terminal"],
  episode: ["episode", "episode_id", "episode_index", "eps_id"],
  tag: ["tags", "tag"],
  /** It follows from the others. */
  isFirst: ["is_first"],
} as const;

type Role = keyof typeof ROLES;

/** What stands before the names of other columns. */
const EXTRAS = /^(?:infos|info|extras|complementary_info)[/.]/;

/** Whether a name is that of a column that is needed, so it must have a row for each step. */
function isKnown(name: string): boolean {
  const [head = ""] = name.split(/[/.]/);
  return Object.values(ROLES).some((names: readonly string[]) =>
    names.includes(name) || names.includes(head)
  );
}

/** An array in a file that may have a row for each step. */
export interface FoundArray {
  readonly name: string;
  readonly shape: readonly number[];
  /** The type of its numbers; undefined if they can't be read. */
  readonly dtype: FileDType | undefined;
  /** What it is if they can't be read, behind its name; and what it needs then. */
  readonly why: string;
  readonly needed?: string;
}

/** The columns in arrays of a file: those that have as many rows as the state. */
export function columnsIn(
  arrays: readonly FoundArray[],
): Pick<Table, "columns" | "rowCount" | "notes"> {
  const first = arrays.find(({ name }) => isState(name));
  if (first === undefined) {
    const names = arrays.map(({ name }) => name).join(", ");
    throw dataError(`${ROLES.state[0]} is missing; there is ${names || "nothing"}`);
  }
  const [rowCount = 0] = first.shape;
  if (rowCount === 0) throw dataError("the file has no steps");
  const notes: string[] = [];
  const columns: TableColumn[] = [];
  for (const { name, shape: [count, ...shape], dtype, why, needed } of arrays) {
    if (dtype !== undefined && count === rowCount) {
      columns.push({ name, dtype, shape });
      continue;
    }
    if (isKnown(name)) {
      throw dataError(
        dtype === undefined
          ? `${name} ${why}${needed ?? ", and numbers are needed"}`
          : `${name} has ${
            count ?? "no"
          } rows, and ${first.name} has ${rowCount}: all must have as many`,
      );
    }
    notes.push(
      `${name} ${dtype === undefined ? why : "has no row for each step"}, so it was left out.`,
    );
  }
  return { columns, rowCount, notes };
}

/** Whether a name is that of a state, or of a part of it. */
export function isState(name: string): boolean {
  return roleOf(name) === "state";
}

/** What a column is for; undefined for others. States may have parts. */
function roleOf(name: string): Role | undefined {
  const [head = ""] = name.split(/[/.]/);
  return (Object.keys(ROLES) as Role[]).find((role) =>
    (ROLES[role] as readonly string[]).includes(role === "state" || role === "next" ? head : name)
  );
}

/** The way to a part of a state, by the name of its column. Behind a slash, a dot is a letter of a name. */
function pathOf(name: string): string[] {
  const [, separator, rest] = /^[^/.]*([/.])(.*)$/s.exec(name) ?? [];
  return rest?.split(separator === "/" ? "/" : /[/.]/) ?? [];
}

/** A column that is a part of the state, and the way to that part. */
interface Part {
  readonly path: readonly string[];
  readonly column: TableColumn;
}

/** Which column is what. */
interface Layout {
  readonly state: readonly Part[];
  readonly next: readonly Part[];
  readonly extras: readonly { readonly name: string; readonly column: TableColumn }[];
  readonly one: Readonly<Partial<Record<Role, TableColumn>>>;
}

/** A number for each row: a shape of one element is none. */
function isScalar({ shape }: TableColumn): boolean {
  return sizeOf(shape) === 1;
}

/** Finds out which column is what. */
function layoutOf(columns: readonly TableColumn[]): Layout {
  const parts = { state: [] as Part[], next: [] as Part[] };
  const extras: { name: string; column: TableColumn }[] = [];
  const one: Partial<Record<Role, TableColumn>> = {};
  for (const column of columns) {
    const { name } = column;
    const role = roleOf(name);
    if (role === "state" || role === "next") parts[role].push({ path: pathOf(name), column });
    else {
      const short = name.replace(EXTRAS, "");
      const isTaken = extras.some((each) => each.name === short);
      if (role === undefined) extras.push({ name: isTaken ? name : short, column });
      else one[role] ??= column;
    }
  }
  return { ...parts, extras, one };
}

/** The episodes of a table. */
export function tableSource(
  table: Table,
  reading: Reading,
  /** Whether a table without rewards has rewards of 0. */
  mayLackReward = false,
): Source {
  const notes = [...table.notes];
  const unread = new Map(table.unread);
  const columns = table.columns.filter(({ name, shape }) => {
    if (!shape.includes(0)) return true;
    unread.set(name, `no number in a row, as its shape is [${shape}]`);
    notes.push(`${name} has no number in a row, so it was left out.`);
    return false;
  });
  const layout = layoutOf(columns);
  const { one } = layout;
  for (const [name, kind] of unread) {
    if (!isNeeded(name, layout)) continue;
    throw dataError(
      `${name} has ${kind}. Only numbers and lists of numbers are read: convert it, such as to float32 or int32`,
    );
  }
  const names = columns.map(({ name }) => name).join(", ");
  const needed = (role: Role): TableColumn => {
    const column = one[role];
    if (column !== undefined) return column;
    throw dataError(`${ROLES[role].join(" or ")} is missing; there is ${names || "nothing"}`);
  };
  if (layout.state.length === 0) {
    throw dataError(`${ROLES.state[0]} is missing; there is ${names || "nothing"}`);
  }
  const action = needed("action");
  const reward = mayLackReward ? one.reward : needed("reward");
  if (one.isLast === undefined && one.episode === undefined && one.truncated === undefined) {
    needed("terminated");
  }
  for (
    const role of ["terminated", "truncated", "isLast", "isTerminal", "episode", "tag"] as const
  ) {
    const column = one[role];
    if (column === undefined || isScalar(column)) continue;
    throw dataError(`${column.name} must have one number a row, and has [${column.shape}]`);
  }
  if (one.isLast === undefined) checkNext(layout);
  if (reward === undefined) notes.push("The file has no rewards, so they are 0.");
  const rewardShape = reward === undefined || isScalar(reward) ? [] : reward.shape;
  const extraColumns = layout.extras.map(({ name, column }) =>
    [name, columnFor(column.dtype, column.shape, false)] as const
  );
  const named = nameColumns(
    layout.state.map(({ path, column }) => ({
      path,
      column: columnFor(column.dtype, column.shape, true),
    })),
    columnFor(action.dtype, action.shape, true),
    columnFor(reward?.dtype ?? "float32", rewardShape, false),
    Object.fromEntries(extraColumns),
  );
  return {
    named,
    stepCount: table.stepCount ?? table.rowCount,
    episodeCount: table.episodeCount,
    notes,
    pieces: () => piecesOf(table, layout, { named, action, reward }, reading),
    close: () => table.close(),
  };
}

/** Whether episodes would be others without a column that is not read. */
function isNeeded(name: string, { state, one }: Layout): boolean {
  const role = roleOf(name);
  const hasEnds = one.isLast !== undefined;
  switch (role) {
    case undefined:
    case "tag":
    case "isFirst":
      return false;
    case "state":
      // A text among the parts is left out.
      return state.length === 0;
    case "next":
      return !hasEnds && state.some(({ path }) => path.join("/") === pathOf(name).join("/"));
    case "terminated":
    case "truncated":
      return !hasEnds;
    case "episode":
      return !hasEnds && one.terminated === undefined && one.truncated === undefined;
    default:
      return one[role] === undefined;
  }
}

/** Next states must have the rows of states: else their numbers would be taken for others. */
function checkNext({ state, next }: Layout): void {
  const text = (shape: readonly number[]): string => `[${shape.filter((size) => size !== 1)}]`;
  for (const { path, column } of next) {
    const of = state.find((each) => each.path.join("/") === path.join("/"))?.column;
    if (of === undefined || text(of.shape) === text(column.shape)) continue;
    throw dataError(
      `${column.name} has [${column.shape}] in a row, and ${of.name} has [${of.shape}]: both must have the same`,
    );
  }
}

/** Each of what comes, with what comes next; or with itself, if nobody has to look ahead: so an error in the next is no error of this one. */
async function* withNext<T>(
  from: AsyncIterable<T>,
  looksAhead: boolean,
): AsyncGenerator<readonly [T, T | undefined]> {
  let held: { readonly it: T } | undefined;
  for await (const it of from) {
    if (!looksAhead) {
      yield [it, it];
      continue;
    }
    if (held !== undefined) yield [held.it, it];
    held = { it };
  }
  if (held !== undefined) yield [held.it, undefined];
}

/** What a flag says. */
function flag(values: Values | undefined, row: number, name: string, first: number): boolean {
  const value = values?.[row] ?? 0;
  if (value === 0 || value === 1) return value === 1;
  throw dataError(`row ${first + row}: ${name} must be 0 or 1, got ${value}`);
}

/** The steps of a table. */
async function* piecesOf(
  table: Table,
  { state, next, extras, one }: Layout,
  { named, action, reward }: {
    readonly named: NamedColumns;
    readonly action: TableColumn;
    readonly reward: TableColumn | undefined;
  },
  { truncatesUnfinished }: Reading,
): AsyncGenerator<Piece> {
  const inOrder = (parts: readonly Part[]): TableColumn[] =>
    fileNames(named.tree).flatMap((path) => {
      const key = path.join("/");
      const part = parts.find((each) => each.path.join("/") === key);
      return part === undefined ? [] : [part.column];
    });
  const asked: TableColumn[] = [];
  /** Asks for a column; gives its place. */
  const ask = (column: TableColumn | undefined): number =>
    column === undefined ? -1 : asked.push(column) - 1;
  const stepColumns = [
    ...inOrder(state),
    action,
    reward,
    // In the order of the columns, which is another one for names that are numbers.
    ...named.extraNames.map((name) => extras.find((each) => each.name === name)?.column),
  ].map(ask);
  const leafCount = named.leaves.length;
  const leaves = stepColumns.slice(0, leafCount);
  const nextColumns = inOrder(next);
  const knowsNext = one.isLast === undefined && nextColumns.length === leafCount;
  const nextLeaves = knowsNext ? nextColumns.map(ask) : [];
  const at = {
    terminated: ask(one.terminated),
    truncated: ask(one.truncated),
    isLast: ask(one.isLast),
    isTerminal: ask(one.isTerminal),
    episode: ask(one.episode),
    tag: ask(one.tag),
  };
  let first = 0;
  let openCount = 0;
  for await (
    const [rows, following] of withNext(table.rows(asked), table.episodeCount === undefined)
  ) {
    const { count, values } = rows;
    const [terminated, truncated, isLast, isTerminal, episode, tags] = [
      ...[at.terminated, at.truncated, at.isLast, at.isTerminal, at.episode, at.tag],
    ].map((place) => values[place]);
    const widths = named.columns.map(({ column }) => column.elementCount);
    const cut = (from: number, to: number): Values[] =>
      stepColumns.map((place, k) => {
        const column = values[place];
        // Rewards that the file does not have.
        if (column === undefined) return new Float32Array(to - from);
        return rowsOf(column, widths[k] ?? 1, from, to);
      });
    const stateAt = (places: readonly number[], row: number): Values[] =>
      places.map((place, k) => rowsOf(values[place] as Values, widths[k] ?? 1, row, row + 1));
    const tagAt = (row: number): number | undefined => tags?.[row];

    /** How the episode ends in a row; undefined where it goes on. */
    const endAt = (row: number): "terminated" | "truncated" | undefined => {
      if (isLast !== undefined) {
        if (!flag(isLast, row, "is_last", first)) return undefined;
        return flag(isTerminal, row, "is_terminal", first) ? "terminated" : "truncated";
      }
      if (flag(terminated, row, one.terminated?.name ?? "", first)) return "terminated";
      if (flag(truncated, row, one.truncated?.name ?? "", first)) return "truncated";
      if (episode === undefined) return undefined;
      const other = row + 1 < count ? episode[row + 1] : following?.values[at.episode]?.[0];
      return other === episode[row] ? undefined : "truncated";
    };

    let from = 0;
    for (let row = 0; row < count; row++) {
      let end = endAt(row);
      if (end === undefined && following === undefined && row === count - 1) {
        if (!truncatesUnfinished) {
          throw dataError(
            `the last ${
              openCount + count - from
            } rows are of an episode that has no end: the file may be incomplete. To take that episode as truncated, give unfinished: "truncate"`,
          );
        }
        end = "truncated";
      }
      if (end === undefined) continue;
      const isTruncated = end === "truncated";
      // The last row is a step, unless nobody knows the state that it led to.
      const isStep = knowsNext || (isLast === undefined && !isTruncated);
      const to = isStep ? row + 1 : row;
      const finalState = knowsNext ? stateAt(nextLeaves, row) : stateAt(leaves, row);
      const tag = tagAt(from);
      yield {
        count: to - from,
        columns: cut(from, to),
        end: { finalState, isTruncated },
        tag,
      };
      from = row + 1;
      openCount = 0;
    }
    if (from < count) {
      const tag = tagAt(from);
      yield { count: count - from, columns: cut(from, count), end: undefined, tag };
      openCount += count - from;
    }
    first += count;
    rows.release?.();
  }
}

/** How many rows of some columns make about so many bytes. */
export function rowsFor(columns: readonly { readonly bytes: number }[], bytes: number): number {
  const rowBytes = columns.reduce((sum, column) => sum + column.bytes, 0);
  return Math.max(1, Math.floor(bytes / Math.max(1, rowBytes)));
}
