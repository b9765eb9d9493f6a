/** A Worker that draws while another thread changes records: it counts the rows that show half a change. */
import { ExperienceReplay, type Selector } from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";

const scope = globalThis as unknown as {
  onmessage: (message: MessageEvent<{ ticket: ShareTicket; batches: number }>) => void;
  postMessage(message: { torn: number; seen: number }): void;
};

scope.onmessage = async ({ data: { ticket, batches } }) => {
  using replay = await ExperienceReplay.attach(ticket);
  const selector = replay.selectors[0] as Selector;
  const seen = new Set<number>();
  let torn = 0;
  for (let k = 0; k < batches; k++) {
    using batch = replay.getBatch(16, selector);
    const { state, reward, size } = batch;
    const width = state.length / size;
    for (let pick = 0; pick < size; pick++) {
      const row = state.subarray(pick * width, (pick + 1) * width);
      const value = Number(row[0]);
      seen.add(value);
      if (
        !row.every((element: number | bigint) => element === value) ||
        Number(reward[pick]) % 251 !== value
      ) {
        torn++;
      }
    }
  }
  scope.postMessage({ torn, seen: seen.size });
};
