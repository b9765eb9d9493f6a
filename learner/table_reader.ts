/**
 * Draws transitions from a table, of this process or of a server.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { checkOptions } from "../base/option_names.ts";
import type { WaitOptions } from "../mod.ts";
import type { ReverbClient } from "../reverb/client.ts";
import type { SampleColumn } from "../reverb/sample_column.ts";
import type { SampleBatch } from "../reverb/samples.ts";
import type { Column, Columns, NoColumns } from "../schema/columns.ts";
import { arrange, leafPaths, type StateColumns, type StateTree } from "../schema/state.ts";
import type { Schema, SchemaOf } from "../schema/schema.ts";
import type { Tables } from "../tables/tables.ts";
import {
  arrayOf,
  checkItemColumns,
  itemOrder,
  type PlacedColumn,
  sampledInOrder,
} from "./_columns.ts";
import type {
  ReaderBatchesOptions,
  ReaderGetBatchOptions,
  ReaderStats,
  ReplayReader,
  TransitionBatch,
  TransitionColumns,
} from "./types.ts";
import { Waits } from "./_waits.ts";

/** The calls of a table, wherever it is. */
interface Door {
  sample(count: number, options: WaitOptions): Promise<SampleBatch>;
  batches(
    size: number,
    prefetch: number,
    signal: AbortSignal,
  ): AsyncGenerator<SampleBatch, void, void>;
  setPriorities(keys: BigUint64Array<ArrayBuffer>, priorities: ArrayLike<number>): Promise<void>;
  stats(): Promise<ReaderStats>;
}

const BETA_MAX = 2 ** 53;
const PREFETCH_MAX = 16;

/**
 * Makes the {@linkcode ReplayReader} of a table: of `Tables` in this process, or of a server, through its `ReverbClient`.
 *
 * An item must be a transition, as {@linkcode tableWriter} makes it: with `state`, `action`, `reward`, `nextState`, `discount`, and `extras` if
 * there are any. Importance weights are computed from the probabilities that the table tells.
 *
 * @param tables The tables, or the client of a server.
 * @param table The table's name.
 * @param columns The columns of a transition.
 * @throws {TypeError} For columns that are none. When it draws, if the items have other columns.
 * @throws {ReplayError} `table-unknown` if there is no such table. Of a server, the first call throws a `ReverbError`, `not-found`.
 * @example
 * ```ts
 * import { float32, prioritized } from "@exrp/replay";
 * import { tableReader, tableWriter } from "@exrp/replay/learner";
 * import { Tables } from "@exrp/replay/tables";
 *
 * const steps = { sampler: prioritized({ alpha: 1, epsilon: 0 }), maxSize: 1000 };
 * using tables = await Tables.create({ tables: { steps } }); // or a ReverbClient
 * const columns = { state: float32(2) };
 * await using reader = tableReader(tables, "steps", columns);
 * await using writer = tableWriter(tables, "steps", columns);
 * await writer.append({ state: [0, 1], action: 1, reward: 0.5, nextState: [1, 2], terminated: true });
 * await writer.flush();
 *
 * const batch = await reader.getBatch(32, { beta: 0.4, timeoutMs: 1000 });
 * console.log(batch.shape.state); // [32, 2]
 * console.log(batch.nextState.subarray(0, 2)); // Float32Array(2) [1, 2]
 * await reader.setPriority(batch, batch.reward.map(Math.abs)); // yours: the TD errors
 * console.log(tables.table("steps").largestPriority); // 0.5
 * ```
 */
export function tableReader<
  const State extends StateColumns,
  Action extends Column = Column<"int32", []>,
  Reward extends Column = Column<"float32", []>,
  Extras extends Columns = NoColumns,
>(
  tables: Tables | ReverbClient,
  table: string,
  columns: TransitionColumns<State, Action, Reward, Extras>,
): ReplayReader<
  SchemaOf<State, Action, Reward, Extras, NoColumns>
> {
  const checked = checkItemColumns("tableReader()", columns);
  const door = isClient(tables) ? remoteDoor(tables, table) : localDoor(tables, table);
  return new TableReader(door, itemOrder(checked), checked.named.tree);
}

/** Tells a client of a server from tables of this process. */
function isClient(tables: Tables | ReverbClient): tables is ReverbClient {
  return "serverInfo" in tables;
}

function localDoor(tables: Tables, name: string): Door {
  const table = tables.table(name);
  return {
    sample: (count, options) => table.getBatch(count, options),
    async *batches(size, _prefetch, signal): AsyncGenerator<SampleBatch, void, void> {
      for (;;) yield await table.getBatch(size, { signal });
    },
    // deno-lint-ignore require-await -- every error is a rejection
    setPriorities: async (keys, priorities) => table.setPriority(keys, priorities),
    // deno-lint-ignore require-await -- every error is a rejection
    stats: async () => {
      const { size, inserts, samples } = table.info();
      return { size, inserted: inserts, drawn: samples };
    },
  };
}

function remoteDoor(client: ReverbClient, table: string): Door {
  return {
    sample: (count, options) => client.getBatch(table, count, options),
    batches: (batchSize, prefetch, signal) =>
      client.batches(table, { batchSize, prefetch, signal }),
    setPriorities: (keys, priorities) =>
      client.setPriority(table, {
        updates: { keys, priorities: Float64Array.from(priorities) },
      }),
    stats: async () => {
      const { [table]: info } = await client.serverInfo();
      if (info === undefined) {
        throw new ReplayError("table-unknown", `stats(): the server has no table ${show(table)}`);
      }
      const { currentSize, rateLimiter } = info;
      return { size: currentSize, inserted: rateLimiter.inserts, drawn: rateLimiter.samples };
    },
  };
}

class TableReader<S extends Schema> implements ReplayReader<S> {
  static readonly name = "ReplayReader";
  readonly #door: Door;
  readonly #order: readonly PlacedColumn[];
  readonly #tree: StateTree;
  readonly #waits = new Waits("reader");

  constructor(door: Door, order: readonly PlacedColumn[], tree: StateTree) {
    this.#door = door;
    this.#order = order;
    this.#tree = tree;
  }

  async getBatch(
    size: number,
    options: ReaderGetBatchOptions = {},
  ): Promise<TransitionBatch<S>> {
    const where = "getBatch()";
    checkOptions(where, options, ["beta", "timeoutMs", "signal"]);
    const { beta = 1, ...wait } = options;
    checkNumber(`${where}: beta`, beta, 0, BETA_MAX);
    const drawn = await this.#waits.run(where, wait, (limits) => this.#door.sample(size, limits));
    return this.#transitions(where, drawn, beta);
  }

  async *batches(
    size: number,
    options: ReaderBatchesOptions = {},
  ): AsyncGenerator<TransitionBatch<S>, void, void> {
    const where = "batches()";
    checkOptions(where, options, ["beta", "prefetch", "signal"]);
    const { beta = 1, prefetch = 1 } = options;
    checkInteger(`${where}: prefetch`, prefetch, 0, PREFETCH_MAX);
    this.#waits.check(where);
    const signal = this.#waits.signalOf(options.signal);
    for await (const drawn of this.#door.batches(size, prefetch, signal)) {
      const now = typeof beta === "function" ? beta() : beta;
      checkNumber(`${where}: beta`, now, 0, BETA_MAX);
      yield this.#transitions(where, drawn, now);
    }
  }

  async setPriority(
    { keys }: { readonly keys: unknown },
    priorities: Float32Array | Float64Array | readonly number[],
  ): Promise<void> {
    this.#waits.check("setPriority()");
    if (!(keys instanceof BigUint64Array)) {
      throw new TypeError("setPriority() takes a batch of this reader, got one of a replay");
    }
    if (priorities.length !== keys.length) {
      throw new RangeError(
        `setPriority() takes a priority for each of ${keys.length} transitions, got ${priorities.length}`,
      );
    }
    await this.#door.setPriorities(keys as BigUint64Array<ArrayBuffer>, priorities);
  }

  async stats(): Promise<ReaderStats> {
    this.#waits.check("stats()");
    return await this.#door.stats();
  }

  // deno-lint-ignore require-await -- other readers have something to wait for
  async close(): Promise<void> {
    this.#waits.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #transitions(where: string, drawn: SampleBatch, beta: number): TransitionBatch<S> {
    const { size, keys } = drawn;
    const sampled = sampledInOrder(where, this.#order, drawn);
    const extras: Record<string, unknown> = {};
    const found = new Map<string, { readonly array: unknown; readonly shape: readonly number[] }>();
    for (const [k, { path, column }] of this.#order.entries()) {
      const array = arrayOf(where, path.join("."), column, size, sampled[k] as SampleColumn);
      const [name, extra = ""] = path;
      if (name === "extras") extras[extra] = array;
      else found.set(JSON.stringify(path), { array, shape: [size, ...column.shape] });
    }
    const arrays: Record<string, unknown> = {};
    const shape: Record<string, unknown> = {};
    for (const name of ["state", "nextState", "action", "reward", "discount"]) {
      const tree = name === "state" || name === "nextState" ? this.#tree : 0;
      const parts = leafPaths(tree).map((path) => found.get(JSON.stringify([name, ...path])));
      arrays[name] = arrange(tree, parts.map((part) => part?.array));
      if (name !== "discount") shape[name] = arrange(tree, parts.map((part) => part?.shape));
    }
    return {
      ...arrays,
      ...{ size, extras, shape, keys },
      probability: Float32Array.from(drawn.probability),
      importanceWeight: weightsOf(drawn, beta),
      [dispose]: () => {},
    } as unknown as TransitionBatch<S>;
  }
}

/**
 * (N · P)^-beta, divided by the largest of the batch. Samplers without chance, such as `oldest()`, tell the probability 1: they have no bias to
 * correct.
 */
function weightsOf(
  { size, probability: probabilities, tableSizes }: SampleBatch,
  beta: number,
): Float32Array<ArrayBuffer> {
  const weights = new Float64Array(size);
  let largest = 0;
  for (let k = 0; k < size; k++) {
    const probability = probabilities[k] as number;
    const ratio = probability === 1 ? 1 : (tableSizes[k] as number) * probability;
    largest = Math.max(largest, weights[k] = ratio ** -beta);
  }
  return Float32Array.from(weights, (weight) => weight / largest);
}
