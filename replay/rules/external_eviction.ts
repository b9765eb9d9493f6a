/**
 * Serves an eviction policy written in TypeScript: tells it of episodes, and asks it for a victim between two calls.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkStatus, type Kernel, kernelError } from "../../ffi/library.ts";
import {
  EXRP_EPISODE_EVICTED,
  EXRP_EPISODE_INFO_COUNT,
  EXRP_EPISODE_STATE,
  EXRP_STATUS_FULL,
} from "../../ffi/symbols.ts";
import type { EvictionPolicy } from "../../eviction/eviction_policy.ts";
import { checkSaved } from "./_saved_bytes.ts";

/** One user's policy with the replay it serves. */
export class ExternalEviction {
  /** The user's object. */
  readonly policy: EvictionPolicy;
  readonly #kernel: Kernel;
  readonly #info = new Float64Array(EXRP_EPISODE_INFO_COUNT);
  #nextHandle = 0;

  /** Serves `policy`. */
  constructor(kernel: Kernel, policy: EvictionPolicy) {
    this.#kernel = kernel;
    this.policy = policy;
  }

  /** Tells the policy of all episodes up to `handle` that it has not heard of. Handles count up. */
  seen(handle: number): void {
    while (this.#nextHandle <= handle) this.policy.created(this.#nextHandle++);
  }

  /** Tells the policy that an episode is gone. */
  removed(handle: number): void {
    this.policy.removed(handle);
  }

  /** Tells the policy whose picks were drawn. */
  sampled(handles: Float64Array<ArrayBuffer>): void {
    this.policy.sampled?.(handles);
  }

  /**
   * Evicts one episode after the kernel has said that one must go. An episode that is too old goes first; else the policy
   * chooses.
   *
   * @throws {ReplayError} `rule` when the policy named no episode that can be evicted. The
   * episodes that it named before are gone by then.
   */
  makeRoom(id: number): void {
    const { policy } = this;
    const [, , aged = -1] = kernelError(this.#kernel, "record()", EXRP_STATUS_FULL).detail;
    const victim: unknown = aged >= 0 ? aged : policy.victim();
    if (typeof victim !== "number" || !this.#isLive(id, victim)) {
      throw new ReplayError(
        "rule",
        `the replay is full, and the eviction policy ${policy.name} named episode ${
          show(victim)
        } as the victim, which is not in the replay`,
        { detail: [Number(victim)] },
      );
    }
    checkStatus(this.#kernel, "record()", this.#kernel.symbols.exrp_episode_evict(id, victim));
    policy.removed(victim);
  }

  #isLive(id: number, handle: number): boolean {
    if (!(Number.isInteger(handle) && handle >= 0 && handle < this.#nextHandle)) return false;
    const info = this.#info;
    const status = this.#kernel.symbols.exrp_episode_info(id, handle, info, info.length);
    return status === 0 && info[EXRP_EPISODE_STATE] !== EXRP_EPISODE_EVICTED;
  }

  /** The policy's own bytes. */
  save(): Uint8Array {
    const { policy } = this;
    if (policy.save === undefined) {
      throw new ReplayError(
        "not-savable",
        `the eviction policy ${policy.name} has no save() and load()`,
      );
    }
    const bytes = policy.save();
    checkSaved(`the eviction policy ${policy.name}`, bytes);
    return new Uint8Array(bytes);
  }

  /** Loads what was saved. The policy hears that the episodes `before` are gone and those `after` are there. */
  load(before: Float64Array, after: Float64Array, nextHandle: number, bytes: Uint8Array): void {
    for (const handle of before) this.policy.removed(handle);
    for (const handle of after) this.policy.created(handle);
    this.#nextHandle = nextHandle;
    this.policy.load?.(bytes);
  }

  /** The handle that the next new episode will have. */
  get nextHandle(): number {
    return this.#nextHandle;
  }
}
