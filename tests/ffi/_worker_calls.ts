/**
 * A Worker that makes one kind of call again and again until it ends: by itself, or because the main thread ends it.
 *
 * The Worker's name is its job. It posts `ready` when its replay is full, and `ending` just before it ends by itself.
 *
 * @module
 */

import { ExperienceReplay, fifo, float32, int32, prioritized, uniform } from "@exrp/replay";
import { KeepBest } from "../../examples/custom_eviction.ts";
import { Halving } from "../../examples/custom_selector.ts";
import { pause } from "../_wait.ts";

/** The kinds of calls that a Worker can be in when it ends. */
export const CALLS = [
  "batches",
  "batchesReuse",
  "batchesDeep",
  "record",
  "recordMany",
  "recordBatch",
  "recordStep",
  "getBatch",
  "setPriority",
  "serialize",
  "unserialize",
  "drain",
  "customSelector",
  "customEviction",
  "create",
] as const;

/** The ways in which a Worker ends. */
export const ENDINGS = ["terminate", "close", "exit", "error"] as const;

/** The calls that a Worker makes. */
export interface Job {
  /** The calls it makes. */
  readonly call: typeof CALLS[number];
  /** How it ends. */
  readonly ending: typeof ENDINGS[number];
  /** After how many calls it ends by itself. */
  readonly turns: number;
}

const WIDTH = 32;
const STEPS = 2000;
/** Picks of a stream's batch: some 60 MB, so that the kernel writes for a while. */
const PICKS = 200_000;

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  readonly name: string;
  close(): void;
  postMessage(message: string): void;
};

const OPTIONS = { capacity: 20_000, state: float32(WIDTH), action: int32() };

function steps(
  count: number,
): { state: Float32Array; action: Int32Array; reward: Float32Array } {
  return {
    state: new Float32Array(count * WIDTH).fill(1),
    action: new Int32Array(count),
    reward: new Float32Array(count),
  };
}

/** Ends this Worker, and never comes back. */
async function end(ending: Job["ending"]): Promise<void> {
  if (ending !== "terminate") worker.postMessage("ending");
  if (ending === "close") worker.close();
  if (ending === "exit") Deno.exit(0);
  if (ending === "error") setTimeout(() => reportError(new Error("planned")));
  await new Promise(() => setInterval(() => {}, 1000));
}

/** Lets the event loop turn: there a Worker is terminated, and not in the middle of its code. */
function eventLoop(): Promise<void> {
  return pause(0);
}

/** Runs the job. */
async function run({ call, ending, turns }: Job): Promise<void> {
  if (call === "create") {
    worker.postMessage("ready");
    const made: Disposable[] = [];
    for (let turn = 0;; turn++) {
      made.push(await ExperienceReplay.create(OPTIONS));
      if (made.length > 8) made.shift()?.[Symbol.dispose]();
      if (turn === turns && ending !== "terminate") await end(ending);
      await eventLoop();
    }
  }
  const eviction = call === "customEviction" ? new KeepBest() : fifo();
  const replay = await ExperienceReplay.create({ ...OPTIONS, eviction });
  const selector = replay.newPickSelector(
    call === "customSelector" ? new Halving() : call === "setPriority" ? prioritized() : uniform(),
  );
  const many = steps(STEPS);
  let episode = replay.recordMany(replay.newEpisode(), many);
  const state = new Float32Array(WIDTH);
  const environments = Float64Array.from({ length: 64 }, () => replay.newEpisode());
  const batch = { ...steps(64), nextState: new Float32Array(64 * WIDTH) };
  const picks = replay.getBatch(500, selector);
  const saved = await replay.serialize();
  const calls: Record<string, () => unknown> = {
    record: () => episode = replay.record(episode, state, 1, 1),
    recordMany: () => episode = replay.recordMany(episode, many),
    recordBatch: () => replay.recordBatch(environments, batch),
    recordStep: () =>
      episode = replay.recordStep(episode, {
        state,
        action: 1,
        reward: 1,
        terminated: false,
        truncated: false,
        nextState: state,
      }),
    getBatch: () => replay.getBatch(2000, selector),
    setPriority: () =>
      replay.setPriority(selector, picks.pickEpisode, picks.pickPosition, picks.probability),
    serialize: () => replay.serialize(),
    unserialize: () => replay.unserialize(saved),
    drain: () => [replay.drain({ steps: 100 }), episode = replay.recordMany(episode, many)],
    customSelector: () => replay.getBatch(50, selector),
    customEviction: () => episode = replay.recordMany(replay.newEpisode(), many),
  };
  worker.postMessage("ready");
  if (call.startsWith("batches")) {
    const options = { reuse: call !== "batches", prefetch: call === "batchesDeep" ? 4 : 1 };
    let turn = 0;
    for await (const _ of replay.batches(PICKS, selector, options)) {
      if (++turn >= turns % 5 && ending !== "terminate") await end(ending);
    }
  }
  for (let turn = 0;; turn++) {
    const result = calls[call]?.();
    if (turn === turns && ending !== "terminate") await end(ending);
    if (result instanceof Promise) await result;
    if (turn % 8 === 0) await eventLoop();
  }
}

// An import for the lists alone runs nothing.
if ("WorkerGlobalScope" in globalThis) await run(JSON.parse(worker.name));
