/**
 * A connection that loses, doubles and delays messages, by a seed; and nodes of it that can be cut off.
 *
 * @module
 */

import { type Connection, type ConnectionSubscription, localConnection } from "@exrp/replay/shards";

/** How bad a network is. */
export interface Faults {
  /** Of a thousand messages, so many are lost. */
  readonly lost: number;
  /** And so many come twice. */
  readonly doubled: number;
  /** A message takes up to so many milliseconds, so others overtake it. */
  readonly delayMs: number;
}

/** A network. */
export class LossyNet {
  readonly #hub = localConnection();
  readonly #random: (below: number) => number;
  readonly #cut = new Set<string>();
  #faults: Faults;

  constructor(random: (below: number) => number, faults: Faults) {
    this.#random = random;
    this.#faults = faults;
  }

  /** From now on, nothing is lost. */
  heal(): void {
    this.#faults = { lost: 0, doubled: 0, delayMs: 0 };
    this.#cut.clear();
  }

  /** Nothing goes to or from this node any more, or it does again. */
  cut(node: string, isCut = true): void {
    if (isCut) this.#cut.add(node);
    else this.#cut.delete(node);
  }

  /** The end of a node. */
  node(name: string): Connection {
    const hub = this.#hub;
    const send = (call: () => void): void => {
      const { lost, doubled, delayMs } = this.#faults;
      const chance = this.#random(1000);
      if (this.#cut.has(name) || chance < lost) return;
      const times = chance < lost + doubled ? 2 : 1;
      for (let k = 0; k < times; k++) {
        const late = this.#random(delayMs + 1);
        if (late === 0) call();
        else setTimeout(call, late);
      }
    };
    return {
      info: { max_payload: 2 ** 20 },
      publish: (subject, payload, options) => {
        const copy = payload?.slice();
        send(() => hub.publish(subject, copy, options));
      },
      subscribe: (subject, options): ConnectionSubscription =>
        hub.subscribe(subject, {
          ...options,
          callback: (error, message) => {
            if (!this.#cut.has(name)) options.callback(error, message);
          },
        }),
      request: (subject, payload, options) => hub.request(subject, payload, options),
      flush: () => hub.flush(),
      isClosed: () => hub.isClosed(),
      closed: () => hub.closed(),
    };
  }
}
