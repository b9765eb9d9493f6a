/**
 * Weights and inference over a real NATS server, which dies and comes back meanwhile. Where there is no `nats-server`, these are left out.
 *
 * @module
 */

import { connect, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { Broadcast } from "../../actors/mod.ts";
import {
  inferenceClient,
  receiveBroadcast,
  sendBroadcast,
  serveInference,
} from "../../fleet/mod.ts";
import { replayWriter } from "../../learner/mod.ts";
import { ExperienceReplay, float32 } from "../../mod.ts";
import { findNats, type NatsServer, startNats } from "../../tools/_nats.ts";
import { assert, assertEquals, assertStrictEquals } from "../_assert.ts";
import { inTime, until } from "../_wait.ts";

const path = await findNats();
const ignore = path === undefined;

/** A server and connections to it, which come back when it does. */
class Network implements AsyncDisposable {
  readonly server: NatsServer;
  readonly #connections: NatsConnection[] = [];

  constructor(server: NatsServer) {
    this.server = server;
  }

  async connect(): Promise<NatsConnection> {
    const connection = await connect({
      servers: this.server.address,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 20,
      reconnectJitter: 0,
    });
    this.#connections.push(connection);
    return connection;
  }

  async restart(): Promise<void> {
    await this.server.kill();
    await this.server.restart();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) await connection.close();
    await this.server.kill();
  }
}

function test(name: string, run: (network: Network) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using network = new Network(await startNats(path as string));
      await run(network);
    },
  });
}

/** 8 MB, where each element says which version it is of. */
const weightsOf = (version: number): { w: Float32Array<ArrayBuffer> } => ({
  w: new Float32Array(2 * 2 ** 20).fill(version),
});

test("8 MB of weights go to actors over NATS, to late ones too, and go on when its server comes back", async (network) => {
  const broadcast = Broadcast.create(weightsOf(1));
  await using sender = await sendBroadcast(await network.connect(), "weights", broadcast);
  type Weights = ReturnType<typeof weightsOf>;
  const receivers = [await receiveBroadcast<Weights>(await network.connect(), "weights")];
  const all = async (version: number): Promise<void> => {
    for (const receiver of receivers) {
      await inTime(`version ${version}`, receiver.broadcast.waitFor(version));
      const { arrays: { w } } = receiver.broadcast.read();
      assert(w.every((each) => each === version), `version ${version} is a mixture`);
      assertStrictEquals(receiver.refusedCount, 0);
    }
  };
  broadcast.publish(weightsOf(2));
  await all(2);
  receivers.push(await receiveBroadcast<Weights>(await network.connect(), "weights"));
  assert(sender.askedCount > 0);
  broadcast.publish(weightsOf(3));
  await all(3);
  broadcast.publish(weightsOf(4));
  await network.restart();
  await all(4);
  broadcast.publish(weightsOf(5));
  await all(5);
  for (const receiver of receivers) receiver[Symbol.dispose]();
});

test("actors act over NATS, one leaves without a word, and the server of NATS comes back: each step is recorded once", async (network) => {
  using replay = await ExperienceReplay.create({ capacity: 10_000, state: float32(2) });
  const server = await serveInference(await network.connect(), "policy", {
    state: float32(2),
    act: ({ size, state }) => ({
      action: Int32Array.from({ length: size }, (_, k) => state[2 * k + 1] ?? -1),
    }),
    writer: () => replayWriter(replay),
    dropAfterMs: 2 ** 31 - 1, // however slow the machine is
  });
  const act = async (
    connection: NatsConnection,
    ids: readonly number[],
    steps: number,
  ): Promise<void> => {
    const environments = ids.length;
    const client = inferenceClient(connection, "policy", { state: float32(2) }, {
      environments,
      retryMs: 100,
    });
    const stateAt = (number: number): number[] => ids.flatMap((id) => [id, number]);
    let action = await client.reset(stateAt(0));
    for (let number = 0; number < steps; number++) {
      assertEquals([...action], ids.map(() => number));
      const state = stateAt(number + 1);
      const step = {
        reward: ids.map(() => number),
        terminated: ids.map(() => false),
        nextState: state,
        state,
      };
      action = await client.step(step);
    }
    if (steps > 3) await client.close();
  };
  await act(await network.connect(), [9], 3); // and then it is silent
  const acting = Promise.all(
    [[1, 2, 3], [4], [5, 6]].map(async (ids) => await act(await network.connect(), ids, 200)),
  );
  await until("they act", () => server.stepCount > 100);
  await network.restart();
  await inTime("all actors", acting);
  assertStrictEquals(server.actorCount, 1);
  await server.close();
  const steps = new Map<number, number[]>();
  for (const handle of replay.episodes().handle) {
    const { state, reward } = replay.episodeRecords(handle);
    const [id = NaN] = state;
    steps.set(id, [...steps.get(id) ?? [], ...reward]);
  }
  for (const id of [1, 2, 3, 4, 5, 6]) {
    assertEquals(steps.get(id), Array.from({ length: 200 }, (_, k) => k), `the steps of ${id}`);
  }
  assertEquals(steps.get(9), [0, 1, 2]);
});
