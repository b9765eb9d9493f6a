/**
 * One agent in two architectures, on one process or on many: Ape-X, whose actors have the weights, and SEED RL, whose server acts for all of them.
 * `agent.ts` is the same for each.
 *
 * Run it in the clone, after `deno task build`. With `--servers`, each actor is a process, and all meet at a NATS server, which you start before:
 * `deno run -A examples/many_machines/main.ts --as=seed --servers=127.0.0.1:4222`
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { Broadcast } from "@exrp/replay/actors";
import { sendBroadcast, serveInference } from "@exrp/replay/fleet";
import { replayWriter } from "@exrp/replay/learner";
import { RandomStream } from "@exrp/replay/selectors";
import {
  connectShards,
  localConnection,
  serveShard,
  shardReader,
  shardWriter,
} from "@exrp/replay/shards";
import { parseArgs } from "node:util";
import { evaluate } from "../one_agent/agent.ts";
import { newWeights } from "../two_files/network.ts";
import { NAME, PREFIX, runActor } from "./actor.ts";
import { chanceOf, choose, learn, type Transitions, type Weights } from "./agent.ts";

const { values } = parseArgs({
  options: {
    as: { type: "string", default: "apex" },
    servers: { type: "string" },
    actors: { type: "string", default: "2" },
    steps: { type: "string" },
  },
});
const { as, servers } = values;
// In one process, agents of SEED RL earned less than those of Ape-X after as many steps.
const steps = Number(values.steps ?? (as === "seed" ? 48_000 : 12_000));
if (as !== "apex" && as !== "seed") throw new TypeError(`--as is apex or seed, not "${as}"`);

/** Connects to NATS, or within this process. */
async function connection(): Promise<ReturnType<typeof localConnection>> {
  if (servers === undefined) return localConnection();
  const { connect } = await import("npm:@nats-io/transport-node@3.4.0");
  return await connect({ servers, maxReconnectAttempts: -1 });
}

const network = await connection();
const directory = await Deno.makeTempDir();
const end = new AbortController();
const children: Deno.ChildProcess[] = [];
try {
  // The shard. Yours are processes of their own: `deno task shard`.
  using replay = await ExperienceReplay.open(directory, {
    ...{ capacity: 20_000, state: float32(4), seed: 1 },
    pick: { nStep: 3, discount: 0.99 },
  });
  replay.newPickSelector(prioritized({ alpha: 0.6 }));
  await using _shard = await serveShard(replay, network, { name: "a", prefix: PREFIX });

  // What actors need of the learner: the weights, or the actions.
  const weights = Broadcast.create<Weights>({ w: newWeights() });
  const random = new RandomStream(1, 2);
  await using toShard = await shardWriter<Transitions>(network, { prefix: PREFIX });
  await using _server = as === "apex"
    ? await sendBroadcast(network, NAME, weights)
    : await serveInference(network, NAME, {
      state: float32(4),
      act: ({ size, state, environment }) => {
        const { w } = weights.read().arrays;
        const action = Int32Array.from({ length: size }, (_, k) =>
          choose(w, state.subarray(4 * k, 4 * k + 4), chanceOf(environment[k] ?? 0), random));
        return { action };
      },
      writer: () =>
        replayWriter(toShard.replay),
    });

  // The actors.
  const acting: Promise<unknown>[] = [];
  for (let k = 0; k < Number(values.actors); k++) {
    if (servers === undefined) acting.push(runActor(network, as, k, end.signal));
    else {
      const program = new URL("./actor.ts", import.meta.url);
      const args = ["run", "-A", program.href, servers, as, `${k}`];
      children.push(new Deno.Command(Deno.execPath(), { args }).spawn());
    }
  }

  // The learner.
  await using shards = await connectShards<Transitions>(network, {
    prefix: PREFIX,
    timeoutMs: 60_000,
  });
  await using reader = shardReader(shards);
  await learn(reader, weights, steps);
  end.abort();
  await Promise.all(acting);
  const earned = evaluate(weights.read().arrays.w);
  console.log(`10 episodes without exploring earn ${earned} on average, of 500`);
} finally {
  end.abort();
  for (const child of children) child.kill("SIGKILL");
  await network.close();
  await Deno.remove(directory, { recursive: true });
}
