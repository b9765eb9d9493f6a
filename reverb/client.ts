/**
 * The client of servers that speak Reverb's protocol: DeepMind's own, and `serve()` of this library.
 *
 * @module
 */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { type Kernel, openKernel } from "../ffi/library.ts";
import { checkRateLimiter } from "../rate_limiters/checks.ts";
import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";
import { Channel } from "./channel.ts";
import {
  checkPriority,
  checkRemoverPriorities,
  checkTable,
  explained,
  flatSignature,
  type Signatures,
} from "./check_item.ts";
import { ChunkEncoder } from "../wire/new_rows.ts";
import { ReverbError } from "./errors.ts";
import { ItemStream } from "./item_stream.ts";
import { mutationOf, type PriorityChanges } from "./priority_changes.ts";
import { Rows } from "./_rows.ts";
import type { WriterDoor } from "./item_writer.ts";
import { Limiters, SetLimiterRequestSchema } from "./messages/limiter_pb.ts";
import {
  CheckpointResponseSchema,
  ResetRequestSchema,
  ServerInfoResponseSchema,
} from "./messages/reverb_pb.ts";
import type { PatternConfig } from "./patterns.ts";
import { findServer } from "./_find_server.ts";
import { decodeSamples, SampleDecoder } from "./sample_decoder.ts";
import type { SampleBatch } from "./samples.ts";
import {
  checkBatches,
  type ClientBatchesOptions,
  type ClientGetBatchOptions,
  Samplers,
} from "./sampling.ts";
import type { Signature } from "./signature.ts";
import type { StepData } from "./structure.ts";
import { newStructuredWriter, type StructuredWriter } from "./structured_writer.ts";
import { type ServerTable, tableOf } from "./table_info.ts";
import { type FlatStep, newTrajectoryWriter, type TrajectoryWriter } from "./trajectory_writer.ts";
import { newWriter, type Writer } from "./writer.ts";
import type {
  StructuredWriterOptions,
  TrajectoryWriterOptions,
  WaitLimits,
  WriterOptions,
} from "./writer_options.ts";

/** Options of {@linkcode ReverbClient.connect}, as in its example: {@linkcode ReverbClient}. */
export interface ConnectOptions extends WaitLimits {
  /** Which kernel encodes and decodes: the native one, that of WebAssembly, or "auto", the default: whichever can. */
  readonly backend?: "auto" | "native" | "wasm";
  /** The path of the native kernel, as in `ExperienceReplay.create`. */
  readonly kernelPath?: string | URL;
  /** The folder for the kernel that the package carries, as in `ExperienceReplay.create`. */
  readonly kernelCache?: string | URL;
}

/** Options of {@linkcode ReverbClient.insert}. {@linkcode ReverbClient} has an example. */
export interface ClientInsertOptions extends WaitLimits {
  /**
   * Priorities of its own for the remover, in some of the tables. Without one, the remover takes the same as the sampler. Tables of this library only:
   * Reverb's own server passes over them.
   */
  readonly removerPriorities?: Readonly<Record<string, number>>;
}

const WAIT = ["timeoutMs", "signal"];
const INSERT = ["removerPriorities", ...WAIT];
const NOTHING = new Uint8Array();
const CONNECT_MS = 10_000;
/** How long an error waits for the names of the tables. */
const EXPLAIN_MS = 1000;

/**
 * A client of a server that speaks Reverb's protocol: DeepMind's own, or one of this library.
 *
 * It needs HTTP/2 of Deno, Node or Bun, and Deno's permission `--allow-net` for the address. Connections are not encrypted. A connection that was lost is made anew by the
 * next call.
 *
 * @example
 * ```ts
 * import { ReverbClient } from "@exrp/replay/reverb";
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * await using server = await serve({ tables }); // yours runs elsewhere
 * await using client = await ReverbClient.connect(server.address, { backend: "auto" });
 *
 * const step = { state: Float32Array.of(1, 2), reward: 0.5 };
 * await client.insert(step, { replay: 1 }, { removerPriorities: { replay: 7 } }); // you may leave the last one out
 * const { columns, keys, priorities } = await client.getBatch("replay", 32);
 * console.log(columns.map(({ shape }) => shape)); // [[32, 1], [32, 1, 2]]: reward, state: items, steps, the rest
 * console.log(priorities[0]); // 1
 * await client.setPriority("replay", { updates: { keys, priorities: new Float64Array(32).fill(2) } });
 * console.log(tables.table("replay").largestPriority); // 2
 * ```
 */
export class ReverbClient {
  readonly #channel: Channel;
  readonly #encoder: ChunkEncoder;
  readonly #samplers: Samplers;
  readonly #inserters: ItemStream[] = [];
  /** Those of writers, with items that the server has not confirmed. */
  readonly #unconfirmed = new Set<ItemStream>();
  readonly #ask = (): Promise<object> => this.serverInfo({ timeoutMs: EXPLAIN_MS });
  #signatures: Signatures = new Map();
  #nests: ReadonlyMap<string, Signature | undefined> = new Map();

  private constructor(channel: Channel, kernel: Kernel) {
    this.#channel = channel;
    this.#encoder = new ChunkEncoder(kernel);
    const decoder = new SampleDecoder(kernel);
    this.#samplers = new Samplers(
      channel,
      (table, message) => decodeSamples(decoder, table, message, this.#nests.get(table)),
      this.#ask,
    );
  }

  /**
   * Connects to a server, and asks for its tables.
   *
   * It waits for a server that has not started yet, or whose places are all taken: it tries again, at least twice a second, until `timeoutMs`
   * have passed.
   *
   * @param address `"host:port"`, as in `"localhost:8000"` or `"[::1]:8000"`.
   * @param options `timeoutMs` is 10,000 by default; `Infinity` waits without end.
   * @throws {TypeError} If the address is none.
   * @throws {ReverbError} After `timeoutMs`: `unavailable` if no server could be reached, with the reason of the last try; `deadline-exceeded` if
   * what is there neither answers nor refuses. At once: `permission-denied` if the program may not connect, `unimplemented` if what answers
   * speaks another protocol.
   *
   * @example A learner that may start up to a minute before its server
   * ```ts
   * import { ReverbClient } from "@exrp/replay/reverb";
   * import { serve } from "@exrp/replay/server";
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
   * await using server = await serve({ tables }); // yours runs elsewhere, and may start later
   * await using client = await ReverbClient.connect(server.address, { timeoutMs: 60_000 });
   * console.log(Object.keys(await client.serverInfo())); // ["replay"]
   * ```
   */
  static async connect(address: string, options: ConnectOptions = {}): Promise<ReverbClient> {
    const where = "ReverbClient.connect()";
    checkOptions(where, options, [...WAIT, "backend", "kernelPath", "kernelCache"]);
    if (typeof address !== "string" || !/^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):\d{1,5}$/.test(address)) {
      throw new TypeError(`${where} takes an address as "host:port", got ${show(address)}`);
    }
    const { timeoutMs = CONNECT_MS, signal, ...kernel } = options;
    const client = new ReverbClient(new Channel(address), await openKernel(kernel));
    try {
      await findServer(where, client, timeoutMs, signal);
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  }

  /** The address as `host:port`. */
  get address(): string {
    return this.#channel.address;
  }

  /**
   * What the server says of its tables, by name. The client also learns their signatures anew.
   *
   * @throws {ReverbError} `unavailable`, `deadline-exceeded`.
   */
  async serverInfo(options: WaitLimits = {}): Promise<Readonly<Record<string, ServerTable>>> {
    checkOptions("serverInfo()", options, WAIT);
    const answer = await this.#channel.unary("ServerInfo", NOTHING, options);
    const { tableInfo } = fromBinary(ServerInfoResponseSchema, answer);
    const tables = tableInfo.map(tableOf);
    this.#signatures = new Map(
      tables.map(({ name, signature }) => [name, signature && flatSignature(signature)]),
    );
    this.#nests = new Map(tables.map(({ name, signature }) => [name, signature]));
    return Object.fromEntries(tables.map((table) => [table.name, table]));
  }

  /**
   * Inserts nested data as one item with one step into one or several tables, and waits until they have it. The data is sent and
   * stored once.
   *
   * Each call needs an answer of the server. To insert many items, use a writer.
   *
   * Without `timeoutMs` it waits as long as it takes: for a table's rate limiter, and for a server that stopped to come back. It tries to connect
   * again meanwhile, for ever. Give `timeoutMs` or `signal` where your program has something better to do.
   *
   * @param data Nested data. The server stores its leaves, by sorted keys.
   * @param priorities The priority in each table, finite and not negative.
   * @param options `removerPriorities`: other priorities for the removers. Reverb's own server passes over them.
   * @throws {TypeError} If the data does not fit a table's signature, or there is a priority for the remover of another table.
   * @throws {RangeError} If a priority is negative, infinite or NaN.
   * @throws {ReverbError} `deadline-exceeded` if a table's rate limiter held the item back for `timeoutMs`, or no server answered. The item may
   * come in later, still. `cancelled` if the client was closed meanwhile.
   */
  async insert(
    data: StepData,
    priorities: Readonly<Record<string, number>>,
    options: ClientInsertOptions = {},
  ): Promise<void> {
    checkOptions("insert()", options, INSERT);
    const tables = Object.entries(priorities);
    if (tables.length === 0) {
      throw new TypeError("insert() needs a priority for at least one table");
    }
    for (const [table, priority] of tables) {
      checkPriority(`insert(): the priority for table ${show(table)}`, priority);
    }
    const own = options.removerPriorities;
    if (own !== undefined) checkRemoverPriorities("insert()", own, priorities);
    const stream = this.#inserters.pop() ?? new ItemStream(this.#channel);
    try {
      const rows = new Rows(this.#door(stream), { maxSequenceLength: 1 });
      rows.append("insert()", data);
      const heads = tables.map(([table, priority]) => (
        { table, priority, removerPriority: own?.[table] }
      ));
      for (const head of heads) rows.check("insert()", head, 1);
      for (const head of heads) rows.create("insert()", head, 1);
      rows.release();
      stream.force(0);
      await stream.until("insert()", 0, options);
      this.#inserters.push(stream);
    } catch (error) {
      if (stream.pending === 0 && !stream.hasFailed) this.#inserters.push(stream);
      else await stream.close(0);
      throw error;
    }
  }

  /**
   * Changes priorities of items, and deletes items. Items that the table does not have are skipped.
   *
   * @throws {RangeError} If a priority is negative, infinite or NaN. Nothing was changed then.
   * @throws {ReverbError} `not-found` if the server has no such table.
   */
  async setPriority(
    table: string,
    changes: PriorityChanges,
    options: WaitLimits = {},
  ): Promise<void> {
    const where = "setPriority()";
    checkTable(`${where}: table`, table);
    checkOptions(where, changes, ["updates", "deletes"]);
    checkOptions(where, options, WAIT);
    await this.#call(where, table, "MutatePriorities", mutationOf(where, table, changes), options);
  }

  /** A call on one table. */
  async #call(
    where: string,
    table: string,
    method: string,
    message: Uint8Array,
    options: WaitLimits,
    service?: string,
  ): Promise<void> {
    try {
      await this.#channel.unary(method, message, options, service);
    } catch (error) {
      throw await explained(where, table, error, this.#ask);
    }
  }

  /**
   * Removes all items of a table, and begins the counts of its rate limiter anew.
   *
   * @throws {ReverbError} `not-found` if the server has no such table.
   */
  async clear(table: string, options: WaitLimits = {}): Promise<void> {
    checkTable("reset(): table", table);
    checkOptions("reset()", options, WAIT);
    const message = toBinary(ResetRequestSchema, create(ResetRequestSchema, { table }));
    await this.#call("reset()", table, "Reset", message, options);
  }

  /**
   * Gives a table another rate limiter, while the server runs. Counts stay. Inserts and samples that wait go on at once, as far as the new one lets
   * them. Only servers of this library can do so. A checkpoint does not have it: a server that starts anew has the rate limiter of its own options.
   *
   * @param table The table.
   * @param rateLimiter `minSize()`, `samplesPerInsert()` or `queue()` of `@exrp/replay`, by the rules of a table's options.
   * @throws {TypeError} If it is none.
   * @throws {ReverbError} `invalid-argument` if the table can't keep it: it waits for more items than the table may hold, or inserts and samples could
   * deadlock. `not-found` if the server has no such table; `unimplemented` if it is another server, such as Reverb's own;
   * `unavailable`; `deadline-exceeded`. The table keeps its rate limiter in the first three cases.
   * @example
   * ```ts
   * import { minSize } from "@exrp/replay";
   * import { ReverbClient } from "@exrp/replay/reverb";
   * import { serve } from "@exrp/replay/server";
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { replay: { maxSize: 1000, rateLimiter: minSize(100) } } });
   * await using server = await serve({ tables }); // yours runs elsewhere
   * await using client = await ReverbClient.connect(server.address);
   *
   * await client.insert({ reward: 1 }, { replay: 1 });
   * const waiting = client.getBatch("replay", 32); // 99 items are missing
   * await client.setRateLimiter("replay", minSize(1));
   * console.log((await waiting).size); // 32
   * ```
   */
  async setRateLimiter(
    table: string,
    rateLimiter: RateLimiter,
    options: WaitLimits = {},
  ): Promise<void> {
    const where = "setRateLimiter()";
    checkTable(`${where}: table`, table);
    checkRateLimiter(`${where}: rateLimiter`, rateLimiter);
    checkOptions(where, options, WAIT);
    const { ratio, minSize, differenceMin: minDiff, differenceMax: maxDiff } = rateLimiter.numbers;
    const request = { table, samplesPerInsert: ratio, minSize: BigInt(minSize), minDiff, maxDiff };
    const message = toBinary(
      SetLimiterRequestSchema,
      create(SetLimiterRequestSchema, request),
    );
    try {
      await this.#call(where, table, "SetLimiter", message, options, Limiters.typeName);
    } catch (error) {
      if (!(error instanceof ReverbError) || error.code !== "unimplemented") throw error;
      throw new ReverbError(
        error.code,
        `${where}: the server can't change a rate limiter while it runs; only a server of @exrp/replay can (${error.message})`,
        { cause: error },
      );
    }
  }

  /**
   * Saves all tables on the server.
   *
   * @returns The path of the checkpoint on the server's machine.
   * @throws {ReverbError} `invalid-argument` if the server has no place for checkpoints.
   */
  async checkpoint(options: WaitLimits = {}): Promise<string> {
    checkOptions("checkpoint()", options, WAIT);
    const answer = await this.#channel.unary("Checkpoint", NOTHING, options);
    return fromBinary(CheckpointResponseSchema, answer).checkpointPath;
  }

  /**
   * Samples items as one batch: one request, and one typed array for each column.
   *
   * The items must have the same columns. An item can come several times, unless the table's sampler is one without replacement. The type
   * parameter is that of the table's data, so that TypeScript knows `data`.
   *
   * `timeoutMs` limits how long the server waits for the table, and not how long the samples take to arrive. With `timeoutMs`, the call also ends
   * if the server sends nothing for `timeoutMs` and 10 seconds. If the `signal` ends the call while samples arrive, they count as sampled: a table with
   * `maxTimesSampled` does not give them again. With `isPartialAllowed`, you get those that came.
   *
   * @param table The table.
   * @param count The items, at least 1.
   * @throws {ReverbError} `deadline-exceeded` if the table's rate limiter held samples back for `timeoutMs`, or the server is silent. Samples that came
   * before are lost then, unless `isPartialAllowed`. `not-found` if there is no such table; `unavailable`.
   */
  getBatch<D = StepData>(
    table: string,
    count = 1,
    options: ClientGetBatchOptions = {},
  ): Promise<SampleBatch<D>> {
    const batch: Promise<unknown> = this.#samplers.sample(table, count, options);
    return batch as Promise<SampleBatch<D>>;
  }

  /**
   * Samples batch after batch, and asks for some ahead. The type parameter is that of `sample`. What was asked for ahead counts as sampled, also if you stop before you took it.
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
   * await client.insert({ state: Float32Array.of(1, 2) }, { replay: 1 });
   * let count = 0;
   * for await (const batch of client.batches("replay", { batchSize: 256, maxBatches: 4 })) {
   *   count += batch.size; // here you learn from the batch
   * }
   * console.log(count); // 1024
   * ```
   */
  batches<D = StepData>(
    table: string,
    options: ClientBatchesOptions,
  ): AsyncGenerator<SampleBatch<D>, void> {
    checkBatches(table, options);
    const batches: AsyncGenerator<unknown, void> = this.#samplers.batches(table, options);
    return batches as AsyncGenerator<SampleBatch<D>, void>;
  }

  /** A writer of items that are the latest steps. {@linkcode Writer} has an example. */
  writer(options: WriterOptions): Writer {
    return newWriter(this.#newDoor(), options);
  }

  /**
   * A writer of items whose columns are any parts of the latest steps. {@linkcode TrajectoryWriter} has an example. The type parameter is
   * that of your steps, so that TypeScript knows `history`.
   */
  trajectoryWriter<D = FlatStep>(options: TrajectoryWriterOptions): TrajectoryWriter<D> {
    return newTrajectoryWriter<D>(this.#newDoor(), options);
  }

  /** A writer that makes items by patterns and conditions. {@linkcode StructuredWriter} has an example. */
  structuredWriter(
    configs: readonly PatternConfig[],
    options: StructuredWriterOptions = {},
  ): StructuredWriter {
    return newStructuredWriter(this.#newDoor(), configs, options);
  }

  /** What a new writer needs. */
  #newDoor(): WriterDoor {
    return this.#door(new ItemStream(this.#channel, undefined, this.#unconfirmed));
  }

  #door(stream: ItemStream): WriterDoor {
    return { stream, encoder: this.#encoder, signatures: this.#signatures };
  }

  /**
   * Closes the connection. Close the writers before, as what they have not sent is lost.
   *
   * @throws {ReverbError} `cancelled` if a writer had items that the server has not confirmed; they may be lost. The connection is closed then, too.
   */
  async close(): Promise<void> {
    let lost = 0;
    for (const { pending } of this.#unconfirmed) lost += pending;
    this.#unconfirmed.clear();
    await this.#end();
    if (lost === 0) return;
    const items = lost === 1 ? "1 item that was" : `${lost} items that were`;
    throw new ReverbError(
      "cancelled",
      `close(): writers had ${items} not confirmed, and may be lost; await flush() or close() of each writer before`,
    );
  }

  /**
   * Closes the connection, and throws nothing: so an error of your own, by which a program ends, is not hidden. Use `close()` to learn whether items of
   * writers may be lost.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#samplers.close();
    await Promise.all(this.#inserters.splice(0).map((stream) => stream.close()));
    this.#channel.close();
  }
}
