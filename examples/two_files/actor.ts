/// <reference lib="deno.worker" />
/**
 * An actor of `learner.ts`, in a Worker: it plays CartPole with the newest weights, and records each step with a first priority.
 *
 * @module
 */
import { type Column, ExperienceReplay, float32 } from "@exrp/replay";
import { absoluteTdError, ActorWriter, Broadcast, type BroadcastTicket } from "@exrp/replay/actors";
import { CartPole } from "@exrp/replay/envs";
import type { ShareTicket } from "@exrp/replay/types";
import { valuesOf, type Weights } from "./network.ts";

/** What the learner sends to each actor. */
export interface Job {
  readonly replay: ShareTicket<
    { state: Column<"float32", [4]>; pick: { readonly nStep: number } }
  >;
  /** The newest weights, and `[1]`: 1 once the actors should stop. */
  readonly broadcast: BroadcastTicket<{ weights: Weights; stop: Uint8Array<ArrayBuffer> }>;
  /** Which actor this is, from 0, and how many there are. */
  readonly index: number;
  readonly count: number;
}

/** What an actor sends back: the return of an episode, or that it has left. */
export type Told = { readonly episodeReturn: number } | "done";

async function act({ replay: ticket, broadcast, index, count }: Job): Promise<void> {
  using replay = await ExperienceReplay.attach(ticket, { state: float32(4), pick: { nStep: 3 } });
  // `await using` writes what is left at the end, and waits for the rate limiter if it has to.
  await using writer = new ActorWriter(replay, { flushSteps: 50, priority: absoluteTdError });
  const learner = Broadcast.attach(broadcast);
  const epsilon = 0.4 ** (1 + 7 * index / Math.max(1, count - 1)); // as in Ape-X: from 0.4 down to 0.0007
  const environment = new CartPole(index);
  let state = environment.reset();
  let episodeReturn = 0;

  for (;;) {
    const { weights, stop } = learner.read().arrays; // one atomic load if there is nothing new
    if (stop[0] === 1) return;

    const values = valuesOf(weights, state);
    const best = values[1] > values[0] ? 1 : 0;
    const action = Math.random() < epsilon ? Math.floor(2 * Math.random()) : best;
    const { state: nextState, terminated, truncated } = environment.step(action);
    episodeReturn++;

    if (writer.isFull) await writer.flushWhenReady(); // here the actor waits for a slower learner
    writer.step({
      ...{ state, action, reward: 0.01, terminated, truncated, nextState },
      value: values[action], // of the action: for the first priority
      stateValue: values[best],
      nextStateValue: truncated ? Math.max(...valuesOf(weights, nextState)) : undefined,
    });
    state = nextState;
    if (terminated || truncated) {
      self.postMessage({ episodeReturn } satisfies Told);
      [state, episodeReturn] = [environment.reset(), 0];
    }
  }
}

self.onmessage = async ({ data }: MessageEvent<Job>): Promise<void> => {
  await act(data); // an error in here is an `error` event in the learner
  self.postMessage("done" satisfies Told);
};
