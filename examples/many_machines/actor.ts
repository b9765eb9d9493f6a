/**
 * An actor of each architecture, wherever it runs: in the learner's thread, in a Worker of its own, or as a program that connects to NATS:
 *
 * `deno run -A examples/many_machines/actor.ts --as=apex --index=0 --actors=2 --servers=127.0.0.1:4222`
 *
 * @module
 */
import { float32 } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { inferenceClient, receiveBroadcast } from "@exrp/replay/fleet";
import { type Connection, shardWriter } from "@exrp/replay/shards";
import { parseArgs } from "node:util";
import type { Turn } from "../_actors.ts";
import { CartPoles } from "../_cart_poles.ts";
import { integerOf, oneOf } from "../_options.ts";
import * as apex from "../apex_cartpole/actor.ts";
import { SETTINGS as APEX } from "../apex_cartpole/learner.ts";
import * as impala from "../impala_cartpole/actor.ts";
import * as r2d2 from "../r2d2_memory/agent.ts";
import { actorsMax, type Architecture, ARCHITECTURES, SEED_ENVIRONMENTS } from "./architectures.ts";
import { sayFigures } from "./_figures.ts";
import { connectNats } from "./_nats.ts";
import { NAME, PREFIX } from "./names.ts";

/** What an actor is told. */
export interface ActorJob {
  readonly as: Architecture;
  /** Which actor it is, from 0, and how many there are. */
  readonly index: number;
  readonly actors: number;
  readonly seed: number;
}

/** So long an actor waits for the learner to be there. */
const WAIT = { timeoutMs: 120_000 };

/** Acts until the learner says that it is over, or `signal` does. Calls `tell` after each turn. */
export async function act(
  connection: Connection,
  job: ActorJob,
  signal: AbortSignal,
  tell: (turn: Turn, version: number) => void = () => {},
): Promise<void> {
  const { as, index, actors: count, seed } = job;
  if (as === "seed") return await askForActions(connection, job, signal, tell);
  await using shard = await shardWriter<never>(connection, { ...WAIT, prefix: PREFIX });
  await using receiver = await receiveBroadcast(connection, NAME, WAIT);
  const { broadcast } = receiver;
  // What is the same for all: it has a replay and weights, and leaves the others their turns.
  const place = { replay: shard.replay, broadcast } as never;
  const afterTurn = async (turn: Turn): Promise<void> => {
    tell(turn, broadcast.version);
    await shard.flush(); // who runs ahead of the learner would act by old weights
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
  };
  if (as === "apex") {
    const { turnSteps, returnSteps: nStep } = APEX;
    const turns = { turnSteps, nStep, lockStep: false };
    await apex.play(place, { index, count, seed, ...turns }, afterTurn);
    return;
  }
  const { first, environments } = impala.shareOf(index, count);
  if (as === "r2d2") await r2d2.play(place, { index, seed, first, count: environments }, afterTurn);
  else {
    await impala.play(place, { index, seed, first, environments, method: as }, afterTurn);
  }
}

/** An actor of SEED RL. It has environments and nothing else. */
async function askForActions(
  connection: Connection,
  { index, seed }: ActorJob,
  signal: AbortSignal,
  tell: (turn: Turn, version: number) => void,
): Promise<void> {
  const environments = SEED_ENVIRONMENTS;
  const columns = { state: float32(CartPole.stateSize) };
  await using client = inferenceClient(connection, NAME, columns, { environments });
  const cartPoles = new CartPoles(environments, 1_000 * seed + index * environments);
  let action = await client.reset(cartPoles.state) as Int32Array;
  while (!signal.aborted) {
    const { ended, ...step } = cartPoles.step(action);
    action = await client.step({ ...step, state: cartPoles.state }) as Int32Array;
    tell({ steps: environments, returns: ended, isLast: false }, 0);
  }
}

/** Reads the command line of the program. */
export function parseJob(args: string[]): ActorJob & { readonly servers: string } {
  const { values } = parseArgs({
    args,
    options: {
      as: { type: "string", default: "apex" },
      index: { type: "string", default: "0" },
      actors: { type: "string", default: "2" },
      seed: { type: "string", default: "1" },
      servers: { type: "string", default: "127.0.0.1:4222" },
    },
  });
  const as = oneOf("as", values.as, ARCHITECTURES);
  const actors = integerOf("actors", values.actors, 1, actorsMax(as));
  return {
    ...{ as, actors },
    index: integerOf("index", values.index, 0, actors - 1),
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    servers: values.servers,
  };
}

if (import.meta.main) {
  const { servers, ...job } = parseJob(Deno.args);
  const connection = await connectNats(servers, true); // all parts may be started at the same time
  let [steps, version] = [0, 0];
  using _figures = sayFigures(connection, `actor-${job.index}`, () => ({ steps, version }));
  await act(connection, job, new AbortController().signal, (turn, newest) => {
    steps += turn.steps;
    version = newest;
  });
  await connection.close();
}
