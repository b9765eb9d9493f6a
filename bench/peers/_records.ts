/**
 * The records that fill every system, and the check of a batch that a system drew.
 *
 * All values of a record follow from its episode e and its position p, which its state tells: see {@linkcode stateOf}. `_worker.py` has
 * the same formulas for the Python workers.
 *
 * @module
 */

import { ACTION_SIZE, EPISODE_LENGTH, FRAME_SIDE, STATE_SIZE } from "./_datasets.ts";

/** One column of a batch: `[picks, ...]` or `[picks, length, ...]`. */
export interface BatchColumn {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** A drawn batch that is checked. */
export interface DrawnBatch {
  readonly columns: ReadonlyMap<string, BatchColumn>;
  /** Whether the rows of a pick may repeat the episode's first row, or run on into the next episode. */
  readonly crosses: boolean;
  /** Whether the next obs of an episode's last record is the obs that was stored next. */
  readonly pairs: boolean;
}

/** The error for a wrong batch. */
export class ContentError extends Error {
  override readonly name = "ContentError";
}

/** Number k of the state at position p of episode e. */
export function stateOf(e: number, p: number, k: number): number {
  if (k < 2) return k === 0 ? e : p;
  return (e + 31 * p + 7 * k) % 97;
}

/** Number k of the action. */
export function actionOf(e: number, p: number, k: number): number {
  return (e + p + k) % 5;
}

/** The reward. */
export function rewardOf(e: number, p: number): number {
  return e % 7 + p % 11;
}

/** Every byte of the frame at position p. */
export function frameOf(p: number): number {
  return p % 251;
}

/** The records of one episode as columns, in the form of `recordMany`. */
export interface EpisodeColumns {
  readonly state: Float32Array<ArrayBuffer>;
  readonly action: Float32Array<ArrayBuffer>;
  readonly reward: Float32Array<ArrayBuffer>;
  readonly finalState: Float32Array<ArrayBuffer>;
}

/** The first `length` records of episode e, and the state after them. They go into `into` if its length fits. */
export function episodeColumns(
  e: number,
  length: number = EPISODE_LENGTH,
  into?: EpisodeColumns,
): EpisodeColumns {
  const columns = into ?? {
    state: new Float32Array(length * STATE_SIZE),
    action: new Float32Array(length * ACTION_SIZE),
    reward: new Float32Array(length),
    finalState: new Float32Array(STATE_SIZE),
  };
  const { state, action, reward, finalState } = columns;
  for (let p = 0; p < length; p++) {
    for (let k = 0; k < STATE_SIZE; k++) state[p * STATE_SIZE + k] = stateOf(e, p, k);
    for (let k = 0; k < ACTION_SIZE; k++) action[p * ACTION_SIZE + k] = actionOf(e, p, k);
    reward[p] = rewardOf(e, p);
  }
  for (let k = 0; k < STATE_SIZE; k++) finalState[k] = stateOf(e, length, k);
  return columns;
}

/** The frames of an episode, and the one after them. */
export function episodeFrames(): Uint8Array<ArrayBuffer> {
  const bytes = FRAME_SIDE * FRAME_SIDE;
  const frames = new Uint8Array((EPISODE_LENGTH + 1) * bytes);
  for (let p = 0; p <= EPISODE_LENGTH; p++) frames.fill(frameOf(p), p * bytes, (p + 1) * bytes);
  return frames;
}

function valueAt(column: BatchColumn, index: number): number {
  const value = column.values[index];
  if (value === undefined) throw new ContentError(`a column of shape ${column.shape} ends early`);
  return value;
}

function demand(right: boolean, row: number, what: string): void {
  if (!right) throw new ContentError(`row ${row}: ${what}`);
}

/** Checks that every row of a batch of vectors is a stored record; throws a {@linkcode ContentError} otherwise. */
export function checkVectors(batch: DrawnBatch): void {
  const { columns, crosses, pairs } = batch;
  const obs = columns.get("obs");
  if (obs === undefined) throw new ContentError("the batch has no obs");
  const picks = obs.shape[0] ?? 0;
  const length = obs.shape.length === 3 ? obs.shape[1] ?? 0 : 1;
  demand(picks > 0 && obs.shape.at(-1) === STATE_SIZE, 0, `obs has the shape ${obs.shape}`);
  const seen = new Set<number>();
  let before: readonly [number, number] = [0, 0];
  for (let row = 0; row < picks * length; row++) {
    const e = valueAt(obs, row * STATE_SIZE);
    const p = valueAt(obs, row * STATE_SIZE + 1);
    const isRecord = Number.isInteger(e) && e >= 0 && Number.isInteger(p) && p >= 0 &&
      p < EPISODE_LENGTH;
    demand(isRecord, row, `there is no episode ${e} with a position ${p}`);
    checkRow(columns, row, e, p, pairs);
    if (row % length === 0) seen.add(e * EPISODE_LENGTH + p);
    else demand(follows(before, [e, p], crosses), row, `${e}, ${p} comes after ${before}`);
    before = [e, p];
  }
  demand(2 * seen.size > picks, 0, `only ${seen.size} of ${picks} picks differ`);
}

function follows(
  before: readonly [number, number],
  [e, p]: readonly [number, number],
  crosses: boolean,
): boolean {
  if (e === before[0] && p === before[1] + 1) return true;
  if (!crosses) return false;
  const repeats = e === before[0] && p === 0 && before[1] === 0;
  return repeats || e === before[0] + 1 && p === 0 && before[1] === EPISODE_LENGTH - 1;
}

function checkRow(
  columns: ReadonlyMap<string, BatchColumn>,
  row: number,
  e: number,
  p: number,
  pairs: boolean,
): void {
  const last = p === EPISODE_LENGTH - 1;
  const expected: Record<string, (k: number) => number> = {
    obs: (k) => stateOf(e, p, k),
    act: (k) => actionOf(e, p, k),
    rew: () => rewardOf(e, p),
    done: () => last ? 1 : 0,
    next_obs: (k) => stateOf(e, p + 1, k),
  };
  const widths: Record<string, number> = {
    obs: STATE_SIZE,
    act: ACTION_SIZE,
    next_obs: STATE_SIZE,
  };
  for (const [name, value] of Object.entries(expected)) {
    const column = columns.get(name);
    if (column === undefined || name === "next_obs" && last && pairs) continue;
    const width = widths[name] ?? 1;
    for (let k = 0; k < width; k++) {
      const found = valueAt(column, row * width + k);
      const wanted = value(k);
      demand(
        found === wanted,
        row,
        `${name}[${k}] of episode ${e}, position ${p} is ${found} instead of ${wanted}`,
      );
    }
  }
}

/**
 * Checks that stacks and next stacks have consecutive frames; throws a {@linkcode ContentError} otherwise. The columns `obs`, `obs_last`,
 * `next_obs` and `next_obs_last`, each `[picks, 4]`, have the first and the last byte of each frame.
 */
export function checkFrames({ columns, crosses, pairs }: DrawnBatch): void {
  const [obs, last, next, nextLast] = ["obs", "obs_last", "next_obs", "next_obs_last"].map((name) =>
    columns.get(name)
  );
  if (!obs || !last || !next || !nextLast) throw new ContentError("a column of frames is missing");
  const [picks = 0, stack = 0] = obs.shape;
  demand(picks > 0 && stack === 4, 0, `stacks have the shape ${obs.shape}`);
  const seen = new Set<number>();
  for (let pick = 0; pick < picks; pick++) {
    const of = (column: BatchColumn) =>
      Array.from({ length: stack }, (_, k) => valueAt(column, pick * stack + k));
    const [now, then] = [of(obs), of(next)];
    demand(now.join() === of(last).join(), pick, `a frame begins and ends with other bytes`);
    demand(
      then.join() === of(nextLast).join(),
      pick,
      `a next frame begins and ends with other bytes`,
    );
    const newest = now.at(-1) ?? 0;
    const stays = pairs && newest === frameOf(EPISODE_LENGTH - 1) && then.join() === now.join();
    const isShifted = then.slice(0, -1).join() === now.slice(1).join();
    demand(stays || isShifted, pick, `the frames ${then} do not come after ${now}`);
    const all = stays ? now : [now[0] ?? 0, ...then];
    for (const [k, frame] of all.entries()) {
      const previous = all[k - 1];
      if (previous === undefined) continue;
      const isNext = frame === (previous + 1) % 251 ||
        frame === 0 && (previous === 0 && k < stack || crosses);
      demand(isNext, pick, `frame ${frame} comes after ${previous}`);
    }
    seen.add(newest);
  }
  demand(4 * seen.size > Math.min(picks, 251), 0, `only ${seen.size} different frames were drawn`);
}
