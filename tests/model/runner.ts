/**
 * Runs a program on the model and on the library at once and compares everything that can be seen after each step.
 *
 * @module
 */

import { type AnyColumnArray, type PickPolicy, ReplayError, type Selector } from "@exrp/replay";
import type { Fault } from "./faults.ts";
import type { KernelTap } from "./kernel_tap.ts";
import {
  type AnyBatch,
  type AnyReplay,
  createReplay,
  modelConfig,
  selectorRule,
} from "./library_subject.ts";
import { type ColumnSpec, elementCount, type Operation, type Program } from "./program.ts";
import { refusedCalls, refusedWith } from "./refused_calls.ts";
import { canRelabel, expectRelabelled, realRows } from "./hindsight_expected.ts";
import { answerOf, type ModelGoal } from "./hindsight_model.ts";
import type { ModelBatch } from "./batch_model.ts";
import { ModelError, ReplayModel } from "./replay_model.ts";
import { same, sameBytes, sameNumbers, sameRewards } from "./same.ts";
import type { SelectorSpec } from "./selector_models.ts";
import { priorityOf, Values } from "./values.ts";

/** The model and the library disagree. */
export class Mismatch extends Error {
  /** The index of the operation after which they did. */
  readonly step: number;
  constructor(step: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.step = step;
  }
}

/** What a run saw, so that a test can tell that it saw something. */
export interface Tally {
  operations: number;
  batches: number;
  picksCompared: number;
  evictions: number;
  cuts: number;
  loads: number;
  refusals: number;
  stepsDrained: number;
  stepsLost: number;
  picksRelabelled: number;
}

export function emptyTally(): Tally {
  return {
    operations: 0,
    batches: 0,
    picksCompared: 0,
    evictions: 0,
    cuts: 0,
    loads: 0,
    refusals: 0,
    stepsDrained: 0,
    stepsLost: 0,
    picksRelabelled: 0,
  };
}

/** The kernel's invariants are asked for after this many operations. */
const CHECK_EVERY = 8;

/** Runs a program; throws a {@linkcode Mismatch} where the model and the library part. */
export async function runProgram(
  program: Program,
  tap: KernelTap,
  options: { fault?: Fault; tally?: Tally } = {},
): Promise<void> {
  using run = await Run.begin(program, tap, options.fault, options.tally ?? emptyTally());
  for (const [step, operation] of program.operations.entries()) {
    try {
      await run.step(operation);
      run.compare(step % CHECK_EVERY === 0 || step === program.operations.length - 1);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Mismatch(step, `step ${step}, ${JSON.stringify(operation)}: ${reason}`, cause);
    }
  }
}

/** A batch that the learner still holds, and what it held when it was drawn. */
interface Held {
  readonly batch: AnyBatch;
  readonly bytes: Uint8Array;
  readonly policy: PickPolicy;
}

const HELD_MAX = 3;

interface Saved {
  readonly bytes: Uint8Array;
  readonly model: ReplayModel;
  readonly actors: Map<number, number>;
  readonly selectors: number;
}

class Run implements Disposable {
  readonly #program: Program;
  readonly #tap: KernelTap;
  readonly #tally: Tally;
  #replay: AnyReplay;
  #model: ReplayModel;
  /** The handle that each actor writes to. */
  #actors = new Map<number, number>();
  #selectors: Selector[] = [];
  #held: Held[] = [];
  #saved: Saved | undefined;
  /** The latest batch of each pick table. */
  #spares = new Map<number, AnyBatch>();
  #hindsight: ReturnType<AnyReplay["newHindsight"]> | undefined;
  /** The goals that the callback was given, call by call. */
  #asked: { readonly achieved: AnyColumnArray; readonly desired: AnyColumnArray }[] = [];

  private constructor(
    program: Program,
    tap: KernelTap,
    tally: Tally,
    replay: AnyReplay,
    model: ReplayModel,
  ) {
    this.#program = program;
    this.#tap = tap;
    this.#tally = tally;
    this.#replay = replay;
    this.#model = model;
  }

  static async begin(
    program: Program,
    tap: KernelTap,
    fault: Fault | undefined,
    tally: Tally,
  ): Promise<Run> {
    const { config } = program;
    const replay = await createReplay(config, config.seed, config.blockLength);
    const run = new Run(program, tap, tally, replay, new ReplayModel(modelConfig(config), fault));
    for (let k = 0; k < config.selectorsAtFirst; k++) run.#addSelector();
    run.#makeHindsight();
    return run;
  }

  [Symbol.dispose](): void {
    this.#replay[Symbol.dispose]();
  }

  async step(operation: Operation): Promise<void> {
    this.#tally.operations++;
    switch (operation.do) {
      case "newEpisode":
        return this.#newEpisode(operation.actor);
      case "record":
        return this.#record(operation);
      case "recordMany":
        return this.#recordMany(operation);
      case "recordBatch":
        return this.#recordBatch(operation);
      case "recordStep":
        return this.#recordStep(operation);
      case "endEpisode":
        return this.#endEpisode(operation);
      case "getBatch":
        return this.#getBatch(operation);
      case "setPriority":
        return this.#setPriority(operation);
      case "evict":
        return this.#evict(operation);
      case "drain":
        return this.#drain(operation);
      case "relabel":
        return this.#relabel(operation);
      case "addSelector":
        return this.#addSelector();
      case "save":
        return await this.#save();
      case "load":
        return await this.#load(operation);
      case "refused":
        return await this.#refused(operation);
    }
  }

  /** Everything that can be seen without changing anything. */
  compare(deep: boolean): void {
    const [replay, model] = [this.#replay, this.#model];
    same("episodeCount", replay.episodeCount, model.episodeCount);
    same("recordCount", replay.recordCount, model.recordCount);
    same("pickCount", replay.pickCount, model.pickCount);
    const id = this.#tap.liveId;
    const info = this.#tap.info(id);
    same("the next handle", info.nextHandle, model.nextHandle);
    same("the count of all records", info.recordedCount, model.recordedCount);
    same("the count of evictions", info.evictedCount, model.evictedCount);
    same("the bytes stored", info.storedBytes, model.storedBytes);
    const handles = model.handles;
    sameNumbers("episodes()", replay.episodes(), handles);
    for (let table = 0; table < model.tableCount; table++) {
      const expected = model.picks(table);
      same(`pickCount of ${table}`, replay.pickTables[table]?.pickCount, expected.length);
      const picks = this.#tap.picks(id, table, expected.length);
      const where = `the picks of table ${table}`;
      sameNumbers(`${where}: episodes`, picks.episodes, expected.map((pick) => pick.episode));
      sameNumbers(`${where}: positions`, picks.positions, expected.map((pick) => pick.position));
    }
    if (!deep) return;
    for (const handle of [...handles, ...this.#actors.values()]) {
      const [seen, expected] = [replay.episode(handle), model.episode(handle)];
      same(`the state of episode ${handle}`, seen.state, expected.state);
      same(`the records of episode ${handle}`, seen.recordCount, expected.recordCount);
    }
    this.#compareEpisode(handles.at(-1));
    same("the invariant that broke", this.#tap.check(id), 0);
  }

  #newEpisode(actor: number): void {
    const handle = this.#replay.newEpisode();
    same("newEpisode()", handle, this.#model.newEpisode());
    this.#actors.set(actor, handle);
  }

  #record(operation: Operation & { do: "record" }): void {
    const { config } = this.#program;
    const values = new Values(operation.data);
    const make = (spec: ColumnSpec): { value: unknown; bytes: Uint8Array } =>
      values.column(spec, operation.plain);
    const [state, action, reward, finalState] = [
      make(config.state),
      make(config.action),
      make(config.reward),
      make(config.state),
    ];
    const extras = Object.entries(config.extras).map(([name, spec]) => [name, make(spec)] as const);
    const columns = [state, action, reward, ...extras.map(([, made]) => made)];
    const ends = operation.end !== "no";
    const handle = this.#actors.get(operation.actor) ?? 0;
    const options = {
      ...(extras.length > 0
        ? { extras: Object.fromEntries(extras.map(([name, made]) => [name, made.value])) }
        : {}),
      ...(ends ? { finalState: finalState.value } : {}),
      ...(operation.end === "truncated" ? { truncated: true } : {}),
      ...(operation.priority ? { priority: priorityOf(values) } : {}),
    };
    const before = this.#model.evictedCount;
    const outcome = this.#both(
      () =>
        this.#replay.record(
          handle,
          state.value as number,
          action.value as number,
          reward.value as number,
          options as Record<never, never>,
        ),
      () =>
        this.#model.record(
          handle,
          columns.map(({ bytes }) => bytes),
          ends ? finalState.bytes : undefined,
          operation.end === "truncated" ? "truncated" : "terminated",
          options.priority,
        ),
    );
    if (outcome === undefined) return;
    same("record()", outcome.actual, outcome.expected);
    this.#tally.evictions += this.#model.evictedCount - before;
    const old = this.#model.episode(handle);
    if (outcome.actual !== handle && old.state !== "evicted") this.#tally.cuts++;
    this.#actors.set(operation.actor, outcome.actual);
  }

  /** Values of `count` steps, as the library takes them and, by step, as the model does. */
  #steps(
    values: Values,
    count: number,
    plain: boolean,
  ): { columns: Record<string, unknown>; bytes: Uint8Array[][] } {
    const { config } = this.#program;
    const make = (spec: ColumnSpec): { value: unknown; bytes: Uint8Array[] } =>
      values.columns(spec, count, plain);
    const [state, action, reward] = [make(config.state), make(config.action), make(config.reward)];
    const extras = Object.entries(config.extras).map(([name, spec]) => [name, make(spec)] as const);
    const all = [state, action, reward, ...extras.map(([, made]) => made)];
    return {
      columns: {
        state: state.value,
        action: action.value,
        reward: reward.value,
        ...(extras.length > 0
          ? { extras: Object.fromEntries(extras.map(([name, made]) => [name, made.value])) }
          : {}),
      },
      bytes: Array.from(
        { length: count },
        (_, k) => all.map(({ bytes }) => bytes[k] ?? new Uint8Array()),
      ),
    };
  }

  #recordMany(operation: Operation & { do: "recordMany" }): void {
    const { actor, count, data, end, plain, priority } = operation;
    const values = new Values(data);
    const { columns, bytes } = this.#steps(values, count, plain);
    const priorities = priority
      ? Array.from({ length: count }, () => priorityOf(values))
      : undefined;
    const final = values.column(this.#program.config.state, plain);
    const ends = end !== "no";
    const handle = this.#actors.get(actor) ?? 0;
    const before = this.#model.evictedCount;
    const steps = {
      ...columns,
      ...(ends ? { finalState: final.value } : {}),
      ...(end === "truncated" ? { truncated: true } : {}),
      ...(priorities && { priority: plain ? priorities : Float64Array.from(priorities) }),
    };
    const outcome = this.#both(
      () => this.#replay.recordMany(handle, steps as Parameters<AnyReplay["recordMany"]>[1]),
      () =>
        this.#model.recordMany(
          handle,
          bytes,
          ends ? final.bytes : undefined,
          ends ? end : undefined,
          priorities,
        ),
    );
    if (outcome === undefined) return;
    same("recordMany()", outcome.actual, outcome.expected);
    this.#tally.evictions += this.#model.evictedCount - before;
    this.#actors.set(actor, outcome.actual);
  }

  #recordBatch(operation: Operation & { do: "recordBatch" }): void {
    const { count, data, endOneIn, plain, priority } = operation;
    const values = new Values(data);
    const priorities = priority
      ? Array.from({ length: count }, () => priorityOf(values))
      : undefined;
    const { columns, bytes } = this.#steps(values, count, plain);
    const next = values.columns(this.#program.config.state, count, plain);
    const done = Array.from({ length: count }, () => values.below(endOneIn) === 0);
    const cut = Array.from({ length: count }, () => values.below(2 * endOneIn) === 0);
    const handles = Array.from({ length: count }, (_, actor) => this.#actors.get(actor) ?? 0);
    const given = Float64Array.from(handles);
    const steps = {
      ...columns,
      nextState: next.value,
      terminated: plain ? done : Uint8Array.from(done, Number),
      truncated: plain ? cut.map(Number) : Uint8Array.from(cut, Number),
      ...(priorities && { priority: plain ? priorities : Float64Array.from(priorities) }),
    };
    const ends = next.bytes.map((finalState, k) => {
      if (!done[k] && !cut[k]) return undefined;
      return { finalState, ending: done[k] ? "terminated" as const : "truncated" as const };
    });
    const before = this.#model.evictedCount;
    const outcome = this.#both(
      () => this.#replay.recordBatch(given, steps as Parameters<AnyReplay["recordBatch"]>[1]),
      () => this.#model.recordBatch(handles, bytes, ends, priorities),
    );
    if (outcome === undefined) return sameNumbers("the handles of a refused batch", given, handles);
    sameNumbers("recordBatch()", given, outcome.expected);
    same("the count of those done", outcome.actual, ends.filter((end) => end !== undefined).length);
    this.#tally.evictions += this.#model.evictedCount - before;
    for (const [actor, handle] of given.entries()) this.#actors.set(actor, handle);
  }

  #recordStep(operation: Operation & { do: "recordStep" }): void {
    const { config } = this.#program;
    const { actor, data, terminated, truncated, plain } = operation;
    const values = new Values(data);
    const make = (spec: ColumnSpec): { value: unknown; bytes: Uint8Array } =>
      values.column(spec, plain);
    const [state, action, reward, next] = [
      make(config.state),
      make(config.action),
      make(config.reward),
      make(config.state),
    ];
    const extras = Object.entries(config.extras).map(([name, spec]) => [name, make(spec)] as const);
    const columns = [state, action, reward, ...extras.map(([, made]) => made)];
    const options = {
      ...(extras.length > 0
        ? { extras: Object.fromEntries(extras.map(([name, made]) => [name, made.value])) }
        : {}),
      ...(operation.priority ? { priority: priorityOf(values) } : {}),
    };
    const handle = this.#actors.get(actor) ?? 0;
    const ends = terminated || truncated;
    const outcome = this.#both(
      () =>
        this.#replay.recordStep(
          handle,
          state.value as number,
          action.value as number,
          reward.value as number,
          terminated,
          truncated,
          next.value as number,
          options as Record<never, never>,
        ),
      () => {
        const after = this.#model.record(
          handle,
          columns.map(({ bytes }) => bytes),
          ends ? next.bytes : undefined,
          terminated ? "terminated" : "truncated",
          options.priority,
        );
        return ends ? this.#model.newEpisode() : after;
      },
    );
    if (outcome === undefined) return;
    same("recordStep()", outcome.actual, outcome.expected);
    this.#actors.set(actor, outcome.actual);
  }

  #endEpisode({ actor, data, truncated, plain }: Operation & { do: "endEpisode" }): void {
    const final = new Values(data).column(this.#program.config.state, plain);
    const handle = this.#actors.get(actor) ?? 0;
    const outcome = this.#both(
      () => this.#replay.endEpisode(handle, { finalState: final.value as number, truncated }),
      () => this.#model.endEpisode(handle, final.bytes, truncated ? "truncated" : "terminated"),
    );
    if (outcome !== undefined) same("endEpisode()", outcome.actual, outcome.expected);
  }

  #getBatch(operation: Operation & { do: "getBatch" }): void {
    const selector = this.#selectors[operation.selector];
    if (selector === undefined) return;
    const { size, beta } = operation;
    let into: AnyBatch | undefined;
    const spare = this.#spares.get(selector.table);
    if (operation.into && spare?.size === size) {
      // Whatever the batch held must be written over.
      into = spare;
      into.bytes.fill(0xa5);
      this.#held = this.#held.filter(({ batch }) => batch !== into);
    }
    const outcome = this.#both(
      () => {
        const options = {
          ...(beta === undefined ? {} : { beta }),
          ...(into === undefined ? {} : { into }),
        };
        return this.#replay.getBatch(size, selector, options);
      },
      (batch) => this.#model.getBatch(selector.id, size, beta ?? 1, batch),
    );
    if (outcome === undefined) return;
    const { actual, expected } = outcome;
    if (into !== undefined) same("the batch given as into", actual, into);
    this.#compareBatch(actual, expected);
    this.#checkHeld();
    const { config } = this.#program;
    const policy = config.tables[selector.table - 1] ?? config.pick;
    const held = { batch: actual, bytes: actual.bytes.slice(), policy };
    this.#spares.set(selector.table, actual);
    const all = [...this.#held, held];
    this.#held = all.slice(-HELD_MAX);
    const spares = new Set(this.#spares.values());
    for (const { batch } of all.slice(0, -HELD_MAX)) {
      if (spares.has(batch)) continue;
      // A later batch has its memory, and must write over all of it.
      batch.bytes.fill(0xa5);
      batch[Symbol.dispose]();
    }
    this.#tally.batches++;
    this.#tally.picksCompared += size;
  }

  #compareBatch(actual: AnyBatch, expected: ModelBatch): void {
    sameNumbers("pickEpisode", actual.pickEpisode, expected.pickEpisode);
    sameNumbers("pickPosition", actual.pickPosition, expected.pickPosition);
    sameNumbers("seqLen", actual.seqLen, expected.seqLen);
    sameNumbers("nextSeqLen", actual.nextSeqLen, expected.nextSeqLen);
    sameNumbers("discount", actual.discount, expected.discount);
    sameNumbers("probability", actual.probability, expected.probability, expected.tolerance);
    sameNumbers(
      "importanceWeight",
      actual.importanceWeight,
      expected.importanceWeight,
      4 * expected.tolerance,
    );
    this.#sameColumns("the batch's", actual, expected.columns);
    sameBytes("nextState", actual.nextState, expected.nextState);
    sameNumbers("learnMask", actual.learnMask, expected.learnMask);
    sameNumbers("contextMask", actual.contextMask, expected.contextMask);
    same("the count of n-step returns", actual.nStep.length, expected.nStep.length);
    for (const [k, part] of expected.nStep.entries()) {
      const seen = actual.nStep[k];
      if (seen === undefined) throw new Error(`the batch has no n-step return ${k}`);
      sameRewards(`nStep[${k}].reward`, seen.reward, part.reward);
      sameNumbers(`nStep[${k}].discount`, seen.discount, part.discount);
      sameBytes(`nStep[${k}].nextState`, seen.nextState, part.state);
    }
  }

  /** No call may change a batch that was drawn before. */
  #checkHeld(): void {
    for (const { batch, bytes } of this.#held) {
      sameBytes("a batch drawn before", batch.bytes, bytes);
    }
  }

  #setPriority(operation: Operation & { do: "setPriority" }): void {
    const selector = this.#selectors[operation.selector];
    if (selector === undefined) return;
    const values = new Values(operation.data);
    const episodes: number[] = [];
    const positions: number[] = [];
    const held = this.#held[values.below(Math.max(1, this.#held.length))];
    const picks = this.#model.picks(selector.table);
    for (let k = 0; k < operation.count; k++) {
      const nth = values.below(1 << 20);
      const pick = picks[nth % Math.max(1, picks.length)];
      if (operation.of === "batch" && held !== undefined) {
        const at = nth % held.batch.size;
        episodes.push(held.batch.pickEpisode[at] ?? NaN);
        positions.push(held.batch.pickPosition[at] ?? NaN);
      } else if (operation.of === "table" && pick !== undefined) {
        episodes.push(pick.episode);
        positions.push(pick.position);
      } else if (this.#model.nextHandle > 0) {
        episodes.push(nth % this.#model.nextHandle);
        positions.push(values.below(12));
      }
    }
    // A batch of before a load may name handles that were not given out yet.
    const priorities = episodes.map(() => priorityOf(values));
    const given = operation.float32 ? Float32Array.from(priorities) : Float64Array.from(priorities);
    const plain = values.below(3) === 0;
    const outcome = this.#both(
      () =>
        this.#replay.setPriority(
          selector,
          plain ? episodes : Float64Array.from(episodes),
          plain ? positions : Int32Array.from(positions),
          given,
        ),
      () => this.#model.setPriority(selector.id, episodes, positions, Array.from(given)),
    );
    if (outcome !== undefined) same("setPriority()", outcome.actual, outcome.expected);
  }

  #evict(operation: Operation & { do: "evict" }): void {
    const handles = this.#model.handles;
    const nth = operation.nth % Math.max(1, handles.length);
    const handle = operation.gone
      ? operation.nth % Math.max(1, this.#model.nextHandle)
      : handles[nth] ?? 0;
    const outcome = this.#both(
      () => this.#replay.evict(handle),
      () => this.#model.evict(handle),
    );
    if (outcome !== undefined) same("evict()", outcome.actual, outcome.expected);
  }

  #drain({ steps, exactly, keep }: Operation & { do: "drain" }): void {
    // A limit of bytes may have lowered the capacity.
    const asked = Math.min(steps, this.#model.capacity);
    const request = {
      ...(steps === 0 ? {} : exactly ? { steps: asked } : { minSteps: asked }),
      keep,
    };
    const outcome = this.#both(
      () => this.#replay.drain(request),
      () => this.#model.drain(request),
    );
    if (outcome === undefined) return;
    const { actual, expected } = outcome;
    sameNumbers("the drained episodes", actual.episode, expected.episode);
    sameNumbers("the drained positions", actual.position, expected.position);
    sameNumbers("the drained seqLen", actual.seqLen, expected.seqLen);
    sameNumbers("the drained discount", actual.discount, expected.discount);
    sameNumbers("the drained terminated", actual.terminated, expected.terminated);
    sameNumbers("the drained truncated", actual.truncated, expected.truncated);
    this.#sameColumns("the drained", actual, expected.columns);
    sameBytes("the drained lastNextState", actual.lastNextState, expected.lastNextState);
    sameBytes("the drained nextState", actual.nextState, expected.nextState);
    // Where too few are ready, a drain need not have looked for what was lost.
    if (actual.size > 0) same("the lost steps", actual.lost, expected.lost);
    this.#tally.stepsDrained += actual.size;
    this.#tally.stepsLost += actual.size > 0 ? actual.lost : 0;
  }

  #makeHindsight(): void {
    const { hindsight, state, reward } = this.#program.config;
    const width = elementCount(reward);
    if (hindsight === undefined) return;
    const { strategy, share, inState } = hindsight;
    const size = elementCount(state);
    this.#hindsight = this.#replay.newHindsight({
      achieved: inState === undefined ? "mask" : { state: [0, inState] },
      desired: inState === undefined ? "goal" : { state: [size - inState, size] },
      strategy,
      share,
      reward: (achieved, desired, { count }) => {
        this.#asked.push({ achieved, desired });
        const answers = Array.from({ length: count }, (_, k) => answerOf(k));
        return {
          reward: answers.flatMap(({ reward }) => new Array<number>(width).fill(reward)),
          terminated: answers.map(({ terminated }) => terminated),
        };
      },
    });
  }

  #relabel({ nth }: Operation & { do: "relabel" }): void {
    const { hindsight: spec, extras } = this.#program.config;
    const held = this.#held[nth % Math.max(1, this.#held.length)];
    const hindsight = this.#hindsight;
    if (spec === undefined || hindsight === undefined || held === undefined) return;
    const { batch, policy } = held;
    this.#asked = [];
    const { inState } = spec;
    if (!canRelabel(policy, inState !== undefined)) {
      let refusal: unknown;
      try {
        hindsight.relabel(batch);
      } catch (error) {
        refusal = error;
      }
      same("what can't be relabelled is refused", refusal instanceof TypeError, true);
      return this.#checkHeld();
    }
    const picks = Array.from({ length: batch.size }, (_, k) => ({
      episode: batch.pickEpisode[k] ?? NaN,
      position: batch.pickPosition[k] ?? NaN,
      rows: realRows(policy, batch, k),
      isKnown: batch.nextSeqLen[k] === batch.seqLen[k],
    }));
    const column = inState === undefined ? 3 + Object.keys(extras).indexOf("mask") : 0;
    const goalBytes = inState === undefined ? undefined : inState * batch.state.BYTES_PER_ELEMENT;
    const outcome = this.#both(
      () => hindsight.relabel(batch),
      () => this.#model.chooseGoals(spec, picks, column, (row) => row.slice(0, goalBytes)),
    );
    // What was refused has changed nothing, which is looked at with the other batches.
    if (outcome === undefined) return this.#checkHeld();
    const { actual, expected } = outcome;
    const goal = (k: number): ModelGoal & object | undefined => {
      const chosen = expected[k];
      return typeof chosen === "object" ? chosen : undefined;
    };
    const each = [...picks.keys()];
    sameNumbers("the relabelled", actual.mask, each.map((k) => goal(k) === undefined ? 0 : 1));
    sameNumbers("the goals' episodes", actual.goalEpisode, each.map((k) => goal(k)?.episode ?? -1));
    sameNumbers(
      "the goals' positions",
      actual.goalPosition,
      each.map((k) => goal(k)?.position ?? -1),
    );
    same(
      "those who kept theirs",
      actual.keptCount,
      expected.filter((one) => one === "kept").length,
    );

    const due = expectRelabelled(this.#program.config, held, each.map(goal));
    sameBytes("a relabelled batch", batch.bytes, due.bytes);
    same("the calls for rewards", this.#asked.length, due.asked > 0 ? 1 : 0);
    for (const { achieved, desired } of this.#asked) {
      sameBytes("the achieved goals", achieved, due.achieved);
      sameBytes("the desired goals", desired, due.desired);
    }
    this.#held = this.#held.map((one) => one === held ? { ...held, bytes: due.bytes } : one);
    this.#tally.picksRelabelled += actual.count;
  }

  #sameColumns(
    what: string,
    actual: Pick<AnyBatch, "state" | "action" | "reward" | "extras">,
    expected: readonly Uint8Array[],
  ): void {
    const extras = Object.keys(this.#program.config.extras).map((name) => actual.extras[name]);
    const views = [actual.state, actual.action, actual.reward, ...extras];
    for (const [k, bytes] of expected.entries()) {
      const view = views[k];
      if (view === undefined) throw new Error(`${what} has no column ${k}`);
      sameBytes(`${what} column ${k}`, view, bytes);
    }
  }

  #compareEpisode(handle: number | undefined): void {
    if (handle === undefined) return;
    const actual = this.#replay.episodeRecords(handle);
    const expected = this.#model.episodeRecords(handle);
    same("the ending of an episode", actual.ending, this.#model.episode(handle).state);
    this.#sameColumns("an episode's", actual, expected.columns);
    same("a final state", actual.finalState !== undefined, expected.finalState !== undefined);
    if (actual.finalState !== undefined && expected.finalState !== undefined) {
      sameBytes("the final state", actual.finalState, expected.finalState);
    }
  }

  #addSelector(): void {
    const { config } = this.#program;
    const spec = config.selectors[this.#selectors.length];
    if (spec === undefined) return;
    const table = config.selectorTables[this.#selectors.length] ?? 0;
    const selector = this.#addTo(this.#replay, table, spec);
    while (this.#model.tableCount <= table) {
      this.#model.newPickTable(config.tables[this.#model.tableCount - 1] ?? config.pick);
    }
    same("the selector's number", selector.id, this.#model.newPickSelector(spec, table));
    same("the selector's table", selector.table, table);
    this.#selectors.push(selector);
  }

  /** Adds a selector to a table of the library, which is made where it is not there yet. */
  #addTo(replay: AnyReplay, table: number, spec: SelectorSpec): Selector {
    const { config } = this.#program;
    while (replay.pickTables.length <= table) {
      replay.newPickTable(config.tables[replay.pickTables.length - 1] ?? config.pick);
    }
    const found = replay.pickTables[table];
    if (found === undefined) throw new Error(`the library has no pick table ${table}`);
    return found.newPickSelector(selectorRule(spec));
  }

  async #save(): Promise<void> {
    this.#saved = {
      bytes: await this.#replay.serialize(),
      model: this.#model.clone(),
      actors: new Map(this.#actors),
      selectors: this.#selectors.length,
    };
  }

  async #load(operation: Operation & { do: "load" }): Promise<void> {
    const saved = this.#saved;
    if (saved === undefined) return;
    if (saved.selectors < this.#selectors.length) {
      // A selector came since: the snapshot does not fit, and nothing changes.
      await refusedWith(() => this.#replay.unserialize(saved.bytes), "snapshot-mismatch");
      return;
    }
    if (operation.fresh) {
      const { config } = this.#program;
      const fresh = await createReplay(config, 1, operation.blockLength);
      const specs = config.selectors.slice(0, saved.selectors);
      this.#replay[Symbol.dispose]();
      this.#replay = fresh;
      this.#makeHindsight();
      this.#selectors = specs.map((spec, k) =>
        this.#addTo(fresh, config.selectorTables[k] ?? 0, spec)
      );
    }
    await this.#replay.unserialize(saved.bytes);
    this.#model = saved.model.clone();
    this.#actors = new Map(saved.actors);
    this.#tally.loads++;
  }

  async #refused(operation: Operation & { do: "refused" }): Promise<void> {
    const [selector] = this.#selectors;
    if (selector === undefined) return;
    const calls = refusedCalls({
      replay: this.#replay,
      model: this.#model,
      config: this.#program.config,
      selector,
      values: new Values(operation.data),
      snapshot: this.#saved?.bytes,
    });
    const chosen = calls[operation.call % calls.length];
    if (chosen === undefined) return;
    // That nothing changed is for the comparison after this step to see.
    await refusedWith(chosen.call, chosen.refusal);
    this.#tally.refusals++;
  }

  /** Calls the library, then the model: both succeed or both refuse, with the same code. */
  #both<A, E>(actual: () => A, expected: (actual: A) => E): { actual: A; expected: E } | undefined {
    let refusal: unknown;
    let result: { value: A } | undefined;
    try {
      result = { value: actual() };
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      refusal = error;
    }
    try {
      // A refused call has no value to follow; the model refuses before it would look.
      const made = expected(result?.value as A);
      if (result === undefined) throw refusal;
      return { actual: result.value, expected: made };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (refusal === undefined) {
        throw new Error(`the library accepted what the model refuses: ${error.message}`);
      }
      same("the error's code", refusal instanceof ReplayError ? refusal.code : "", error.code);
      return undefined;
    }
  }
}
