import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { minSize, queue, samplesPerInsert } from "@exrp/replay";
import { checkRateLimiter, neverDeadlocks, wideEnough } from "../../rate_limiters/checks.ts";
import { rateLimiterOf } from "../../rate_limiters/of_numbers.ts";
import type { RateLimiterNumbers } from "../../rate_limiters/rate_limiter.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { triedBands } from "./_bands.ts";

const SEED = 20261123;

function numbersOf(
  ratio: number,
  minSize: number,
  least: number,
  largest: number,
): RateLimiterNumbers {
  return { ratio, minSize, differenceMin: least, differenceMax: largest };
}

/** Makes the calls that may come, one by one, from an empty table on, in the numbers of the kernel. Samples come first, or inserts. */
function deadlocks(
  { ratio, minSize, differenceMin, differenceMax }: RateLimiterNumbers,
  samplesFirst: boolean,
  callsMax = 2000 + 10 * Math.ceil(ratio),
): boolean {
  let inserts = 0;
  let samples = 0;
  for (let calls = 0; calls < callsMax; calls++) {
    const canSample = inserts >= minSize && inserts * ratio - samples - 1 >= differenceMin;
    const canInsert = inserts < minSize || (inserts + 1) * ratio - samples <= differenceMax;
    if (!canSample && !canInsert) return true;
    if (canSample && (samplesFirst || !canInsert)) samples++;
    else inserts++;
  }
  return false;
}

Deno.test("a band that deadlocked on Reverb's server is refused", () => {
  const seen = { refused: 0, taken: 0 };
  for (const { band, still } of triedBands) {
    const isTaken = neverDeadlocks(numbersOf(...band));
    if (still !== undefined) assertEquals(isTaken, false, `${band}`);
    seen[isTaken ? "taken" : "refused"]++;
  }
  assert(seen.taken >= 9 && seen.refused >= 14, JSON.stringify(seen));
});

Deno.test("what Reverb's rate limiters ask for is taken", () => {
  for (const size of [1, 2, 100, 2 ** 28]) assert(neverDeadlocks(queue(size).numbers));
  for (const size of [1, 1000]) assert(neverDeadlocks(minSize(size).numbers));
  // SampleToInsertRatio refuses a smaller error than this one itself.
  for (const ratio of [0.01, 0.1, 0.25, 0.3, 0.5, 0.75, 1, 1.3, 2, 2.5, 8, 32, 1000]) {
    const error = Math.max(1, ratio);
    for (const size of [1, 100, 1e6]) {
      const { numbers } = samplesPerInsert(ratio, { minSize: size, error });
      assert(neverDeadlocks(numbers), `${ratio}, ${size}`);
    }
  }
});

Deno.test(`no band that is taken deadlocks, and with a whole ratio, each one that is refused does (seed ${SEED})`, () => {
  const random = new RandomStream(SEED);
  const seen = { taken: 0, refused: 0, tight: 0 };
  for (let round = 0; round < 6000; round++) {
    const isWhole = random.below(2) === 0;
    const ratio = isWhole ? 1 + random.below(9) : (1 + random.below(900)) / (1 + random.below(300));
    const least = (random.below(801) - 400) / ([1, 2, 10, 16][random.below(4)] ?? 1);
    // Widths about the border: a little less and a little more than 1 + ratio.
    const more = [-1, 0, 0.9, 1, 1.001, 1.0011, 1.1, 2][random.below(8)] ?? 1;
    const width = Math.max(0, ratio + more);
    const numbers = numbersOf(ratio, 1 + random.below(4), least, least + width);
    const isTaken = neverDeadlocks(numbers);
    const text = `round ${round}: ${JSON.stringify(numbers)}`;
    const found = [true, false].map((samplesFirst) => deadlocks(numbers, samplesFirst));
    if (isTaken) assertEquals(found, [false, false], text);
    else if (Number.isInteger(ratio)) assertEquals(found, [true, true], text);
    seen[isTaken ? "taken" : "refused"]++;
    if (isTaken && width < 1.002 + ratio) seen.tight++;
    // The width that an error names is enough.
    const wide = { ...numbers, differenceMax: least + wideEnough(numbers) + 1e-9 };
    assert(neverDeadlocks(wide), text);
  }
  assert(seen.taken > 2000 && seen.refused > 2000 && seen.tight > 500, JSON.stringify(seen));
});

Deno.test("bands that rounding makes too narrow are refused", () => {
  for (
    const [ratio, least, largest, calls] of [
      [1.3, 0.1, 2.4, 20],
      [0.3, 0.1, 1.4000000000000001, 40],
      [1.4, 0, 2.4, 60_000],
    ] as const
  ) {
    const numbers = numbersOf(ratio, 1, least, largest);
    assertEquals([deadlocks(numbers, true, calls), neverDeadlocks(numbers)], [true, false]);
    const wide = { ...numbers, differenceMax: least + wideEnough(numbers) };
    assertEquals([deadlocks(wide, true, calls), neverDeadlocks(wide)], [false, true]);
  }
  // Counts and ends so large that a difference has few digits left.
  for (const least of [2 ** 45, -(2 ** 45)]) {
    assertEquals(neverDeadlocks(numbersOf(1000.3, 1, least, least + 1001.301)), false);
    assertEquals(neverDeadlocks(numbersOf(1000.3, 1, least, least + 1001.5)), true);
  }
});

Deno.test("a rate limiter is known again by its numbers", () => {
  for (
    const rule of [
      ...[minSize(5), queue(7), queue(1), samplesPerInsert(8, { minSize: 10, error: [0, 99] })],
      samplesPerInsert(2, { minSize: 3, error: [-Infinity, 9] }),
    ]
  ) {
    assertEquals(rateLimiterOf(rule.numbers), rule);
  }
  const { name, numbers } = rateLimiterOf(samplesPerInsert(8, { minSize: 10, error: 80 }).numbers);
  assertEquals([name, numbers.differenceMin, numbers.differenceMax], ["samplesPerInsert", 0, 160]);
  const largest = Number.MAX_VALUE;
  assertEquals(rateLimiterOf(numbersOf(1, 4, -largest, largest)), minSize(4));
});

Deno.test("what is no rate limiter is refused", () => {
  const words = "x must be minSize(), samplesPerInsert() or queue(), got";
  for (const value of [undefined, 3, { ratio: 1 }]) {
    assertThrows(() => checkRateLimiter("x", value), TypeError, words);
  }
});
