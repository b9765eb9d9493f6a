/**
 * The value of an eviction policy that runs in the kernel.
 *
 * @module
 */

import { ruleText, showAs } from "../base/inspect.ts";

/**
 * An eviction policy that runs in the kernel, made by {@linkcode fifo} and the other policies of `@exrp/replay`. It holds
 * options only, so one value may serve many replays.
 *
 * @example
 * ```ts
 * import { afterDraws, lru } from "@exrp/replay";
 *
 * console.log(lru().name); // lru
 * console.log(afterDraws(4).options.draws); // 4
 * ```
 */
export class NativeEviction {
  /** The policy's name. */
  readonly name: string;
  /** The policy's number in the kernel: an `EXRP_EVICTION_` constant of `kernel/exrp.h`. */
  readonly native: number;
  /** The options by name, defaults included; empty where the policy has none. */
  readonly options: Readonly<Record<string, number>>;
  /** The option as the kernel takes it; 0 where the policy has none. */
  readonly number: number;

  /** Makes a value. The functions named after the policies call this. */
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

showAs(NativeEviction, ({ name, options }) => ruleText(name, options));
