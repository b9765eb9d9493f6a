import { assertEquals, assertThrows } from "@std/assert";
import { minSize, queue, samplesPerInsert } from "@exrp/replay";
import { checkLimiter, limiterOf, standsStillAfter, wideEnough } from "../../pace/limiter.ts";
import type { PaceNumbers } from "../../pace/pace_rule.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { triedBands } from "./_bands.ts";

const SEED = 20261123;

function numbersOf(ratio: number, minSize: number, least: number, largest: number): PaceNumbers {
  return { ratio, minSize, differenceMin: least, differenceMax: largest };
}

Deno.test("a band stands still exactly where it did on Reverb's server, after as many calls", () => {
  for (const { band, maxTimesSampled, still } of triedBands) {
    const after = standsStillAfter(numbersOf(...band), { maxSize: 1000, maxTimesSampled });
    const expected = still && { inserts: still[0], samples: still[1] };
    assertEquals(after, expected, `${band}, ${maxTimesSampled}`);
  }
});

/** Makes calls one by one, from an empty table on. */
function standsStill(
  { ratio, minSize, differenceMin, differenceMax }: PaceNumbers,
  callsMax = 2000,
): boolean {
  let inserts = 0;
  let samples = 0;
  for (let calls = 0; calls < callsMax; calls++) {
    if (inserts >= minSize && inserts * ratio - samples - 1 >= differenceMin) samples++;
    else if (inserts < minSize || (inserts + 1) * ratio - samples <= differenceMax) inserts++;
    else return true;
  }
  return false;
}

Deno.test(`a band goes on exactly if p + q multiples of 1/q lie in it, for a ratio p/q (seed ${SEED})`, () => {
  const random = new RandomStream(SEED);
  const seen = { still: 0, narrow: 0 };
  for (let round = 0; round < 3000; round++) {
    const q = [1, 2, 4, 8][random.below(4)] ?? 1;
    const p = [1, 3, 5, 7, 9, 11][random.below(6)] ?? 1;
    const eighths = 1 + random.below(8 + 8 * Math.ceil(p / q));
    const least = (random.below(81) - 40) / 16;
    const numbers = numbersOf(p / q, 1 + random.below(4), least, least + eighths / 8);
    const { ratio, differenceMin, differenceMax } = numbers;
    const after = standsStillAfter(numbers, { maxSize: 10 });
    const text = `round ${round}: ${JSON.stringify(numbers)}`;
    const room = Math.floor(differenceMax * q) - Math.ceil(differenceMin * q) + 1 >= p + q;
    assertEquals(after === undefined, room, text);
    assertEquals(after !== undefined, standsStill(numbers), text);
    if (after !== undefined) seen.still++;
    else if (differenceMax - differenceMin < 1 + ratio) seen.narrow++;
  }
  assertEquals([seen.still > 500, seen.narrow > 100], [true, true], JSON.stringify(seen));
});

Deno.test("a band that is far from where the counts begin is judged without a walk, which would never end", () => {
  for (const minSize of [1, 2 ** 40]) {
    for (const [least, width] of [[0, 1000], [2 ** 45, 1000], [-(2 ** 45), 1000]] as const) {
      const good = numbersOf(1000, minSize, least, least + width);
      assertEquals(standsStillAfter(good, { maxSize: 9 }), undefined);
      const bad = numbersOf(1000, minSize, least, least + width - 0.5);
      assertEquals(typeof standsStillAfter(bad, { maxSize: 9 }), "object");
    }
  }
});

Deno.test("a band that rounding makes too narrow is refused, and the width that is named goes on", () => {
  const table = { maxSize: 1000 };
  for (
    const [ratio, least, largest, still] of [
      [1.3, 0.1, 2.4, { inserts: 7, samples: 8 }],
      [0.3, 0.1, 1.4000000000000001, { inserts: 27, samples: 7 }],
      [1.4, 0, 2.4, { inserts: 23405, samples: 32766 }],
      [2.8, 0, 3.8, undefined],
      [0.7, 0.1, 1.8, undefined],
      [Math.PI, 0, 1 + Math.PI, undefined],
      [5e-324, 5, 5, undefined],
      [5e-324, 0, 1, undefined],
      [1e-9, 0, 1, undefined],
    ] as const
  ) {
    const numbers = numbersOf(ratio, 1, least, largest);
    const after = standsStillAfter(numbers, table);
    if (still !== undefined) assertEquals(after, still);
    assertEquals(after === undefined, false, `${ratio}, [${least}, ${largest}]`);
    const width = wideEnough(numbers, table);
    assertEquals(width <= 1.002 + ratio, true);
    const wide = { ...numbers, differenceMax: least + width };
    assertEquals(standsStillAfter(wide, table), undefined);
    assertEquals(standsStill(wide, 100_000), false);
  }
  for (const ratio of [0.5, 1, 2, 8, 0.1, 0.3]) {
    assertEquals(standsStillAfter(numbersOf(ratio, 1, 0, 1 + ratio + 1e-3), table), undefined);
  }
  for (const ratio of [0.25, 0.5, 1, 2, 8]) {
    const numbers = numbersOf(ratio, 1, 0, 0);
    assertEquals(wideEnough(numbers, table), 1 + ratio);
    assertEquals(standsStillAfter(numbersOf(ratio, 1, 0, 1 + ratio), table), undefined);
  }
});

Deno.test("with maxTimesSampled, a narrow band goes on only if it does with each sampler", () => {
  const after = (maxTimesSampled: number, ...band: Parameters<typeof numbersOf>): unknown =>
    standsStillAfter(numbersOf(...band), { maxSize: 2e9, maxTimesSampled });
  for (const largest of [2, 3.5]) assertEquals(typeof after(2, 2, 2, 2, largest), "object");
  assertEquals(after(1, 2, 2, 2, 2), undefined);
  // The difference falls by a half with each item, from far above the band.
  assertEquals(typeof after(1, 0.5, 1e9, 0, 0.1), "object");
  assertEquals(after(1, 1, 1, 5e6, 5e6), { inserts: 5e6, samples: 0 });
  // What queues and stacks have, and agents.
  for (const size of [1, 2, 100]) assertEquals(after(1, 1, 1, 0, size), undefined);
  for (const ratio of [0.25, 1, 8, 32]) {
    const { numbers } = samplesPerInsert(ratio, { minSize: 100, error: Math.max(1, ratio) });
    for (const times of [undefined, 1, 4]) {
      assertEquals(standsStillAfter(numbers, { maxSize: 1000, maxTimesSampled: times }), undefined);
    }
  }
});

Deno.test("a limiter is known again by its numbers", () => {
  for (
    const rule of [
      ...[minSize(5), queue(7), queue(1), samplesPerInsert(8, { minSize: 10, error: [0, 99] })],
      samplesPerInsert(2, { minSize: 3, error: [-Infinity, 9] }),
    ]
  ) {
    assertEquals(limiterOf(rule.numbers), rule);
  }
  const { name, numbers } = limiterOf(samplesPerInsert(8, { minSize: 10, error: 80 }).numbers);
  assertEquals([name, numbers.differenceMin, numbers.differenceMax], ["samplesPerInsert", 0, 160]);
  const largest = Number.MAX_VALUE;
  assertEquals(limiterOf(numbersOf(1, 4, -largest, largest)), minSize(4));
});

Deno.test("what is no limiter is refused", () => {
  const words = "x must be minSize(), samplesPerInsert() or queue(), got";
  for (const value of [undefined, 3, { ratio: 1 }]) {
    assertThrows(() => checkLimiter("x", value), TypeError, words);
  }
});
