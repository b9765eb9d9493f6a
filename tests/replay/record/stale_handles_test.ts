/** Which handles a record may go on with, once their episode is not in the replay any more. */
import { ExperienceReplay, float32 } from "@exrp/replay";
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../../_assert.ts";
import { assertReplayError, smallReplay } from "../_helpers.ts";

const step = {
  state: [0],
  action: 0,
  reward: 0,
  terminated: false,
  truncated: false,
  nextState: [1],
};
const many = { state: [0], action: [0], reward: [0] };

Deno.test("the handle of an episode that ended stays refused after its eviction, again and again", async () => {
  // It was refused at first, and after the eviction each call began another episode of one record.
  using replay = await smallReplay({ capacity: 4 });
  const ended = replay.record(replay.newEpisode(), [0], 0, 0, { finalState: [1] });
  for (let k = 0; k < 8; k++) {
    replay.record(replay.newEpisode(), [k], 0, 0, { finalState: [k + 1] });
  }
  assertStrictEquals(replay.episode(ended).ending, "evicted");
  const before = await replay.serialize();
  for (let again = 0; again < 3; again++) {
    const error = assertReplayError(() => replay.record(ended, [0], 0, 0), "episode-ended");
    assertMatch(error.message, /record\(\): episode 0 is not in the replay any more/);
    assertMatch(error.message, /newEpisode\(\) begins another/);
    assertReplayError(() => replay.recordStep(ended, step), "episode-ended");
    assertReplayError(() => replay.recordMany(ended, many), "episode-ended");
    const handles = Float64Array.of(ended);
    assertReplayError(() => replay.recordBatch(handles, many), "episode-ended");
    assertEquals([...handles], [ended]);
    assertReplayError(() => replay.endEpisode(ended, { finalState: [1] }), "episode-ended");
  }
  assertEquals(await replay.serialize(), before);
});

Deno.test("the handle of an episode that was evicted while open goes on once, with every call", async () => {
  type Replay = Awaited<ReturnType<typeof smallReplay>>;
  const calls: [string, (replay: Replay, handle: number) => number][] = [
    ["record", (replay, handle) => replay.record(handle, [0], 0, 0)],
    ["recordStep", (replay, handle) => replay.recordStep(handle, step)],
    ["recordMany", (replay, handle) => replay.recordMany(handle, many)],
    ["recordBatch", (replay, handle) => {
      const handles = Float64Array.of(handle);
      replay.recordBatch(handles, many);
      return handles[0] ?? -1;
    }],
  ];
  for (const [name, call] of calls) {
    using replay = await smallReplay();
    const evicted = call(replay, replay.newEpisode());
    replay.evict(evicted);
    const next = call(replay, evicted);
    assertStrictEquals(next, evicted + 1, name);
    assertReplayError(() => call(replay, evicted), "episode-ended");
    assertStrictEquals(call(replay, next), next, name);
    assertEquals(replay.episode(next), {
      handle: next,
      ending: "open",
      recordCount: 2,
      firstPosition: 0,
      tag: 0,
    });
  }
});

Deno.test("a batch refuses the same handle twice, of an evicted episode too, and nothing has changed", async () => {
  using replay = await smallReplay();
  const [one, other] = [replay.newEpisode(), replay.newEpisode()];
  replay.evict(one);
  const before = await replay.serialize();
  const handles = Float64Array.of(other, one, one);
  const steps = { state: [0, 1, 2], action: [0, 0, 0], reward: [0, 0, 0] };
  const error = assertReplayError(() => replay.recordBatch(handles, steps), "episode-twice");
  assertMatch(error.message, /environments 1 and 2 both record into episode 0/);
  assertEquals([...handles], [other, one, one]);
  assertEquals(await replay.serialize(), before);
});

Deno.test("a call that fails does not use a handle up", async () => {
  using replay = await smallReplay();
  const [one, other] = [replay.newEpisode(), replay.newEpisode()];
  replay.evict(one);
  replay.record(other, [0], 0, 0, { finalState: [1] });
  const steps = { state: [0, 1], action: [0, 0], reward: [0, 0] };
  assertReplayError(() => replay.recordBatch(Float64Array.of(one, other), steps), "episode-ended");
  assertStrictEquals(replay.record(one, [0], 0, 0), 2);
});

Deno.test("the replay remembers the newest 4,096 handles of episodes evicted while open", async () => {
  using replay = await ExperienceReplay.create({ capacity: 8000, state: float32(1) });
  const handles = Array.from({ length: 4200 }, () => replay.newEpisode());
  const used = handles.map((handle, k) => replay.record(handle, [k], 0, 0));
  for (const handle of used) replay.evict(handle);
  for (const handle of used.slice(-4096)) assert(replay.record(handle, [0], 0, 0) >= 4200);
  for (const handle of used.slice(0, -4096)) {
    assertReplayError(() => replay.record(handle, [0], 0, 0), "episode-ended");
  }
});

Deno.test("after clear() each of 4,096 actors goes on once, also in a replay that was loaded", async () => {
  const make = () => ExperienceReplay.create({ capacity: 8000, state: float32(1) });
  using replay = await make();
  const handles = Float64Array.from({ length: 4096 }, () => replay.newEpisode());
  const values = new Float32Array(4096);
  const steps = { state: values, action: values, reward: values };
  replay.recordBatch(handles, steps);
  replay.clear();
  using loaded = await make();
  await loaded.unserialize(await replay.serialize());
  for (const each of [replay, loaded]) {
    const now = handles.slice();
    each.recordBatch(now, steps);
    assertEquals(now, handles.map((handle) => handle + 4096));
    assertStrictEquals(each.recordCount, 4096);
    assertReplayError(() => each.record(handles[0] ?? -1, [0], 0, 0), "episode-ended");
    each.clear(); // the memory for the handles of these is there, too
    assertStrictEquals(each.record(now[4095] ?? -1, [0], 0, 0), 8192);
  }
});

Deno.test("a snapshot keeps which handles may go on", async () => {
  using replay = await smallReplay();
  const handles = [0, 1, 2, 3].map(() => replay.newEpisode());
  for (const handle of handles) replay.evict(handle);
  const [used = -1, ...left] = handles;
  replay.record(used, [0], 0, 0);
  using loaded = await smallReplay();
  await loaded.unserialize(await replay.serialize());
  assertReplayError(() => loaded.record(used, [0], 0, 0), "episode-ended");
  assertEquals(left.map((handle) => loaded.record(handle, [0], 0, 0)), [5, 6, 7]);
});
