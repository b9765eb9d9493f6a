/**
 * A process of actors, each with some environments of its own, which ask for actions for ever. They share some connections.
 *
 * @module
 */

import { float32 } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { inferenceClient } from "@exrp/replay/fleet";
import { connect } from "npm:@nats-io/transport-node@3.4.0";

const [servers = "", actors = "1", environments = "1", shared = "1"] = Deno.args;
const count = Number(environments);
let connection = await connect({ servers });
for (let k = 0; k < Number(actors); k++) {
  if (k > 0 && k % Number(shared) === 0) connection = await connect({ servers });
  act(connection, k * 1000);
}
console.log("ready");

async function act(connection: Awaited<ReturnType<typeof connect>>, seed: number): Promise<void> {
  const carts = Array.from({ length: count }, (_, e) => new CartPole(seed + e));
  const client = inferenceClient(connection, "policy", { state: float32(4) }, {
    environments: count,
  });
  const [state, nextState] = [new Float32Array(4 * count), new Float32Array(4 * count)];
  const reward = new Float32Array(count);
  const [terminated, truncated] = [new Uint8Array(count), new Uint8Array(count)];
  for (const [e, cart] of carts.entries()) state.set(cart.reset(), 4 * e);
  let action = await client.reset(state);
  for (;;) {
    for (const [e, cart] of carts.entries()) {
      const result = cart.step(action[e] ?? 0);
      nextState.set(result.state, 4 * e);
      reward[e] = result.reward;
      terminated[e] = Number(result.terminated);
      truncated[e] = Number(result.truncated);
      state.set(result.terminated || result.truncated ? cart.reset() : result.state, 4 * e);
    }
    action = await client.step({ state, nextState, reward, terminated, truncated });
  }
}
