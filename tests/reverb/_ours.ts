/** Our server with tables that are described as Reverb's are, for tests beside Reverb. */
import { assertEquals } from "../_assert.ts";
import * as abi from "../../ffi/symbols.ts";
import { readConfig } from "../../server/config.ts";
import { type ReverbServer, serve, type ServeOptions } from "../../server/serve.ts";
import type { KernelTables } from "../../tables/kernel_tables.ts";
import { kernelTablesOf, restoreTables } from "../../tables/tables.ts";
import { asConfig } from "../server/_as_config.ts";
import type { RealTable } from "./_real.ts";

/** A server and its tables. */
export interface Ours extends AsyncDisposable {
  readonly port: number;
  readonly kernelTables: KernelTables;
  /** How many streams clients have open. The tables have some of their own. */
  clientStreams(): number;
}

function streamsOf(kernelTables: KernelTables): number {
  const info = kernelTables.storeInfo();
  return (info[abi.EXRP_TABLES_STORE_INSERTERS] ?? NaN) +
    (info[abi.EXRP_TABLES_STORE_SAMPLERS] ?? NaN);
}

/** Serves such tables on a free port. */
export async function startOurs(
  tables: readonly RealTable[],
  options: Partial<ServeOptions> = {},
): Promise<ReverbServer> {
  return (await start(tables, options)).server;
}

/** Serves such tables, and gives the tables too. At the end they are freed, and the server must have had no errors of its own. */
export async function startTables(tables: readonly RealTable[]): Promise<Ours> {
  const errors: unknown[] = [];
  const { server, kernelTables } = await start(tables, { onError: (error) => errors.push(error) });
  const own = streamsOf(kernelTables);
  return {
    port: server.port,
    kernelTables,
    clientStreams: () => streamsOf(kernelTables) - own,
    async [Symbol.asyncDispose](): Promise<void> {
      await server.stop({ graceMs: 0 });
      kernelTables[Symbol.dispose]();
      assertEquals(errors, [], "the server had errors of its own");
    },
  };
}

async function start(
  tables: readonly RealTable[],
  options: Partial<ServeOptions>,
): Promise<{ server: ReverbServer; kernelTables: KernelTables }> {
  // A file may not describe a table that is smaller than its rate limiter waits for; Reverb has such tables.
  const large = tables.map((table) => ({ ...table, max_size: 1_000_000 }));
  const { tables: read } = readConfig(JSON.stringify({ tables: asConfig(large) }));
  const own = Object.fromEntries(
    tables.map(({ name, max_size: maxSize }) => [name, { ...read[name], maxSize }]),
  );
  const made = await restoreTables({ tables: own, seed: 1 });
  return { kernelTables: kernelTablesOf(made), server: await serve({ tables: made, ...options }) };
}
