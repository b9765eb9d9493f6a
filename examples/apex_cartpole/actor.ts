/**
 * An actor of Ape-X: it plays CartPole with the newest weights, and records what it does with first priorities. That of `main.ts` runs in a Worker
 * (`worker.ts`). Those of `../many_machines` run anywhere.
 *
 * @module
 */
import { type Column, ExperienceReplay, float32 } from "@exrp/replay";
import { absoluteTdError, ActorWriter, Broadcast, type BroadcastTicket } from "@exrp/replay/actors";
import { CartPole } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";
import type { ShareTicket } from "@exrp/replay/types";
import type { Turn } from "../_actors.ts";
import type { Floats } from "../_network.ts";
import { QNetwork } from "../_q_network.ts";

/** What the replay holds, and that a batch has one n-step return. */
export interface Transition {
  readonly state: Column<"float32", [typeof CartPole.stateSize]>;
  readonly pick: { readonly nStep: number };
}

/** What the learner publishes. */
export type Published = {
  /** The weights of its network. */
  weights: Floats;
  /** `[1]`: how many updates they have had. Before the first one, actors act at random. */
  updates: Float64Array<ArrayBuffer>;
  /** `[1]`: 1 once the actors should end. */
  stop: Uint8Array<ArrayBuffer>;
};

/** What an actor gets as its first message. */
export interface ActorJob {
  readonly replay: ShareTicket<Transition>;
  readonly broadcast: BroadcastTicket<Published>;
  /** Which actor it is, from 0, and how many there are. */
  readonly index: number;
  readonly count: number;
  readonly seed: number;
  /** Steps in one turn, which are also the steps of a flush. */
  readonly turnSteps: number;
  /** n of the n-step returns. */
  readonly nStep: number;
  /** Whether the actor waits for new weights after each turn. */
  readonly lockStep: boolean;
}

/**
 * How often an actor acts at random: ε^(1 + α i / (N − 1)) with ε = 0.4 and α = 7 (Horgan et al. 2018, section 4.1). So some actors
 * explore much, and others hardly ever. A single actor has the middle of these.
 */
export function epsilonOf(index: number, count: number): number {
  return 0.4 ** (1 + 7 * (count === 1 ? 0.5 : index / (count - 1)));
}

/** What an actor has, wherever it runs. */
export interface Place {
  /** What it records into. */
  readonly replay: ExperienceReplay<Transition>;
  readonly broadcast: Broadcast<Published>;
}

/** Plays in a Worker until the learner says that it is over. Calls `tell` after each turn. */
export async function act(job: ActorJob, tell: (turn: Turn) => void): Promise<void> {
  {
    using replay = await ExperienceReplay.attach(job.replay, {
      state: float32(CartPole.stateSize),
      pick: { nStep: job.nStep },
    });
    await play({ replay, broadcast: Broadcast.attach(job.broadcast) }, job, tell);
  }
  tell({ steps: 0, returns: [], isLast: true });
}

/** Plays until the learner says that it is over. Calls `tell` after each turn, and waits until that is done. */
export async function play(
  { replay, broadcast }: Place,
  { index, count, seed, turnSteps, lockStep }: Omit<ActorJob, keyof Place>,
  tell: (turn: Turn) => void | Promise<void>,
): Promise<void> {
  const writer = new ActorWriter(replay, {
    flushSteps: turnSteps,
    priority: absoluteTdError,
    tag: index,
  });
  let { version, arrays } = broadcast.read();
  using network = await QNetwork.create({ weights: arrays.weights.slice() });
  // One atomic load tells that there is nothing new.
  const refresh = (): void => {
    const read = broadcast.read();
    ({ version, arrays } = read);
    if (read.changed) network.load(arrays.weights);
  };
  const environment = new CartPole(1_000 * seed + index);
  const random = new RandomStream(seed, 10 + index);
  const epsilon = epsilonOf(index, count);
  let state = environment.reset();
  let episodeReturn = 0;

  while (arrays.stop[0] === 0) {
    const returns: number[] = [];
    for (let k = 0; k < turnSteps; k++) {
      // 1. The newest weights. In lock-step they change between two turns only.
      refresh();

      // 2. Act.
      const values = network.values(state);
      const best = (values[1] ?? 0) > (values[0] ?? 0) ? 1 : 0;
      const chance = arrays.updates[0] === 0 ? 1 : epsilon;
      const action = random.uniform() < chance ? random.below(CartPole.actionCount) : best;
      const { state: nextState, reward, terminated, truncated } = environment.step(action);
      episodeReturn += reward;

      // 3. Remember. The writer makes priorities of the values that the network gave anyway, and writes many steps at once. If the
      // replay's rate limiter does not let it yet, the actor waits.
      if (writer.isFull) await writer.flushWhenReady();
      writer.step({
        ...{ state, action, reward, terminated, truncated, nextState },
        value: values[action],
        stateValue: values[best],
        nextStateValue: truncated ? Math.max(...network.values(nextState)) : undefined,
      });
      state = nextState;
      if (terminated || truncated) {
        returns.push(episodeReturn);
        state = environment.reset();
        episodeReturn = 0;
      }
    }
    if (lockStep) writer.flush();
    await tell({ steps: turnSteps, returns, isLast: false });
    if (lockStep) await broadcast.waitFor(version + 1);
    refresh();
  }
  await writer.close();
}
