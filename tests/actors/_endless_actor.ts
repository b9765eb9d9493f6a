/** An actor of the tests that records for ever. It awaits now and then, or never. */
import { ExperienceReplay, float32 } from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import { pause } from "../_wait.ts";

/** What it gets as its message. */
export interface EndlessJob {
  readonly ticket: ShareTicket;
  readonly tag: number;
  /** Whether it awaits between two records. */
  readonly awaits: boolean;
  /** Counts its turns, and ends it if it becomes negative. */
  readonly turns: Int32Array<SharedArrayBuffer>;
}

// The types of a Worker's global scope are not those of the main thread's.
const scope = globalThis as unknown as {
  onmessage: (message: MessageEvent<EndlessJob>) => void;
};

scope.onmessage = async ({ data: { ticket, tag, awaits, turns } }) => {
  const replay = await ExperienceReplay.attach(ticket, { state: float32() });
  let episode = replay.newEpisode({ tag });
  for (let state = 0; Atomics.add(turns, 0, 1) >= 0; state++) {
    episode = replay.record(episode, state, 0, 0);
    if (awaits) await pause(0);
  }
};
