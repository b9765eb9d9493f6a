/**
 * `exrp inspect`: what is in a replay, for people.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { reasonOf, ReplayError } from "../../base/errors.ts";
import { count, group } from "../../base/inspect.ts";
import type { NativeEviction } from "../../eviction/native_eviction.ts";
import { openKernel } from "../../ffi/library.ts";
import {
  afterDraws,
  ExperienceReplay,
  fifo,
  lfu,
  lowestPriorityFirst,
  lru,
  reservoir,
  secondChance,
} from "../../mod.ts";
import { KIND } from "../../replay/snapshot/snapshot.ts";
import { readSchema, type SnapshotSchema } from "../../replay/snapshot/snapshot_schema.ts";
import { Column, type DType, KeptColumn } from "../../schema/columns.ts";
import { READ_ONLY } from "../../storage/durable_options.ts";
import type { Histogram } from "../../stats/replay_stats.ts";
import { readFromFile } from "../../storage/file.ts";
import { FrameReader, type Reading } from "../../storage/frames.ts";
import { kindOf } from "../_files.ts";
import { stateOf } from "../_steps.ts";
import { dataError } from "../_values.ts";
import { boundOf } from "./move.ts";

/** Shows the replay of a folder or of a snapshot. */
export async function inspect(
  path: string,
  { resident }: { readonly resident?: number },
  print: (line: string) => void,
): Promise<void> {
  const kind = await kindOf(path);
  if (kind === undefined) throw new Error(`there is nothing at ${show(path)}`);
  using replay = kind === "folder"
    ? await ExperienceReplay.open(path, { ...READ_ONLY, ...boundOf(resident) })
    : await openSnapshot(path, print);
  if (replay === undefined) return;
  print(`${path}: ${kind === "folder" ? "a durable replay" : "a snapshot of a replay"}`);
  print(String(replay.describe()));
  for (const line of fileLines(replay)) print(line);
  for (const line of episodeLines(replay)) print(line);
  print(String(replay.stats()));
  for (const line of pictures(replay)) print(line);
}

// ---- files ----

/** How large the log is, and what opening it found: each checksum was compared, in a folder as in a snapshot. */
function fileLines({ durability }: ExperienceReplay): string[] {
  if (durability === undefined) return ["Snapshot", "  checksums  all are right"];
  const { cutBytes = 0, repairedCount = 0, lostBlockCount = 0, damage } = durability.recovered ??
    {};
  const isWhole = cutBytes + repairedCount + lostBlockCount === 0 && damage === undefined;
  const found = [
    `${group(cutBytes)} bytes of the end cut off`,
    count(repairedCount, "repair"),
    `${count(lostBlockCount, "block")} lost`,
    ...damage === undefined ? [] : [`damage at ${damage}`],
  ];
  return [
    "Log",
    `  bytes      ${group(durability.logBytes)}`,
    `  checksums  ${isWhole ? "all are right" : found.join(", ")}`,
  ];
}

// ---- episodes ----

function episodeLines(replay: ExperienceReplay): string[] {
  const columns = replay.columns;
  const hasReturns = columns.reward.shape.length === 0;
  const all = hasReturns ? replay.episodes({ discount: 1 }) : replay.episodes();
  if (all.size === 0) return ["Episodes\n  none"];
  const ends = ["open", "terminated", "truncated"];
  const tags = new Map<number, number>();
  for (const tag of all.tag) tags.set(tag, (tags.get(tag) ?? 0) + 1);
  const tagTexts = [...tags].sort(([one], [other]) => one - other).map(([tag, n]) =>
    `${tag} (${count(n, "episode")})`
  );
  return [
    "Episodes",
    `  ends     ${
      ends.map((name, k) => `${group(all.end.filter((end) => end === k).length)} ${name}`).join(
        ", ",
      )
    }`,
    `  lengths  ${rangeText(all.length)}`,
    ...all.return === undefined ? [] : [`  returns  ${rangeText(all.return)}`],
    `  tags     ${tagTexts.slice(0, 12).join(", ")}${
      tagTexts.length > 12 ? `, and ${tagTexts.length - 12} more` : ""
    }`,
  ];
}

/** The least, the middle and the most of some numbers. */
function rangeText(values: ArrayLike<number>): string {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): string => {
    const value = sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
    return Number.isInteger(value) ? group(value) : String(Number(value.toPrecision(5)));
  };
  return `least ${at(0)}, median ${at(0.5)}, most ${at(1)}`;
}

// ---- pictures ----

const BARS = " ▁▂▃▄▅▆▇█";

/** A histogram as one line of bars. */
export function barsOf({ edges, counts }: Histogram): string {
  const most = Math.max(...counts, 0);
  const bars = counts.map((each) =>
    BARS[each === 0 ? 0 : Math.max(1, Math.round(8 * each / most))]
  );
  return `${short(edges[0])} ${bars.join("")} ${short(edges.at(-1))}`;
}

function short(value = NaN): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? group(value) : value.toPrecision(3);
}

function pictures(replay: ExperienceReplay): string[] {
  const { ages, selectors } = replay.stats();
  const lines: [string, Histogram][] = [["ages of records", ages.histogram]];
  for (const { id, kind, priorities, noted } of selectors) {
    const name = `selector ${id}, ${kind}`;
    if (noted.count > 0) lines.push([`${name}: drawn ages`, noted.ages.histogram]);
    if (priorities !== undefined) lines.push([`${name}: priorities`, priorities.histogram]);
  }
  const shown = lines.filter(([, { counts }]) => counts.some((each) => each > 0));
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, histogram]) => `  ${name.padEnd(width)}  ${barsOf(histogram)}`);
}

// ---- snapshots ----

/** The eviction policies by name. */
const POLICIES: Readonly<
  Record<string, (options: Readonly<Record<string, number | string>>) => NativeEviction>
> = {
  fifo,
  lru,
  lfu,
  secondChance,
  lowestPriorityFirst,
  reservoir,
  afterDraws: ({ draws }) => afterDraws(Number(draws)),
};

/** A replay from a snapshot; where that can't be, what its schema says is printed. */
async function openSnapshot(
  path: string,
  print: (line: string) => void,
): Promise<ExperienceReplay | undefined> {
  const schema = await schemaOf(path);
  try {
    return await load(path, schema);
  } catch (error) {
    if (isDamage(error)) throw damaged(path, error);
    print(`${path}: a snapshot of a replay, of which only the schema is shown: ${reasonOf(error)}`);
    const { capacity, columns, eviction, selectors, sections } = schema;
    print(`  capacity  ${group(capacity)}`);
    for (const { name, dtype, shape } of columns) print(`  ${name}  ${dtype}(${shape.join(", ")})`);
    print(`  eviction  ${eviction.name}`);
    for (const [k, { name }] of selectors.entries()) print(`  selector ${k}  ${name}`);
    for (const { section, itemCount } of sections) {
      if (section === 1) print(`  episodes  ${group(itemCount)}`);
    }
    return undefined;
  }
}

/** Whether a snapshot is not what was written. */
function isDamage(error: unknown): boolean {
  return error instanceof ReplayError && /^snapshot-(?:corrupt|truncated)$/.test(error.code);
}

function damaged(path: string, cause: unknown): ReplayError {
  return dataError(`${show(path)}: ${reasonOf(cause)}; exrp verify says where`, cause);
}

/** The schema, which is the first section. */
async function schemaOf(path: string): Promise<SnapshotSchema> {
  const reader = new FrameReader(await openKernel(), KIND);
  const read = function* (): Reading<SnapshotSchema> {
    return readSchema("", yield* reader.begin());
  };
  try {
    return readFromFile(path, read());
  } catch (error) {
    if (isDamage(error)) throw damaged(path, error);
    throw dataError(`${show(path)}: ${reasonOf(error)}`, error);
  }
}

/** The way to a leaf, by its name in a snapshot: `state.image`, `state[0]` or `state["left eye"]`. */
function pathOfLeaf(name: string): string[] {
  const parts = name.slice("state".length).matchAll(
    /\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g,
  );
  return [...parts].map(([, word, place, text]) =>
    word ?? (place === undefined ? JSON.parse(text ?? '""') : `_index_${place}`)
  );
}

async function load(path: string, schema: SnapshotSchema): Promise<ExperienceReplay> {
  const columns = schema.columns.map(({ name, dtype, shape, every }) => ({
    name,
    column: every === 1
      ? new Column(dtype as DType, shape)
      : new KeptColumn(dtype as DType, shape, every),
  }));
  const called = (name: string): Column => {
    const found = columns.find((each) => each.name === name);
    if (found === undefined) throw new Error(`it has no column ${name}`);
    return found.column;
  };
  const policy = POLICIES[schema.eviction.name];
  if (policy === undefined || schema.eviction.runs !== "kernel") {
    throw new Error(`its eviction policy ${schema.eviction.name} is written in TypeScript`);
  }
  const { capacity, capacityBytes, maxAge, segmentLength, eviction, views: [pick] } = schema;
  const replay = await ExperienceReplay.create({
    capacity,
    state: stateOf(
      columns.filter(({ name }) => /^state($|[.[])/.test(name)).map(({ name, column }) => ({
        path: pathOfLeaf(name),
        column,
      })),
    ),
    action: called("action"),
    reward: called("reward"),
    extras: Object.fromEntries(
      columns.filter(({ name }) => name.startsWith("extras.")).map(({ name, column }) => [
        name.slice("extras.".length),
        column,
      ]),
    ),
    ...pick === undefined ? {} : { pick },
    eviction: policy(eviction.options),
    ...capacityBytes === 0 ? {} : { capacityBytes },
    ...maxAge === 0 ? {} : { maxAge },
    ...segmentLength === 0 ? {} : { segmentLength },
  });
  try {
    await replay.unserialize(path);
    return replay;
  } catch (error) {
    replay[Symbol.dispose]();
    throw error;
  }
}
