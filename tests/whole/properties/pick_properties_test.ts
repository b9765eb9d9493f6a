/**
 * Everything a pick policy promises, for every pair of options. Hundreds of replays are each filled and emptied several
 * times while batches are drawn. Every element of a batch must come from the right episode, position and column.
 *
 * @module
 */

import { assert, assertEquals, assertGreater, assertThrows } from "../../_assert.ts";
import { testRandom } from "../../replay/_helpers.ts";
import { type AnyBatch, Violation } from "./batch_properties.ts";
import { COMMON_FACTORS, FACTORS, isExcluded, type PickCombination } from "./combinations.ts";
import { Covering } from "./covering.ts";
import { PickWorld, type WorldTally } from "./pick_world.ts";

const COUNT = 400;
const COMMON_COUNT = 120;
const SEED = seedOfEnvironment();

function seedOfEnvironment(): number {
  const variable = "EXRP_PROPERTIES_SEED";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  const text = state === "granted" ? Deno.env.get(variable) : undefined;
  return text === undefined || text === "" ? 1 : Number(text);
}

function combinations(): readonly PickCombination[] {
  const all = new Covering(FACTORS, isExcluded, testRandom(SEED)).combinations(COUNT);
  const common = new Covering(COMMON_FACTORS, isExcluded, testRandom(SEED + 1));
  return [...all, ...common.combinations(COMMON_COUNT)];
}

function emptyTally(): WorldTally {
  return { batches: 0, rows: 0, evictions: 0, cuts: 0, shortPicks: 0, openEnds: 0 };
}

/** Runs a combination; an error names it. */
async function runWorld(
  combination: PickCombination,
  seed: number,
  tally: WorldTally,
): Promise<PickWorld> {
  const world = await PickWorld.create(combination, seed, testRandom(seed));
  try {
    world.run(tally);
  } catch (error) {
    world[Symbol.dispose]();
    const options = JSON.stringify(combination);
    throw new Error(
      `${
        error instanceof Error ? error.message : error
      }\n${options}\nagain: EXRP_PROPERTIES_SEED=${SEED}`,
      { cause: error },
    );
  }
  return world;
}

Deno.test(`the combinations have every pair of options (${COUNT} and ${COMMON_COUNT} from seed ${SEED})`, () => {
  const covering = new Covering(FACTORS, isExcluded, testRandom(SEED));
  const made = covering.combinations(COUNT);
  const common = new Covering(COMMON_FACTORS, isExcluded, testRandom(SEED));
  assertEquals(common.covered(common.combinations(COMMON_COUNT)), common.pairs());
  assertGreater(combinations().length, 500);
  assertEquals(covering.covered(made), covering.pairs());
  for (const combination of made) {
    const entries = Object.entries(combination);
    for (const [a, x] of entries) {
      for (const [b, y] of entries) assert(a === b || !isExcluded(a, x, b, y), `${a} and ${b}`);
    }
  }
  // A pair more than can be had would be noticed, and so would one that is missing.
  const without = made.filter(({ stack, reversed }) => stack !== 4 || !reversed);
  assertGreater(covering.pairs().size, covering.covered(without).size);
  const open = new Covering(FACTORS, () => false, testRandom(SEED));
  assertGreater(open.pairs().size, covering.covered(made).size);
});

Deno.test(`every pair of pick options gives batches of the right rows (seed ${SEED})`, async () => {
  const tally = emptyTally();
  for (const [k, combination] of combinations().entries()) {
    using _world = await runWorld(combination, SEED * 1000 + k, tally);
  }
  // What the combinations are there for came about.
  assertGreater(tally.batches, 8 * COUNT);
  assertGreater(tally.rows, 200 * COUNT);
  assertGreater(tally.evictions, 10 * COUNT);
  assertGreater(tally.cuts, 2 * COUNT);
  assertGreater(tally.shortPicks, COUNT);
  assertGreater(tally.openEnds, COUNT / 4);
});

/** The parts of a batch that say something; a byte of each is altered in turn. */
function partsOf(batch: AnyBatch): [string, ArrayBufferView<ArrayBuffer>, number][] {
  const named: [string, ArrayBufferView<ArrayBuffer> & { BYTES_PER_ELEMENT: number }][] = [
    ["state", batch.state],
    ["action", batch.action],
    ["reward", batch.reward],
    ["nextState", batch.nextState],
    ...Object.entries(batch.extras),
    ["seqLen", batch.seqLen],
    ["nextSeqLen", batch.nextSeqLen],
    ["pickEpisode", batch.pickEpisode],
    ["pickPosition", batch.pickPosition],
    ["probability", batch.probability],
    ["importanceWeight", batch.importanceWeight],
    ["discount", batch.discount],
    ["learnMask", batch.learnMask],
    ["contextMask", batch.contextMask],
    ["terminated", batch.terminated],
    ["truncated", batch.truncated],
    ["returnToGo", batch.returnToGo],
    ...batch.nStep.flatMap(({ n, reward, nextState, discount }) =>
      Object.entries({
        [`nStep ${n} reward`]: reward,
        [`nStep ${n} nextState`]: nextState,
        [`nStep ${n} discount`]: discount,
      })
    ),
  ];
  return named.filter(([, { byteLength }]) => byteLength > 0)
    .map(([name, view]) => [name, view, view.BYTES_PER_ELEMENT]);
}

Deno.test(`one byte altered anywhere in a batch is a violation (seed ${SEED})`, async () => {
  const random = testRandom(SEED + 17);
  const seen = new Set<string>();
  for (const [k, combination] of combinations().slice(0, 80).entries()) {
    using world = await runWorld(combination, SEED * 1000 + k, emptyTally());
    const batch = world.latest;
    if (batch === undefined) continue;
    world.recheck(batch);
    for (const [name, view, elementBytes] of partsOf(batch)) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      // The highest byte of an element, so that what is rounded is changed by more than that.
      const at = (random(bytes.length / elementBytes) + 1) * elementBytes - 1;
      const before = bytes[at] ?? 0;
      bytes[at] = before ^ 0x41;
      assertThrows(() => world.recheck(batch), Violation, "pick ", name);
      bytes[at] = before;
      seen.add(name.replace(/\d+ /, ""));
    }
    world.recheck(batch);
  }
  assertEquals(seen.size, 16 + 6 + 3); // every part of all batches, the six extras, and the three of n-step returns
});
