/**
 * What a learner and an actor hold, whatever stores the experience.
 *
 * @module
 */

import type { WaitOptions } from "../mod.ts";
import type { RecordExtras } from "../replay/record/recorder.ts";
import type { Column, ColumnArray, ColumnArrays, Columns, NoColumns } from "../schema/columns.ts";
import type { AnyState, IsAny, StateArrays, StateColumns } from "../schema/state.ts";
import type { CreateOptions } from "../schema/create_options.ts";
import type {
  AnySchema,
  ColumnOf,
  ExtrasOf,
  Known,
  known,
  Recordable,
  RecordValue,
  Schema,
  SchemaOf,
  StateOf,
} from "../schema/schema.ts";

/** The columns of a transition, with the names and defaults of {@linkcode ExperienceReplay.create}. {@linkcode tableReader} has an example. */
export type TransitionColumns<
  State extends StateColumns = StateColumns,
  Action extends Column = Column,
  Reward extends Column = Column,
  Extras extends Columns = Columns,
> = Pick<CreateOptions<State, Action, Reward, Extras>, "state" | "action" | "reward" | "extras">;

/** The schema of the transitions of a replay: its columns, whatever its picks are. {@linkcode replayReader} has it in its result. */
export type TransitionsOf<S extends Schema> = SchemaOf<
  StateOf<S>,
  ColumnOf<S, "action">,
  ColumnOf<S, "reward">,
  ExtrasOf<S>,
  NoColumns
>;

/** The shape of the states of a {@linkcode TransitionBatch}, or that of each leaf. */
export type TransitionStateShape<T> = IsAny<T> extends true ? AnyState
  : T extends Column ? readonly number[]
  : { readonly [K in keyof T]: TransitionStateShape<T[K]> };

/**
 * Transitions that a {@linkcode ReplayReader} drew. Each part is one typed array in row-major order, with one row for each transition.
 *
 * The target of a learner is `reward + discount * value(nextState)`, with any n of n-step returns. {@linkcode replayReader} has an example.
 */
export interface TransitionBatch<S extends Schema = AnySchema> {
  /** The type of the batch; only for TypeScript. */
  readonly [known]?: Known<S>;
  /** How many transitions it has. */
  readonly size: number;
  /** `[size, ...shape]`: the states. With frame stacks of a replay `[size, stack, ...shape]`. */
  readonly state: StateArrays<StateOf<S>>;
  /** `[size, ...shape]`: the actions. */
  readonly action: ColumnArray<ColumnOf<S, "action">>;
  /** `[size, ...shape]`: the n-step return; the reward of the step where n is 1. */
  readonly reward: Float32Array<ArrayBuffer>;
  /** Like `state`: the states n steps later, or at the end of the episode if that comes before. */
  readonly nextState: StateArrays<StateOf<S>>;
  /** `[size]`: the discount of the value of `nextState`: gamma^n, or 0 where the episode terminated before. */
  readonly discount: Float32Array<ArrayBuffer>;
  /** The extras of the steps by name, each `[size, ...shape]`. */
  readonly extras: ColumnArrays<ExtrasOf<S>>;
  /** `[size]`: the probability with which each transition was drawn, more than 0 and at most 1. */
  readonly probability: Float32Array<ArrayBuffer>;
  /** `[size]`: multiply the loss of each transition by it. It is (N · P)^-beta, divided by the largest of the batch. */
  readonly importanceWeight: Float32Array<ArrayBuffer>;
  /** The shapes of `state`, `action`, `reward` and `nextState`. */
  readonly shape:
    & Readonly<Record<"action" | "reward", readonly number[]>>
    & Readonly<Record<"state" | "nextState", TransitionStateShape<StateOf<S>>>>;
  /** Which transitions these are: only the reader's `setPriorities` understands it. You may post it to another thread and back. */
  readonly keys: unknown;
  /**
   * Gives the memory of a replay's batch back, where a later batch can use it. All parts, and `keys`, are empty then. A batch of a table stays
   * as it is. You need not call it.
   */
  [Symbol.dispose](): void;
}

/** The options of {@linkcode ReplayReader.getBatch}, as in the example of {@linkcode replayReader}. */
export interface ReaderGetBatchOptions extends WaitOptions {
  /** The exponent of importance weights, at least 0; 1 by default. */
  readonly beta?: number;
}

/**
 * The options of {@linkcode ReplayReader.batches}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { replayReader } from "@exrp/replay/learner";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
 * await using reader = replayReader(replay, replay.newPickSelector(uniform()));
 * let updates = 0;
 * const beta = (): number => 0.4 + updates / 10; // asked at each draw
 * for await (const batch of reader.batches(32, { beta, prefetch: 2 })) {
 *   updates++; // here you learn from the batch
 *   if (updates === 3) break; // there is no end of its own
 * }
 * console.log(updates); // 3
 * ```
 */
export interface ReaderBatchesOptions {
  /** The exponent of importance weights, at least 0; 1 by default. A function is called at each draw. */
  readonly beta?: number | (() => number);
  /** How many batches are drawn ahead, 0 to 16; 1 by default. A table of this process draws none ahead. */
  readonly prefetch?: number;
  /** Ends the batches when it aborts. The loop then throws its reason. */
  readonly signal?: AbortSignal;
}

/** What a {@linkcode ReplayReader} counts. */
export interface ReaderStats {
  /** Transitions that can be drawn now. */
  readonly size: number;
  /** Steps of a replay, or items of a table, that came in since the beginning. */
  readonly inserted: number;
  /** Transitions drawn since the beginning, by all readers of the same selector or table. */
  readonly drawn: number;
}

/**
 * What a learner holds: it draws transitions from a replay, a shared replay, a table, or a table of a server. A learner written against it
 * runs on each. {@linkcode replayReader} and {@linkcode tableReader} make one.
 *
 * Close it at the end, or use `await using`. That ends calls that wait. It does not free the replay, the tables or the client: these are yours.
 */
export interface ReplayReader<S extends Schema = AnySchema> extends AsyncDisposable {
  /**
   * Draws a batch. It waits until there is something to draw, and until the rate limiter allows it. With `timeoutMs: 0` it does not wait.
   *
   * @param size How many transitions, 1 to 2^24. One may come several times.
   * @throws {ReplayError} `timeout` if it could not be drawn in time; `disposed` if the reader was closed, also during the wait.
   */
  getBatch(size: number, options?: ReaderGetBatchOptions): Promise<TransitionBatch<S>>;
  /**
   * Draws batch after batch, for `for await`, and some ahead. Each waits as `sample` does. Leave the loop by `break` or the `signal`.
   *
   * @throws {ReplayError} `disposed` if the reader was closed.
   */
  batches(
    size: number,
    options?: ReaderBatchesOptions,
  ): AsyncGenerator<TransitionBatch<S>, void, void>;
  /**
   * Sets the priorities of the transitions of a batch. Those that were evicted meanwhile are skipped. If one comes twice, its last priority
   * counts.
   *
   * @param drawn The batch, or an object with its `keys`.
   * @param priorities `[size]`: one for each transition, finite and not negative.
   */
  setPriority(
    drawn: { readonly keys: unknown },
    priorities: Float32Array | Float64Array | readonly number[],
  ): Promise<void>;
  /** What there is, and how much was drawn. Of a replay, its cost is that of {@linkcode ExperienceReplay.stats}. */
  stats(): Promise<ReaderStats>;
  /** Ends calls that wait with the error `disposed`. A second call does nothing. */
  close(): Promise<void>;
}

/** What {@linkcode ReplayWriter.append} takes: one step, as an environment in the style of Gymnasium returns it. */
export type WriterStep<S extends Schema> = Recordable<
  S,
  RecordExtras<S> & {
    /** `[...shape]`: the state in which the action was chosen. */
    readonly state: RecordValue<S, "state">;
    /** `[...shape]`: the action. */
    readonly action: RecordValue<S, "action">;
    /** `[...shape]`: the reward. */
    readonly reward: RecordValue<S, "reward">;
    /** Whether the task ended the episode with this step. */
    readonly terminated: boolean;
    /** Whether the episode was cut off after this step; false by default. It counts only if `terminated` is false. */
    readonly truncated?: boolean;
    /** `[...shape]`: the state that the step led to, and not the first state of the next episode. */
    readonly nextState: RecordValue<S, "state">;
  }
>;

/**
 * What an actor holds: it writes the steps of one environment to a replay, a shared replay, a table, or a table of a server.
 * {@linkcode replayWriter} and {@linkcode tableWriter} make one.
 *
 * Await each call. One that you make before the one before is done waits for it. The time to wait for a rate limiter is at the beginning of a
 * call, so `append` that ends by `timeoutMs` or `signal` took no step.
 */
export interface ReplayWriter<S extends Schema = AnySchema> extends AsyncDisposable {
  /**
   * Takes a step, and copies its values. A step with `terminated` or `truncated` ends the episode, and `nextState` is then its final state.
   * The next call begins another one. Steps are written in chunks: `flush` sends what waits.
   *
   * @throws {TypeError} If a value is missing or of another kind than its column.
   * @throws {RangeError} If an array has another length than its column, or a number does not fit its dtype.
   * @throws {ReplayError} `timeout` or `disposed`. `rate-limiter-size` if the rate limiter of a replay can never take `flushSteps` steps at once:
   * choose fewer in {@linkcode replayWriter}.
   * @throws {ReverbError} Of a table: why the connection failed, or what its server refused. If the step was taken halfway, all later calls
   * throw the same error, and you need a new writer.
   */
  append(step: WriterStep<S>, options?: WaitOptions): Promise<void>;
  /** Ends the open episode after its latest step, as truncated: because someone reset the environment, for example. */
  endEpisode(options?: WaitOptions): Promise<void>;
  /** Writes what waits. Then all transitions can be drawn whose next states are known. */
  flush(options?: WaitOptions): Promise<void>;
  /**
   * Ends the open episode as truncated, and writes everything. A second call does nothing. After a `timeout` you may call it again. The open
   * episode may have ended then, so that later steps begin another one.
   */
  close(options?: WaitOptions): Promise<void>;
}
