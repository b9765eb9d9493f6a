/**
 * A program that makes replays and says how much its process grew by. It runs alone in its process, with the flags of `_measure.ts`, and takes
 * one argument: a {@linkcode Plan} as JSON. It prints a {@linkcode Measured} as JSON.
 *
 * @module
 */

import * as exrp from "../../../mod.ts";
import { pause } from "../../_wait.ts";

/** What to make and to measure. */
export interface Plan {
  /** Records that each replay holds at most. */
  readonly capacity: number;
  /** Floats of a state; 4 without it, which makes records of 24 bytes. */
  readonly state?: number;
  /** How many records to write into each replay; none without it. */
  readonly records?: number;
  /** Records of an episode; 0 for one that never ends. 100 without it. */
  readonly length?: number;
  /** How many episodes are recorded side by side, in turns of 10 records; 1 without it. */
  readonly actors?: number;
  /** How many such replays to make at once; 1 without it. */
  readonly replays?: number;
  /** The pick selectors; none without it. */
  readonly selectors?: readonly (keyof typeof SELECTORS)[];
  /** The eviction policy; `fifo` without it. */
  readonly eviction?: keyof typeof EVICTION;
  /** The kernel; the native one without it. */
  readonly backend?: "native" | "wasm";
  /** The `maxAge` of the replay. */
  readonly maxAge?: number;
  /** What to do once the records are written. It is measured again after each. */
  readonly then?: readonly (keyof typeof LATER)[];
}

/** How much the process grew by, in bytes. */
export interface Growth {
  /** Resident memory. */
  readonly resident: number;
  /** Address space. */
  readonly space: number;
  /** Memory that can be written to, which a system that overcommits nothing must promise. */
  readonly promised: number;
  /** What `memoryBytes` says of all replays. */
  readonly said: number;
}

/** The growth by making replays, by filling them, and by what came then; all since before they were made. */
export interface Measured {
  /** After all replays were made. */
  readonly made: Growth;
  /** After the records were written. */
  readonly filled: Growth;
  /** After each of the plan's `then`. */
  readonly later: readonly Growth[];
}

const SELECTORS = {
  uniform: () => exrp.uniform(),
  prioritized: () => exrp.prioritized(),
  rankBased: () => exrp.rankBased(),
  pser: () => exrp.pser(),
  curious: () => exrp.curious(),
  ucb: () => exrp.ucb(),
  newest: () => exrp.newest(),
  highestPriority: () => exrp.highestPriority(),
  recent: () => exrp.recent({ newest: 1000 }),
  withoutReplacement: () => exrp.withoutReplacement(),
};

const EVICTION = {
  fifo: () => exrp.fifo(),
  secondChance: () => exrp.secondChance(),
  lru: () => exrp.lru(),
  lfu: () => exrp.lfu(),
  lowestPriorityFirst: () => exrp.lowestPriorityFirst(),
  afterDraws: () => exrp.afterDraws(4),
  reservoir: () => exrp.reservoir(),
};

/** What a replay may go through once it is full. */
const LATER = {
  /** Six times its capacity in episodes of 1 to 400 records, with batches and priorities. */
  churn: (replay: Small, plan: Plan): void => {
    const random = numbers(20261122);
    for (let written = 0; written < 6 * plan.capacity;) {
      const length = 1 + random(Math.min(400, plan.capacity / 8));
      write(replay, plan, length, length);
      written += length;
      if (random(20) === 0) draw(replay, 256);
    }
  },
  /** A batch as a learner takes it, which is dropped. */
  smallBatch: (replay: Small): void => draw(replay, 256),
  /** A batch of many picks, which is dropped. */
  largeBatch: (replay: Small): void => draw(replay, 50_000),
  /** Saved to bytes, which are dropped, and loaded. */
  saveAndLoad: async (replay: Small): Promise<void> => {
    await replay.unserialize(await replay.serialize());
  },
  /** Emptied and filled again. */
  clear: (replay: Small, plan: Plan): void => {
    replay.clear();
    write(replay, plan, plan.capacity, 100);
  },
} as const;

function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

function draw(replay: Small, size: number): void {
  for (const selector of replay.selectors) {
    const batch = replay.getBatch(size, selector);
    replay.setPriority(selector, batch, new Float32Array(size).fill(0.5));
  }
}

type Small = Awaited<ReturnType<typeof create>>;

// deno-lint-ignore explicit-function-return-type -- its type is long, and only this file knows it
async function create(plan: Plan) {
  return await exrp.ExperienceReplay.create({
    capacity: plan.capacity,
    state: exrp.float32(plan.state ?? 4),
    eviction: EVICTION[plan.eviction ?? "fifo"](),
    seed: 1,
    ...(plan.backend === undefined ? {} : { backend: plan.backend }),
    ...(plan.maxAge === undefined ? {} : { maxAge: plan.maxAge }),
  });
}

async function make(plan: Plan): Promise<Small> {
  const replay = await create(plan);
  for (const name of plan.selectors ?? []) replay.newPickSelector(SELECTORS[name]());
  return replay;
}

let zeros = new Float32Array(2048);
let actions = new Int32Array(512);

/** Writes `count` records in episodes of `length`; the rest of a length goes into a shorter one. */
function write(replay: Small, plan: Plan, count: number, length: number): void {
  const size = plan.state ?? 4;
  const most = Math.max(128, length);
  if (zeros.length < size * most) zeros = new Float32Array(size * most);
  if (actions.length < most) actions = new Int32Array(most);
  const steps = (number: number) => ({
    state: zeros.subarray(0, size * number),
    action: actions.subarray(0, number),
    reward: zeros.subarray(0, number),
  });
  if (length === 0) {
    let episode = replay.newEpisode();
    for (let left = count; left > 0; left -= 128) {
      episode = replay.recordMany(episode, steps(Math.min(left, 128)));
    }
    return;
  }
  const finalState = zeros.subarray(0, size);
  if (plan.actors !== undefined) {
    const turn = 10;
    let left = count;
    let handles: number[] = [];
    for (let at = 0; left > 0; at = (at + turn) % length) {
      if (at === 0) handles = Array.from({ length: plan.actors }, () => replay.newEpisode());
      const last = at + turn >= length ? { finalState } : {};
      for (const handle of handles) {
        replay.recordMany(handle, { ...steps(turn), ...last });
        left -= turn;
      }
    }
    return;
  }
  const whole = steps(length);
  for (let left = count; left > 0; left -= length) {
    const many = left < length ? steps(left) : whole;
    replay.recordMany(replay.newEpisode(), { ...many, finalState });
  }
}

function kibi(path: string, name: string): number {
  return 1024 *
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(Deno.readTextFileSync(path))?.[1]);
}

async function settle(): Promise<void> {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("needs --v8-flags=--expose-gc");
  for (let times = 0; times < 3; times++) {
    gc();
    await pause(2);
  }
}

async function now(replays: readonly Small[]): Promise<Growth> {
  await settle();
  return {
    // Not Rss: pages of the engine's own code come and go in it.
    resident: kibi("/proc/self/smaps_rollup", "Anonymous"),
    space: kibi("/proc/self/status", "VmSize"),
    promised: kibi("/proc/self/status", "VmData"),
    said: replays.reduce((sum, replay) => sum + replay.memoryBytes, 0),
  };
}

async function run(plan: Plan): Promise<Measured> {
  const before = await now([]);
  const replays: Small[] = [];
  const growth = async (): Promise<Growth> => {
    const at = await now(replays);
    return {
      resident: at.resident - before.resident,
      space: at.space - before.space,
      promised: at.promised - before.promised,
      said: at.said,
    };
  };
  for (let left = plan.replays ?? 1; left > 0; left--) replays.push(await make(plan));
  const made = await growth();
  const { records = 0, length = 100 } = plan;
  for (const replay of replays) if (records > 0) write(replay, plan, records, length);
  const filled = await growth();
  const later: Growth[] = [];
  for (const name of plan.then ?? []) {
    for (const replay of replays) await LATER[name](replay, plan);
    later.push(await growth());
  }
  for (const replay of replays) replay[Symbol.dispose]();
  return { made, filled, later };
}

if (import.meta.main) {
  const plan: Plan = JSON.parse(Deno.args[0] ?? "");
  // Twice the same in small ones first, so that the engine's own memory has grown to what such a program needs.
  for (let times = 0; times < 2; times++) {
    await run({
      ...plan,
      replays: 2,
      capacity: 4000,
      records: Math.min(plan.records ?? 0, 20_000),
    });
    await run({ ...plan, replays: 1, capacity: 4000 });
  }
  console.log(JSON.stringify(await run(plan)));
}
