/**
 * Writers and a learner on one replay, beside cpprb's MPPrioritizedReplayBuffer: records a second and learner steps a second at the same
 * time, the worst learner call, images with and without writers, torn rows, and a writer that is killed. Both take turns in one run.
 *
 * `deno task bench:actors` prints the tables of docs/benchmarks.md. cpprb is installed by `deno task bench:peers --install`.
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized, uint8 } from "@exrp/replay";
import type { WriterOrder } from "./actors/writer.ts";
import { thisCpu } from "./_results.ts";
import { findEnvironment } from "./peers/_environments.ts";

const STATE = 15;
const CHUNK = 100;
const BATCH = 256;
const SIZES = [2 ** 16, 2 ** 20];
const WRITERS = [0, 1, 2, 4];
const IMAGE = 84 * 84 * 4;
/** More than the fastest simulators of Atari games give on one core. */
const IMAGE_RATE = 5000;

const options = {
  quick: Deno.args.includes("--quick"),
  ours: Deno.args.includes("--ours"),
};
const SECONDS = options.quick ? 0.5 : 2;
const ROUNDS = options.quick ? 1 : 3;
const KILLS = options.quick ? 3 : 12;

/** What a learner and its writers did. */
interface Done {
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
interface Case {
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

async function ours(run: Case): Promise<Done> {
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
  const threads = Array.from(
    { length: writers },
    () => new Worker(new URL("actors/writer.ts", import.meta.url), { type: "module" }),
  );
  const said = (thread: Worker): Promise<void> =>
    new Promise((resolve) => thread.onmessage = (): void => resolve());
  const ready = threads.map(said);
  for (const [index, thread] of threads.entries()) {
    thread.postMessage(
      { ticket, chunk, width, image, index, rate, flags, counts } satisfies WriterOrder,
    );
  }
  await Promise.all(ready);
  Atomics.store(flags, 0, 1);
  Atomics.notify(flags, 0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const errors = Float32Array.from({ length: BATCH }, (_, k) => (k % 10 + 1) / 10);
  let batch = replay.getBatch(BATCH, selector, { beta: 0.4 });
  let worst = 0;
  let steps = 0;
  let torn = 0;
  const times: number[] = [];
  const before = counts.reduce((sum, count) => sum + count, 0);
  const begin = performance.now();
  const end = begin + seconds * 1e3;
  for (let now = begin; now < end; now = performance.now()) {
    batch = replay.getBatch(BATCH, selector, { beta: 0.4, into: batch });
    const after = performance.now();
    replay.setPriority(selector, batch, errors);
    const done = performance.now();
    worst = Math.max(worst, after - now, done - after);
    times.push(after - now);
    steps++;
    if (run.checked) torn += tornRows(batch.state as Float32Array, width);
  }
  const took = (performance.now() - begin) / 1e3;
  const records = counts.reduce((sum, count) => sum + count, 0) - before;
  const left = threads.map(said);
  Atomics.store(flags, 0, 0);
  await Promise.all(left);
  for (const thread of threads) thread.terminate();
  times.sort((a, b) => a - b);
  return {
    records: records / took,
    steps: steps / took,
    worst,
    batch: times[times.length >> 1] ?? NaN,
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

const SCRIPT = new URL("actors/cpprb_actors.py", import.meta.url).pathname;

async function theirs(python: string, run: object): Promise<Done> {
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
async function survives(python: string, killAfter: number): Promise<boolean> {
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
async function survivesHere(killAfter: number): Promise<boolean> {
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
    const thread = new Worker(new URL("actors/writer.ts", import.meta.url), { type: "module" });
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

/** The best of several rounds: most records and steps, and the least of the worst calls. */
function best(rounds: readonly Done[]): Done {
  const most = (of: (done: Done) => number): number => Math.max(...rounds.map(of));
  const least = (of: (done: Done) => number): number => Math.min(...rounds.map(of));
  return {
    records: most(({ records }) => records),
    steps: most(({ steps }) => steps),
    worst: least(({ worst }) => worst),
    batch: least(({ batch }) => batch ?? NaN),
    torn: rounds.reduce((sum, { torn = 0 }) => sum + torn, 0),
    drawn: rounds.reduce((sum, { drawn = 0 }) => sum + drawn, 0),
  };
}

const thousands = (value: number): string => Math.round(value).toLocaleString("en");
const times = (a: number, b: number): string => (a / b).toPrecision(2);

async function main(): Promise<void> {
  console.log(`CPU: ${thisCpu()}; the best of ${ROUNDS} rounds of ${SECONDS} s each, in turns`);
  const found = options.ours ? { why: "left out" } : await findEnvironment("cpprb");
  if ("why" in found) console.log(`cpprb: ${found.why}`);
  const python = "python" in found ? found.python : undefined;
  console.log(
    "\n| capacity | writers | records/s | cpprb | ratio | learner steps/s | cpprb | ratio | worst call, ms | cpprb | ratio |",
  );
  console.log("|---|---|---|---|---|---|---|---|---|---|---|");
  for (const size of SIZES) {
    for (const writers of WRITERS) {
      const run = { size, writers, chunk: CHUNK, seconds: SECONDS, width: STATE, image: false };
      const mine: Done[] = [];
      const other: Done[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        mine.push(await ours(run));
        if (python !== undefined) {
          const { width: _, ...rest } = run;
          other.push(await theirs(python, { ...rest, batch: BATCH }));
        }
      }
      const a = best(mine);
      const b = other.length === 0 ? undefined : best(other);
      const cells = [
        `2^${Math.log2(size)}`,
        writers,
        thousands(a.records),
        b === undefined ? "" : thousands(b.records),
        b === undefined || writers === 0 ? "" : times(a.records, b.records),
        thousands(a.steps),
        b === undefined ? "" : thousands(b.steps),
        b === undefined ? "" : times(a.steps, b.steps),
        a.worst.toPrecision(3),
        b === undefined ? "" : b.worst.toPrecision(3),
        b === undefined ? "" : times(a.worst, b.worst),
      ];
      console.log(`| ${cells.join(" | ")} |`);
    }
  }

  console.log(
    "\nImages of 84×84×4, capacity 4,096, chunks of 10: the learner's median batch of 256, ms",
  );
  const image = { size: 4096, chunk: 10, seconds: SECONDS, width: IMAGE, image: true };
  const sides = [
    { name: "no writers", writers: 0, rate: 0 },
    {
      name: `two writers of ${thousands(IMAGE_RATE)} images a second`,
      writers: 2,
      rate: IMAGE_RATE,
    },
    { name: "two writers as fast as they can", writers: 2, rate: 0 },
  ];
  const rounds = sides.map((): Done[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, side] of sides.entries()) {
      rounds[at]?.push(await ours({ ...image, writers: side.writers, rate: side.rate }));
    }
  }
  const alone = best(rounds[0] ?? []).batch ?? NaN;
  for (const [at, { name }] of sides.entries()) {
    const { batch = NaN, records } = best(rounds[at] ?? []);
    console.log(
      `| ${name} | ${batch.toPrecision(3)} | ${times(batch, alone)} | ${thousands(records)} |`,
    );
  }

  console.log("\n| reliability | ours | cpprb |\n|---|---|---|");
  const torn = { size: 64, writers: 3, chunk: 10, seconds: SECONDS, width: 8192, image: false };
  const mine = await ours({ ...torn, checked: true });
  const other = python === undefined ? undefined : await theirs(python, { ...torn, batch: 32 });
  const rows = (done: Done | undefined): string =>
    done === undefined ? "" : `${done.torn} of ${thousands(done.drawn ?? 0)}`;
  console.log(
    `| torn rows, 3 writers, 32 KiB a row, capacity 64 | ${rows(mine)} | ${rows(other)} |`,
  );
  let here = 0;
  let there = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const after = 0.05 + 0.013 * kill;
    here += await survivesHere(after) ? 1 : 0;
    if (python !== undefined) there += await survives(python, after) ? 1 : 0;
  }
  console.log(
    `| the learner goes on after a writer was killed, large rows | ${here} of ${KILLS} | ${
      python === undefined ? "" : `${there} of ${KILLS}`
    } |`,
  );
}

await main();
