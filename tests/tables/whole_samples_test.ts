/** A call of `getBatch()` gives all that it was asked for, or takes nothing that is lost: by a model, and where a wait ends early. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import {
  minSize,
  newest,
  oldest,
  prioritized,
  queue,
  samplesPerInsert,
  uniform,
  withoutReplacement,
} from "../../mod.ts";
import { ReplayError } from "../../base/errors.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { Table, type TableBatch, type TableOptions } from "../../tables/mod.ts";
import { isSettled, onBoth } from "./_backends.ts";

const SEED = 20261123;

function values(batch: TableBatch): number[] {
  return [...batch.columns[0]?.data as Float64Array];
}

function stateOf(table: Table): unknown {
  return { info: table.info(), items: table.items() };
}

/** What a rate limiter of ours is made of, as Reverb's rules take it. */
interface Rule {
  readonly rateLimiter: ReturnType<typeof minSize>;
  readonly least: number;
  readonly ratio: number;
  readonly minDiff: number;
}

/** So many samples come for certain: each draw takes the item that goes soonest. */
function certain(table: Table, { least, ratio, minDiff }: Rule, maxTimes: number): number {
  const left = table.items().map(({ timesSampled }) => maxTimes - timesSampled);
  const { inserts, samples } = table.info();
  let count = 0;
  while (left.length >= Math.max(1, least) && inserts * ratio - samples - count - 1 >= minDiff) {
    count++;
    if (maxTimes === 0) {
      if (count > 1000) return Infinity;
      continue;
    }
    const soonest = left.indexOf(Math.min(...left));
    left[soonest] = (left[soonest] ?? 0) - 1;
    if (left[soonest] === 0) left.splice(soonest, 1);
  }
  return count;
}

function someRule(random: RandomStream, maxSize: number): Rule {
  const least = 1 + random.below(Math.min(5, maxSize));
  const kind = random.below(3);
  if (kind === 0) return { rateLimiter: minSize(least), least, ratio: 1, minDiff: -Infinity };
  if (kind === 1) return { rateLimiter: queue(maxSize), least: 1, ratio: 1, minDiff: 0 };
  const ratio = [0.5, 1, 2][random.below(3)] ?? 1;
  const error = Math.max(1, ratio) + random.below(5);
  const rateLimiter = samplesPerInsert(ratio, { minSize: least, error });
  return { rateLimiter, least, ratio, minDiff: ratio * least - error };
}

onBoth(
  `with a timeoutMs of 0, all samples come, or nothing changes (seed ${SEED})`,
  async (create) => {
    const random = new RandomStream(SEED);
    let [came, refused] = [0, 0];
    for (let round = 0; round < 120; round++) {
      const samplers = [oldest, newest, uniform, prioritized, withoutReplacement];
      const maxSize = 1 + random.below(12);
      const maxTimesSampled = random.below(4);
      const rule = someRule(random, maxSize);
      const options: TableOptions = {
        maxSize,
        sampler: (samplers[random.below(samplers.length)] ?? oldest)(),
        rateLimiter: rule.rateLimiter,
        ...(maxTimesSampled === 0 ? {} : { maxTimesSampled }),
      };
      using tables = await create({ tables: { t: options }, seed: SEED + round });
      const table = tables.table("t");
      const keys: bigint[] = [];
      for (let step = 0; step < 50; step++) {
        const where = `round ${round}, step ${step}`;
        const what = random.below(8);
        if (what < 4) {
          await table.insert(step, { timeoutMs: 0, priority: random.below(3) })
            .then((key) => keys.push(key), () => {});
        } else if (what === 4 && keys.length > 0) {
          table.delete([keys[random.below(keys.length)] ?? 0n]);
        } else {
          const count = 1 + random.below(random.below(3) === 0 ? 30 : 5);
          const before = stateOf(table);
          const { samples } = table.info();
          const can = table.canSample(count);
          assertEquals(can, count <= certain(table, rule, maxTimesSampled), where);
          const batch = await table.getBatch(count, { timeoutMs: 0 }).catch((error: unknown) => {
            assert(error instanceof ReplayError && error.code === "timeout", where);
          });
          assertEquals(batch !== undefined, can, where);
          if (batch === undefined) assertEquals(stateOf(table), before, where);
          else assertEquals([batch.size, table.info().samples], [count, samples + count], where);
          if (batch === undefined) refused++;
          else came++;
        }
      }
    }
    assert(came > 500 && refused > 500, `${came} came, ${refused} did not`);
  },
);

onBoth("of items that go once they were sampled, a call takes all or none", async (create) => {
  using tables = await create({
    tables: { once: { maxSize: 10, maxTimesSampled: 1 }, q: Table.queue(10) },
  });
  for (const name of ["once", "q"]) {
    const table = tables.table(name);
    const keys: bigint[] = [];
    for (let k = 0; k < 5; k++) keys.push(await table.insert(k));
    table.delete(keys.slice(0, 2));
    assertEquals([table.canSample(3), table.canSample(4), table.canSample(5)], [
      true,
      false,
      false,
    ]);
    const error = await assertRejects(() => table.getBatch(5, { timeoutMs: 0 }), ReplayError);
    assertEquals(
      error.message,
      `getBatch(): table "${name}" can't give 5 samples now, by its items and its rate limiter, and timeoutMs is 0; nothing was drawn`,
    );
    assertEquals([table.size, table.info().samples], [3, 0]);
    assertEquals(values(await table.getBatch(3, { timeoutMs: 0 })).sort(), [2, 3, 4]);
  }
});

onBoth("what came before a wait ended goes to the next call", async (create) => {
  using tables = await create({ tables: { q: Table.queue(10) } });
  const q = tables.table("q");
  for (let k = 0; k < 3; k++) await q.insert(k);
  const error = await assertRejects(() => q.getBatch(5, { timeoutMs: 1 }), ReplayError);
  assertEquals(
    error.message,
    'getBatch(): 3 of 5 samples came within 1 ms, as the rate limiter of table "q" lets no more through; the next call gets them first',
  );
  assertEquals([q.size, q.info().samples, q.canSample(3), q.canSample(4)], [0, 3, true, false]);
  assertEquals(values(await q.getBatch(2, { timeoutMs: 0 })), [0, 1]);
  await q.insert(3);
  assertEquals(values(await q.getBatch(2)), [2, 3]);
  assertEquals(tables.info().chunks, 0);

  // By a signal; and to a call that waits already.
  await q.insert(4);
  const controller = new AbortController();
  const first = q.getBatch(2, { signal: controller.signal });
  const second = q.getBatch(1);
  assertEquals(await isSettled(second), false);
  controller.abort();
  await assertRejects(() => first, DOMException);
  assertEquals(values(await second), [4]);

  // Nobody gets them after a reset.
  await q.insert(5);
  assertEquals(await codeOf(q.getBatch(2, { timeoutMs: 1 })), "timeout");
  q.clear();
  assertEquals([q.canSample(1), tables.info().chunks], [false, 0]);

  // Whoever takes a part loses nothing.
  await q.insert(6);
  const part = await q.getBatch(2, { timeoutMs: 1, isPartialAllowed: true });
  assertEquals([values(part), q.canSample(1)], [[6], false]);
});

onBoth("who takes a part gets it, too, where a signal ends the wait", async (create) => {
  using tables = await create({ tables: { q: Table.queue(10) } });
  const q = tables.table("q");
  for (let k = 0; k < 3; k++) await q.insert(k);
  const controller = new AbortController();
  const options = { signal: controller.signal, isPartialAllowed: true };
  const [part, none] = [q.getBatch(5, options), q.getBatch(1, options)];
  const aborted = assertRejects(() => none, DOMException);
  controller.abort();
  assertEquals(values(await part), [0, 1, 2]);
  await aborted;
  await q.insert(3);
  assertEquals(values(await q.getBatch(1)), [3]); // nobody else took it
});

onBoth("a table that keeps its items keeps no samples of a wait that ended", async (create) => {
  const rateLimiter = samplesPerInsert(1, { minSize: 1, error: 1 });
  using tables = await create({ tables: { t: { maxSize: 10, rateLimiter } } });
  const table = tables.table("t");
  await table.insert(0);
  const error = await assertRejects(() => table.getBatch(3, { timeoutMs: 1 }), ReplayError);
  assert(error.message.endsWith('of table "t" lets no more through'), error.message);
  assertEquals([table.size, table.info().samples, table.canSample(1)], [1, 1, false]);
});

onBoth("a batch larger than what is drawn in one turn comes whole", async (create) => {
  using tables = await create({ tables: { q: Table.queue(9000) } });
  const q = tables.table("q");
  const steps = Float64Array.from({ length: 9000 }, (_, k) => k);
  for (let at = 0; at < 9000; at += 100) {
    await q.insert(steps.slice(at, at + 100), { priorities: new Float64Array(100).fill(1) });
  }
  assertEquals(await codeOf(q.getBatch(9001, { timeoutMs: 0 })), "timeout");
  assertEquals(q.size, 9000);
  assertEquals(Float64Array.from(values(await q.getBatch(9000, { timeoutMs: 0 }))), steps);
});

function codeOf(promise: Promise<unknown>): Promise<string> {
  return assertRejects(() => promise, ReplayError).then(({ code }) => code);
}
