/**
 * Pick tables and selectors, plain and slow. A table is an array of picks, and it tells its selectors every change.
 *
 * @module
 */

import type { PickPolicy } from "@exrp/replay";
import { RandomStream } from "@exrp/replay/selectors";
import { joinBatches, keepByScore, type ModelBatch } from "./batch_model.ts";
import type { Draws, SelectorModel } from "./draws.ts";
import type { Fault } from "./faults.ts";
import { type ModelConfig, ModelError } from "./model_config.ts";
import { portablePow32 } from "./portable_math.ts";
import { selectorModel } from "./selector_models.ts";
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

/** One pick table, and the selectors that draw from it. */
class TableModel {
  readonly policy: PickPolicy;
  readonly picks: Pick[] = [];
  readonly selectors: SelectorModel[] = [];

  constructor(policy: PickPolicy) {
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

/** The parts of the replay that its tables need. */
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

/** The pick tables and selectors of one replay. */
export class TablesModel {
  readonly #config: ModelConfig;
  readonly #host: TablesHost;
  readonly #fault: Fault | undefined;
  readonly #tables: TableModel[] = [];
  /** The table and the rule of each selector, in order of creation. */
  readonly #selectors: SelectorOfTable[] = [];
  /** Streams of random numbers given out: rules of the kernel draw from streams 1, 2, ... of the seed. */
  #streams = 0;

  constructor(config: ModelConfig, host: TablesHost, fault?: Fault) {
    this.#config = config;
    this.#host = host;
    this.#fault = fault;
    this.#tables.push(new TableModel(config.pick));
  }

  get tableCount(): number {
    return this.#tables.length;
  }
  get selectorCount(): number {
    return this.#selectors.length;
  }
  /** The picks of a table. */
  picks(table: number): readonly Pick[] {
    return this.#table(table).picks;
  }

  /** A further pick table; the picks there are already come oldest episode first. */
  newPickTable(policy: PickPolicy): number {
    this.#tables.push(new TableModel(policy));
    for (const episode of this.#host.episodes.values()) this.pushPicks(episode);
    return this.#tables.length - 1;
  }

  newPickSelector(spec: SelectorSpec, ordinalOfTable = 0): number {
    const table = this.#table(ordinalOfTable);
    if (isComposedSpec(spec)) {
      const rules = partsOf(spec);
      const parts = rules.map((rule) => this.newPickSelector(rule, ordinalOfTable));
      const random = new RandomStream(this.#config.seed, this.#selectors.length);
      const owed = rules.map(() => 0);
      return this.#selectors.push([table, { spec, parts, owed, random }]) - 1;
    }
    const ordinal = this.#selectors.length;
    if (spec.kind !== "sweep") this.#streams++;
    const selector = selectorModel(spec, this.#config.seed, this.#streams, this.#fault);
    for (const [index, pick] of table.picks.entries()) {
      selector.pushed();
      const priority = this.#host.episodes.get(pick.episode)?.priorities[pick.position];
      if (priority !== undefined) selector.setPriority([index], [priority]);
    }
    table.selectors.push(selector);
    this.#selectors.push([table, selector]);
    return ordinal;
  }

  setPriority(
    ordinal: number,
    episodes: readonly number[],
    positions: readonly number[],
    priorities: readonly number[],
  ): number {
    const [table, selector] = this.#selector(ordinal);
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
      const index = table.indexOf(handle, positions[k] ?? -1);
      if (index < 0) continue;
      indices.push(index);
      kept.push(priorities[k] ?? NaN);
    }
    selector.setPriority(indices, kept, (index) => this.#picksBefore(table, index));
    const named = indices.map((index) => table.picks[index]?.episode ?? NaN);
    this.#host.prioritized(named, kept);
    return this.#fault === "evictedPicksCount" ? episodes.length : indices.length;
  }

  /** What a rule keeps of picks; of a rule made of others what the first part that knows it does. Undefined if none keeps any. */
  getPriority(
    ordinal: number,
    episodes: readonly number[],
    positions: readonly number[],
  ): number[] | undefined {
    const [table, selector] = this.#selector(ordinal);
    if ("parts" in selector) {
      const all = selector.parts.map((part) => this.getPriority(part, episodes, positions));
      const kept = all.filter((each) => each !== undefined);
      if (kept.length === 0) return undefined;
      return episodes.map((_, k) => kept.map((each) => at(each, k)).find(isKnown) ?? NaN);
    }
    if (selector.priority === undefined) return undefined;
    for (const handle of episodes) this.#host.checkHandle(handle);
    return episodes.map((handle, k) => {
      const index = table.indexOf(handle, positions[k] ?? -1);
      if (index < 0) return this.#fault === "goneHaveZero" ? 0 : NaN;
      return selector.priority?.(index) ?? NaN;
    });
  }

  getBatch(ordinal: number, count: number, beta: number, seen?: SeenBatch): ModelBatch {
    const [table, selector] = this.#selector(ordinal);
    if (this.#fault !== "refusedPartsDraw" || !("parts" in selector)) {
      this.#checkDraw(ordinal, count);
    }
    if ("parts" in selector) return this.#compose(selector, count, beta, seen);
    const draws = selector.select(count, seen === undefined ? undefined : drawsOf(table, seen));
    const batch = this.#assemble(table, draws);
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
    const [table, selector] = this.#selector(ordinal);
    if (table.picks.length === 0) throw new ModelError("empty", "there is no pick");
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
      if (size > 0) batches.push(this.getBatch(parts[k] ?? -1, size, beta, seenByPart));
      first += size;
    }
    return joinBatches(batches);
  }

  /** How many picks of the first pick table an episode has. */
  firstTablePicks(episode: Episode): number {
    const [table] = this.#tables;
    return episode.records.filter((_, position) =>
      table !== undefined && isPick(table.policy, episode, position, this.#fault)
    ).length;
  }

  /** Picks of an episode that were none before join their tables, in order of position. */
  pushPicks(episode: Episode): void {
    for (const table of this.#tables) {
      for (let position = episode.first; position < episode.records.length; position++) {
        if (table.indexOf(episode.handle, position) >= 0) continue;
        if (!isPick(table.policy, episode, position, this.#fault)) continue;
        const priority = this.#fault === "firstPrioritiesLost"
          ? undefined
          : episode.priorities[position];
        table.push({ episode: episode.handle, position }, priority);
      }
    }
  }

  /** The picks of a table before one in its episode, the nearest first. */
  #picksBefore(table: TableModel, index: number): number[] {
    const pick = table.picks[index];
    if (pick === undefined) throw new RangeError(`the model has no pick ${index}`);
    const before: number[] = [];
    // Where the pick before is gone, so are those before it.
    const { stride } = table.policy;
    for (let position = pick.position - stride; position >= 0; position -= stride) {
      const earlier = table.indexOf(pick.episode, position);
      if (earlier < 0) break;
      before.push(earlier);
    }
    if (this.#fault === "pserCrossesEpisodes") before.push(...table.picks.keys());
    return before;
  }

  /** The picks of an episode go, table after table. */
  removePicks(episode: Episode): void {
    for (const table of this.#tables) {
      this.#removePicks(table, episode, () => true);
    }
  }

  /** The picks of an episode go that show a record before `first`, table after table. */
  trimPicks(episode: Episode, first: number): void {
    for (const table of this.#tables) {
      const goes = (position: number): boolean =>
        !isWithin(table.policy, first, position, this.#fault);
      this.#removePicks(table, episode, goes);
    }
  }

  /** The newest first, so that what moves into the gap keeps its order. */
  #removePicks(table: TableModel, of: Episode, goes: (position: number) => boolean): void {
    const { handle } = of;
    for (const position of positionsOf(of).reverse()) {
      const index = goes(position) ? table.indexOf(handle, position) : -1;
      if (index < 0) continue;
      // A pick at the end that goes too is not moved into the gap first.
      const goesToo = ({ episode, position }: Pick): boolean =>
        episode === handle && goes(position);
      while (
        this.#fault !== "swapsOwnPicks" && table.picks.length > index &&
        table.picks.slice(-1).some(goesToo)
      ) table.pop();
      const last = table.picks.at(-1);
      if (index >= table.picks.length || last === undefined) continue;
      if (index < table.picks.length - 1) {
        table.picks[index] = last;
        for (const selector of table.selectors) selector.moved(index);
      }
      table.pop();
    }
  }

  /** Everything of a batch that the rule which drew it has no say in. */
  #assemble(
    table: TableModel,
    draws: Draws,
  ): Omit<ModelBatch, "probability" | "importanceWeight" | "tolerance"> {
    const { columnBytes, every, reward } = this.#config;
    const picks = draws.indices.map((index) => {
      const pick = table.picks[index];
      const episode = pick && this.#host.episodes.get(pick.episode);
      if (pick === undefined || episode === undefined) {
        throw new Error(`the model has no pick ${index}`);
      }
      const { position } = pick;
      return {
        pick,
        rows: pickRows(table.policy, episode, position, columnBytes, every, reward, this.#fault),
      };
    });
    const all = <T>(part: (rows: PickRows) => readonly T[]): T[] =>
      picks.flatMap(({ rows }) => [...part(rows)]);
    return {
      columns: columnBytes.map((_, k) => join(all(({ columns }) => columns[k] ?? []))),
      nextState: join(all(({ nextState }) => nextState)),
      seqLen: picks.map(({ rows }) => rows.seqLen),
      nextSeqLen: picks.map(({ rows }) => rows.nextSeqLen),
      pickEpisode: picks.map(({ pick }) => pick.episode),
      pickPosition: picks.map(({ pick }) => pick.position),
      discount: all(({ discount }) => discount),
      learnMask: all(({ learnMask }) => learnMask),
      contextMask: all(({ contextMask }) => contextMask),
      nStep: table.policy.nStep.map((_, k) => ({
        reward: all(({ nStep }) => nStep[k]?.reward ?? []),
        state: join(all(({ nStep }) => nStep[k]?.state ?? [])),
        discount: all(({ nStep }) => nStep[k]?.discount ?? []),
      })),
    };
  }

  /** The same tables and selectors for another replay, going their own way from here. */
  clone(host: TablesHost): TablesModel {
    const copy = new TablesModel(this.#config, host, this.#fault);
    copy.#tables.length = 0;
    for (const table of this.#tables) {
      const twin = new TableModel(table.policy);
      twin.picks.push(...table.picks);
      copy.#tables.push(twin);
    }
    for (const [table, selector] of this.#selectors) {
      const twin = copy.#table(this.#tables.indexOf(table));
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

  #table(ordinal: number): TableModel {
    const table = this.#tables[ordinal];
    if (table === undefined) throw new RangeError(`the model has no pick table ${ordinal}`);
    return table;
  }

  #selector(ordinal: number): SelectorOfTable {
    const selector = this.#selectors[ordinal];
    if (selector === undefined) throw new RangeError(`the model has no selector ${ordinal}`);
    return selector;
  }
}

function drawsOf(table: TableModel, seen: SeenBatch): Draws {
  const indices = Array.from(seen.pickEpisode, (handle, k) => {
    const index = table.indexOf(handle, seen.pickPosition[k] ?? -1);
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
