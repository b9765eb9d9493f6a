/**
 * One cell of the experiment of Chen and Wang, "Design of experience-replay module with high performance" (section 4). It records 2^k
 * episodes of 2^s records into an empty replay, one by one. Then it draws batches of 5000 sequences of 8.
 *
 * The paper does not say how large a state is, or its type. Here it has 4 float32, with an integer action and a float32 reward.
 *
 * @module
 */

import { type Batch, type Column, ExperienceReplay, float32, uniform } from "@exrp/replay";
import { PlainReplay } from "./_plain_replay.ts";
import { checkBatch } from "./_workload.ts";

/** What one cell takes, in microseconds. */
export interface Cell {
  /** The time of 100 calls of `record`: the mean over all. */
  readonly record100: number;
  /** The time of one `getBatch` of 5000 sequences of 8: the mean over all. */
  readonly get5000: number;
}

/** How large a cell is. */
export interface CellSize {
  /** 2^k episodes ... */
  readonly k: number;
  /** ... of 2^s records each. */
  readonly s: number;
}

/** The numbers of episodes and records: 2^k and 2^s, rounded. */
export function counts({ k, s }: CellSize): { episodes: number; records: number } {
  return { episodes: Math.round(2 ** k), records: Math.round(2 ** s) };
}

const PICK_LENGTH = 8;
const BATCH = 5000;

/** Measures the cell with this library, by the kernel at `kernelPath` or the one that it finds. */
export async function measureOurs(
  size: CellSize,
  batches: number,
  kernelPath?: string,
): Promise<Cell> {
  const { episodes, records } = counts(size);
  const replay = await ExperienceReplay.create({
    capacity: episodes * records,
    state: float32(4),
    pick: { length: PICK_LENGTH },
    segmentLength: records,
    seed: 1,
    ...(kernelPath === undefined ? {} : { kernelPath }),
  });
  const selector = replay.newPickSelector(uniform());
  const state = new Float32Array(4);
  const finalState = new Float32Array(4);
  const start = performance.now();
  for (let count = 0; count < episodes; count++) {
    const episode = replay.newEpisode();
    state[0] = finalState[0] = episode;
    for (let position = 0; position < records - 1; position++) {
      state[1] = position;
      replay.record(episode, state, 1, 1);
    }
    state[1] = records - 1;
    finalState[1] = records;
    replay.record(episode, state, 1, 1, { finalState });
  }
  const recording = performance.now() - start;
  const batch: Batch<{ state: Column<"float32", [4]> }> = replay.getBatch(BATCH, selector);
  checkBatch(batch, PICK_LENGTH);
  const drawing = performance.now();
  for (let count = 0; count < batches; count++) replay.getBatch(BATCH, selector, { into: batch });
  const drawn = performance.now() - drawing;
  replay[Symbol.dispose]();
  return {
    record100: recording * 1e5 / (episodes * records),
    get5000: drawn * 1e3 / batches,
  };
}

/** Measures the cell with the replay in plain TypeScript. */
export function measurePlain(size: CellSize, batches: number): Cell {
  const { episodes, records } = counts(size);
  const state = new Float32Array(4);
  const finalState = new Float32Array(4);
  const action = new Float32Array(1);
  const start = performance.now();
  const replay = new PlainReplay({
    capacity: episodes * records,
    stateSize: 4,
    actionSize: 1,
    pickLength: PICK_LENGTH,
    episodeLengthMin: records,
  });
  for (let episode = 0; episode < episodes; episode++) {
    state[0] = finalState[0] = episode;
    for (let position = 0; position < records - 1; position++) {
      state[1] = position;
      replay.record(state, action, 1);
    }
    state[1] = records - 1;
    finalState[1] = records;
    replay.record(state, action, 1, finalState);
  }
  const recording = performance.now() - start;
  const batch = replay.newBatch(BATCH);
  replay.sample(batch);
  for (let row = 0; row < BATCH * PICK_LENGTH; row++) {
    const isRight = batch.nextState[4 * row] === batch.state[4 * row] &&
      batch.nextState[4 * row + 1] === (batch.state[4 * row + 1] ?? NaN) + 1 &&
      (row % PICK_LENGTH === 0 || batch.state[4 * row + 1] === batch.nextState[4 * row - 3]);
    if (!isRight) throw new Error(`row ${row} of the plain replay's batch is wrong`);
  }
  const drawing = performance.now();
  for (let count = 0; count < batches; count++) replay.sample(batch);
  const drawn = performance.now() - drawing;
  return {
    record100: recording * 1e5 / (episodes * records),
    get5000: drawn * 1e3 / batches,
  };
}
