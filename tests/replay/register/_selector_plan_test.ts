/** Adding a selector that is made of others: all of it, or nothing. */

import { combined, mixture, prioritized, uniform } from "@exrp/replay";
import type {
  ComposedSelector,
  Composition,
  PickSelector,
  SelectorRule,
} from "@exrp/replay/selectors";
import { assertEquals, assertThrows } from "../../_assert.ts";
import {
  assertReplayError,
  firstPick,
  recordEpisode,
  smallReplay,
  visibleState,
} from "../_helpers.ts";

function half(...rules: SelectorRule[]): ComposedSelector {
  return mixture(rules.map((rule) => ({ rule, share: 1 })));
}

Deno.test("a composed rule whose part serves a selector already adds nothing", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 5);
  const rule = firstPick();
  replay.newPickSelector(rule);
  const before = visibleState(replay);
  assertThrows(() => replay.newPickSelector(combined({ rest: rule })), TypeError, "serves");
  assertThrows(() => replay.newPickSelector(half(uniform(), half(rule))), TypeError, "serves");
  const twice = firstPick();
  assertThrows(() => replay.newPickSelector(half(twice, twice)), TypeError, "serves");
  assertEquals(visibleState(replay), before);
  assertEquals(twice.count, 0);
});

Deno.test("a composed rule with more parts than there is room for adds nothing", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 5);
  for (let k = 0; k < 63; k++) replay.newPickSelector(uniform());
  const before = visibleState(replay);
  assertReplayError(() => replay.newPickSelector(half(uniform(), uniform())), "limit");
  assertEquals(visibleState(replay), before);
  replay.newPickSelector(half(firstPick(), uniform()));
  assertReplayError(() => replay.newPickSelector(uniform()), "limit");
  replay.newPickSelector(firstPick());
});

Deno.test("a part that throws while it receives the picks leaves nothing, and the others do not receive them again", async () => {
  using replay = await smallReplay();
  const episode = recordEpisode(replay, 5);
  const fine = firstPick();
  const bad: PickSelector = {
    ...firstPick(),
    pushed(): void {
      throw new EvalError("mine");
    },
  };
  const before = visibleState(replay);
  assertReplayError(() => replay.newPickSelector(half(prioritized(), fine, bad)), "rule");
  assertEquals(visibleState(replay), before);
  // The journal that was opened for it holds nothing for the next.
  recordEpisode(replay, 3);
  replay.evict(episode);
  const next = firstPick();
  const selector = replay.newPickSelector(next);
  assertEquals([fine.count, next.count, replay.pickCount], [5, 3, 3]);
  recordEpisode(replay, 2);
  replay.getBatch(1, selector);
  assertEquals([fine.count, next.count], [5, 5]);
});

Deno.test("what begin() gives is checked before anything is added", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 5);
  const before = visibleState(replay);
  const with_ = (begin: unknown): ComposedSelector => ({
    name: "mine",
    parts: [uniform()],
    begin: begin as () => Composition,
  });
  const compose = (): void => {};
  for (const value of [undefined, 3, {}, { compose }, { compose, save: compose, load: 1 }]) {
    assertThrows(() => replay.newPickSelector(with_(() => value)), TypeError, "mine");
    assertThrows(
      () => replay.newPickSelector(half(uniform(), with_(() => value))),
      TypeError,
      "mine",
    );
  }
  assertThrows(() => replay.newPickSelector(with_(5)), TypeError, "begin()");
  assertThrows(
    () =>
      replay.newPickSelector(half(
        uniform(),
        with_(() => {
          throw new EvalError("mine");
        }),
      )),
    EvalError,
  );
  assertEquals(visibleState(replay), before);
});
