/**
 * An eviction policy that runs in the kernel, as a value.
 *
 * @module
 */

/**
 * A rule of forgetting that runs in the kernel: what {@linkcode fifo}, {@linkcode secondChance}, {@linkcode lru} and
 * {@linkcode lfu} make. One value may serve many replays.
 *
 * @example
 * ```ts
 * import { lru } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
 *
 * assertStrictEquals(lru().name, "lru");
 * ```
 */
export class NativeEviction {
  /** The rule's name. */
  readonly name: string;
  /** The rule's number in the kernel: an `EXRP_EVICTION_` constant of `kernel/exrp.h`. */
  readonly native: number;

  /** Makes a value; the functions named after the rules do. */
  constructor(name: string, native: number) {
    this.name = name;
    this.native = native;
    Object.freeze(this);
  }
}
