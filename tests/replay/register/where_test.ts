/** The option `where` of a pick view: which tags it takes, and how the view shows them. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { ExperienceReplay, float32, type PickView } from "@exrp/replay";

Deno.test("the option where is checked", async () => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
  // deno-lint-ignore no-explicit-any
  const loose = (where: any): PickView => replay.newPickView({ where });
  const views = replay.pickViews.length;
  for (const where of [1, null, [1], "tag"]) {
    assertThrows(() => loose(where), TypeError, "newPickView(): where");
  }
  assertThrows(() => loose({}), TypeError, "where.tag must be a whole number or a list");
  assertThrows(() => loose({ tag: "1" }), TypeError, "where.tag must be a whole number or a list");
  assertThrows(() => loose({ tags: 1 }), TypeError, "did you mean tag?");
  assertThrows(() => loose({ tag: [] }), RangeError, "where.tag takes 1 to 16 tags, got 0");
  const many = Array.from({ length: 17 }, (_, k) => k);
  assertThrows(() => loose({ tag: many }), RangeError, "where.tag takes 1 to 16 tags, got 17");
  assertThrows(() => loose({ tag: 0.5 }), RangeError, "newPickView(): where.tag must be");
  assertThrows(() => loose({ tag: [1, 2 ** 31] }), RangeError, "newPickView(): where.tag[1] must");
  assertStrictEquals(replay.pickViews.length, views);
  const sixteen = replay.newPickView({ where: { tag: many.slice(1).reverse() } });
  assertEquals(sixteen.policy.where, { tag: many.slice(1) });
  assertEquals(loose({ tag: [3, 1, 3] }).policy.where, { tag: [1, 3] });
  assert(Object.isFrozen(sixteen.policy.where) && Object.isFrozen(sixteen.policy.where?.tag));
  for (const tag of many) {
    const episode = replay.record(replay.newEpisode({ tag }), 0, 0, 1);
    replay.record(episode, 1, 0, 1, { finalState: -1 });
  }
  assertEquals(replay.pickViews.map(({ pickCount }) => pickCount), [34, 32, 4]);
  assertMatch(Deno.inspect(loose({ tag: [3, 1] })), /4 picks of length 1, of tag 1 or 3/);
  assertMatch(String(replay.describe()), /pick view 2 +4 of length 1, of tag 1 or 3/);
});
