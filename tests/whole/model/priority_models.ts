/**
 * The selectors whose weights hang on more than the last priority, as obvious lists.
 *
 * @module
 */

import type { Fault } from "./faults.ts";
import { portableLog, portablePow, portableWeight } from "./portable_math.ts";
import type { Random } from "./random.ts";
import type { Draws, SelectorModel } from "./draws.ts";
import type { CuriousSpec, PserSpec, UcbSpec } from "./selector_specs.ts";
import {
  at,
  drawByWeights,
  leastProbability,
  priorityOfWeight,
  streamOfCopy,
  weightOf,
} from "./weights.ts";

/** How far off the probabilities of a rule may be that the model can only follow: float32's rounding, and a sum's order. */
const TOLERANCE = 1e-6;

/** Prioritized sequence experience replay (Brittain et al. 2019), on weights p^alpha. */
export class PserModel implements SelectorModel {
  readonly weighted = true;
  constructor(
    private readonly spec: PserSpec,
    private readonly random: Random,
    private readonly weights: number[],
    private priorityMax: number,
    private readonly fault?: Fault,
  ) {}

  pushed(): void {
    const initial = this.fault === "newPriorityInitial";
    const priority = initial ? this.spec.initialPriority : this.priorityMax;
    this.weights.push(weightOf(priority, this.spec, this.fault));
  }
  moved(to: number): void {
    this.weights[to] = at(this.weights, this.weights.length - 1);
  }
  popped(): void {
    this.weights.pop();
  }

  setPriority(
    indices: readonly number[],
    priorities: readonly number[],
    before?: (index: number) => readonly number[],
  ): void {
    this.priorityMax = Math.max(this.priorityMax, ...priorities);
    if (before === undefined) {
      // It comes with the record: there is nothing before it to keep, and it decays nowhere.
      for (const [k, index] of indices.entries()) {
        this.weights[index] = weightOf(at(priorities, k), this.spec, this.fault);
      }
    } else if (this.fault === "pserOneByOne") {
      for (const [k, index] of indices.entries()) {
        this.#update(new Map([[index, at(priorities, k)]]), before);
      }
    } else {
      // A map keeps the last of two for one pick.
      this.#update(new Map(indices.map((index, k) => [index, at(priorities, k)])), before);
    }
  }

  #update(
    priorities: ReadonlyMap<number, number>,
    before: (index: number) => readonly number[],
  ): void {
    const { decay, window, retain, alpha } = this.spec;
    const own = new Map<number, number>();
    for (const [index, priority] of priorities) {
      const least = portableWeight(at(this.weights, index) * portablePow(retain, alpha));
      const weight = weightOf(priority, this.spec, this.fault);
      own.set(index, this.fault === "pserForgets" ? weight : Math.max(weight, least));
    }
    for (const [index, weight] of own) this.weights[index] = weight;
    for (const [index, weight] of own) {
      let share = 1;
      for (const earlier of before(index).slice(0, window)) {
        share *= decay;
        const decayed = portableWeight(weight * portablePow(share, alpha));
        this.weights[earlier] = Math.max(at(this.weights, earlier), decayed);
      }
    }
  }

  priority(index: number): number {
    return priorityOfWeight(at(this.weights, index), this.spec, this.fault);
  }
  select(count: number): Draws {
    return drawByWeights(this.weights, this.random, count, this.spec.draw, this.fault);
  }
  probabilityMin(): number {
    return this.spec.normalize === "batch" ? 0 : leastProbability(this.weights, this.fault);
  }
  clone(): SelectorModel {
    const forgets = this.fault === "snapshotForgetsMaximum";
    return new PserModel(
      this.spec,
      streamOfCopy(this.random, this.fault),
      [...this.weights],
      forgets ? this.spec.initialPriority : this.priorityMax,
      this.fault,
    );
  }
}

/** How often a pick was drawn, and (loss + epsilon)^alpha of its last loss. */
interface Curiosity {
  readonly draws: number;
  readonly term: number | undefined;
}

/** Curious replay (Kauvar et al. 2023): weights are reckoned anew for each batch. */
export class CuriousModel implements SelectorModel {
  readonly weighted = true;
  /** Of the last batch. */
  #least = 0;
  constructor(
    private readonly spec: CuriousSpec,
    private readonly random: Random,
    private readonly picks: Curiosity[],
    private readonly fault?: Fault,
  ) {}

  pushed(): void {
    this.picks.push({ draws: 0, term: undefined });
  }
  moved(to: number): void {
    this.picks[to] = this.#pick(this.picks.length - 1);
  }
  popped(): void {
    this.picks.pop();
  }
  setPriority(indices: readonly number[], losses: readonly number[]): void {
    for (const [k, index] of indices.entries()) {
      const { draws } = this.#pick(index);
      const term = weightOf(at(losses, k), this.spec, this.fault);
      this.picks[index] = { draws: this.fault === "curiousLossStartsAnew" ? 0 : draws, term };
    }
  }
  priority(index: number): number {
    const { term } = this.#pick(index);
    return term === undefined ? NaN : priorityOfWeight(term, this.spec, this.fault);
  }
  select(count: number): Draws {
    const weights = this.picks.map((pick) => this.#weightOf(pick));
    const drawn = drawByWeights(weights, this.random, count, this.spec.draw, this.fault);
    this.#least = leastProbability(weights, this.fault);
    const counted = this.fault === "curiousCountsOnce" ? new Set(drawn.indices) : drawn.indices;
    for (const index of counted) {
      const { draws, term } = this.#pick(index);
      this.picks[index] = { draws: draws + 1, term };
    }
    return drawn;
  }
  probabilityMin(): number {
    return this.spec.normalize === "batch" ? 0 : this.#least;
  }
  clone(): SelectorModel {
    const random = streamOfCopy(this.random, this.fault);
    return new CuriousModel(this.spec, random, [...this.picks], this.fault);
  }

  #pick(index: number): Curiosity {
    const pick = this.picks[index];
    if (pick === undefined) throw new RangeError(`the model has no pick ${index}`);
    return pick;
  }
  #weightOf({ draws, term }: Curiosity): number {
    const { c, beta, pMax } = this.spec;
    if (term === undefined) return portableWeight(pMax);
    const isPositive = c > 0 && (beta > 0 || draws === 0);
    const novelty = c * portablePow(beta, draws);
    return portableWeight((isPositive ? Math.max(novelty, 2 ** -126) : novelty) + term);
  }
}

interface Arm {
  priority: number;
  draws: number;
  readonly born: number;
}

/** Upper confidence bounds, by looking at every pick for every draw. */
export class UcbModel implements SelectorModel {
  readonly weighted: boolean;
  constructor(
    private readonly spec: UcbSpec,
    private readonly arms: Arm[],
    private readonly counts: { total: number; max: number; born: number },
    private readonly fault?: Fault,
  ) {
    this.weighted = spec.mode === "proportional";
  }

  pushed(): void {
    this.arms.push({ priority: this.counts.max, draws: 0, born: this.counts.born++ });
  }
  moved(to: number): void {
    this.arms[to] = this.#arm(this.arms.length - 1);
  }
  popped(): void {
    this.arms.pop();
  }
  setPriority(indices: readonly number[], priorities: readonly number[]): void {
    for (const [k, index] of indices.entries()) {
      const priority = portableWeight(at(priorities, k));
      this.counts.max = Math.max(this.counts.max, priority);
      this.#arm(index).priority = priority;
    }
  }

  priority(index: number): number {
    return this.#arm(index).priority;
  }
  select(count: number, seen?: Draws): Draws {
    const indices: number[] = [];
    const probabilities: number[] = [];
    const late: number[] = [];
    for (let k = 0; k < count; k++) {
      const forced = this.#oldestNeverDrawn();
      let index = forced ?? 0;
      let probability = this.weighted ? 1 / this.arms.length : 1;
      if (forced === undefined && this.weighted) {
        // A proportional draw depends on the selector's internal order. So the model takes the library's pick, and checks
        // it.
        index = at(seen?.indices ?? [], k);
        probability = this.#share(index);
        const claimed = at(seen?.probabilities ?? [], k);
        if (!(probability > 0 && Math.abs(claimed - probability) <= TOLERANCE * probability)) {
          throw new Error(`draw ${k} has probability ${claimed}, the scores say ${probability}`);
        }
      } else if (forced === undefined) index = this.#best();
      indices.push(index);
      probabilities.push(probability);
      if (this.fault === "ucbCountsLate" && forced === undefined) late.push(index);
      else this.#draw(index);
    }
    for (const index of late) this.#draw(index);
    return { indices, probabilities, tolerance: this.weighted ? TOLERANCE : 0 };
  }

  probabilityMin(): number {
    return 0;
  }

  clone(): SelectorModel {
    return new UcbModel(
      this.spec,
      this.arms.map((arm) => ({ ...arm })),
      { ...this.counts },
      this.fault,
    );
  }

  #arm(index: number): Arm {
    const arm = this.arms[index];
    if (arm === undefined) throw new RangeError(`the model has no pick ${index}`);
    return arm;
  }
  #draw(index: number): void {
    this.#arm(index).draws++;
    this.counts.total++;
  }
  #oldestNeverDrawn(): number | undefined {
    let oldest: number | undefined;
    for (const [index, arm] of this.arms.entries()) {
      if (arm.draws > 0) continue;
      if (oldest === undefined || arm.born < this.#arm(oldest).born) oldest = index;
    }
    return oldest;
  }
  #score(arm: Arm, logTotal: number): number {
    const q = this.counts.max > 0 ? arm.priority / this.counts.max : 0;
    return q + this.spec.c * Math.sqrt(logTotal / arm.draws);
  }
  /** The share that a pick's score has in the sum of all. */
  #share(index: number): number {
    const logTotal = portableLog(this.counts.total);
    let sum = 0;
    for (const arm of this.arms) sum += this.#score(arm, logTotal);
    return sum > 0 ? this.#score(this.#arm(index), logTotal) / sum : 1 / this.arms.length;
  }
  /** The largest score; of equal ones fewer draws, then the larger priority, then the older. */
  #best(): number {
    const logTotal = portableLog(this.counts.total);
    let best = 0;
    for (const [index, arm] of this.arms.entries()) {
      const champion = this.#arm(best);
      const order = this.#score(arm, logTotal) - this.#score(champion, logTotal) ||
        champion.draws - arm.draws || arm.priority - champion.priority ||
        (this.fault === "ucbTiesByIndex" ? best - index : champion.born - arm.born);
      if (order > 0) best = index;
    }
    return best;
  }
}
