/**
 * Batches that kernel/batches/pipelined_copier.hpp copies hold what the general ways copy: a twin whose states are large, which the copier doesn't
 * take, draws the same picks. Columns beside the copier's come in too: large ones, and those that are kept for some records only.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  type Columns,
  every,
  ExperienceReplay,
  float32,
  float64,
  int16,
  int32,
  type PickOptions,
  uint8,
  uniform,
} from "@exrp/replay";
import type { AnyPick } from "@exrp/replay/types";
import { RandomStream } from "@exrp/replay/selectors";
import { assert, assertEquals } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { Buffer } from "node:buffer";

type NumbersSchema = {
  state: Column<"float32", readonly number[]>;
  action: Column;
  extras: Columns;
  pick: AnyPick;
};
type Numbers = ExperienceReplay<NumbersSchema>;

// 1 to 128 bytes: every width that the copier has a way of its own for, and those between; and large ones.
const actions: Column[] = [
  uint8(),
  int16(),
  uint8(3),
  uint8(7),
  int32(),
  float64(),
  uint8(9),
  float32(3),
  uint8(15),
  float32(4),
  uint8(17),
  float32(7),
  float32(8),
  float32(12),
  uint8(65),
  float64(12),
  uint8(101),
  uint8(128),
  float32(33),
  uint8(300),
];
const picks: PickOptions[] = [
  { length: 1 },
  { length: 1, allowOpenEnd: true },
  { length: 2, stride: 3 },
  { length: 8, allowShort: true, discount: 0.5, ends: true },
  { length: 17, allowShort: true, allowOpenEnd: true },
  { length: 40 },
  { length: 1, nextState: "overlap", ends: true },
  { length: 6, nextState: "overlap", allowShort: true },
  { length: 8, nextState: false, allowOpenEnd: true },
  { length: 1, nStep: 3, discount: 0.9 },
  { length: 1, nStep: [1, 3, 5], discount: 0.99, nextState: "copy" },
  { length: 1, nStep: [7, 2], discount: 0.7, allowShort: true, allowOpenEnd: true, ends: true },
  { length: 4, nStep: [2, 30], discount: 0.95, nextState: "overlap", ends: true },
  { length: 3, nStep: [1, 64], discount: 0.97, allowShort: true, stride: 2 },
  { length: 1, nStep: [65, 4], discount: 1 },
];
const extras: Columns[] = [
  { small: uint8(8) },
  { wide: uint8(129), small: float32(2), wider: float32(200) },
  { kept: every(4, float32(3)), small: int16() },
  { rare: every(37, uint8(200)), wide: float64(20), kept: every(3, int32()) },
];
const parts = [
  "action",
  "reward",
  "discount",
  "terminated",
  "truncated",
  "seqLen",
  "nextSeqLen",
  "pickEpisode",
  "pickPosition",
  "probability",
  "importanceWeight",
] as const;

/** Numbers of a state that is too large for the copier. */
const WIDE = 40;

interface Schema {
  readonly size: number;
  readonly action: Column;
  readonly extras: Columns;
}

type Backend = "native" | "wasm";
type Numeric = ArrayLike<number> & ArrayBufferView<ArrayBuffer>;

async function make(
  backend: Backend,
  schema: Schema,
  pick: PickOptions,
  blockLength: number,
): Promise<Numbers> {
  return await ExperienceReplay.create({
    backend,
    capacity: 600,
    state: float32(schema.size),
    action: schema.action,
    extras: schema.extras,
    pick,
    segmentLength: 90,
    blockLength,
    seed: 11,
  }) as unknown as Numbers;
}

/** Every part of a batch, by name; of states the first `size` numbers. */
function partsOf(
  batch: Batch<NumbersSchema>,
  wide: number,
  size: number,
): [string, Numeric][] {
  const states = (values: Float32Array<ArrayBuffer>) => firstOfRows(values, wide, size);
  return [
    ["state", states(batch.state)],
    ["nextState", states(batch.nextState)],
    ...parts.map((part): [string, Numeric] => [part, batch[part]]),
    ...Object.entries(batch.extras as Record<string, Numeric>),
    ...batch.nStep.flatMap(({ n, reward, nextState, discount }): [string, Numeric][] => [
      [`${n}-step reward`, reward],
      [`${n}-step nextState`, states(nextState)],
      [`${n}-step discount`, discount],
    ]),
  ];
}

/** The numbers of the first `to` of each row of `from`. */
function firstOfRows(
  values: Float32Array<ArrayBuffer>,
  from: number,
  to: number,
): Float32Array<ArrayBuffer> {
  if (from === to) return values;
  const first = new Float32Array(values.length / from * to);
  for (let row = 0; row * to < first.length; row++) {
    first.set(values.subarray(row * from, row * from + to), row * to);
  }
  return first;
}

/** assertEquals, which takes long for long arrays, only where there is something to show. */
function assertSame(actual: Numeric, expected: Numeric | undefined, what: string): void {
  assert(expected !== undefined, what);
  if (bytesOf(actual).equals(bytesOf(expected))) return;
  assertEquals(Array.from(actual), Array.from(expected), what);
}

function bytesOf({ buffer, byteOffset, byteLength }: Numeric): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The same records into both, by three actors in turn, so that episodes lie torn over the pool; some are left open. */
function recordInto(replay: Numbers, seed: number, schema: Schema, size: number): void {
  const random = new RandomStream(seed, 0);
  const numbers = (count: number) =>
    Array.from({ length: count }, () => Math.floor(100 * random.uniform()));
  const valueOf = (shape: readonly number[], values: number[]) =>
    (shape.length === 0 ? values[0] ?? 0 : values) as number;
  const stateOf = () => {
    const state = new Float32Array(schema.size);
    for (let k = 0; k < size; k++) state[k] = Math.floor(100 * random.uniform());
    return state;
  };
  const episodes = [0, 1, 2].map(() => replay.newEpisode());
  for (let step = 0; step < 700; step++) {
    const actor = Math.floor(3 * random.uniform());
    const handle = episodes[actor] ?? -1;
    const state = stateOf();
    const action = numbers(schema.action.elementCount);
    const end = random.uniform();
    const given = Object.fromEntries(
      Object.entries(schema.extras).map((
        [name, { shape, elementCount }],
      ) => [name, valueOf(shape, numbers(elementCount))]),
    );
    const value = valueOf(schema.action.shape, action);
    const reward = random.uniform() - 0.5;
    if (end > 0.012) {
      episodes[actor] = replay.record(handle, state, value, reward, { extras: given });
      continue;
    }
    const finalState = stateOf();
    replay.record(handle, state, value, reward, {
      extras: given,
      finalState,
      truncated: end < 0.004,
    });
    episodes[actor] = replay.newEpisode();
  }
}

Deno.test("the pipelined copier copies what the general ways copy", () => compare("native"));

// Its flights are longer there, and it looks picks up in another way.
Deno.test("the pipelined copier copies what the general ways copy, on WebAssembly", () =>
  compare("wasm"));

async function compare(backend: Backend): Promise<void> {
  const seed = 261123;
  const random = new RandomStream(seed, 1);
  let turn = 0;
  for (let state = 1; state <= 32; state += amount(3, 1)) {
    const action = actions[state % actions.length] ?? uint8();
    // Each policy with every other width: all of both, with half the pairs.
    for (const pick of picks.filter((_, k) => (k + state) % 2 === 0)) {
      const blockLength = [2, 16, 64][Math.floor(3 * random.uniform())] ?? 16;
      const beside = extras[turn++ % extras.length] ?? {};
      const schema = { size: state, action, extras: beside };
      const wider = { ...schema, size: WIDE };
      using walked = await make(backend, schema, pick, blockLength);
      using general = await make(backend, wider, pick, blockLength);
      recordInto(walked, seed, schema, state);
      recordInto(general, seed, wider, state);
      const [one, two] = [walked.newPickSelector(uniform()), general.newPickSelector(uniform())];
      const what = `state of ${state} numbers, ${action}, ${Object.entries(beside)}, ${
        JSON.stringify(pick)
      }`;
      assert(walked.pickCount > 0, what);
      for (const size of [1, 31, 64, 200, 300]) {
        const into = walked.getBatch(size, one);
        into.bytes.fill(0xee);
        general.getBatch(size, two);
        // One more draw of both: into memory that isn't zero, and into fresh one.
        walked.getBatch(size, one, { into });
        const batch = general.getBatch(size, two);
        const expected = new Map(partsOf(batch, WIDE, state));
        for (const [part, value] of partsOf(into, state, state)) {
          assertSame(value, expected.get(part), `${part} of ${size}: ${what}`);
        }
      }
    }
  }
}
