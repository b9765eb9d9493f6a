/**
 * An eviction policy that runs in the kernel, as a value.
 *
 * @module
 */

/**
 * A rule of forgetting that runs in the kernel: what {@linkcode fifo}, {@linkcode secondChance}, {@linkcode lru},
 * {@linkcode lfu}, {@linkcode lowestPriorityFirst}, {@linkcode afterDraws} and {@linkcode reservoir} make. It holds
 * options only, so one value may serve many replays.
 *
 * @example
 * ```ts
 * import { afterDraws, lru } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
 *
 * assertStrictEquals(lru().name, "lru");
 * assertStrictEquals(afterDraws(4).options.draws, 4);
 * ```
 */
export class NativeEviction {
  /** The rule's name. */
  readonly name: string;
  /** The rule's number in the kernel: an `EXRP_EVICTION_` constant of `kernel/exrp.h`. */
  readonly native: number;
  /** The options by name, all filled in; empty where the rule has none. */
  readonly options: Readonly<Record<string, number>>;
  /** The option as the kernel takes it; 0 where the rule has none. */
  readonly number: number;

  /** Makes a value; the functions named after the rules do. */
  constructor(
    name: string,
    native: number,
    options: Readonly<Record<string, number>> = {},
    number = 0,
  ) {
    this.name = name;
    this.native = native;
    this.options = Object.freeze({ ...options });
    this.number = number;
    Object.freeze(this);
  }
}
