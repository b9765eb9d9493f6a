/**
 * The tables of a configuration.
 *
 * @module
 */
import { openKernel } from "../ffi/library.ts";
import { LowTables } from "../tables/low.ts";
import type { ServerConfig } from "./config.ts";
import type { ServedTables } from "./served_tables.ts";

/** Makes the tables of a configuration, in the kernel. */
export async function openTables({ tables, seed }: ServerConfig): Promise<ServedTables> {
  const options = [...tables].map(([name, { limiter, ...table }]) => {
    const { ratio, minSize, differenceMin, differenceMax } = limiter.numbers;
    return { ...table, name, limiter: [ratio, minSize, differenceMin, differenceMax] as const };
  });
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return { low: LowTables.create(await openKernel(), options, seed ?? random), rules: tables };
}
