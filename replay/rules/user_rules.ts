/**
 * The rules that you write in TypeScript and one replay runs: its selectors, and its eviction policy.
 *
 * @module
 */

import type { ReplayCore } from "../core.ts";
import { CustomSelectors } from "./custom_selectors.ts";
import { ExternalEviction } from "./external_eviction.ts";

/** Serves the user's own rules of one replay. */
export class UserRules {
  /** Serves the selectors. */
  readonly selectors: CustomSelectors;
  /** Serves the eviction policy; undefined where the kernel evicts by a policy of the library. */
  readonly eviction: ExternalEviction | undefined;

  /** Serves those of the replay of `core`: no selector yet, and the policy of its options. */
  constructor({ kernel, config: { eviction } }: ReplayCore) {
    this.selectors = new CustomSelectors(kernel);
    this.eviction = "native" in eviction ? undefined : new ExternalEviction(kernel, eviction);
  }
}
