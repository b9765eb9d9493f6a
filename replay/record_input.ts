/**
 * What all calls that record check alike.
 *
 * @module
 */

import { show } from "../ffi/checks.ts";

/** Refuses what is no handle. */
export function checkEpisode(operation: string, episode: unknown): asserts episode is number {
  if (typeof episode === "number") return;
  throw new TypeError(
    `${operation}: episode must be the number that newEpisode() or record() gave, got ${
      show(episode)
    }`,
  );
}
