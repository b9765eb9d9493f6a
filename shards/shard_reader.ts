/**
 * Shards as a learner holds any place of experience: by the interface of the room `learner`.
 *
 * @module
 */

import { Transitions } from "../learner/transitions.ts";
import type {
  ReaderBatchesOptions,
  ReaderGetBatchOptions,
  ReaderStats,
  ReplayReader,
  TransitionBatch,
  TransitionsOf,
} from "../learner/types.ts";
import type { Batch } from "../mod.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import { rewardColumn } from "../schema/create_options.ts";
import { configOfShards, type Shards } from "./shards.ts";
import type { ShardKeys } from "./types.ts";

/**
 * Makes the `ReplayReader` of shards, for a learner that is written against it. A pick must be one step, with at most one n-step return. For sequences, call the
 * shards themselves.
 *
 * To close it closes the shards.
 *
 * @throws {TypeError} If a pick is longer than a step, has several n-step returns, or may have no next state.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { replayWriter } from "@exrp/replay/learner";
 * import { connectShards, localConnection, serveShard, shardReader, shardWriter } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * replay.newPickSelector(uniform());
 * await using shard = await serveShard(replay, connection, { name: "a" });
 *
 * await using sender = await shardWriter<{ state: ReturnType<typeof float32<[]>> }>(connection);
 * const writer = replayWriter(sender.replay);
 * await writer.append({ state: 1, action: 0, reward: 0.5, nextState: 2, terminated: true });
 * await writer.flush(); // it is on its way
 * await sender.flush(); // it is there
 *
 * await using reader = shardReader(await connectShards(connection));
 * const { reward, nextState } = await reader.getBatch(2);
 * console.log(reward, nextState); // Float32Array(2) [0.5, 0.5] Float32Array(2) [2, 2]
 * console.log(shard.name); // a
 * ```
 */
export function shardReader<S extends Schema = AnySchema>(
  shards: Shards<S>,
): ReplayReader<TransitionsOf<S>> {
  return new OwnShardReader<TransitionsOf<S>>(shards as unknown as Shards);
}

class OwnShardReader<S extends Schema> implements ReplayReader<S> {
  static readonly name = "ReplayReader";
  readonly #shards: Shards;
  readonly #transitions: Transitions<S>;

  constructor(shards: Shards) {
    const config = configOfShards(shards);
    this.#shards = shards;
    const reward = rewardColumn(config);
    this.#transitions = new Transitions("shardReader()", shards.pickView.policy, config, reward);
  }

  #of(batch: Batch): TransitionBatch<S> {
    return this.#transitions.of(batch, this.#shards.keysOf(batch));
  }

  async getBatch(size: number, options?: ReaderGetBatchOptions): Promise<TransitionBatch<S>> {
    return this.#of(await this.#shards.getBatch(size, options));
  }

  async *batches(
    size: number,
    options?: ReaderBatchesOptions,
  ): AsyncGenerator<TransitionBatch<S>, void, void> {
    for await (const batch of this.#shards.batches(size, options)) yield this.#of(batch);
  }

  // deno-lint-ignore require-await -- every error is a rejection
  async setPriority(
    { keys }: { readonly keys: unknown },
    priorities: Float32Array | Float64Array | readonly number[],
  ): Promise<void> {
    const isOwn = typeof keys === "object" && keys !== null && "origins" in keys;
    if (!isOwn) throw new TypeError("setPriority() takes a batch of this reader");
    this.#shards.setPriority(keys as ShardKeys, priorities);
  }

  // deno-lint-ignore require-await -- every error is a rejection
  async stats(): Promise<ReaderStats> {
    const { shards, drawn } = this.#shards.figures();
    const alive = shards.filter(({ isAlive }) => isAlive);
    return {
      size: alive.reduce((sum, { picks }) => sum + picks, 0),
      inserted: shards.reduce((sum, { recorded }) => sum + recorded, 0),
      drawn,
    };
  }

  close(): Promise<void> {
    return this.#shards.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
