/**
 * An actor of `_workers.ts`. It runs in a Worker (`worker.ts`), plays some environments of CartPole with the weights that it has, and
 * records what it does.
 *
 * @module
 */
import { type Column, ExperienceReplay, float32, int32 } from "@exrp/replay";
import { ActorWriter, Broadcast, type BroadcastTicket } from "@exrp/replay/actors";
import { CartPole } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";
import type { ShareTicket } from "@exrp/replay/types";
import type { Turn } from "../_actors.ts";
import { CartPoles } from "../_cart_poles.ts";
import type { Floats } from "../_network.ts";
import { type Method, newPolicy, SETTINGS } from "./_learner.ts";

/** What the replay holds. */
export type Transition = {
  readonly state: Column<"float32", [typeof CartPole.stateSize]>;
  readonly action: Column<"int32", []>;
  readonly extras: {
    /** log μ(a|s) of the policy that took the action: all corrections need it. */
    readonly logProb: Column<"float32", []>;
    /** Which version of the weights that policy had. */
    readonly version: Column<"int32", []>;
  };
};

/** What the learner publishes. */
export type Published = {
  /** The weights of its policy. */
  weights: Floats;
  /** `[1]`: 1 once the actors should end. */
  stop: Uint8Array<ArrayBuffer>;
};

/** What an actor gets as its first message. */
export interface ActorJob {
  readonly replay: ShareTicket<Transition>;
  readonly broadcast: BroadcastTicket<Published>;
  /** Which actor it is, from 0. */
  readonly index: number;
  /** How many environments it plays, and the number of the first one. */
  readonly environments: number;
  readonly first: number;
  readonly seed: number;
  readonly method: Method;
}

/** Plays until the learner says that it is over. Calls `tell` after each rollout. */
export async function act(job: ActorJob, tell: (turn: Turn) => void): Promise<void> {
  const { index, environments, seed } = job;
  const { rolloutSteps } = SETTINGS;
  using replay = await ExperienceReplay.attach(job.replay, {
    state: float32(CartPole.stateSize),
    action: int32(),
    extras: { logProb: float32(), version: int32() },
  });
  const writer = new ActorWriter(replay, { environments, flushSteps: rolloutSteps, tag: index });
  const broadcast = Broadcast.attach(job.broadcast);
  using policy = await newPolicy(job.method, seed);
  const cartPoles = new CartPoles(environments, 1_000 * seed + job.first);
  const random = new RandomStream(seed, 10 + index);

  for (;;) {
    // 1. The newest weights. The actor keeps them for a whole rollout, and the learner goes on meanwhile.
    const { version, arrays, changed } = broadcast.read();
    if (arrays.stop[0] === 1) break;
    if (changed) policy.load(arrays.weights);

    // 2. Act.
    const versions = new Int32Array(environments).fill(version);
    const returns: number[] = [];
    for (let t = 0; t < rolloutSteps; t++) {
      const { state } = cartPoles;
      const { action, logProb } = policy.act(state, random);
      const { ended, ...result } = cartPoles.step(action);
      writer.stepBatch({ state, action, extras: { logProb, version: versions }, ...result });
      returns.push(...ended);
    }

    // 3. Write the rollout. If too many steps wait for the learner, the actor waits, too.
    await writer.flushWhenReady();
    tell({ steps: rolloutSteps * environments, returns, isLast: false });
  }
  await writer.close();
  replay[Symbol.dispose]();
  tell({ steps: 0, returns: [], isLast: true });
}
