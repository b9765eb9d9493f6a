/**
 * Hindsight: gives the steps of a batch new goals, which were achieved later.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { numberOf, showAs, showOneAs } from "../../base/inspect.ts";
import { isOwn, kindOf, lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { RandomStream } from "../../selectors/random_stream.ts";
import { OwnedBatch } from "../draw/owned_batch.ts";
import type { ReplayCore } from "../core.ts";
import type { BatchOfAny, HindsightConfig, HindsightStrategy } from "./hindsight_options.ts";
import {
  type AnyBatch,
  checkAnswer,
  checkPolicy,
  hasNext,
  lastPosition,
  rowsOf,
} from "./_hindsight_rows.ts";
import { copy, gatherRows } from "./_own_rows.ts";
import { EPISODE_END } from "../../schema/episode_filter.ts";
import { type AnyPickPolicy, leafPolicies } from "../../schema/pick_options.ts";
import { takeApart } from "../../schema/state.ts";
import { allocateRows, type RecordReader } from "./records.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { AnySchema, Schema } from "../../schema/schema.ts";

/** What {@linkcode Hindsight.relabel} did to a batch. */
export interface Relabelled {
  /** How many picks have a new goal. */
  readonly count: number;
  /** How many chosen picks keep their goal, because no achieved goal is stored: the episode was evicted, or has no next state yet. */
  readonly keptCount: number;
  /** `[batch]`: 1 for the picks that have a new goal, else 0. */
  readonly mask: Uint8Array<ArrayBuffer>;
  /** `[batch]`: the handle of the episode in which the new goal was achieved; -1 without a new goal. */
  readonly goalEpisode: Float64Array<ArrayBuffer>;
  /** `[batch]`: the position of the record that achieved the new goal; -1 without a new goal. */
  readonly goalPosition: Int32Array<ArrayBuffer>;
}

/**
 * Relabels batches of one replay, as in hindsight experience replay. {@linkcode ExperienceReplay.newHindsight} makes it.
 *
 * Each step is stored with the goal that it **achieved** and the goal that was **desired**, in two extras or in parts of the
 * state. `relabel(batch)` chooses picks, each with probability `share`. It writes one new goal into all rows of a chosen pick: the
 * goal that a record achieved. The strategy says which record:
 *
 * | strategy | one of these records, each with equal probability |
 * |---|---|
 * | `future` | those of the pick's episode from the pick's last row on, that row included |
 * | `final` | the last record of the pick's episode |
 * | `episode` | all records of the pick's episode |
 * | `random` | all records of the replay |
 *
 * The pick's episode is what is stored under its handle. A very long episode was cut at `segmentLength`. An open one has the records
 * that it has so far. A pick whose episode was evicted keeps its goal. If you relabel a batch twice, picks are chosen again; those that
 * are not chosen again keep the goal of the first time.
 *
 * Batches may be of any pick view; rows before a pick (`burnIn`, `before`) get its goal too. Batches with n-step returns or `returnToGo`
 * can't be relabelled, because those are sums of the old rewards. If goals are parts of the state, batches with stacks or without copied next
 * states can't be relabelled either.
 *
 * An environment like those of gymnasium-robotics has observations with `achieved_goal` and `desired_goal`. Record the `desired_goal`
 * of the observation that the action was chosen from, and the `achieved_goal` of the one that `step()` returned. Its
 * `compute_reward` is your `reward`. If `reward` returns no `terminated`, `discount` stays as it was.
 *
 * Source: Andrychowicz et al., "Hindsight Experience Replay" (NIPS 2017). We know it from summaries and from the source of
 * Stable-Baselines3. There too, `future` begins with the goal that the step itself achieved.
 *
 * @example A line on which 3 was reached instead of 9
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(1),
 *   extras: { achieved: float32(1), desired: float32(1) },
 *   seed: 7,
 * });
 * const hindsight = replay.newHindsight({
 *   achieved: "achieved",
 *   desired: "desired",
 *   strategy: "final",
 *   share: 1,
 *   reward: (achieved, desired) => ({
 *     reward: achieved.map((goal, k) => goal === desired[k] ? 0 : -1),
 *     terminated: achieved.map((goal, k) => goal === desired[k] ? 1 : 0),
 *   }),
 * });
 * replay.recordMany(replay.newEpisode(), {
 *   state: [0, 1, 2],
 *   action: [1, 1, 1],
 *   reward: [-1, -1, -1],
 *   extras: { achieved: [1, 2, 3], desired: [9, 9, 9] },
 *   finalState: [3],
 *   truncated: true,
 * });
 *
 * const batch = replay.getBatch(32, replay.newPickSelector(uniform()));
 * const { count } = hindsight.relabel(batch);
 * console.log(count); // 32
 * console.log(batch.extras.desired.every((goal) => goal === 3)); // true
 * console.log(batch.reward.every((reward, k) => reward === (batch.pickPosition[k] === 2 ? 0 : -1))); // true
 * console.log(batch.discount.every((gamma, k) => gamma === (batch.pickPosition[k] === 2 ? 0 : 1))); // true
 * ```
 */
export interface Hindsight<S extends Schema = AnySchema> {
  /** Which achieved goal becomes the new one. */
  readonly strategy: HindsightStrategy;
  /** The probability that a pick is relabelled. */
  readonly share: number;
  /**
   * Gives picks of a batch new goals, in place: each pick with probability `share`, one goal for all rows of a pick. It overwrites
   * the goals and rewards of those picks. If the callback says what terminates, it overwrites `discount`, and with `ends` also `terminated`.
   * Nothing else changes: `truncated` still says which episodes were cut off.
   *
   * Cost: one or two calls of the kernel and one of the callback for a batch of any size; with `random` also O(stored episodes). If
   * no pick is relabelled, the callback is not called.
   *
   * @throws {TypeError} If the value is not a batch of this replay's schema, or a batch that can't be relabelled. Also if the callback
   * does not return rewards.
   * @throws {RangeError} If the callback returns another number of rewards, or rewards that do not fit the dtype.
   * @throws {ReplayError} `disposed` or `busy`. After any error, one of the callback too, the batch and the random numbers are as
   * they were.
   */
  relabel(batch: BatchOfAny<S>): Relabelled;
}

/** Which picks get a goal, and which goals. */
interface Choice extends Omit<Relabelled, "count"> {
  /** The relabelled picks, by their place in the batch. */
  readonly picks: readonly number[];
}

const OPERATION = "relabel()";

/** Relabels batches. */
export class Relabeller {
  /** You see it under this name. */
  static readonly name = "Hindsight";
  readonly strategy: HindsightStrategy;
  readonly share: number;
  readonly #config: HindsightConfig;
  readonly #core: ReplayCore;
  readonly #reader: RecordReader;
  readonly #random: RandomStream;
  /** The pick policy of the batch that is relabelled now. */
  #policy: AnyPickPolicy;

  /** Relabels batches of the replay of `core`. */
  constructor(
    core: ReplayCore,
    reader: RecordReader,
    config: HindsightConfig,
    random: RandomStream,
  ) {
    this.#core = core;
    this.#reader = reader;
    this.#config = config;
    this.#random = random;
    this.#policy = core.config.pick;
    this.strategy = config.strategy;
    this.share = config.share;
  }

  /** Gives picks of a batch other goals. */
  relabel(batch: AnyBatch): Relabelled {
    this.#core.checkUsable(OPERATION);
    this.#checkBatch(batch);
    const before = this.#random.save();
    try {
      return this.#relabel(batch);
    } catch (error) {
      this.#random.load(before);
      throw error;
    }
  }

  #relabel(batch: AnyBatch): Relabelled {
    // Another thread may evict what was chosen, so the goals are read at once.
    const [choice, goals] = this.#core.together(OPERATION, () => {
      const chosen = this.#choose(batch);
      return [chosen, this.#rowsOf(chosen)] as const;
    });
    const { picks, ...places } = choice;
    const result = showOneAs(
      { count: picks.length, ...places },
      ({ count, keptCount, mask }) =>
        `Relabelled ${count} of ${numberOf(lengthOf(mask), "pick")}, ${keptCount} kept their goal`,
    );
    if (picks.length === 0) return result;
    const rows = rowsOf(this.#policy, batch, picks);
    const { achieved } = this.#config;
    // The achieved goal is the one after the step: if it is part of the state, it is in the next state.
    const source = this.#isState(achieved.k)
      ? this.#leafOf("nextState", batch.nextState, achieved.k)
      : this.#arrayOf(batch, achieved.k);
    const achievedRows = this.#goalsIn(source, rows.row);
    const desiredRows = this.#goalsIn(goals, rows.goal);
    const asked = { count: rows.row.length, row: rows.row.slice(), batch };
    // The callback gets a copy of its own, which it may change.
    const answer = this.#config.reward(achievedRows, desiredRows.slice(), asked);
    const { rewards, terminated } = checkAnswer(
      OPERATION,
      answer,
      rows.row.length,
      this.#reader.column(this.#rewardColumn),
    );
    this.#checkBatch(batch);
    this.#write(batch, rows.row, desiredRows, rewards, terminated);
    return result;
  }

  /** Draws which picks get a goal, and which. */
  #choose(batch: AnyBatch): Choice {
    const { strategy, share } = this.#config;
    const random = this.#random;
    const next = this.#core.info(OPERATION)[abi.EXRP_INFO_NEXT_HANDLE] ?? 0;
    // After a load, a handle that was not given out counts as evicted.
    const isBegun = (handle: number): boolean => !(handle >= next);
    const begun = new Float64Array(batch.pickEpisode).filter(isBegun);
    const { firsts, ends, states } = this.#reader.counts(OPERATION, begun);
    const anyRecord = strategy === "random" && share > 0 ? this.#anyRecord() : undefined;
    const picks: number[] = [];
    const mask = new Uint8Array(batch.size);
    const goalEpisode = new Float64Array(batch.size).fill(-1);
    const goalPosition = new Int32Array(batch.size).fill(-1);
    let keptCount = 0;
    let of = -1;
    for (let k = 0; k < batch.size; k++) {
      let episode = batch.pickEpisode[k] as number;
      if (isBegun(episode)) of++;
      if (random.uniform() >= share) continue;
      const first = firsts[of] ?? 0;
      const count = this.#goalCount(ends[of] ?? 0, states[of] === abi.EXRP_EPISODE_OPEN);
      const last = lastPosition(this.#policy, batch, k);
      // If the goal is part of the state, the goal that a step achieved is in its next state.
      const isKnown = !this.#isState(this.#config.achieved.k) ||
        batch.nextSeqLen[k] === batch.seqLen[k];
      // Evicted, or trimmed since it was drawn.
      const isGone = !isBegun(episode) || count <= last || last < first;
      if (isGone || !isKnown) {
        keptCount++;
        continue;
      }
      let position = count - 1;
      if (strategy === "future") position = last + random.below(count - last);
      else if (strategy === "episode") position = first + random.below(count - first);
      else if (anyRecord !== undefined) [episode, position] = anyRecord();
      picks.push(k);
      mask[k] = 1;
      goalEpisode[k] = episode;
      goalPosition[k] = position;
    }
    return { picks, keptCount, mask, goalEpisode, goalPosition };
  }

  /** Of the records up to `end` of an episode, the end of those whose achieved goal is known. */
  #goalCount(end: number, isOpen: boolean): number {
    return this.#isState(this.#config.achieved.k) && isOpen ? end - 1 : end;
  }

  /** What draws one of all records: the handle of its episode, and its position. */
  #anyRecord(): () => [handle: number, position: number] {
    const { size, handle, length, firstPosition, end } = this.#core.episodes(OPERATION);
    // The records of all episodes have numbers, one episode after the other.
    const ends = new Float64Array(size);
    let count = 0;
    for (let k = 0; k < size; k++) {
      count += Math.max(0, this.#goalCount(length[k] as number, end[k] === EPISODE_END.open));
      ends[k] = count;
    }
    return () => {
      const drawn = this.#random.below(count);
      let [low, high] = [0, ends.length - 1];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((ends[middle] as number) > drawn) high = middle;
        else low = middle + 1;
      }
      const before = ends[low - 1] ?? 0;
      return [handle[low] as number, (firstPosition[low] as number) + drawn - before];
    };
  }

  /** The rows that have the chosen goals, one after the other. */
  #rowsOf({ goalEpisode, goalPosition }: Choice): AnyColumnArray {
    const { k } = this.#config.achieved;
    // The state that has a record's achieved goal is that of the next one.
    const ahead = this.#isState(k) ? 1 : 0;
    const episodes = goalEpisode.filter((episode) => episode >= 0);
    const positions = goalPosition.filter((position) => position >= 0);
    return this.#reader.gather(OPERATION, k, episodes, positions.map((each) => each + ahead));
  }

  /** The achieved goals in rows of an array. */
  #goalsIn(array: AnyColumnArray, rows: Int32Array): AnyColumnArray {
    const { k, first, count } = this.#config.achieved;
    const column = this.#reader.column(k);
    const goals = allocateRows(OPERATION, column, rows.length, count);
    return gatherRows(array, column.elementCount, rows, goals, first, count);
  }

  #arrayOf(batch: AnyBatch, k: number): AnyColumnArray {
    if (this.#isState(k)) return this.#leafOf("state", batch.state, k);
    const own = k - this.#reader.leafCount;
    if (own < 2) return own === 0 ? batch.action : batch.reward;
    return batch.extras[this.#core.config.extraNames[own - 2] ?? ""] as AnyColumnArray;
  }

  /** Whether column k is a leaf of the state. */
  #isState(k: number): boolean {
    return k < this.#reader.leafCount;
  }

  /** The array of leaf k in a part of the batch. */
  #leafOf(name: string, part: unknown, k: number): AnyColumnArray {
    const arrays = takeApart(`${OPERATION}: batch.${name}`, this.#core.config.tree, part, "some");
    return arrays[k] as AnyColumnArray;
  }

  get #rewardColumn(): number {
    return this.#reader.leafCount + 1;
  }

  #checkBatch(batch: unknown): void {
    if (!OwnedBatch.isOne(batch)) {
      throw new TypeError(
        `${OPERATION} takes a batch that getBatch() returned, got ${show(batch)}`,
      );
    }
    OwnedBatch.checkYours(`${OPERATION}: batch`, batch);
    const policy = OwnedBatch.policyOf(batch);
    this.#policy = policy;
    const { achieved, desired } = this.#config;
    const leaves = leafPolicies(policy, this.#core.config);
    const columns = [this.#rewardColumn, achieved.k, desired.k];
    const names = columns.map((k) => this.#core.config.columns[k]?.name ?? "");
    checkPolicy(OPERATION, policy, [achieved, desired].flatMap(({ k }) => leaves[k] ?? []), names);
    for (const k of columns) {
      const { name = "", column } = this.#core.config.columns[k] ?? {};
      const array: AnyColumnArray | undefined = this.#arrayOf(batch, k);
      const count = batch.size * batch.length * (column?.elementCount ?? 0);
      const like = allocateRows(OPERATION, this.#reader.column(k), 0);
      if (kindOf(array) === kindOf(like) && lengthOf(array) === count) continue;
      throw new TypeError(
        `${OPERATION}: the batch has ${
          array === undefined ? "no" : `a ${show(array)} as`
        } ${name}, needed are ${count} elements of ${column?.dtype}: it is of another schema, or its buffer was transferred`,
      );
    }
    // The pick arrays may have been replaced by arrays of other kinds.
    const { size, pickEpisode, pickPosition, seqLen, nextSeqLen } = batch;
    const isWhole = isOwn("Float64Array", pickEpisode) && lengthOf(pickEpisode) === size &&
      [pickPosition, seqLen, nextSeqLen].every((array) =>
        isOwn("Int32Array", array) && lengthOf(array) === size
      );
    if (isWhole) return;
    throw new TypeError(
      `${OPERATION}: pickEpisode, pickPosition, seqLen and nextSeqLen of the batch must be the arrays of ${size} numbers that it came with`,
    );
  }

  #write(
    batch: AnyBatch,
    row: Int32Array,
    desiredRows: AnyColumnArray,
    rewards: AnyColumnArray,
    terminated: ArrayLike<unknown> | undefined,
  ): void {
    const { desired } = this.#config;
    const width = this.#reader.column(this.#rewardColumn).elementCount;
    const next = this.#isState(desired.k)
      ? this.#leafOf("nextState", batch.nextState, desired.k)
      : undefined;
    const now = this.#arrayOf(batch, desired.k);
    const goals = next === undefined ? [now] : [now, next];
    const stride = this.#reader.column(desired.k).elementCount;
    for (let k = 0; k < row.length; k++) {
      const at = row[k] as number;
      copy(rewards, k * width, batch.reward, at * width, width);
      for (const goal of goals) {
        if (goal === next && !hasNext(batch, at)) continue;
        copy(desiredRows, k * desired.count, goal, at * stride + desired.first, desired.count);
      }
      if (terminated === undefined || !hasNext(batch, at)) continue;
      batch.discount[at] = terminated[k] ? 0 : this.#policy.discount;
      if (this.#policy.ends) batch.terminated[at] = terminated[k] ? 1 : 0;
    }
  }
}

showAs(
  Relabeller,
  ({ strategy, share }) => `Hindsight: strategy ${strategy}, share ${share}`,
);
