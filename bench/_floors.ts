/**
 * Compares figures with their floors. It measures each group of figures, and measures a group again if one breaks its floor. The report
 * ends with the names of those that break it twice.
 *
 * @module
 */

import { cpus } from "node:os";

/** Whether the processor is Intel's. Some floors there are other than elsewhere. */
export const IS_INTEL: boolean = cpus()[0]?.model.includes("Intel") ?? false;

/** A floor: a figure, and the most that it may be. */
export interface Floor {
  readonly what: string;
  readonly limit: number;
  readonly unit: string;
}

/** A figure. */
export interface Measured {
  readonly value: number;
  /** A note on the measurement. */
  readonly note?: string;
}

/** Figures that are measured together. */
export interface Measurement {
  readonly floors: readonly Floor[];
  /** Gives one figure for each of the floors, in their order. */
  readonly measure: () => Promise<readonly Measured[]>;
  /** Whether every measurement gives the same figures, so that a second one says nothing new. */
  readonly isExact?: boolean;
}

/** A floor and its measured figure. */
export interface Held extends Floor, Measured {
  readonly kept: boolean;
}

/** Measures the floors that `wanted` names. If one breaks, it repeats the whole measurement, and the second figure counts. */
export async function holdToFloors(
  measurements: readonly Measurement[],
  wanted: (what: string) => boolean = () => true,
  log: (line: string) => void = console.error,
): Promise<Held[]> {
  const all: Held[] = [];
  for (const { floors, measure, isExact = false } of measurements) {
    if (!floors.some(({ what }) => wanted(what))) continue;
    const hold = async (): Promise<Held[]> => {
      const figures = await measure();
      return floors.flatMap((floor, k) => {
        const figure = figures[k];
        if (figure === undefined) throw new Error(`nothing was measured for "${floor.what}"`);
        // NaN is not kept.
        return wanted(floor.what)
          ? [{ ...floor, ...figure, kept: figure.value <= floor.limit }]
          : [];
      });
    };
    let held = await hold();
    const broken = held.filter(({ kept }) => !kept);
    if (broken.length > 0 && !isExact) {
      log(`broken, and measured again: ${broken.map(({ what }) => what).join("; ")}`);
      const again = await hold();
      held = held.map((first, k) => {
        const second = again[k];
        if (first.kept || second === undefined) return first;
        const before = `${first.value.toFixed(3)} the first time`;
        return {
          ...second,
          note: second.note === undefined ? before : `${second.note}, ${before}`,
        };
      });
    }
    all.push(...held);
  }
  return all;
}

/** Writes a line for each floor, and then the broken ones. */
export function floorReport(held: readonly Held[]): string[] {
  const width = Math.max(...held.map(({ what }) => what.length));
  const lines = held.map(({ what, value, limit, unit, note, kept }) =>
    `${kept ? "kept  " : "BROKEN"}  ${what.padEnd(width)}  ${
      value.toFixed(3).padStart(9)
    } ${unit}  (at most ${limit})${note === undefined ? "" : `  ${note}`}`
  );
  const broken = held.filter(({ kept }) => !kept);
  if (broken.length === 0) return [...lines, `all of ${held.length} floors are kept`];
  return [
    ...lines,
    `${broken.length} of ${held.length} floors are broken:`,
    ...broken.map(({ what, value, limit, unit }) =>
      `  ${what}: ${value.toFixed(3)} ${unit}, at most ${limit}`
    ),
    "Other work on the machine breaks floors too. Run this again on a quiet machine before you look for a cause.",
  ];
}
