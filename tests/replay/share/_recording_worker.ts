/** A Worker that attaches to a replay, records one step and leaves. */
import { ExperienceReplay, float32 } from "@exrp/replay";

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  onmessage: (message: MessageEvent<unknown>) => Promise<void>;
  postMessage(message: unknown): void;
};

worker.onmessage = async ({ data: ticket }) => {
  {
    using replay = await ExperienceReplay.attach(ticket, { state: float32(2) });
    replay.record(replay.newEpisode(), [1, 2], 3, 4, { finalState: [5, 6] });
  }
  worker.postMessage("done");
};
