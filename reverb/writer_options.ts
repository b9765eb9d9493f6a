/**
 * Options that writers share.
 *
 * @module
 */

/** How long a call of {@linkcode ReverbClient} or of a writer waits, and what ends the wait early. */
export interface WaitLimits {
  /** The most milliseconds; without it, there is no end. Then the call rejects with `deadline-exceeded`. */
  readonly timeoutMs?: number;
  /** Ends the wait: the call rejects with the signal's reason. What was sent stays sent. */
  readonly signal?: AbortSignal;
}

/** Options of `createItem`. {@linkcode Writer} has an example. */
export interface CreateItemOptions extends WaitLimits {
  /**
   * A priority of its own for the table's remover, finite and not negative. The item keeps it when its priority changes. Without one, the remover
   * takes `priority`. Tables of this library only: Reverb's own server passes over it.
   */
  readonly removerPriority?: number;
}

/** What `flush` waits for. {@linkcode TrajectoryWriter} has an example. */
export interface FlushOptions extends WaitLimits {
  /** So many items may stay unconfirmed, 0 by default. */
  readonly blockUntilItems?: number;
}

/** How an episode ends. {@linkcode TrajectoryWriter} has an example. */
export interface WriterEndOptions extends WaitLimits {
  /** Whether the history is cleared, true by default. If not, items can reach back into the episode that ended. */
  readonly clearBuffers?: boolean;
}

/** What is set for one column. {@linkcode TrajectoryWriter} has an example. */
export interface ColumnOptions {
  /** How many of the latest steps stay in reach. */
  readonly numKeepAliveRefs?: number;
  /** The rows of a chunk, at most `numKeepAliveRefs`; "auto" learns it from the sizes. */
  readonly chunkLength?: number | "auto";
  /** Whether integers are written as differences from the row before. */
  readonly deltaEncoded?: boolean;
  /** The dtype that plain numbers take in this column, before its first value. */
  readonly dtype?: string;
}

/** Options of {@linkcode ReverbClient.trajectoryWriter}. {@linkcode TrajectoryWriter} has an example. */
export interface TrajectoryWriterOptions {
  /** How many of the latest steps each column keeps in reach: the longest item. */
  readonly numKeepAliveRefs: number;
  /** Whether items are compared with their table's signature before they are sent, true by default. */
  readonly validateItems?: boolean;
  /** The rows of a chunk, at most `numKeepAliveRefs`. "auto", the default, learns it from the sizes. */
  readonly chunkLength?: number | "auto";
  /** Whether integers are written as differences from the row before, false by default. */
  readonly deltaEncoded?: boolean;
  /** `createItem` waits while more items are unconfirmed. By default 256, or twice `numKeepAliveRefs` if that is more. */
  readonly maxPendingItems?: number;
  /** How long a lost connection is tried anew, in ms; without end by default. After it, calls throw `unavailable`, and you need a new writer. */
  readonly reconnectMs?: number;
}

/** Options of {@linkcode ReverbClient.structuredWriter}. {@linkcode StructuredWriter} has an example. */
export interface StructuredWriterOptions {
  /** Whether items are compared with their table's signature before they are sent, true by default. */
  readonly validateItems?: boolean;
  /** The rows of a chunk. "auto", the default, learns it from the sizes. */
  readonly chunkLength?: number | "auto";
  /** `append` waits while more items are unconfirmed. By default 256, or twice the longest pattern if that is more. */
  readonly maxPendingItems?: number;
}

/** Options of {@linkcode ReverbClient.writer}. {@linkcode Writer} has an example. */
export interface WriterOptions {
  /** How many of the latest steps stay in reach: the longest item. */
  readonly maxSequenceLength: number;
  /** Whether integers are written as differences from the row before, false by default. */
  readonly deltaEncoded?: boolean;
  /** The steps of a chunk, at most `maxSequenceLength`. By default 10, or `maxSequenceLength` if that is less. */
  readonly chunkLength?: number;
  /** `createItem` waits while more items are unconfirmed, 25 by default. */
  readonly maxInFlightItems?: number;
}
