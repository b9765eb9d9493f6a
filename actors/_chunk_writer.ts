/**
 * Writes chunks of an actor's steps: it chooses which steps can be written, asks for their priorities, and records them.
 *
 * A chunk has its priorities once. If a call of the replay fails in the middle of it, a later flush goes on there.
 *
 * A flush makes one call of `recordFlat` for each environment that has steps to write. On a shared replay, each of these calls takes the
 * lock by itself. To hold the lock over all of them would only make learners wait longer: a chunk of one environment means the same with
 * or without the chunks of the others.
 *
 * @module
 */

import { checkNumbers } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { numberOf } from "../base/inspect.ts";
import type { ExperienceReplay, FlatRecorded } from "../mod.ts";
import { checkPriority } from "../replay/record/record_input.ts";
import type { AnyColumnArray, NumericArray } from "../schema/columns.ts";
import { stepsOf } from "../schema/record_columns.ts";
import { arrange, oneState } from "../schema/state.ts";
import type { Schema } from "../schema/schema.ts";
import { type ActorSteps, FirstSteps, type StepsOptions } from "./actor_steps.ts";
import type { LocalColumn, LocalSteps } from "./_local_steps.ts";

/** The name that errors have. */
export const WHERE = "ActorWriter";

/** How an actor's steps are written. */
interface ChunkOptions<S extends Schema> extends StepsOptions {
  /** How many steps of an environment one call takes at most. */
  readonly flushSteps: number;
  /** Gives the first priorities. */
  readonly priority: ((steps: ActorSteps<S>) => NumericArray) | undefined;
  /** How many later steps of an open episode the priority of a step needs. */
  readonly lookahead: number;
  /** The tag of the episodes. */
  readonly tag: { readonly tag?: number };
}
/** Steps that have their priorities, and go into the replay one environment after the other. */
interface Chunk {
  /** How many steps of each environment. */
  readonly takes: readonly number[];
  /** The priorities of all of them. */
  readonly priorities: Float64Array | undefined;
  /** The next environment. */
  environment: number;
  /** How many steps are in the replay. */
  written: number;
}

/** Writes the steps of one actor. */
export class ChunkWriter<S extends Schema> {
  /** The handles of the episodes that the next steps go to. */
  readonly episodes: Float64Array<ArrayBuffer>;
  /** How many steps were written. */
  recordedCount = 0;
  /** How many chunks were written. */
  flushCount = 0;
  readonly #replay: ExperienceReplay<S>;
  readonly #local: LocalSteps;
  readonly #options: ChunkOptions<S>;
  /** The state that the latest written step of each environment led to. */
  readonly #lastStates: unknown[];
  #chunk: Chunk | undefined;

  /** Writes what `local` has, and begins an episode for each environment. */
  constructor(replay: ExperienceReplay<S>, local: LocalSteps, options: ChunkOptions<S>) {
    this.#replay = replay;
    this.#local = local;
    this.#options = options;
    const { length } = local.counts;
    this.#lastStates = Array.from({ length }, () => this.#stateAt(0, 0));
    this.episodes = Float64Array.from({ length }, () => replay.newEpisode(options.tag));
  }

  /** Writes the steps that can be written: all, or one chunk. Returns how many it wrote. */
  flush(isWhole: boolean): number {
    const before = this.recordedCount;
    // A chunk that an error cut short goes first, with the priorities that it has.
    if (this.#chunk !== undefined) this.#write(this.#chunk);
    while (isWhole || before === this.recordedCount) {
      const chunk = this.#nextChunk();
      if (chunk === undefined) break;
      this.#chunk = chunk;
      this.#write(chunk);
    }
    return this.recordedCount - before;
  }

  /**
   * Ends the episode that an environment's steps go to, as truncated, unless somebody ended it already. One without a record is forgotten.
   */
  endEpisode(environment: number): void {
    const end = this.#replay.endEpisode.bind(this.#replay) as (
      episode: number,
      options: object,
    ) => boolean;
    const finalState = this.#lastStates[environment];
    try {
      end(this.episodes[environment] as number, { finalState, truncated: true });
    } catch (error) {
      if (!(error instanceof ReplayError && error.code === "episode-ended")) throw error;
    }
  }

  /** Ends the episode of an environment of which no step waits, and begins another, unless it has no record. */
  cut(environment: number): void {
    if (this.#replay.episode(this.episodes[environment] as number).recordCount === 0) return;
    this.endEpisode(environment);
    this.episodes[environment] = this.#replay.newEpisode(this.#options.tag);
  }

  /** The oldest steps of each environment that can be written, with their priorities; undefined if there are none. */
  #nextChunk(): Chunk | undefined {
    const { counts, endedCounts } = this.#local;
    let size = 0;
    const takes = Array.from(counts, (count, e) => {
      const ready = Math.max(endedCounts[e] as number, count - this.#options.lookahead);
      const take = Math.min(ready, this.#options.flushSteps);
      size += take;
      return take;
    });
    if (size === 0) return undefined;
    return { takes, priorities: this.#prioritiesOf(takes), environment: 0, written: 0 };
  }

  /** The state that a step of an environment led to, as `endEpisode` takes it. */
  #stateAt(environment: number, at: number): unknown {
    const views = this.#local.nextState.map((leaf) => leaf.view(environment, at, at + 1).slice());
    return oneState(this.#options.named, views);
  }

  #prioritiesOf(takes: readonly number[]): Float64Array | undefined {
    const { priority } = this.#options;
    if (priority === undefined) return undefined;
    const steps = new FirstSteps(this.#local, takes, this.#options);
    const { size } = steps;
    const given: unknown = priority(steps as unknown as ActorSteps<S>);
    const list = checkNumbers(
      WHERE,
      "priority()",
      given,
      "must return a plain or typed array of numbers",
    );
    if (list.length !== size) {
      throw new RangeError(
        `${WHERE}: priority() must return ${
          numberOf(size, "number")
        }, one for each step, got ${list.length}`,
      );
    }
    return Float64Array.from(list, (each, k) => checkPriority(`${WHERE}: priority[${k}]`, each));
  }

  /** Writes what is left of a chunk. */
  #write(chunk: Chunk): void {
    const { takes, priorities } = chunk;
    const { named, tag } = this.#options;
    const record = this.#replay.recordFlat.bind(this.#replay) as (
      episode: number,
      steps: object,
    ) => FlatRecorded;
    for (; chunk.environment < takes.length; chunk.environment++) {
      const e = chunk.environment;
      const take = takes[e] as number;
      if (take === 0) continue;
      const from = chunk.written;
      const { columns, nextState, terminated, truncated, tree } = this.#local;
      const viewsOf = (columns: readonly LocalColumn[]): readonly AnyColumnArray[] =>
        columns.map((each) => each.view(e, 0, take));
      const { episode } = record(this.episodes[e] as number, {
        ...stepsOf(named, viewsOf(columns)),
        nextState: arrange(tree, viewsOf(nextState)),
        terminated: terminated.view(e, 0, take),
        truncated: truncated.view(e, 0, take),
        ...priorities === undefined ? {} : { priority: priorities.subarray(from, from + take) },
        ...tag,
      });
      this.episodes[e] = episode;
      this.#lastStates[e] = this.#stateAt(e, take - 1);
      this.#local.forget(e, take);
      chunk.written += take;
      this.recordedCount += take;
    }
    this.#chunk = undefined;
    this.flushCount++;
  }
}
