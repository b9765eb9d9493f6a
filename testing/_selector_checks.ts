/**
 * The checks that every selector must pass.
 *
 * @module
 */

import { NativeSelector, type SelectorRule } from "../selectors/mod.ts";
import type { Progress } from "./conformance.ts";
import { type Drive, Driven, sizeFor } from "./_driven.ts";
import { expect, expectCode, expectSame, expectSameBatch, SOME_ONLY_HINT } from "./_expect.ts";
import {
  type KernelChoice,
  recordEpisode,
  type SmallBatch,
  type SmallReplay,
  smallReplay,
  type SmallSelector,
} from "./_small_replay.ts";

/** The selector under test, and the options that its checks need. */
export interface Subject extends Drive {
  readonly someOnly: boolean;
  readonly kernel: KernelChoice;
}

/** The name of a selector value. */
export function nameOf(rule: SelectorRule<SmallBatch>): string {
  return rule instanceof NativeSelector ? rule.kind : rule.name;
}

/** A replay with one ended episode of `count` picks, whose states are 0, 1, …, `count` - 1. */
export async function filled(
  { kernel, rule }: Subject,
  at: Progress,
  count: number,
  seed = at.seed,
): Promise<[replay: SmallReplay, selector: SmallSelector, episode: number]> {
  const replay = await smallReplay({ kernel, capacity: 4096, seed });
  const selector = replay.newPickSelector(rule());
  return [replay, selector, recordEpisode(replay, count)];
}

/** Sets the priorities of positions 0, 1, … of an episode. */
export function prioritize(
  replay: SmallReplay,
  selector: SmallSelector,
  episode: number,
  values: readonly number[],
): number {
  return replay.setPriority(selector, values.map(() => episode), [...values.keys()], values);
}

/** The states in `rounds` batches of up to ten picks. */
function drawnStates(
  subject: Subject,
  at: Progress,
  [replay, selector]: readonly [SmallReplay, SmallSelector, ...unknown[]],
  rounds: number,
): Set<number> {
  const seen = new Set<number>();
  for (const _ of at.rounds(rounds)) {
    for (const state of replay.getBatch(sizeFor(subject, replay, 10), selector).state) {
      seen.add(state);
    }
  }
  return seen;
}

/** Expects the states `from` … `to` - 1 and no others. A selector with `someOnly` may leave some out. */
function expectSeen(
  { someOnly }: Subject,
  seen: ReadonlySet<number>,
  from: number,
  to: number,
): void {
  for (const state of seen) {
    expect(state >= from && state < to, () => `the pick of state ${state} was drawn`);
  }
  for (let state = from; state < to && !someOnly; state++) {
    expect(seen.has(state), () => `the pick of state ${state} was never drawn${SOME_ONLY_HINT}`);
  }
}

/** Only stored picks are drawn. */
export async function drawsStored(subject: Subject, at: Progress): Promise<void> {
  for (const _ of at.seeds(8)) {
    const driven = await Driven.start(subject, at);
    using _replay = driven.replay;
    driven.run(800);
  }
}

/** Every stored pick can be drawn, and no evicted one. */
export async function drawsAll(subject: Subject, at: Progress): Promise<void> {
  const made = await filled(subject, at, 12);
  using replay = made[0];
  recordEpisode(replay, 9, 12);
  expectSeen(subject, drawnStates(subject, at, made, 400), 0, 21);
  replay.evict(made[2]);
  expectSeen({ ...subject, someOnly: true }, drawnStates(subject, at, made, 50), 12, 21);
}

/** A draw from an empty pick view is an error, and a refilled view works again. */
export async function survivesEmptying(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, episode] = await filled(subject, at, 5);
  using _replay = replay;
  replay.getBatch(3, selector);
  replay.evict(episode);
  expectCode("a batch of nothing", () => replay.getBatch(3, selector), "empty");
  recordEpisode(replay, 2, 50);
  expectSeen(subject, drawnStates(subject, at, [replay, selector], 20), 50, 52);
}

/** Picks older than the selector are drawn too. */
export async function drawsEarlier(subject: Subject, at: Progress): Promise<void> {
  using replay = await subject.replay(at.seed);
  recordEpisode(replay, 6);
  const selector = replay.newPickSelector(subject.rule());
  expectSeen(subject, drawnStates(subject, at, [replay, selector], 100), 0, 6);
}

/** `setPriority` counts the picks it applied to, and skips evicted picks. */
export async function countsApplied(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, first] = await filled(subject, at, 3);
  using _replay = replay;
  const second = recordEpisode(replay, 3, 10);
  const expectApplied = (count: number, episodes: number[], positions: number[]): void => {
    const applied = replay.setPriority(selector, episodes, positions, episodes.map(() => 1));
    expectSame("what setPriority() applied", applied, count);
  };
  expectApplied(0, [], []);
  expectApplied(2, [first, second], [0, 2]);
  replay.evict(first);
  expectApplied(1, [first, second], [0, 2]);
  expectApplied(0, [first], [0]);
  expectApplied(1, [second, second], [3, 2]);
  const unknown = (): number => replay.setPriority(selector, [second + 1], [0], [1]);
  expectCode("a priority for an episode that never was", unknown, "episode-unknown");
}

/** An invalid priority changes nothing. */
export async function refusesInvalid(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, episode] = await filled(subject, at, 8);
  using _replay = replay;
  const [twin, twinSelector] = await filled(subject, at, 8);
  using _twin = twin;
  for (const bad of [NaN, -1, Infinity]) {
    const values = [5, 5, 5, 5, 5, 5, 5, bad];
    const set = (): number => prioritize(replay, selector, episode, values);
    const error = expectCode(`priority ${bad}`, set, "invalid-priority");
    expectSame(`the place of priority ${bad}`, error.detail[0], 7);
  }
  const size = sizeFor(subject, replay, 16);
  for (const _ of at.rounds(20)) {
    const [one, other] = [replay.getBatch(size, selector), twin.getBatch(size, twinSelector)];
    expectSameBatch("a batch after refused priorities", one, other);
  }
}

/** The states of many draws with one seed. */
export async function drawsOfSeed(
  subject: Subject,
  at: Progress,
  seed: number,
): Promise<number[]> {
  const [replay, selector] = await filled(subject, at, 50, seed);
  using _replay = replay;
  const drawn: number[] = [];
  for (const _ of at.rounds(40)) {
    drawn.push(...replay.getBatch(sizeFor(subject, replay, 64), selector).state);
  }
  return drawn;
}

/** Another seed gives other draws. */
export async function variesWithSeed(subject: Subject, at: Progress): Promise<void> {
  const { seed } = at;
  const drawn = await drawsOfSeed(subject, at, seed);
  const other = await drawsOfSeed(subject, at, seed + 1);
  expect(
    drawn.join() !== other.join(),
    () =>
      `seed ${seed + 1} gives the same ${drawn.length} draws; ` +
      "a rule that needs no random numbers promises `deterministic`",
  );
}
