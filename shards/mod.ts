/**
 * A replay that is more than one machine holds: shards in processes of their own, actors that send them records, and a learner that draws from all of them.
 *
 * Messages go over a {@linkcode Connection}. That of NATS is one as it is: `await connect({ servers })` of `@nats-io/transport-node`, in Deno and Node. The
 * guide `docs/shards.md` shows how it all fits together.
 *
 * | process | call |
 * |---|---|
 * | a shard | {@linkcode serveShard}, or the command `deno task shard` |
 * | an actor | {@linkcode shardWriter} |
 * | the learner | {@linkcode connectShards}, and {@linkcode shardReader} where it takes a `ReplayReader` |
 *
 * {@linkcode serveShard} has an example with all three.
 *
 * @module
 */

export type {
  Connection,
  ConnectionMessage,
  ConnectionSubscribeOptions,
  ConnectionSubscription,
} from "./connection.ts";
export { localConnection } from "./local_connection.ts";
export {
  serveShard,
  type ServeShardOptions,
  type Shard,
  type ShardFigures,
} from "./serve_shard.ts";
export { shardReader } from "./shard_reader.ts";
export {
  ShardWriter,
  shardWriter,
  type ShardWriterFigures,
  type ShardWriterOptions,
} from "./shard_writer.ts";
export { connectShards, Shards } from "./shards.ts";
export type {
  ConnectShardsOptions,
  ShardChange,
  ShardKeys,
  ShardPicks,
  ShardsBatchesOptions,
  ShardsFigures,
  ShardsGetBatchOptions,
  ShardState,
} from "./types.ts";
