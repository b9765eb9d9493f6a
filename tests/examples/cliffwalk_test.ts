/** The numbers of docs/write_your_own_selector.md come out of the example, and its code is the example's. */
import { ConformanceError, conforms } from "@exrp/replay/testing";
import { assert, assertEquals, assertRejects, assertStrictEquals } from "../_assert.ts";
import {
  compare,
  countUpdates,
  countUpdatesWithBreak,
  median,
  RECORD_COUNT,
  RULES,
  SEEDS,
  tableOf,
} from "../../examples/cliffwalk.ts";
import { SurpriseFirst, type SurpriseFirstOptions } from "../../examples/surprise_first.ts";
import { inRepository } from "../../tools/_repository.ts";

const GUIDE = await Deno.readTextFile(inRepository("docs/write_your_own_selector.md"));

/** The guide says so: at least this many times fewer updates for each seed, and in the middle. */
const TIMES_MIN = 6;
const TIMES_MEDIAN = 10;

Deno.test(`SurpriseFirst beats uniform draws on the cliff walk as the guide says (seeds ${SEEDS.join(", ")})`, async () => {
  const counts = await compare(SEEDS);
  const table = tableOf(SEEDS, counts);
  console.log(table);
  assertEquals([...counts.keys()], Object.keys(RULES));
  const [uniformly = [], ours = []] = [counts.get("uniform()"), counts.get("SurpriseFirst")];
  for (const [k, seed] of SEEDS.entries()) {
    const times = (uniformly[k] ?? 0) / (ours[k] ?? Infinity);
    assert(times >= TIMES_MIN, `seed ${seed}: ${times} times fewer updates\n${table}`);
  }
  const times = median(uniformly) / median(ours);
  assert(times >= TIMES_MEDIAN, `${times} times fewer updates in the middle\n${table}`);
  assert(GUIDE.includes(table), `the guide has other numbers than\n${table}`);
  assert(GUIDE.includes(`at least ${TIMES_MIN} times`) && GUIDE.includes(`${TIMES_MEDIAN} times`));
  assert(GUIDE.includes(RECORD_COUNT.toLocaleString("en")));
});

Deno.test("the mistakes that the guide speaks of are found as it says", async () => {
  const shown = [...GUIDE.matchAll(/```text\n([\s\S]*?)\n```/g)].map(([, text = ""]) => text);
  const wrong = [
    new class extends SurpriseFirst {
      override moved(): void {}
    }(),
    new class extends SurpriseFirst {
      override popped(): void {}
    }(),
  ];
  assertStrictEquals(shown.length, wrong.length);
  for (const [k, { constructor }] of wrong.entries()) {
    const Rule = constructor as new (options: SurpriseFirstOptions) => SurpriseFirst;
    const make = (): SurpriseFirst => new Rule({ threshold: 1, share: 0.5 });
    const error = await assertRejects(() => conforms({ make, stationary: true }), ConformanceError);
    // Three dots stand for the end of a line that was left out.
    for (const part of (shown[k] ?? "?").split(/ …$/m)) {
      assert(error.message.includes(part), `the message is\n${error.message}`);
    }
  }
});

Deno.test("a replay with SurpriseFirst that is saved and loaded goes on as if nothing had been", async () => {
  const make = (): SurpriseFirst => new SurpriseFirst();
  const count = await countUpdates(make, 1);
  for (const updatesBefore of [0, 1, 1000, count - 1]) {
    assertStrictEquals(await countUpdatesWithBreak(make, 1, updatesBefore), count);
  }
});

/** The lines of a text without what they are indented by, and without empty ones. */
function linesOf(text: string): string {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return `\n${lines.join("\n")}\n`;
}

Deno.test("what the guide quotes stands in the files that it names", async () => {
  const blocks = [...GUIDE.matchAll(/<!-- (\S+) -->\n```\w+\n([\s\S]*?)```/g)];
  const fences = GUIDE.match(/^```(ts|cpp)$/gm)?.length;
  assertStrictEquals(blocks.length, fences, "a block of code names no file");
  assert(blocks.length >= 10);
  for (const [, file = "", block = ""] of blocks) {
    const text = linesOf(await Deno.readTextFile(inRepository(file)));
    // A line of three dots stands for what was left out.
    for (const part of block.split(/^\s*(?:\/\/ )?…$/m)) {
      assert(text.includes(linesOf(part)), `${file} does not have\n${part}`);
    }
  }
});
