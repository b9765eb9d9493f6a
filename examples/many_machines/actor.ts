/**
 * An actor, in the learner's process or in one of its own. Run as a program, it connects to NATS: `actor.ts SERVERS apex|seed NUMBER`.
 *
 * @module
 */
import { float32 } from "@exrp/replay";
import { inferenceClient, receiveBroadcast } from "@exrp/replay/fleet";
import { replayWriter } from "@exrp/replay/learner";
import { type Connection, shardWriter } from "@exrp/replay/shards";
import { actAlone, actByServer, type Transitions, type Weights } from "./agent.ts";

/** What actors call the weights, and the policy. */
export const NAME = "cartpole";
/** What the subjects of the shards begin with. So other programs may use the same server of NATS. */
export const PREFIX = "cartpole-shards";

/** Acts until `signal` ends it. */
export async function runActor(
  connection: Connection,
  as: string,
  seed: number,
  signal: AbortSignal,
): Promise<void> {
  if (as === "seed") {
    await using client = inferenceClient(connection, NAME, { state: float32(4) });
    await actByServer(client, { seed, signal });
    return;
  }
  await using receiver = await receiveBroadcast<Weights>(connection, NAME);
  await using shard = await shardWriter<Transitions>(connection, { prefix: PREFIX });
  await using writer = replayWriter(shard.replay);
  await actAlone(receiver.broadcast, writer, { seed, signal });
}

if (import.meta.main) {
  const { connect } = await import("npm:@nats-io/transport-node@3.4.0");
  const [servers = "", as = "", seed = "0"] = Deno.args;
  const connection = await connect({ servers, maxReconnectAttempts: -1 });
  await runActor(connection, as, Number(seed), new AbortController().signal);
}
