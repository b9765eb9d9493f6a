/**
 * Serves an eviction policy written in TypeScript: tells it of episodes, and asks it for a victim between two calls.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { EXRP_EPISODE_EVICTED, EXRP_EPISODE_OPEN, EXRP_STATUS_FULL } from "../../ffi/symbols.ts";
import type { EvictionPolicy } from "../../eviction/eviction_policy.ts";
import { EPISODE_END } from "../../schema/episode_filter.ts";
import type { ReplayCore } from "../core.ts";
import { savedBytes } from "./_saved_bytes.ts";

const OPERATION = "record()";

/** One user's policy with the replay it serves. */
export class ExternalEviction {
  /** The user's object. */
  readonly policy: EvictionPolicy;
  readonly #core: ReplayCore;
  /** The episodes that are open as far as the policy knows, and the first position of each, as it knows it. */
  readonly #open = new Map<number, number>();
  /** The handles of `#open`, and room for what the kernel says of them; undefined after a change. */
  #seen: ReturnType<typeof roomFor> | undefined;
  #nextHandle = 0;

  /** Serves `policy` at the replay of `core`. */
  constructor(core: ReplayCore, policy: EvictionPolicy) {
    this.#core = core;
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
    const { handles, counts, firsts, states } = this.#seen ??= roomFor(this.#open.keys());
    const { symbols } = this.#core.kernel;
    const count = lengthOf(handles);
    const status = symbols.exrp_episode_counts(id, handles, count, counts, firsts, states);
    this.#core.check(OPERATION, status);
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
      if (state === EXRP_EPISODE_OPEN) continue;
      this.#close(handle);
      this.policy.ended?.(handle);
    }
  }

  #created(handle: number): void {
    this.#open.set(handle, 0);
    this.#seen = undefined;
    this.policy.created(handle);
  }

  /** The policy takes an episode for an open one no more. */
  #close(handle: number): void {
    if (this.#open.delete(handle)) this.#seen = undefined;
  }

  /** Tells the policy that an episode is gone. */
  removed(handle: number): void {
    this.#close(handle);
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
    const core = this.#core;
    const { policy } = this;
    const [, , aged = -1] = core.error(OPERATION, EXRP_STATUS_FULL).detail;
    // The kernel may have trimmed some, and ended some, before it had to ask.
    this.look(id);
    const victim: unknown = aged >= 0 ? aged : policy.victim();
    const isHandle = typeof victim === "number" && Number.isInteger(victim) && victim >= 0 &&
      victim < this.#nextHandle;
    const [state] = isHandle
      ? core.episodeCounts(OPERATION, Float64Array.of(victim), id).states
      : [EXRP_EPISODE_EVICTED];
    if (!isHandle || state === EXRP_EPISODE_EVICTED) {
      throw new ReplayError(
        "rule",
        `the replay is full, and the eviction policy ${policy.name} named episode ${
          show(victim)
        } as the victim, which is not in the replay`,
        { detail: [Number(victim)] },
      );
    }
    if (state === EXRP_EPISODE_OPEN && this.#trimOpen(id)) return this.look(id);
    const gone = state === EXRP_EPISODE_OPEN ? this.#oldestEnded(id) : victim;
    core.check(OPERATION, core.kernel.symbols.exrp_episode_evict(id, gone));
    this.removed(gone);
  }

  /** Lets the open episode with the oldest record lose some. False where no open episode holds a record. */
  #trimOpen(id: number): boolean {
    const core = this.#core;
    const handle = new Float64Array(1);
    const { symbols } = core.kernel;
    core.check(OPERATION, symbols.exrp_open_trim(id, handle, new Float64Array(1)));
    return (handle[0] ?? -1) >= 0;
  }

  /** The ended episode that began first. */
  #oldestEnded(id: number): number {
    const { handle, end } = this.#core.episodes(OPERATION, undefined, id);
    return handle.find((_, k) => end[k] !== EPISODE_END.open) ?? Infinity;
  }

  /** The policy's own bytes. */
  save(): Uint8Array<ArrayBuffer> {
    return savedBytes(`the eviction policy ${this.policy.name}`, this.policy);
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

/** The handles of episodes, and room for what the kernel says of them. */
function roomFor(
  episodes: Iterable<number>,
): Record<"counts" | "firsts" | "states", Uint32Array<ArrayBuffer>> & {
  readonly handles: Float64Array<ArrayBuffer>;
} {
  const handles = Float64Array.from(episodes);
  const numbers = (): Uint32Array<ArrayBuffer> => new Uint32Array(handles.length);
  return { handles, counts: numbers(), firsts: numbers(), states: numbers() };
}
