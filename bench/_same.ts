/**
 * Fills this library's replay and the plain one with the same records, and checks that both give the same batches.
 *
 * @module
 */

import { type Column, ExperienceReplay, float32, type Selector } from "@exrp/replay";
import type { SelectorRule } from "@exrp/replay/selectors";
import { PlainReplay } from "./_plain_replay.ts";

/** How many numbers states and actions have; an action has one or three. */
export type Vectors = ExperienceReplay<
  { state: Column<"float32", [number]>; action: Column<"float32", [number]> }
>;

/** The records that fill both. */
export interface SameOptions {
  readonly capacity: number;
  readonly episodeCount: number;
  readonly episodeLength: number;
  readonly stateSize: number;
  readonly actionSize: number;
  readonly pickLength: number;
  readonly selector: SelectorRule;
  readonly prioritized?: boolean;
}

/** Both replays, filled with the same records. */
export interface Same {
  readonly ours: Vectors;
  readonly selector: Selector;
  readonly plain: PlainReplay;
}

/** Fills both. States and actions tell their place, and every episode ends. */
export async function fillSame(options: SameOptions): Promise<Same> {
  const { capacity, episodeCount, episodeLength, stateSize, actionSize, pickLength } = options;
  const ours: Vectors = await ExperienceReplay.create({
    capacity,
    state: float32(stateSize),
    action: float32(actionSize),
    pick: { length: pickLength },
    segmentLength: episodeLength,
    seed: 1,
  });
  const selector = ours.newPickSelector(options.selector);
  const plain = new PlainReplay({
    capacity,
    stateSize,
    actionSize,
    pickLength,
    episodeLengthMin: episodeLength,
    prioritized: options.prioritized ?? false,
  });
  const state = new Float32Array(stateSize);
  const finalState = new Float32Array(stateSize);
  const action = new Float32Array(actionSize);
  for (let episode = 0; episode < episodeCount; episode++) {
    const handle = ours.newEpisode();
    for (let step = 0; step < episodeLength; step++) {
      for (let k = 0; k < stateSize; k++) state[k] = episode * 7 + step * 3 + k;
      action.fill(step);
      if (step < episodeLength - 1) {
        ours.record(handle, state, action, episode);
        plain.record(state, action, episode);
      } else {
        for (let k = 0; k < stateSize; k++) finalState[k] = episode * 7 + (step + 1) * 3 + k;
        ours.record(handle, state, action, episode, { finalState });
        plain.record(state, action, episode, finalState);
      }
    }
  }
  checkSame({ ours, selector, plain }, options);
  return { ours, selector, plain };
}

/** Checks that the plain replay has the records of a batch of ours, and that it draws what was recorded; throws otherwise. */
function checkSame({ ours, selector, plain }: Same, options: SameOptions): void {
  const { episodeCount, episodeLength, stateSize, actionSize, pickLength } = options;
  if (ours.pickCount !== plain.pickCount) {
    throw new Error(`ours has ${ours.pickCount} picks, the plain replay ${plain.pickCount}`);
  }
  // Both forget the oldest episode first, and an episode has this many picks.
  const perEpisode = episodeLength - pickLength + 1;
  const oldest = episodeCount - ours.pickCount / perEpisode;
  const batch = ours.getBatch(64, selector);
  const other = plain.newBatch(64);
  // The reward of each record is the number of its episode.
  for (let k = 0; k < 64; k++) {
    const episode = batch.reward[k * pickLength] ?? NaN;
    const position = batch.pickPosition[k] ?? NaN;
    other.pick[k] = plain.pickAt((episode - oldest) * perEpisode + position);
  }
  plain.gather(other);
  for (const part of ["state", "action", "reward", "nextState"] as const) {
    const [a, b] = [batch[part], other[part]];
    if (a.length !== b.length || !a.every((value: number, at: number) => value === b[at])) {
      throw new Error(`${part} of the two differs`);
    }
  }
  plain.sample(other);
  for (let row = 0; row < 64 * pickLength; row++) {
    const position = other.action[row * actionSize] ?? NaN;
    const value = (other.reward[row] ?? NaN) * 7 + position * 3;
    const isRight = other.state[row * stateSize] === value &&
      other.nextState[row * stateSize] === value + 3 &&
      (row % pickLength === 0 || other.action[(row - 1) * actionSize] === position - 1);
    if (!isRight) throw new Error(`row ${row} of what the plain replay drew is wrong`);
  }
  if (new Set(other.pick).size < 2 && plain.pickCount > 8) throw new Error("its picks are one");
}
