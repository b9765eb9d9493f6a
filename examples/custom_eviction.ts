/**
 * Your own eviction policy, in plain TypeScript: it forgets the ended episode with the lowest return first.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/custom_eviction.ts`
 *
 * @module
 */

import { ExperienceReplay, float32 } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";

/**
 * Keeps the episodes with the highest return. It looks at every episode for each victim. That is fast enough for some thousands of
 * episodes. For more, use a heap.
 */
export class KeepBest implements EvictionPolicy {
  readonly name = "keepBest";
  /** The return of each ended episode by its handle, in the order in which they ended; undefined while it is not known. */
  readonly #returns = new Map<number, number | undefined>();

  /** Takes the return of an episode that has ended. */
  setReturn(handle: number, episodeReturn: number): void {
    if (this.#returns.has(handle)) this.#returns.set(handle, episodeReturn);
  }

  /** Only ended episodes can go, so one that begins is not looked at. */
  created(): void {}

  ended(handle: number): void {
    this.#returns.set(handle, undefined);
  }

  removed(handle: number): void {
    this.#returns.delete(handle);
  }

  /** The episode with the lowest return that is known. If none is known, the one that ended first. */
  victim(): number {
    let victim = -1;
    let worst = Infinity;
    for (const [handle, episodeReturn] of this.#returns) {
      if (victim < 0) victim = handle;
      if (episodeReturn !== undefined && episodeReturn < worst) {
        victim = handle;
        worst = episodeReturn;
      }
    }
    return victim;
  }

  save(): Uint8Array {
    return new TextEncoder().encode(JSON.stringify([...this.#returns]));
  }

  load(bytes: Uint8Array): void {
    this.#returns.clear();
    const saved: [number, number | null][] = JSON.parse(new TextDecoder().decode(bytes));
    for (const [handle, episodeReturn] of saved) {
      this.#returns.set(handle, episodeReturn ?? undefined);
    }
  }
}

if (import.meta.main) {
  const policy = new KeepBest();
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(1),
    eviction: policy,
    seed: 5,
  });
  // A hundred episodes of ten records, in a replay with room for ten episodes. Episode k has a return of k modulo 50.
  for (let k = 0; k < 100; k++) {
    let episode = replay.newEpisode();
    for (let step = 0; step < 9; step++) episode = replay.record(episode, [step], 0, 0);
    episode = replay.record(episode, [9], 0, k % 50, { finalState: [10] });
    policy.setReturn(episode, k % 50);
  }
  const kept = [...replay.episodes().handle].map((handle) => handle % 50).sort((a, b) => a - b);
  console.log(`returns of the episodes kept: ${kept.join(", ")}`);
}
