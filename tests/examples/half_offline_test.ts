/** Half offline and half online learns faster than all data alike, as docs/selectors.md says. */
import { assert, assertEquals } from "../_assert.ts";
import { median } from "../../examples/cliffwalk.ts";
import { learn, stepsToLearn, WAYS } from "../../examples/half_offline.ts";
import { inRepository } from "../../tools/_repository.ts";

const GUIDE = await Deno.readTextFile(inRepository("docs/selectors.md"));
const SEEDS = [1, 2, 3, 4, 5];

Deno.test("the maze is learned in fewer steps from half offline and half online data, as the guide says", async () => {
  const medians = new Map<string, number>();
  for (const way of Object.keys(WAYS)) {
    const counts: number[] = [];
    for (const seed of SEEDS) counts.push(stepsToLearn(await learn(way, seed)));
    assert(Math.max(...counts) <= 5000, `${way}: ${counts}`);
    medians.set(way, median(counts));
    const row = `| ${way} | ${counts.join(", ")} | ${median(counts)} |`;
    assert(GUIDE.includes(row), `the guide has other numbers than\n${row}`);
  }
  const of = (way: string): number => medians.get(way) ?? NaN;
  assertEquals(medians.size, 5);
  assert(2 * of("half and half, by priority") <= of("all data, by priority"));
  assert(2 * of("half and half, uniformly") <= of("all data, uniformly"));
  assert(2 * of("half and half, by priority") <= of("online data only"));
});
