/**
 * Pick views side by side on one store: what they share, what each has of its own, and what is refused.
 *
 * @module
 */

import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import {
  type Batch,
  ExperienceReplay,
  float16,
  highestPriority,
  type PickOptions,
  type PickView,
  prioritized,
  type Selector,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";
import {
  assertReplayError,
  assertReplayRejects,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  testRandom,
  visibleState,
} from "../_helpers.ts";
import { choose, positions } from "../_pick_helpers.ts";

/** Every pick of a view, each drawn once, with the bytes of its states: one line each, in order. */
function contents(replay: SmallReplay, view: PickView): string[] {
  if (view.pickCount === 0) return [];
  const selector = view.newPickSelector(withoutReplacement());
  const batch = replay.getBatch(view.pickCount, selector) as Batch;
  const width = batch.state.length / batch.size;
  return Array.from(batch.pickEpisode, (episode, k) => {
    const states = batch.state.subarray(k * width, (k + 1) * width);
    return `${episode} ${batch.pickPosition[k]}: ${states}`;
  }).sort();
}

Deno.test("views side by side hold what their policies allow, of the same records", async () => {
  using replay = await smallReplay({ capacity: 40 });
  const pairs = replay.newPickView({ length: 2, stride: 2 });
  const whole = replay.newPickView({ whole: true, length: 5 });
  assertEquals(replay.pickViews.slice(1), [pairs, whole]);
  assertEquals([pairs.id, whole.id], [1, 2]);
  recordEpisode(replay, 5);
  const open = replay.newEpisode();
  for (const state of [50, 51, 52]) replay.record(open, [state], 0, 0);
  // Singles: 5 of the ended, 2 of the open one. Pairs: 0, 2 of the ended; 0 of the open one. Whole: 1.
  assertEquals(replay.pickViews.map(({ pickCount }) => pickCount), [7, 3, 1]);
  assertStrictEquals(replay.pickCount, 7);
  replay.record(open, [53], 0, 0, { finalState: [54] });
  assertEquals(replay.pickViews.map(({ pickCount }) => pickCount), [9, 4, 2]);
  replay.evict(0);
  assertEquals(replay.pickViews.map(({ pickCount }) => pickCount), [4, 2, 1]);
  assertEquals(contents(replay, pairs), ["1 0: 50,51", "1 2: 52,53"]);
  assertEquals(contents(replay, whole), ["1 0: 50,51,52,53,0"]);
});

Deno.test("a view made late holds what one made at once does, then and later", async () => {
  const policies: PickOptions[] = [
    { length: 3, stride: 2, allowShort: true },
    { nStep: 4 },
    { whole: true, length: 6 },
    { stack: 3, length: 2, allowOpenEnd: true },
  ];
  using replay = await smallReplay({ capacity: 60, segmentLength: 9 });
  const early = policies.map((policy) => replay.newPickView(policy));
  const seed = 20261121;
  console.log(`seed ${seed}`);
  const random = testRandom(seed);
  const episodes = [replay.newEpisode(), replay.newEpisode(), replay.newEpisode()];
  let state = 0;
  const record = (count: number): void => {
    for (let step = 0; step < count; step++) {
      const actor = random(3);
      const ends = random(8) === 0;
      const options = ends ? { finalState: [++state], truncated: random(2) === 0 } : {};
      const episode = replay.record(episodes[actor] ?? 0, [++state], 0, 0, options);
      episodes[actor] = ends ? replay.newEpisode() : episode;
    }
  };
  record(200); // filled more than three times over
  const late = policies.map((policy) => replay.newPickView(policy));
  for (const round of [0, 1, 2]) {
    for (const [k, view] of early.entries()) {
      const twin = late[k];
      assert(twin);
      assertEquals(contents(replay, twin), contents(replay, view), `round ${round}, policy ${k}`);
      assert(view.pickCount > 0);
    }
    record(40);
  }
});

Deno.test("priorities belong to a view's selector, and positions that begin no pick of it are skipped", async () => {
  using replay = await smallReplay();
  const strided = replay.newPickView({ length: 2, stride: 3 });
  const selector = strided.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const single = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const episode = recordEpisode(replay, 8); // 0 to 7: strided picks at 0, 3 and 6
  const all = [0, 1, 2, 3, 4, 5, 6, 7];
  const handles = all.map(() => episode);
  assertStrictEquals(replay.setPriority(selector, handles, all, all.map(() => 0)), 3);
  assertStrictEquals(replay.setPriority(selector, [episode], [3], [2]), 1);
  assertEquals(new Set(replay.getBatch(50, selector).pickPosition), new Set([3]));
  // The other view's selector has heard nothing of it.
  assertEquals(new Set(replay.getBatch(400, single).pickPosition), new Set(all));
  assertStrictEquals(replay.setPriority(single, handles, all, all.map((k) => k === 4 ? 1 : 0)), 8);
  assertEquals(new Set(replay.getBatch(50, single).pickPosition), new Set([4]));
  assertEquals(new Set(replay.getBatch(50, selector).pickPosition), new Set([3]));
});

Deno.test("picks that overlap share records, and each has a priority of its own", async () => {
  using replay = await smallReplay();
  const view = replay.newPickView({ length: 4, stride: 2 }); // half of each is in the next
  const selector = view.newPickSelector(highestPriority());
  const episode = recordEpisode(replay, 8);
  assertEquals(positions(replay, view), [0, 2, 4]);
  choose(replay, selector, episode, 2);
  const middle = [...replay.getBatch(1, selector).state];
  choose(replay, selector, episode, 4);
  const last = [...replay.getBatch(1, selector).state];
  assertEquals([middle, last], [[2, 3, 4, 5], [4, 5, 6, 7]]);
});

/** A rule that draws the pick that was pushed last, in plain TypeScript. */
class Latest implements PickSelector {
  readonly name = "latest";
  readonly weighted = true;
  priorities = new Map<number, number>();
  count = 0;
  pushed(index: number): void {
    assertStrictEquals(index, this.count);
    this.count++;
  }
  moved(): void {}
  popped(index: number): void {
    assertStrictEquals(index, --this.count);
  }
  setPriority(indices: Uint32Array, priorities: Float64Array): void {
    for (const [k, index] of indices.entries()) this.priorities.set(index, priorities[k] ?? NaN);
  }
  select(count: number, out: Selection, _random: RandomStream): void {
    out.index.fill(this.count - 1, 0, count);
    out.probability.fill(1, 0, count);
  }
  save(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(0);
  }
  load(): void {}
}

Deno.test("a rule in TypeScript serves a view of its own, one made late too", async () => {
  using replay = await smallReplay({ capacity: 20 });
  recordEpisode(replay, 6);
  const view = replay.newPickView({ length: 2, stride: 2, nStep: 2, masks: true });
  const [rule, other] = [new Latest(), new Latest()];
  const selector = view.newPickSelector(rule);
  const single = replay.newPickSelector(other);
  assertEquals([rule.count, other.count], [3, 6]);
  const batch = replay.getBatch(2, selector);
  assertEquals([...batch.pickPosition], [4, 4]);
  assertEquals([...batch.state], [4, 5, 4, 5]);
  assertEquals([...batch.nStep[0]?.reward ?? []], [2, 1, 2, 1]);
  assertEquals([...replay.getBatch(1, single).state], [5]);
  assertStrictEquals(replay.setPriority(selector, [0, 0], [2, 3], [7, 8]), 1);
  assertEquals([...rule.priorities], [[1, 7]]);
  // Evictions reach both, each by its own view's numbers.
  for (let k = 0; k < 9; k++) recordEpisode(replay, 5);
  assertEquals([...replay.getBatch(1, selector).pickPosition], [2]);
  assertEquals([...replay.getBatch(1, single).pickPosition], [4]);
  assertEquals([rule.count, other.count], [view.pickCount, replay.pickCount]);
  assertEquals([rule.count, other.count], [8, 20]);
});

/** A replay with three views and four selectors, one of them in TypeScript if asked for. */
async function several(): Promise<{ replay: SmallReplay; selectors: Selector[] }> {
  const replay = await smallReplay({ capacity: 50, seed: 3 });
  const stacks = replay.newPickView({ stack: 2, stackPadding: "zeros", nStep: [1, 3] });
  const first = replay.newPickSelector(prioritized());
  const onStacks = stacks.newPickSelector(prioritized({ alpha: 0.9 }));
  const sequences = replay.newPickView({ length: 4, stride: 2, burnIn: 2, discount: 0.9 });
  const onSequences = sequences.newPickSelector(uniform());
  return { replay, selectors: [first, onStacks, onSequences, stacks.newPickSelector(uniform())] };
}

/** Draws of all selectors, with priorities in between. */
function future(replay: SmallReplay, selectors: readonly Selector[]): Uint8Array[] {
  return selectors.flatMap((selector) => {
    const batch = replay.getBatch(16, selector);
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, batch.pickPosition);
    return [batch.bytes, replay.getBatch(16, selector).bytes];
  });
}

Deno.test("a snapshot brings its views and their selectors along", async () => {
  const { replay, selectors } = await several();
  using _disposed = replay;
  for (let k = 0; k < 12; k++) recordEpisode(replay, 3 + k % 5, 100 * k);
  future(replay, selectors);
  const bytes = await replay.serialize();
  using fresh = await smallReplay({ capacity: 50, seed: 99 });
  await fresh.unserialize(bytes);
  assertEquals(
    fresh.pickViews.map(({ policy }) => policy),
    replay.pickViews.map((t) => t.policy),
  );
  assertEquals(fresh.selectors.map(({ view: view }) => view), [0, 1, 2, 1]);
  assertEquals(
    fresh.pickViews.map(({ pickCount }) => pickCount),
    replay.pickViews.map(({ pickCount }) => pickCount),
  );
  assertEquals(future(fresh, fresh.selectors), future(replay, selectors));
  // What came by itself is as good as what was made: it can be added to, and saved again.
  const added = fresh.pickViews[2]?.newPickSelector(highestPriority());
  assertEquals([added?.view, added?.id], [2, 4]);
  assertStrictEquals(fresh.newPickView({ whole: true, length: 5 }).id, 3);
  using again = await smallReplay({ capacity: 50 });
  await again.unserialize(await fresh.serialize());
  assertEquals(again.pickViews.length, 4);
  assertEquals(again.selectors.map(({ view: view }) => view), [0, 1, 2, 1, 2]);
});

Deno.test("a snapshot loads into a replay that has its first views, and their references stay good", async () => {
  const { replay } = await several();
  using _disposed = replay;
  recordEpisode(replay, 20);
  const bytes = await replay.serialize();
  using other = await smallReplay({ capacity: 50, seed: 8 });
  const view = other.newPickView({ stack: 2, stackPadding: "zeros", nStep: [1, 3] });
  const first = other.newPickSelector(prioritized());
  const selector = view.newPickSelector(prioritized({ alpha: 0.9 }));
  await other.unserialize(bytes);
  assertStrictEquals(other.pickViews[1], view);
  assertStrictEquals(view.pickCount, 20);
  assertEquals(future(other, [first, selector]), future(replay, replay.selectors.slice(0, 2)));
});

Deno.test("a rule in TypeScript on a second view is saved and loaded with it", async () => {
  const make = async (): Promise<[SmallReplay, Latest, Selector]> => {
    const replay = await smallReplay();
    const rule = new Latest();
    return [replay, rule, replay.newPickView({ length: 2, stride: 2 }).newPickSelector(rule)];
  };
  const [replay, , selector] = await make();
  using _first = replay;
  recordEpisode(replay, 9);
  const [loaded, rule, reference] = await make();
  using _second = loaded;
  recordEpisode(loaded, 30, 500);
  await loaded.unserialize(await replay.serialize());
  assertStrictEquals(rule.count, 4);
  assertEquals(loaded.getBatch(3, reference).bytes, replay.getBatch(3, selector).bytes);
  using without = await smallReplay();
  const error = await assertReplayRejects(
    without.unserialize(await replay.serialize()),
    "snapshot-mismatch",
  );
  assertMatch(error.message, /selector 0 the rule "latest", written in TypeScript: give this/);
});

Deno.test("a snapshot that does not fit a replay's views is refused, and names what differs", async () => {
  const { replay } = await several();
  using _disposed = replay;
  recordEpisode(replay, 20);
  const bytes = await replay.serialize();
  const cases: [(replay: SmallReplay) => void, RegExp][] = [
    [
      (other) => other.newPickView({ stack: 3, stackPadding: "zeros", nStep: [1, 3] }),
      /pick view 1: policy\.stack: this replay has 3, the snapshot 2/,
    ],
    [
      (other) => other.newPickView({ stack: 2, stackPadding: "zeros", nStep: 1 }),
      /pick view 1: policy\.nStep: this replay has 1, the snapshot 1,3/,
    ],
    [
      (other) => {
        other.newPickView({ stack: 2, stackPadding: "zeros", nStep: [1, 3] });
        other.newPickView({ length: 4, stride: 2, burnIn: 2, discount: 0.9 });
        other.newPickView({});
      },
      /pick view 3: policy: this replay has one, the snapshot none/,
    ],
    [
      (other) => {
        other.newPickView({ stack: 2, stackPadding: "zeros", nStep: [1, 3] });
        other.pickViews[1]?.newPickSelector(prioritized());
      },
      /selector 0's pick view: this replay has 1, the snapshot 0/,
    ],
  ];
  for (const [prepare, text] of cases) {
    using other = await smallReplay({ capacity: 50 });
    prepare(other);
    recordEpisode(other, 4);
    const before = visibleState(other);
    const error = await assertReplayRejects(other.unserialize(bytes), "snapshot-mismatch");
    assertMatch(error.message, text);
    assertEquals(visibleState(other), before);
  }
});

Deno.test("describe() names every view, and each selector's", async () => {
  const { replay } = await several();
  using _disposed = replay;
  recordEpisode(replay, 10);
  const { pickViews, selectors, pickCount } = replay.describe();
  assertEquals(pickViews.map(({ id, pickCount }) => [id, pickCount]), [[0, 10], [1, 10], [2, 4]]);
  assertEquals([pickViews[2]?.policy.stride, pickViews[1]?.policy.nStep], [2, [1, 3]]);
  assertEquals(selectors.map(({ view }) => view), [0, 1, 2, 1]);
  assertStrictEquals(pickCount, 10);
  const text = String(replay);
  assertMatch(text, /picks {8}10 of length 1\n/);
  assertMatch(
    text,
    /pick view 1 {2}10 of length 1, padded with zeros, stacks of 2, n-step 1 and 3, no next states\n/,
  );
  assertMatch(
    text,
    /pick view 2 {2}4 of length 4, stride 2, discount 0\.9, burn-in 2, masks\n/,
  );
  assertMatch(text, /selector 2 {3}uniform\(\) on pick view 2\n/);
  assertMatch(text, /selector 0 {3}prioritized\(alpha: [^\n]*\)\n/);
});

Deno.test("a view's policy can't be changed, and the options' object is not kept", async () => {
  using replay = await smallReplay();
  const nStep = [1, 2];
  const options = { nStep, length: 2 };
  const view = replay.newPickView(options);
  nStep.push(3);
  options.length = 9;
  assertEquals([view.policy.nStep, view.policy.length], [[1, 2], 2]);
  assert(Object.isFrozen(view.policy) && Object.isFrozen(view.policy.nStep));
  assert(Object.isFrozen(view));
});

Deno.test("a replay has at most 16 views, the first included", async () => {
  using replay = await smallReplay();
  for (let k = 1; k < 16; k++) replay.newPickView({ length: k });
  const before = visibleState(replay);
  const error = assertReplayError(() => replay.newPickView({}), "limit");
  assertMatch(error.message, /newPickView\(\).*16/);
  assertEquals(visibleState(replay), before);
  recordEpisode(replay, 16);
  assertEquals(
    replay.pickViews.map(({ pickCount }) => pickCount),
    [16, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2],
  );
});

Deno.test("an empty view is an error with code empty, whatever the others hold", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 3);
  const selector = replay.newPickView({ length: 4 }).newPickSelector(uniform());
  const error = assertReplayError(() => replay.getBatch(1, selector), "empty");
  assertEquals([error.status, error.detail[0]], [20, 3]);
});

Deno.test("into takes batches that are laid out alike, and no others", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 9);
  const draw = (policy: PickOptions, size = 4): [Selector, Batch] => {
    const selector = replay.newPickView(policy).newPickSelector(uniform());
    return [selector, replay.getBatch(size, selector) as unknown as Batch];
  };
  const [selector] = draw({ length: 2, nStep: 3 });
  const loose = replay as unknown as { getBatch(...args: unknown[]): unknown };
  // Another view's, but with rows and parts of the same sizes.
  for (
    const alike of [{ length: 2, nStep: 3, stride: 2 }, { length: 2, nStep: 3, reversed: true }]
  ) {
    const [, batch] = draw(alike);
    assertStrictEquals(loose.getBatch(4, selector, { into: batch }), batch);
  }
  for (
    const other of [
      { length: 3, nStep: 3 },
      { length: 2, nStep: 2 },
      { length: 2, nStep: [3, 4] },
      { length: 2 },
      { length: 2, nStep: 3, stack: 2 },
      { length: 2, nStep: 3, masks: true },
      { length: 2, nStep: 3, nextState: "copy" as const },
      { length: 1, burnIn: 1, nStep: 3 },
    ]
  ) {
    const [, batch] = draw(other);
    const bytes = batch.bytes.slice();
    const error = assertThrows(() => loose.getBatch(4, selector, { into: batch }), TypeError);
    assertMatch(
      error.message,
      /batch of another schema \(.*\), needed is .* x 2, n-step 3, no next/,
    );
    assertEquals(batch.bytes, bytes);
  }
});

Deno.test("what does not depend on dtypes takes any: float16 stacks, with n-step returns of them", async () => {
  using replay = await ExperienceReplay.create({ capacity: 40, state: float16(2) });
  const selector = replay.newPickView({ stack: 2, nStep: 2 }).newPickSelector(highestPriority());
  const episode = replay.newEpisode();
  replay.record(episode, [0.5, 1.5], 0, 1);
  replay.record(episode, [2.5, 3.5], 0, 1, { finalState: [4.5, 5.5], truncated: true });
  choose(replay, selector, episode, 0);
  const batch = replay.getBatch(1, selector);
  assertEquals([...batch.state], [0.5, 1.5, 0.5, 1.5]);
  assertEquals([...batch.nStep[0]?.nextState ?? []], [2.5, 3.5, 4.5, 5.5]);
});
