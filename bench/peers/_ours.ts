/**
 * Our side of the comparison: the same datasets in our replay, and the same calls.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  ExperienceReplay,
  float32,
  prioritized,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { ACTION_SIZE, type Dataset, EPISODE_LENGTH, FRAME_SIDE, STATE_SIZE } from "./_datasets.ts";
import { type BatchColumn, type DrawnBatch, episodeColumns, episodeFrames } from "./_records.ts";

/** One call, and the same call with reused outputs, and with outputs that are handed back, if it has any. */
export interface OurCall<Result = unknown> {
  readonly fresh: () => Result;
  readonly into?: () => Result;
  readonly using?: () => void;
}

/** A filled replay. */
export interface OpenedHere extends Disposable {
  readonly calls: ReadonlyMap<string, OurCall>;
  /** Draws a batch of each form, for the check. */
  readonly check: () => DrawnBatch[];
  /** How many bytes of memory the replay holds, by its own account. */
  readonly bytes: number;
  readonly note: string;
}

const BETA = 0.4;
const NOTE =
  "It stores next obs once. A batch also has the episode, position, probability, weight and discount of each pick.";

type VectorSchema = { state: Column<"float32", [15]>; action: Column<"float32", [3]> };
type VectorReplay = ExperienceReplay<VectorSchema>;
type VectorBatch = Batch<VectorSchema>;

/** Fills a replay with a dataset. */
export function openOurs(dataset: Dataset): Promise<OpenedHere> {
  return dataset.kind === "images" ? openImages(dataset) : openVectors(dataset);
}

async function openVectors(dataset: Dataset): Promise<OpenedHere> {
  const replay = await createVectors(dataset);
  const isPrioritized = dataset.kind.startsWith("prioritized");
  const selector = replay.newPickSelector(
    isPrioritized ? prioritized({ alpha: dataset.alpha }) : uniform(),
  );
  const columns = episodeColumns(0);
  for (let e = 0; e < dataset.capacity / EPISODE_LENGTH; e++) {
    replay.recordMany(replay.newEpisode(), episodeColumns(e, EPISODE_LENGTH, columns));
  }
  const calls = new Map<string, OurCall>();
  const options = isPrioritized ? { beta: BETA } : {};
  const draw = (size: number, from: Selector<VectorSchema>): OurCall<VectorBatch> => {
    const into = replay.getBatch(size, from, options);
    return {
      fresh: () => replay.getBatch(size, from, options),
      into: () => replay.getBatch(size, from, { ...options, into }),
    };
  };
  const selectors = [selector];
  for (const size of dataset.batches) calls.set(`sample ${size}`, draw(size, selector));
  if (dataset.kind === "sequences") {
    const table = replay.newPickView({ length: dataset.length });
    const withNext = table.newPickSelector(uniform());
    selectors.push(withNext);
    const add = adder(replay, 1);
    for (const size of dataset.batches) {
      const { fresh, into } = draw(size, selector);
      calls.set(`sample ${size} with next obs`, draw(size, withNext));
      calls.set(`add 1, sample ${size}`, {
        fresh: () => (add(), fresh()),
        into: () => (add(), into?.()),
      });
    }
  }
  for (const size of dataset.updates) {
    calls.set(`update ${size}`, { fresh: updater(replay, selector, size) });
    const { fresh, into = fresh } = draw(size, selector);
    calls.set(`turn ${size}`, {
      fresh: learnerTurn(replay, selector, fresh, size),
      into: learnerTurn(replay, selector, into, size),
    });
  }
  for (const count of dataset.adds) calls.set(`add ${count}`, { fresh: adder(replay, count) });
  return {
    calls,
    check: () =>
      selectors.map((from) => drawnVectors(replay.getBatch(256, from, options), dataset.length)),
    bytes: replay.describe().memory.total,
    note: noteOf(dataset),
    [Symbol.dispose]: () => replay[Symbol.dispose](),
  };
}

function noteOf({ kind, dtype, updates }: Dataset): string {
  if (kind === "sequences") return `${NOTE} Two pick views serve the two kinds of batches.`;
  if (updates.length > 0) {
    return `${NOTE} An update leaves the sums to the next draw. *turn* has both.`;
  }
  if (dtype === "float64") {
    return `${NOTE} It gets float32, and so does TorchRL. The others get float64, as in that comparison.`;
  }
  return NOTE;
}

function createVectors({ capacity, length, kind }: Dataset): Promise<VectorReplay> {
  const isSequence = kind === "sequences" || kind === "prioritizedSequences";
  return ExperienceReplay.create({
    capacity,
    state: float32(15),
    action: float32(3),
    pick: isSequence ? { length, nextState: false } : {},
    segmentLength: EPISODE_LENGTH,
    seed: 1,
  });
}

/** Adds the same `count` records in each call. The episode is cut at the same length as those of the others. */
function adder(replay: VectorReplay, count: number): () => void {
  const { state, action, reward } = episodeColumns(0, count);
  let episode = replay.newEpisode();
  if (count > 1) {
    const steps = { state, action, reward };
    return () => {
      episode = replay.recordMany(episode, steps);
    };
  }
  return () => {
    episode = replay.record(episode, state, action, 1);
  };
}

/** Sets priorities of picks all over the replay. Sixteen sets of picks take turns. */
function updater(
  replay: VectorReplay,
  selector: Selector<VectorSchema>,
  size: number,
): () => void {
  const anywhere = replay.newPickSelector(uniform());
  const picks = Array.from({ length: 16 }, () => replay.getBatch(size, anywhere));
  // There are fewer sets of priorities, so that no pick gets the priority that it has. That could cost nothing.
  const priorities = prioritySets(size);
  let turn = 0;
  return () => {
    const [batch, priority] = [picks[turn % picks.length], priorities[turn % priorities.length]];
    turn += 1;
    if (batch === undefined || priority === undefined) return;
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priority);
  };
}

/** Fifteen sets of priorities. */
function prioritySets(size: number): Float32Array[] {
  return Array.from(
    { length: 15 },
    () => Float32Array.from({ length: size }, () => 0.01 + Math.random()),
  );
}

/** Draws a batch, and then sets the priorities of its picks. */
function learnerTurn(
  replay: VectorReplay,
  selector: Selector<VectorSchema>,
  draw: () => VectorBatch,
  size: number,
): () => VectorBatch {
  const priorities = prioritySets(size);
  let turn = 0;
  return () => {
    const batch = draw();
    const priority = priorities[turn++ % priorities.length];
    if (priority !== undefined) {
      replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priority);
    }
    return batch;
  };
}

function drawnVectors(batch: VectorBatch, length: number): DrawnBatch {
  const rows = length === 1 ? [batch.size] : [batch.size, length];
  const columns = new Map<string, BatchColumn>([
    ["obs", { shape: [...rows, STATE_SIZE], values: batch.state }],
    ["act", { shape: [...rows, ACTION_SIZE], values: batch.action }],
    ["rew", { shape: rows, values: batch.reward }],
    ["done", { shape: rows, values: batch.discount.map((discount) => 1 - discount) }],
  ]);
  if (batch.nextState.length > 0) {
    columns.set("next_obs", { shape: [...rows, STATE_SIZE], values: batch.nextState });
  }
  return { columns, crosses: false, pairs: false };
}

async function openImages(dataset: Dataset): Promise<OpenedHere> {
  const replay = await ExperienceReplay.create({
    capacity: dataset.capacity,
    state: uint8(84, 84),
    pick: { stack: 4 },
    segmentLength: EPISODE_LENGTH,
    seed: 1,
  });
  const selector = replay.newPickSelector(uniform());
  const bytes = FRAME_SIDE * FRAME_SIDE;
  const frames = episodeFrames();
  const steps = {
    state: frames.subarray(0, EPISODE_LENGTH * bytes),
    action: new Int32Array(EPISODE_LENGTH),
    reward: new Float32Array(EPISODE_LENGTH),
    finalState: frames.subarray(EPISODE_LENGTH * bytes),
  };
  for (let count = 0; count < dataset.capacity; count += EPISODE_LENGTH) {
    replay.recordMany(replay.newEpisode(), steps);
  }
  const calls = new Map<string, OurCall>();
  const compact = replay.newPickView({ stack: 4, stackCompact: true }).newPickSelector(uniform());
  const draws = <B extends Disposable>(fresh: () => B, into: (batch: B) => B): OurCall => {
    const batch = fresh();
    const handedBack = (): void => {
      using one = fresh();
      void one;
    };
    return { fresh, into: () => into(batch), using: handedBack };
  };
  for (const size of dataset.batches) {
    calls.set(
      `sample ${size}`,
      draws(
        () => replay.getBatch(size, selector),
        (into) => replay.getBatch(size, selector, { into }),
      ),
    );
    calls.set(
      `sample ${size}, frames once`,
      draws(
        () => replay.getBatch(size, compact),
        (into) => replay.getBatch(size, compact, { into }),
      ),
    );
  }
  const frame = frames.slice(9 * bytes, 10 * bytes);
  let episode = replay.newEpisode();
  calls.set("add 1", {
    fresh: () => {
      episode = replay.record(episode, frame, 0, 0);
    },
  });
  /** The first and last bytes of four frames of each pick, which has `count` frames, from the frame `first` on. */
  const corners = (frames: Uint8Array, count: number, first: number, name: string) =>
    [[name, 0], [`${name}_last`, bytes - 1]].map(([called, at]): [string, BatchColumn] => [
      String(called),
      {
        shape: [256, 4],
        values: Uint8Array.from(
          { length: 4 * 256 },
          (_, k) => frames[((k >> 2) * count + first + k % 4) * bytes + Number(at)] ?? 0,
        ),
      },
    ]);
  const drawn = (): DrawnBatch[] => {
    const { state, nextState } = replay.getBatch(256, selector);
    const once = replay.getBatch(256, compact).state;
    return [
      [...corners(state, 4, 0, "obs"), ...corners(nextState, 4, 0, "next_obs")],
      [...corners(once, 5, 0, "obs"), ...corners(once, 5, 1, "next_obs")],
    ].map((columns) => ({ columns: new Map(columns), crosses: false, pairs: false }));
  };
  return {
    calls,
    check: drawn,
    bytes: replay.describe().memory.total,
    note: "It stores one frame a step. Each batch makes its stacks and next stacks.",
    [Symbol.dispose]: () => replay[Symbol.dispose](),
  };
}

/** Seconds of one call, measured over about so many seconds. A Python worker follows the same rule for the number of calls. */
export class OurClock {
  readonly #counts = new Map<() => unknown, number>();

  /** Times a call. */
  time(call: () => unknown, seconds: number): number {
    let count = this.#counts.get(call);
    if (count === undefined) {
      call();
      call();
      count = calibrated(call, seconds);
      this.#counts.set(call, count);
    }
    return timed(call, count);
  }
}

function timed(call: () => unknown, count: number): number {
  const start = performance.now();
  for (let k = 0; k < count; k++) call();
  return (performance.now() - start) / 1e3 / count;
}

function calibrated(call: () => unknown, seconds: number): number {
  for (let count = 1;; count *= 4) {
    const took = timed(call, count) * count;
    if (took >= seconds / 2 || count >= 1e6) {
      return Math.max(1, Math.round(count * seconds / Math.max(took, 1e-9)));
    }
  }
}
