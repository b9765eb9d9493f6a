/** The check of a batch takes what was stored, and nothing else. */
import { assertStrictEquals, assertThrows } from "../_assert.ts";
import {
  actionOf,
  type BatchColumn,
  checkFrames,
  checkVectors,
  ContentError,
  type DrawnBatch,
  frameOf,
  rewardOf,
  stateOf,
} from "../../bench/peers/_records.ts";

type Places = readonly (readonly [number, number])[];

function column(shape: number[], value: (k: number) => number): BatchColumn {
  const count = shape.reduce((product, size) => product * size, 1);
  return { shape, values: Array.from({ length: count }, (_, k) => value(k)) };
}

/** A right batch of records at these places, `length` to a pick. */
function vectors(places: Places, length = 1, flags = { crosses: false, pairs: false }): DrawnBatch {
  const rows = length === 1 ? [places.length] : [places.length / length, length];
  const at = (row: number): readonly [number, number] => places[row] ?? [-1, -1];
  const wide = (width: number, value: (e: number, p: number, k: number) => number) =>
    column([...rows, width], (k) => value(...at(Math.floor(k / width)), k % width));
  const columns = new Map([
    ["obs", wide(15, stateOf)],
    ["act", wide(3, actionOf)],
    ["rew", column(rows, (k) => rewardOf(...at(k)))],
    ["done", column(rows, (k) => at(k)[1] === 255 ? 1 : 0)],
    ["next_obs", wide(15, (e, p, k) => stateOf(e, p + 1, k))],
  ]);
  return { columns, ...flags };
}

/** The same batch with one number of a column changed. */
function spoil(batch: DrawnBatch, name: string, at: number): DrawnBatch {
  const columns = new Map(batch.columns);
  const { shape, values } = columns.get(name) ?? { shape: [], values: [] };
  columns.set(name, { shape, values: Array.from(values, (v, k) => k === at ? v + 1 : v) });
  return { ...batch, columns };
}

Deno.test("checkVectors() takes a right batch, and finds one wrong number in any column", () => {
  const batch = vectors([[0, 0], [0, 255], [3, 100], [700, 9]]);
  checkVectors(batch);
  for (const [name, { values }] of batch.columns) {
    for (let at = 0; at < values.length; at++) {
      assertThrows(() => checkVectors(spoil(batch, name, at)), ContentError, "row ");
    }
  }
});

Deno.test("checkVectors() finds a batch of the same record over and over", () => {
  assertThrows(() => checkVectors(vectors([[1, 2], [1, 2], [1, 2]])), ContentError, "only 1 of 3");
});

Deno.test("checkVectors() finds a sequence with a gap, and one over an episode's end unless the peer does that", () => {
  checkVectors(vectors([[1, 2], [1, 3], [4, 254], [4, 255]], 2));
  const gap = [[1, 2], [1, 4]] as const;
  const over = [[1, 255], [2, 0]] as const;
  const repeated = [[1, 0], [1, 0]] as const;
  const crosses = { crosses: true, pairs: false };
  for (const places of [gap, over, repeated]) {
    assertThrows(() => checkVectors(vectors(places, 2)), ContentError, "comes after");
  }
  checkVectors(vectors(over, 2, crosses));
  checkVectors(vectors(repeated, 2, crosses));
  assertThrows(() => checkVectors(vectors(gap, 2, crosses)), ContentError, "comes after");
});

Deno.test("checkVectors() lets only an episode's last next obs differ where a peer pairs what is stored", () => {
  const pairs = { crosses: false, pairs: true };
  const batch = vectors([[1, 255], [1, 7]], 1, pairs);
  checkVectors(spoil(batch, "next_obs", 0));
  assertThrows(() => checkVectors(spoil(batch, "next_obs", 15)), ContentError, "next_obs[0]");
});

/** Stacks of frames as a right batch has them. */
function frames(
  positions: readonly number[],
  flags = { crosses: false, pairs: false },
): DrawnBatch {
  const stack = (ahead: number) =>
    column([positions.length, 4], (k) => {
      const p = positions[Math.floor(k / 4)] ?? 0;
      return frameOf(Math.max(0, p + ahead - 3 + k % 4));
    });
  const columns = new Map([
    ["obs", stack(0)],
    ["obs_last", stack(0)],
    ["next_obs", stack(1)],
    ["next_obs_last", stack(1)],
  ]);
  return { columns, ...flags };
}

Deno.test("checkFrames() takes right stacks, and finds one wrong byte in any column", () => {
  const batch = frames([0, 1, 2, 9, 250, 251, 255]);
  checkFrames(batch);
  for (const [name, { values }] of batch.columns) {
    for (let at = 0; at < values.length; at++) {
      assertThrows(() => checkFrames(spoil(batch, name, at)), ContentError, "row ");
    }
  }
});

Deno.test("checkFrames() takes stacks over an episode's end only from a peer that does that", () => {
  const over: BatchColumn = column([1, 4], (k) => [3, 4, 0, 1][k] ?? 0);
  const after: BatchColumn = column([1, 4], (k) => [4, 0, 1, 2][k] ?? 0);
  const columns = new Map([["obs", over], ["obs_last", over], ["next_obs", after]]).set(
    "next_obs_last",
    after,
  );
  checkFrames({ columns, crosses: true, pairs: false });
  assertThrows(
    () => checkFrames({ columns, crosses: false, pairs: false }),
    ContentError,
    "frame 0 comes after 4",
  );
});

Deno.test("a ContentError is named, so that a run can tell it from other failures", () => {
  assertStrictEquals(new ContentError("x").name, "ContentError");
});
