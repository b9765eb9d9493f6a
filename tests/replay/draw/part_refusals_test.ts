/** A batch that a part of a selector refuses changes nothing: no part has drawn, whatever its place. The error says who asked whom. */
import {
  combined,
  ExperienceReplay,
  float32,
  laber,
  mixture,
  newest,
  prioritized,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type {
  ComposedSelector,
  Composition,
  PickSelector,
  SelectorRule,
} from "@exrp/replay/selectors";
import { assert, assertEquals, assertMatch, assertThrows } from "../../_assert.ts";
import { assertReplayError } from "../_helpers.ts";

const CAPACITY = 64;

// deno-lint-ignore explicit-function-return-type
async function fivePicks() {
  const replay = await ExperienceReplay.create({ capacity: CAPACITY, state: float32(), seed: 3 });
  const column = [0, 1, 2, 3, 4];
  const steps = { state: column, action: column, reward: column, finalState: 5 };
  replay.recordMany(replay.newEpisode(), steps);
  return replay;
}

/** Half by `rule`, half without replacement, which has five picks only. */
function besideFive(rule: SelectorRule): SelectorRule {
  return mixture([{ rule, share: 1 }, { rule: withoutReplacement(), share: 1 }]);
}

const score = (candidates: unknown): number[] =>
  new Array((candidates as { readonly size: number }).size).fill(1);

const FIVE =
  "a batch must have 1 to 5 picks, because the selector draws each of 5 picks at most once";

/** Rules by name, how many picks they are asked for, and what the error says. */
const refused: Readonly<Record<string, readonly [SelectorRule, size: number, message: string]>> = {
  "a mixture": [
    besideFive(prioritized()),
    12,
    `getBatch(): mixture 2 asks its part withoutReplacement 1 for 6 picks: ${FIVE}, got 6`,
  ],
  "combined()": [
    combined({ newest: 2, rest: withoutReplacement() }),
    12,
    `getBatch(): combined 2 asks its part withoutReplacement 1 for 10 picks: ${FIVE}, got 10`,
  ],
  "laber()": [
    laber({ rule: withoutReplacement(), score }),
    2,
    `getBatch(): laber 1 asks its part withoutReplacement 0 for 8 picks: ${FIVE}, got 8`,
  ],
  "a mixture with laber() before the part that refuses": [
    besideFive(laber({ rule: uniform(), score })),
    12,
    `getBatch(): mixture 3 asks its part withoutReplacement 2 for 6 picks: ${FIVE}, got 6`,
  ],
  "a mixture whose part's part refuses": [
    mixture([
      { rule: uniform(), share: 1 },
      { rule: combined({ rest: besideFive(uniform()) }), share: 2 },
    ]),
    24,
    `getBatch(): mixture 6 asks its part combined 5 for 16 picks, which asks its part mixture 4 for 15 picks, which asks its part withoutReplacement 3 for 7 picks: ${FIVE}, got 7`,
  ],
  "laber() of a mixture": [
    laber({ rule: besideFive(uniform()), score }),
    12,
    `getBatch(): laber 3 asks its part mixture 2 for 48 picks, which asks its part withoutReplacement 1 for 24 picks: ${FIVE}, got 24`,
  ],
};

for (const [name, [rule, size, message]] of Object.entries(refused)) {
  Deno.test(`${name}: a refused batch has changed nothing, and the error names who asked`, async () => {
    using replay = await fivePicks();
    const selector = replay.newPickSelector(rule);
    const into = replay.getBatch(size, replay.newPickSelector(uniform()));
    const before = await replay.serialize();
    const bytes = into.bytes.slice();
    const error = assertReplayError(() => replay.getBatch(size, selector, { into }), "batch-size");
    assertEquals(error.message, message);
    assertEquals(into.bytes, bytes);
    assertEquals(await replay.serialize(), before);
  });
}

Deno.test("a mixture whose view is empty has changed nothing, and the error names the part", async () => {
  using replay = await fivePicks();
  const empty = replay.newPickView({ where: { tag: 7 } }).newPickSelector(newest());
  for (const count of [1, 8]) {
    const selector = replay.newPickSelector(
      mixture([{ rule: uniform(), share: 9 }, { selector: empty, share: 1 }]),
    );
    const before = await replay.serialize();
    const error = assertReplayError(() => replay.getBatch(count, selector), "empty");
    assertMatch(
      error.message,
      /^getBatch\(\): mixture \d has its part newest 0: there is no pick|asks its part newest 0 for 1 pick: there is no pick/,
    );
    assertMatch(error.message, /no episode with tag 7 has a record/);
    assertEquals(await replay.serialize(), before);
  }
});

Deno.test("too many candidates of laber() in a mixture change nothing, and the error says how many there may be", async () => {
  using replay = await fivePicks();
  const rule = mixture([
    { rule: uniform(), share: 1 },
    { rule: laber({ factor: 2 ** 22, score }), share: 1 },
  ]);
  const selector = replay.newPickSelector(rule);
  const before = await replay.serialize();
  assertThrows(
    () => replay.getBatch(10, selector),
    RangeError,
    "laber(): 5 picks with factor 4194304 need 20971520 candidates, but there may be 16777216; ask for at most 4 picks, or take a smaller factor",
  );
  assertEquals(await replay.serialize(), before);
});

/** Asks its first part, then its second, each for half; `asks` may say so. */
function halves(
  parts: readonly SelectorRule[],
  asks?: (count: number) => unknown,
): ComposedSelector {
  return {
    name: "halves",
    parts,
    begin: (): Composition => ({
      compose(count, drawer): void {
        drawer.draw(0, count >> 1);
        drawer.draw(1, count - (count >> 1));
      },
      ...(asks === undefined ? {} : { asks: asks as (count: number) => readonly number[] }),
      save: (): Uint8Array => new Uint8Array(),
      load: (): void => {},
    }),
  };
}

Deno.test("a composition of your own that says what it asks is refused before its parts draw", async () => {
  using replay = await fivePicks();
  const parts = [uniform(), withoutReplacement()];
  const asks = (count: number): number[] => [count >> 1, count - (count >> 1)];
  const [says, saysNot] = [halves(parts, asks), halves(parts)].map((rule) =>
    replay.newPickSelector(rule)
  );
  assert(says !== undefined && saysNot !== undefined);
  const before = await replay.serialize();
  assertReplayError(() => replay.getBatch(12, says), "batch-size");
  assertEquals(await replay.serialize(), before);
  // Without it, the first part has drawn already.
  assertReplayError(() => replay.getBatch(12, saysNot), "batch-size");
  assert(!equal(await replay.serialize(), before));
});

Deno.test("a composition that does not say what it asks, of one that does: the inner one is refused whole", async () => {
  using replay = await fivePicks();
  const selector = replay.newPickSelector(halves([besideFive(uniform()), uniform()]));
  const before = await replay.serialize();
  const error = assertReplayError(() => replay.getBatch(24, selector), "batch-size");
  assertMatch(error.message, /asks its part mixture 2 for 12 picks, which asks its part without/);
  assertEquals(await replay.serialize(), before);
});

Deno.test("asks() that gives no count for each part is refused, and says what came", async () => {
  using replay = await fivePicks();
  for (
    const [wrong, got] of [[[1], "[1]"], [[1, -1], "[1, -1]"], [[1, 0.5], "[1, 0.5]"], [
      3,
      "3",
    ]] as const
  ) {
    const selector = replay.newPickSelector(halves([uniform(), newest()], () => wrong));
    const error = assertReplayError(() => replay.getBatch(4, selector), "rule");
    assertEquals(
      error.message,
      `the selector halves must say by asks() 2 whole numbers, one for each part, got ${got}`,
    );
  }
  const rule: ComposedSelector = {
    ...halves([uniform(), newest()]),
    // deno-lint-ignore no-explicit-any
    begin: () => ({ ...halves([]).begin(), asks: 3 as any }),
  };
  assertThrows(() => replay.newPickSelector(rule), TypeError, "asks of the composition of halves");
});

Deno.test("a part in TypeScript that lost track of its picks is refused before the other parts draw", async () => {
  using replay = await fivePicks();
  const lost: PickSelector = {
    name: "lost",
    pushed: (index) => {
      if (index > 4) throw new Error("no more");
    },
    moved: () => {},
    popped: () => {},
    setPriority: () => {},
    select: (_, { index, probability }) => {
      index.fill(0);
      probability.fill(1);
    },
  };
  const selector = replay.newPickSelector(
    mixture([{ rule: uniform(), share: 1 }, { rule: lost, share: 1 }]),
  );
  const twin = replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), 9, 0, 0, { finalState: 0 });
  assertReplayError(() => replay.getBatch(6, selector), "rule");
  assertEquals(replay.stats().selectors.map(({ drawnCount }) => drawnCount), [0, 0, 0, 0]);
  assertEquals(replay.getBatch(6, twin).size, 6);
});

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, k) => byte === b[k]);
}
