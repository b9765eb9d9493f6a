/**
 * A Worker that records chunks into a shared replay as fast as it can, or at a rate, for bench/actors.ts. Of wide rows all numbers are equal, so that a
 * torn one is seen.
 */
import { ExperienceReplay, float32, uint8 } from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import type { ThreadOrder } from "./threads.ts";

/** What it is told. */
export interface WriterOrder extends ThreadOrder {
  readonly ticket: ShareTicket;
  readonly chunk: number;
  /** Numbers of a state: float32, or, where `image` is true, uint8. */
  readonly width: number;
  readonly image: boolean;
  /** Records a second; 0 for as many as it can. */
  readonly rate: number;
  /** Its records, at its index. */
  readonly counts: Float64Array;
}

const EPISODE = 200;

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  onmessage: (message: MessageEvent<WriterOrder>) => Promise<void>;
  postMessage(message: unknown): void;
};

worker.onmessage = async ({ data }) => {
  const { ticket, chunk, width, image, index, rate, flags, counts } = data;
  const schema = { state: image ? uint8(width) : float32(width), action: float32(3) };
  using replay = await ExperienceReplay.attach(ticket, schema);
  const state = image ? new Uint8Array(chunk * width) : new Float32Array(chunk * width);
  const action = new Float32Array(chunk * 3).fill(0.5);
  const reward = new Float32Array(chunk).fill(1);
  const priority = Float64Array.from({ length: chunk }, (_, k) => ((k * 7 + index) % 10 + 1) / 10);
  const finalState = image ? new Uint8Array(width) : new Float32Array(width);
  const steps = { state, action, reward, priority };
  worker.postMessage("ready");
  Atomics.wait(flags, 0, 0);
  let episode = replay.newEpisode();
  let recorded = 0;
  let value = index;
  const begin = performance.now();
  for (let k = 0; k < chunk; k++) state.fill(k % 200, k * width, (k + 1) * width);
  while (Atomics.load(flags, 0) === 1) {
    value = (value + 7) % 200;
    if (image) state.fill(value, 0, width);
    recorded += chunk;
    if (recorded % EPISODE < chunk) {
      replay.recordMany(episode, { ...steps, finalState });
      episode = replay.newEpisode();
    } else {
      episode = replay.recordMany(episode, steps);
    }
    counts[index] = recorded;
    if (rate === 0) continue;
    const early = begin + recorded / rate * 1e3 - performance.now();
    if (early > 0) Atomics.wait(flags, 0, 1, early);
  }
  worker.postMessage("done");
};
