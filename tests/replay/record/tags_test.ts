/** Tags of episodes: who has which, what inherits one, and what is refused. */
import { assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { ExperienceReplay, float32 } from "@exrp/replay";
import { smallReplay, visibleState } from "../_helpers.ts";

const TAGS = [0, 1, -1, 7, 2 ** 31 - 1, -(2 ** 31)];

Deno.test("an episode has the tag that it began with; 0 without one, and once it was forgotten", async () => {
  using replay = await smallReplay();
  const handles = TAGS.map((tag) => replay.newEpisode({ tag }));
  const plain = [replay.newEpisode(), replay.newEpisode({}), replay.newEpisode({ tag: undefined })];
  assertEquals(handles.map((handle) => replay.episode(handle).tag), TAGS);
  assertEquals(plain.map((handle) => replay.episode(handle).tag), [0, 0, 0]);
  const [, one = -1] = handles;
  replay.evict(one);
  assertEquals(replay.episode(one), {
    handle: one,
    ending: "evicted",
    recordCount: 0,
    firstPosition: 0,
    tag: 0,
  });
  // The next episode may get the place of the one that is gone, but not its tag.
  assertStrictEquals(replay.episode(replay.newEpisode()).tag, 0);
});

Deno.test("newEpisode() refuses what is no tag and what is no option, and begins nothing", async () => {
  using replay = await smallReplay();
  // deno-lint-ignore no-explicit-any
  const loose = replay as any;
  const before = visibleState(replay);
  for (const tag of [0.5, NaN, Infinity, 2 ** 31, -(2 ** 31) - 1, "1", null, 1n]) {
    assertThrows(() => loose.newEpisode({ tag }), Error, "newEpisode(): tag must be");
  }
  assertThrows(() => loose.newEpisode({ tga: 1 }), TypeError, "did you mean tag?");
  assertThrows(() => loose.newEpisode(1), TypeError, "newEpisode() takes an object of options");
  assertEquals(visibleState(replay), before);
});

Deno.test("an episode that begins by itself has the tag of the one before it", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    segmentLength: 4,
    state: float32(),
    seed: 1,
  });
  const tagOf = (handle: number): number => replay.episode(handle).tag;
  // After a cut, by one record and by many.
  let episode = replay.newEpisode({ tag: 3 });
  const first = episode;
  for (let t = 0; t < 6; t++) episode = replay.record(episode, t, 0, 0);
  assertEquals([episode !== first, tagOf(episode)], [true, 3]);
  const many = replay.recordMany(replay.newEpisode({ tag: 4 }), {
    state: [0, 1, 2, 3, 4, 5],
    action: [0, 0, 0, 0, 0, 0],
    reward: [0, 0, 0, 0, 0, 0],
  });
  assertEquals([tagOf(many), tagOf(many - 1)], [4, 4]);
  // After the end of an environment's episode.
  const step = { state: 0, action: 0, reward: 0, truncated: false, nextState: 1 };
  let stepped = replay.newEpisode({ tag: 5 });
  for (const terminated of [false, true, true, false]) {
    stepped = replay.recordStep(stepped, { ...step, terminated });
    assertStrictEquals(tagOf(stepped), 5);
  }
  const flat = replay.recordFlat(replay.newEpisode({ tag: 8 }), {
    state: [0, 1, 2],
    action: [0, 0, 0],
    reward: [0, 0, 0],
    terminated: [true, true, false],
    truncated: [false, false, false],
    nextState: [1, 2, 3],
  });
  assertEquals([...flat.episodes].map(tagOf), [8, 8, 8]);
  const episodes = Float64Array.of(replay.newEpisode({ tag: 6 }), replay.newEpisode());
  for (let turn = 0; turn < 3; turn++) {
    replay.recordBatch(episodes, {
      state: [0, 1],
      action: [0, 0],
      reward: [0, 0],
      nextState: [1, 2],
      terminated: [true, true],
    });
    assertEquals([...episodes].map(tagOf), [6, 0]);
  }
});

Deno.test("an episode that goes on after it was forgotten has its tag, also in a loaded replay", async () => {
  using replay = await ExperienceReplay.create({ capacity: 20, state: float32(), seed: 1 });
  using other = await ExperienceReplay.create({ capacity: 20, state: float32(), seed: 2 });
  const handles = [3, 0, -4].map((tag) => replay.newEpisode({ tag }));
  for (const handle of handles) {
    replay.record(handle, 0, 0, 0);
    replay.evict(handle);
  }
  await other.unserialize(await replay.serialize());
  for (const each of [replay, other]) {
    const [three = -1, zero = -1, four = -1] = handles;
    assertStrictEquals(each.episode(each.record(three, 1, 0, 0)).tag, 3);
    const episodes = Float64Array.of(zero, four);
    each.recordBatch(episodes, { state: [0, 1], action: [0, 0], reward: [0, 0] });
    assertEquals([...episodes].map((handle) => each.episode(handle).tag), [0, -4]);
  }
});

Deno.test("tags are saved and loaded", async () => {
  using replay = await smallReplay();
  for (const tag of TAGS) replay.record(replay.newEpisode({ tag }), [1], 0, 0, { finalState: [2] });
  const open = replay.newEpisode({ tag: 9 });
  const bytes = await replay.serialize();
  using other = await smallReplay();
  await other.unserialize(bytes);
  assertEquals([...other.episodes().handle].map((handle) => other.episode(handle).tag), [
    ...TAGS,
    9,
  ]);
  assertEquals(await other.serialize(), bytes);
  assertStrictEquals(other.episode(other.record(open, [0], 0, 0)).tag, 9);
});
