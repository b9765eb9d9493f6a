/**
 * A connection to a hub: what it sends goes up to the hub, which finds the subscriptions, and from there down to each of them.
 *
 * What carries the messages up and down is the hub's business. That of a program carries them at once. That of the tests takes virtual time,
 * and loses some.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type {
  Connection,
  ConnectionMessage,
  ConnectionSubscribeOptions,
  ConnectionSubscription,
} from "../../shards/connection.ts";
import type { Routes } from "./_routes.ts";

/** The largest payload, as that of NATS by default. */
const PAYLOAD_MAX = 2 ** 20;

/** What a connection needs of its hub. Both ways keep the order, as far as the hub promises one. */
export interface HubWire {
  /** The subscriptions of all connections. */
  readonly routes: Routes<HubSubscription>;
  /** Carries something to the hub: a message of so many bytes, or undefined for what a client says again after it lost the hub, as a subscription. */
  readonly up: (bytes: number | undefined, arrive: () => void) => void;
  /** Carries it from the hub to the connection. */
  readonly down: (bytes: number | undefined, arrive: () => void) => void;
}

/** A subscription, as the hub knows it. */
export interface HubSubscription {
  /** Carries a message from the hub to whoever subscribed. */
  deliver(message: ConnectionMessage): void;
}

/** A connection to a hub. */
export class HubConnection implements Connection {
  readonly info: { readonly max_payload: number };
  readonly #inbox: string;
  readonly #wire: HubWire;
  /** What takes the subscriptions of this connection out of the routes. */
  readonly #leaves = new Set<() => void>();
  /** What ends the calls that wait when the connection ends. */
  readonly #waits = new Set<(error: Error) => void>();
  readonly #flushes = new Set<(error: Error) => void>();
  readonly #end = Promise.withResolvers<void | Error>();
  #isClosed = false;
  #hasLeft = false;
  #requestCount = 0;

  /** @param inbox Where answers go: a subject that no other connection has. */
  constructor(inbox: string, wire: HubWire, payloadMax: number = PAYLOAD_MAX) {
    this.#inbox = inbox;
    this.#wire = wire;
    this.info = { max_payload: payloadMax };
  }

  publish(
    subject: string,
    payload: Uint8Array = new Uint8Array(0),
    options: { readonly reply?: string } = {},
  ): void {
    this.#send("publish()", subject, payload, options.reply);
  }

  subscribe(subject: string, options: ConnectionSubscribeOptions): ConnectionSubscription {
    this.#check("subscribe()", subject);
    return this.#subscribe(subject, options.queue, (message) => options.callback(null, message));
  }

  request(
    subject: string,
    payload: Uint8Array | undefined,
    { timeout }: { readonly timeout: number },
  ): Promise<ConnectionMessage> {
    return new Promise((resolve, reject) => {
      const reply = `${this.#inbox}.${++this.#requestCount}`;
      const end = (): void => {
        clearTimeout(timer);
        this.#waits.delete(fail);
        answers.unsubscribe();
      };
      const fail = (error: Error): void => {
        end();
        reject(error);
      };
      this.#check("request()", subject);
      const answers = this.#subscribe(reply, undefined, (message) => {
        end();
        resolve(message);
      });
      this.#waits.add(fail);
      const timer = setTimeout(
        () => fail(named("TimeoutError", `no answer from ${subject} after ${timeout} ms`)),
        timeout,
      );
      try {
        this.#send(
          "request()",
          subject,
          payload ?? new Uint8Array(0),
          reply,
          () => fail(named("NoRespondersError", `nobody takes requests at ${subject}`)),
        );
      } catch (error) {
        end();
        throw error;
      }
    });
  }

  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#check("flush()");
      const end = (): void => {
        this.#waits.delete(fail);
        this.#flushes.delete(fail);
      };
      const fail = (error: Error): void => {
        end();
        reject(error);
      };
      this.#waits.add(fail);
      this.#flushes.add(fail);
      this.#wire.up(undefined, () =>
        this.#wire.down(undefined, () => {
          end();
          resolve();
        }));
    });
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  closed(): Promise<void | Error> {
    return this.#end.promise;
  }

  /** Ends the connection: no message comes any more, and calls that wait fail. A second call does nothing. */
  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.leave();
    for (const fail of [...this.#waits]) fail(closed("close()"));
    this.#end.resolve();
    return Promise.resolve();
  }

  /** Fails the calls of `flush` that wait, as a client of NATS does where it loses its server. */
  lose(): void {
    for (const fail of [...this.#flushes]) fail(named("ConnectionError", "the hub was lost"));
  }

  /** Ends it for the hub only, as the death of a process does: its subscriptions are gone, and no call here hears of it. */
  leave(): void {
    this.#hasLeft = true;
    for (const leave of this.#leaves) leave();
    this.#leaves.clear();
  }

  #send(
    operation: string,
    subject: string,
    payload: Uint8Array,
    reply: string | undefined,
    nobody?: () => void,
  ): void {
    this.#check(operation, subject);
    const most = this.info.max_payload;
    if (payload.length > most) {
      throw new RangeError(
        `${operation}: a payload must have at most ${most} bytes, got ${payload.length}`,
      );
    }
    const { routes, up, down } = this.#wire;
    up(payload.length, () => {
      const targets = routes.of(subject);
      if (targets.length === 0 && nobody !== undefined) down(0, nobody);
      if (targets.length === 0) return;
      const data = new Uint8Array(payload);
      const message = reply === undefined ? { subject, data } : { subject, data, reply };
      for (const target of targets) target.deliver(message);
    });
  }

  #subscribe(
    subject: string,
    queue: string | undefined,
    take: (message: ConnectionMessage) => void,
  ): ConnectionSubscription {
    const { routes, up, down } = this.#wire;
    let isOver = false;
    let leave = (): void => {};
    up(undefined, () => {
      if (isOver) return;
      leave = routes.add(subject, queue, {
        deliver: (message) =>
          down(message.data.length, () => {
            if (!isOver) take(message);
          }),
      });
      if (this.#hasLeft) leave();
      else this.#leaves.add(leave);
    });
    return {
      unsubscribe: () => {
        isOver = true;
        leave();
        this.#leaves.delete(leave);
      },
    };
  }

  #check(operation: string, subject?: string): void {
    if (this.#isClosed) throw closed(operation);
    if (subject === undefined) return;
    if (typeof subject === "string" && /^[^\s.]+(\.[^\s.]+)*$/.test(subject)) return;
    throw new TypeError(
      `${operation}: a subject must be words with dots between them, got ${show(subject)}`,
    );
  }
}

function closed(operation: string): ReplayError {
  return new ReplayError("disposed", `${operation}: the connection is closed`);
}

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
