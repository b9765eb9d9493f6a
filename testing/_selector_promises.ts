/**
 * Checks of promises that only some selectors make.
 *
 * Checks that count draws allow six standard deviations of each count.
 *
 * @module
 */

import { RandomStream } from "../selectors/mod.ts";
import type { Progress } from "./conformance.ts";
import { sizeFor } from "./_driven.ts";
import { expect, expectSameNumbers, SOME_ONLY_HINT } from "./_expect.ts";
import { drawsOfSeed, filled, prioritize, type Subject } from "./_selector_checks.ts";
import { recordEpisode, type SmallReplay, type SmallSelector } from "./_small_replay.ts";

const DRAWS = 50_000;
const DEVIATIONS = 6;

/** Probabilities in a batch are float32. */
const ROUNDING = 1e-6;

/** Draws depend on no random number. */
export async function isDeterministic(subject: Subject, at: Progress): Promise<void> {
  const { seed } = at;
  const drawn = await drawsOfSeed(subject, at, seed);
  const other = await drawsOfSeed(subject, at, seed + 1);
  expectSameNumbers(`the states drawn with seed ${seed + 1}`, other, drawn);
}

/** Draws `draws` picks, and counts how often each state comes up. */
function tally(
  subject: Subject,
  replay: SmallReplay,
  selector: SmallSelector,
  draws: number,
): Map<number, number> {
  const drawn = new Map<number, number>();
  const size = sizeFor(subject, replay, 100);
  for (let left = draws; left > 0; left -= size) {
    for (const state of replay.getBatch(Math.min(size, left), selector).state) {
      drawn.set(state, (drawn.get(state) ?? 0) + 1);
    }
  }
  return drawn;
}

/** The probability of each state in many draws. Fails where a state has two different probabilities. */
function probabilities(
  subject: Subject,
  at: Progress,
  replay: SmallReplay,
  selector: SmallSelector,
): Map<number, number> {
  const found = new Map<number, number>();
  for (const _ of at.rounds(200)) {
    const batch = replay.getBatch(sizeFor(subject, replay, 50), selector);
    for (const [k, state] of batch.state.entries()) {
      const probability = batch.probability[k] ?? NaN;
      const before = found.get(state) ?? probability;
      expect(
        Math.abs(probability - before) <= ROUNDING * before,
        () => `the pick of state ${state} is drawn with probability ${before}, then ${probability}`,
      );
      found.set(state, probability);
    }
  }
  return found;
}

/** The probabilities of all picks sum to 1, and draws follow them. */
export async function followsProbabilities(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, episode] = await filled(subject, at, 10);
  using _replay = replay;
  prioritize(replay, selector, episode, [0.1, 3, 1, 2, 0.5, 4, 1, 1, 2, 0.2]);
  const found = probabilities(subject, at, replay, selector);
  at.operation = undefined;
  expect(
    found.size === 10 || subject.someOnly,
    () => `only ${found.size} of 10 picks came up${SOME_ONLY_HINT}`,
  );
  const sum = [...found.values()].reduce((total, probability) => total + probability, 0);
  expect(Math.abs(sum - 1) <= 1e-5, () => `the probabilities sum to ${sum}`);
  const drawn = tally(subject, replay, selector, DRAWS);
  for (const [state, probability] of found) {
    const share = (drawn.get(state) ?? 0) / DRAWS;
    const deviation = Math.sqrt(probability * (1 - probability) / DRAWS);
    expect(
      Math.abs(share - probability) <= DEVIATIONS * deviation,
      () =>
        `the pick of state ${state} has probability ${probability}, and is ${share} of ${DRAWS} draws`,
    );
  }
}

/** Picks keep the order of their probabilities when others are evicted and remaining picks move in the view. */
export async function keepsOrder(subject: Subject, at: Progress): Promise<void> {
  for (const _ of at.seeds(4)) {
    const [replay, selector] = await filled(subject, at, 6);
    using _replay = replay;
    const random = new RandomStream(at.seed, 2);
    for (let first = 6; first < 24; first += 6) recordEpisode(replay, 6, first);
    for (const episode of replay.episodes()) {
      const values = Array.from({ length: 6 }, () => 0.05 * 100 ** random.uniform());
      prioritize(replay, selector, episode, values);
    }
    const before = probabilities(subject, at, replay, selector);
    replay.evict(random.below(3));
    const after = [...probabilities(subject, at, replay, selector)];
    at.operation = undefined;
    for (const [one, chance] of after) {
      for (const [other, otherChance] of after) {
        const [was, otherWas] = [before.get(one) ?? 0, before.get(other) ?? 0];
        if (!(otherWas > 0 && was > otherWas * (1 + ROUNDING))) continue;
        expect(
          chance >= otherChance * (1 - ROUNDING),
          () =>
            `the picks of states ${one} and ${other} had probabilities ${was} and ${otherWas}; ` +
            `after another episode was evicted they have ${chance} and ${otherChance}`,
        );
      }
    }
  }
}

/** A pick of priority 0 is never drawn, unless all priorities are 0. */
export async function leavesOutZero(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, episode] = await filled(subject, at, 7);
  using _replay = replay;
  prioritize(replay, selector, episode, [0, 1, 0, 0, 2, 0, 0]);
  const drawn = tally(subject, replay, selector, 5000);
  for (let state = 0; state < 7; state++) {
    const count = drawn.get(state) ?? 0;
    const positive = state === 1 || state === 4;
    expect(
      positive === (count > 0),
      () => `${count} of 5000 draws are of a pick of priority ${positive ? "1 or 2" : "0"}`,
    );
  }
  prioritize(replay, selector, episode, [0, 0, 0, 0, 0, 0, 0]);
  const equal = tally(subject, replay, selector, 2000);
  for (let state = 0; state < 7; state++) {
    const count = equal.get(state) ?? 0;
    expect(count > 150, () => `all priorities are 0, and ${count} of 2000 draws are of one of 7`);
  }
}

/** A pick of larger priority is drawn more, and the last of two priorities for a pick counts. */
export async function followsPriority(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, episode] = await filled(subject, at, 6);
  using _replay = replay;
  prioritize(replay, selector, episode, [1, 1, 1, 1, 1, 1]);
  replay.setPriority(selector, [episode, episode], [2, 2], [1, 50]);
  replay.setPriority(selector, [episode, episode], [4, 4], [50, 0.01]);
  const drawn = tally(subject, replay, selector, 6000);
  const [large, small] = [drawn.get(2) ?? 0, drawn.get(4) ?? 0];
  for (const state of [0, 1, 3, 5]) {
    const count = drawn.get(state) ?? 0;
    expect(
      small < count && count < large,
      () =>
        `priorities 0.01, 1 and 50 were drawn ${small}, ${count} and ${large} times in 6000 draws`,
    );
  }
}

/** A new pick has the largest priority set so far. */
export async function beginsWithLargest(subject: Subject, at: Progress): Promise<void> {
  const [replay, selector, episode] = await filled(subject, at, 2);
  using _replay = replay;
  prioritize(replay, selector, episode, [20, 0.01]);
  recordEpisode(replay, 1, 500);
  const drawn = tally(subject, replay, selector, 3000);
  const large = drawn.get(0) ?? 0;
  const small = drawn.get(1) ?? 0;
  const fresh = drawn.get(500) ?? 0;
  expect(
    Math.abs(large - fresh) < 0.25 * large && small < 0.5 * large,
    () =>
      `of 3000 draws, ${large} are of the pick of priority 20, ${small} of the one of 0.01, ` +
      `and ${fresh} of the new one`,
  );
}
