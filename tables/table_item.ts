/**
 * The items of a table, as a list.
 *
 * @module
 */

/** What a table knows of one item: {@linkcode Table.items} lists them. */
export interface TableItem {
  /** Its key. */
  readonly key: bigint;
  /** Its priority for the sampler. */
  readonly priority: number;
  /** Its priority for the remover: its own, or else the same. */
  readonly removerPriority: number;
  /** How often it was sampled. */
  readonly timesSampled: number;
  /** When it was inserted, in milliseconds since 1970. */
  readonly insertedAt: number;
  /** Bytes of its data as it is stored, that which it shares with other items too. */
  readonly bytes: number;
}

/** The options of {@linkcode Table.items}. */
export interface ItemsOptions {
  /** Items at most, 1 to 2^32 - 1; all by default. */
  readonly limit?: number;
}
