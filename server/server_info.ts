/**
 * The answer to ServerInfo: which tables there are, their rules, and how full they are.
 *
 * Programs ask for it again and again. So what never changes is encoded once, and each answer adds the numbers to it.
 *
 * @module
 */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { MessageWriter } from "../wire/message_writer.ts";
import {
  type KeyDistributionOptionsSchema,
  ServerInfoResponseSchema,
  TableInfoSchema,
} from "../reverb/messages/reverb_pb.ts";
import { encodeSignature } from "../reverb/signature.ts";
import { StructuredValueSchema } from "../reverb/messages/tensorflow_pb.ts";
import type { Tables } from "../tables/tables.ts";
import { type NamedRule, type TableNumbers, tableNumbers } from "./table_figures.ts";

/** What stands for "no limit" in Reverb's rate limiters: C++'s largest double. JavaScript's infinity is not what its clients expect. */
const limit = (value: number): number =>
  Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));

/** A rule in Reverb's terms. One that Reverb lacks has no distribution there. */
export function distribution(
  { kind, options }: NamedRule,
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

/** What of a table never changes. */
function fixedInfo(tables: Tables, name: string): Uint8Array {
  const { sampler, remover, signature } = tables.table(name).options;
  const { maxSize, maxTimesSampled } = tableNumbers(tables, name);
  return toBinary(
    TableInfoSchema,
    create(TableInfoSchema, {
      name,
      samplerOptions: distribution(sampler),
      removerOptions: distribution(remover),
      maxSize: BigInt(maxSize),
      maxTimesSampled,
      ...signature === undefined ? {} : {
        signature: fromBinary(StructuredValueSchema, encodeSignature(name, signature)),
      },
    }),
  );
}

/** Adds what changes, with the fields' numbers of `TableInfo` in `reverb/reverb.proto`. */
function writeNumbers(writer: MessageWriter, numbers: TableNumbers): void {
  const { rateLimiter } = numbers;
  const count = (field: number, value: number): void => {
    if (value > 0) writer.long(field, value);
  };
  writer.begin(5);
  writer.double(1, rateLimiter.ratio);
  writer.double(2, limit(rateLimiter.differenceMin));
  writer.double(3, limit(rateLimiter.differenceMax));
  count(4, rateLimiter.minSize);
  writer.begin(5);
  count(2, numbers.inserts);
  writer.end();
  writer.begin(6);
  count(2, numbers.samples);
  writer.end();
  writer.end();
  count(7, numbers.size);
  count(9, numbers.episodes);
  count(10, numbers.deletedEpisodes);
  count(11, numbers.uniqueSamples);
}

/** Answers ServerInfo for a set of tables. */
export class ServerInfo {
  readonly #tables: Tables;
  readonly #writer = new MessageWriter();
  /** The answer's fields that are no tables. */
  readonly #head: Uint8Array;
  readonly #fixed: readonly (readonly [name: string, bytes: Uint8Array])[];

  /** @param stateId Two random numbers of 64 bits that no other start of a server has. */
  constructor(tables: Tables, stateId: BigUint64Array) {
    const [high = 0n, low = 0n] = stateId;
    this.#tables = tables;
    this.#head = toBinary(
      ServerInfoResponseSchema,
      create(ServerInfoResponseSchema, { tablesStateId: { high, low } }),
    );
    this.#fixed = tables.names.map((name) => [name, fixedInfo(tables, name)]);
  }

  /** The answer's bytes. */
  answer(): Uint8Array {
    const writer = this.#writer;
    writer.reset();
    writer.fields(this.#head);
    for (const [name, bytes] of this.#fixed) {
      writer.begin(2);
      writer.fields(bytes);
      writeNumbers(writer, tableNumbers(this.#tables, name));
      writer.end();
    }
    return writer.message();
  }
}
