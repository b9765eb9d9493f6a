/** A batch owns its data, and `into` writes over one. */
import { ExperienceReplay, float32, prioritized, uint8, uniform } from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { recordEpisode, smallReplay } from "../_helpers.ts";

Deno.test("two batches in flight: the second never changes the first, and each updates its own picks", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const episode = recordEpisode(replay, 20);
  const first = replay.getBatch(8, selector);
  const copy = first.bytes.slice();
  const second = replay.getBatch(8, selector);
  replay.record(replay.newEpisode(), [99], 0, 0, { finalState: [100] });
  assertEquals(first.bytes, copy);
  assert(first.bytes.buffer !== second.bytes.buffer);

  const zeros = new Float32Array(20);
  replay.setPriority(
    selector,
    new Float64Array(20).fill(episode),
    Int32Array.from(zeros.keys()),
    zeros,
  );
  replay.setPriority(selector, [1], [0], [0]);
  replay.setPriority(selector, first.pickEpisode, first.pickPosition, new Float32Array(8).fill(3));
  const drawn = new Set(replay.getBatch(500, selector).pickPosition);
  assertEquals(drawn, new Set(first.pickPosition));
});

Deno.test("into: the same batch comes back, with new draws in it", async () => {
  using replay = await smallReplay();
  using twin = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  const twinSelector = twin.newPickSelector(uniform());
  recordEpisode(replay, 20);
  recordEpisode(twin, 20);
  const batch = replay.getBatch(8, selector);
  assertEquals(batch.bytes, twin.getBatch(8, twinSelector).bytes);
  for (let round = 0; round < 20; round++) {
    assertStrictEquals(replay.getBatch(8, selector, { into: batch }), batch);
    assertEquals(batch.bytes, twin.getBatch(8, twinSelector).bytes);
  }
});

Deno.test("into: a batch of another size or schema is refused, one of an equal schema is taken", async () => {
  using replay = await smallReplay();
  using equal = await smallReplay({ capacity: 7 });
  using longer = await smallReplay({ length: 2 });
  const selector = replay.newPickSelector(uniform());
  for (const each of [replay, equal, longer]) recordEpisode(each, 5);
  const other = equal.getBatch(4, equal.newPickSelector(uniform()));
  assertStrictEquals(replay.getBatch(4, selector, { into: other }), other);

  const before = other.bytes.slice();
  const size = assertThrows(() => replay.getBatch(5, selector, { into: other }), RangeError);
  assertMatch(
    (size as Error).message,
    /a batch of 4 picks, needed are 5; leave into out once, and give the batch that you get then/,
  );
  const into = longer.getBatch(4, longer.newPickSelector(uniform()));
  const schema = assertThrows(() => replay.getBatch(4, selector, { into }), TypeError);
  assertMatch((schema as Error).message, /of another schema/);
  assertEquals(other.bytes, before);

  structuredClone(other.bytes.buffer, { transfer: [other.bytes.buffer] });
  assertThrows(() => replay.getBatch(4, selector, { into: other }), TypeError, "transferred");
});

Deno.test("sequences: positions past the end are zero, lengths and discounts say what is real", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: uint8(2),
    action: float32(1),
    pick: { length: 3, allowShort: true, discount: 0.5 },
    seed: 3,
  });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  episode = replay.record(episode, [1, 2], [0.1], 10);
  episode = replay.record(episode, [3, 4], [0.2], 20);
  replay.record(episode, [5, 6], [0.3], 30, { finalState: [7, 8] });
  const batch = replay.getBatch(60, selector);
  assertEquals(new Set(batch.pickPosition), new Set([0, 1, 2]));
  assertEquals(batch.shape.nextState, [60, 3, 2]);
  assertEquals(batch.shape.discount, [60, 3]);
  for (const [k, position] of batch.pickPosition.entries()) {
    const real = 3 - position;
    assertStrictEquals(batch.seqLen[k], real);
    assertStrictEquals(batch.nextSeqLen[k], real);
    const pad = (values: number[], width: number): number[] => [
      ...values.slice(position * width),
      ...new Array<number>(position * width).fill(0),
    ];
    assertEquals([...batch.state.subarray(6 * k, 6 * k + 6)], pad([1, 2, 3, 4, 5, 6], 2));
    assertEquals([...batch.nextState.subarray(6 * k, 6 * k + 6)], pad([3, 4, 5, 6, 7, 8], 2));
    assertEquals([...batch.reward.subarray(3 * k, 3 * k + 3)], pad([10, 20, 30], 1));
    assertEquals([...batch.discount.subarray(3 * k, 3 * k + 3)], pad([0.5, 0.5, 0], 1));
  }
});

Deno.test("truncated episodes bootstrap from the final state, terminated ones do not", async () => {
  for (const truncated of [false, true]) {
    using replay = await ExperienceReplay.create({
      capacity: 10,
      state: float32(1),
      pick: { discount: 0.9 },
    });
    const selector = replay.newPickSelector(uniform());
    replay.record(replay.newEpisode(), [1], 0, 1, { finalState: [2], truncated });
    const batch = replay.getBatch(1, selector);
    assertEquals([...batch.nextState], [2]);
    assertEquals([...batch.discount], [truncated ? Math.fround(0.9) : 0]);
  }
});

Deno.test("allowOpenEnd: the newest record counts at once, its next state does not", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(1),
    pick: { allowOpenEnd: true, discount: 0.9 },
  });
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  replay.record(episode, [1], 0, 1);
  const batch = replay.getBatch(1, selector);
  assertEquals([...batch.seqLen, ...batch.nextSeqLen, ...batch.discount, ...batch.nextState], [
    1,
    0,
    0,
    0,
  ]);
  replay.record(episode, [2], 0, 1);
  assertStrictEquals(replay.pickCount, 2);
});

Deno.test("getBatch() and batches() with their arguments turned round say how they are written", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  for (const call of ["getBatch", "batches"] as const) {
    const loose = replay[call].bind(replay) as (...args: unknown[]) => unknown;
    const { message } = assertThrows(() => loose(selector, 32), TypeError);
    assertMatch(message, new RegExp(`^${call}.* got 32; write ${call}\\(size, selector\\)$`));
  }
});
