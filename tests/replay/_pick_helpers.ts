/**
 * What the tests of pick policies need: replays of which single picks can be drawn by name.
 *
 * @module
 */

import { assert, assertStrictEquals } from "../_assert.ts";
import {
  type Batch,
  type Column,
  ExperienceReplay,
  float32,
  highestPriority,
  type PickOptions,
  type PickView,
  type Selector,
  withoutReplacement,
} from "@exrp/replay";
import type { AnyPick } from "@exrp/replay/types";

/** What such a replay's states are in a batch: the number of axes hangs on the pick policy. */
type SteppedColumn = Column<"float32", readonly number[]>;

type SteppedSchema = { state: Column<"float32", []>; pick: AnyPick };
type SteppedReplay = ExperienceReplay<SteppedSchema>;

/** A replay whose batches come from one pick policy, of which single picks can be drawn by name. */
export interface Steps extends Disposable {
  readonly replay: SteppedReplay;
  readonly view: PickView;
  /** Records one episode of these rewards; state k of episode e (counted here from 1) is 10 e + k. */
  record(rewards: readonly number[], end: "terminated" | "truncated" | "open"): number;
  /** The batch that holds nothing but the pick at `position` of an episode. */
  draw(episode: number, position: number): Batch<SteppedSchema>;
}

let priority = 1;

/** Makes a pick the next one that a `highestPriority()` selector draws. */
export function choose(
  replay: ExperienceReplay,
  selector: Selector,
  episode: number,
  position: number,
): void {
  assertStrictEquals(replay.setPriority(selector, [episode], [position], [++priority]), 1);
}

/** Makes a replay of one-number states with this pick policy. */
export async function stepsReplay(
  pick: PickOptions,
  options: { segmentLength?: number } = {},
): Promise<Steps> {
  const replay = await ExperienceReplay.create({
    capacity: 100,
    segmentLength: 100,
    seed: 1,
    state: float32(),
    ...options,
    pick,
  }) as unknown as SteppedReplay;
  const [view] = replay.pickViews;
  assert(view);
  const selector = replay.newPickSelector(highestPriority());
  let named = 0;
  return {
    replay,
    view,
    record(rewards, end): number {
      const name = ++named;
      let episode = replay.newEpisode();
      for (const [step, reward] of rewards.entries()) {
        const last = step === rewards.length - 1 && end !== "open";
        const ends = { finalState: 10 * name + step + 1, truncated: end === "truncated" };
        episode = replay.record(episode, 10 * name + step, 0, reward, last ? ends : {});
      }
      return episode;
    },
    draw(episode, position): Batch<SteppedSchema> {
      choose(replay, selector, episode, position);
      const batch = replay.getBatch(1, selector);
      // Once more, over memory full of something else: whatever is zero was written.
      batch.bytes.fill(0xaa);
      return replay.getBatch(1, selector, { into: batch });
    },
    [Symbol.dispose]: () => replay[Symbol.dispose](),
  };
}

/** The positions of all picks of a view, in order; with several episodes, one episode after the other. */
export function positions(replay: ExperienceReplay, view: PickView): number[] {
  if (view.pickCount === 0) return [];
  const selector = view.newPickSelector(withoutReplacement());
  const { pickEpisode, pickPosition } = replay.getBatch(view.pickCount, selector) as Batch;
  const order = [...pickEpisode.keys()].sort((a, b) =>
    (pickEpisode[a] ?? 0) - (pickEpisode[b] ?? 0) || (pickPosition[a] ?? 0) - (pickPosition[b] ?? 0)
  );
  return order.map((k) => pickPosition[k] ?? -1);
}
