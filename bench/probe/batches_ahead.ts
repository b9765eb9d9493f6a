/**
 * What it saves if another thread draws the next batch while the learner works. This probe has the figures of `docs/internals/performance.md`,
 * "Batches drawn ahead".
 *
 *     deno run -A bench/probe/batches_ahead.ts quickstart
 *     deno run -A bench/probe/batches_ahead.ts large
 *
 * `quickstart` makes the calls of `examples/dqn_cartpole.ts`. A loop takes the place of the network, and computes for about as long. Each
 * way of drawing has a replay of its own, all from one seed, and they take turns of 500 steps. The loop of `large` computes for as long
 * as a batch takes, or for four times as long.
 *
 * @module
 */
import {
  type Batch,
  type Column,
  ExperienceReplay,
  float32,
  prioritized,
  uint8,
  uniform,
} from "@exrp/replay";
import { quantile } from "../_turns.ts";

/** The milliseconds of a turn, batch by batch: the wait for the batch, and the whole step. */
interface Turn {
  readonly waited: readonly number[];
  readonly total: readonly number[];
}

/** How long the quickstart's network takes to act and to learn, once. */
const NETWORK_MS = 0.77;

const WAYS = ["getBatch", "getBatch, into", "batches", "batches, reuse"] as const;
type Way = typeof WAYS[number];
type FourFloats = { state: Column<"float32", [4]> };
type ThreeSteps = FourFloats & { pick: { nStep: 3 } };

/** Gives the next batch at each call. Call `close` at the end. */
interface Source<B> {
  readonly next: () => B | Promise<B>;
  readonly close: () => Promise<void>;
}

/** The part of a replay and a selector that batches come from. */
interface Drawer<B> {
  readonly get: (into?: B) => B;
  readonly stream: (reuse: boolean) => AsyncGenerator<B, void, void>;
}

function sourceOf<B>(way: Way, { get, stream }: Drawer<B>): Source<B> {
  let batch: B | undefined;
  if (way === "getBatch") return { next: () => get(), close: async () => {} };
  if (way === "getBatch, into") {
    return { next: () => batch = get(batch), close: async () => {} };
  }
  const batches = stream(way === "batches, reuse");
  return {
    next: async () => {
      const { value } = await batches.next();
      if (value === undefined) throw new Error("the stream has ended");
      return value;
    },
    close: async () => {
      await batches.return();
    },
  };
}

/** Lets every way take `rounds` turns, after one that does not count. */
async function takeTurns(
  ways: ReadonlyMap<Way, () => Promise<Turn>>,
  rounds: number,
): Promise<ReadonlyMap<Way, readonly Turn[]>> {
  const turns = new Map<Way, Turn[]>();
  for (let round = -1; round < rounds; round++) {
    for (const [way, turn] of ways) {
      // Waits for a turn of the event loop, so that nothing that waits there counts for the next contestant.
      await new Promise((resolve) => setTimeout(resolve));
      const took = await turn();
      if (round >= 0) turns.set(way, [...turns.get(way) ?? [], took]);
    }
  }
  return turns;
}

/** The lowest tenth. If other work takes the cores now and then, most of a step is that work. */
function print(turns: ReadonlyMap<Way, readonly Turn[]>): void {
  const both = (values: number[]) =>
    `${(1000 * quantile(values, 0.1)).toFixed(1).padStart(10)} ` +
    `(${(1000 * quantile(values, 0.5)).toFixed(1)})`.padEnd(12);
  for (const [way, took] of turns) {
    const waited = took.flatMap((turn) => turn.waited);
    const total = took.flatMap((turn) => turn.total);
    const share = 100 * quantile(waited, 0.1) / quantile(total, 0.1);
    console.log(
      `  ${way.padEnd(16)} waited ${both(waited)} total ${both(total)} µs a batch, ` +
        `${share.toFixed(1)} % waited; ${total.length} batches`,
    );
  }
}

async function quickstartWay(way: Way, stepCount: number): Promise<() => Promise<Turn>> {
  const replay = await ExperienceReplay.create({
    capacity: 10_000,
    state: float32(4),
    pick: { nStep: 3, discount: 0.99 },
    seed: 1,
  });
  const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
  let episode = replay.newEpisode();
  let time = 0;
  const step = (): void => {
    const state = [time, 0, 0, 0];
    const ending = ++time % 100 === 0 ? { finalState: state } : undefined;
    episode = replay.record(episode, state, time & 1, 1, ending);
    if (ending !== undefined) episode = replay.newEpisode();
  };
  for (let t = 0; t < 5_000; t++) step();
  const beta = 0.4;
  const source = sourceOf(way, {
    get: (into?: Batch<ThreeSteps>) =>
      into === undefined
        ? replay.getBatch(128, selector, { beta })
        : replay.getBatch(128, selector, { beta, into }),
    stream: (reuse) => replay.batches(128, selector, { beta, reuse }),
  });
  return async () => {
    const waited: number[] = [];
    const total: number[] = [];
    for (let t = 0; t < stepCount; t++) {
      const startedAt = performance.now();
      step();
      const askedAt = performance.now();
      const next = source.next();
      const batch = next instanceof Promise ? await next : next;
      waited.push(performance.now() - askedAt);
      busy(NETWORK_MS);
      replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, batch.probability);
      total.push(performance.now() - startedAt);
    }
    return { waited, total };
  };
}

async function quickstart(rounds: number): Promise<void> {
  const ways = new Map<Way, () => Promise<Turn>>();
  for (const way of WAYS) ways.set(way, await quickstartWay(way, 500));
  console.log("quickstart, 128 three-step returns, prioritized:");
  print(await takeTurns(ways, rounds));
}

/** Computes and does not only wait. A thread that takes this core makes it longer. */
function work(rounds: number): number {
  let sum = 1;
  for (let round = 0; round < rounds; round++) sum = (Math.imul(sum, 1_664_525) + 1) | 0;
  return sum;
}

/** How many rounds of work fill a millisecond of a free core. */
function roundsPerMs(): number {
  const rounds = 100_000;
  const times = Array.from({ length: 200 }, () => {
    const startedAt = performance.now();
    work(rounds);
    return performance.now() - startedAt;
  });
  return rounds / Math.min(...times);
}

const ROUNDS_PER_MS = roundsPerMs();

function busy(ms: number): void {
  work(Math.round(ms * ROUNDS_PER_MS));
}

/** Compares the ways while a learner is busy for `times` as long as `getBatch(…, { into })` takes. */
async function compare<B>(
  name: string,
  drawer: Drawer<B>,
  times: number,
  rounds: number,
): Promise<void> {
  const into = drawer.get();
  const single: number[] = [];
  for (let k = 0; k < 20; k++) {
    const startedAt = performance.now();
    drawer.get(into);
    single.push(performance.now() - startedAt);
  }
  const workMs = times * Math.min(...single);
  const count = Math.max(4, Math.min(1000, Math.round(100 / (workMs + Math.min(...single)))));
  const ways = new Map<Way, () => Promise<Turn>>();
  const sources: Source<B>[] = [];
  for (const way of WAYS) {
    const source = sourceOf(way, drawer);
    sources.push(source);
    ways.set(way, async () => {
      const waited: number[] = [];
      const total: number[] = [];
      for (let t = 0; t < count; t++) {
        const startedAt = performance.now();
        const next = source.next();
        if (next instanceof Promise) await next;
        waited.push(performance.now() - startedAt);
        busy(workMs);
        total.push(performance.now() - startedAt);
      }
      return { waited, total };
    });
  }
  const turns = await takeTurns(ways, rounds);
  for (const source of sources) await source.close();
  console.log(`${name}, learner ${(1000 * workMs).toFixed(0)} µs (${times} times a batch):`);
  print(turns);
}

async function large(rounds: number): Promise<void> {
  using vectors = await ExperienceReplay.create({
    capacity: 2 ** 20,
    state: float32(4),
    pick: { length: 8 },
  });
  using frames = await ExperienceReplay.create({
    capacity: 2 ** 16,
    state: uint8(84, 84),
    pick: { stack: 4, stackCompact: true },
  });
  for (let t = 0; t < 2 ** 20; t += 1000) {
    vectors.recordMany(vectors.newEpisode(), {
      state: new Float32Array(4000).fill(t),
      action: new Int32Array(1000),
      reward: new Float32Array(1000),
      finalState: [0, 0, 0, 0],
    });
  }
  for (let t = 0; t < 2 ** 16; t += 250) {
    frames.recordMany(frames.newEpisode(), {
      state: new Uint8Array(250 * 84 * 84).fill(t),
      action: new Int32Array(250),
      reward: new Float32Array(250),
      finalState: new Uint8Array(84 * 84),
    });
  }
  const ofVectors = vectors.newPickSelector(uniform());
  const ofFrames = frames.newPickSelector(uniform());
  for (const times of [1, 4]) {
    for (const size of [32, 256, 1024, 5000]) {
      await compare(
        `${size} sequences of 8`,
        {
          get: (into?: Batch<FourFloats>) =>
            into === undefined
              ? vectors.getBatch(size, ofVectors)
              : vectors.getBatch(size, ofVectors, { into }),
          stream: (reuse) => vectors.batches(size, ofVectors, { reuse }),
        },
        times,
        rounds,
      );
    }
    for (const size of [32, 256, 4096]) {
      await compare(
        `${size} stacks of 4 frames, each frame once (${(size * 5 * 7056 / 1e6).toFixed(0)} MB)`,
        {
          get: (into?: Batch<{ state: Column<"uint8", [84, 84]> }>) =>
            into === undefined
              ? frames.getBatch(size, ofFrames)
              : frames.getBatch(size, ofFrames, { into }),
          stream: (reuse) => frames.batches(size, ofFrames, { reuse }),
        },
        times,
        rounds,
      );
    }
  }
}

const [what, rounds = "9"] = Deno.args;
if (what === "quickstart") await quickstart(Number(rounds));
else if (what === "large") await large(Number(rounds));
else throw new TypeError(`quickstart or large, not ${what}`);
