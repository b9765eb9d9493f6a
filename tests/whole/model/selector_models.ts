/**
 * The selectors, as obvious lists: one entry a pick, in the order of the pick view.
 *
 * @module
 */

import type { Fault } from "./faults.ts";
import { portablePow, portablePow32, portableWeight } from "./portable_math.ts";
import type { Draws, SelectorModel } from "./draws.ts";
import { CuriousModel, PserModel, UcbModel } from "./priority_models.ts";
import { Random } from "./random.ts";
import type {
  PrioritizedSpec,
  PriorityEndSpec,
  RankBasedSpec,
  RecentSpec,
  SimpleSpec,
} from "./selector_specs.ts";
import {
  at,
  binarySums,
  drawByWeights,
  findPoint,
  leastProbability,
  priorityOfWeight,
  range,
  streamOfCopy,
  weightOf,
} from "./weights.ts";

export function selectorModel(
  spec: SimpleSpec,
  seed: number,
  stream: number,
  fault?: Fault,
): SelectorModel {
  const random = new Random(seed, stream);
  switch (spec.kind) {
    case "uniform":
      return new UniformModel(random, 0, fault);
    case "sweep":
      return new SweepModel([], 0, 0);
    case "prioritized":
      return new PrioritizedModel(spec, random, [], spec.initialPriority, fault);
    case "ucb":
      return new UcbModel(
        spec,
        [],
        { total: 0, max: portableWeight(spec.initialPriority), born: 0 },
        fault,
      );
    case "oldest":
    case "newest":
      return new AgeEndModel(spec, [], 0);
    case "withoutReplacement":
      return new WithoutReplacementModel(random, 0, fault);
    case "rankBased":
      return new RankBasedModel(
        spec,
        random,
        [],
        { max: portableWeight(spec.initialPriority), born: 0 },
        fault,
      );
    case "pser":
      return new PserModel(spec, random, [], spec.initialPriority, fault);
    case "curious":
      return new CuriousModel(spec, random, [], fault);
    case "recent":
      return new RecentModel(spec, random, [], { born: 0, k: 1 }, fault);
    case "highestPriority":
    case "lowestPriority":
      return new PriorityEndModel(spec, [], { max: spec.initialPriority, stamp: 0 }, fault);
  }
}

/** Every pick with the same probability. */
class UniformModel implements SelectorModel {
  readonly weighted = false;
  constructor(private readonly random: Random, private size: number, private fault?: Fault) {}
  pushed(): void {
    this.size++;
  }
  moved(): void {}
  popped(): void {
    this.size--;
  }
  setPriority(): void {}
  select(count: number): Draws {
    const indices = range(count).map(() => this.random.below(this.size));
    return { indices, probabilities: indices.map(() => 1 / this.size) };
  }
  probabilityMin(): number {
    return 0;
  }
  clone(): SelectorModel {
    return new UniformModel(streamOfCopy(this.random, this.fault), this.size, this.fault);
  }
}

/** One pick after the other, round and round; a user's rule. Picks are labelled as they come, and claim by their label. */
class SweepModel implements SelectorModel {
  readonly weighted = true;
  constructor(private readonly labels: number[], private born: number, private drawn: number) {}
  pushed(): void {
    this.labels.push(this.born++);
  }
  moved(to: number): void {
    this.labels[to] = at(this.labels, this.labels.length - 1);
  }
  popped(): void {
    this.labels.pop();
  }
  setPriority(): void {}
  select(count: number): Draws {
    const indices = range(count).map(() => this.drawn++ % this.labels.length);
    return { indices, probabilities: indices.map((k) => sweepProbability(at(this.labels, k))) };
  }
  probabilityMin(): number {
    return 0;
  }
  clone(): SelectorModel {
    return new SweepModel([...this.labels], this.born, this.drawn);
  }
}

export function sweepProbability(label: number): number {
  return 2 ** -(label % 8);
}

/** Proportional prioritization (Schaul et al. 2016, section 3.3). */
class PrioritizedModel implements SelectorModel {
  readonly weighted = true;
  constructor(
    private readonly spec: PrioritizedSpec,
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

  setPriority(indices: readonly number[], priorities: readonly number[]): void {
    for (const [k, index] of indices.entries()) {
      this.priorityMax = Math.max(this.priorityMax, at(priorities, k));
      if (this.fault === "firstPriorityWins" && indices.indexOf(index) < k) continue;
      this.weights[index] = weightOf(at(priorities, k), this.spec, this.fault);
    }
  }

  priority(index: number): number {
    return priorityOfWeight(at(this.weights, index), this.spec, this.fault);
  }
  select(count: number): Draws {
    return drawByWeights(this.weights, this.random, count, this.spec.draw, this.fault);
  }

  probabilityMin(): number {
    if (this.spec.normalize === "batch" || this.fault === "normalizeByBatch") return 0;
    return leastProbability(this.weights, this.fault);
  }

  clone(): SelectorModel {
    const forgets = this.fault === "snapshotForgetsMaximum";
    return new PrioritizedModel(
      this.spec,
      streamOfCopy(this.random, this.fault),
      [...this.weights],
      forgets ? this.spec.initialPriority : this.priorityMax,
      this.fault,
    );
  }
}

/** The oldest pick or the newest; picks are numbered as they come. */
class AgeEndModel implements SelectorModel {
  readonly weighted = false;
  constructor(
    private readonly spec: { readonly kind: "oldest" | "newest"; readonly distinct: boolean },
    private readonly births: number[],
    private born: number,
  ) {}
  pushed(): void {
    this.births.push(this.born++);
  }
  moved(to: number): void {
    this.births[to] = at(this.births, this.births.length - 1);
  }
  popped(): void {
    this.births.pop();
  }
  setPriority(): void {}
  select(count: number): Draws {
    const byAge = this.births.toSorted((a, b) => this.spec.kind === "oldest" ? a - b : b - a);
    return {
      indices: range(count).map((k) =>
        this.births.indexOf(at(byAge, this.spec.distinct ? k % byAge.length : 0))
      ),
      probabilities: range(count).map(() => 1),
    };
  }
  probabilityMin(): number {
    return 0;
  }
  clone(): SelectorModel {
    return new AgeEndModel(this.spec, [...this.births], this.born);
  }
}

/** The highest priority or the lowest; of equal ones the one given or set first. */
class PriorityEndModel implements SelectorModel {
  readonly weighted = false;
  constructor(
    private readonly spec: PriorityEndSpec,
    private readonly picks: { priority: number; stamp: number }[],
    private readonly counts: { max: number; stamp: number },
    private readonly fault?: Fault,
  ) {}
  pushed(): void {
    const initial = this.fault === "newPriorityInitial";
    const priority = initial ? this.spec.initialPriority : this.counts.max;
    this.picks.push({ priority, stamp: this.counts.stamp++ });
  }
  moved(to: number): void {
    this.picks[to] = this.picks.at(-1) ?? { priority: NaN, stamp: NaN };
  }
  popped(): void {
    this.picks.pop();
  }
  setPriority(indices: readonly number[], priorities: readonly number[]): void {
    for (const [k, index] of indices.entries()) {
      const priority = at(priorities, k);
      this.counts.max = Math.max(this.counts.max, priority);
      this.picks[index] = {
        priority,
        stamp: this.fault === "priorityTiesByAge"
          ? this.picks[index]?.stamp ?? NaN
          : this.counts.stamp++,
      };
    }
  }
  priority(index: number): number {
    return this.picks[index]?.priority ?? NaN;
  }
  select(count: number): Draws {
    const sign = this.spec.kind === "highestPriority" ? -1 : 1;
    const [first] = [...this.picks.entries()].toSorted(([, a], [, b]) =>
      sign * (a.priority - b.priority) || a.stamp - b.stamp
    );
    return certain(first?.[0] ?? NaN, count);
  }
  probabilityMin(): number {
    return 0;
  }
  clone(): SelectorModel {
    const counts = { ...this.counts };
    if (this.fault === "snapshotForgetsMaximum") counts.max = this.spec.initialPriority;
    const picks = this.picks.map((pick) => ({ ...pick }));
    return new PriorityEndModel(this.spec, picks, counts, this.fault);
  }
}

/** Uniform over the newest, sorted anew for each batch. */
class RecentModel implements SelectorModel {
  readonly weighted = false;
  constructor(
    private readonly spec: RecentSpec,
    private readonly random: Random,
    private readonly births: number[],
    private readonly counts: { born: number; k: number },
    private readonly fault?: Fault,
  ) {}
  pushed(): void {
    this.births.push(this.counts.born++);
  }
  moved(to: number): void {
    this.births[to] = at(this.births, this.births.length - 1);
  }
  popped(): void {
    this.births.pop();
  }
  setPriority(): void {}
  select(count: number): Draws {
    const { newest, fraction, eta, updates } = this.spec;
    const { k } = this.counts;
    const size = this.births.length;
    const share = Math.floor(fraction * size * portablePow(eta, 1000 * k / updates));
    const window = Math.min(Math.max(share, newest), size);
    this.counts.k = this.fault === "recentNeverShrinks" ? 1 : k === updates ? 1 : k + 1;
    const byAge = range(size).sort((a, b) => at(this.births, b) - at(this.births, a));
    const indices = range(count).map(() => at(byAge, this.random.below(window)));
    return { indices, probabilities: indices.map(() => 1 / window) };
  }
  probabilityMin(): number {
    return 0;
  }
  clone(): SelectorModel {
    const random = streamOfCopy(this.random, this.fault);
    return new RecentModel(this.spec, random, [...this.births], { ...this.counts }, this.fault);
  }
}

/** Floyd's algorithm with a plain list, then a shuffle. */
class WithoutReplacementModel implements SelectorModel {
  readonly weighted = false;
  constructor(private readonly random: Random, private size: number, private fault?: Fault) {}
  pushed(): void {
    this.size++;
  }
  moved(): void {}
  popped(): void {
    this.size--;
  }
  setPriority(): void {}
  get batchMax(): number {
    return this.size;
  }
  select(count: number): Draws {
    const indices: number[] = [];
    for (let last = this.size - count; last < this.size; last++) {
      const one = this.random.below(last + 1);
      const twice = this.fault !== "drawsTwice" && indices.includes(one);
      indices.push(twice ? last : one);
    }
    for (let k = count - 1; k > 0; k--) {
      const other = this.random.below(k + 1);
      [indices[k], indices[other]] = [at(indices, other), at(indices, k)];
    }
    return { indices, probabilities: indices.map(() => 1 / this.size) };
  }
  probabilityMin(): number {
    return 0;
  }
  clone(): SelectorModel {
    const random = streamOfCopy(this.random, this.fault);
    return new WithoutReplacementModel(random, this.size, this.fault);
  }
}

/** Rank-based prioritization (Schaul et al. 2016, section 3.3): the picks are sorted for each batch. */
class RankBasedModel implements SelectorModel {
  readonly weighted = true;
  constructor(
    private readonly spec: RankBasedSpec,
    private readonly random: Random,
    private readonly picks: { readonly priority: number; readonly born: number }[],
    private readonly counts: { max: number; born: number },
    private readonly fault?: Fault,
  ) {}
  pushed(): void {
    const initial = this.fault === "newPriorityInitial";
    const priority = initial ? portableWeight(this.spec.initialPriority) : this.counts.max;
    this.picks.push({ priority, born: this.counts.born++ });
  }
  moved(to: number): void {
    this.picks[to] = this.#pick(this.picks.length - 1);
  }
  popped(): void {
    this.picks.pop();
  }
  setPriority(indices: readonly number[], priorities: readonly number[]): void {
    for (const [k, index] of indices.entries()) {
      const priority = portableWeight(at(priorities, k));
      this.counts.max = Math.max(this.counts.max, priority);
      this.picks[index] = { priority, born: this.#pick(index).born };
    }
  }
  priority(index: number): number {
    return this.#pick(index).priority;
  }
  select(count: number): Draws {
    const weights = this.#weights();
    const sums = binarySums(weights, this.fault);
    const total = at(sums.at(-1) ?? [], 0);
    const order = range(weights.length).sort((a, b) => {
      const [first, second] = [this.#pick(a), this.#pick(b)];
      const age = this.fault === "rankTiesByIndex" ? a - b : first.born - second.born;
      return second.priority - first.priority || age;
    });
    const ranks = range(count).map((k) => {
      const u = this.random.uniform();
      return findPoint(sums, (this.spec.draw === "independent" ? u : (k + u) / count) * total);
    });
    return {
      indices: ranks.map((rank) => at(order, rank)),
      probabilities: ranks.map((rank) => at(weights, rank) / total),
    };
  }
  probabilityMin(): number {
    if (this.spec.normalize === "batch") return 0;
    const weights = this.#weights();
    const total = at(binarySums(weights).at(-1) ?? [], 0);
    return Math.min(...weights.filter((weight) => weight > 0)) / total;
  }
  clone(): SelectorModel {
    const random = streamOfCopy(this.random, this.fault);
    const counts = { ...this.counts };
    if (this.fault === "snapshotForgetsMaximum") {
      counts.max = portableWeight(this.spec.initialPriority);
    }
    return new RankBasedModel(this.spec, random, [...this.picks], counts, this.fault);
  }
  #pick(index: number): { readonly priority: number; readonly born: number } {
    const pick = this.picks[index];
    if (pick === undefined) throw new RangeError(`the model has no pick ${index}`);
    return pick;
  }
  /** Of the ranks, the first first. */
  #weights(): number[] {
    return range(this.picks.length).map((rank) => portablePow32(rank + 1, -this.spec.alpha));
  }
}

function certain(index: number, count: number): Draws {
  return { indices: new Array(count).fill(index), probabilities: new Array(count).fill(1) };
}
