/**
 * Connections within one process: what a NATS server does between processes, without one.
 *
 * @module
 */

import { showAs } from "../base/inspect.ts";
import type { Connection } from "../shards/connection.ts";
import { HubConnection as OwnConnection, type HubSubscription } from "./hub_connection.ts";
import { nextTurn } from "./_next_turn.ts";
import { Routes } from "./routes.ts";

/** A connection of a {@linkcode Hub}. */
export interface HubConnection extends Connection {
  /** Ends it. Calls that wait fail. */
  close(): Promise<void>;
}

/**
 * Connects the parts of one program: what is written for many machines runs in one process, without a server.
 *
 * Messages come in the order in which they were sent, in a later turn of the event loop, and none is lost. A request that nobody takes fails at
 * once.
 *
 * @example
 * ```ts
 * import { Hub } from "@exrp/replay/fleet";
 *
 * const hub = new Hub();
 * const server = hub.connect();
 * server.subscribe("double", {
 *   callback: (_error, { data, reply = "" }) => server.publish(reply, data.map((each) => 2 * each)),
 * });
 * const { data } = await hub.connect().request("double", Uint8Array.of(21), { timeout: 1000 });
 * console.log(data[0]); // 42
 * ```
 */
export class Hub {
  readonly #routes = new Routes<HubSubscription>((count) => this.#queueTurn++ % count);
  #queueTurn = 0;
  #connectionCount = 0;
  #waiting: (() => void)[] = [];

  /** Makes a connection. */
  connect(): HubConnection {
    return new OwnConnection(`_INBOX.${++this.#connectionCount}`, {
      routes: this.#routes,
      up: (_bytes, arrive) => this.#queue(arrive),
      down: (_bytes, arrive) => arrive(),
    });
  }

  #queue(arrive: () => void): void {
    this.#waiting.push(arrive);
    if (this.#waiting.length > 1) return;
    nextTurn(() => {
      const now = this.#waiting;
      this.#waiting = [];
      for (const each of now) each();
    });
  }
}

showAs(Hub, () => "Hub");
