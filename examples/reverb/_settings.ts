/**
 * The numbers of the algorithm, from `settings.json`, which the programs in Python read too.
 *
 * @module
 */
import settings from "./settings.json" with { type: "json" };

/** The numbers. `docs/quickstart.md` gives the reasons for most of them. */
export const SETTINGS: typeof settings = settings;

/** A number of the settings that moves linearly with the updates. */
export function scheduled(
  name: "exploration" | "learningRate" | "beta",
  update: number,
): number {
  const { first, last, updates } = SETTINGS[name];
  return first + (last - first) * Math.min(1, update / updates);
}
