/** Tags that come with steps: they are those of the episodes that begin in the call. */
import { assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { type Column, ExperienceReplay, float32 } from "@exrp/replay";
import { assertReplayError, visibleState } from "../_helpers.ts";

type Plain = ExperienceReplay<{ state: Column<"float32", []> }>;

function plainReplay(segmentLength?: number): Promise<Plain> {
  const cuts = segmentLength === undefined ? {} : { segmentLength };
  return ExperienceReplay.create({ capacity: 100, state: float32(), ...cuts }) as Promise<Plain>;
}

function tagsOf(replay: Plain): number[] {
  return Array.from(replay.episodes().handle, (handle) => replay.episode(handle).tag);
}

function steps(
  count: number,
): { state: Float32Array; action: Int32Array; reward: Float32Array } {
  return {
    state: new Float32Array(count),
    action: new Int32Array(count),
    reward: new Float32Array(count),
  };
}

const step = { state: 0, action: 0, reward: 0, nextState: 1, truncated: false };

Deno.test("recordMany gives its tag to an episode without a record, and to those that begin by cuts", async () => {
  using replay = await plainReplay(3);
  const first = replay.recordMany(replay.newEpisode({ tag: 5 }), { ...steps(2), tag: -7 });
  assertEquals(tagsOf(replay), [-7]);
  // The first of these steps goes to an episode that has records, and keeps its tag.
  const last = replay.recordMany(first, { ...steps(5), finalState: 0, tag: 2 ** 31 - 1 });
  assertEquals(tagsOf(replay), [-7, 2 ** 31 - 1, 2 ** 31 - 1]);
  assertStrictEquals(last, 2);
});

Deno.test("recordMany gives its tag to the episode that begins for one that was evicted", async () => {
  using replay = await plainReplay();
  const [one, other] = [replay.newEpisode({ tag: 3 }), replay.newEpisode({ tag: 3 })];
  replay.clear();
  replay.recordMany(one, { ...steps(1), tag: 4 });
  replay.recordMany(other, steps(1));
  assertEquals(tagsOf(replay), [4, 3]);
});

Deno.test("recordStep gives its tag with the first step, and to the episode after the last", async () => {
  using replay = await plainReplay();
  let episode = replay.recordStep(replay.newEpisode(), { ...step, terminated: false, tag: 1 });
  episode = replay.recordStep(episode, { ...step, terminated: false, tag: 2 });
  assertEquals(tagsOf(replay), [1]);
  episode = replay.recordStep(episode, { ...step, terminated: true, tag: 3 });
  assertEquals(tagsOf(replay), [1, 3]);
  replay.recordStep(episode, { ...step, terminated: true, tag: undefined });
  assertEquals(tagsOf(replay), [1, 3, 3]);
});

Deno.test("recordBatch gives one tag to all, or one to each environment", async () => {
  using replay = await plainReplay();
  const episodes = Float64Array.from({ length: 3 }, () => replay.newEpisode());
  replay.recordBatch(episodes, { ...steps(3), tag: 4 });
  assertEquals(tagsOf(replay), [4, 4, 4]);
  const done = { nextState: new Float32Array(3), terminated: [0, 1, 0], truncated: [0, 0, 1] };
  replay.recordBatch(episodes, { ...steps(3), ...done, tag: [7, 8, 9] });
  assertEquals(tagsOf(replay), [4, 4, 4, 8, 9]);
  replay.recordBatch(episodes, { ...steps(3), tag: Int32Array.of(1, 2, 3) });
  assertEquals(tagsOf(replay), [4, 4, 4, 2, 3]);
});

Deno.test("in recordFlat an episode has the tag of its first step, and the one without a record that of the last", async () => {
  using replay = await plainReplay();
  const ends = { terminated: [0, 1, 1, 0, 0, 1], nextState: new Float32Array(6) };
  const tag = [1, 2, 3, 4, 5, 6];
  const { episode } = replay.recordFlat(replay.newEpisode(), { ...steps(6), ...ends, tag });
  assertEquals(tagsOf(replay), [1, 3, 4, 6]);
  replay.recordFlat(episode, { ...steps(6), ...ends, tag: 9 });
  assertEquals(tagsOf(replay), [1, 3, 4, 9, 9, 9, 9]);
});

Deno.test("in recordFlat a step that is no record does not begin an episode", async () => {
  using replay = await plainReplay();
  replay.recordFlat(replay.newEpisode(), {
    ...steps(4),
    truncated: [0, 1, 0, 0],
    nextStateUnknown: true,
    tag: [1, 2, 3, 4],
  });
  assertEquals(tagsOf(replay), [1, 3]);
});

Deno.test("tags of steps decide which views have their picks", async () => {
  using replay = await plainReplay();
  const view = replay.newPickView({ where: { tag: 2 } });
  replay.recordFlat(replay.newEpisode(), {
    ...steps(5),
    terminated: [0, 0, 1, 0, 1],
    nextState: new Float32Array(5),
    tag: [1, 1, 1, 2, 2],
  });
  assertEquals([replay.pickCount, view.pickCount], [5, 2]);
});

Deno.test("a wrong tag is refused, and nothing has changed", async () => {
  using replay = await plainReplay();
  const episode = replay.newEpisode({ tag: 6 });
  const episodes = Float64Array.of(episode);
  const ended = replay.record(replay.newEpisode(), 0, 0, 0, { finalState: 0 });
  const before = visibleState(replay);
  const loose = replay as unknown as Record<string, (...options: unknown[]) => unknown>;
  const flags = { ...step, terminated: false };
  for (const tag of [1.5, 2 ** 31, -(2 ** 31) - 1, NaN, [1, 2], Int32Array.of(1, 2), [0.5]]) {
    assertThrows(() => loose.recordBatch?.(episodes, { ...steps(1), tag }), RangeError, "tag");
    assertThrows(() => loose.recordFlat?.(episode, { ...steps(1), tag }), RangeError, "tag");
    if (typeof tag !== "number") continue;
    assertThrows(() => loose.recordMany?.(episode, { ...steps(1), tag }), RangeError, "tag");
    assertThrows(() => loose.recordStep?.(episode, { ...flags, tag }), RangeError, "tag");
  }
  for (const tag of ["1", null, ["1"], {}]) {
    assertThrows(() => loose.recordBatch?.(episodes, { ...steps(1), tag }), TypeError, "tag");
    assertThrows(() => loose.recordFlat?.(episode, { ...steps(1), tag }), TypeError, "tag");
    assertThrows(() => loose.recordMany?.(episode, { ...steps(1), tag }), TypeError, "tag");
    assertThrows(() => loose.recordStep?.(episode, { ...flags, tag }), TypeError, "tag");
  }
  for (const name of ["recordMany", "recordFlat", "recordStep"]) {
    const rest = name === "recordStep" ? flags : steps(1);
    assertThrows(() => loose[name]?.(episode, { ...rest, tags: 1 }), TypeError, "did you mean tag");
  }
  assertThrows(
    () => loose.recordBatch?.(episodes, { ...steps(1), tags: 1 }),
    TypeError,
    "did you mean tag",
  );
  const both = Float64Array.of(episode, ended);
  assertReplayError(() => replay.recordBatch(both, { ...steps(2), tag: 1 }), "episode-ended");
  assertEquals(visibleState(replay), before);
  assertStrictEquals(replay.episode(episode).tag, 6);
});

Deno.test("where a call cuts episodes, recordFlat tells all their handles, and recordMany the last", async () => {
  using many = await plainReplay(3);
  using flat = await plainReplay(3);
  const last = many.recordMany(many.newEpisode(), steps(8));
  const { episode, episodes } = flat.recordFlat(flat.newEpisode(), steps(8));
  assertEquals([...episodes], [0, 1, 2]);
  assertEquals([episode, [...many.episodes().handle]], [last, [0, 1, 2]]);
});
