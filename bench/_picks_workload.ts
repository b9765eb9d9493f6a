/**
 * Workloads of pick policies. Their records hold codes, so that a batch is checked before it is timed.
 *
 * @module
 */

import {
  type Column,
  ExperienceReplay,
  float16,
  float32,
  type PickOptions,
  uint8,
  uniform,
} from "@exrp/replay";
import type { Selector } from "@exrp/replay";

const EPISODE_LENGTH = 200;

/** 15 floats of state and 3 of action, in episodes of 200 records: as large as those of a robot. */
export type Replay15 = ExperienceReplay<
  { state: Column<"float32", [15]>; action: Column<"float32", [3]> }
>;

/** A full replay of such records. Rewards are 1, and the first number of a state is the position. */
export async function fillVectors(capacity: number): Promise<Replay15> {
  const replay: Replay15 = await ExperienceReplay.create({
    capacity,
    state: float32(15),
    action: float32(3),
    segmentLength: EPISODE_LENGTH,
    seed: 1,
  });
  const steps = {
    state: Float32Array.from({ length: 15 * EPISODE_LENGTH }, (_, k) => Math.floor(k / 15)),
    action: new Float32Array(3 * EPISODE_LENGTH),
    reward: new Float32Array(EPISODE_LENGTH).fill(1),
    finalState: new Float32Array(15).fill(EPISODE_LENGTH),
    truncated: true,
  };
  for (let count = 0; count < capacity; count += EPISODE_LENGTH) {
    replay.recordMany(replay.newEpisode(), steps);
  }
  return replay;
}

/** Makes a selector for a new table of `replay`, and checks the returns and states of one batch. */
export function nStepSelector(
  replay: Replay15,
  nStep: number,
): Selector<
  { state: Column<"float32", [15]>; action: Column<"float32", [3]>; pick: { nStep: number } }
> {
  const selector = replay.newPickView({ nStep, discount: 0.5 }).newPickSelector(uniform());
  const { pickPosition, nStep: [part] } = replay.getBatch(500, selector);
  for (const [pick, position] of pickPosition.entries()) {
    const m = Math.min(nStep, EPISODE_LENGTH - position);
    const isRight = part?.nextState[15 * pick] === position + m &&
      part.discount[pick] === 0.5 ** m &&
      part.reward[pick] === 2 - 2 * 0.5 ** m;
    if (!isRight) throw new Error(`pick ${pick} has not the return it should have`);
  }
  return selector;
}

// 84 x 84
const FRAME_BYTES = 84 * 84;

/** Screens of 84 x 84 bytes, in episodes of 1000 records. */
export type FrameReplay = ExperienceReplay<{ state: Column<"uint8", [84, 84]> }>;

/** A full replay of frames. All bytes of a frame are its position modulo 251. */
export async function fillFrames(capacity: number): Promise<FrameReplay> {
  const length = 1000;
  const replay: FrameReplay = await ExperienceReplay.create({
    capacity,
    state: uint8(84, 84),
    segmentLength: length,
    seed: 1,
  });
  const state = new Uint8Array(length * FRAME_BYTES);
  for (let step = 0; step < length; step++) {
    state.fill(step % 251, step * FRAME_BYTES, (step + 1) * FRAME_BYTES);
  }
  const finalState = new Uint8Array(FRAME_BYTES).fill(length % 251);
  const steps = {
    state,
    action: new Int32Array(length),
    reward: new Float32Array(length),
    finalState,
  };
  for (let count = 0; count < capacity; count += length) {
    replay.recordMany(replay.newEpisode(), steps);
  }
  return replay;
}

/** Makes a selector for a new table of stacks of four frames, and checks the frames of one batch. */
export function stackSelector(replay: FrameReplay, options: PickOptions): Selector {
  const table = replay.newPickView({ ...options, stack: 4 });
  const selector = table.newPickSelector(uniform());
  const { state, nextState, pickPosition, size } = replay.getBatch(32, selector);
  const perPick = state.length / size / FRAME_BYTES;
  for (const [pick, position] of pickPosition.entries()) {
    for (let frame = 0; frame < perPick; frame++) {
      const shown = Math.max(0, position - 3 + frame) % 251;
      const next = Math.max(0, position - 2 + frame) % 251;
      for (const at of [0, FRAME_BYTES - 1]) {
        const offset = (pick * perPick + frame) * FRAME_BYTES + at;
        const isRight = state[offset] === shown &&
          (nextState.length === 0 || nextState[offset] === next);
        if (!isRight) throw new Error(`frame ${frame} of pick ${pick} is not the one it should be`);
      }
    }
  }
  return selector;
}

/** The frames of {@linkcode fillFrames} as floats, in a full replay. */
export async function fillFloatFrames(
  capacity: number,
  dtype: "float16" | "float32",
): Promise<ExperienceReplay> {
  const length = 200;
  const column = dtype === "float16" ? float16 : float32;
  const Floats = dtype === "float16" ? Float16Array : Float32Array;
  const replay = await ExperienceReplay.create({
    capacity,
    state: column(84, 84),
    segmentLength: length,
    seed: 1,
  });
  const steps = {
    state: new Floats(Array.from({ length: length * FRAME_BYTES }, (_, k) => k % 251)),
    action: new Int32Array(length),
    reward: new Float32Array(length),
    finalState: new Floats(FRAME_BYTES),
  };
  for (let count = 0; count < capacity; count += length) {
    replay.recordMany(replay.newEpisode(), steps);
  }
  return replay as unknown as ExperienceReplay;
}

/**
 * Copies the bytes of 256 stacks of four frames and their next stacks, from an array of `capacity` frames. For each, it copies four
 * frames from a random place, and four from the next frame on.
 */
export function stackCopier(capacity: number): () => void {
  const run = 4 * FRAME_BYTES;
  const from = new Uint8Array(capacity * FRAME_BYTES).fill(3);
  const to = new Uint8Array(2 * 256 * run);
  return () => {
    for (let pick = 0; pick < 256; pick++) {
      const first = Math.floor(Math.random() * (capacity - 5)) * FRAME_BYTES;
      const next = first + FRAME_BYTES;
      to.set(from.subarray(first, first + run), pick * run);
      to.set(from.subarray(next, next + run), (256 + pick) * run);
    }
  };
}
