/**
 * The runs of bench/actors.ts: writers and a learner on one replay of ours, and on cpprb's MPPrioritizedReplayBuffer.
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized, uint8 } from "@exrp/replay";
import { startThreads } from "./threads.ts";
import type { WriterOrder } from "./writer.ts";

/** Records of a chunk, where they are small. */
export const CHUNK = 100;
/** Picks of a batch. */
export const BATCH = 256;

/** The learner runs so long before the clock does, in milliseconds, as its code is compiled meanwhile. */
const WARM = 300;
/** Steps whose batches are timed for the median. */
const STEPS_MAX = 1 << 20;

/** What a learner and its writers did. */
export interface Done {
  /** Records a second. */
  readonly records: number;
  /** Learner steps a second: a batch and its priorities. */
  readonly steps: number;
  /** The worst call of the learner, in milliseconds. */
  readonly worst: number;
  /** The median of the batches, in milliseconds. */
  readonly batch?: number;
  /** Rows whose numbers are not all equal. */
  readonly torn?: number;
  /** Picks that were drawn. */
  readonly drawn?: number;
}

/** What is run. */
export interface Case {
  readonly size: number;
  readonly writers: number;
  readonly chunk: number;
  readonly seconds: number;
  readonly width: number;
  readonly image: boolean;
  /** Records a second of each writer; 0 for as many as it can. */
  readonly rate?: number;
  readonly checked?: boolean;
}

/** Runs ours. */
export async function ours(run: Case): Promise<Done> {
  const { size, writers, chunk, seconds, width, image, rate = 0 } = run;
  using replay = await ExperienceReplay.create({
    capacity: size,
    state: image ? uint8(width) : float32(width),
    action: float32(3),
    seed: 7,
  });
  const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
  const many = Math.min(size, image ? 64 : 1000);
  const state = image ? new Uint8Array(many * width) : new Float32Array(many * width);
  const finalState = image ? new Uint8Array(width) : new Float32Array(width);
  for (let recorded = 0; recorded < size; recorded += many) {
    replay.recordMany(replay.newEpisode(), {
      state: state as Float32Array,
      action: new Float32Array(many * 3),
      reward: new Float32Array(many),
      priority: new Float64Array(many).fill(1),
      finalState: finalState as Float32Array,
    });
  }
  const ticket = replay.share();
  const flags = new Int32Array(new SharedArrayBuffer(4));
  const counts = new Float64Array(new SharedArrayBuffer(8 * (writers + 1)));
  const orders = Array.from(
    { length: writers },
    (_, index): WriterOrder => ({ ticket, chunk, width, image, index, rate, flags, counts }),
  );
  const stop = await startThreads(new URL("writer.ts", import.meta.url), flags, orders);
  const errors = Float32Array.from({ length: BATCH }, (_, k) => (k % 10 + 1) / 10);
  let batch = replay.getBatch(BATCH, selector, { beta: 0.4 });
  for (const until = performance.now() + WARM; performance.now() < until;) {
    batch = replay.getBatch(BATCH, selector, { beta: 0.4, into: batch });
    replay.setPriority(selector, batch, errors);
  }
  let worst = 0;
  let steps = 0;
  let torn = 0;
  // Of a fixed size: an array that grows would make garbage, and its collection would be in the learner's time.
  const times = new Float64Array(STEPS_MAX);
  const before = counts.reduce((sum, count) => sum + count, 0);
  const begin = performance.now();
  const end = begin + seconds * 1e3;
  for (let now = begin; now < end; now = performance.now()) {
    batch = replay.getBatch(BATCH, selector, { beta: 0.4, into: batch });
    const after = performance.now();
    replay.setPriority(selector, batch, errors);
    const done = performance.now();
    worst = Math.max(worst, after - now, done - after);
    times[steps++ % STEPS_MAX] = after - now;
    if (run.checked) torn += tornRows(batch.state as Float32Array, width);
  }
  const took = (performance.now() - begin) / 1e3;
  const records = counts.reduce((sum, count) => sum + count, 0) - before;
  await stop();
  const sorted = times.subarray(0, Math.min(steps, STEPS_MAX)).sort();
  return {
    records: records / took,
    steps: steps / took,
    worst,
    batch: sorted[sorted.length >> 1] ?? NaN,
    torn,
    drawn: steps * BATCH,
  };
}

function tornRows(state: ArrayLike<number>, width: number): number {
  let torn = 0;
  for (let row = 0; row < state.length; row += width) {
    const first = state[row];
    for (let k = 1; k < width; k++) {
      if (state[row + k] !== first) {
        torn++;
        break;
      }
    }
  }
  return torn;
}

const SCRIPT = new URL("cpprb_actors.py", import.meta.url).pathname;

/** Runs cpprb. */
export async function theirs(python: string, run: object): Promise<Done> {
  const { stdout, stderr, success } = await new Deno.Command(python, {
    args: ["-E", "-s", "-B", SCRIPT, JSON.stringify(run)],
    env: { OMP_NUM_THREADS: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`cpprb failed: ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(new TextDecoder().decode(stdout).trim());
}

/** Kills a writer of cpprb's. True where the learner goes on within five seconds. */
export async function survives(python: string, killAfter: number): Promise<boolean> {
  const run = {
    size: 1024,
    writers: 2,
    chunk: CHUNK,
    batch: 32,
    width: 8192,
    kill: true,
    killAfter,
  };
  const child = new Deno.Command(python, {
    args: ["-E", "-s", "-B", SCRIPT, JSON.stringify(run)],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const { stdout } = await child.output();
  return new TextDecoder().decode(stdout).includes("alive");
}

/** Terminates a Worker of ours in the same way. */
export async function survivesHere(killAfter: number): Promise<boolean> {
  using replay = await ExperienceReplay.create({
    capacity: 1024,
    state: float32(8192),
    action: float32(3),
  });
  const selector = replay.newPickSelector(prioritized());
  const ticket = replay.share();
  const flags = new Int32Array(new SharedArrayBuffer(4));
  const counts = new Float64Array(new SharedArrayBuffer(16));
  const threads = [0, 1].map((index) => {
    const thread = new Worker(new URL("writer.ts", import.meta.url), { type: "module" });
    const order = {
      ticket,
      chunk: CHUNK,
      width: 8192,
      image: false,
      index,
      rate: 0,
      flags,
      counts,
    };
    const ready = new Promise<void>((resolve) => thread.onmessage = (): void => resolve());
    thread.postMessage(order satisfies WriterOrder);
    return { thread, ready };
  });
  await Promise.all(threads.map(({ ready }) => ready));
  Atomics.store(flags, 0, 1);
  Atomics.notify(flags, 0);
  await new Promise((resolve) => setTimeout(resolve, 200 + killAfter * 1e3));
  threads[0]?.thread.terminate();
  const batch = replay.getBatch(32, selector);
  const isAlive = replay.setPriority(selector, batch, new Float32Array(32).fill(1)) >= 0;
  Atomics.store(flags, 0, 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  threads[1]?.thread.terminate();
  return isAlive;
}
