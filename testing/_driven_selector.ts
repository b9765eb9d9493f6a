/**
 * Drives a selector's replay by seeded operations, beside a plain copy of the states that must be stored.
 *
 * @module
 */

import type { Batch, Column, Selector } from "../mod.ts";
import { NativeSelector, RandomStream, type SelectorRule } from "../selectors/mod.ts";
import type { Progress } from "./conformance.ts";
import { expect, expectSame } from "./_expect.ts";
import {
  type KernelChoice,
  recordEpisode,
  type SmallReplay,
  smallReplay,
} from "./_small_replay.ts";

/** The selector under test, and the options that its checks need. */
export interface Subject {
  readonly make: () => SelectorRule<SmallBatch>;
  readonly distinct: boolean;
  readonly someOnly: boolean;
  readonly kernel: KernelChoice;
}

/** A batch of a small replay. */
export type SmallBatch = Batch<{ state: Column<"float32", [1]> }>;

/** A selector of a small replay. */
export type SmallSelector = Selector<{ state: Column<"float32", [1]> }>;

/** The name of a selector value. */
export function nameOf(rule: SelectorRule<SmallBatch>): string {
  return rule instanceof NativeSelector ? rule.kind : rule.name;
}

/** The batch size nearest to `size` that the selector can draw. */
export function sizeFor({ distinct }: Subject, replay: SmallReplay, size: number): number {
  return distinct ? Math.max(1, Math.min(size, replay.pickCount)) : size;
}

/** A replay with one ended episode of `count` picks, whose states are 0, 1, …, `count` - 1. */
export async function filled(
  subject: Subject,
  at: Progress,
  count: number,
  seed = at.seed,
): Promise<[replay: SmallReplay, selector: SmallSelector, episode: number]> {
  const { kernel } = subject;
  const replay = await smallReplay({ kernel, capacity: 4096, seed });
  const selector = replay.newPickSelector(subject.make());
  return [replay, selector, recordEpisode(replay, count)];
}

/** An empty replay like that of a driven selector. */
export function drivenReplay({ kernel }: Subject, seed: number): Promise<SmallReplay> {
  return smallReplay({ kernel, capacity: 60, segmentLength: 25, seed });
}

/** Draws `draws` picks, and counts how often each state comes up. */
export function tally(
  subject: Subject,
  replay: SmallReplay,
  selector: SmallSelector,
  draws: number,
): Map<number, number> {
  const drawn = new Map<number, number>();
  const size = sizeFor(subject, replay, 100);
  for (let left = draws; left > 0; left -= size) {
    for (const state of replay.getBatch(Math.min(size, left), selector).state) {
      drawn.set(state, (drawn.get(state) ?? 0) + 1);
    }
  }
  return drawn;
}

/** Sets the priorities of positions 0, 1, … of an episode. */
export function prioritize(
  replay: SmallReplay,
  selector: SmallSelector,
  episode: number,
  values: ArrayLike<number>,
): number {
  const positions = Int32Array.from({ length: values.length }, (_, k) => k);
  const episodes = new Float64Array(values.length).fill(episode);
  return replay.setPriority(selector, episodes, positions, Float64Array.from(values));
}

/** A replay driven by seeded operations. */
export class DrivenSelector {
  readonly replay: SmallReplay;
  readonly selector: SmallSelector;
  readonly #subject: Subject;
  readonly #at: Progress;
  readonly #random: RandomStream;
  /** The states of each episode, by handle. */
  readonly #states = new Map<number, number[]>();
  readonly #open: number[] = [];
  #next = 0;

  private constructor(subject: Subject, at: Progress, replay: SmallReplay) {
    this.#subject = subject;
    this.#at = at;
    this.replay = replay;
    this.selector = replay.newPickSelector(subject.make());
    this.#random = new RandomStream(at.seed, 1);
  }

  /** Starts with an empty replay. The seed of `at` determines the operations, and `at` counts them. */
  static async start(subject: Subject, at: Progress): Promise<DrivenSelector> {
    return new DrivenSelector(subject, at, await drivenReplay(subject, at.seed));
  }

  /** Makes `count` random operations. Returns the drawn states. */
  run(count: number): number[] {
    const drawn: number[] = [];
    for (const _ of this.#at.rounds(count)) drawn.push(...this.#step()?.state ?? []);
    return drawn;
  }

  /** Makes one random operation. Checks and returns the batch, if it draws one. */
  #step(): SmallBatch | undefined {
    const { replay } = this;
    const random = this.#random;
    const choice = random.below(20);
    if (choice === 0 || this.#open.length === 0) {
      const handle = replay.newEpisode();
      this.#open.push(handle);
      this.#states.set(handle, []);
    } else if (choice < 12) {
      this.#record(random.below(this.#open.length), random.below(8) === 0);
    } else if (choice === 12) {
      const live = replay.episodes().handle;
      if (live.length > 0) replay.evict(live[random.below(live.length)] ?? NaN);
    } else if (replay.pickCount > 0) {
      return choice < 17 ? this.#draw() : this.#update();
    }
    return undefined;
  }

  #record(place: number, ends: boolean): void {
    const state = this.#next++;
    const options = ends
      ? { finalState: [state + 0.5], truncated: this.#random.below(2) === 0 }
      : undefined;
    const handle = this.replay.record(this.#open[place] ?? NaN, [state], 0, 0, options);
    if (!this.#states.has(handle)) this.#states.set(handle, []);
    this.#states.get(handle)?.push(state);
    if (ends) this.#open.splice(place, 1);
    else this.#open[place] = handle;
  }

  /** Draws a batch. Checks that every pick is stored, and that every number is in its range. */
  #draw(): SmallBatch {
    const { distinct } = this.#subject;
    const size = sizeFor(this.#subject, this.replay, 1 + this.#random.below(20));
    const batch = this.replay.getBatch(size, this.selector, { beta: this.#random.below(11) / 10 });
    expectSame("the size of the batch", batch.size, size);
    for (let k = 0; k < batch.size; k++) {
      const episode = batch.pickEpisode[k] ?? NaN;
      const position = batch.pickPosition[k] ?? NaN;
      const pick = `pick ${k} of ${size}, record ${position} of episode ${episode},`;
      expect(
        this.replay.episode(episode).ending !== "evicted",
        () => `${pick} was evicted`,
      );
      expectSame(`${pick} has a state that`, batch.state[k], this.#states.get(episode)?.[position]);
      const probability = batch.probability[k] ?? NaN;
      const weight = batch.importanceWeight[k] ?? NaN;
      expect(
        probability > 0 && probability <= 1,
        () => `${pick} has probability ${probability}; more than 0 and at most 1 is possible`,
      );
      expect(
        weight > 0 && weight <= 1,
        () => `${pick} has importance weight ${weight}; more than 0 and at most 1 is possible`,
      );
    }
    if (distinct) {
      const count = new Set(batch.state).size;
      expect(count === size, () => `a batch of ${size} has ${count} different picks`);
    }
    return batch;
  }

  /** Draws a batch, and sets the priorities of its picks. */
  #update(): SmallBatch {
    const batch = this.#draw();
    const priorities = Float64Array.from(batch.state, () => this.#random.below(5) / 2);
    const { pickEpisode, pickPosition } = batch;
    const applied = this.replay.setPriority(this.selector, pickEpisode, pickPosition, priorities);
    expectSame("what setPriority() applied", applied, batch.size);
    return batch;
  }
}
