/**
 * Does the rule of drawing matter? This compares how many updates Q-learning needs on the Blind Cliffwalk, from a full replay. The draws
 * are uniform, or by the selector of examples/surprise_first.ts, or by `prioritized()`.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/cliffwalk.ts`
 *
 * The task is `BlindCliffwalk` of `@exrp/replay/envs`. A walk goes through n states. In each state, one action leads on and the other ends
 * the walk. Only the last step of the whole walk has a reward, 1. The replay holds the records of all 2^n sequences of actions, in random
 * order: 2^(n+1) - 2 records, and one of them has the reward.
 *
 * @module
 */

import {
  type Column,
  ExperienceReplay,
  prioritized,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { BlindCliffwalk } from "@exrp/replay/envs";
import { RandomStream, type SelectorRule } from "@exrp/replay/selectors";
import { SurpriseFirst } from "./surprise_first.ts";

/** States of the walk. */
export const STATE_COUNT = 10;

/** How many records all walks have together. */
export const RECORD_COUNT = 2 ** (STATE_COUNT + 1) - 2;

/** The discount of a step into the future: 1 - 1/n. */
const DISCOUNT = 1 - 1 / STATE_COUNT;

/** How far one update moves a value towards its target. */
const STEP_SIZE = 0.25;

/** The values are right when the mean of their squared errors is below this. */
const ERROR_MAX = 1e-3;

/** A replay of walks: states and actions are small whole numbers. */
export type WalkReplay = ExperienceReplay<
  { state: Column<"uint8", []>; action: Column<"uint8", []> }
>;

/** The rules that are compared, by name. */
export const RULES: Readonly<Record<string, () => SelectorRule>> = {
  "uniform()": uniform,
  SurpriseFirst: () => new SurpriseFirst(),
  "prioritized()": () => prioritized(),
};

/** An empty replay for all walks. */
function newReplay(seed: number): Promise<WalkReplay> {
  return ExperienceReplay.create({
    capacity: RECORD_COUNT,
    state: uint8(),
    action: uint8(),
    pick: { discount: DISCOUNT },
    seed,
  });
}

/** Records all walks, in an order that follows from the seed. */
function recordAllWalks(replay: WalkReplay, seed: number): void {
  const random = new RandomStream(seed);
  const walks = Array.from({ length: 2 ** STATE_COUNT }, (_, walk) => walk);
  for (let left = walks.length; left > 1; left--) {
    const k = random.below(left);
    [walks[left - 1], walks[k]] = [walks[k] ?? 0, walks[left - 1] ?? 0];
  }
  const environment = new BlindCliffwalk(STATE_COUNT);
  for (const walk of walks) {
    let episode = replay.newEpisode();
    let state = environment.reset();
    for (let isOver = false; !isOver;) {
      const action = (walk >> state) & 1; // 1 leads on
      const { state: next, reward, terminated } = environment.step(action);
      episode = replay.record(
        episode,
        state,
        action,
        reward,
        terminated ? { finalState: next } : {},
      );
      state = next;
      isOver = terminated;
    }
  }
}

/** Q-learning with a table of values `[state, action]`, and one record an update. */
export class Learner {
  readonly values = new Float64Array(2 * (STATE_COUNT + 1));

  /** Draws a record, learns from it, and sets the error as its priority. */
  update(replay: WalkReplay, selector: Selector): void {
    const batch = replay.getBatch(1, selector);
    const [state = 0, next = 0] = [batch.state[0], batch.nextState[0]];
    const at = 2 * state + (batch.action[0] ?? 0);
    const best = Math.max(this.values[2 * next] ?? 0, this.values[2 * next + 1] ?? 0);
    const target = (batch.reward[0] ?? 0) + (batch.discount[0] ?? 0) * best;
    const error = target - (this.values[at] ?? 0);
    this.values[at] = (this.values[at] ?? 0) + STEP_SIZE * error;
    replay.setPriority(selector, batch, [Math.abs(error)]);
  }

  /** The mean squared error of all values. */
  error(): number {
    let sum = 0;
    for (let state = 0; state < STATE_COUNT; state++) {
      const [stop = 0, go = 0] = [this.values[2 * state], this.values[2 * state + 1]];
      sum += stop ** 2 + (go - DISCOUNT ** (STATE_COUNT - 1 - state)) ** 2;
    }
    return sum / (2 * STATE_COUNT);
  }
}

/** Learns until the values are right. Returns how many updates that took. */
function learn(learner: Learner, replay: WalkReplay, selector: Selector): number {
  let count = 0;
  for (; learner.error() >= ERROR_MAX; count++) learner.update(replay, selector);
  return count;
}

/** How many updates a learner needs with a rule until its values are right. */
export async function countUpdates(make: () => SelectorRule, seed: number): Promise<number> {
  using replay = await newReplay(seed);
  recordAllWalks(replay, seed);
  return learn(new Learner(), replay, replay.newPickSelector(make()));
}

/** The same, but after some updates the replay is saved and thrown away, and another one goes on. */
export async function countUpdatesWithBreak(
  make: () => SelectorRule,
  seed: number,
  updatesBefore: number,
): Promise<number> {
  const learner = new Learner();
  using first = await newReplay(seed);
  recordAllWalks(first, seed);
  const selector = first.newPickSelector(make());
  for (let k = 0; k < updatesBefore; k++) learner.update(first, selector);
  const bytes = await first.serialize(); // or a file: await first.serialize(path)
  first[Symbol.dispose]();

  using second = await newReplay(0); // its seed does not matter: the random numbers are in the bytes
  const again = second.newPickSelector(make());
  await second.unserialize(bytes);
  return updatesBefore + learn(learner, second, again);
}

/** The updates that each rule needs, for each seed. */
export async function compare(seeds: readonly number[]): Promise<Map<string, number[]>> {
  const counts = new Map<string, number[]>();
  for (const [name, make] of Object.entries(RULES)) {
    const row: number[] = [];
    for (const seed of seeds) row.push(await countUpdates(make, seed));
    counts.set(name, row);
  }
  return counts;
}

/** The median: the number in the middle, or the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}

/** A table of what {@linkcode compare} found, a line for each seed. */
export function tableOf(seeds: readonly number[], counts: ReadonlyMap<string, number[]>): string {
  const rows = [...counts.values()];
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(["seed", ...counts.keys()]),
    `|---:|${"---:|".repeat(rows.length)}`,
    ...seeds.map((seed, k) => line([seed, ...rows.map((row) => row[k] ?? NaN)])),
    line(["median", ...rows.map(median)]),
  ].join("\n");
}

/** The seeds of the table in the guide. */
export const SEEDS: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

if (import.meta.main) {
  console.log(`updates until the values are right, ${RECORD_COUNT} records\n`);
  console.log(tableOf(SEEDS, await compare(SEEDS)));
  const count = await countUpdatesWithBreak(() => new SurpriseFirst(), 1, 1000);
  console.log(`\nSurpriseFirst, seed 1, saved after 1000 updates and loaded: ${count}`);
}
