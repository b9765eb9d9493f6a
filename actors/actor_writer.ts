/**
 * What an actor records through: it keeps steps back, reckons their first priorities, and writes many of them in one call.
 *
 * `_local_steps.ts` holds the steps that wait, and `actor_steps.ts` is what a priority function sees of them.
 *
 * A flush makes one call of `recordFlat` for each environment that has steps to write. On a shared replay, each of these calls takes the
 * lock by itself. To hold the lock over all of them would only make learners wait longer: a chunk of one environment means the same with
 * or without the chunks of the others.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { numberOf, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { dispose } from "../base/platform.ts";
import { checkHonest, isNumeric } from "../base/typed_arrays.ts";
import type { ExperienceReplay, FlatRecorded, WaitOptions } from "../mod.ts";
import type { ReplayCore } from "../replay/core.ts";
import { coreOf } from "../replay/replay_view.ts";
import {
  checkExtras,
  checkFlag,
  checkPriority,
  extraOf,
  FLAG_HINTS,
  refuseUnknownExtras,
} from "../replay/record/record_input.ts";
import { type DoneFlags, forEachDone, type StepExtras } from "../replay/record/many_recorder.ts";
import type { RecordExtras } from "../replay/record/recorder.ts";
import type { NumericArray } from "../schema/columns.ts";
import { checkTag } from "../schema/pick_where.ts";
import type { AnySchema, Recordable, RecordArray, RecordValue, Schema } from "../schema/schema.ts";
import { type ActorSteps, FirstSteps } from "./actor_steps.ts";
import { type LocalColumn, LocalSteps, STEP, STEP_BATCH } from "./_local_steps.ts";

/** The options of an {@linkcode ActorWriter}. */
export interface ActorWriterOptions<S extends Schema = AnySchema> {
  /** How many environments the actor steps at once: from 1 to 65,536; 1 by default. */
  readonly environments?: number;
  /** How many steps of each environment go into one call: from 1 to 1,048,576; 50 by default, as in Ape-X. */
  readonly flushSteps?: number;
  /**
   * Gives the first priorities: one number for each step of `steps`, finite and 0 or more. {@linkcode absoluteTdError} is that of Ape-X.
   * Without it, each selector's rule chooses. The call must not change the replay.
   */
  readonly priority?: (steps: ActorSteps<S>) => NumericArray;
  /** n of the returns that priorities are made of: from 1 to 65,536. By default it is the largest n of the replay's option `pick`, or 1. */
  readonly nStep?: number;
  /** γ of these returns: from 0 to 1. By default it is that of the replay's option `pick`. */
  readonly discount?: number;
  /** The tag of the actor's episodes: a whole number from -2^31 to 2^31 - 1; 0 by default. Pick tables can choose by it. */
  readonly tag?: number;
}

/** What {@linkcode ActorWriter.step} takes: one step, with everything that an environment in the style of Gymnasium returns. */
export type ActorStep<S extends Schema> = Recordable<
  S,
  RecordExtras<S> & {
    /** `[...shape]`: the state in which the action was chosen. */
    readonly state: RecordValue<S, "state">;
    /** `[...shape]`: the action. */
    readonly action: RecordValue<S, "action">;
    /** `[...shape]`: the reward. */
    readonly reward: RecordValue<S, "reward">;
    /** Whether the task ended the episode: `true` or `false`, or 1 or 0. */
    readonly terminated: boolean | number;
    /** Whether the episode was cut off, likewise; false by default. It counts only if `terminated` is false. */
    readonly truncated?: boolean | number;
    /** `[...shape]`: the state that the step led to, and not the first state of the next episode. */
    readonly nextState: RecordValue<S, "state">;
    /** What the actor thinks that the action is worth: Q(s, a). Only priorities need it. */
    readonly value?: number;
    /** What the actor thinks that the state is worth: the largest Q(s, ·). Only priorities need it. */
    readonly stateValue?: number;
    /**
     * What `nextState` is worth, if the episode was cut off at this step. Without it, `stateValue` of this step stands in, because a first
     * priority is a guess anyway.
     */
    readonly nextStateValue?: number;
  }
>;

/** What {@linkcode ActorWriter.stepBatch} takes: one step of each of m environments. */
export type ActorBatch<S extends Schema> = Recordable<
  S,
  StepExtras<S> & {
    /** `[m, ...shape]`: the states in which the actions were chosen. */
    readonly state: RecordArray<S, "state">;
    /** `[m, ...shape]`: the actions. */
    readonly action: RecordArray<S, "action">;
    /** `[m, ...shape]`: the rewards. */
    readonly reward: RecordArray<S, "reward">;
    /** `[m]`: whether the task ended the episode. */
    readonly terminated: DoneFlags;
    /** `[m]`: whether the episode was cut off; none by default. It counts only if `terminated` is not set. */
    readonly truncated?: DoneFlags;
    /** `[m, ...shape]`: the states that the steps led to, and not the first states of next episodes. */
    readonly nextState: RecordArray<S, "state">;
    /** `[m]`: what the actor thinks that the actions are worth. */
    readonly value?: readonly number[] | Float32Array | Float64Array;
    /** `[m]`: what the actor thinks that the states are worth. */
    readonly stateValue?: readonly number[] | Float32Array | Float64Array;
    /** `[m]`: what the next states are worth, where an episode was cut off; NaN where that is not known. */
    readonly nextStateValue?: readonly number[] | Float32Array | Float64Array;
  }
>;

const OPTIONS = [
  "environments",
  "flushSteps",
  "priority",
  "nStep",
  "discount",
  "tag",
] as const;
const PARTS = [
  "state",
  "action",
  "reward",
  "terminated",
  "truncated",
  "nextState",
  "extras",
  "value",
  "stateValue",
  "nextStateValue",
] as const;

/** The parts of a step or of a batch before they are checked. */
type Loose = Readonly<Partial<Record<(typeof PARTS)[number], unknown>>>;

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

const WHERE = "ActorWriter";
const ENVIRONMENTS_MAX = 65_536;
const FLUSH_MAX = 2 ** 20;
const N_STEP_MAX = 65_536;

/**
 * Records the steps of one actor. You call {@linkcode ActorWriter.step} once for each step, as you would call `recordStep`. The writer keeps
 * the steps in memory of its own, and writes 50 of them in one call. So actors of a shared replay meet at its lock 50 times less often.
 *
 * It also gives steps their first priorities, as in Ape-X (Horgan et al. 2018, section 3). You give it a function, which it calls once for
 * all steps of a flush. The n-step return of a step needs the n steps after it. So the last n steps of an open episode wait until these
 * are there, or until the episode ends. What is recorded equals what `recordStep` with the same priorities would record.
 *
 * With `using`, all steps are written at the end of the block: the steps that waited, too. Open episodes end there as truncated, with
 * the next state of their last step as final state.
 *
 * Cost, with a small state and its share of the flush: about 0.4 µs a step, and 1 µs with {@linkcode absoluteTdError}. Between two flushes,
 * nothing is allocated. A flush makes one call of `recordFlat` for each environment.
 *
 * @example An actor that gives first priorities
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { absoluteTdError, ActorWriter } from "@exrp/replay/actors";
 * import { CartPole } from "@exrp/replay/envs";
 * import { assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 1000,
 *   state: float32(4),
 *   pick: { nStep: 3, discount: 0.99 },
 * });
 * const selector = replay.newPickSelector(prioritized());
 * const valuesOf = (state: Float32Array): [number, number] => [state[2] ?? 0, -(state[2] ?? 0)]; // yours: a network
 *
 * const environment = new CartPole(1);
 * let state = environment.reset();
 * {
 *   using writer = new ActorWriter(replay, { flushSteps: 20, priority: absoluteTdError });
 *   for (let step = 0; step < 100; step++) {
 *     const values = valuesOf(state);
 *     const action = values[1] > values[0] ? 1 : 0;
 *     const { state: nextState, reward, terminated, truncated } = environment.step(action);
 *     writer.step({
 *       ...{ state, action, reward, terminated, truncated, nextState },
 *       value: values[action],
 *       stateValue: Math.max(...values),
 *     });
 *     state = terminated || truncated ? environment.reset() : nextState;
 *   }
 * }
 * assertStrictEquals(replay.recordCount, 100);
 * assertStrictEquals(replay.getBatch(32, selector).size, 32);
 * ```
 */
export class ActorWriter<S extends Schema = AnySchema> implements Disposable, AsyncDisposable {
  readonly #replay: ExperienceReplay<S>;
  readonly #core: ReplayCore;
  readonly #priority: ((steps: ActorSteps<S>) => NumericArray) | undefined;
  readonly #returns: { readonly nStep: number; readonly discount: number };
  readonly #flushSteps: number;
  readonly #lookahead: number;
  readonly #tag: number | undefined;
  readonly #local: LocalSteps;
  readonly #episodes: Float64Array<ArrayBuffer>;
  readonly #lastStates: (number | NumericArray)[];
  readonly #terminated: Uint8Array;
  readonly #truncated: Uint8Array;
  #chunk: Chunk | undefined;
  #stepCount = 0;
  #recordedCount = 0;
  #flushCount = 0;
  #isDisposed = false;

  /**
   * Makes a writer, and begins an episode for each environment.
   *
   * @throws {TypeError} If `replay` is no replay, for an unknown option, or for one of the wrong kind.
   * @throws {RangeError} For a number out of its range.
   * @throws {ReplayError} `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay, { flushSteps: 2 });
   * for (const state of [0, 1, 2, 3, 4]) {
   *   const nextState = state + 1;
   *   writer.step({ state, action: 0, reward: 1, terminated: false, nextState });
   * }
   * assertStrictEquals(replay.recordCount, 4); // the fifth step waits
   * assertStrictEquals(writer.waitingCount, 1);
   * ```
   */
  constructor(replay: ExperienceReplay<S>, options: ActorWriterOptions<S> = {}) {
    const core = coreOf(WHERE, replay);
    checkOptions(WHERE, options, OPTIONS);
    const { pick, columns } = core.config;
    const { environments = 1, flushSteps = 50, priority, tag } = options;
    const { nStep = Math.max(1, ...pick.nStep), discount = pick.discount } = options;
    checkInteger(`${WHERE}: environments`, environments, 1, ENVIRONMENTS_MAX);
    checkInteger(`${WHERE}: flushSteps`, flushSteps, 1, FLUSH_MAX);
    if (priority !== undefined && typeof priority !== "function") {
      throw new TypeError(`${WHERE}: priority must be a function, got ${show(priority)}`);
    }
    this.#replay = replay;
    this.#core = core;
    this.#priority = priority;
    this.#returns = {
      nStep: checkInteger(`${WHERE}: nStep`, nStep, 1, N_STEP_MAX),
      discount: checkNumber(`${WHERE}: discount`, discount, 0, 1),
    };
    this.#tag = tag === undefined ? undefined : checkTag(`${WHERE}: tag`, tag);
    this.#flushSteps = flushSteps;
    this.#lookahead = priority === undefined ? 0 : nStep;
    this.#local = new LocalSteps(columns, environments, flushSteps + this.#lookahead);
    this.#terminated = new Uint8Array(environments);
    this.#truncated = new Uint8Array(environments);
    const { elementCount, shape } = replay.columns.state;
    const nowhere = (): number | number[] =>
      shape.length === 0 ? 0 : new Array<number>(elementCount).fill(0);
    this.#lastStates = Array.from({ length: environments }, nowhere);
    const begin = (): number =>
      replay.newEpisode(this.#tag === undefined ? {} : { tag: this.#tag });
    this.#episodes = Float64Array.from({ length: environments }, begin);
  }

  /** The handles of the episodes that the next steps go to, `[environments]`, as far as they are written: a copy. */
  get episodes(): Float64Array<ArrayBuffer> {
    return this.#episodes.slice();
  }

  /** How many steps were given to the writer. */
  get stepCount(): number {
    return this.#stepCount;
  }

  /** How many of them were written to the replay. */
  get recordedCount(): number {
    return this.#recordedCount;
  }

  /** How many of them wait. */
  get waitingCount(): number {
    return this.#stepCount - this.#recordedCount;
  }

  /** How many flushes wrote steps. */
  get flushCount(): number {
    return this.#flushCount;
  }

  /** Whether the next step has to flush first, because the writer's memory is full. */
  get isFull(): boolean {
    const { counts, room } = this.#local;
    for (const count of counts) if (count === room) return true;
    return false;
  }

  /**
   * Takes one step of the environment. If `isFull`, it first writes the oldest steps. The values are copied.
   *
   * @throws {TypeError} If a value is of another kind than its column, an extra is missing, or `step` has an unknown part. Also if the
   * writer has several environments.
   * @throws {RangeError} If an array has another length than its column, or an integer does not fit the dtype. Also for a flag other than
   * 0 or 1.
   * @throws {ReplayError} `disposed`. If it flushes: what `recordFlat` throws. The step was not taken then, so you may give it again.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * using writer = new ActorWriter(replay);
   * const nextState = [2, 3];
   * writer.step({ state: [0, 1], action: 1, reward: 0.5, terminated: true, nextState });
   * assertStrictEquals(writer.flush(), 1);
   * assertStrictEquals(replay.episode(0).ending, "terminated");
   * ```
   */
  step(step: ActorStep<S>): void {
    this.#checkOpen(STEP);
    const loose: Loose = this.#checkParts(STEP, step);
    if (this.#episodes.length !== 1) {
      throw new TypeError(
        `${STEP} takes a step of one environment, but this writer has ${this.#episodes.length}; call stepBatch()`,
      );
    }
    const local = this.#local;
    const { checkFinite: isFinite, extraNames } = this.#core.config;
    const [state, action, reward] = local.columns as readonly LocalColumn[];
    state?.stageOne(loose.state, isFinite);
    action?.stageOne(loose.action, isFinite);
    reward?.stageOne(loose.reward, isFinite);
    const isTerminated = checkFlag(`${STEP}: terminated`, loose.terminated);
    const isTruncated = loose.truncated !== undefined &&
      checkFlag(`${STEP}: truncated`, loose.truncated);
    this.#checkNextState(STEP, loose.nextState);
    local.nextState.stageOne(loose.nextState, isFinite);
    if (loose.extras !== undefined || extraNames.length > 0) {
      const values = checkExtras(STEP, loose.extras, extraNames);
      for (let k = 0; k < extraNames.length; k++) {
        const value = extraOf(STEP, values, extraNames[k] as string);
        local.columns[3 + k]?.stageOne(value, false);
      }
      refuseUnknownExtras(STEP, values, extraNames);
    }
    local.value.stageOne(loose.value);
    local.stateValue.stageOne(loose.stateValue);
    local.nextStateValue.stageOne(loose.nextStateValue);
    if (this.isFull) this.#flush(false);
    local.keep(0, isTerminated, isTruncated);
    this.#stepCount++;
  }

  /**
   * Takes one step of each environment, as `recordBatch` does. If `isFull`, it first writes the oldest steps. The values are copied.
   *
   * @throws {TypeError} If values are of another kind than their column, or `steps` has an unknown part.
   * @throws {RangeError} If a column has not one step for each environment, or a number does not fit its dtype.
   * @throws {ReplayError} `disposed`. If it flushes: what `recordFlat` throws. The steps were not taken then.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertEquals, assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * using writer = new ActorWriter(replay, { environments: 2 });
   * writer.stepBatch({
   *   state: new Float32Array([0, 0, 1, 1]), // [2, 2]
   *   action: [1, 0],
   *   reward: [1, 1],
   *   terminated: [false, true],
   *   nextState: new Float32Array([0, 1, 1, 2]),
   * });
   * assertStrictEquals(writer.flush(), 2);
   * assertEquals([replay.episode(0).ending, replay.episode(1).ending], ["open", "terminated"]);
   * ```
   */
  stepBatch(steps: ActorBatch<S>): void {
    this.#checkOpen(STEP_BATCH);
    const loose: Loose = this.#checkParts(STEP_BATCH, steps);
    const local = this.#local;
    const { checkFinite: isFinite, extraNames } = this.#core.config;
    const count = this.#episodes.length;
    const [state, action, reward] = local.columns as readonly LocalColumn[];
    state?.stageMany(loose.state, isFinite);
    action?.stageMany(loose.action, isFinite);
    reward?.stageMany(loose.reward, isFinite);
    const [terminated, truncated] = [this.#terminated.fill(0), this.#truncated.fill(0)];
    if (loose.terminated === undefined) {
      throw new TypeError(
        `${STEP_BATCH}: terminated is missing; it has a flag for each environment`,
      );
    }
    forEachDone(STEP_BATCH, "terminated", loose.terminated, count, (e) => terminated[e] = 1);
    if (loose.truncated !== undefined) {
      forEachDone(STEP_BATCH, "truncated", loose.truncated, count, (e) => truncated[e] = 1);
    }
    this.#checkNextState(STEP_BATCH, loose.nextState);
    local.nextState.stageMany(loose.nextState, isFinite);
    if (loose.extras !== undefined || extraNames.length > 0) {
      const values = checkExtras(STEP_BATCH, loose.extras, extraNames);
      for (const [k, name] of extraNames.entries()) {
        local.columns[3 + k]?.stageMany(extraOf(STEP_BATCH, values, name), false);
      }
      refuseUnknownExtras(STEP_BATCH, values, extraNames);
    }
    local.value.stageMany(loose.value);
    local.stateValue.stageMany(loose.stateValue);
    local.nextStateValue.stageMany(loose.nextStateValue);
    if (this.isFull) this.#flush(false);
    for (let e = 0; e < count; e++) local.keep(e, terminated[e] === 1, truncated[e] === 1);
    this.#stepCount += count;
  }

  /**
   * Writes all steps whose priorities can be known now. The last n steps of an open episode wait on. Without a priority function, no step
   * waits.
   *
   * @returns How many steps it wrote.
   * @throws {TypeError} If the priority function returns no array of numbers.
   * @throws {RangeError} If it returns another number of priorities than there are steps.
   * @throws {ReplayError} `disposed`, `invalid-priority`, or what `recordFlat` throws. Steps of environments that were written before are
   * in the replay, and the others wait on.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * assertStrictEquals(replay.recordCount, 0);
   * assertStrictEquals(writer.flush(), 1);
   * assertStrictEquals(replay.recordCount, 1);
   * ```
   */
  flush(): number {
    this.#checkOpen("flush()");
    return this.#flush(true);
  }

  /**
   * Writes as {@linkcode ActorWriter.flush} does, as soon as the replay's pace lets it. Call it if `isFull`, before the next step of a
   * replay that has a pace.
   *
   * @param options `signal` ends the wait, and `timeoutMs` limits it.
   * @returns How many steps it wrote.
   * @throws {ReplayError} `timeout`. Steps of environments that were written before are in the replay, and the others wait on.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * assertStrictEquals(await writer.flushWhenReady({ timeoutMs: 1000 }), 1);
   * ```
   */
  async flushWhenReady(options: WaitOptions = {}): Promise<number> {
    const before = this.#recordedCount;
    await this.#replay.whenReady(() => this.flush(), options);
    return this.#recordedCount - before;
  }

  /**
   * Ends the open episode of an environment after its latest step, as truncated: because someone reset the environment, for example. If the
   * episode has no step, nothing happens.
   *
   * @param environment From 0; 0 by default.
   * @throws {RangeError} If there is no such environment.
   * @throws {ReplayError} `disposed`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * writer.cut();
   * writer.flush();
   * assertStrictEquals(replay.episode(0).ending, "truncated");
   * ```
   */
  cut(environment = 0): void {
    this.#checkOpen("cut()");
    checkInteger("cut(): environment", environment, 0, this.#episodes.length - 1);
    if ((this.#local.counts[environment] as number) > 0) this.#local.cut(environment);
    else if (this.#replay.episode(this.#episodes[environment] as number).recordCount > 0) {
      this.#endEpisode(environment);
      const tag = this.#tag === undefined ? {} : { tag: this.#tag };
      this.#episodes[environment] = this.#replay.newEpisode(tag);
    }
  }

  /**
   * Writes everything, the steps that waited too, and ends open episodes as truncated. A second call does nothing. If it throws, the
   * writer stays open, and you may call it again.
   */
  [dispose](): void {
    if (this.#isDisposed) return;
    for (const [e, count] of this.#local.counts.entries()) if (count > 0) this.#local.cut(e);
    this.#flush(true);
    for (let e = 0; e < this.#episodes.length; e++) this.#endEpisode(e);
    this.#isDisposed = true;
  }

  /**
   * Writes everything and ends open episodes, as `using` does, as soon as the replay's pace lets it. `await using` calls it.
   *
   * @param options `signal` ends the wait, and `timeoutMs` limits it.
   * @throws {ReplayError} `timeout`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * await writer.close({ timeoutMs: 1000 });
   * assertStrictEquals(replay.episode(0).ending, "truncated");
   * ```
   */
  async close(options: WaitOptions = {}): Promise<void> {
    await this.#replay.whenReady(() => this[dispose](), options);
  }

  /** The same as {@linkcode ActorWriter.close}, without a limit. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Writes the steps that can be written: all, or only as many as one chunk has. */
  #flush(isWhole: boolean): number {
    const before = this.#recordedCount;
    // A chunk that an error cut short goes first, with the priorities that it has.
    if (this.#chunk !== undefined) this.#write(this.#chunk);
    while (isWhole || before === this.#recordedCount) {
      const chunk = this.#nextChunk();
      if (chunk === undefined) break;
      this.#chunk = chunk;
      this.#write(chunk);
    }
    return this.#recordedCount - before;
  }

  /** The oldest steps of each environment that can be written, with their priorities; undefined if there are none. */
  #nextChunk(): Chunk | undefined {
    const { counts, settled } = this.#local;
    let size = 0;
    const takes = Array.from(counts, (count, e) => {
      const ready = Math.max(settled[e] as number, count - this.#lookahead);
      const take = Math.min(ready, this.#flushSteps);
      size += take;
      return take;
    });
    if (size === 0) return undefined;
    return { takes, priorities: this.#prioritiesOf(takes), environment: 0, written: 0 };
  }

  #prioritiesOf(takes: readonly number[]): Float64Array | undefined {
    if (this.#priority === undefined) return undefined;
    const steps = new FirstSteps(this.#local, takes, this.#core.config.extraNames, this.#returns);
    const { size } = steps;
    const given: unknown = this.#priority(steps as unknown as ActorSteps<S>);
    checkHonest(`${WHERE}: what priority() returned`, given);
    if (!isNumeric(given) && !Array.isArray(given)) {
      throw new TypeError(
        `${WHERE}: priority() must return a plain or typed array of numbers, got ${show(given)}`,
      );
    }
    if (given.length !== size) {
      throw new RangeError(
        `${WHERE}: priority() must return ${
          numberOf(size, "number")
        }, one for each step, got ${given.length}`,
      );
    }
    return Float64Array.from(given, (each, k) => checkPriority(`${WHERE}: priority[${k}]`, each));
  }

  /** Writes what is left of a chunk. */
  #write(chunk: Chunk): void {
    const { takes, priorities } = chunk;
    const record = this.#replay.recordFlat.bind(this.#replay) as (
      episode: number,
      steps: object,
    ) => FlatRecorded;
    for (; chunk.environment < takes.length; chunk.environment++) {
      const e = chunk.environment;
      const take = takes[e] as number;
      if (take === 0) continue;
      const steps = new FirstSteps(
        this.#local,
        takes.map((count, k) => k === e ? count : 0),
        this.#core.config.extraNames,
        this.#returns,
      );
      const { state, action, reward, nextState, extras, terminated, truncated } = steps;
      const from = chunk.written;
      const { episode } = record(this.#episodes[e] as number, {
        ...{ state, action, reward, nextState, terminated, truncated },
        ...this.#core.config.extraNames.length > 0 ? { extras } : {},
        ...priorities === undefined ? {} : { priority: priorities.subarray(from, from + take) },
        ...this.#tag === undefined ? {} : { tag: this.#tag },
      });
      this.#episodes[e] = episode;
      const last = this.#local.nextState.view(e, take - 1, take).slice();
      this.#lastStates[e] = typeof this.#lastStates[e] === "number" ? last[0] as number : last;
      this.#local.forget(e, take);
      chunk.written += take;
      this.#recordedCount += take;
    }
    this.#chunk = undefined;
    this.#flushCount++;
  }

  /** Ends the episode that an environment's steps go to; one without a record is forgotten. */
  #endEpisode(environment: number): void {
    const end = this.#replay.endEpisode.bind(this.#replay) as (
      episode: number,
      options: object,
    ) => boolean;
    const finalState = this.#lastStates[environment];
    end(this.#episodes[environment] as number, { finalState, truncated: true });
  }

  #checkOpen(operation: string): void {
    if (this.#isDisposed) {
      throw new ReplayError("disposed", `${operation}: the writer is disposed`);
    }
  }

  /** The parts of a step, none of which may be unknown. */
  #checkParts(operation: string, step: unknown): Loose {
    if (typeof step !== "object" || step === null) checkOptions(operation, step, PARTS, FLAG_HINTS);
    const loose = step as Loose;
    for (const part in loose) {
      if (!Object.hasOwn(KNOWN, part)) checkOptions(operation, step, PARTS, FLAG_HINTS);
    }
    return loose;
  }

  #checkNextState(operation: string, nextState: unknown): void {
    if (nextState !== undefined) return;
    throw new TypeError(
      `${operation}: nextState must be the state that step() of the environment returned, at every step; got undefined`,
    );
  }
}

/** The names of a step's parts as keys, which are found faster than in a list. */
const KNOWN: Readonly<Record<string, true>> = Object.fromEntries(PARTS.map((part) => [part, true]));

showAs(
  ActorWriter,
  (writer: ActorWriter) =>
    `ActorWriter { ${numberOf(writer.stepCount, "step")}, ${writer.recordedCount} written in ${
      numberOf(writer.flushCount, "flush").replace(/flushs$/, "flushes")
    }, ${writer.waitingCount} waiting }`,
);
