/**
 * The replays that the benches measure. They are filled in a named, repeatable way, and checked before the timing.
 *
 * @module
 */

import {
  afterDraws,
  type Batch,
  type Column,
  ExperienceReplay,
  fifo,
  float32,
  lfu,
  lowestPriorityFirst,
  lru,
  reservoir,
  secondChance,
  type Selector,
} from "@exrp/replay";
import type { EvictionRule } from "@exrp/replay/eviction";
import type { SelectorRule } from "@exrp/replay/selectors";

/** A replay of 4-float states, as the paper's experiment and classic control have them. */
type FourFloats = { state: Column<"float32", [4]> };
export type Replay4 = ExperienceReplay<FourFloats>;

/** Every native eviction policy, by name. The first is `fifo`, with which the others are compared. */
export const evictionRules = {
  fifo: fifo(),
  secondChance: secondChance(),
  lru: lru(),
  lfu: lfu(),
  lowestPriorityFirst: lowestPriorityFirst(),
  afterDraws: afterDraws(4),
  reservoir: reservoir(),
} satisfies Readonly<Record<string, EvictionRule>>;

/** The options of a workload. */
export interface Workload {
  /** How many records the replay holds. It is filled with as many. */
  readonly capacity: number;
  /** How many records an episode has. */
  readonly episodeLength: number;
  /** How many records a pick has. */
  readonly pickLength: number;
  /** The selector. */
  readonly selector: SelectorRule<Batch<FourFloats>>;
  /** The eviction policy; `fifo` by default. */
  readonly eviction?: EvictionRule;
}

/** A filled replay, and what a bench needs to go on. */
export interface Filled {
  readonly replay: Replay4;
  readonly selector: Selector<FourFloats>;
  /** Records `count` further steps. The replay keeps at most `capacity` of all. */
  readonly record: (count: number) => void;
}

/** Makes the replay of a workload and records until it is full. In a state, element 0 is the episode and element 1 the position. */
export async function fill(workload: Workload): Promise<Filled> {
  const { capacity, episodeLength, pickLength, eviction } = workload;
  const replay = await ExperienceReplay.create({
    capacity,
    state: float32(4),
    pick: { length: pickLength },
    ...(eviction === undefined ? {} : { eviction }),
    segmentLength: Math.max(pickLength, Math.min(capacity, episodeLength)),
    seed: 1,
  });
  const selector = replay.newPickSelector(workload.selector);
  const state = new Float32Array(4);
  const finalState = new Float32Array(4);
  let episode = replay.newEpisode();
  let position = 0;
  const record = (count: number): void => {
    for (let step = 0; step < count; step++) {
      state[0] = episode;
      state[1] = position;
      position += 1;
      if (position < episodeLength) {
        episode = replay.record(episode, state, position & 1, 1);
      } else {
        finalState[0] = episode;
        finalState[1] = position;
        replay.record(episode, state, position & 1, 1, { finalState });
        episode = replay.newEpisode();
        position = 0;
      }
    }
  };
  record(capacity);
  return { replay, selector, record };
}

/**
 * Records one step of each of `environments` episodes at a time, by `recordBatch`. It goes on until `fill`'s own records are all evicted,
 * because those are evicted faster. Each environment is done once in `episodeLength` steps, one after the other.
 *
 * @returns What records the next steps, one of each.
 */
export function fillByBatches(
  replay: Replay4,
  environments: number,
  episodeLength: number,
): () => void {
  const episodes = Float64Array.from({ length: environments }, () => replay.newEpisode());
  const steps = {
    state: new Float32Array(4 * environments),
    action: new Int32Array(environments),
    reward: new Float32Array(environments),
    nextState: new Float32Array(4 * environments),
    terminated: new Uint8Array(environments),
  };
  let turn = 0;
  const record = (): void => {
    const done = turn++ % episodeLength;
    if (done < environments) steps.terminated[done] = 1;
    replay.recordBatch(episodes, steps);
    if (done < environments) steps.terminated[done] = 0;
  };
  record();
  const { recordCount, ending } = replay.episode(episodes[1] ?? -1);
  if (recordCount !== 1 || ending !== "open") throw new Error("the batch was not recorded");
  for (let count = 0; count < 2 * replay.capacity; count += environments) record();
  return record;
}

/** Checks that every row of the batch is the record that its pick names, and the state after it; throws otherwise. */
export function checkBatch(
  batch: Batch<{ state: Column<"float32", [4]> }>,
  pickLength: number,
): void {
  for (let pick = 0; pick < batch.size; pick++) {
    const episode = Math.fround(batch.pickEpisode[pick] ?? -1);
    for (let step = 0; step < pickLength; step++) {
      const at = 4 * (pick * pickLength + step);
      const position = (batch.pickPosition[pick] ?? -1) + step;
      const right = batch.state[at] === episode && batch.state[at + 1] === position &&
        batch.nextState[at] === episode && batch.nextState[at + 1] === position + 1;
      if (!right) throw new Error(`row ${step} of pick ${pick} is not the record it should be`);
    }
  }
}
