/** Every dtype keeps its values, whichever way they come. */
import { bool, Column, type DType, ExperienceReplay, float32, uniform } from "@exrp/replay";
import { assert, assertEquals, assertMatch, assertThrows } from "../../_assert.ts";

type Record = (...args: unknown[]) => number;

const VALUES: {
  [D in DType]: { extremes: number[]; tooFar: number[]; array: (n: number[]) => unknown };
} = {
  uint8: { extremes: [0, 255, 7], tooFar: [-1, 256, 0.5, NaN], array: (n) => new Uint8Array(n) },
  int8: { extremes: [-128, 127, 7], tooFar: [-129, 128, 0.5, NaN], array: (n) => new Int8Array(n) },
  int16: {
    extremes: [-32768, 32767, 7],
    tooFar: [-32769, 32768, 0.5, Infinity],
    array: (n) => new Int16Array(n),
  },
  int32: {
    extremes: [-(2 ** 31), 2 ** 31 - 1, 7],
    tooFar: [-(2 ** 31) - 1, 2 ** 31, 0.5, NaN],
    array: (n) => new Int32Array(n),
  },
  float16: { extremes: [-65504, 65504, 0.5], tooFar: [], array: (n) => new Float16Array(n) },
  float32: {
    extremes: [-(2 ** 127), Infinity, 0.5],
    tooFar: [],
    array: (n) => new Float32Array(n),
  },
  float64: { extremes: [-1.7e308, 5e-324, NaN], tooFar: [], array: (n) => new Float64Array(n) },
  bool: { extremes: [0, 1, 1], tooFar: [2, -1, 0.5, NaN], array: (n) => new Uint8Array(n) },
};

async function roundTrip(column: Column, values: unknown[]): Promise<number[][]> {
  using replay = await ExperienceReplay.create({ capacity: 50, state: column, action: column });
  const selector = replay.newPickSelector(uniform());
  const record = replay.record.bind(replay) as unknown as Record;
  const seen: number[][] = [];
  for (const value of values) {
    const episode = replay.newEpisode();
    record(episode, value, value, 0, { finalState: value });
    const batch = replay.getBatch(1, selector);
    assertEquals(batch.state, batch.action);
    assertEquals(batch.state, batch.nextState);
    seen.push([...batch.state]);
    replay.evict(episode);
  }
  return seen;
}

for (const [dtype, { extremes, tooFar, array }] of Object.entries(VALUES)) {
  Deno.test(`${dtype} keeps its extremes in arrays and alone`, async () => {
    const column = new Column(dtype as DType, [extremes.length]);
    assertEquals(await roundTrip(column, [array(extremes), extremes]), [extremes, extremes]);
    const scalar = new Column(dtype as DType, []);
    assertEquals(await roundTrip(scalar, extremes), extremes.map((value) => [value]));
    // Long arrays take another way.
    const long = Array.from({ length: 999 }, (_, k) => extremes[k % 3] ?? 0);
    const longColumn = new Column(dtype as DType, [37, 27]);
    assertEquals(await roundTrip(longColumn, [array(long), long]), [long, long]);
  });

  Deno.test(`${dtype} refuses what does not fit`, async () => {
    using replay = await ExperienceReplay.create({
      capacity: 50,
      state: new Column(dtype as DType, [2]),
      action: new Column(dtype as DType, []),
    });
    const record = replay.record.bind(replay) as unknown as Record;
    const episode = replay.newEpisode();
    for (const bad of tooFar) {
      const inArray = assertThrows(() => record(episode, [1, bad], 1, 0), RangeError);
      assertMatch((inArray as Error).message, /state\[1\] must be/);
      const alone = assertThrows(() => record(episode, [1, 1], bad, 0), RangeError);
      assertMatch((alone as Error).message, /action must be/);
    }
    assertThrows(() => record(episode, array([1, 1, 1]), 1, 0), RangeError);
    for (
      const other of [
        BigInt64Array.of(1n, 1n),
        BigUint64Array.of(1n, 1n),
        new DataView(new ArrayBuffer(2)),
      ]
    ) {
      assertThrows(() => record(episode, other, 1, 0), TypeError);
    }
    assert((replay as unknown as ExperienceReplay).recordCount === 0);
  });
}

const NUMERIC = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float16Array,
  Float32Array,
  Float64Array,
];

/** What happened: the values that were stored, or the error's text. */
function outcome(record: () => number[]): string {
  try {
    return record().join();
  } catch (error) {
    return String(error);
  }
}

for (const [dtype, { extremes, tooFar }] of Object.entries(VALUES)) {
  Deno.test(`${dtype} takes a typed array of any kind as it takes a plain one`, async () => {
    const column = new Column(dtype as DType, [2]);
    using replay = await ExperienceReplay.create({
      capacity: 50,
      state: column,
      extras: { more: column },
    });
    const selector = replay.newPickSelector(uniform());
    const calls: ((values: unknown) => number[])[] = [
      "record",
      "recordStep",
      "recordMany",
      "recordBatch",
    ]
      .map((method) => (values) => {
        const episode = replay.newEpisode();
        const rest = { action: 0, reward: 0, extras: { more: values } };
        const target = replay as unknown as globalThis.Record<string, Record>;
        const step = {
          state: values,
          nextState: values,
          terminated: true,
          truncated: false,
          ...rest,
        };
        const many = { state: values, action: [0], reward: [0], extras: { more: values } };
        try {
          if (method === "record") {
            target[method]?.(episode, values, 0, 0, {
              finalState: values,
              extras: { more: values },
            });
          } else if (method === "recordStep") target[method]?.(episode, step);
          else if (method === "recordMany") {
            target[method]?.(episode, { ...many, finalState: values });
          } else {
            const flags = { terminated: Float32Array.of(1), nextState: values };
            target[method]?.(Float64Array.of(episode), { ...many, ...flags });
          }
          const { state, nextState, extras: { more } } = replay.getBatch(1, selector);
          assertEquals([nextState, more], [state, state]);
          return [...state];
        } finally {
          for (const handle of replay.episodes().handle) replay.evict(handle);
        }
      });
    const numbers = [...extremes, ...tooFar, 3, 300, -3, 70000.5, NaN];
    for (const call of calls) {
      for (const kind of NUMERIC) {
        for (const number of numbers) {
          const typed = kind.of(1, number);
          assertEquals(outcome(() => call(typed)), outcome(() => call([...typed])), kind.name);
        }
      }
    }
  });
}

Deno.test("bool takes true and false, and its bytes are 0 and 1", async () => {
  assertEquals(await roundTrip(bool(2), [[true, false], [false, 1]]), [[1, 0], [0, 1]]);
  assertEquals(await roundTrip(bool(), [true, false]), [[1], [0]]);
  using replay = await ExperienceReplay.create({ capacity: 5, state: bool(2) });
  assertThrows(() => replay.record(replay.newEpisode(), new Uint8Array([1, 2]), 0, 0), RangeError);
});

Deno.test("a state may be part of a larger array, and shared memory", async () => {
  using replay = await ExperienceReplay.create({ capacity: 5, state: float32(2) });
  const selector = replay.newPickSelector(uniform());
  const part = new Float32Array([0, 1, 2, 3]).subarray(1, 3);
  const shared = new Float32Array(new SharedArrayBuffer(8));
  shared.set([5, 6]);
  replay.record(replay.newEpisode(), part, 0, 0, { finalState: shared });
  const batch = replay.getBatch(1, selector);
  assertEquals([...batch.state, ...batch.nextState], [1, 2, 5, 6]);
});
