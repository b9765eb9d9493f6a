/**
 * A connection within one thread, which needs no server: for tests, and for a program that begins with one process.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { nextTurn } from "../base/waits.ts";
import type {
  Connection,
  ConnectionMessage,
  ConnectionSubscribeOptions,
  ConnectionSubscription,
} from "./connection.ts";

interface Listener {
  readonly pattern: readonly string[];
  readonly queue: string | undefined;
  readonly callback: ConnectionSubscribeOptions["callback"];
}

/** Whether a subject is one of those that a pattern means. */
function matches(pattern: readonly string[], subject: readonly string[]): boolean {
  for (const [k, token] of pattern.entries()) {
    if (token === ">") return subject.length > k;
    if (k >= subject.length || (token !== "*" && token !== subject[k])) return false;
  }
  return pattern.length === subject.length;
}

/** What {@linkcode localConnection} returns. */
class LocalConnection implements Connection {
  readonly info = { max_payload: 2 ** 20 };
  readonly #listeners = new Set<Listener>();
  #inboxes = 0;
  #turn = 0;
  #end = (): void => {};
  readonly #ended = new Promise<void>((resolve) => this.#end = resolve);
  #isClosed = false;

  publish(subject: string, payload?: Uint8Array, options?: { readonly reply?: string }): void {
    if (this.#isClosed) throw new ReplayError("disposed", "publish(): the connection is closed");
    const data = payload?.slice() ?? new Uint8Array(0);
    if (data.length > this.info.max_payload) {
      const { max_payload } = this.info;
      throw new RangeError(
        `publish(): a payload may have ${max_payload} bytes, got ${data.length}`,
      );
    }
    const reply = options?.reply;
    const message: ConnectionMessage = { subject, data, ...reply === undefined ? {} : { reply } };
    // In a later turn, so that two that talk all the time leave some to timers and sockets.
    nextTurn(() => this.#deliver(message));
  }

  #deliver(message: ConnectionMessage): void {
    const tokens = message.subject.split(".");
    const groups = new Map<string, Listener[]>();
    for (const listener of [...this.#listeners]) {
      if (!matches(listener.pattern, tokens) || !this.#listeners.has(listener)) continue; // one before it may have unsubscribed it
      if (listener.queue === undefined) listener.callback(null, message);
      else groups.set(listener.queue, [...groups.get(listener.queue) ?? [], listener]);
    }
    for (const group of groups.values()) {
      const left = group.filter((listener) => this.#listeners.has(listener));
      left[this.#turn++ % left.length]?.callback(null, message);
    }
  }

  subscribe(subject: string, options: ConnectionSubscribeOptions): ConnectionSubscription {
    const { queue, callback } = options;
    const listener = { pattern: subject.split("."), queue, callback };
    this.#listeners.add(listener);
    return { unsubscribe: () => void this.#listeners.delete(listener) };
  }

  request(
    subject: string,
    payload: Uint8Array | undefined,
    { timeout }: { readonly timeout: number },
  ): Promise<ConnectionMessage> {
    const reply = `_inbox.${this.#inboxes++}`;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        subscription.unsubscribe();
      };
      const subscription = this.subscribe(reply, {
        callback: (_error, message) => {
          end();
          resolve(message);
        },
      });
      const timer = setTimeout(() => {
        end();
        reject(new ReplayError("timeout", `request(): nobody answered within ${timeout} ms`));
      }, timeout);
      try {
        this.publish(subject, payload, { reply });
      } catch (error) {
        end();
        throw error;
      }
    });
  }

  async flush(): Promise<void> {
    await Promise.resolve();
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  closed(): Promise<void> {
    return this.#ended;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#end();
    return this.#ended;
  }
}

/**
 * Makes a connection within this thread: what is published reaches who subscribed by the same object.
 *
 * @example
 * ```ts
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * connection.subscribe("greet.*", {
 *   callback: (_error, { subject, reply = "" }) => connection.publish(reply, new TextEncoder().encode(subject)),
 * });
 * const { data } = await connection.request("greet.you", undefined, { timeout: 1000 });
 * console.log(new TextDecoder().decode(data)); // greet.you
 * ```
 */
export function localConnection(): Connection & { close(): Promise<void> } {
  return new LocalConnection();
}
