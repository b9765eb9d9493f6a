/**
 * Runs a program on the model and on the library at once and compares everything that can be seen after each step.
 *
 * @module
 */

import type { Selector } from "@exrp/replay";
import { compareBatch, compareDrained, compareSides } from "./comparisons.ts";
import { chooseChanges, shownRecords } from "./changes.ts";
import type { Fault } from "./faults.ts";
import type { KernelTap } from "./kernel_tap.ts";
import {
  type AnyBatch,
  type AnyReplay,
  createReplay,
  modelConfig,
  numbersPriorities,
  reopenReplay,
  selectorRule,
} from "./library_subject.ts";
import type { Operation, Program } from "./program.ts";
import {
  endEpisode,
  newEpisode,
  record,
  recordBatch,
  recordFlat,
  recordMany,
  recordStep,
} from "./record_operations.ts";
import { leafSpecs } from "./program_config.ts";
import { refusedCalls, refusedWith } from "./refused_calls.ts";
import { Relabelling } from "./relabelling.ts";
import { ReplayModel } from "./replay_model.ts";
import { same, sameBytes, sameNumbers } from "./same.ts";
import type { SelectorSpec } from "./selector_specs.ts";
import { both, emptyTally, type Held, type Sides, type Tally } from "./sides.ts";
import { leafView } from "./state_leaves.ts";
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

/** The kernel's invariants are asked for after this many operations. */
const CHECK_EVERY = 8;

type Options = { fault?: Fault; tally?: Tally; folder?: string; isShared?: boolean };

/** Runs a program; throws a {@linkcode Mismatch} where the model and the library part. */
export async function runProgram(
  program: Program,
  tap: KernelTap,
  options: Options = {},
): Promise<void> {
  using run = await Run.begin(program, tap, options);
  for (const [step, operation] of program.operations.entries()) {
    try {
      await run.step(operation);
      run.compare(step, step % CHECK_EVERY === 0 || step === program.operations.length - 1);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Mismatch(step, `step ${step}, ${JSON.stringify(operation)}: ${reason}`, cause);
    }
  }
}

const HELD_MAX = 3;

interface Saved {
  readonly bytes: Uint8Array;
  readonly model: ReplayModel;
  readonly actors: Map<number, number>;
  readonly selectors: number;
}

function relabellingOf(sides: Sides): Relabelling | undefined {
  const { hindsight } = sides.config;
  return hindsight === undefined ? undefined : new Relabelling(sides, hindsight);
}

class Run implements Disposable {
  readonly #tap: KernelTap;
  readonly #sides: Sides;
  #selectors: Selector[] = [];
  #held: Held[] = [];
  #saved: Saved | undefined;
  /** The latest batch of each pick view. */
  #spares = new Map<number, AnyBatch>();
  #relabelling: Relabelling | undefined;

  private constructor(tap: KernelTap, sides: Sides) {
    this.#tap = tap;
    this.#sides = sides;
  }

  static async begin(program: Program, tap: KernelTap, options: Options): Promise<Run> {
    const { fault, tally = emptyTally(), folder, isShared = false } = options;
    const { config } = program;
    const replay = await createReplay(config, config.seed, config.blockLength, folder);
    if (isShared) replay.share();
    const model = new ReplayModel(modelConfig(config), fault);
    const run = new Run(tap, { folder, isShared, config, tally, replay, model, actors: new Map() });
    for (let k = 0; k < config.selectorsAtFirst; k++) run.#addSelector();
    run.#relabelling = relabellingOf(run.#sides);
    return run;
  }

  [Symbol.dispose](): void {
    this.#sides.replay[Symbol.dispose]();
  }

  async step(operation: Operation): Promise<void> {
    const { model, tally } = this.#sides;
    const before = model.trimmedCount;
    await this.#do(operation);
    tally.operations++;
    tally.trims += model.trimmedCount - before;
  }

  async #do(operation: Operation): Promise<void> {
    switch (operation.do) {
      case "newEpisode":
        return newEpisode(this.#sides, operation);
      case "record":
        return record(this.#sides, operation);
      case "recordMany":
        return recordMany(this.#sides, operation);
      case "recordBatch":
        return recordBatch(this.#sides, operation);
      case "recordFlat":
        return recordFlat(this.#sides, operation);
      case "recordStep":
        return recordStep(this.#sides, operation);
      case "endEpisode":
        return endEpisode(this.#sides, operation);
      case "getBatch":
        return this.#getBatch(operation);
      case "setPriority":
        return this.#setPriority(operation);
      case "update":
        return this.#update(operation);
      case "updateBatch":
        return this.#updateBatch(operation);
      case "getPriority":
        return await this.#getPriority(operation);
      case "evict":
        return this.#evict(operation);
      case "clear":
        this.#sides.replay.clear();
        return this.#sides.model.clear();
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
  compare(step: number, deep: boolean): void {
    compareSides(this.#sides, this.#tap, step, deep);
  }

  #getBatch(operation: Operation & { do: "getBatch" }): void {
    const selector = this.#selectors[operation.selector];
    if (selector === undefined) return;
    const { size, beta } = operation;
    let into: AnyBatch | undefined;
    const spare = this.#spares.get(selector.view);
    if (operation.into && spare?.size === size) {
      // The call must overwrite the old contents of the batch.
      into = spare;
      into.bytes.fill(0xa5);
      this.#held = this.#held.filter(({ batch }) => batch !== into);
    }
    const outcome = both(
      () => {
        const options = {
          ...(beta === undefined ? {} : { beta }),
          ...(into === undefined ? {} : { into }),
        };
        return this.#sides.replay.getBatch(size, selector, options);
      },
      (batch) => this.#sides.model.getBatch(selector.id, size, beta ?? 1, batch),
    );
    if (outcome === undefined) return;
    const { actual, expected } = outcome;
    if (into !== undefined) same("the batch given as into", actual, into);
    compareBatch(this.#sides, actual, expected);
    this.#checkHeld();
    const { config } = this.#sides;
    const policy = config.views[selector.view - 1] ?? config.pick;
    const { replay } = this.#sides;
    const held = { batch: actual, bytes: actual.bytes.slice(), policy, replay };
    this.#spares.set(selector.view, actual);
    const all = [...this.#held, held];
    this.#held = all.slice(-HELD_MAX);
    const spares = new Set(this.#spares.values());
    for (const { batch } of all.slice(0, -HELD_MAX)) {
      if (spares.has(batch)) continue;
      // A later batch has its memory, and must write over all of it.
      batch.bytes.fill(0xa5);
      batch[Symbol.dispose]();
    }
    this.#sides.tally.batches++;
    this.#sides.tally.picksCompared += size;
    if (policy.transform !== undefined) this.#sides.tally.picksTransformed += size;
  }

  /** No call may change a batch that was drawn before. */
  #checkHeld(): void {
    for (const { batch, bytes } of this.#held) {
      sameBytes("a batch drawn before", batch.bytes, bytes);
    }
  }

  #setPriority(operation: Operation & { do: "setPriority" }): void {
    const { replay, model } = this.#sides;
    const selector = this.#selectors[operation.selector];
    if (selector === undefined) return;
    const values = new Values(operation.data);
    const { episodes, positions } = this.#choosePicks(operation, selector.view, values);
    // A batch of before a load may name handles that were not given out yet.
    const priorities = episodes.map(() => priorityOf(values));
    const given = operation.float32 ? Float32Array.from(priorities) : Float64Array.from(priorities);
    const plain = values.below(3) === 0;
    const outcome = both(
      () =>
        replay.setPriority(
          selector,
          plain ? episodes : Float64Array.from(episodes),
          plain ? positions : Int32Array.from(positions),
          given,
        ),
      () => model.setPriority(selector.id, episodes, positions, Array.from(given)),
    );
    if (outcome !== undefined) same("setPriority()", outcome.actual, outcome.expected);
  }

  #update(operation: Operation & { do: "update" }): void {
    const values = new Values(operation.data);
    const { episodes, positions } = this.#choosePicks(operation, 0, values);
    if (episodes.length === 0) return;
    const { columns, changes } = chooseChanges(
      this.#sides.config,
      values,
      episodes.length,
      operation.plain,
    );
    this.#compareUpdate(
      () => this.#sides.replay.update(episodes, Int32Array.from(positions), columns as never),
      () => this.#sides.model.update(episodes, positions, changes),
    );
  }

  #updateBatch({ nth, data, plain }: Operation & { do: "updateBatch" }): void {
    const held = this.#held[nth % Math.max(1, this.#held.length)];
    // A batch of the replay before a load is refused, which another test checks.
    if (held === undefined || held.replay !== this.#sides.replay) return;
    const { batch, policy } = held;
    const values = new Values(data);
    const isFrames = leafSpecs(this.#sides.config).some((_, k) => {
      const { stack, stackCompact, nextState } = leafView(policy, k);
      return stack > 1 || stackCompact || nextState === "overlap";
    });
    const { columns, changes } = chooseChanges(
      this.#sides.config,
      values,
      batch.size * batch.length,
      plain,
      (k, every) => !(k === 0 && isFrames) && every === 1,
    );
    if (changes.size === 0) return;
    const { rows, episodes, positions } = shownRecords(batch, policy);
    const own = new Map([...changes].map(([column, all]) => [
      column,
      rows.map((row) => all[row] ?? new Uint8Array()),
    ]));
    this.#compareUpdate(
      () => this.#sides.replay.update(batch, columns as never),
      () => this.#sides.model.update(episodes, positions, own),
    );
  }

  #compareUpdate(actual: () => number, expected: () => number): void {
    const outcome = both(actual, expected);
    if (outcome === undefined) return;
    same("update()", outcome.actual, outcome.expected);
    this.#sides.tally.recordsUpdated += outcome.expected;
  }

  /** Picks of a batch that is held, of the pick view, or any. */
  #choosePicks(
    { of, count }: Operation & { do: "setPriority" | "getPriority" | "update" },
    view: number,
    values: Values,
  ): { readonly episodes: readonly number[]; readonly positions: readonly number[] } {
    const { model } = this.#sides;
    const episodes: number[] = [];
    const positions: number[] = [];
    const held = this.#held[values.below(Math.max(1, this.#held.length))];
    const picks = model.picks(view);
    for (let k = 0; k < count; k++) {
      const nth = values.below(1 << 20);
      const pick = picks[nth % Math.max(1, picks.length)];
      if (of === "batch" && held !== undefined) {
        const at = nth % held.batch.size;
        episodes.push(held.batch.pickEpisode[at] ?? NaN);
        positions.push(held.batch.pickPosition[at] ?? NaN);
      } else if (of === "view" && pick !== undefined) {
        episodes.push(pick.episode);
        positions.push(pick.position);
      } else if (model.nextHandle > 0) {
        episodes.push(nth % model.nextHandle);
        positions.push(values.below(12));
      }
    }
    return { episodes, positions };
  }

  async #getPriority(operation: Operation & { do: "getPriority" }): Promise<void> {
    const { replay, model, tally } = this.#sides;
    const selector = this.#selectors[operation.selector];
    if (selector === undefined) return;
    const values = new Values(operation.data);
    const { episodes, positions } = this.#choosePicks(operation, selector.view, values);
    const read = (): Float64Array => replay.getPriority(selector, episodes, positions);
    if (model.getPriority(selector.id, [], []) === undefined) {
      return await refusedWith(read, "TypeError");
    }
    const outcome = both(read, () => model.getPriority(selector.id, episodes, positions) ?? []);
    if (outcome === undefined) return;
    sameNumbers("getPriority()", outcome.actual, outcome.expected);
    tally.prioritiesRead += episodes.length;
  }

  #evict(operation: Operation & { do: "evict" }): void {
    const { replay, model } = this.#sides;
    const handles = model.handles;
    const nth = operation.nth % Math.max(1, handles.length);
    const handle = operation.gone
      ? operation.nth % Math.max(1, model.nextHandle)
      : handles[nth] ?? 0;
    const outcome = both(
      () => replay.evict(handle),
      () => model.evict(handle),
    );
    if (outcome !== undefined) same("evict()", outcome.actual, outcome.expected);
  }

  #drain({ steps, exactly, keep }: Operation & { do: "drain" }): void {
    const { replay, model, tally } = this.#sides;
    // A limit of bytes may have lowered the capacity.
    const asked = Math.min(steps, model.capacity);
    const request = {
      ...(steps === 0 ? {} : exactly ? { steps: asked } : { minSteps: asked }),
      keep,
    };
    const outcome = both(
      () => replay.drain(request),
      () => model.drain(request),
    );
    if (outcome === undefined) return;
    const { actual, expected } = outcome;
    compareDrained(this.#sides, actual, expected);
    same("the lost steps", actual.lost, expected.lost);
    tally.stepsDrained += actual.size;
    tally.stepsLost += actual.lost;
  }

  #relabel({ nth }: Operation & { do: "relabel" }): void {
    const held = this.#held[nth % Math.max(1, this.#held.length)];
    if (this.#relabelling === undefined || held === undefined) return;
    const bytes = this.#relabelling.relabel(held);
    // A refused call changes nothing. The comparison of the other batches checks this.
    if (bytes === undefined) return this.#checkHeld();
    this.#held = this.#held.map((one) => one === held ? { ...held, bytes } : one);
  }

  #addSelector(): void {
    const { config, replay, model } = this.#sides;
    const spec = config.selectors[this.#selectors.length];
    if (spec === undefined) return;
    const view = config.selectorTables[this.#selectors.length] ?? 0;
    const selector = this.#addTo(replay, view, spec);
    while (model.tableCount <= view) {
      model.newPickView(config.views[model.tableCount - 1] ?? config.pick);
    }
    same("the selector's number", selector.id, model.newPickSelector(spec, view));
    same("the selector's view", selector.view, view);
    this.#selectors.push(selector);
  }

  /** Adds a selector to a view of the library, which is made where it is not there yet. */
  #addTo(replay: AnyReplay, view: number, spec: SelectorSpec): Selector {
    const { config } = this.#sides;
    while (replay.pickViews.length <= view) {
      replay.newPickView(config.views[replay.pickViews.length - 1] ?? config.pick);
    }
    const found = replay.pickViews[view];
    if (found === undefined) throw new Error(`the library has no pick view ${view}`);
    return found.newPickSelector(selectorRule(spec));
  }

  async #save(): Promise<void> {
    if (this.#sides.folder !== undefined) return await this.#sides.replay.flush();
    this.#saved = {
      bytes: await this.#sides.replay.serialize(),
      model: this.#sides.model.clone(),
      actors: new Map(this.#sides.actors),
      selectors: this.#selectors.length,
    };
  }

  /** The durable replay goes, and comes back from its folder. */
  async #reopen(folder: string, hasOptions: boolean): Promise<void> {
    const { config, tally } = this.#sides;
    const before = await this.#sides.replay.serialize();
    this.#sides.replay[Symbol.dispose]();
    this.#sides.replay = await reopenReplay(config, folder, hasOptions);
    if (!numbersPriorities(config)) {
      const after = await this.#sides.replay.serialize();
      sameBytes("the snapshot after it was opened again", after, before);
    }
    const { selectors } = this.#sides.replay;
    this.#selectors = this.#selectors.map(({ id }) => {
      const found = selectors[id];
      if (found === undefined) throw new Error(`the library has no selector ${id} any more`);
      return found;
    });
    this.#relabelling = relabellingOf(this.#sides);
    tally.loads++;
  }

  async #load(operation: Operation & { do: "load" }): Promise<void> {
    const { folder, isShared } = this.#sides;
    // A shared replay takes no snapshot.
    if (isShared) return;
    if (folder !== undefined) return await this.#reopen(folder, operation.fresh);
    const saved = this.#saved;
    if (saved === undefined) return;
    if (saved.selectors < this.#selectors.length) {
      // A selector came since: the snapshot does not fit, and nothing changes.
      await refusedWith(() => this.#sides.replay.unserialize(saved.bytes), "snapshot-mismatch");
      return;
    }
    if (operation.fresh) {
      const { config } = this.#sides;
      const fresh = await createReplay(config, 1, operation.blockLength);
      const specs = config.selectors.slice(0, saved.selectors);
      this.#sides.replay[Symbol.dispose]();
      this.#sides.replay = fresh;
      this.#relabelling = relabellingOf(this.#sides);
      this.#selectors = specs.map((spec, k) =>
        this.#addTo(fresh, config.selectorTables[k] ?? 0, spec)
      );
    }
    await this.#sides.replay.unserialize(saved.bytes);
    const blockLength = operation.fresh ? operation.blockLength : this.#sides.model.blockLength;
    this.#sides.model = saved.model.clone();
    this.#sides.model.blockLength = blockLength;
    this.#sides.actors = new Map(saved.actors);
    this.#sides.tally.loads++;
  }

  async #refused(operation: Operation & { do: "refused" }): Promise<void> {
    const { replay, model, config, tally } = this.#sides;
    const [selector] = this.#selectors;
    if (selector === undefined) return;
    const calls = refusedCalls({
      replay,
      model,
      config,
      selector,
      values: new Values(operation.data),
      snapshot: this.#saved?.bytes,
    });
    const chosen = calls[operation.call % calls.length];
    if (chosen === undefined) return;
    // That nothing changed is for the comparison after this step to see.
    await refusedWith(chosen.call, chosen.refusal);
    tally.refusals++;
  }
}
