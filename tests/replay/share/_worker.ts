/** A Worker of the tests: it attaches to a replay and does what its task says. */
import {
  ExperienceReplay,
  lowestPriority,
  ReplayError,
  type Selector,
  uniform,
} from "@exrp/replay";
import { ReplayHandle } from "../../../ffi/handle.ts";
import { openKernel } from "../../../ffi/library.ts";
import { testRandom } from "../_helpers.ts";
import { checkWhole, type HashedReplay, schemaOf, stateOf, stepsOf } from "./_rows.ts";
import type { Task } from "./_workers.ts";
import { pause } from "../../_wait.ts";

// The types of a Worker's global scope are not those of the main thread's.
const scope = globalThis as unknown as {
  onmessage: (message: MessageEvent<Task>) => void;
  postMessage(message: unknown): void;
  close(): void;
};

/** Records episodes of its own. */
class Actor {
  /** Of each episode: its handle and how many records it has. */
  readonly written: [handle: number, length: number][] = [];
  readonly #replay: HashedReplay;
  readonly #worker: number;
  readonly #wide: number;
  readonly #below: (bound: number) => number;
  #length = 0;
  #step = 0;

  constructor(replay: HashedReplay, { worker, wide }: Task, below: (bound: number) => number) {
    this.#replay = replay;
    this.#worker = worker;
    this.#wide = wide;
    this.#below = below;
  }

  /** Records up to `most` steps of the episode that is going on, by one of the calls; returns how many. */
  record(most: number): number {
    const [replay, worker, below] = [this.#replay, this.#worker, this.#below];
    if (this.#step === this.#length) {
      this.#length = 1 + below(200);
      this.#step = 0;
      this.written.push([replay.newEpisode(), 0]);
    }
    const now = this.written.at(-1);
    if (now === undefined) throw new Error("no episode");
    const episode = this.written.length - 1;
    const count = Math.min(1 + below(64), this.#length - this.#step, most);
    const wide = this.#wide;
    const steps = stepsOf([worker, episode], this.#step, count, wide);
    const end = this.#step + count;
    const finalState = end === this.#length ? { finalState: stateOf(worker, episode, end) } : {};
    const how = below(8);
    if (how > 0) now[0] = replay.recordMany(now[0], { ...steps, ...finalState });
    else {
      for (let k = 0; k < count; k++) {
        now[0] = replay.record(
          now[0],
          steps.state.subarray(4 * k, 4 * k + 4),
          steps.action[k] ?? 0,
          steps.reward[k] ?? 0,
          {
            extras: { wide: steps.extras.wide.subarray(wide * k, wide * (k + 1)) },
            ...(k === count - 1 ? finalState : {}),
          },
        );
      }
    }
    now[1] += count;
    this.#step = end;
    return count;
  }

  /** Ends the open episode. */
  end(): void {
    const now = this.written.at(-1);
    if (now === undefined || this.#step === this.#length) return;
    const episode = this.written.length - 1;
    this.#replay.endEpisode(now[0], {
      finalState: stateOf(this.#worker, episode, this.#step),
      truncated: true,
    });
    this.#step = this.#length;
  }
}

/** Lets messages come, and the Worker be ended. */
function breathe(): Promise<void> {
  return pause(0);
}

/** Records so many steps, and says which episodes it wrote. */
function record(replay: HashedReplay, task: Task): unknown {
  const actor = new Actor(replay, task, testRandom(task.seed));
  for (let left = task.count; left > 0;) left -= actor.record(left);
  actor.end();
  return actor.written;
}

/** Draws and sets priorities until it is told to stop. */
async function learn(replay: HashedReplay, { seed, stop }: Task): Promise<unknown> {
  const below = testRandom(seed);
  let drawn = 0;
  for (let turn = 0; Atomics.load(stop, 0) === 0; turn++) {
    const { selectors } = replay;
    const selector = selectors[below(selectors.length)];
    if (selector === undefined) throw new Error("no selector");
    const size = 1 + below(256);
    try {
      const batch = replay.getBatch(size, selector);
      checkWhole({ ...batch, extras: { wide: batch.extras.wide } });
      const priorities = Float32Array.from({ length: size }, () => below(100));
      replay.setPriority(selector, batch, priorities);
      drawn += size;
    } catch (error) {
      if (!(error instanceof ReplayError && error.code === "empty")) throw error;
    }
    if (turn % 16 === 0) await breathe();
  }
  return drawn;
}

/** Drains until it is told to stop and nothing is left; says what it got. */
async function drain(replay: HashedReplay, { seed, stop }: Task): Promise<unknown> {
  const below = testRandom(seed);
  const states: Int32Array[] = [];
  for (;;) {
    const isLast = Atomics.load(stop, 0) === 1;
    const steps = replay.drain(isLast || below(2) === 0 ? {} : { minSteps: 1 + below(500) });
    if (steps.lost > 0) throw new Error(`${steps.lost} steps were lost`);
    checkWhole(steps);
    if (steps.size > 0) states.push(steps.state.slice());
    else if (isLast) return states;
    await breathe();
  }
}

/**
 * Calls at random, for ever. An engine ends a Worker only where it gives way, so it does that now and then, and before it holds the replay
 * for good: then it never comes back, and the kernel has to take the lock back with the seat.
 */
async function churn(replay: HashedReplay, task: Task): Promise<never> {
  const below = testRandom(task.seed);
  const actor = new Actor(replay, task, below);
  const { selectors } = replay;
  const any = (): Selector => selectors[below(selectors.length)] ?? fail();
  for (let turn = 0;; turn++) {
    if (turn === 4) scope.postMessage("ready");
    const call = below(40);
    if (call < 18) actor.record(1000);
    else if (call < 24) tryEmpty(() => replay.getBatch(1 + below(100), any()));
    else if (call < 26) {
      // Ended here, it is in the middle of a call: another thread of its own copies the batch.
      if (replay.pickCount > 100) { for await (const _ of replay.batches(5000, any())) break; }
    } else if (call < 30) replay.drain({ minSteps: 1 + below(100), keep: true });
    else if (call < 32) replay.stats();
    else if (call < 34) replay.describe();
    else if (call < 36) replay.episodeRecords(replay.newEpisode());
    else if (call < 38) {
      const other = await ExperienceReplay.attach(task.ticket, schemaOf(task.wide));
      other.newEpisode();
      if (below(2) === 0) other[Symbol.dispose]();
    } else if (task.makes && below(10) === 0) {
      try {
        if (below(4) === 0) replay.newPickView({ length: 1 + below(3) });
        else replay.newPickSelector(below(2) === 0 ? uniform() : lowestPriority());
      } catch (error) {
        if (!(error instanceof ReplayError && error.code === "limit")) throw error;
      }
    }
    if (turn > 4 && task.holds && below(30) === 0) {
      const kernel = await openKernel();
      const seat = ReplayHandle.attach(kernel, Float64Array.from(task.ticket.numbers));
      let episode = replay.newEpisode();
      episode = replay.record(episode, stateOf(9, 9, 9), 0, 0, {
        extras: { wide: new Uint8Array(task.wide) },
      });
      kernel.symbols.exrp_hold_begin(seat.id);
      scope.close();
      await new Promise(() => setInterval(() => {}, 1000));
    }
    if (below(4) === 0) await breathe();
  }
}

function fail(): never {
  throw new Error("no selector");
}

function tryEmpty(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof ReplayError && error.code === "empty")) throw error;
  }
}

const CALLS = { record, learn, drain, churn };

scope.onmessage = async ({ data: task }) => {
  let said: unknown;
  try {
    using replay = await ExperienceReplay.attach(task.ticket, schemaOf(task.wide));
    said = { result: await CALLS[task.call](replay, task) };
  } catch (error) {
    said = {
      error: error instanceof ReplayError ? `${error.code}: ${error.message}` : String(error),
    };
  }
  scope.postMessage(said);
};
