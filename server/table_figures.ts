/**
 * What a server says of its tables: their figures.
 *
 * @module
 */
import { ruleText } from "../base/inspect.ts";
import type { Tables } from "../tables/tables.ts";
import type { TableFigures } from "./figures.ts";

/** The figures of a table. */
export function tableFigures(tables: Tables, name: string): TableFigures {
  const table = tables.table(name);
  const { sampler, remover, rateLimiter, maxSize, maxBytes = 0, maxTimesSampled = 0 } =
    table.options;
  return {
    name,
    sampler: ruleText(sampler.kind, sampler.options),
    remover: ruleText(remover.kind, remover.options),
    ...{ maxSize, maxBytes, maxTimesSampled },
    ...table.info(),
    rateLimiter: rateLimiter.numbers,
    canInsert: table.canInsert(),
    canSample: table.canSample(),
  };
}
