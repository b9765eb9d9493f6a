/**
 * Connections within one process: what a NATS server does between processes, without one.
 *
 * @module
 */

import type { Connection } from "../../shards/connection.ts";
import { HubConnection as OwnConnection, type HubSubscription } from "./_hub_connection.ts";
import { nextTurn } from "../../base/waits.ts";
import { Routes } from "./_routes.ts";

/** A connection of a {@linkcode Hub}. */
export interface HubConnection extends Connection {
  /** Ends it. Calls that wait fail. */
  close(): Promise<void>;
}

/**
 * Connections for tests: messages come in the order in which they were sent, in a later turn of the event loop, and none is lost. A request that nobody takes
 * fails at once.
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
