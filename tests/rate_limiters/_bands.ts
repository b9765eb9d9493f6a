/** Bands of rate limiters, with what Reverb's server made of them while one client inserted and another one sampled. */

/** A band: samples for an insert, the least size, the least difference, the largest one. */
export type Band = readonly [ratio: number, minSize: number, least: number, largest: number];

/** Inserts and samples after which all stood still; undefined where they went on. */
export interface TriedBand {
  readonly band: Band;
  readonly maxTimesSampled?: number;
  readonly still?: readonly [inserts: number, samples: number];
}

/** Tried on dm-reverb 0.14.0, by its class RateLimiter; `tests/reverb/bands_test.ts` tries them again. */
export const triedBands: readonly TriedBand[] = [
  { band: [1, 1, 0, 1] },
  { band: [1, 1, 0, 1.9] },
  { band: [1, 1, 0, 0.5], still: [1, 1] },
  { band: [1, 1, 0, 0], still: [1, 1] },
  { band: [1, 1, 0.5, 1.9], still: [1, 0] },
  { band: [1, 1, 0.5, 2.4] },
  // Above ratio x minSize, which Reverb's SampleToInsertRatio takes for a deadlock.
  { band: [2, 4, 9, 14] },
  { band: [2, 4, 9, 11] },
  { band: [2, 4, 9, 10.5], still: [5, 1] },
  { band: [8, 10, 81, 200] },
  { band: [8, 10, 0, 15] },
  { band: [3, 1, 0, 2], still: [1, 3] },
  { band: [1, 1, 5, 5], still: [5, 0] },
  { band: [0.75, 1, 0, 1.5] },
  { band: [0.75, 1, 0, 1.4], still: [1, 0] },
  { band: [1.5, 2, -1, 1] },
  { band: [1.5, 2, -1, 0.9], still: [3, 5] },
  { band: [0.1, 1, 0, 1] },
  { band: [0.1, 1, 0, 1.1] },
  { band: [0.3, 1, 0, 1], still: [3, 0] },
  { band: [0.3, 1, 0, 1.2], still: [13, 3] },
  { band: [0.3, 1, 0, 1.25] },
  // The digits of a number in memory decide here: 49 x (1 / 49) is below 1.
  { band: [1 / 49, 1, 0, 1], still: [49, 0] },
  { band: [0.7, 1, 0, 1.65], still: [90, 62] },
  // Open to one side.
  { band: [1, 5, -1e308, 7] },
  { band: [1, 5, -3, Number.MAX_VALUE] },
  // An item that goes makes room below minSize, which lets the next one in.
  { band: [1, 1, 0, 0], maxTimesSampled: 1 },
  { band: [2, 1, 0, 0], maxTimesSampled: 1 },
  { band: [2, 3, 0, 0], maxTimesSampled: 1 },
  { band: [2, 1, 0, 0], maxTimesSampled: 2 },
  { band: [3, 1, 0, 1], maxTimesSampled: 2 },
  { band: [1, 1, 5, 5], maxTimesSampled: 1, still: [5, 0] },
  { band: [0.5, 1, 0, 0], maxTimesSampled: 1, still: [1, 0] },
];
