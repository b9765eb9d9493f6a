/**
 * Draws from the newest picks.
 *
 * @module
 */

import { checkInteger, checkNumber } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_SELECTOR_RECENT } from "../ffi/symbols.ts";
import { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode recent}: at least one of `newest`, `fraction` and `eta`. */
export interface RecentOptions {
  /** The window has at least this many picks, or all picks if there are fewer: a whole number from 1; 1 by default. */
  readonly newest?: number;
  /** The window's share of all picks: 0 to 1. By default it is 1, or 0 if you give only `newest`. */
  readonly fraction?: number;
  /** How fast the window shrinks from batch to batch: 0 to 1. By default it is 1, and the window does not shrink. */
  readonly eta?: number;
  /** After how many batches the window has its full size again: a whole number from 1; 1000 by default. */
  readonly updates?: number;
}

/**
 * Draws uniformly, with replacement, from a window of the newest picks. `recent({ newest: 1000 })` draws from the newest thousand, and
 * `recent({ fraction: 0.1 })` from the newest tenth.
 *
 * `recent({ eta: 0.996, updates: K, newest: 5000 })` shrinks the window, as in Wang and Ross, "Boosting Soft Actor-Critic: Emphasizing
 * Recent Experience without Forgetting the Past" (2019). We know this rule from descriptions. If there are N picks, batch k of K draws
 * from the newest c_k picks:
 *
 * c_k = max(fraction · N · eta^(1000·k/K), newest), rounded down
 *
 * k = 1, 2, …, K counts the batches of this selector, and then begins again. K is the number of updates in one phase of training.
 * {@linkcode recentCount} computes c_k.
 *
 * The age of a pick counts from when it came into the view. Picks from before the selector have the order of the view. Priorities are
 * ignored. `probability` is 1/c_k, and importance weights are 1.
 *
 * Cost: O(log N) for a draw; about 10 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option, one of the wrong kind, or none that says what is recent.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, recent } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(recent({ newest: 2 }));
 * let episode = replay.newEpisode();
 * for (const state of [10, 20, 30]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [40], 1, 1, { finalState: [50] });
 * const batch = replay.getBatch(16, selector);
 * console.log(batch.state.every((state) => state === 30 || state === 40)); // true
 * console.log(batch.probability[0]); // 0.5
 * ```
 */
export function recent(options: RecentOptions): NativeSelector {
  const window = { ...filled("recent()", options) };
  return new NativeSelector("recent", EXRP_SELECTOR_RECENT, window, Object.values(window));
}

/**
 * Returns c_k of {@linkcode recent}: the size of the window for batch `k`, if the view has `size` picks and the options are the same.
 *
 * @param k The number of the batch, from 1 to `updates`.
 * @throws {TypeError} For an unknown option, one of the wrong kind, or none that says what is recent.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { recentCount } from "@exrp/replay/selectors";
 *
 * const options = { eta: 0.996, updates: 500, newest: 5000 };
 * console.log(recentCount(1_000_000, 1, options)); // 992016: 0.996^(1000/500)
 * console.log(recentCount(1_000_000, 500, options)); // 18169: 0.996^1000
 * console.log(recentCount(200_000, 500, options)); // 5000
 * console.log(recentCount(3000, 500, options)); // 3000
 * ```
 */
export function recentCount(size: number, k: number, options: RecentOptions): number {
  const { newest, fraction, eta, updates } = filled("recentCount()", options);
  checkInteger("recentCount(): size", size, 0, Number.MAX_SAFE_INTEGER);
  checkInteger("recentCount(): k", k, 1, updates);
  const window = Math.floor(fraction * size * eta ** (1000 * k / updates));
  return Math.min(Math.max(window, newest), size);
}

/** All options, in the order in which the kernel takes them. */
function filled(where: string, options: RecentOptions): Required<RecentOptions> {
  checkOptions(where, options, ["newest", "fraction", "eta", "updates"]);
  if (
    options.newest === undefined && options.fraction === undefined && options.eta === undefined
  ) {
    throw new TypeError(`${where} needs newest, fraction or eta: how many picks are recent`);
  }
  const share = options.eta !== undefined || options.newest === undefined ? 1 : 0;
  return {
    newest: checkInteger(`${where}: newest`, options.newest ?? 1, 1, Number.MAX_SAFE_INTEGER),
    fraction: checkNumber(`${where}: fraction`, options.fraction ?? share, 0, 1),
    eta: checkNumber(`${where}: eta`, options.eta ?? 1, 0, 1),
    updates: checkInteger(`${where}: updates`, options.updates ?? 1000, 1, 2 ** 32 - 1),
  };
}
