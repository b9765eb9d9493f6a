/**
 * A Worker that records into a shared replay until it is told to stop: record n of it has the reward n and the state [n, worker]. Its episodes have its number as tag.
 *
 * @module
 */

/// <reference lib="deno.worker" />
import { ExperienceReplay, type float32 } from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import { pause } from "../../_wait.ts";

type Recorded = { readonly state: ReturnType<typeof float32<[2]>> };

self.onmessage = async ({ data }: MessageEvent): Promise<void> => {
  const { ticket, worker, stop } = data as {
    readonly ticket: ShareTicket<Recorded>;
    readonly worker: number;
    readonly stop: Int32Array;
  };
  {
    using replay = await ExperienceReplay.attach<Recorded>(ticket);
    let episode = replay.newEpisode({ tag: worker });
    for (let n = 0; Atomics.load(stop, 0) === 0; n++) {
      const rest = n % 11 === 10 ? { finalState: [n, worker] } : {};
      episode = replay.record(episode, [n, worker], 0, n, rest as never);
      if (n % 11 === 10) episode = replay.newEpisode({ tag: worker });
      if (n % 100 !== 99) continue;
      self.postMessage(n);
      await pause(2);
    }
  }
  self.postMessage("done");
};
