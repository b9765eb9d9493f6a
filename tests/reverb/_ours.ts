/** Our server with tables that are described as Reverb's are, for tests beside Reverb. */
import { assertEquals } from "@std/assert";
import { openKernel } from "../../ffi/library.ts";
import type { ServedTable } from "../../server/served_tables.ts";
import { type ReverbServer, serve, type ServeOptions } from "../../server/serve.ts";
import { LowTables } from "../../tables/low.ts";
import { lowLimiter, lowRule } from "./_low_subject.ts";
import type { RealTable } from "./_real.ts";

/** A server and its tables. */
export interface Ours extends AsyncDisposable {
  readonly port: number;
  readonly low: LowTables;
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
  const { server, low } = await start(tables, { onError: (error) => errors.push(error) });
  return {
    port: server.port,
    low,
    async [Symbol.asyncDispose](): Promise<void> {
      await server.stop({ graceMs: 0 });
      low[Symbol.dispose]();
      assertEquals(errors, [], "the server had errors of its own");
    },
  };
}

async function start(
  tables: readonly RealTable[],
  options: Partial<ServeOptions>,
): Promise<{ server: ReverbServer; low: LowTables }> {
  const lows = tables.map((table) => ({
    name: table.name,
    maxSize: table.max_size,
    maxTimesSampled: table.max_times_sampled ?? 0,
    sampler: lowRule(table.sampler),
    remover: lowRule(table.remover),
    limiter: lowLimiter(table.limiter),
  }));
  const rules = new Map(
    tables.map(({ name, sampler, remover, signature }): [string, ServedTable] => [
      name,
      { options: { sampler: lowRule(sampler), remover: lowRule(remover), signature } },
    ]),
  );
  const low = LowTables.create(await openKernel(), lows, 1);
  const table = (name: string): ServedTable => {
    const found = rules.get(name);
    if (found === undefined) throw new RangeError(`there is no table ${name}`);
    return found;
  };
  return { low, server: await serve({ tables: { low, table }, ...options }) };
}
