/**
 * What `bench:peers` measures: datasets, and the calls that are timed on each. A dataset is a filled buffer.
 *
 * @module
 */

/** How many records an episode has. */
export const EPISODE_LENGTH = 256;

/** How many numbers a state has. */
export const STATE_SIZE = 15;

/** How many numbers an action has. */
export const ACTION_SIZE = 3;

/** How many bytes the side of a frame has. */
export const FRAME_SIDE = 84;

/** Kinds of filled buffers. A worker has a method for each kind. */
export type DatasetKind =
  | "uniform"
  | "prioritized"
  | "sequences"
  | "prioritizedSequences"
  | "images"
  | "comparison";

/** A filled buffer. The workers get it as JSON. */
export interface Dataset {
  /** The group of its figures in the report. */
  readonly group: string;
  readonly kind: DatasetKind;
  /** How many records it holds. All of them are filled. */
  readonly capacity: number;
  /** How many picks the batches have. */
  readonly batches: readonly number[];
  /** How many priorities one call sets. A learner's turn draws as many picks. */
  readonly updates: readonly number[];
  /** How many records one call adds. */
  readonly adds: readonly number[];
  /** How many records a pick has. */
  readonly length: number;
  /** The power of the priorities. */
  readonly alpha: number;
  /** The type of the records that the timed calls add. */
  readonly dtype: "float32" | "float64";
  /** Whether only its memory is measured, in a process of its own. */
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

/** All datasets. With `quick`, they are small, and show only that every peer works. */
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

/** The names of a dataset's calls, in the order of their timing. Calls that write come last. */
export function listCalls({ kind, batches, updates, adds, memory }: Dataset): string[] {
  if (memory) return [];
  const calls = batches.map((size) => `sample ${size}`);
  if (kind === "sequences") {
    calls.push(...batches.map((size) => `sample ${size} with next obs`));
    calls.push(...batches.map((size) => `add 1, sample ${size}`));
  }
  if (kind === "images") calls.push(...batches.map((size) => `sample ${size}, frames once`));
  calls.push(...updates.map((size) => `update ${size}`));
  calls.push(...updates.map((size) => `turn ${size}`));
  calls.push(...adds.map((count) => `add ${count}`));
  return calls;
}

/** About how many bytes a filled buffer takes in any of the systems, with what filling it takes. */
export function estimateBytes({ kind, capacity }: Dataset): number {
  const perRecord = kind === "images"
    ? 9 * FRAME_SIDE * FRAME_SIDE
    : kind === "comparison"
    ? 2000
    : 350;
  return 300e6 + capacity * perRecord;
}
