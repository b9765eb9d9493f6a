/**
 * Shards of this process, for tests of draws.
 *
 * @module
 */

import { ExperienceReplay, prioritized } from "@exrp/replay";
import { type Connection, serveShard, type Shard } from "@exrp/replay/shards";
import { NUMBERED } from "./_numbered.ts";

/** A shard with its replay. */
export interface LocalShard extends AsyncDisposable {
  readonly shard: Shard;
  readonly replay: ExperienceReplay;
}

/** Serves a replay in memory, with records of which number n has the reward n and is alone in its episode. */
export async function localShard(
  connection: Connection,
  name: string,
  numbers: readonly number[],
  options: object = {},
  rule: unknown = prioritized({ alpha: 1, epsilon: 0, draw: "independent" }),
): Promise<LocalShard> {
  const replay = await ExperienceReplay.create({
    ...NUMBERED,
    seed: name.charCodeAt(0),
    ...options,
  }) as unknown as ExperienceReplay;
  replay.newPickSelector(rule as ReturnType<typeof prioritized>);
  const loose = replay as unknown as {
    record(episode: number, state: number[], action: number, reward: number, rest: object): number;
  };
  for (const n of numbers) {
    loose.record(replay.newEpisode(), [n, 0], n % 7, n, { finalState: [n + 1, 0], priority: n });
  }
  const shard = await serveShard(replay, connection, { name });
  return {
    ...{ shard, replay },
    async [Symbol.asyncDispose](): Promise<void> {
      await shard.close();
      replay[Symbol.dispose]();
    },
  };
}

/** A connection on which the sums of weights are other ones than they are now, as if they were old. */
export function withSums(connection: Connection, sum: () => number): Connection {
  return {
    ...{ info: { max_payload: 2 ** 20 }, request: connection.request.bind(connection) },
    ...{ flush: () => connection.flush(), isClosed: () => connection.isClosed() },
    closed: () => connection.closed(),
    subscribe: (subject, options) => connection.subscribe(subject, options),
    publish: (subject, payload, options) => {
      const bytes = payload?.slice();
      if (bytes !== undefined && bytes[0] === 0x7b) {
        const text = new TextDecoder().decode(bytes).replaceAll(
          /"sum":[\d.e+-]+/g,
          () => `"sum":${sum()}`,
        );
        return connection.publish(subject, new TextEncoder().encode(text), options);
      }
      if (
        bytes?.length !== undefined && bytes.length >= 56 && bytes[0] === 0x58 && bytes[1] === 0x50
      ) {
        new DataView(bytes.buffer).setFloat64(24, sum(), true);
      }
      connection.publish(subject, bytes, options);
    },
  };
}
