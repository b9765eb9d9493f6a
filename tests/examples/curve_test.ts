/** Pictures of learning curves show every point. */
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { returnDomain } from "../../examples/_curve.ts";
import { curvesSvg } from "../../examples/_report.ts";

const points = (...returns: number[]): { step: number; return: number }[] =>
  returns.map((each, k) => ({ step: 100 * k, return: each }));

Deno.test("the axis has its usual ends, unless a point lies beyond one", () => {
  assertEquals(returnDomain(points(0, 4), [-1, 5.5]), [-1, 5.5]);
  assertEquals(returnDomain(points(-1.62, 7.01), [-1, 5.5]), [-2, 8]);
  assertEquals(returnDomain([], [-1, 5.5]), [-1, 5.5]);
});

Deno.test("regression: a first evaluation below the usual end has its dot inside of the picture", async () => {
  const returns = { title: "return", domain: [-1, 5.5], solved: 4 } as const;
  const svg = await curvesSvg([{ name: "a", points: points(-3.5, 2, 4) }], "title", returns);
  // The dots' places in the plot of 560 × 280.
  const dots = [
    ...svg.matchAll(/aria-label="environment steps: (\d+)[^>]*?translate\(([\d.-]+),([\d.-]+)\)/g),
  ];
  const inside = dots.filter(([, , , y]) => Number(y) >= 0 && Number(y) <= 280);
  assertStrictEquals(inside.length, 3);
});
