/** The quickstart: its command line, and that every rule it offers trains. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { EVICTIONS, HELP, parseOptions, SELECTORS } from "../../examples/_dqn_options.ts";
import type { LearningCurve } from "../../examples/_dqn_report.ts";
import {
  evictions,
  type KeptPolicy,
  selectors,
  SETTINGS,
  train,
} from "../../examples/_dqn_agent.ts";
import { Stopwatch } from "../../examples/_stopwatch.ts";
import { inRepository } from "../../tools/_repository.ts";

const DEFAULTS = parseOptions([]);
const GUIDE = await Deno.readTextFile(inRepository("docs/quickstart.md"));

// Only the last weights are evaluated, so they are what is kept: weights of step 1,000 have seen a single update.
Object.assign(SETTINGS.evaluation, { every: 100_000 });

/** Trains for a few updates: the first comes at step 1,000. */
function trained(options: Partial<Exclude<typeof DEFAULTS, "help">>): Promise<KeptPolicy> {
  assert(DEFAULTS !== "help");
  const curve: LearningCurve = { episodes: [], evaluations: [] };
  return train({ ...DEFAULTS, steps: 1_010, ...options }, curve, new Stopwatch());
}

Deno.test("the quickstart's flags take every value that its help names, and no other", () => {
  for (const selector of SELECTORS) {
    const options = parseOptions(["--selector", selector]);
    assertEquals(options, { ...Object(DEFAULTS), selector });
  }
  for (const eviction of EVICTIONS) {
    const options = parseOptions([`--eviction=${eviction}`]);
    assertEquals(options, { ...Object(DEFAULTS), eviction });
  }
  assertEquals(parseOptions(["--seed", "0", "--steps", "7"]), {
    ...Object(DEFAULTS),
    seed: 0,
    steps: 7,
  });
  assertStrictEquals(parseOptions(["-h"]), "help");
  const wrong = [
    ["--selector", "Uniform"],
    ["--eviction", "prioritized"],
    ["--seed", "-1"],
    ["--steps", "0"],
    ["--steps", "1.5"],
    ["--step", "1"],
    ["uniform"],
  ];
  for (const args of wrong) assertThrows(() => parseOptions(args), TypeError);
});

Deno.test("the quickstart's rules are those of the library, and its help and guide name all", () => {
  assertEquals(Object.keys(selectors), [...SELECTORS]);
  assertEquals(Object.keys(evictions), [...EVICTIONS]);
  for (const name of EVICTIONS) assertStrictEquals(evictions[name]().name, name);
  for (const name of SELECTORS) {
    const rule = selectors[name]();
    assertStrictEquals("kind" in rule ? rule.kind : rule.name, name);
  }
  for (const name of [...SELECTORS, ...EVICTIONS]) {
    assert(HELP.includes(name), name);
    assert(GUIDE.includes(`\`${name}\``), name);
  }
});

Deno.test("the guide's learning curve ends where its table says that the default run ended", async () => {
  const settings = /\| (prioritized) \| (1) \|.*\| ([\d,]+) \|$/m.exec(GUIDE);
  const picture = await Deno.readTextFile(
    inRepository("docs/images/quickstart_learning_curve.svg"),
  );
  const labels = [...picture.matchAll(/>([^<>]+)<\/text>/g)].map(([, text]) => text);
  // The labels of the horizontal axis stand before its title.
  const number = (text = "") => Number(text.replaceAll(",", ""));
  const end = number(labels[labels.indexOf("environment steps") - 1]);
  // The axis ends with the first of its round numbers that is not below the last step.
  const past = end - number(settings?.[3]);
  assert(past >= 0 && past < 2000, `the axis ends at ${end}`);
  assertStrictEquals(labels.at(-1), "CartPole-v1, prioritized, seed 1");
});

Deno.test("no dot of the guide's learning curve lies on the frame", async () => {
  const picture = await Deno.readTextFile(
    inRepository("docs/images/quickstart_learning_curve.svg"),
  );
  const heights = [
    ...picture.matchAll(/return: 500;[^>]*transform="translate\([\d.]+,([\d.]+)\)"/g),
  ]
    .map(([, height]) => Number(height));
  assert(heights.length > 3 && heights.every((height) => height > 5), `${heights}`);
});

Deno.test("the quickstart gives the same weights for the same options, and others for each selector and seed", async () => {
  const seen = new Set<string>();
  for (const selector of SELECTORS) {
    const { weights } = await trained({ selector });
    assert(weights.every(Number.isFinite), selector);
    seen.add(weights.join());
  }
  seen.add((await trained({ seed: 2 })).weights.join());
  assertStrictEquals(seen.size, SELECTORS.length + 1);
  assert(seen.has((await trained({})).weights.join()));
});

Deno.test("the quickstart gives other weights for each eviction policy, once there is something to forget", async () => {
  const seen = new Map<string, string>();
  const { capacity, batchSize } = SETTINGS;
  // Two picks an update leave episodes that were never drawn from: secondChance does not spare those.
  Object.assign(SETTINGS, { capacity: 500, batchSize: 2 });
  try {
    for (const eviction of EVICTIONS) {
      const { weights } = await trained({ eviction, steps: 1_200 });
      assert(weights.every(Number.isFinite), eviction);
      seen.set(weights.join(), eviction);
    }
  } finally {
    Object.assign(SETTINGS, { capacity, batchSize });
  }
  // In so few updates nothing is drawn a hundred times: afterDraws does as fifo until then.
  assertEquals([...seen.values()].sort(), EVICTIONS.filter((name) => name !== "fifo").sort());
});
