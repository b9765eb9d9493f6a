/**
 * What is measured: datasets, each a filled buffer, and the calls that are timed on it.
 *
 * @module
 */

/** Records of an episode. */
export const EPISODE_LENGTH = 256;

/** Numbers of a state. */
export const STATE_SIZE = 15;

/** Numbers of an action. */
export const ACTION_SIZE = 3;

/** Bytes of a frame's side. */
export const FRAME_SIDE = 84;

/** Kinds of filled buffers, as a worker has a method for each. */
export type DatasetKind =
  | "uniform"
  | "prioritized"
  | "sequences"
  | "prioritizedSequences"
  | "images"
  | "comparison";

/** A filled buffer; the workers get it as JSON. */
export interface Dataset {
  /** Where its figures go in the report. */
  readonly group: string;
  readonly kind: DatasetKind;
  /** Records it holds, all of them filled. */
  readonly capacity: number;
  /** Picks of the batches that are drawn. */
  readonly batches: readonly number[];
  /** How many priorities are set at once; as many are drawn and set in a learner's turn. */
  readonly updates: readonly number[];
  /** How many records are added in one call. */
  readonly adds: readonly number[];
  /** Records of a pick. */
  readonly length: number;
  /** What priorities are raised to. */
  readonly alpha: number;
  /** Of the records that are added while the clock runs. */
  readonly dtype: "float32" | "float64";
  /** Only the memory that it takes is measured, in a process of its own. */
  readonly memory: boolean;
}

function dataset(group: string, kind: DatasetKind, parts: Partial<Dataset>): Dataset {
  return {
    group,
    kind,
    capacity: 2 ** 12,
    batches: [],
    updates: [],
    adds: [],
    length: 1,
    alpha: 0.6,
    dtype: "float32",
    memory: false,
    ...parts,
  };
}

/** Everything that is measured: with `quick` small buffers only, to see that every peer works. */
export function listDatasets(quick: boolean): Dataset[] {
  const sizes = [32, 256, 5000];
  const capacities = quick ? [2 ** 12, 2 ** 16] : [2 ** 12, 2 ** 16, 2 ** 20, 2 ** 23];
  const long = quick ? [2 ** 16] : [2 ** 20, 2 ** 23];
  const memory = quick ? 2 ** 18 : 2 ** 20;
  const seed003 = {
    capacity: 2 ** 12,
    adds: Array.from({ length: 11 }, (_, k) => 1 + 10 * k),
    batches: [2, 4, 8, 16, 32, 64, 128, 256],
    alpha: 0.4,
    dtype: "float64" as const,
  };
  return [
    dataset("memory, uniform", "uniform", { capacity: memory, memory: true }),
    dataset("memory, prioritized", "prioritized", { capacity: memory, memory: true }),
    ...capacities.map((capacity) =>
      dataset("uniform", "uniform", { capacity, batches: sizes, adds: [1, 100] })
    ),
    ...capacities.map((capacity) =>
      dataset("prioritized", "prioritized", {
        capacity,
        batches: sizes,
        updates: sizes,
        adds: [1, 100],
      })
    ),
    ...long.map((capacity) =>
      dataset("sequences", "sequences", { capacity, batches: [5000], length: 8 })
    ),
    ...long.slice(0, 1).map((capacity) =>
      dataset("prioritized sequences", "prioritizedSequences", {
        capacity,
        batches: [5000],
        updates: [5000],
        length: 8,
      })
    ),
    dataset("images", "images", {
      capacity: quick ? 2 ** 10 : 2 ** 13,
      batches: [32, 256],
      adds: [1],
    }),
    dataset("seed 003, uniform", "uniform", seed003),
    dataset("seed 003, prioritized", "prioritized", seed003),
    dataset("seed 001", "comparison", { capacity: 2 ** 14, batches: [256], adds: [1] }),
  ];
}

/** The names of a dataset's calls, in the order in which they are timed: what writes comes last. */
export function listCalls({ kind, batches, updates, adds, memory }: Dataset): string[] {
  if (memory) return [];
  const calls = batches.map((size) => `sample ${size}`);
  if (kind === "sequences") {
    calls.push(...batches.map((size) => `sample ${size} with next obs`));
    calls.push(...batches.map((size) => `add 1, sample ${size}`));
  }
  calls.push(...updates.map((size) => `update ${size}`));
  calls.push(...updates.map((size) => `turn ${size}`));
  calls.push(...adds.map((count) => `add ${count}`));
  return calls;
}

/** About how many bytes a filled buffer takes in any of the systems, with what it takes to fill it. */
export function estimateBytes({ kind, capacity }: Dataset): number {
  const perRecord = kind === "images"
    ? 9 * FRAME_SIDE * FRAME_SIDE
    : kind === "comparison"
    ? 2000
    : 350;
  return 300e6 + capacity * perRecord;
}
