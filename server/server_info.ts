/**
 * The answer to ServerInfo: which tables there are, their rules, and how full they are.
 *
 * @module
 */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type KeyDistributionOptionsSchema,
  ServerInfoResponseSchema,
  type TableInfoSchema,
} from "../reverb/messages/reverb_pb.ts";
import { structuredOf } from "../reverb/signature.ts";
import type { Tables } from "../tables/tables.ts";
import type { NativeSelector } from "../selectors/native_selector.ts";

/** What stands for "no limit" in Reverb's rate limiters: C++'s largest double. JavaScript's infinity is not what its clients expect. */
const limit = (value: number): number =>
  Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));

/** A rule in Reverb's terms. One that Reverb lacks has no distribution there. */
function distribution(
  { kind, options }: NativeSelector,
): MessageInitShape<typeof KeyDistributionOptionsSchema> {
  switch (kind) {
    case "uniform":
      return { distribution: { case: "uniform", value: true } };
    case "prioritized":
    case "power": {
      const priorityExponent = Number(options[kind === "power" ? "exponent" : "alpha"]);
      return { distribution: { case: "prioritized", value: { priorityExponent } } };
    }
    case "oldest":
      return { distribution: { case: "fifo", value: true }, isDeterministic: true };
    case "newest":
      return { distribution: { case: "lifo", value: true }, isDeterministic: true };
    case "highestPriority":
    case "lowestPriority":
      return {
        distribution: { case: "heap", value: { minHeap: kind === "lowestPriority" } },
        isDeterministic: true,
      };
    default:
      return {};
  }
}

function tableInfo(tables: Tables, name: string): MessageInitShape<typeof TableInfoSchema> {
  const table = tables.table(name);
  const { sampler, remover, signature, maxSize, maxTimesSampled = 0, rateLimiter } = table.options;
  const { ratio, differenceMin, differenceMax, minSize } = rateLimiter.numbers;
  const info = table.info();
  return {
    name,
    samplerOptions: distribution(sampler),
    removerOptions: distribution(remover),
    maxSize: BigInt(maxSize),
    maxTimesSampled,
    rateLimiterInfo: {
      samplesPerInsert: ratio,
      minDiff: limit(differenceMin),
      maxDiff: limit(differenceMax),
      minSizeToSample: BigInt(minSize),
      insertStats: { completed: BigInt(info.inserts) },
      sampleStats: { completed: BigInt(info.samples) },
    },
    ...signature === undefined ? {} : { signature: structuredOf(name, signature) },
    currentSize: BigInt(info.size),
    numEpisodes: BigInt(info.episodes),
    numDeletedEpisodes: BigInt(info.deletedEpisodes),
    numUniqueSamples: BigInt(info.uniqueSamples),
  };
}

/**
 * Answers ServerInfo for a set of tables.
 *
 * @param stateId Two random numbers of 64 bits that no other start of a server has.
 */
export function serverInfo(tables: Tables, stateId: BigUint64Array): Uint8Array {
  const [high = 0n, low = 0n] = stateId;
  const answer = create(ServerInfoResponseSchema, {
    tablesStateId: { high, low },
    tableInfo: tables.names.map((name) => tableInfo(tables, name)),
  });
  return toBinary(ServerInfoResponseSchema, answer);
}
