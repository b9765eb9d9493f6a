/**
 * What an actor records through: it keeps steps back, computes their first priorities, and writes many of them in one call.
 *
 * `_local_steps.ts` holds the steps that wait, `actor_steps.ts` is what a priority function sees of them, and `_chunk_writer.ts` writes
 * them.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { numberOf, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { dispose } from "../base/platform.ts";
import type { ExperienceReplay, WaitOptions } from "../mod.ts";
import type { ReplayCore } from "../replay/core.ts";
import { FLAG_HINTS, writeExtras } from "../replay/record/record_input.ts";
import { coreOf } from "../replay/replay_view.ts";
import { checkTag } from "../schema/pick_where.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import type { ActorBatch, ActorStep, ActorWriterOptions } from "./actor_options.ts";
import { ChunkWriter, WHERE } from "./_chunk_writer.ts";
import { LocalSteps, STEP, STEP_BATCH } from "./_local_steps.ts";

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
 * console.log(replay.recordCount); // 100
 * console.log(replay.getBatch(32, selector).size); // 32
 * ```
 */
export class ActorWriter<S extends Schema = AnySchema> implements Disposable, AsyncDisposable {
  readonly #replay: ExperienceReplay<S>;
  readonly #core: ReplayCore;
  readonly #local: LocalSteps;
  readonly #chunks: ChunkWriter<S>;
  #stepCount = 0;
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
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay, { flushSteps: 2 });
   * for (const state of [0, 1, 2, 3, 4]) {
   *   const nextState = state + 1;
   *   writer.step({ state, action: 0, reward: 1, terminated: false, nextState });
   * }
   * console.log(replay.recordCount); // 4: the fifth step waits
   * console.log(writer.waitingCount); // 1
   * ```
   */
  constructor(replay: ExperienceReplay<S>, options: ActorWriterOptions<S> = {}) {
    const core = coreOf(WHERE, replay);
    checkOptions(WHERE, options, OPTIONS);
    const { pick } = core.config;
    const { environments = 1, flushSteps = 50, priority, tag } = options;
    const { nStep = Math.max(1, ...pick.nStep), discount = pick.discount } = options;
    checkInteger(`${WHERE}: environments`, environments, 1, ENVIRONMENTS_MAX);
    checkInteger(`${WHERE}: flushSteps`, flushSteps, 1, FLUSH_MAX);
    if (priority !== undefined && typeof priority !== "function") {
      throw new TypeError(`${WHERE}: priority must be a function, got ${show(priority)}`);
    }
    this.#replay = replay;
    this.#core = core;
    checkInteger(`${WHERE}: nStep`, nStep, 1, N_STEP_MAX);
    checkNumber(`${WHERE}: discount`, discount, 0, 1);
    const lookahead = priority === undefined ? 0 : nStep;
    this.#local = new LocalSteps(core.config, environments, flushSteps + lookahead);
    this.#chunks = new ChunkWriter(replay, this.#local, {
      ...{ named: core.config, flushSteps, priority, nStep, discount, lookahead },
      tag: tag === undefined ? {} : { tag: checkTag(`${WHERE}: tag`, tag) },
    });
  }

  /** The handles of the episodes that the next steps go to, `[environments]`, as far as they are written: a copy. */
  get episodes(): Float64Array<ArrayBuffer> {
    return this.#chunks.episodes.slice();
  }

  /** How many steps were given to the writer. */
  get stepCount(): number {
    return this.#stepCount;
  }

  /** How many of them were written to the replay. */
  get recordedCount(): number {
    return this.#chunks.recordedCount;
  }

  /** How many of them wait. */
  get waitingCount(): number {
    return this.#stepCount - this.#chunks.recordedCount;
  }

  /** How many flushes wrote steps. */
  get flushCount(): number {
    return this.#chunks.flushCount;
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
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * using writer = new ActorWriter(replay);
   * const nextState = [2, 3];
   * writer.step({ state: [0, 1], action: 1, reward: 0.5, terminated: true, nextState });
   * console.log(writer.flush()); // 1
   * console.log(replay.episode(0).ending); // terminated
   * ```
   */
  step(step: ActorStep<S>): void {
    this.#checkOpen(STEP);
    if (this.#chunks.episodes.length !== 1) {
      throw new TypeError(
        `${STEP} takes a step of one environment, but this writer has ${this.#chunks.episodes.length}; call stepBatch()`,
      );
    }
    this.#take(STEP, step);
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
   * console.log(writer.flush()); // 2
   * console.log([replay.episode(0).ending, replay.episode(1).ending]); // ["open", "terminated"]
   * ```
   */
  stepBatch(steps: ActorBatch<S>): void {
    this.#checkOpen(STEP_BATCH);
    this.#take(STEP_BATCH, steps);
  }

  #take(operation: string, step: unknown): void {
    checkOptions(operation, step, PARTS, FLAG_HINTS);
    const loose = step as Loose;
    const local = this.#local;
    const { checkFinite: isFinite, extraNames } = this.#core.config;
    const isOne = operation === STEP;
    const staged = isOne ? local.one : local.many;
    staged.state.write(loose.state);
    staged.action.write(loose.action);
    staged.reward.write(loose.reward);
    local.terminated.stage(isOne, loose.terminated);
    local.truncated.stage(isOne, loose.truncated, 0);
    if (loose.nextState === undefined) {
      throw new TypeError(
        `${operation}: nextState must be the state that step() of the environment returned, at every step; got undefined`,
      );
    }
    staged.nextState.write(loose.nextState);
    if (isFinite) {
      const checked = [...local.state, ...local.others.slice(0, 2), ...local.nextState];
      for (const each of checked) each.checkFinite(isOne);
    }
    writeExtras(operation, loose.extras, extraNames, staged.extras);
    local.value.stageNumbers(isOne, loose.value);
    local.stateValue.stageNumbers(isOne, loose.stateValue);
    local.nextStateValue.stageNumbers(isOne, loose.nextStateValue);
    if (this.isFull) this.#chunks.flush(false);
    const count = this.#chunks.episodes.length;
    for (let e = 0; e < count; e++) local.keep(e);
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
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * console.log(replay.recordCount); // 0
   * console.log(writer.flush()); // 1
   * console.log(replay.recordCount); // 1
   * ```
   */
  flush(): number {
    this.#checkOpen("flush()");
    return this.#chunks.flush(true);
  }

  /**
   * Writes as {@linkcode ActorWriter.flush} does, as soon as the replay's rate limiter lets it. Call it if `isFull`, before the next step of a
   * replay that has a rate limiter.
   *
   * @param options `signal` ends the wait, and `timeoutMs` limits it.
   * @returns How many steps it wrote.
   * @throws {ReplayError} `timeout`. Steps of environments that were written before are in the replay, and the others wait on.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * console.log(await writer.flushWhenReady({ timeoutMs: 1000 })); // 1
   * ```
   */
  async flushWhenReady(options: WaitOptions = {}): Promise<number> {
    const before = this.#chunks.recordedCount;
    await this.#replay.whenReady(() => this.flush(), options);
    return this.#chunks.recordedCount - before;
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
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * using writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * writer.cut();
   * writer.flush();
   * console.log(replay.episode(0).ending); // truncated
   * ```
   */
  cut(environment = 0): void {
    this.#checkOpen("cut()");
    checkInteger("cut(): environment", environment, 0, this.#chunks.episodes.length - 1);
    if ((this.#local.counts[environment] as number) > 0) this.#local.cut(environment);
    else this.#chunks.cut(environment);
  }

  /**
   * Writes everything, the steps that waited too, and ends open episodes as truncated. A second call does nothing. If it throws, the
   * writer stays open, and you may call it again.
   */
  [dispose](): void {
    if (this.#isDisposed) return;
    for (const [e, count] of this.#local.counts.entries()) if (count > 0) this.#local.cut(e);
    this.#chunks.flush(true);
    for (let e = 0; e < this.#chunks.episodes.length; e++) this.#chunks.endEpisode(e);
    this.#isDisposed = true;
  }

  /**
   * Writes everything and ends open episodes, as `using` does, as soon as the replay's rate limiter lets it. `await using` calls it.
   *
   * @param options `signal` ends the wait, and `timeoutMs` limits it.
   * @throws {ReplayError} `timeout`. You may call it again. Open episodes have ended: later steps begin others.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { ActorWriter } from "@exrp/replay/actors";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const writer = new ActorWriter(replay);
   * writer.step({ state: 0, action: 0, reward: 1, terminated: false, nextState: 1 });
   * await writer.close({ timeoutMs: 1000 });
   * console.log(replay.episode(0).ending); // truncated
   * ```
   */
  async close(options: WaitOptions = {}): Promise<void> {
    await this.#replay.whenReady(() => this[dispose](), options);
  }

  /** The same as {@linkcode ActorWriter.close}, without a limit. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(operation: string): void {
    if (this.#isDisposed) {
      throw new ReplayError("disposed", `${operation}: the writer is disposed`);
    }
  }
}

showAs(
  ActorWriter,
  (writer: ActorWriter) =>
    `ActorWriter { ${numberOf(writer.stepCount, "step")}, ${writer.recordedCount} written in ${
      numberOf(writer.flushCount, "flush").replace(/flushs$/, "flushes")
    }, ${writer.waitingCount} waiting }`,
);
