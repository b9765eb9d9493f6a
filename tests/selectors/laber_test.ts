import { type Batch, type Column, laber, prioritized, uniform } from "@exrp/replay";
import type { SelectorRule } from "@exrp/replay/selectors";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../_assert.ts";
import { ChiSquare } from "../whole/statistics/chi_square.ts";
import { assertReplayError, recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

type Small = Batch<{ state: Column<"float32", [1]> }>;

conforms({
  name: "laber({ factor: 2, score: all equal })",
  make: (): SelectorRule<Small> =>
    laber({ factor: 2, score: (candidates: Small) => candidates.state.map(() => 1) }),
});

Deno.test("laber: the scorer sees factor times as many candidates, and weights undo the choice", async () => {
  using replay = await smallReplay({ seed: 3 });
  recordEpisode(replay, 5);
  let seen = new Float32Array();
  const selector = replay.newPickSelector(laber({
    factor: 3,
    score: (candidates: Small) => seen = candidates.state.slice(),
  }));
  const batch = replay.getBatch(8, selector);
  assertEquals(seen.length, 24);
  const sum = seen.reduce((a, b) => a + b, 0);
  for (const [k, state] of batch.state.entries()) {
    assert(state > 0, "a score of 0 was kept");
    assertAlmostEquals(batch.probability[k] ?? NaN, state / sum, 1e-6);
    assertAlmostEquals(batch.importanceWeight[k] ?? NaN, sum / 24 / state, 1e-5);
  }
});

Deno.test("laber: normalize max makes the largest weight 1", async () => {
  using replay = await smallReplay({ seed: 3 });
  recordEpisode(replay, 5);
  const selector = replay.newPickSelector(
    laber({ normalize: "max", score: (candidates: Small) => candidates.state }),
  );
  const { importanceWeight, state } = replay.getBatch(64, selector);
  assertAlmostEquals(Math.max(...importanceWeight), 1, 1e-6);
  const least = Math.min(...state);
  for (const [k, weight] of importanceWeight.entries()) {
    assertAlmostEquals(weight, least / (state[k] ?? NaN), 1e-6);
  }
});

Deno.test("laber: candidates of prioritized() keep their own weights as a factor", async () => {
  using replay = await smallReplay({ seed: 3 });
  const selector = replay.newPickSelector(laber({
    rule: prioritized({ alpha: 1 }),
    score: (candidates: Small) => candidates.state.map(() => 2),
  }));
  const episode = recordEpisode(replay, 2);
  replay.setPriority(selector, [episode, episode], [0, 1], [1, 3]);
  const batch = replay.getBatch(64, selector, { beta: 1 });
  const both = new Set(batch.state).size === 2;
  assert(both);
  for (const [k, state] of batch.state.entries()) {
    assertAlmostEquals(batch.importanceWeight[k] ?? NaN, state === 0 ? 1 : 1 / 3, 1e-6);
  }
});

Deno.test("laber: picks are kept in proportion to their scores", async () => {
  const seed = 11;
  using replay = await smallReplay({ seed });
  recordEpisode(replay, 4);
  const scores = [1, 2, 3, 6];
  const selector = replay.newPickSelector(laber({
    factor: 1024,
    score: (candidates: Small) => candidates.state.map((state) => scores[state] ?? 0),
  }));
  const counts = [0, 0, 0, 0];
  // One pick a batch: candidates are shared within a batch, so that its picks hang together.
  for (let k = 0; k < 4000; k++) {
    const [state = 0] = replay.getBatch(1, selector).state;
    counts[state] = (counts[state] ?? 0) + 1;
  }
  // With 1024 candidates the expected shares are the scores' but for a thousandth; the twin's are not.
  const tail = (shares: readonly number[]): number => {
    const test = new ChiSquare();
    test.add(counts, shares.map((share) => share * 4000));
    return test.tail;
  };
  assert(tail(scores.map((score) => score / 12)) > 1e-4, `seed ${seed}: ${counts}`);
  assert(tail([0.11, 0.17, 0.22, 0.5]) < 1e-4, `the twin passed: ${counts}`);
});

Deno.test("laber: all scores zero is all alike; bad scores are refused and name the candidate", async () => {
  using replay = await smallReplay({ seed: 3 });
  recordEpisode(replay, 5);
  let give: (candidates: Small) => unknown = ({ state }) => state.map(() => 0);
  const selector = replay.newPickSelector(
    laber({ score: (candidates: Small) => give(candidates) as Float32Array }),
  );
  assert(new Set(replay.getBatch(64, selector).state).size === 5);
  for (const bad of [NaN, -1, Infinity]) {
    give = ({ state }) => Array.from(state, (_, k) => k === 5 ? bad : 1);
    const error = assertReplayError(() => replay.getBatch(4, selector), "invalid-priority");
    assert(error.message.includes("score[5]"), error.message);
  }
  give = () => [1, 2];
  assertReplayError(() => replay.getBatch(4, selector), "rule");
  give = () => undefined;
  assertReplayError(() => replay.getBatch(4, selector), "rule");
  give = () => {
    throw new EvalError("mine");
  };
  assertThrows(() => replay.getBatch(4, selector), EvalError, "mine");
  give = ({ state }) => state.map(() => 1e38);
  assertEquals(replay.getBatch(4, selector).size, 4);
});

Deno.test("laber: a score that takes memory away is refused by name", async () => {
  using replay = await smallReplay({ seed: 3 });
  recordEpisode(replay, 5);
  let take: (candidates: Small) => Small = (candidates) => candidates;
  const selector = replay.newPickSelector(laber({
    score: (candidates: Small) => {
      const scores = candidates.state.map(() => 1);
      const { bytes } = take(candidates);
      structuredClone(bytes, { transfer: [bytes.buffer] });
      return scores;
    },
  }));
  const candidatesError = assertReplayError(() => replay.getBatch(4, selector), "rule");
  assert(candidatesError.message.includes("laber"), candidatesError.message);
  const into = replay.getBatch(4, replay.newPickSelector(uniform()));
  take = () => into;
  assertReplayError(() => replay.getBatch(4, selector, { into }), "rule");
});

Deno.test("laber: bad input", async () => {
  // deno-lint-ignore no-explicit-any
  const loose = laber as any;
  const score = (): number[] => [1];
  assertThrows(() => loose({}), TypeError, "score");
  assertThrows(
    () => loose(uniform()),
    TypeError,
    "laber() takes { score, factor, rule, normalize }",
  );
  assertThrows(() => loose({ score, factor: 0 }), RangeError, "factor");
  assertThrows(() => loose({ score, normalize: "sum" }), TypeError, "normalize");
  assertThrows(() => loose({ score, rule: 1 }), TypeError, "rule");
  using replay = await smallReplay();
  recordEpisode(replay, 3);
  const selector = replay.newPickSelector(loose({ score, factor: 2 ** 24 }));
  assertThrows(() => replay.getBatch(2, selector), RangeError, "candidates");
});
