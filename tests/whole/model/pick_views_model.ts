/**
 * Pick views and selectors, plain and slow. A view is an array of picks, and it tells its selectors every change.
 *
 * @module
 */

import type { AnyPickPolicy } from "@exrp/replay/types";
import { RandomStream } from "@exrp/replay/selectors";
import { joinBatches, keepByScore, type ModelBatch } from "./batch_model.ts";
import type { Draws, SelectorModel } from "./draws.ts";
import type { Fault } from "./faults.ts";
import { type ModelConfig, ModelError } from "./model_config.ts";
import { portablePow32 } from "./portable_math.ts";
import { selectorModel } from "./selector_models.ts";
import { type RunningStatistics, TransformsModel } from "./transforms_model.ts";
import { at } from "./weights.ts";
import {
  type ComposedSpec,
  isComposedSpec,
  partCounts,
  partsOf,
  type SelectorSpec,
} from "./selector_specs.ts";
import { type Episode, isPick, isWithin, join, type PickRows, pickRows } from "./window_model.ts";

/** A sequence that may be drawn. */
export interface Pick {
  readonly episode: number;
  readonly position: number;
}

/** The picks that the library drew, for selectors whose draws the model can only check. */
export interface SeenBatch {
  readonly pickEpisode: ArrayLike<number>;
  readonly pickPosition: ArrayLike<number>;
  readonly probability: ArrayLike<number>;
}

/** A selector, by itself or made of others, which are named by their ordinals. */
type SelectorOfTable = readonly [TableModel, SelectorModel | ComposedModel];

interface ComposedModel {
  readonly spec: ComposedSpec;
  readonly parts: readonly number[];
  readonly owed: number[];
  readonly random: RandomStream;
}

/** One pick view, and the selectors that draw from it. */
class TableModel {
  readonly policy: AnyPickPolicy;
  readonly picks: Pick[] = [];
  readonly selectors: SelectorModel[] = [];

  constructor(policy: AnyPickPolicy) {
    this.policy = policy;
  }

  push(pick: Pick, priority: number | undefined): void {
    this.picks.push(pick);
    for (const selector of this.selectors) {
      selector.pushed();
      if (priority !== undefined) selector.setPriority([this.picks.length - 1], [priority]);
    }
  }

  pop(): void {
    this.picks.pop();
    for (const selector of this.selectors) selector.popped();
  }

  indexOf(handle: number, position: number): number {
    return this.picks.findIndex((pick) => pick.episode === handle && pick.position === position);
  }
}

/** The parts of the replay that its views need. */
export interface TablesHost {
  /** The stored episodes by handle, oldest first. */
  readonly episodes: ReadonlyMap<number, Episode>;
  /** Refuses a handle that was never given out. */
  checkHandle(handle: number): void;
  /** Tells the eviction policy of picks that were drawn. */
  sampled(handles: readonly number[]): void;
  /** Tells the eviction policy of priorities. */
  prioritized(handles: readonly number[], priorities: readonly number[]): void;
}

/** The pick views and selectors of one replay. */
export class TablesModel {
  readonly #config: ModelConfig;
  readonly #host: TablesHost;
  readonly #fault: Fault | undefined;
  readonly #views: TableModel[] = [];
  /** The view and the rule of each selector, in order of creation. */
  readonly #selectors: SelectorOfTable[] = [];
  #transforms: TransformsModel;
  /** Streams of random numbers given out: rules of the kernel draw from streams 1, 2, ... of the seed. */
  #streams = 0;

  constructor(config: ModelConfig, host: TablesHost, fault?: Fault) {
    this.#config = config;
    this.#host = host;
    this.#fault = fault;
    this.#transforms = new TransformsModel(config, config.seed, fault);
    this.#views.push(new TableModel(config.pick));
    this.#transforms.addView(config.pick, []);
  }

  /** A record came. */
  recorded(row: readonly Uint8Array[]): void {
    this.#transforms.recorded(row);
  }
  /** The running statistics of a column. */
  statistics(column: number): RunningStatistics | undefined {
    return this.#transforms.statistics(column);
  }

  get tableCount(): number {
    return this.#views.length;
  }
  get selectorCount(): number {
    return this.#selectors.length;
  }
  /** The picks of a view. */
  picks(view: number): readonly Pick[] {
    return this.#view(view).picks;
  }

  /** A further pick view; the picks there are already come oldest episode first. */
  newPickView(policy: AnyPickPolicy): number {
    this.#views.push(new TableModel(policy));
    const stored = [...this.#host.episodes.values()].flatMap(({ records, first }) =>
      records.slice(first)
    );
    this.#transforms.addView(policy, stored);
    for (const episode of this.#host.episodes.values()) this.pushPicks(episode);
    return this.#views.length - 1;
  }

  newPickSelector(spec: SelectorSpec, ordinalOfTable = 0): number {
    const view = this.#view(ordinalOfTable);
    if (isComposedSpec(spec)) {
      const rules = partsOf(spec);
      const parts = rules.map((rule) => this.newPickSelector(rule, ordinalOfTable));
      const random = new RandomStream(this.#config.seed, this.#selectors.length);
      const owed = rules.map(() => 0);
      return this.#selectors.push([view, { spec, parts, owed, random }]) - 1;
    }
    const ordinal = this.#selectors.length;
    if (spec.kind !== "sweep") this.#streams++;
    const selector = selectorModel(spec, this.#config.seed, this.#streams, this.#fault);
    for (const [index, pick] of view.picks.entries()) {
      selector.pushed();
      const priority = this.#host.episodes.get(pick.episode)?.priorities[pick.position];
      if (priority !== undefined) selector.setPriority([index], [priority]);
    }
    view.selectors.push(selector);
    this.#selectors.push([view, selector]);
    return ordinal;
  }

  setPriority(
    ordinal: number,
    episodes: readonly number[],
    positions: readonly number[],
    priorities: readonly number[],
  ): number {
    const [view, selector] = this.#selector(ordinal);
    if ("parts" in selector) {
      const applied = selector.parts.map((part) =>
        this.setPriority(part, episodes, positions, priorities)
      );
      return Math.max(...applied);
    }
    for (const priority of priorities) {
      if (!(priority >= 0 && priority < Infinity)) {
        throw new ModelError("invalid-priority", `a priority of ${priority}`);
      }
    }
    for (const handle of episodes) this.#host.checkHandle(handle);
    const indices: number[] = [];
    const kept: number[] = [];
    for (const [k, handle] of episodes.entries()) {
      const index = view.indexOf(handle, positions[k] ?? -1);
      if (index < 0) continue;
      indices.push(index);
      kept.push(priorities[k] ?? NaN);
    }
    selector.setPriority(indices, kept, (index) => this.#picksBefore(view, index));
    const named = indices.map((index) => view.picks[index]?.episode ?? NaN);
    this.#host.prioritized(named, kept);
    return this.#fault === "evictedPicksCount" ? episodes.length : indices.length;
  }

  /** What a rule keeps of picks; of a rule made of others what the first part that knows it does. Undefined if none keeps any. */
  getPriority(
    ordinal: number,
    episodes: readonly number[],
    positions: readonly number[],
  ): number[] | undefined {
    const [view, selector] = this.#selector(ordinal);
    if ("parts" in selector) {
      const all = selector.parts.map((part) => this.getPriority(part, episodes, positions));
      const kept = all.filter((each) => each !== undefined);
      if (kept.length === 0) return undefined;
      return episodes.map((_, k) => kept.map((each) => at(each, k)).find(isKnown) ?? NaN);
    }
    if (selector.priority === undefined) return undefined;
    for (const handle of episodes) this.#host.checkHandle(handle);
    return episodes.map((handle, k) => {
      const index = view.indexOf(handle, positions[k] ?? -1);
      if (index < 0) return this.#fault === "goneHaveZero" ? 0 : NaN;
      return selector.priority?.(index) ?? NaN;
    });
  }

  /** A batch, or the part of one that begins with pick `first`. */
  getBatch(
    ordinal: number,
    count: number,
    beta: number,
    seen?: SeenBatch,
    first = 0,
  ): ModelBatch {
    const [view, selector] = this.#selector(ordinal);
    if (this.#fault !== "refusedPartsDraw" || !("parts" in selector)) {
      this.#checkDraw(ordinal, count);
    }
    if ("parts" in selector) return this.#compose(selector, count, beta, seen, first);
    const draws = selector.select(count, seen === undefined ? undefined : drawsOf(view, seen));
    const batch = this.#assemble(view, draws, first);
    this.#host.sampled(batch.pickEpisode);

    const least = selector.probabilityMin() || Math.min(...draws.probabilities);
    return {
      ...batch,
      tolerance: draws.tolerance ?? 0,
      probability: draws.probabilities.map(Math.fround),
      importanceWeight: draws.probabilities.map((probability) =>
        selector.weighted ? Math.fround(portablePow32(least / probability, beta)) : 1
      ),
    };
  }

  /** Refuses a batch that a rule, or any part of it, can't give. */
  #checkDraw(ordinal: number, count: number): void {
    const [view, selector] = this.#selector(ordinal);
    if (view.picks.length === 0) throw new ModelError("empty", "there is no pick");
    if (!("parts" in selector)) {
      if (count <= (selector.batchMax ?? Infinity)) return;
      throw new ModelError("batch-size", "there are fewer picks");
    }
    const { spec, parts, owed } = selector;
    const counts = spec.kind === "laber"
      ? [count * spec.factor]
      : partCounts(spec, count, [...owed]);
    for (const [k, size] of counts.entries()) {
      if (size > 0) this.#checkDraw(parts[k] ?? -1, size);
    }
  }

  #compose(
    { spec, parts, owed, random }: ComposedModel,
    count: number,
    beta: number,
    seen: SeenBatch | undefined,
    begin: number,
  ): ModelBatch {
    if (spec.kind === "laber") {
      const size = count * spec.factor;
      const candidates = this.getBatch(parts[0] ?? -1, size, beta);
      return keepByScore(candidates, size, count, spec.normalize, random, this.#fault);
    }
    const batches: ModelBatch[] = [];
    let first = 0;
    if (this.#fault === "mixtureForgetsOwed") owed.fill(0);
    for (const [k, size] of partCounts(spec, count, owed).entries()) {
      const own = (from: ArrayLike<number>): number[] =>
        Array.from(from).slice(first, first + size);
      const seenByPart = seen && {
        pickEpisode: own(seen.pickEpisode),
        pickPosition: own(seen.pickPosition),
        probability: own(seen.probability),
      };
      if (size > 0) {
        batches.push(this.getBatch(parts[k] ?? -1, size, beta, seenByPart, begin + first));
      }
      first += size;
    }
    return joinBatches(batches);
  }

  /** How many picks of the first pick view an episode has. */
  firstTablePicks(episode: Episode): number {
    const [view] = this.#views;
    return episode.records.filter((_, position) =>
      view !== undefined && isPick(view.policy, episode, position, this.#fault)
    ).length;
  }

  /** Picks of an episode that were none before join their views, in order of position. */
  pushPicks(episode: Episode): void {
    for (const view of this.#views) {
      for (let position = episode.first; position < episode.records.length; position++) {
        if (view.indexOf(episode.handle, position) >= 0) continue;
        if (!isPick(view.policy, episode, position, this.#fault)) continue;
        const priority = this.#fault === "firstPrioritiesLost"
          ? undefined
          : episode.priorities[position];
        view.push({ episode: episode.handle, position }, priority);
      }
    }
  }

  /** The picks of a view before one in its episode, the nearest first. */
  #picksBefore(view: TableModel, index: number): number[] {
    const pick = view.picks[index];
    if (pick === undefined) throw new RangeError(`the model has no pick ${index}`);
    const before: number[] = [];
    // Where the pick before is gone, so are those before it.
    const { stride } = view.policy;
    for (let position = pick.position - stride; position >= 0; position -= stride) {
      const earlier = view.indexOf(pick.episode, position);
      if (earlier < 0) break;
      before.push(earlier);
    }
    if (this.#fault === "pserCrossesEpisodes") before.push(...view.picks.keys());
    return before;
  }

  /** The picks of an episode go, view after view. */
  removePicks(episode: Episode): void {
    for (const view of this.#views) {
      this.#removePicks(view, episode, () => true);
    }
  }

  /** The picks of an episode go that show a record before `first`, view after view. */
  trimPicks(episode: Episode, first: number): void {
    for (const view of this.#views) {
      const goes = (position: number): boolean =>
        !isWithin(view.policy, first, position, this.#fault);
      this.#removePicks(view, episode, goes);
    }
  }

  /** The newest first, so that what moves into the gap keeps its order. */
  #removePicks(view: TableModel, of: Episode, goes: (position: number) => boolean): void {
    const { handle } = of;
    for (const position of positionsOf(of).reverse()) {
      const index = goes(position) ? view.indexOf(handle, position) : -1;
      if (index < 0) continue;
      // A pick at the end that goes too is not moved into the gap first.
      const goesToo = ({ episode, position }: Pick): boolean =>
        episode === handle && goes(position);
      while (
        this.#fault !== "swapsOwnPicks" && view.picks.length > index &&
        view.picks.slice(-1).some(goesToo)
      ) view.pop();
      const last = view.picks.at(-1);
      if (index >= view.picks.length || last === undefined) continue;
      if (index < view.picks.length - 1) {
        view.picks[index] = last;
        for (const selector of view.selectors) selector.moved(index);
      }
      view.pop();
    }
  }

  /** Everything of a batch that the rule which drew it has no say in. */
  #assemble(
    view: TableModel,
    draws: Draws,
    first: number,
  ): Omit<ModelBatch, "probability" | "importanceWeight" | "tolerance"> {
    const { leafBytes, columnBytes, every, reward } = this.#config;
    const bytes = { leafBytes, columnBytes };
    const shown = this.#transforms.begin(this.#views.indexOf(view), view.policy);
    const picks = draws.indices.map((index, k) => {
      const pick = view.picks[index];
      const episode = pick && this.#host.episodes.get(pick.episode);
      if (pick === undefined || episode === undefined) {
        throw new Error(`the model has no pick ${index}`);
      }
      const { position } = pick;
      return {
        pick,
        rows: pickRows(
          view.policy,
          episode,
          position,
          bytes,
          every,
          reward,
          shown(first + k),
          this.#fault,
        ),
      };
    });
    const all = <T>(part: (rows: PickRows) => readonly T[]): T[] =>
      picks.flatMap(({ rows }) => [...part(rows)]);
    return {
      columns: Array.from(
        { length: leafBytes.length + columnBytes.length - 1 },
        (_, k) => join(all(({ columns }) => columns[k] ?? [])),
      ),
      nextStates: leafBytes.map((_, k) => join(all(({ nextStates }) => nextStates[k] ?? []))),
      seqLen: picks.map(({ rows }) => rows.seqLen),
      nextSeqLen: picks.map(({ rows }) => rows.nextSeqLen),
      pickEpisode: picks.map(({ pick }) => pick.episode),
      pickPosition: picks.map(({ pick }) => pick.position),
      discount: all(({ discount }) => discount),
      learnMask: all(({ learnMask }) => learnMask),
      contextMask: all(({ contextMask }) => contextMask),
      terminated: all(({ terminated }) => terminated),
      truncated: all(({ truncated }) => truncated),
      returnToGo: all(({ returnToGo }) => returnToGo),
      nStep: view.policy.nStep.map((_, k) => ({
        reward: all(({ nStep }) => nStep[k]?.reward ?? []),
        states: leafBytes.map((_, leaf) => join(all(({ nStep }) => nStep[k]?.states[leaf] ?? []))),
        discount: all(({ nStep }) => nStep[k]?.discount ?? []),
      })),
    };
  }

  /** The same views and selectors for another replay, going their own way from here. */
  clone(host: TablesHost): TablesModel {
    const copy = new TablesModel(this.#config, host, this.#fault);
    copy.#views.length = 0;
    copy.#transforms = this.#transforms.clone();
    for (const view of this.#views) {
      const twin = new TableModel(view.policy);
      twin.picks.push(...view.picks);
      copy.#views.push(twin);
    }
    for (const [view, selector] of this.#selectors) {
      const twin = copy.#view(this.#views.indexOf(view));
      if ("parts" in selector) {
        const random = new RandomStream(0);
        random.load(selector.random.save());
        copy.#selectors.push([twin, { ...selector, owed: [...selector.owed], random }]);
        continue;
      }
      const own = selector.clone();
      twin.selectors.push(own);
      copy.#selectors.push([twin, own]);
    }
    copy.#streams = this.#streams;
    return copy;
  }

  #view(ordinal: number): TableModel {
    const view = this.#views[ordinal];
    if (view === undefined) throw new RangeError(`the model has no pick view ${ordinal}`);
    return view;
  }

  #selector(ordinal: number): SelectorOfTable {
    const selector = this.#selectors[ordinal];
    if (selector === undefined) throw new RangeError(`the model has no selector ${ordinal}`);
    return selector;
  }
}

function drawsOf(view: TableModel, seen: SeenBatch): Draws {
  const indices = Array.from(seen.pickEpisode, (handle, k) => {
    const index = view.indexOf(handle, seen.pickPosition[k] ?? -1);
    if (index < 0) throw new Error(`draw ${k} is no pick: episode ${handle}`);
    return index;
  });
  return { indices, probabilities: Array.from(seen.probability) };
}

/** The positions of an episode's records, the oldest first. */
function positionsOf({ first, records }: Episode): number[] {
  return Array.from({ length: records.length - first }, (_, k) => first + k);
}

function isKnown(priority: number): boolean {
  return !Number.isNaN(priority);
}
