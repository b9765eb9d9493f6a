/**
 * What the tables of a folder are, as JSON.
 *
 * @module
 */

import { RateLimiter, type RateLimiterNumbers } from "../rate_limiters/rate_limiter.ts";
import { NativeSelector } from "../selectors/native_selector.ts";
import { checkSameFacts, type DescribedKind, TABLES_FILE } from "../storage/described_folder.ts";
import type { FilledTableOptions } from "./table_options.ts";

/** The file of a folder. */
export const FOLDER: DescribedKind = {
  operation: "Tables.open()",
  name: TABLES_FILE,
  format: 1,
  of: "tables",
  one: "tables",
};

/** A table and its options. */
export interface NamedTable {
  readonly name: string;
  readonly options: FilledTableOptions;
}

/** What the tables of a folder are. */
export interface TablesConfig {
  readonly seed: number;
  readonly tables: readonly NamedTable[];
}

/** A rate limiter as JSON, which has no infinity: null stands for it. */
export interface RateLimiterJson {
  readonly name: string;
  readonly options: RateLimiter["options"];
  readonly numbers: Readonly<Record<keyof RateLimiterNumbers, number | null>>;
}

/** A rate limiter as JSON. */
export function jsonOf({ name, options, numbers }: RateLimiter): RateLimiterJson {
  const { differenceMin, differenceMax } = numbers;
  const ends = [differenceMin, differenceMax].map((end) => Number.isFinite(end) ? end : null);
  const [min = null, max = null] = ends;
  return { name, options, numbers: { ...numbers, differenceMin: min, differenceMax: max } };
}

/** The rate limiter of a JSON. */
export function rateLimiterOf({ name, options, numbers }: RateLimiterJson): RateLimiter {
  const { ratio, minSize, differenceMin, differenceMax } = numbers;
  return new RateLimiter(name, options, {
    ratio: ratio ?? 1,
    minSize: minSize ?? 1,
    differenceMin: differenceMin ?? -Infinity,
    differenceMax: differenceMax ?? Infinity,
  });
}

/** The JSON of tables. */
export function configJson({ seed, tables }: TablesConfig): object {
  return {
    seed,
    tables: tables.map(({ name, options }) => ({
      name,
      ...options,
      rateLimiter: jsonOf(options.rateLimiter),
    })),
  };
}

/** The tables of a JSON, which {@linkcode configJson} made and whose sum is right. */
export function configOf(json: unknown): TablesConfig {
  interface TableJson extends Omit<FilledTableOptions, "rateLimiter"> {
    readonly name: string;
    readonly rateLimiter: RateLimiterJson;
  }
  const { seed, tables } = json as { readonly seed: number; readonly tables: TableJson[] };
  const rule = ({ kind, native, options, numbers }: NativeSelector): NativeSelector =>
    new NativeSelector(kind, native, options, numbers);
  return {
    seed,
    tables: tables.map(({ name, sampler, remover, rateLimiter, ...others }) => ({
      name,
      options: {
        ...others,
        sampler: rule(sampler),
        remover: rule(remover),
        rateLimiter: rateLimiterOf(rateLimiter),
      },
    })),
  };
}

/** Compares tables that were asked for with those of the folder. A seed of undefined is whatever the folder has. */
export function checkSameTables(
  folder: string,
  given: readonly NamedTable[],
  seed: number | undefined,
  found: TablesConfig,
): void {
  const facts = (tables: readonly NamedTable[], seed: number): Map<string, string> =>
    new Map([
      ["tables", tables.map(({ name }) => name).join(", ")],
      ...tables.flatMap(({ name, options: { signature, ...options } }) => [
        ...Object.entries(options).map(([option, value]) =>
          [`tables.${name}.${option}`, String(value)] as const
        ),
        ...signature === undefined
          ? []
          : [[`tables.${name}.signature`, JSON.stringify(signature)] as const],
      ]),
      ["seed", String(seed)],
    ]);
  const asked = facts(given, seed ?? found.seed);
  checkSameFacts(FOLDER, folder, asked, facts(found.tables, found.seed));
}
