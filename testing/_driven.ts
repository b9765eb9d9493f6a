/**
 * Drives a replay by seeded operations, beside a plain copy of the states that must be stored. Selectors and eviction policies share the
 * checks that need no more than that.
 *
 * @module
 */

import { RandomStream, type SelectorRule } from "../selectors/mod.ts";
import type { Progress } from "./conformance.ts";
import { expect, expectSame, expectSameBatch, expectSameNumbers } from "./_expect.ts";
import {
  recordEpisode,
  type SmallBatch,
  type SmallReplay,
  type SmallSelector,
} from "./_small_replay.ts";

/** What a replay is driven with. */
export interface Drive {
  /** Makes an empty replay. */
  readonly replay: (seed: number) => Promise<SmallReplay>;
  /** Makes the rule that draws. */
  readonly rule: () => SelectorRule<SmallBatch>;
  /** Whether the rule draws no pick twice in a batch. */
  readonly distinct?: boolean;
}

/** The most episodes that are open at once. */
const OPEN_MAX = 5;

/** The batch size nearest to `size` that the rule can draw. */
export function sizeFor(
  { distinct }: { readonly distinct?: boolean },
  replay: SmallReplay,
  size: number,
): number {
  return distinct ? Math.max(1, Math.min(size, replay.pickCount)) : size;
}

/** A replay driven by seeded operations. */
export class Driven {
  readonly replay: SmallReplay;
  readonly selector: SmallSelector;
  /** The states that were drawn. */
  readonly drawn: number[] = [];
  /** The episodes that are gone, in the order in which they went. */
  readonly evicted: number[] = [];
  readonly #drive: Drive;
  readonly #at: Progress;
  readonly #random: RandomStream;
  /** The states of each episode, by handle. */
  readonly #states = new Map<number, number[]>();
  readonly #open: number[] = [];
  #live: readonly number[] = [];
  #next = 0;

  private constructor(drive: Drive, at: Progress, replay: SmallReplay) {
    this.#drive = drive;
    this.#at = at;
    this.replay = replay;
    this.selector = replay.newPickSelector(drive.rule());
    this.#random = new RandomStream(at.seed, 1);
  }

  /** Starts with an empty replay. The seed of `at` determines the operations, and `at` counts them. */
  static async start(drive: Drive, at: Progress): Promise<Driven> {
    return new Driven(drive, at, await drive.replay(at.seed));
  }

  /** Makes `count` random operations. Calls `look` after each. */
  run(count: number, look?: () => void): void {
    for (const _ of this.#at.rounds(count)) {
      this.#step();
      const live = [...this.replay.episodes()];
      for (const handle of this.#live) if (!live.includes(handle)) this.evicted.push(handle);
      this.#live = live;
      look?.();
    }
  }

  #step(): void {
    const { replay } = this;
    const random = this.#random;
    const choice = random.below(20);
    if (this.#open.length === 0 || (choice === 0 && this.#open.length < OPEN_MAX)) {
      const handle = replay.newEpisode();
      this.#open.push(handle);
      this.#states.set(handle, []);
    } else if (choice < 12) {
      this.#record(random.below(this.#open.length), random.below(7) === 0);
    } else if (choice === 12) {
      const live = replay.episodes();
      if (live.length > 0) replay.evict(live[random.below(live.length)] ?? NaN);
    } else if (replay.pickCount > 0) {
      this.#draw(choice >= 17);
    }
  }

  #record(place: number, ends: boolean): void {
    const state = this.#next++;
    const options = ends
      ? { finalState: [state + 0.5], truncated: this.#random.below(2) === 0 }
      : undefined;
    const handle = this.replay.record(this.#open[place] ?? NaN, [state], 0, 0, options);
    const { recordCount } = this.replay.episode(handle);
    expect(recordCount >= 1, () => `episode ${handle} lost the record just written`);
    if (!this.#states.has(handle)) this.#states.set(handle, []);
    this.#states.get(handle)?.push(state);
    if (ends) this.#open.splice(place, 1);
    else this.#open[place] = handle;
  }

  /** Draws a batch. Checks that every pick is stored, and that every number is in its range. Sets priorities of its picks, where asked. */
  #draw(prioritizes: boolean): void {
    const size = sizeFor(this.#drive, this.replay, 1 + this.#random.below(20));
    const batch = this.replay.getBatch(size, this.selector, { beta: this.#random.below(11) / 10 });
    const { pickEpisode, pickPosition } = batch;
    expectSame("the size of the batch", batch.size, size);
    const inRange = (what: string, number: number): void =>
      expect(
        number > 0 && number <= 1,
        () => `${what} ${number}; more than 0 and at most 1 is possible`,
      );
    for (let k = 0; k < batch.size; k++) {
      const episode = pickEpisode[k] ?? NaN;
      const position = pickPosition[k] ?? NaN;
      expect(
        this.#live.includes(episode),
        () => `a batch says that a pick is of episode ${episode}, which is not there`,
      );
      const pick = `pick ${k} of ${size}, record ${position} of episode ${episode},`;
      expectSame(`${pick} has a state that`, batch.state[k], this.#states.get(episode)?.[position]);
      inRange(`${pick} has probability`, batch.probability[k] ?? NaN);
      inRange(`${pick} has importance weight`, batch.importanceWeight[k] ?? NaN);
    }
    if (this.#drive.distinct) {
      const count = new Set(batch.state).size;
      expect(count === size, () => `a batch of ${size} has ${count} different picks`);
    }
    this.drawn.push(...batch.state);
    if (!prioritizes) return;
    const priorities = Float64Array.from(batch.state, () => this.#random.below(5) / 2);
    const applied = this.replay.setPriority(this.selector, pickEpisode, pickPosition, priorities);
    expectSame("what setPriority() applied", applied, batch.size);
  }
}

/** The same seed and operations draw the same, and evict the same. */
export async function repeatsItself(drive: Drive, at: Progress): Promise<void> {
  const run = async (): Promise<Driven> => {
    const driven = await Driven.start(drive, at);
    using _replay = driven.replay;
    driven.run(500);
    return driven;
  };
  const [one, other] = [await run(), await run()];
  at.operation = undefined;
  expectSameNumbers("the episodes evicted by the same operations", other.evicted, one.evicted);
  expectSameNumbers("the states drawn by the same operations", other.drawn, one.drawn);
}

/** After saving and loading, a replay goes on the same. */
export async function goesOnWhenLoaded(drive: Drive, at: Progress): Promise<void> {
  for (const k of at.seeds(4)) {
    const driven = await Driven.start(drive, at);
    using replay = driven.replay;
    driven.run(300);
    // Several ended episodes, in an order that the draws change.
    for (let episode = 0; episode < 8; episode++) {
      recordEpisode(replay, 3, 1000);
      replay.getBatch(sizeFor(drive, replay, 3), driven.selector);
    }
    using loaded = await drive.replay(at.seed + 100);
    const selector = loaded.newPickSelector(drive.rule());
    if (k % 2 === 0) { // old contents must leave no trace
      for (let episode = 0; episode < 20; episode++) recordEpisode(loaded, 3, 2000);
      loaded.setPriority(selector, [19], [0], [77]);
      loaded.getBatch(sizeFor(drive, loaded, 5), selector);
    }
    await loaded.unserialize(await replay.serialize());
    for (const round of at.rounds(200)) {
      // Record first: the priority that new picks begin with may depend on the whole past.
      for (const each of [replay, loaded]) recordEpisode(each, 1 + round % 4, 4000 + round);
      expectSameNumbers("the episodes after loading", loaded.episodes(), replay.episodes());
      const size = sizeFor(drive, replay, 7);
      const batch = replay.getBatch(size, driven.selector);
      expectSameBatch("a batch after loading", loaded.getBatch(size, selector), batch);
      const priorities = batch.state.map((state) => (state * 7 + round) % 5);
      for (const [each, own] of [[replay, driven.selector], [loaded, selector]] as const) {
        each.setPriority(own, batch.pickEpisode, batch.pickPosition, priorities);
      }
    }
  }
}
