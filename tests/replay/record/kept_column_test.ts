/** Extras that only every nth record keeps. */

import { every, ExperienceReplay, float32, int32, KeptColumn, uniform } from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { assertReplayRejects } from "../_helpers.ts";
import { native } from "../../_native.ts";

type KeptReplay = Awaited<ReturnType<typeof keptReplay>>;

/** States and hidden values say their position; hidden is kept by every third record. */
// deno-lint-ignore explicit-function-return-type
function keptReplay(blockLength = 4) {
  return ExperienceReplay.create({
    capacity: 100,
    state: int32(1),
    extras: { hidden: every(3, float32(2)), note: int32() },
    pick: { length: 2, allowShort: true, burnIn: 2 },
    blockLength,
    seed: 1,
  });
}

function fill(replay: KeptReplay, count: number, first = 0): number {
  let episode = replay.newEpisode();
  for (let t = 0; t < count; t++) {
    const options = {
      extras: { hidden: [first + t, -t], note: t },
      ...(t === count - 1 ? { finalState: [first + count] } : {}),
    };
    episode = replay.record(episode, [first + t], 0, 0, options);
  }
  return episode;
}

Deno.test("every(): a pick has the newest value kept at or before its first row", async () => {
  for (const blockLength of [2, 4, 16]) {
    using replay = await keptReplay(blockLength);
    fill(replay, 11, 100);
    const batch = replay.getBatch(200, replay.newPickSelector(uniform()));
    assertEquals(batch.shape.extras.hidden, [200, 2]);
    assertEquals(batch.shape.extras.note, [200, 4]);
    const seen = new Set<number>();
    for (const [k, position] of batch.pickPosition.entries()) {
      const first = Math.max(0, position - 2);
      const kept = first - first % 3;
      assertEquals([...batch.extras.hidden.subarray(2 * k, 2 * k + 2)], [100 + kept, -kept]);
      assertStrictEquals(batch.extras.note[4 * k], first);
      seen.add(position);
    }
    assertEquals(seen.size, 11);
  }
});

Deno.test("every(): kept far back in a long episode, among others", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 2000,
    segmentLength: 600,
    state: int32(),
    extras: { near: every(5, int32()), far: every(128, int32()), first: every(10_000, int32()) },
    pick: { burnIn: 3 },
    blockLength: 4,
    seed: 1,
  });
  // By turns, so that blocks of one episode do not stand together.
  const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode());
  for (let t = 0; t < 500; t++) {
    const values = [t, 1000 + t];
    const extras = { near: values, far: values, first: values };
    replay.recordBatch(episodes, { state: values, action: [0, 0], reward: [0, 0], extras });
  }
  replay.evict(0);
  replay.recordMany(0, {
    state: new Int32Array(500).map((_, t) => 2000 + t),
    action: new Int32Array(500),
    reward: new Float32Array(500),
    extras: Object.fromEntries(
      ["near", "far", "first"].map((name) => [name, new Int32Array(500).map((_, t) => 2000 + t)]),
    ) as Record<"near" | "far" | "first", Int32Array>,
  });
  const batch = replay.getBatch(3000, replay.newPickSelector(uniform()));
  for (const [k, position] of batch.pickPosition.entries()) {
    const begin = batch.pickEpisode[k] === 1 ? 1000 : 2000;
    const first = Math.max(0, position - 3);
    for (const [name, n] of [["near", 5], ["far", 128], ["first", 10_000]] as const) {
      assertStrictEquals(
        batch.extras[name][k],
        begin + first - first % n,
        `${name} at ${position}`,
      );
    }
  }
});

Deno.test("every(): recordMany, recordBatch and recordStep keep the same rows as record", async () => {
  using replay = await keptReplay();
  const hidden = Array.from({ length: 14 }, (_, k) => k);
  replay.recordMany(replay.newEpisode(), {
    state: [0, 1, 2, 3, 4, 5, 6],
    action: new Array(7).fill(0),
    reward: new Array(7).fill(0),
    extras: { hidden, note: new Array(7).fill(0) },
    finalState: [7],
  });
  const episodes = Float64Array.of(replay.newEpisode());
  let single = replay.newEpisode();
  for (let t = 0; t < 7; t++) {
    const extras = { hidden: [2 * t, 2 * t + 1], note: 0 };
    replay.recordBatch(episodes, {
      state: [t],
      action: [0],
      reward: [0],
      extras: { hidden: extras.hidden, note: [0] },
    });
    single = replay.recordStep(single, {
      state: [t],
      action: 0,
      reward: 0,
      terminated: false,
      truncated: false,
      nextState: [t + 1],
      extras,
    });
  }
  for (const handle of [0, 1, 2]) {
    const { extras } = replay.episodeRecords(handle);
    assertEquals([...extras.hidden], [0, 1, 0, 1, 0, 1, 6, 7, 6, 7, 6, 7, 12, 13], `${handle}`);
  }
});

native.test("every(): memory is taken for the records that keep it", async () => {
  const make = (hidden: KeptColumn<"float32", [1024]> | undefined) =>
    ExperienceReplay.create({
      capacity: 4000,
      state: int32(1),
      extras: { hidden: hidden ?? float32(1024) },
      seed: 1,
    });
  using dense = await make(undefined);
  using kept = await make(every(16, float32(1024)));
  for (const replay of [dense, kept]) {
    replay.recordMany(replay.newEpisode(), {
      state: new Int32Array(320),
      action: new Int32Array(320),
      reward: new Float32Array(320),
      extras: { hidden: new Float32Array(320 * 1024) },
    });
  }
  assert(kept.describe().memory.columns < dense.describe().memory.columns / 14);
});

Deno.test("every(): what is kept is saved; another n does not fit", async () => {
  using replay = await keptReplay(4);
  const selector = replay.newPickSelector(uniform());
  for (let k = 0; k < 20; k++) fill(replay, 3 + k % 9, 10 * k);
  const bytes = await replay.serialize();
  using other = await keptReplay(16);
  await other.unserialize(bytes);
  const [loaded] = other.selectors;
  assert(loaded !== undefined);
  assertEquals(
    (other.getBatch(64, loaded).extras as { hidden: Float32Array }).hidden,
    replay.getBatch(64, selector).extras.hidden,
  );
  using third = await ExperienceReplay.create({
    capacity: 100,
    state: int32(1),
    extras: { hidden: every(4, float32(2)), note: int32() },
    pick: { length: 2, allowShort: true, burnIn: 2 },
  });
  const error = await assertReplayRejects(third.unserialize(bytes), "snapshot-mismatch");
  assert(error.message.includes("extras.hidden"), error.message);
});

Deno.test("every(): bad input", async () => {
  // deno-lint-ignore no-explicit-any
  const loose = every as any;
  for (const n of [1, 0, 1.5, NaN]) assertThrows(() => loose(n, float32()), RangeError, "n");
  assertThrows(() => loose(2, "float32"), TypeError, "column");
  const column = every(2, float32(3));
  assertInstanceOf(column, KeptColumn);
  assertStrictEquals(String(column), "every(2, float32(3))");
  assert(Object.isFrozen(column));
  let error: unknown;
  try {
    await ExperienceReplay.create({ capacity: 10, state: column });
  } catch (thrown) {
    error = thrown;
  }
  assertInstanceOf(error, TypeError);
  assert(error.message.includes("state"), error.message);
  const nine = Object.fromEntries(
    Array.from({ length: 9 }, (_, k) => [`x${k}`, every(2, int32())]),
  );
  try {
    await ExperienceReplay.create({ capacity: 10, state: float32(), extras: nine });
    error = undefined;
  } catch (thrown) {
    error = thrown;
  }
  assertInstanceOf(error, RangeError);
});
