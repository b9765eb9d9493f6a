/**
 * How the programs of this example connect to NATS.
 *
 * @module
 */
import type { NatsConnection } from "npm:@nats-io/transport-node@3.4.0";

/**
 * Connects. It waits for a server that is away for a while; with `waitOnFirstConnect`, also for one that is not there yet.
 *
 * Where a server refuses the password, the client leaves the socket before that has ended. Nobody listens to its errors then, and one would end the program in the
 * place of the client's own error.
 */
export async function connectNats(
  servers: string,
  waitOnFirstConnect: boolean,
): Promise<NatsConnection> {
  const { connect } = await import("npm:@nats-io/transport-node@3.4.0");
  globalThis.addEventListener("error", (event) => {
    const { code } = (event.error ?? {}) as { readonly code?: unknown };
    if (code === "ECONNRESET" || code === "EPIPE") event.preventDefault();
  });
  // The client waits 2 s between two tries by default, and so long the learner would stand still.
  const patience = { maxReconnectAttempts: -1, reconnectTimeWait: 250 };
  return await connect({ servers, ...patience, waitOnFirstConnect });
}
