/** A server of tables for tests, and what a test of it needs again and again. */
import { assertEquals } from "../_assert.ts";
import { readConfig } from "../../server/config.ts";
import { Tables } from "../../tables/tables.ts";
import { type ReverbServer, serve, type ServeOptions } from "../../server/serve.ts";
import { Connection, smallChunk, smallItem } from "../reverb/_grpc.ts";
import type { Message } from "../reverb/_proto.ts";
import { PATIENCE_MS } from "../_wait.ts";

/** Tables for most tests: a uniform and a prioritized one, a queue, and one that samples as often as it inserts. */
export const plainTables = {
  u: { sampler: "uniform", remover: "fifo", maxSize: 1000 },
  p: { sampler: { power: { exponent: 1 } }, maxSize: 1000 },
  q: { queue: 3 },
};

/** A server on a free port, with a connection to it. */
export interface Served extends AsyncDisposable {
  readonly server: ReverbServer;
  readonly connection: Connection;
  /** Errors of the server's own. At the end there must be none. */
  readonly errors: unknown[];
  /** Another connection, which is closed at the end too. */
  connect(): Connection;
}

/** Serves tables, described as in a configuration file. */
export async function served(
  tables: object = plainTables,
  options: Partial<ServeOptions> = {},
): Promise<Served> {
  const errors: unknown[] = [];
  const server = await serve({
    tables: await Tables.create({ tables: readConfig(JSON.stringify({ tables })).tables, seed: 1 }),
    onError: (error) => errors.push(error),
    ...options,
  });
  const connections: Connection[] = [];
  const connect = (): Connection => {
    const connection = new Connection(server.port);
    connections.push(connection);
    return connection;
  };
  return {
    server,
    connection: connect(),
    errors,
    connect,
    async [Symbol.asyncDispose](): Promise<void> {
      for (const one of connections) one.close();
      await server.stop({ graceMs: 0 });
      assertEquals(errors, [], "the server had errors of its own");
    },
  };
}

/** Inserts one item of a chunk of its own, and waits for its confirmation. */
export async function insert(
  connection: Connection,
  table: string,
  key: bigint,
  priority = 1,
): Promise<void> {
  const call = connection.open("InsertStream");
  call.send({ chunks: [smallChunk(key, key)], items: [smallItem(key, table, priority, key)] });
  const confirmed = await call.receive();
  assertEquals(confirmed?.["keys"], [key]);
  call.end();
  assertEquals((await call.ending).code, 0);
}

/** Samples of a table, each as the entry that has its info. */
export async function sample(
  connection: Connection,
  table: string,
  count: number,
  timeoutMs = PATIENCE_MS,
): Promise<Message[]> {
  const call = connection.open("SampleStream");
  call.send({
    table,
    num_samples: BigInt(count),
    rate_limiter_timeout: { milliseconds: BigInt(timeoutMs) },
  });
  const entries: Message[] = [];
  while (entries.filter((entry) => entry["end_of_sequence"]).length < count) {
    const message = await call.receive();
    if (message === undefined) {
      const { code, message } = await call.ending;
      throw new Error(`${code}: ${message}`);
    }
    entries.push(...message["entries"]);
  }
  call.cancel();
  return entries.filter((entry) => entry["info"] !== undefined);
}

/** What ServerInfo says of a table. */
export async function infoOf(connection: Connection, table: string): Promise<Message> {
  const { table_info } = await connection.call("ServerInfo");
  return table_info.find((info: Message) => info["name"] === table);
}
