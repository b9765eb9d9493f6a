import { RandomStream } from "@exrp/replay/selectors";
import { assert, assertEquals, assertLess, assertStrictEquals, assertThrows } from "../_assert.ts";

Deno.test("RandomStream: seeds and streams differ, equal ones are equal", () => {
  const draw = (seed: number, stream: number): number[] => {
    const random = new RandomStream(seed, stream);
    return Array.from({ length: 5 }, () => random.next());
  };
  assertEquals(draw(1, 2), draw(1, 2));
  const seen = new Set<string>();
  for (const seed of [0, 1, 2, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1]) {
    for (let stream = 0; stream < 8; stream++) seen.add(draw(seed, stream).join());
  }
  assertStrictEquals(seen.size, 48);
});

Deno.test("RandomStream: below() is uniform, and a slightly wrong die is noticed", () => {
  const random = new RandomStream(5);
  const chiSquare = (throwOne: () => number): number => {
    const counts = new Array<number>(7).fill(0);
    for (let k = 0; k < 70_000; k++) {
      const face = throwOne();
      counts[face] = (counts[face] ?? 0) + 1;
    }
    return counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
  };
  assertLess(chiSquare(() => random.below(7)), 27.9); // 6 degrees of freedom: one in 10,000
  assert(chiSquare(() => Math.floor(random.uniform() ** 1.05 * 7)) > 27.9);
});

Deno.test("RandomStream: uniform() stays in [0, 1), below() in its bound", () => {
  const random = new RandomStream(6);
  for (const bound of [1, 2, 3, 1000, 2 ** 31 + 1, 2 ** 32]) {
    for (let k = 0; k < 1000; k++) {
      const [value, number] = [random.uniform(), random.below(bound)];
      assert(value >= 0 && value < 1 && number >= 0 && number < bound && Number.isInteger(number));
    }
  }
  for (const bound of [0, -1, 0.5, NaN, 2 ** 32 + 1]) {
    assertThrows(() => random.below(bound), RangeError);
  }
});

Deno.test("RandomStream: a saved stream goes on where it was", () => {
  const random = new RandomStream(7);
  random.next();
  const other = new RandomStream(8);
  other.load(random.save());
  for (let k = 0; k < 10; k++) assertStrictEquals(other.next(), random.next());
  assertThrows(() => other.load(new Uint8Array(16)), RangeError);
  assertThrows(() => other.load(new Uint8Array(15).fill(1)), RangeError);
});
