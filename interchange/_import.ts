/**
 * Episodes from a source into a replay: whole ones only.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { count as countOf } from "../base/inspect.ts";
import type { ExperienceReplay } from "../mod.ts";
import { checkColumns, stepsOf } from "../schema/record_columns.ts";
import { oneState } from "../schema/state.ts";
import { matchColumns, type Piece, type Source } from "./_steps.ts";
import { dataError, type Values } from "./_values.ts";

/** How far {@linkcode importEpisodes} or {@linkcode exportEpisodes} is. */
export interface EpisodeProgress {
  /** Steps that were read or written. */
  readonly stepCount: number;
  /** Whole episodes. */
  readonly episodeCount: number;
  /** How many steps there are in all; undefined where that is not known. */
  readonly stepsInAll: number | undefined;
}

/** What {@linkcode importEpisodes} and {@linkcode exportEpisodes} moved, and what they left out. */
export interface EpisodesMoved {
  /** Whole episodes. */
  readonly episodeCount: number;
  /** Their steps. */
  readonly stepCount: number;
  /** What was left out or changed, in sentences. */
  readonly notes: readonly string[];
}

/** What a caller may say about a long call. */
export interface Watching {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: EpisodeProgress) => void;
}

/** After this time, others have their turn: timers, signals, and whatever else waits in this thread. */
const TURN_MS = 20;

/** Gives others their turn, whenever it is time. Reading may be so fast that nothing else would come in between. */
export class Turns {
  #last = Date.now();

  async take(): Promise<void> {
    if (Date.now() - this.#last < TURN_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#last = Date.now();
  }
}

/** What is used of a replay. TypeScript knows nothing of its columns here. */
interface Recording {
  newEpisode(options: { readonly tag: number }): number;
  recordMany(episode: number, steps: object): number;
  endEpisode(episode: number, options: object): boolean;
  evict(episode: number): boolean;
}

/** Records one episode after the other. What began and did not end goes with {@linkcode EpisodeWriter.drop}. */
class EpisodeWriter {
  readonly #replay: Recording;
  readonly #columns: ReturnType<typeof checkColumns>;
  readonly #order: readonly number[];
  readonly #tag: number | undefined;
  /** How many records of one episode the replay can hold. */
  readonly #most: number;
  /** The open episode: more than one handle, where the replay cut it. */
  #handles: number[] = [];
  #openSteps = 0;
  episodeCount = 0;
  stepCount = 0;

  /** Steps of whole episodes, and those of the open one. */
  get writtenCount(): number {
    return this.stepCount + this.#openSteps;
  }

  constructor(
    replay: ExperienceReplay,
    columns: ReturnType<typeof checkColumns>,
    order: readonly number[],
    tag: number | undefined,
  ) {
    this.#replay = replay as unknown as Recording;
    this.#columns = columns;
    this.#order = order;
    this.#tag = tag;
    const { capacity, maxAge = capacity } = replay.describe();
    this.#most = Math.min(capacity, maxAge);
  }

  write({ count, columns, end, tag = 0 }: Piece): void {
    const replay = this.#replay;
    const length = this.#openSteps + count;
    if (length > this.#most) {
      throw dataError(
        `an episode has ${end === undefined ? "at least " : ""}${
          countOf(length, "step")
        }, and this replay holds ${this.#most}; give it a larger capacity`,
      );
    }
    if (this.#handles.length === 0) {
      this.#handles.push(replay.newEpisode({ tag: this.#tag ?? tag }));
    }
    const handle = this.#handles.at(-1) as number;
    const finalState = end && this.#state(end.finalState);
    const how = end === undefined ? {} : { finalState, truncated: end.isTruncated };
    if (count > 0) {
      const ordered = this.#order.map((k) => columns[k] as Values);
      const now = replay.recordMany(handle, { ...stepsOf(this.#columns, ordered), ...how });
      if (now !== handle) this.#handles.push(now);
    } else if (end !== undefined && this.#openSteps > 0) {
      replay.endEpisode(handle, { finalState, truncated: end.isTruncated });
    }
    this.#openSteps += count;
    if (end === undefined) return;
    if (this.#openSteps > 0) {
      this.episodeCount++;
      this.stepCount += this.#openSteps;
    } else replay.evict(handle);
    this.#handles = [];
    this.#openSteps = 0;
  }

  /** The final state, in the structure of the replay's state. Only leaves are in it, which come first in the order. */
  #state(leaves: readonly Values[]): unknown {
    const ordered = this.#columns.leaves.map((_, k) => leaves[this.#order[k] as number] as Values);
    return oneState(this.#columns, ordered);
  }

  /** Removes the episode that did not end. */
  drop(): void {
    for (const handle of this.#handles) this.#replay.evict(handle);
    this.#handles = [];
  }
}

/**
 * Records the episodes of a source. After an error, those that were whole are there, and no other.
 *
 * @param isKept Whether the replay stays after an error.
 */
export async function record(
  replay: ExperienceReplay,
  source: Source,
  { tag, signal, onProgress }: Watching & { readonly tag?: number },
  isKept = true,
): Promise<EpisodesMoved> {
  const columns = checkColumns("the replay", replay.columns);
  const { order, notes } = matchColumns(source.named, columns);
  const writer = new EpisodeWriter(replay, columns, order, tag);
  const turns = new Turns();
  try {
    for await (const piece of source.pieces()) {
      signal?.throwIfAborted();
      writer.write(piece);
      const { writtenCount: stepCount, episodeCount } = writer;
      onProgress?.({ stepCount, episodeCount, stepsInAll: source.stepCount });
      await turns.take();
    }
  } catch (error) {
    writer.drop();
    if (signal?.aborted || (error instanceof ReplayError && error.code !== "data-set")) throw error;
    const whole = isKept ? writer.episodeCount : 0;
    const there = whole === 0
      ? "nothing was recorded"
      : `${countOf(whole, "whole episode")} before it ${whole === 1 ? "is" : "are"} recorded`;
    throw dataError(`${reasonOf(error)}; ${there}`, error);
  }
  const { episodeCount, stepCount } = writer;
  return { episodeCount, stepCount, notes: [...source.notes, ...notes] };
}
