/**
 * `exrp import` and `exrp export`.
 *
 * @module
 */

import { count, group } from "../../base/inspect.ts";
import { show } from "../../base/checks.ts";
import { ExperienceReplay } from "../../mod.ts";
import { columnsOf } from "../../schema/record_columns.ts";
import { isThere, makeAt, namesIn } from "../_files.ts";
import { type DurableReplayOptions, READ_ONLY } from "../../storage/durable_options.ts";
import { type EpisodeProgress, type EpisodesMoved, record } from "../_import.ts";
import { exportEpisodes } from "../mod.ts";
import { checkFormat, inContext, openSource } from "../_sources.ts";
import { dataError } from "../_values.ts";

/** Where a command writes, and what ends it. */
export interface Watching {
  readonly print: (line: string) => void;
  readonly progress: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** A line of progress, at most ten times a second. */
function progressOf({ progress, signal }: Watching): {
  readonly onProgress: (progress: EpisodeProgress) => void;
  readonly signal?: AbortSignal;
} {
  let last = 0;
  return {
    ...signal === undefined ? {} : { signal },
    onProgress: ({ stepCount, stepsInAll, episodeCount }) => {
      if (Date.now() - last < 100) return;
      last = Date.now();
      const share = stepsInAll === undefined
        ? ""
        : ` of ${group(stepsInAll)} (${Math.floor(100 * stepCount / stepsInAll)} %)`;
      progress(`${group(stepCount)}${share} steps, ${count(episodeCount, "episode")}`);
    },
  };
}

function tell({ print }: Watching, verb: string, where: string, moved: EpisodesMoved): void {
  print(
    `${verb} ${count(moved.stepCount, "step")} in ${count(moved.episodeCount, "episode")} ${where}`,
  );
  for (const note of moved.notes) print(`- ${note}`);
}

/** How much memory the records of a folder may take, and what waits for the disk, as {@linkcode ExperienceReplay.open} takes it. */
export function boundOf(mebibytes: number | undefined): DurableReplayOptions {
  if (mebibytes === undefined) return {};
  return { resident: mebibytes * 2 ** 20, queueBytes: 2 ** 24 };
}

/** The options of `exrp import`. */
interface ImportGiven {
  readonly capacity?: number;
  readonly resident?: number;
  readonly tag?: number;
  readonly unfinished?: string;
}

/** Records the episodes of a file into the replay of a folder, which is made if there is none. */
export async function importInto(
  format: string,
  file: string,
  folder: string,
  { capacity, resident, tag, unfinished = "error" }: ImportGiven,
  watching: Watching,
): Promise<void> {
  const where = "import";
  if (unfinished !== "error" && unfinished !== "truncate") {
    throw new Error(`--unfinished must be error or truncate, got ${show(unfinished)}`);
  }
  const given = { ...progressOf(watching), ...tag === undefined ? {} : { tag } };
  const kind = checkFormat(where, format);
  const isNew = (await namesIn(folder)).length === 0;
  const source = await openSource(where, kind, file, {
    truncatesUnfinished: unfinished === "truncate",
  });
  const fill = async (replay: ExperienceReplay): Promise<EpisodesMoved> => {
    const before = replay.describe().evictedCount;
    const moved = await record(replay, source, given, !isNew);
    if (moved.episodeCount === 0) throw dataError("the file has no whole episode");
    await replay.flush();
    const evicted = replay.describe().evictedCount - before;
    if (evicted === 0) return moved;
    const holds = count(replay.capacity, "record");
    return {
      ...moved,
      notes: [
        ...moved.notes,
        `${count(evicted, "episode")} gave way: the replay holds ${holds}.`,
      ],
    };
  };
  try {
    if (isNew) {
      const moved = await makeAt(folder, "folder", async (temporary) => {
        const { state, action, reward, extras } = columnsOf(source.named);
        using replay = await ExperienceReplay.open(temporary, {
          ...{ state, action, reward, extras },
          capacity: capacity ?? Math.max(1, source.stepCount ?? 1),
          ...boundOf(resident),
        });
        return await fill(replay);
      });
      tell(watching, "imported", `into ${folder}`, moved);
    } else {
      using replay = await ExperienceReplay.open(folder, {
        ...capacity === undefined ? {} : { capacity },
        ...boundOf(resident),
      });
      const evicted = replay.durability?.recovered?.evictedCount ?? 0;
      if (evicted > 0) {
        watching.print(`${count(evicted, "record")} gave way to the smaller capacity`);
      }
      tell(watching, "added", `to ${folder}`, await fill(replay));
    }
  } catch (error) {
    throw inContext(where, kind, file, error);
  } finally {
    await source.close();
  }
}

/** Writes the ended episodes of the replay of a folder into a file. */
export async function exportFrom(
  format: string,
  folder: string,
  file: string,
  { tag, fps, resident }: {
    readonly tag?: number;
    readonly fps?: number;
    readonly resident?: number;
  },
  watching: Watching,
): Promise<void> {
  const kind = checkFormat("export", format);
  if (!await isThere(folder)) throw new Error(`there is no folder ${show(folder)}`);
  using replay = await ExperienceReplay.open(folder, { ...READ_ONLY, ...boundOf(resident) });
  const moved = await exportEpisodes(replay, kind, file, {
    ...progressOf(watching),
    ...tag === undefined ? {} : { filter: { tag } },
    ...fps === undefined ? {} : { fps },
  });
  tell(watching, "wrote", `into ${file}`, moved);
}
