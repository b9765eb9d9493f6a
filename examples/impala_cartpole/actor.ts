/**
 * An actor of IMPALA: it plays some environments of CartPole with the weights that it has, and records what it does. That of `_workers.ts` runs in a Worker
 * (`worker.ts`). Those of `../many_machines` run anywhere.
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
import { type Method, newPolicy, SETTINGS } from "./learner.ts";

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

/** The environments of one of `count` actors: the numbers from `first` on. */
export function shareOf(index: number, count: number): { first: number; environments: number } {
  const [first = 0, end = 0] = [index, index + 1].map((k) =>
    Math.floor(k * SETTINGS.environments / count)
  );
  return { first, environments: end - first };
}

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

/** The columns of the replay. */
export const COLUMNS = {
  state: float32(CartPole.stateSize),
  action: int32(),
  extras: { logProb: float32(), version: int32() },
} as const;

/** What an actor has, wherever it runs. */
export interface Place {
  /** What it records into. */
  readonly replay: ExperienceReplay<Transition>;
  readonly broadcast: Broadcast<Published>;
}

/** Plays in a Worker until the learner says that it is over. Calls `tell` after each rollout. */
export async function act(job: ActorJob, tell: (turn: Turn) => void): Promise<void> {
  {
    using replay = await ExperienceReplay.attach(job.replay, COLUMNS);
    await play({ replay, broadcast: Broadcast.attach(job.broadcast) }, job, tell);
  }
  tell({ steps: 0, returns: [], isLast: true });
}

/** Plays until the learner says that it is over. Calls `tell` after each rollout, and waits until that is done. */
export async function play(
  { replay, broadcast }: Place,
  { index, environments, first, seed, method }: Omit<ActorJob, keyof Place>,
  tell: (turn: Turn) => void | Promise<void>,
): Promise<void> {
  const { rolloutSteps } = SETTINGS;
  const writer = new ActorWriter(replay, { environments, flushSteps: rolloutSteps, tag: index });
  using policy = await newPolicy(method, seed);
  const cartPoles = new CartPoles(environments, 1_000 * seed + first);
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
    await tell({ steps: rolloutSteps * environments, returns, isLast: false });
  }
  await writer.close();
}
