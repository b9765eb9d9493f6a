/** Draws without replacement: the contract, no pick twice, and every order of every set as likely as the others. */
import { type PickSelector, RandomStream, type Selection, withoutReplacement } from "@exrp/replay";
import {
  assertEquals,
  assertGreater,
  assertLess,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { ChiSquare } from "../statistics/chi_square.ts";
import { conforms } from "./conforms.ts";

/**
 * The rule, with a batch larger than the table drawn as several that are not: the contract's tests draw such batches
 * from any rule.
 */
class InParts implements PickSelector {
  readonly #rule = withoutReplacement();
  readonly name = this.#rule.name;
  #count = 0;
  pushed(index: number): void {
    this.#count++;
    this.#rule.pushed(index);
  }
  moved(from: number, to: number): void {
    this.#rule.moved(from, to);
  }
  popped(index: number): void {
    this.#count--;
    this.#rule.popped(index);
  }
  setPriority(indices: Uint32Array<ArrayBuffer>, priorities: Float64Array<ArrayBuffer>): void {
    this.#rule.setPriority(indices, priorities);
  }
  select(count: number, out: Selection, random: RandomStream): void {
    for (let first = 0; first < count; first += this.#count) {
      const end = Math.min(count, first + this.#count);
      const index = out.index.subarray(first, end);
      const probability = out.probability.subarray(first, end);
      this.#rule.select(end - first, { index, probability }, random);
    }
  }
  save(): Uint8Array {
    return this.#rule.save?.() ?? new Uint8Array(1);
  }
  load(bytes: Uint8Array): void {
    this.#rule.load?.(bytes);
  }
}

conforms({ name: "withoutReplacement()", make: () => new InParts(), stationary: true });

/** A batch of a rule by itself. */
function draw(rule: PickSelector, count: number, random: RandomStream): number[] {
  const out = { index: new Uint32Array(count), probability: new Float64Array(count) };
  rule.select(count, out, random);
  return [...out.index];
}

Deno.test("withoutReplacement() draws no pick twice, whatever is recorded and evicted between", async () => {
  using replay = await smallReplay({ capacity: 200, seed: 3 });
  const selector = replay.newPickSelector(withoutReplacement());
  for (let round = 0; round < 500; round++) {
    recordEpisode(replay, 1 + round % 37, 100 * round);
    const size = 1 + (round * 7) % replay.pickCount;
    const batch = replay.getBatch(size, selector);
    assertStrictEquals(new Set(batch.state).size, size);
    assertEquals(new Set(batch.importanceWeight), new Set([1]));
    assertEquals(new Set(batch.probability), new Set([Math.fround(1 / replay.pickCount)]));
  }
});

Deno.test("withoutReplacement() gives the whole table when that many are asked for, and refuses one more", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(withoutReplacement());
  recordEpisode(replay, 9);
  for (let round = 0; round < 50; round++) {
    assertEquals(
      replay.getBatch(9, selector).pickPosition.sort(),
      Int32Array.from({ length: 9 }, (_, k) => k),
    );
  }
  const before = await replay.serialize();
  const text = "a batch of 10 was asked for, there are 9 picks";
  assertThrows(() => replay.getBatch(10, selector), RangeError, text);
  assertEquals(await replay.serialize(), before);
  assertStrictEquals(replay.getBatch(9, selector).size, 9);
});

Deno.test("withoutReplacement() draws all ordered samples equally often; a sample left unshuffled is noticed", () => {
  const tailOf = (sample: (random: RandomStream) => number[]): number => {
    const counts = new Map<string, number>();
    const random = new RandomStream(11);
    const draws = 60_000;
    for (let k = 0; k < draws; k++) {
      const key = sample(random).join();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const test = new ChiSquare();
    const seen = [...counts.values()];
    while (seen.length < 60) seen.push(0);
    test.add(seen, seen.map(() => draws / 60)); // 5 · 4 · 3 ordered samples of 3 out of 5
    return test.tail;
  };
  const rule = withoutReplacement();
  for (let k = 0; k < 5; k++) rule.pushed(k);
  assertGreater(tailOf((random) => draw(rule, 3, random)), 1e-4);
  const unshuffled = (random: RandomStream): number[] => {
    const sample: number[] = [];
    for (let last = 2; last < 5; last++) {
      const drawn = random.below(last + 1);
      sample.push(sample.includes(drawn) ? last : drawn);
    }
    return sample;
  };
  assertLess(tailOf(unshuffled), 1e-9);
});

Deno.test("withoutReplacement() refuses saved bytes that are not its own", () => {
  const rule = withoutReplacement();
  assertThrows(() => rule.load?.(new Uint8Array(1)), RangeError, "saves nothing");
  assertStrictEquals(rule.save?.().length, 0);
});
