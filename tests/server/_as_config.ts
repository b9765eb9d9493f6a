/** Tables of a real server as our configuration file has them, so that both can be served and compared. */
import type { RealRateLimiter, RealSelector, RealTable } from "../../bench/reverb/_real_server.ts";

function selector({ kind, exponent }: RealSelector): unknown {
  const names = { min_heap: "minHeap", max_heap: "maxHeap" } as const;
  if (kind === "prioritized") return { power: { exponent: exponent ?? 1 } };
  return kind === "min_heap" || kind === "max_heap" ? names[kind] : kind;
}

function rateLimiter(real: RealRateLimiter): unknown {
  if (real.kind === "min_size") return { minSize: real.min_size };
  if (real.kind !== "sample_to_insert_ratio") return { [real.kind]: real.size };
  const { samples_per_insert, min_size, error_buffer } = real;
  return {
    sampleToInsertRatio: {
      samplesPerInsert: samples_per_insert,
      minSize: min_size,
      error: error_buffer,
    },
  };
}

/** The tables of a configuration. */
export function asConfig(tables: readonly RealTable[]): Record<string, unknown> {
  return Object.fromEntries(tables.map((table) => [table.name, {
    sampler: selector(table.sampler),
    remover: selector(table.remover),
    maxSize: table.max_size,
    rateLimiter: rateLimiter(table.rateLimiter),
    maxTimesSampled: table.max_times_sampled ?? 0,
    ...table.signature === undefined ? {} : { signature: table.signature },
  }]));
}
