/**
 * The rules that you write in TypeScript and one replay runs: its selectors, and its eviction policy.
 *
 * @module
 */

import type { ReplayCore } from "../core.ts";
import { CustomSelectors } from "./custom_selectors.ts";
import { ExternalEviction } from "./external_eviction.ts";
import { serving } from "./serving.ts";

/** Serves your own rules of one replay. */
export class UserRules {
  /** Serves the selectors. */
  readonly selectors: CustomSelectors;
  /** Serves the eviction policy; undefined where the kernel evicts by a policy of the library. */
  readonly eviction: ExternalEviction | undefined;

  /**
   * Serves those of the replay of `core`: no selector yet, and the policy of its options.
   *
   * @throws {TypeError} When the policy serves another replay.
   */
  constructor(core: ReplayCore) {
    const { kernel, config: { eviction } } = core;
    this.selectors = new CustomSelectors(kernel);
    if ("native" in eviction) return;
    if (serving.has(eviction)) {
      throw new TypeError(
        `ExperienceReplay.create(): eviction: the object ${eviction.name} serves another replay already; make another`,
      );
    }
    serving.add(eviction);
    this.eviction = new ExternalEviction(core, eviction);
  }
}
