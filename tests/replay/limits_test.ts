/** The limits beside the capacity: capacityBytes and maxAge. That they hold under every policy is in tests/eviction/conforms.ts. */
import {
  every,
  ExperienceReplay,
  fifo,
  float32,
  lru,
  newest,
  ReplayError,
  uint8,
  uniform,
} from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { recordEpisode, smallReplay } from "./_helpers.ts";
import { native } from "../_native.ts";

/** The bytes of a record of `smallReplay`, and of its state. */
const [RECORD_BYTES, STATE_BYTES] = [12, 4];

native.test("create() says how much memory the records need and there is, in units for people, and what to change", async () => {
  // 2^28 records of 4 MiB are 1 PiB.
  const error = await assertRejects(
    () => ExperienceReplay.create({ capacity: 2 ** 28, state: float32(1024, 1024) }),
    ReplayError,
  );
  assertStrictEquals(error.code, "memory");
  assertMatch(
    error.message,
    /^ExperienceReplay\.create\(\): (the records need 1024 TiB, but this machine has [\d.]+ [MGT]iB|the system gives no [\d.]+ [MGT]iB); take a smaller capacity, set capacityBytes, or make records smaller: uint8\(\) or float16\(\) instead of float32\(\), every\(\) for what changes slowly$/,
  );
  // As it says: with a limit of bytes there is room.
  using replay = await ExperienceReplay.create({
    capacity: 2 ** 28,
    capacityBytes: 2 ** 26,
    state: float32(1024, 1024),
  });
  assertStrictEquals(replay.capacity, 14); // and the bytes of a final state
});

native.test("a batch that no memory could hold says so, and not that the records need it", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(1024, 1024),
    pick: { length: 10, allowShort: true },
  });
  replay.record(replay.newEpisode(), new Float32Array(2 ** 20), 0, 0, {
    finalState: new Float32Array(2 ** 20),
  });
  const selector = replay.newPickSelector(uniform());
  const error = assertThrows(() => replay.getBatch(2 ** 24, selector), ReplayError);
  assertStrictEquals(error.code, "memory");
  assertMatch(
    error.message,
    /^getBatch\(\): a batch of so many picks needs [\d.]+ TiB, but this machine has [\d.]+ [MGT]iB; ask for fewer picks, or make pick\.length smaller$/,
  );
});

Deno.test("the smaller of capacity and capacityBytes wins", async () => {
  using byRecords = await smallReplay({ capacity: 5, capacityBytes: 1e6 });
  assertStrictEquals(byRecords.capacity, 5);
  using byBytes = await smallReplay({
    capacity: 1000,
    capacityBytes: 7 * RECORD_BYTES - 1,
    segmentLength: 6,
  });
  assertStrictEquals(byBytes.capacity, 6); // beside one final state
  for (let k = 0; k < 6; k++) byBytes.record(k === 0 ? byBytes.newEpisode() : 0, [k], 0, 0);
  assertStrictEquals(byBytes.recordCount, 6);
  byBytes.endEpisode(0, { finalState: [6] });
  assertStrictEquals(byBytes.recordCount, 6);
  assertStrictEquals(byBytes.describe().memory.stored, 6 * RECORD_BYTES + STATE_BYTES);
});

Deno.test("final states take their bytes: more short episodes leave room for fewer records", async () => {
  const capacityBytes = 100 * RECORD_BYTES + STATE_BYTES;
  using short = await smallReplay({ capacity: 100, capacityBytes });
  for (let k = 0; k < 300; k++) recordEpisode(short, 1);
  const each = RECORD_BYTES + STATE_BYTES;
  assertStrictEquals(short.recordCount, Math.floor(capacityBytes / each));
  using long = await smallReplay({ capacity: 100, capacityBytes });
  for (let k = 0; k < 30; k++) recordEpisode(long, 10);
  assertStrictEquals(long.recordCount, 90); // a tenth final state has no room
});

Deno.test("an end that has no room for its final state makes some", async () => {
  using replay = await smallReplay({ capacity: 3, capacityBytes: 3 * RECORD_BYTES + STATE_BYTES });
  recordEpisode(replay, 1);
  const open = replay.newEpisode();
  replay.record(open, [0], 0, 0);
  replay.record(open, [1], 0, 0);
  assertEquals([...replay.episodes().handle], [0, 1]);
  assertStrictEquals(replay.endEpisode(open, { finalState: [2] }), true);
  assertEquals([...replay.episodes().handle], [1]);
});

Deno.test("without a shape of its own a state of one byte counts one byte", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: uint8(),
    action: uint8(),
    reward: uint8(),
    capacityBytes: 40,
  });
  assertStrictEquals(replay.capacity, 13);
});

Deno.test("an extra that only some records keep takes its bytes where it is kept", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 1000,
    segmentLength: 9,
    state: float32(1),
    extras: { hidden: every(4, float32(25)) },
    capacityBytes: 9 * RECORD_BYTES + 3 * 100 + STATE_BYTES,
  });
  const hidden = new Float32Array(25);
  assertStrictEquals(replay.capacity, 9);
  const first = replay.newEpisode();
  for (let step = 0; step < 5; step++) replay.record(first, [step], 0, 0, { extras: { hidden } });
  replay.endEpisode(first, { finalState: [5] });
  assertStrictEquals(replay.describe().memory.stored, 5 * RECORD_BYTES + 200 + STATE_BYTES);
  const second = replay.newEpisode();
  for (let step = 0; step < 4; step++) replay.record(second, [step], 0, 0, { extras: { hidden } });
  assertEquals([...replay.episodes().handle], [first, second]); // nine records, three of them with what they keep
  replay.record(second, [4], 0, 0, { extras: { hidden } });
  assertEquals([...replay.episodes().handle], [second]);
});

Deno.test("maxAge: an episode goes with the record that would make it older, not before", async () => {
  using replay = await smallReplay({ capacity: 1000, segmentLength: 5, maxAge: 10 });
  for (let k = 0; k < 5; k++) recordEpisode(replay, 2, 2 * k);
  assertEquals([...replay.episodes().handle], [0, 1, 2, 3, 4]); // ten records, as old as they may be
  const open = replay.newEpisode(); // begins no record
  assertStrictEquals(replay.episodeCount, 6);
  replay.record(open, [10], 0, 0);
  assertEquals([...replay.episodes().handle], [1, 2, 3, 4, 5]);
  assertStrictEquals(replay.episode(0).ending, "evicted");
  replay.record(open, [11], 0, 0);
  assertEquals([...replay.episodes().handle], [1, 2, 3, 4, 5]);
  replay.record(open, [12], 0, 0);
  assertEquals([...replay.episodes().handle], [2, 3, 4, 5]);
});

Deno.test("maxAge: an open episode that is recorded too slowly loses its records, and goes on", async () => {
  using replay = await smallReplay({ capacity: 1000, segmentLength: 5, maxAge: 10 });
  const slow = replay.newEpisode();
  replay.record(slow, [0], 0, 0);
  for (let k = 0; k < 9; k++) recordEpisode(replay, 1);
  assertStrictEquals(replay.episode(slow).ending, "open");
  assertStrictEquals(replay.record(slow, [1], 0, 0), slow);
  const { ending, recordCount, firstPosition } = replay.episode(slow);
  assertEquals([ending, recordCount, firstPosition], ["open", 1, 1]);
});

Deno.test("maxAge: whoever draws all the time from an old episode does not keep it", async () => {
  using replay = await smallReplay({
    capacity: 1000,
    segmentLength: 10,
    maxAge: 100,
    eviction: lru(),
  });
  const selector = replay.newPickSelector(uniform());
  let written = 0;
  for (let k = 0; k < 100; k++, written += 7) {
    recordEpisode(replay, 7, written);
    for (const state of replay.getBatch(64, selector).state) {
      if (state < written + 7 - 100) throw new Error(`record ${state} of ${written + 7}`);
    }
  }
});

Deno.test("maxAge: a user's policy gets removed() for an episode that is too old, and no call of victim()", async () => {
  const told: string[] = [];
  const policy: EvictionPolicy = {
    name: "told",
    created: (handle) => void told.push(`+${handle}`),
    removed: (handle) => void told.push(`-${handle}`),
    victim: () => {
      throw new Error("there is room");
    },
  };
  using replay = await smallReplay({
    capacity: 1000,
    segmentLength: 3,
    maxAge: 3,
    eviction: policy,
  });
  recordEpisode(replay, 1);
  recordEpisode(replay, 2);
  assertEquals(told, ["+0", "+1"]);
  let episode = replay.newEpisode();
  episode = replay.record(episode, [0], 0, 0);
  assertEquals(told, ["+0", "+1", "+2", "-0"]);
  told.length = 0;
  // Many steps of one call: what is too old goes on the way, the very episode too.
  episode = replay.recordMany(episode, {
    state: new Float32Array(4),
    action: new Int32Array(4),
    reward: new Float32Array(4),
  });
  assertEquals(told, ["-1", "+3", "-2"]);
  assertStrictEquals(episode, 3);
  assertStrictEquals(replay.episode(3).recordCount, 2);
});

Deno.test("maxAge and capacityBytes: snapshots carry the ages, and what is saved fits the same limits only", async () => {
  const limits = { maxAge: 20, capacityBytes: 600, segmentLength: 10, eviction: fifo() };
  using replay = await smallReplay(limits);
  for (let k = 0; k < 30; k++) recordEpisode(replay, 1 + k % 4);
  using loaded = await smallReplay({ ...limits, seed: 9 });
  await loaded.unserialize(await replay.serialize());
  const selector = loaded.newPickSelector(newest());
  for (let k = 0; k < 30; k++) {
    recordEpisode(replay, 1 + k % 3);
    recordEpisode(loaded, 1 + k % 3);
    assertEquals(loaded.episodes().handle, replay.episodes().handle);
    loaded.getBatch(1, selector);
  }
});
