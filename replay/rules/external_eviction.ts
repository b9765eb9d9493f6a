/**
 * Serves an eviction policy written in TypeScript: tells it of episodes, and asks it for a victim between two calls.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { checkStatus, type Kernel, kernelError } from "../../ffi/library.ts";
import {
  EXRP_EPISODE_EVICTED,
  EXRP_EPISODE_INFO_COUNT,
  EXRP_EPISODE_OPEN,
  EXRP_EPISODE_STATE,
  EXRP_STATUS_FULL,
} from "../../ffi/symbols.ts";
import type { EvictionPolicy } from "../../eviction/eviction_policy.ts";
import { checkSaved } from "./_saved_bytes.ts";

const OPERATION = "record()";

/** One user's policy with the replay it serves. */
export class ExternalEviction {
  /** The user's object. */
  readonly policy: EvictionPolicy;
  readonly #kernel: Kernel;
  readonly #info = new Float64Array(EXRP_EPISODE_INFO_COUNT);
  readonly #trimmed = new Float64Array(2);
  /** The episodes that are open as far as the policy knows, and the first position of each, as it knows it. */
  readonly #open = new Map<number, number>();
  /** The ended episodes. */
  readonly #ended = new Set<number>();
  /** What `#open` has as arrays for the kernel; undefined after a change. */
  #seen: OpenEpisodes | undefined;
  #nextHandle = 0;

  /** Serves `policy`. */
  constructor(kernel: Kernel, policy: EvictionPolicy) {
    this.#kernel = kernel;
    this.policy = policy;
  }

  /** Tells the policy what a call has changed, which gave out handles up to `handle`. They count up. */
  recorded(id: number, handle: number): void {
    while (this.#nextHandle <= handle) this.#created(this.#nextHandle++);
    this.look(id);
  }

  /** The same after a call that recorded into several episodes. */
  recordedMany(id: number, handles: Float64Array): void {
    // The array's iterator may be the user's code, so this loop counts.
    let last = -1;
    const count = lengthOf(handles);
    for (let k = 0; k < count; k++) last = Math.max(last, handles[k] as number);
    this.recorded(id, last);
  }

  /** Tells the policy of open episodes that have ended, were trimmed or are gone since the last look. */
  look(id: number): void {
    if (this.#open.size === 0) return;
    this.#seen ??= new OpenEpisodes(this.#open.keys());
    const { handles, counts, firsts, states } = this.#seen;
    const { symbols } = this.#kernel;
    const count = lengthOf(handles);
    const status = symbols.exrp_episode_counts(id, handles, count, counts, firsts, states);
    checkStatus(this.#kernel, OPERATION, status);
    for (let k = 0; k < count; k++) {
      const handle = handles[k] as number;
      const state = states[k] as number;
      const first = firsts[k] as number;
      if (state === EXRP_EPISODE_EVICTED) {
        this.removed(handle);
        continue;
      }
      if (first > (this.#open.get(handle) ?? 0)) {
        this.#open.set(handle, first);
        this.policy.trimmed?.(handle, first);
      }
      if (state !== EXRP_EPISODE_OPEN) this.#end(handle);
    }
  }

  #created(handle: number): void {
    this.#open.set(handle, 0);
    this.#seen = undefined;
    this.policy.created(handle);
  }

  #end(handle: number): void {
    this.#ended.add(handle);
    this.#open.delete(handle);
    this.#seen = undefined;
    this.policy.ended?.(handle);
  }

  /** Tells the policy that an episode is gone. */
  removed(handle: number): void {
    if (this.#open.delete(handle)) this.#seen = undefined;
    this.#ended.delete(handle);
    this.policy.removed(handle);
  }

  /** Tells the policy whose picks were drawn. */
  sampled(handles: Float64Array<ArrayBuffer>): void {
    this.policy.sampled?.(handles);
  }

  /**
   * Makes some room after the kernel has said that an ended episode must go. One that is too old goes first; else the policy
   * chooses. If it names an open episode, the open episode with the oldest record loses some. If no open episode holds a record,
   * the ended one that began first goes.
   *
   * @throws {ReplayError} `rule` when the policy named no episode that is there. The
   * episodes that it named before are gone by then.
   */
  makeRoom(id: number): void {
    const { policy } = this;
    const [, , aged = -1] = kernelError(this.#kernel, OPERATION, EXRP_STATUS_FULL).detail;
    // The kernel may have trimmed some, and ended some, before it had to ask.
    this.look(id);
    const victim: unknown = aged >= 0 ? aged : policy.victim();
    const state = this.#stateOf(id, victim);
    if (typeof victim !== "number" || state === EXRP_EPISODE_EVICTED) {
      throw new ReplayError(
        "rule",
        `the replay is full, and the eviction policy ${policy.name} named episode ${
          show(victim)
        } as the victim, which is not in the replay`,
        { detail: [Number(victim)] },
      );
    }
    if (state === EXRP_EPISODE_OPEN && this.#trimOpen(id)) return this.look(id);
    let gone = victim;
    if (state === EXRP_EPISODE_OPEN) {
      gone = Infinity;
      for (const handle of this.#ended) gone = Math.min(gone, handle);
    }
    const { symbols } = this.#kernel;
    checkStatus(this.#kernel, OPERATION, symbols.exrp_episode_evict(id, gone));
    this.removed(gone);
  }

  /** Lets the open episode with the oldest record lose some. False where no open episode holds a record. */
  #trimOpen(id: number): boolean {
    const [handle, first] = [this.#trimmed, this.#trimmed.subarray(1)];
    checkStatus(this.#kernel, OPERATION, this.#kernel.symbols.exrp_open_trim(id, handle, first));
    return (handle[0] ?? -1) >= 0;
  }

  #stateOf(id: number, handle: unknown): number {
    const isHandle = typeof handle === "number" && Number.isInteger(handle) && handle >= 0 &&
      handle < this.#nextHandle;
    if (!isHandle) return EXRP_EPISODE_EVICTED;
    const info = this.#info;
    const status = this.#kernel.symbols.exrp_episode_info(id, handle, info, lengthOf(info));
    return status === 0 ? info[EXRP_EPISODE_STATE] ?? 0 : EXRP_EPISODE_EVICTED;
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

  /**
   * Loads what was saved. The policy hears that the episodes `before` are gone and that those `after`, which are in the replay
   * `id`, are there: that they were created, trimmed and ended.
   */
  load(
    before: Float64Array,
    after: Float64Array,
    id: number,
    nextHandle: number,
    bytes: Uint8Array,
  ): void {
    for (const handle of before) this.removed(handle);
    for (const handle of after) this.#created(handle);
    this.look(id);
    this.#nextHandle = nextHandle;
    this.policy.load?.(bytes);
  }

  /** The handle that the next new episode will have. */
  get nextHandle(): number {
    return this.#nextHandle;
  }
}

/** Open episodes, and room for what the kernel says of them. */
class OpenEpisodes {
  readonly handles: Float64Array<ArrayBuffer>;
  readonly counts: Uint32Array<ArrayBuffer>;
  readonly firsts: Uint32Array<ArrayBuffer>;
  readonly states: Uint32Array<ArrayBuffer>;

  constructor(handles: Iterable<number>) {
    this.handles = Float64Array.from(handles);
    const { length } = this.handles;
    [this.counts, this.firsts, this.states] = [
      new Uint32Array(length),
      new Uint32Array(length),
      new Uint32Array(length),
    ];
  }
}
