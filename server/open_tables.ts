/**
 * The tables of a configuration.
 *
 * @module
 */
import { openKernel } from "../ffi/library.ts";
import { LowTables } from "../tables/low.ts";
import type { ServerConfig } from "./config.ts";
import type { ServedTable, ServedTables } from "./served_tables.ts";

/** Makes the tables of a configuration, in the kernel. */
export async function openTables({ tables, seed }: ServerConfig): Promise<ServedTables> {
  const options = [...tables].map(([name, { limiter, ...table }]) => {
    const { ratio, minSize, differenceMin, differenceMax } = limiter.numbers;
    return { ...table, name, limiter: [ratio, minSize, differenceMin, differenceMax] as const };
  });
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const low = LowTables.create(await openKernel(), options, seed ?? random);
  return {
    low,
    table(name): ServedTable {
      const found = tables.get(name);
      if (found === undefined) throw new RangeError(`there is no table ${name}`);
      return { options: found };
    },
  };
}
