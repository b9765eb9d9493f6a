/** Figures of a server that never was. */
import type { ServerFigures, TableFigures } from "../../../server/figures.ts";

export const table: TableFigures = {
  name: "replay",
  sampler: "uniform()",
  remover: "oldest()",
  size: 250,
  maxSize: 1000,
  bytes: 3 * 1024 * 1024,
  maxBytes: 0,
  maxTimesSampled: 0,
  inserts: 300,
  samples: 500,
  deletes: 50,
  episodes: 12,
  deletedEpisodes: 3,
  uniqueSamples: 200,
  insertsWaiting: 0,
  samplersWaiting: 2,
  largestPriority: 7.5,
  rateLimiter: { ratio: 2, minSize: 100, differenceMin: 0, differenceMax: Number.MAX_VALUE },
  canInsert: true,
  canSample: true,
};

/** Figures with these tables. */
export function figuresOf(...tables: readonly TableFigures[]): ServerFigures {
  return {
    uptime: 3725,
    startedAt: 1_700_000_000,
    connections: 3,
    connectionsOpened: 9,
    receivedBytes: 5_000_000,
    sentBytes: 100,
    chunks: 250,
    chunkBytes: 3 * 1024 * 1024,
    memoryBytes: 4 * 1024 * 1024,
    calls: [{ method: "InsertStream", code: 0, count: 4 }],
    tables,
    checkpoints: undefined,
  };
}
