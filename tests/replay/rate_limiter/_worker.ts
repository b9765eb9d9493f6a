/** A Worker that records into a shared replay as fast as its rate limiter allows, in chunks, and tells when it is done. */
import { SharedBell } from "../../../base/bell.ts";
import { ExperienceReplay, float32 } from "@exrp/replay";

/** What the Worker shall do. */
export interface Task {
  readonly ticket: unknown;
  /** Chunks to record, of `size` steps each. */
  readonly chunks: number;
  readonly size: number;
  /** The state of each step is this number plus how many steps came before. */
  readonly first: number;
  /** How long to wait for a ring before the next look, in ms. */
  readonly netMs?: number;
}

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  onmessage: (message: MessageEvent<Task>) => Promise<void>;
  postMessage(message: unknown): void;
};

worker.onmessage = async ({ data: { ticket, chunks, size, first, netMs } }) => {
  SharedBell.netMs = netMs ?? SharedBell.netMs;
  using replay = await ExperienceReplay.attach(ticket, { state: float32() });
  let episode = replay.newEpisode();
  const rest = { action: new Array<number>(size).fill(0), reward: new Array<number>(size).fill(0) };
  worker.postMessage("begun");
  for (let chunk = 0; chunk < chunks; chunk++) {
    const state = Array.from({ length: size }, (_, k) => first + chunk * size + k);
    const steps = { state, ...rest, finalState: 0 };
    await replay.whenReady(() => replay.recordMany(episode, steps));
    episode = replay.newEpisode();
  }
  worker.postMessage("done");
};
