import { mixture, newest, oldest, prioritized, recent, uniform } from "@exrp/replay";
import type { PickSelector, SelectorRule } from "@exrp/replay/selectors";
import { assert, assertEquals, assertLess, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay, testRandom } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({
  name: "mixture of uniform() and prioritized()",
  make: (): SelectorRule =>
    mixture([{ rule: uniform(), share: 1 }, { rule: prioritized(), share: 1 }]),
});

Deno.test("mixture: half and half is exact in every batch of an even size", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    mixture([{ rule: oldest(), share: 0.5 }, { rule: newest(), share: 0.5 }]),
  );
  recordEpisode(replay, 10);
  for (const size of [2, 4, 256]) {
    const { state } = replay.getBatch(size, selector);
    assertEquals([...state], [...new Array(size / 2).fill(0), ...new Array(size / 2).fill(9)]);
  }
});

Deno.test("mixture: what can't be halved is made up for", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    mixture([{ rule: oldest(), share: 1 }, { rule: newest(), share: 1 }]),
  );
  recordEpisode(replay, 10);
  const olds = Array.from(
    { length: 4 },
    () => replay.getBatch(3, selector).state.filter((state) => state === 0).length,
  );
  assertEquals(olds, [2, 1, 2, 1]);
});

Deno.test("mixture: ten parts of very unequal shares stay within one pick, batch after batch", async () => {
  // Where what is left over went to the part that was owed most, one was two picks behind after 128.
  const shares = [1, 2, 3, 3, 2, 3, 56, 1, 1, 56];
  const drawn = shares.map(() => 0);
  using replay = await smallReplay();
  recordEpisode(replay, 4);
  const parts = shares.map((share, k) => ({ rule: counting(drawn, k), share }));
  const selector = replay.newPickSelector(mixture(parts));
  for (let total = 1; total <= 640; total++) {
    replay.getBatch(1, selector);
    for (const [part, share] of shares.entries()) {
      assertLess(Math.abs((drawn[part] ?? 0) - total * share / 128), 1, `part ${part} of ${total}`);
    }
    if (total % 128 === 0) assertEquals(drawn, shares.map((share) => share * total / 128));
  }
});

/** A rule that only counts what it is asked for. */
function counting(counts: number[], part: number): PickSelector {
  return {
    name: `part ${part}`,
    pushed: () => {},
    moved: () => {},
    popped: () => {},
    setPriority: () => {},
    select(count, out): void {
      counts[part] = (counts[part] ?? 0) + count;
      out.index.fill(0);
      out.probability.fill(1);
    },
  };
}

Deno.test("mixture: over any batches no part is ever off by one pick", async () => {
  const seed = 20261121;
  const random = testRandom(seed);
  for (let round = 0; round < 40; round++) {
    using replay = await smallReplay();
    recordEpisode(replay, 4);
    const shares = Array.from({ length: 2 + random(8) }, () => 1 + random(20) ** 3);
    const sum = shares.reduce((a, b) => a + b, 0);
    const drawn = shares.map(() => 0);
    const parts = shares.map((share, k) => ({ rule: counting(drawn, k), share }));
    const selector = replay.newPickSelector(mixture(parts));
    let total = 0;
    for (let batch = 0; batch < 30; batch++) {
      const size = 1 + random(12);
      total += size;
      replay.getBatch(size, selector);
      for (const [part, share] of shares.entries()) {
        const off = Math.abs((drawn[part] ?? 0) - total * share / sum);
        assertLess(off, 1, `seed ${seed}, round ${round}, shares ${shares}, batch ${batch}`);
      }
    }
    assertEquals(drawn.reduce((a, b) => a + b, 0), total);
  }
});

Deno.test("mixture: parts have their own probabilities and weights", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(mixture([
    { rule: uniform(), share: 1 },
    { rule: prioritized({ alpha: 1, epsilon: 0 }), share: 1 },
  ]));
  const episode = recordEpisode(replay, 4);
  assertEquals(
    replay.setPriority(selector, new Array(4).fill(episode), [0, 1, 2, 3], [1, 1, 1, 5]),
    4,
  );
  const batch = replay.getBatch(64, selector, { beta: 1 });
  for (let k = 0; k < 32; k++) {
    assertEquals([batch.probability[k], batch.importanceWeight[k]], [0.25, 1]);
  }
  for (let k = 32; k < 64; k++) {
    const five = batch.state[k] === 3;
    assertEquals(batch.probability[k], five ? 0.625 : 0.125);
    assertLess(Math.abs((batch.importanceWeight[k] ?? NaN) - (five ? 0.2 : 1)), 1e-6);
  }
});

Deno.test("mixture: what parts are owed is saved", async () => {
  const make = (): SelectorRule =>
    mixture([{ rule: oldest(), share: 1 }, { rule: newest(), share: 2 }]);
  using replay = await smallReplay();
  const selector = replay.newPickSelector(make());
  recordEpisode(replay, 5);
  replay.getBatch(4, selector);
  const bytes = await replay.serialize();
  using other = await smallReplay();
  const loaded = other.newPickSelector(make());
  await other.unserialize(bytes);
  for (const size of [1, 2, 5, 4, 7]) {
    assertEquals(other.getBatch(size, loaded).bytes, replay.getBatch(size, selector).bytes);
  }
});

Deno.test("mixture: bad input", () => {
  // deno-lint-ignore no-explicit-any
  const loose = mixture as any;
  assertThrows(() => loose([]), TypeError, "one or more");
  assertThrows(() => loose({ rule: uniform() }), TypeError, "one or more");
  assertThrows(
    () => loose([{ rule: recent({ newest: 1 }), share: 1 }, uniform()]),
    TypeError,
    "mixture(): part 1 must be { rule, share } or { selector, share }, got NativeSelector",
  );
  assertThrows(() => loose([mixture([{ rule: uniform(), share: 1 }])]), TypeError, "got Object");
  assertThrows(() => loose([{ rule: uniform(), share: 0 }]), RangeError, "share of part 0");
  assertThrows(() => loose([{ rule: uniform(), share: NaN }]), RangeError, "share of part 0");
  assertThrows(() => loose([{ rule: recent, share: 1 }]), TypeError, "rule of part 0");
  assertThrows(() => loose([{ rule: uniform(), share: 1, part: 2 }]), TypeError, "part");
  assert(mixture([{ rule: uniform(), share: 1e300 }, { rule: uniform(), share: 1e300 }]));
});
