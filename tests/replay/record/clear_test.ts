/** clear() forgets everything that is stored, as evict() of every episode does, and nothing else. */
import { ExperienceReplay, float32, prioritized, rankBased, ucb, uniform } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import { assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { assertReplayError, recordEpisode, smallReplay, testRandom } from "../_helpers.ts";
import { youngestButOne } from "./_record_helpers.ts";
import { draw, listener, numbers, twins } from "./_twins.ts";

Deno.test("clear() leaves what evict() of every episode leaves, and the same future", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const { one, many, random } = await twins(seed);
    let handle = one.newEpisode();
    many.newEpisode();
    for (let turn = 0; turn < 12; turn++) {
      const count = 1 + random(20);
      const steps = {
        state: numbers(3 * count, random, 100),
        action: numbers(count, random, 100),
        reward: numbers(count, random, 100),
        extras: { mask: numbers(2 * count, random, 2) },
        nextState: numbers(3 * count, random, 100),
        terminated: numbers(count, random, 6).map((roll) => roll === 0),
      };
      const { episode } = one.recordFlat(handle, steps);
      assertStrictEquals(many.recordFlat(handle, steps).episode, episode);
      handle = episode;
      draw(one, many, random);
      if (random(3) > 0) continue;
      for (const each of one.episodes().handle) one.evict(each);
      many.clear();
      assertEquals([many.recordCount, many.episodeCount, many.pickCount], [0, 0, 0]);
      assertEquals(await many.serialize(), await one.serialize(), `seed ${seed}`);
    }
    assertEquals(await many.serialize(), await one.serialize(), `seed ${seed}`);
    one[Symbol.dispose]();
    many[Symbol.dispose]();
  }
});

Deno.test("clear() keeps selectors, views, counts, handles and the largest priority", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(), seed: 1 });
  const selector = replay.newPickSelector(rankBased());
  const view = replay.newPickView({ length: 2 });
  const pairs = view.newPickSelector(uniform());
  const zeros = [0, 0, 0];
  const steps = { state: zeros, action: zeros, reward: zeros, finalState: 0 };
  const first = replay.recordMany(replay.newEpisode(), steps);
  replay.setPriority(selector, [first], [0], [7]);
  replay.clear();
  assertReplayError(() => replay.getBatch(1, selector), "empty");
  assertReplayError(() => replay.episodeRecords(first), "record-unknown");
  assertEquals([...replay.episodes().handle], []);
  const { recordedCount, evictedCount } = replay.describe();
  assertEquals([recordedCount, evictedCount], [3, 1]);

  const second = replay.recordMany(replay.newEpisode(), steps);
  assertStrictEquals(second, 1);
  assertEquals([...replay.getPriority(selector, [second], [0])], [7]);
  assertStrictEquals(replay.getBatch(4, pairs).size, 4);
  replay.clear();
  replay.clear(); // an empty replay stays empty
  assertStrictEquals(replay.recordCount, 0);
});

Deno.test("clear(): the handle of an open episode goes on once, and that of an ended one never", async () => {
  using replay = await smallReplay({ capacity: 100 });
  const open = replay.newEpisode();
  replay.record(open, [1], 0, 0);
  const empty = replay.newEpisode();
  const ended = replay.newEpisode();
  replay.record(ended, [1], 0, 0, { finalState: [2] });
  replay.clear();
  assertStrictEquals(replay.record(open, [2], 0, 0), 3);
  assertStrictEquals(replay.record(empty, [3], 0, 0), 4);
  for (const handle of [open, empty, ended]) {
    assertReplayError(() => replay.record(handle, [4], 0, 0), "episode-ended");
  }
  assertEquals([...replay.episodes().handle], [3, 4]);
});

Deno.test("clear() tells rules in TypeScript of every pick and episode that goes", async () => {
  const removed: number[] = [];
  const policy: EvictionPolicy = {
    ...youngestButOne(),
    removed: (handle) => void removed.push(handle),
  };
  const heard = listener();
  using replay = await smallReplay({ capacity: 100, eviction: policy });
  const selector = replay.newPickSelector(heard);
  for (let k = 0; k < 3; k++) {
    replay.recordMany(replay.newEpisode(), {
      state: [1, 2],
      action: [0, 0],
      reward: [0, 0],
      finalState: [3],
    });
  }
  replay.getBatch(1, selector);
  heard.heard.length = 0;
  replay.clear();
  assertEquals(removed, [0, 1, 2]);
  // Six picks went, each by popped(), after moved() where another pick took its index.
  assertStrictEquals(heard.heard.filter((event) => event.startsWith("-")).length, 6);
  replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
  replay.getBatch(1, selector);
  assertStrictEquals(heard.heard.at(-1), "+0");
});

Deno.test("clear() counts what was not drained as lost", async () => {
  using replay = await smallReplay({ capacity: 100 });
  const record = (): void => {
    replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
  };
  record();
  record();
  replay.clear();
  record();
  const { size, lost } = replay.drain();
  assertEquals([size, lost], [1, 2]);
});

Deno.test("clear() of a large replay is quick, and its memory serves again", async () => {
  const random = testRandom(5);
  using replay = await ExperienceReplay.create({ capacity: 50_000, state: float32(4), seed: 5 });
  replay.newPickSelector(prioritized());
  replay.newPickSelector(ucb());
  const fill = (): void => {
    const count = 50_000;
    replay.recordFlat(replay.newEpisode(), {
      state: new Float32Array(4 * count),
      action: new Int32Array(count),
      reward: new Float32Array(count),
      nextState: new Float32Array(4 * count),
      truncated: Uint8Array.from({ length: count }, () => random(100) === 0 ? 1 : 0),
    });
  };
  fill();
  fill();
  const before = replay.memoryBytes;
  for (let k = 0; k < 3; k++) {
    replay.clear();
    assertStrictEquals(replay.recordCount, 0);
    fill();
  }
  assertEquals(replay.memoryBytes <= 1.2 * before, true, `${replay.memoryBytes} and ${before}`);
});

Deno.test("clear() of a replay that was freed is refused, and one that is being saved is saved as it was", async () => {
  const replay = await smallReplay();
  recordEpisode(replay, 3);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const saved = replay.serialize(writable);
  replay.clear();
  const bytes = await new Response(readable as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
  await saved;
  await replay.unserialize(bytes);
  assertStrictEquals(replay.recordCount, 3);
  replay[Symbol.dispose]();
  assertThrows(() => replay.clear(), Error, "disposed");
});
