/**
 * Resident memory follows use, and `memoryBytes` tells it. Each test has a process of its own. The floors are those of issues 12 and 28.
 */

import { assert, assertEquals, assertMatch } from "../../_assert.ts";
import { CAN_MEASURE, fillLimited, measure } from "./_measure.ts";
import type { Growth, Measured, Plan } from "./_program.ts";

const KIBI = 1024;
const RECORD_BYTES = 24;

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, ignore: !CAN_MEASURE, fn: run });
}

/** Measures and checks. Now and then the engine takes a MiB or two for itself, so a plan may be run in six processes. */
async function hold(plan: Plan, check: (measured: Measured) => void): Promise<void> {
  for (let times = 1;; times++) {
    try {
      return check(await measure(plan));
    } catch (error) {
      if (times === 6) throw error;
    }
  }
}

/** `memoryBytes` is within 10 % of what the process grew by. `noise` is what the engine may have grown by besides. */
function tellsTheTruth({ said, resident }: Growth, plan: Plan, noise: number): void {
  const text = `${JSON.stringify(plan)}: says ${said / KIBI} KiB, takes ${resident / KIBI} KiB`;
  assert(said <= 1.1 * resident + noise, text);
  assert(resident <= 1.1 * said + noise, text);
}

test("a new replay of any capacity takes at most 256 KiB, and one with one record tells what it takes within 10 %", async () => {
  const plans: Plan[] = [
    { capacity: 1000 },
    { capacity: 100_000, selectors: ["prioritized"] },
    { capacity: 2 ** 20, selectors: ["uniform"], eviction: "lru" },
    { capacity: 2 ** 20, state: 7056 / 4, selectors: ["uniform"], eviction: "secondChance" },
    { capacity: 2 ** 28, selectors: ["uniform", "prioritized"], eviction: "lfu", maxAge: 2 ** 27 },
    { capacity: 2 ** 28, selectors: ["ucb", "rankBased"], eviction: "afterDraws" },
    { capacity: 2 ** 28, selectors: ["pser", "curious"], eviction: "reservoir", maxAge: 2 ** 20 },
    { capacity: 2 ** 28, selectors: ["recent", "newest"], eviction: "lowestPriorityFirst" },
    { capacity: 2 ** 28, selectors: ["highestPriority", "withoutReplacement"] },
  ];
  for (const each of plans) {
    const plan: Plan = { ...each, replays: 100, records: 1 };
    await hold(plan, ({ made, filled }) => {
      const text = `${JSON.stringify(plan)}: ${made.resident / 100 / KIBI} KiB each`;
      assert(made.resident <= 100 * 256 * KIBI, text);
      assert(made.said <= 100 * 256 * KIBI, text);
      tellsTheTruth(filled, plan, 0);
    });
  }
});

for (const [count, bytes] of [[2 ** 16, 44], [2 ** 20, 41]] as const) {
  test(`${count} full records of 24 bytes with a prioritized table take at most ${bytes} bytes each`, async () => {
    // A tenth more than fits, so that old ones go.
    const full: Plan = {
      capacity: count,
      records: Math.ceil(1.1 * count),
      // The first draw adds up the weights, whose sums take memory then.
      then: ["smallBatch"],
    };
    const isLarge = count > 2 ** 16;
    const shapes: Plan[] = [
      { ...full, length: 0 },
      { ...full, length: 100 },
      ...isLarge ? [] : [{ ...full, length: 200 }],
      { ...full, length: 200, actors: 8 },
      { ...full, length: 1000 },
    ];
    for (const shape of shapes) {
      // The large ones take a second or two each, and what a table takes was seen in the others.
      for (const prioritized of isLarge ? [1] : [0, 1]) {
        const plan: Plan = { ...shape, selectors: prioritized === 0 ? [] : ["prioritized"] };
        await hold(plan, ({ later: [filled] }) => {
          assert(filled);
          // Behind 100 records and a final state, blocks of 16 have 11 slots left. Each has 24 bytes, and 4 of the table.
          const empty = shape.length === 100 ? 11 * (RECORD_BYTES + 4) / 100 : 0;
          // Without the priorities it is at least 4 bytes less.
          const most = count * (bytes + 4 * (prioritized - 1) + empty);
          const text = `${JSON.stringify(plan)}: ${filled.resident / count} bytes a record, ${
            filled.promised / count
          } promised`;
          assert(filled.resident <= most, text);
          tellsTheTruth(filled, plan, 96 * KIBI);
          // What a system that overcommits nothing must promise follows use too. The engine may start a thread meanwhile, with a stack of 2 MiB.
          assert(filled.promised <= 1.2 * filled.resident + (1024 + 2056) * KIBI, text);
        });
      }
    }
  });
}

test("memoryBytes tells the truth with each selector and eviction policy", async () => {
  const capacity = 2 ** 17;
  const full: Plan = { capacity, records: Math.ceil(1.2 * capacity), length: 200 };
  const plans: Plan[] = [
    { ...full, selectors: ["rankBased"] },
    { ...full, selectors: ["pser", "curious"], eviction: "reservoir" },
    { ...full, selectors: ["ucb"], eviction: "lru" },
    { ...full, selectors: ["recent", "newest"], eviction: "afterDraws", maxAge: 2 ** 16 },
    { ...full, selectors: ["highestPriority"], eviction: "lfu" },
    { ...full, selectors: ["withoutReplacement"], eviction: "lowestPriorityFirst" },
    { ...full, length: 1, capacity: capacity / 16, eviction: "secondChance" },
    { ...full, state: 1024, capacity: 4096, records: 3000, selectors: ["uniform"] },
  ];
  for (const plan of plans) {
    await hold(plan, ({ filled }) => tellsTheTruth(filled, plan, 128 * KIBI));
  }
});

test("memoryBytes tells the truth in WebAssembly, where arrays that have to move leave their pages behind", async () => {
  const capacity = 2 ** 17;
  const full: Plan = { capacity, records: Math.ceil(1.2 * capacity), backend: "wasm" };
  const plans: Plan[] = [
    { ...full, length: 0 },
    { ...full, length: 1, selectors: ["uniform"] },
    { ...full, length: 2, selectors: ["uniform"] },
    { ...full, length: 20, selectors: ["prioritized"], eviction: "lru" },
    { ...full, length: 50, selectors: ["ucb"] },
    // Its records may need more address space than each array has from the start.
    { ...full, length: 10, capacity: 2 ** 20, records: 2 ** 20 },
    { ...full, length: 200, selectors: ["rankBased"], then: ["smallBatch", "churn"] },
  ];
  for (const plan of plans) {
    await hold(plan, ({ filled, later }) => {
      for (const each of [filled, ...later]) tellsTheTruth(each, plan, 256 * KIBI);
    });
  }
});

test("a replay that is full does not grow by recording, drawing, clearing, or saving and loading", async () => {
  for (const eviction of ["fifo", "reservoir", "lru"] as const) {
    const plan: Plan = {
      capacity: 2 ** 16,
      records: 2 ** 16,
      selectors: ["prioritized"],
      eviction,
      // The engine keeps memory for the bytes of a snapshot, so what comes after the first one counts.
      then: ["saveAndLoad", "churn", "churn", "churn", "clear", "saveAndLoad", "largeBatch"],
    };
    await hold(plan, ({ later }) => {
      const [, first, , third, cleared, loaded, drawn] = later;
      assert(first && third && cleared && loaded && drawn);
      const text = `${eviction}: ${later.map(({ resident }) => resident / KIBI)} KiB`;
      assert(third.resident <= 1.03 * first.resident + 128 * KIBI, text);
      assert(cleared.resident <= 1.03 * third.resident + 128 * KIBI, text);
      assert(loaded.resident <= 1.03 * third.resident + 512 * KIBI, text);
      // A batch's picks take 16 bytes each for its call, and stay.
      assert(drawn.resident <= third.resident + 16 * 50_000 + 512 * KIBI, text);
    });
  }
});

test("recent() with a limit of age stays small however much is recorded", async () => {
  const plan: Plan = {
    capacity: 2 ** 24,
    maxAge: 10_000,
    records: 400_000,
    selectors: ["recent"],
  };
  await hold(plan, ({ filled }) => {
    assert(filled.resident <= 3 * KIBI * KIBI, `${filled.resident / KIBI} KiB`);
    tellsTheTruth(filled, plan, 256 * KIBI);
  });
});

/**
 * The address space that a replay takes before its first record. The least of two processes counts: the engine may start a thread meanwhile,
 * for which the system sets aside a stack of 2 MiB.
 */
async function reservedSpace(plan: Plan): Promise<number> {
  const [one, other] = [await measure(plan), await measure(plan)];
  return Math.min(one.made.space, other.made.space);
}

test("a replay reserves at most twice the address space that it may use", async () => {
  // Most is used when each episode has one record: then each has a block.
  const shapes: Plan[] = [
    { capacity: 1000, selectors: ["prioritized"] },
    { capacity: 2 ** 18, state: 1, selectors: ["prioritized"] },
    { capacity: 2 ** 11, state: 7056 / 4, selectors: ["uniform"] },
  ];
  for (const shape of shapes) {
    const most: Plan = { ...shape, records: Math.ceil(1.2 * shape.capacity), length: 1 };
    const { filled } = await measure(most);
    const space = await reservedSpace(shape);
    const text = `${JSON.stringify(shape)}: reserves ${space / KIBI} KiB, uses ${
      filled.said / KIBI
    }`;
    assert(space <= 2 * filled.said + 512 * KIBI, text);
    // A larger one of the kind reserves as much a record.
    const times = Math.min(1024, 2 ** 28 / shape.capacity);
    const larger = await reservedSpace({ ...shape, capacity: times * shape.capacity });
    assert(larger <= 1.1 * times * space, text);
  }
});

test("a replay that runs out of memory refuses the call, loses nothing, and goes on when there is memory", async () => {
  const { refusal, refusedAt, wentOnTo, wrong } = await fillLimited();
  assertMatch(refusal, /^memory: recordMany\(\): /);
  // 64 MiB were left. A record takes 41 bytes, and no more than a sixteenth more is asked for.
  assert(refusedAt > 1_200_000 && refusedAt < 1_800_000, `${refusedAt} records`);
  assertEquals(wentOnTo, refusedAt + 100_000);
  assertEquals(wrong, 0);
});
