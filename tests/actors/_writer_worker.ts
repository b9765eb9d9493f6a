/**
 * A Worker that records through an ActorWriter: a state is the number of the step, and an extra is the actor's tag. It ends in an orderly
 * way, with `await using`.
 *
 * @module
 */

import { ExperienceReplay, float64, int32 } from "@exrp/replay";
import { absoluteTdError, ActorWriter } from "../../actors/mod.ts";
import { testRandom } from "../replay/_helpers.ts";
import { PATIENCE_MS } from "../_wait.ts";

/** What the Worker should do. */
export interface WriterJob {
  readonly ticket: unknown;
  readonly tag: number;
  readonly steps: number;
  readonly seed: number;
}

/** The parts of the global scope of a Worker that this file uses. */
interface WorkerScope {
  onmessage: (event: MessageEvent<WriterJob>) => Promise<void>;
  postMessage(message: unknown): void;
}

const scope = self as unknown as WorkerScope;
scope.onmessage = async ({ data: { ticket, tag, steps, seed } }) => {
  {
    using replay = await ExperienceReplay.attach(ticket, {
      state: float64(),
      extras: { actor: int32() },
    });
    const below = testRandom(seed);
    await using writer = new ActorWriter(replay, {
      flushSteps: 1 + below(60),
      nStep: 1 + below(4),
      ...below(2) === 0 ? { priority: absoluteTdError } : {},
      tag,
    });
    for (let k = 0; k < steps; k++) {
      if (writer.isFull) await writer.flushWhenReady({ timeoutMs: PATIENCE_MS });
      const terminated = below(20) === 0;
      writer.step({
        ...{ state: k, action: 0, reward: 1, terminated, nextState: k + 1 },
        extras: { actor: tag },
        value: k,
        stateValue: k,
      });
    }
  }
  scope.postMessage("done");
};
