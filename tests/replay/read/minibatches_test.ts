/** Minibatches of drained steps and of pick views: each row once an epoch, in an order that a seed repeats. */
import { ExperienceReplay, float32, lru, uint8 } from "@exrp/replay";
import type { PickMinibatchOptions } from "@exrp/replay/types";
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { KeepBest } from "../../../examples/custom_eviction.ts";
import { chiSquareTail } from "../../whole/statistics/chi_square.ts";
import { assertReplayError, recordEpisode, smallReplay } from "../_helpers.ts";

/** 0 to `count - 1`. */
function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, k) => k);
}

function sorted(values: Iterable<number>): number[] {
  return [...values].sort((a, b) => a - b);
}

for (const [count, size] of [[10, 3], [9, 3], [5, 8], [1, 1], [7, 1]] as const) {
  Deno.test(`minibatches(${size}) of ${count} drained steps: each row once an epoch, all arrays together`, async () => {
    using replay = await ExperienceReplay.create({
      capacity: 100,
      segmentLength: 100,
      state: float32(60), // rows that are copied at once
      action: uint8(3), // and such that are not
      extras: { logProb: float32() },
      seed: 9,
    });
    replay.recordMany(replay.newEpisode(), {
      state: Float32Array.from({ length: 60 * count }, (_, k) => k),
      action: Uint8Array.from({ length: 3 * count }, (_, k) => k),
      reward: numbers(count),
      extras: { logProb: numbers(count).map((k) => 1000 - k) },
      finalState: new Float32Array(60),
    });
    const steps = replay.drain();
    const own = {
      advantage: steps.reward.map((each) => 10 * each),
      pair: new Float64Array(2 * count),
    };
    numbers(2 * count).forEach((k) => own.pair[k] = k);
    const epochs: number[][] = [];
    const sizes: number[] = [];
    for (const batch of steps.minibatches(size, { epochs: 3, own })) {
      sizes.push(batch.size);
      (epochs[batch.epoch] ??= []).push(...batch.index);
      assertEquals([batch.state.length, batch.action.length], [60 * batch.size, 3 * batch.size]);
      for (const [k, row] of batch.index.entries()) {
        assertStrictEquals(batch.reward[k], row);
        assertStrictEquals(batch.extras.logProb[k], 1000 - row);
        assertStrictEquals(batch.own.advantage[k], 10 * row);
        assertEquals([...batch.own.pair.subarray(2 * k, 2 * k + 2)], [2 * row, 2 * row + 1]);
        assertEquals([...batch.action.subarray(3 * k, 3 * k + 3)], [
          3 * row,
          3 * row + 1,
          3 * row + 2,
        ]);
        assertEquals(
          batch.state.subarray(60 * k, 60 * k + 60),
          steps.state.subarray(60 * row, 60 * row + 60),
        );
      }
    }
    const rest = count % size;
    const whole = new Array<number>(Math.floor(count / size)).fill(size);
    const each = rest > 0 ? [...whole, rest] : whole;
    assertEquals(sizes, [...each, ...each, ...each]);
    for (const epoch of epochs) assertEquals(sorted(epoch), numbers(count));
    if (count > 6) assertNotEquals(epochs[0], epochs[1]);
    const dropped = [...steps.minibatches(size, { dropLast: true })].map((batch) => batch.size);
    assertEquals(dropped, whole);
  });
}

Deno.test("minibatches() of drained steps uses the same memory, and its order follows from the seed", async () => {
  const orders = async (seed?: number): Promise<number[][]> => {
    using replay = await smallReplay({ capacity: 64, seed: 3 });
    recordEpisode(replay, 40);
    const steps = replay.drain();
    const options = seed === undefined ? {} : { seed };
    const once = (): number[] =>
      [...steps.minibatches(7, options)].length > 0
        ? [...steps.minibatches(40, options)].flatMap((batch) => [...batch.index])
        : [];
    const [memory] = steps.minibatches(8).map((batch) => batch.state.buffer).take(1);
    for (const batch of steps.minibatches(8)) assert(batch.state.buffer !== memory);
    const buffers = new Set(steps.minibatches(7).map((batch) => batch.state.buffer));
    assertStrictEquals(buffers.size, 1);
    return [once(), once()];
  };
  assertEquals(await orders(), await orders());
  const [first, second] = await orders();
  assertNotEquals(first, second);
  const [one, same] = await orders(5);
  assertEquals(one, same);
  assertNotEquals(one, (await orders(6))[0]);
});

Deno.test("every order of the rows is as likely (seed 1)", async () => {
  using replay = await smallReplay({ seed: 1 });
  recordEpisode(replay, 4);
  const steps = replay.drain();
  const counts = new Map<string, number>();
  const rounds = 24_000;
  for (const { index } of steps.minibatches(4, { epochs: rounds })) {
    counts.set(String(index), (counts.get(String(index)) ?? 0) + 1);
  }
  const tail = (seen: Iterable<number>): number => {
    const expected = rounds / 24;
    let statistic = 0;
    for (const count of seen) statistic += (count - expected) ** 2 / expected;
    return chiSquareTail(statistic, 23);
  };
  assertStrictEquals(counts.size, 24);
  assert(tail(counts.values()) > 1e-4);
  // The twin: swaps with any place, as a shuffle that is often written wrongly does, make some orders likelier.
  const wrong = new Map<string, number>();
  let state = 1;
  for (let round = 0; round < rounds; round++) {
    const rows = numbers(4);
    for (let k = 0; k < 4; k++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const other = Math.floor(state / 2 ** 32 * 4);
      [rows[k], rows[other]] = [rows[other] ?? 0, rows[k] ?? 0];
    }
    wrong.set(String(rows), (wrong.get(String(rows)) ?? 0) + 1);
  }
  assert(tail(wrong.values()) < 1e-6);
});

Deno.test("minibatches() refuses what it can't use", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 3);
  const steps = replay.drain({ keep: true });
  const wrong: [unknown[], typeof TypeError | typeof RangeError, string][] = [
    [[0], RangeError, "minibatches(): size"],
    [["4"], TypeError, "minibatches(): size"],
    [[2, { epochs: 0 }], RangeError, "minibatches(): epochs"],
    [[2, { dropLast: 1 }], TypeError, "minibatches(): dropLast"],
    [[2, { seed: -1 }], RangeError, "minibatches(): seed"],
    [[2, { epoch: 1 }], TypeError, "has no option"],
  ];
  const refuse = (call: (...args: never[]) => unknown): void => {
    for (const [args, kind, text] of wrong) {
      assertThrows(() => call(...args as never[]), kind, text);
    }
  };
  refuse((...args) => steps.minibatches(...args as unknown as [number]));
  refuse((...args) => replay.minibatches(...args as unknown as [number]));
  assertThrows(
    () => steps.minibatches(2, { own: { a: new Float32Array(4) } }),
    RangeError,
    "own.a",
  );
  using other = await smallReplay();
  const view = other.newPickView({ length: 2 });
  assertThrows(() => replay.minibatches(2, { view: view }), TypeError, "got one of another");
  assertThrows(
    () => replay.minibatches(2, { view: 0 } as unknown as PickMinibatchOptions),
    TypeError,
    "must be a pick view of this replay",
  );
  const open = replay.minibatches(2);
  replay[Symbol.dispose]();
  assertReplayError(() => replay.minibatches(2), "disposed");
  assertReplayError(() => open.next(), "disposed");
});

Deno.test("minibatches() of a pick view: each pick once an epoch, of the view that was asked", async () => {
  using replay = await smallReplay({ capacity: 100 });
  const pairs = replay.newPickView({ length: 2, stack: 2 });
  recordEpisode(replay, 10);
  recordEpisode(replay, 5, 100);
  for (const [view, count, length] of [[undefined, 15, 1], [pairs, 13, 2]] as const) {
    const options = view === undefined ? { epochs: 2 } : { epochs: 2, view };
    const seen: number[] = [];
    const sizes: number[] = [];
    for (const batch of replay.minibatches<never>(4, options as PickMinibatchOptions<never>)) {
      sizes.push(batch.size);
      assertStrictEquals(batch.length, length);
      for (let k = 0; k < batch.size; k++) {
        seen.push(100 * (batch.pickEpisode[k] ?? NaN) + (batch.pickPosition[k] ?? NaN));
        assert(Math.abs((batch.probability[k] ?? NaN) - 1 / count) < 1e-6);
        assertStrictEquals(batch.importanceWeight[k], 1);
      }
    }
    const rest = count % 4;
    assertEquals(sizes, [4, 4, 4, rest, 4, 4, 4, rest]);
    const all = [...numbers(11 - length), ...numbers(6 - length).map((k) => 100 + k)];
    assertEquals(sorted(seen), sorted([...all, ...all]));
  }
  const reused = new Set([...replay.minibatches(5, { reuse: true, epochs: 2 })]);
  assertStrictEquals(reused.size, 1);
  assertStrictEquals(new Set([...replay.minibatches(5, { epochs: 2 })]).size, 6);
  assertEquals([...replay.minibatches(4, { dropLast: true })].map(({ size }) => size), [4, 4, 4]);
});

Deno.test("picks that go during an epoch are passed over, and new ones come in the next", async () => {
  for (const eviction of [lru(), new KeepBest()]) {
    using replay = await smallReplay({ capacity: 100, eviction, seed: 2 });
    recordEpisode(replay, 10);
    const gone = recordEpisode(replay, 10, 100);
    const seen: number[] = [];
    const stream = replay.minibatches(3, { epochs: 2 });
    for (let k = 0; k < 2; k++) seen.push(...stream.next().value?.state ?? []);
    replay.evict(gone);
    recordEpisode(replay, 4, 200);
    const before = new Set(seen.filter((state) => state >= 100));
    for (const { state } of stream) seen.push(...state);
    const first = seen.slice(0, 10 + before.size);
    assertEquals(sorted(first), sorted([...numbers(10), ...before]));
    assertEquals(sorted(seen.slice(first.length)), [...numbers(10), 200, 201, 202, 203]);
  }
});

Deno.test("a snapshot that is loaded during an epoch ends it with an error", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 10);
  const bytes = await replay.serialize();
  const stream = replay.minibatches(3);
  stream.next();
  await replay.unserialize(bytes);
  assertReplayError(() => stream.next(), "record-unknown");
  assertEquals([...replay.minibatches(3)].length, 4);
});

Deno.test("minibatches() of an empty view gives none", async () => {
  using replay = await smallReplay();
  assertEquals([...replay.minibatches(3, { epochs: 3 })], []);
  assertEquals([...replay.drain().minibatches(3, { epochs: 3 })], []);
});
