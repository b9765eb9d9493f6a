/** Selectors written in TypeScript: they conform like the kernel's own, and their mistakes are told by name. */
import { uniform } from "@exrp/replay";
import type { Selection } from "@exrp/replay/selectors";
import { assertEquals, assertMatch, assertStrictEquals, assertThrows } from "../_assert.ts";
import { Halving } from "../../examples/custom_selector.ts";
import {
  assertReplayError,
  assertReplayRejects,
  recordEpisode,
  smallReplay,
  testRandom,
} from "../replay/_helpers.ts";
import { Plain, Roulette } from "../testing/_plain_rules.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "a user's uniform rule", make: () => new Plain(), stationary: true });
conforms({
  name: "a user's proportional rule",
  make: () => new Roulette(),
  stationary: true,
  zeroIsNever: true,
  followsPriority: true,
});
conforms({ name: "the Halving of examples/", make: () => new Halving() });

Deno.test("a rule gets every change in order: its index i is the pick that the batch has for i", async () => {
  /** Keeps what each index stands for, learnt from the batches, and moved as told. */
  class Shadow extends Plain {
    readonly picks: (string | undefined)[] = [];
    override pushed(index = -1): void {
      assertStrictEquals(index, this.picks.length);
      this.picks.push(undefined);
    }
    override moved(from: number, to: number): void {
      assertStrictEquals(from, this.picks.length - 1);
      this.picks[to] = this.picks[from];
    }
    override popped(index: number): void {
      assertStrictEquals(index, this.picks.length - 1);
      this.picks.pop();
    }
    override select(count: number, out: Selection): void {
      for (let k = 0; k < count; k++) out.index[k] = k;
      out.probability.fill(1);
    }
  }
  for (let seed = 1; seed <= 5; seed++) {
    using replay = await smallReplay({ capacity: 50, segmentLength: 20, seed });
    const rule = new Shadow();
    const selector = replay.newPickSelector(rule);
    const random = testRandom(seed);
    let episode = replay.newEpisode();
    for (let step = 0; step < 2000; step++) {
      const ends = random(10) === 0;
      episode = replay.record(episode, [step], 0, 0, ends ? { finalState: [0] } : undefined);
      if (ends) episode = replay.newEpisode();
      if (random(30) === 0) {
        const live = replay.episodes().handle;
        const victim = live[random(live.length)] as number;
        if (victim !== episode) replay.evict(victim);
      }
      if (random(5) !== 0 || replay.pickCount === 0) continue;
      const batch = replay.getBatch(replay.pickCount, selector);
      assertStrictEquals(rule.picks.length, batch.size);
      for (let k = 0; k < batch.size; k++) {
        const pick = `${batch.pickEpisode[k]} ${batch.pickPosition[k]}`;
        assertStrictEquals(rule.picks[k] ?? pick, pick);
        rule.picks[k] = pick;
      }
    }
  }
});

Deno.test("a rule that breaks its contract is named, and nothing is changed", async () => {
  type Wrong = (count: number, out: Selection) => void;
  const cases: [Wrong, RegExp][] = [
    [(_count, out) => out.index.fill(3), /plain drew 3 as pick 0 of 4; there are picks 0 to 2/],
    [(_count, out) => out.index.fill(2 ** 32 - 1), /plain drew nothing as pick 0/],
    [(_count, out) => (out.index.fill(0), out.probability.fill(NaN)), /probability NaN for pick 0/],
    [(_count, out) => (out.index.fill(0), out.probability.fill(0)), /probability 0 .* more than 0/],
    [(_count, out) => (out.index.fill(0), out.probability.fill(1.1)), /probability 1\.1/],
    [() => {}, /plain drew nothing/],
  ];
  for (const [wrong, text] of cases) {
    using replay = await smallReplay();
    const rule = new Plain();
    const right = rule.select.bind(rule);
    const selector = replay.newPickSelector(rule);
    recordEpisode(replay, 3);
    const before = await replay.serialize();
    rule.select = wrong;
    const error = assertReplayError(() => replay.getBatch(4, selector), "rule");
    assertMatch(error.message, text);
    assertEquals(await replay.serialize(), before);
    rule.select = right;
    assertStrictEquals(replay.getBatch(4, selector).size, 4);
  }
});

Deno.test("an error of the rule's own comes through; one while it is told of changes bars it", async () => {
  using replay = await smallReplay();
  const rule = new Plain();
  const selector = replay.newPickSelector(rule);
  const other = replay.newPickSelector(uniform());
  recordEpisode(replay, 3);
  rule.select = () => {
    throw new Error("own mistake");
  };
  assertThrows(() => replay.getBatch(4, selector), Error, "own mistake");
  rule.pushed = () => {
    throw new Error("can't push");
  };
  recordEpisode(replay, 3);
  const error = assertReplayError(() => replay.getBatch(4, selector), "rule");
  assertMatch(error.message, /plain threw in pushed\(\), moved\(\) or popped\(\).*can't push/);
  assertReplayError(() => replay.setPriority(selector, [0], [0], [1]), "rule");
  await assertReplayRejects(replay.serialize(), "rule");
  assertStrictEquals(replay.getBatch(4, other).size, 4);
});

Deno.test("one object can't serve two selectors", async () => {
  using replay = await smallReplay();
  const rule = new Plain();
  replay.newPickSelector(rule);
  assertThrows(() => replay.newPickSelector(rule), TypeError, "serves a selector");
  assertStrictEquals(replay.selectors.length, 1);
});

Deno.test("the journal stays small while nobody draws", async () => {
  using replay = await smallReplay({ capacity: 1000 });
  const rule = new Plain();
  let told = 0;
  rule.pushed = () => {
    rule.count++;
    told++;
  };
  replay.newPickSelector(rule);
  for (let k = 0; k < 300; k++) recordEpisode(replay, 200);
  // 60,000 records make 60,000 pushes and as many removals: most were read without anyone asking.
  if (told < 30_000) throw new Error(`only ${told} were read`);
});
