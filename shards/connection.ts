/**
 * The connection that shards, actors and learners talk through, as far as they need it.
 *
 * A `NatsConnection` of the `@nats-io` packages is one as it is: you connect by their `connect()`, so credentials, TLS and reconnecting are
 * yours to choose. The library itself imports no such package.
 *
 * @module
 */

/** A message, as a {@linkcode Connection} hands it over. Its bytes stay as they are. */
export interface ConnectionMessage {
  /** The subject that it was sent to. */
  readonly subject: string;
  /** Where an answer is wanted; undefined if nobody waits for one. */
  readonly reply?: string;
  /** The bytes of the message. */
  readonly data: Uint8Array;
}

/** What a {@linkcode Connection} delivers. */
export interface ConnectionSubscription {
  /** Ends it: no message comes any more. */
  unsubscribe(): void;
}

/** The options of a {@linkcode Connection}'s `subscribe`, as in the example of {@linkcode localConnection}. */
export interface ConnectionSubscribeOptions {
  /** Of all subscriptions of a subject with this name, one gets each message. */
  readonly queue?: string;
  /** Called with each message, in the order in which they came; with an error if the server refused the subscription. */
  readonly callback: (error: Error | null, message: ConnectionMessage) => void;
}

/**
 * Sends and takes messages by subject. A `NatsConnection` of `@nats-io/nats-core` is one. Where there are many processes, NATS carries the
 * messages; a test may use a connection of its own, and {@linkcode localConnection} makes one within a thread.
 *
 * Messages from one sender on one subject come in order. Any of them may be lost while a connection is broken, so nothing here takes a message for
 * delivered that was not answered.
 */
export interface Connection {
  /** Sends a message. It is copied or sent before the caller may change its bytes: at the next `flush` at the latest. */
  publish(
    subject: string,
    payload?: Uint8Array,
    options?: { readonly reply?: string },
  ): void;
  /** Asks for the messages of a subject: `*` stands for one part of it, and `>` at the end for any number. */
  subscribe(
    subject: string,
    options: ConnectionSubscribeOptions,
  ): ConnectionSubscription;
  /** Sends a message, and waits for the first answer. */
  request(
    subject: string,
    payload: Uint8Array | undefined,
    options: { readonly timeout: number },
  ): Promise<ConnectionMessage>;
  /** Waits until the server has taken all that was published. */
  flush(): Promise<void>;
  /** Whether the connection has ended for good. */
  isClosed(): boolean;
  /** Waits for that end: the error that it ended by, or nothing. */
  closed(): Promise<void | Error>;
  /** What the server said of itself; undefined before it did. */
  readonly info?: {
    /** The largest payload that it takes, in bytes: 1 MiB by default. */
    readonly max_payload?: number;
  };
}

/** The largest payload of a connection whose server has not said it: the default of NATS. */
const PAYLOAD_DEFAULT = 2 ** 20;

/** How many bytes one message may have. */
export function payloadMax(connection: Connection): number {
  return connection.info?.max_payload ?? PAYLOAD_DEFAULT;
}
