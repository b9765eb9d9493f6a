/**
 * What a server says of its tables.
 *
 * @module
 */

import type {
  KeyDistributionOptions,
  TableInfo as TableInfoMessage,
} from "./messages/reverb_pb.ts";
import { type Signature, signatureOf } from "./signature.ts";

/**
 * How a table chooses the items that it samples or removes. See {@linkcode ServerTable}.
 */
export interface SelectorInfo {
  /** The rule. */
  readonly kind: "fifo" | "lifo" | "uniform" | "prioritized" | "min-heap" | "max-heap" | "unknown";
  /** The exponent of priorities, for `prioritized`. */
  readonly exponent?: number;
}

/** How a table's rate limiter stands. See {@linkcode ServerTable}. */
export interface RateLimiterInfo {
  /** How often an item is sampled on average. */
  readonly samplesPerInsert: number;
  /** The least number of items before the first sample. */
  readonly minSize: number;
  /** The least difference `inserts * samplesPerInsert - samples`. */
  readonly minDiff: number;
  /** The largest difference. */
  readonly maxDiff: number;
  /** Items inserted. */
  readonly inserts: number;
  /** Items sampled. */
  readonly samples: number;
}

/**
 * A table of a server. {@linkcode ReverbClient.serverInfo} returns them.
 *
 * @example
 * ```ts
 * import { ReverbClient } from "@exrp/replay/reverb";
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * await using server = await serve({ tables }); // yours runs elsewhere
 * await using client = await ReverbClient.connect(server.address);
 *
 * await client.insert({ reward: 1 }, { replay: 1 });
 * const { replay } = await client.serverInfo();
 * console.log([replay?.currentSize, replay?.maxSize, replay?.rateLimiter.inserts]); // [1, 1000, 1]
 * ```
 */
export interface ServerTable {
  /** Its name. */
  readonly name: string;
  /** How it samples. */
  readonly sampler: SelectorInfo;
  /** How it chooses the item that goes when it is full. */
  readonly remover: SelectorInfo;
  /** The most items. */
  readonly maxSize: number;
  /** How often an item is sampled before it goes; 0 without limit. */
  readonly maxTimesSampled: number;
  /** The rate limiter. */
  readonly rateLimiter: RateLimiterInfo;
  /** What the items look like, if the table says so. */
  readonly signature?: Signature;
  /** The items. */
  readonly currentSize: number;
  /** The episodes of the items. */
  readonly numEpisodes: number;
  /** Episodes of which no item is left. */
  readonly numDeletedEpisodes: number;
  /** Items that were sampled at least once. */
  readonly numUniqueSamples: number;
}

/** A table as an object of this library. */
export function tableOf(message: TableInfoMessage): ServerTable {
  const { rateLimiterInfo: rateLimiter } = message;
  const signature = readableSignature(message);
  return {
    name: message.name,
    sampler: selectorOf(message.samplerOptions),
    remover: selectorOf(message.removerOptions),
    maxSize: Number(message.maxSize),
    maxTimesSampled: message.maxTimesSampled,
    rateLimiter: {
      samplesPerInsert: rateLimiter?.samplesPerInsert ?? 0,
      minSize: Number(rateLimiter?.minSizeToSample ?? 0),
      minDiff: rateLimiter?.minDiff ?? 0,
      maxDiff: rateLimiter?.maxDiff ?? 0,
      inserts: Number(rateLimiter?.insertStats?.completed ?? 0),
      samples: Number(rateLimiter?.sampleStats?.completed ?? 0),
    },
    ...(signature === undefined ? {} : { signature }),
    currentSize: Number(message.currentSize),
    numEpisodes: Number(message.numEpisodes),
    numDeletedEpisodes: Number(message.numDeletedEpisodes),
    numUniqueSamples: Number(message.numUniqueSamples),
  };
}

/** A signature that the library can't read counts as none: the table can be used without it. */
function readableSignature({ signature }: TableInfoMessage): Signature | undefined {
  try {
    return signature && signatureOf(signature);
  } catch {
    return undefined;
  }
}

/** A rule as an object of this library. */
export function selectorOf(options: KeyDistributionOptions | undefined): SelectorInfo {
  const distribution = options?.distribution;
  switch (distribution?.case) {
    case "fifo":
    case "lifo":
    case "uniform":
      return { kind: distribution.case };
    case "prioritized":
      return { kind: "prioritized", exponent: distribution.value.priorityExponent };
    case "heap":
      return { kind: distribution.value.minHeap ? "min-heap" : "max-heap" };
    default:
      return { kind: "unknown" };
  }
}
