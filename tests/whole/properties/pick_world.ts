/**
 * A replay of one combination of options, filled by actors that keep a log: streams of steps, and the episode of each
 * stretch of a stream.
 *
 * @module
 */

import {
  bool,
  type Column,
  type Columns,
  every,
  ExperienceReplay,
  float16,
  float32,
  float64,
  int16,
  int32,
  int8,
  type PickView,
  type Selector,
  uint8,
} from "@exrp/replay";
import {
  type AnyBatch,
  BatchProperties,
  type CodedColumn,
  type CodedColumns,
  codeOf,
  type EpisodeFacts,
} from "./batch_properties.ts";
import { evictionOf, type PickCombination, pickOptions, selectorOf } from "./combinations.ts";

const DTYPES = { float32, uint8, int8, float16, int16, int32, float64 };

type AnyColumnReplay = ExperienceReplay<
  { state: Column; action: Column; reward: Column; extras: Columns }
>;

/** One actor: the episode it records, and where in its stream it is. */
interface Actor {
  episode: number;
  stream: number;
  step: number;
}

/** How often what a world is there for came about. */
export interface WorldTally {
  batches: number;
  rows: number;
  evictions: number;
  cuts: number;
  shortPicks: number;
  openEnds: number;
}

/** A filled replay and what is known of it. */
export class PickWorld implements Disposable {
  readonly #combination: PickCombination;
  readonly #random: (bound: number) => number;
  readonly #replay: AnyColumnReplay;
  readonly #columns: CodedColumns;
  readonly #actors: Actor[] = [];
  /** The place in its stream at which each episode begins. */
  readonly #begins = new Map<number, { stream: number; first: number }>();
  #streamCount = 0;
  #table: PickView | undefined;
  #selector: Selector | undefined;
  #properties: BatchProperties | undefined;
  #into: AnyBatch | undefined;
  /** The batch drawn last. */
  latest: AnyBatch | undefined;

  private constructor(
    combination: PickCombination,
    random: (bound: number) => number,
    replay: AnyColumnReplay,
    columns: CodedColumns,
  ) {
    this.#combination = combination;
    this.#random = random;
    this.#replay = replay;
    this.#columns = columns;
    for (let k = 0; k < combination.actors; k++) this.#actors.push(this.#begin());
    if (combination.table !== "late") this.#makeTable();
  }

  /** Makes the replay of a combination. */
  static async create(
    combination: PickCombination,
    seed: number,
    random: (bound: number) => number,
  ): Promise<PickWorld> {
    const { capacity, segmentLength, length } = combination;
    const policy = pickOptions(combination);
    const shortest = Math.max(5, length);
    const segments = { none: {}, short: { segmentLength: shortest }, long: { segmentLength: 20 } };
    const vector = combination.reward.endsWith("vector");
    const rewardDType = combination.reward.split(" ")[0] as keyof typeof DTYPES;
    const extras: Columns = combination.extras === "none"
      ? {}
      : combination.extras === "small"
      ? { flag: bool(), pair: int16(2) }
      : combination.extras === "kept"
      ? { hidden: every(3, float32(4)), picture: every(2, uint8(150)) }
      : { wide: float64(20), half: float16(3) };
    const state: Column = DTYPES[combination.stateDType](...combination.stateShape);
    const action: Column = combination.action === "number" ? int32() : float32(3);
    const reward: Column = DTYPES[rewardDType](...(vector ? [2] : []));
    const replay = await ExperienceReplay.create({
      capacity,
      state,
      action,
      reward,
      extras,
      ...segments[segmentLength],
      blockLength: combination.blockLength,
      eviction: evictionOf(combination),
      seed,
      ...(combination.table === "first" ? { pick: policy } : {}),
    });
    let id = 0;
    const coded = (name: string, { dtype, elementCount, every }: Column): CodedColumn => ({
      name,
      id: id++,
      size: elementCount,
      dtype,
      every,
    });
    return new PickWorld(combination, random, replay as unknown as AnyColumnReplay, {
      state: coded("state", state),
      action: coded("action", action),
      reward: coded("reward", reward),
      extras: Object.entries(extras).map(([name, column]) => coded(`extras.${name}`, column)),
    });
  }

  /** Records, draws and forgets in turns, and checks every batch. */
  run(tally: WorldTally): void {
    const random = this.#random;
    const records = 3 * this.#combination.capacity;
    for (let step = 0; step < records; step++) {
      this.#record(tally);
      if (step === this.#combination.capacity) this.#makeTable();
      if (random(40) === 0) this.#forget();
      if (random(12) === 0) this.#draw(tally);
    }
    this.#draw(tally);
    this.#draw(tally);
    tally.evictions += this.#replay.describe().evictedCount;
  }

  #makeTable(): void {
    if (this.#table !== undefined) return;
    const policy = pickOptions(this.#combination);
    const replay = this.#replay;
    const [first] = replay.pickViews;
    const table = this.#combination.table === "first" ? first : replay.newPickView(policy);
    if (table === undefined) throw new Error("a replay has a table");
    this.#table = table;
    this.#selector = table.newPickSelector(selectorOf(this.#combination));
    this.#properties = new BatchProperties(
      table.policy,
      this.#columns,
      (episode) => this.#factsOf(episode),
    );
  }

  #factsOf(episode: number): EpisodeFacts | undefined {
    const begins = this.#begins.get(episode);
    if (begins === undefined) return undefined;
    const { ending, recordCount, firstPosition } = this.#replay.episode(episode);
    const count = firstPosition + recordCount;
    return { ...begins, count, stored: firstPosition, state: ending };
  }

  /** Begins an episode, and a stream for it. */
  #begin(): Actor {
    const actor = { episode: this.#replay.newEpisode(), stream: this.#streamCount++, step: 0 };
    this.#begins.set(actor.episode, { stream: actor.stream, first: 0 });
    return actor;
  }

  #value(column: CodedColumn, { stream, step }: Actor): number | number[] {
    const code = (element: number): number => codeOf(column, stream, step, element);
    const isNumber = this.#isNumber(column);
    return isNumber ? code(0) : Array.from({ length: column.size }, (_, element) => code(element));
  }

  #isNumber({ name }: CodedColumn): boolean {
    const { stateShape, action, reward, extras } = this.#combination;
    if (name === "state") return stateShape.length === 0;
    if (name === "action") return action === "number";
    if (name === "reward") return !reward.endsWith("vector");
    return extras === "small" && name === "extras.flag";
  }

  #record(tally: WorldTally): void {
    const random = this.#random;
    const which = random(this.#actors.length);
    const actor = this.#actors[which] as Actor;
    const columns = this.#columns;
    const extras = Object.fromEntries(columns.extras.map((column) => {
      return [column.name.slice("extras.".length), this.#value(column, actor)];
    }));
    const values = [columns.state, columns.action, columns.reward]
      .map((column) => this.#value(column, actor));
    const next = { ...actor, step: actor.step + 1 };
    const ends = random(this.#combination.whole ? 3 : 9) === 0;
    const apart = ends && random(3) === 0; // by endEpisode()
    const ending = {
      finalState: this.#value(columns.state, next),
      truncated: random(2) === 0,
    };
    const record = this.#replay.record as (...args: unknown[]) => number;
    const episode = record.call(
      this.#replay,
      actor.episode,
      ...values,
      { ...(columns.extras.length > 0 ? { extras } : {}), ...(ends && !apart ? ending : {}) },
    );
    if (episode !== actor.episode) {
      // It was cut, or forgotten: the stream goes on in another episode, which begins with this step.
      this.#begins.set(episode, { stream: actor.stream, first: actor.step });
      tally.cuts += 1;
    }
    actor.step += 1;
    actor.episode = episode;
    if (!ends) return;
    if (apart) {
      const end = this.#replay.endEpisode as (...args: unknown[]) => boolean;
      end.call(this.#replay, episode, ending);
    }
    this.#actors[which] = this.#begin();
  }

  /** Names one episode to forget. */
  #forget(): void {
    const episodes = this.#replay.episodes().handle;
    this.#replay.evict(episodes[this.#random(episodes.length)] ?? 0);
  }

  #draw(tally: WorldTally): void {
    const table = this.#table;
    const selector = this.#selector;
    if (table === undefined || selector === undefined || table.pickCount === 0) return;
    const replay = this.#replay as ExperienceReplay;
    const size = 8;
    // In turns a fresh batch, and one whose memory is full of something else.
    let batch: AnyBatch;
    if (this.#into === undefined) {
      batch = this.#into = replay.getBatch(size, selector) as AnyBatch;
    } else {
      this.#into.bytes.fill(0xaa);
      batch = replay.getBatch(size, selector, { into: this.#into }) as AnyBatch;
    }
    this.#properties?.check(batch);
    this.latest = batch;
    replay.setPriority(
      selector,
      batch.pickEpisode,
      batch.pickPosition,
      batch.seqLen.map(() => this.#random(5)),
    );
    tally.batches += 1;
    const { burnIn, before, length, reversed } = table.policy;
    const rows = burnIn + before + length;
    tally.rows += size * rows;
    for (let k = 0; k < size; k++) {
      const seqLen = batch.seqLen[k] ?? 0;
      if (seqLen < rows && burnIn === 0 && !reversed) tally.shortPicks += 1;
      if ((batch.nextSeqLen[k] ?? 0) < seqLen) tally.openEnds += 1;
    }
  }

  /** Checks a batch once more, as it is now. */
  recheck(batch: AnyBatch): void {
    this.#properties?.check(batch);
  }

  [Symbol.dispose](): void {
    this.#replay[Symbol.dispose]();
  }
}
