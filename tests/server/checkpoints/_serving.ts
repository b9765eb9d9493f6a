/** Servers with checkpoints for tests. */
import { type CheckpointOptions, readConfig, serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { Connection } from "../../reverb/_grpc.ts";

/** Three tables: uniform, prioritized, and a queue. */
export const config: string = JSON.stringify({
  tables: {
    u: { maxSize: 1000 },
    p: { sampler: { power: { exponent: 0.7 } }, maxSize: 1000 },
    q: { queue: 5 },
  },
});

/** New tables of this configuration. */
export async function makeTables(): Promise<Tables> {
  const { tables } = readConfig(config);
  return await Tables.create({ tables, seed: 1 });
}

/** Serves new tables with checkpoints, calls `use`, and stops. Errors of the server's own are returned. */
export async function serving(
  checkpoint: CheckpointOptions,
  use: (site: {
    readonly tables: Tables;
    readonly connection: Connection;
    readonly server: Awaited<ReturnType<typeof serve>>;
  }) => Promise<void>,
): Promise<string[]> {
  const errors: string[] = [];
  using tables = await makeTables();
  const onError = (error: unknown): void => void errors.push(String(error));
  const server = await serve({ tables, checkpoint, onError });
  const connection = new Connection(server.port);
  try {
    await use({ tables, connection, server });
  } finally {
    connection.close();
    await server.stop({ graceMs: 50 });
  }
  return errors;
}
