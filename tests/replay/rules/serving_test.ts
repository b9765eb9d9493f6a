/** A rule in TypeScript knows the picks or episodes of one replay. If a second replay used it too, both would go wrong. */

import { combined, ExperienceReplay, float32 } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import type { PickSelector } from "@exrp/replay/selectors";
import { assertRejects, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { firstPick, recordEpisode, smallReplay } from "../_helpers.ts";

function oldestFirst(): EvictionPolicy & { readonly handles: Set<number> } {
  const handles = new Set<number>();
  return {
    name: "oldestFirst",
    handles,
    created: (handle) => void handles.add(handle),
    removed: (handle) => void handles.delete(handle),
    victim: () => Math.min(...handles),
  };
}

Deno.test("a selector's object that serves another replay is refused, also as a part, also after that replay was freed", async () => {
  const rule = firstPick();
  const replay = await smallReplay();
  recordEpisode(replay, 5);
  const selector = replay.newPickSelector(rule);
  using other = await smallReplay();
  recordEpisode(other, 3);
  const message = "newPickSelector(): the object first serves a selector of another replay";
  assertThrows(() => other.newPickSelector(rule), TypeError, message);
  assertThrows(() => other.newPickSelector(combined({ rest: rule })), TypeError, message);
  assertStrictEquals(replay.getBatch(2, selector).size, 2);
  assertStrictEquals(rule.count, replay.pickCount);
  assertStrictEquals(other.selectors.length, 0);
  replay[Symbol.dispose]();
  assertThrows(() => other.newPickSelector(rule), TypeError, message);
});

Deno.test("an object whose addition failed serves nothing, and may be added", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 5);
  const rule = { ...firstPick(), fails: true };
  const bad: PickSelector = Object.assign(rule, {
    pushed(): void {
      if (rule.fails) throw new EvalError("mine");
      rule.count++;
    },
  });
  assertThrows(() => replay.newPickSelector(bad));
  rule.fails = false;
  using other = await smallReplay();
  recordEpisode(other, 3);
  const selector = other.newPickSelector(bad);
  assertStrictEquals(other.getBatch(2, selector).size, 2);
  assertStrictEquals(rule.count, other.pickCount);
});

Deno.test("an eviction policy's object that serves another replay is refused, and its replay goes on", async () => {
  const eviction = oldestFirst();
  const create = (): Promise<{ readonly capacity: number } & Disposable> =>
    ExperienceReplay.create({ capacity: 4, state: float32(1), eviction });
  using replay = await ExperienceReplay.create({ capacity: 4, state: float32(1), eviction });
  await assertRejects(
    create,
    TypeError,
    "ExperienceReplay.create(): eviction: the object oldestFirst serves another replay already",
  );
  for (let k = 0; k < 9; k++) {
    replay.record(replay.newEpisode(), [k], 0, 0, { finalState: [k] });
  }
  assertStrictEquals(eviction.handles.size, replay.episodeCount);
  // An error about the options comes before the policy serves.
  const fresh = oldestFirst();
  await assertRejects(() =>
    ExperienceReplay.create({ capacity: 0, state: float32(1), eviction: fresh })
  );
  using _other = await ExperienceReplay.create({ capacity: 4, state: float32(1), eviction: fresh });
});
