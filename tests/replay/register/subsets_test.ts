/** Pick views of some tags only, and selectors that draw from several of them. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLess,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import {
  afterDraws,
  type Batch,
  type Column,
  ExperienceReplay,
  fifo,
  float32,
  laber,
  lfu,
  mixture,
  newest,
  type PickOptions,
  type PickView,
  prioritized,
  type Selector,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { ComposedSelector, Composition } from "@exrp/replay/selectors";
import {
  assertReplayError,
  assertReplayRejects,
  firstPick,
  testRandom,
  visibleState,
} from "../_helpers.ts";

type Plain = ExperienceReplay<{ state: Column<"float32", []> }>;

function plainReplay(capacity = 1000, pick: PickOptions = {}): Promise<Plain> {
  return ExperienceReplay.create({ capacity, state: float32(), pick, seed: 1 }) as Promise<Plain>;
}

/** Records an episode of `count` records with this tag; states are the tag times 100 and on. */
function episodeOf(replay: Plain, tag: number, count: number, ends = true): number {
  let episode = replay.newEpisode({ tag });
  for (let t = 0; t < count; t++) {
    const end = ends && t === count - 1 ? { finalState: -1 } : {};
    episode = replay.record(episode, 100 * tag + t, 0, 1, end);
  }
  return episode;
}

/** Every pick of a view once, as "episode position", in order. */
function contents(replay: ExperienceReplay, view: PickView, selector: Selector): string[] {
  if (view.pickCount === 0) return [];
  const batch = replay.getBatch(view.pickCount, selector);
  return Array.from(batch.pickEpisode, (handle, k) => `${handle} ${batch.pickPosition[k]}`).sort();
}

function tagsOf(replay: ExperienceReplay, batch: Batch): number[] {
  return Array.from(batch.pickEpisode, (handle) => replay.episode(handle).tag);
}

Deno.test("a view has the picks of its tags, and nothing else, through any records, cuts and evictions", async () => {
  const wheres = [undefined, { tag: 0 }, { tag: [2, 1] }, { tag: [-5, 0, 2] }, { tag: 9 }];
  const policies: PickOptions[] = [
    {},
    { length: 3, allowShort: true, stride: 2 },
    { whole: true, length: 6 },
  ];
  for (const [k, policy] of policies.entries()) {
    const seed = 20261122 + k;
    const random = testRandom(seed);
    using replay = await ExperienceReplay.create({
      capacity: 120,
      segmentLength: 20,
      state: float32(),
      seed,
    });
    const views = wheres.slice(0, 4).map((where) =>
      replay.newPickView(where ? { ...policy, where } : policy)
    );
    const selectors = views.map((view) => view.newPickSelector(withoutReplacement()));
    const open = new Map<number, number>();
    for (let turn = 0; turn < 600; turn++) {
      const tag = [-5, 0, 1, 2, 3][random(5)] ?? 0;
      const handle = open.get(tag);
      if (handle === undefined || replay.episode(handle).ending === "evicted") {
        open.set(tag, replay.newEpisode({ tag }));
      } else if (random(8) === 0) {
        replay.record(handle, turn, 0, 0, { finalState: turn + 1 });
        open.delete(tag);
      } else open.set(tag, replay.record(handle, turn, 0, 0));
      if (random(60) === 0) {
        const all = replay.episodes().handle;
        replay.evict(all[random(all.length)] ?? 0);
      }
      if (turn % 20 > 0) continue;
      if (turn === 300) {
        // A view that is made late has the picks of the records that are there.
        views.push(replay.newPickView({ ...policy, where: { tag: [3, 1] } }));
        selectors.push(views[4]?.newPickSelector(withoutReplacement()) as typeof selectors[0]);
      }
      const picks = views.map((view, t) => contents(replay, view, selectors[t] as Selector));
      for (const [t, view] of views.entries()) {
        const tags = view.policy.where?.tag;
        const wanted = (picks[0] ?? []).filter((pick) =>
          tags === undefined || tags.includes(replay.episode(Number(pick.split(" ")[0])).tag)
        );
        assertEquals(picks[t], wanted, `seed ${seed}, turn ${turn}, tags ${tags}`);
      }
    }
    assert(replay.describe().evictedCount > 20);
  }
});

Deno.test("each half of a batch holds only its own, over thousands of draws, while episodes are evicted", async () => {
  for (const rule of [prioritized, uniform, firstPick, newest]) {
    using replay = await plainReplay(300);
    const offline = replay.newPickView({ where: { tag: 1 } }).newPickSelector(rule());
    const online = replay.newPickView({ where: { tag: 0 } }).newPickSelector(rule());
    const halves = replay.newPickSelector(
      mixture([{ selector: offline, share: 1 }, { selector: online, share: 1 }]),
    );
    const seed = 7;
    const random = testRandom(seed);
    const live = (): number => replay.describe().evictedCount;
    const states = new Set<number>();
    let draws = 0;
    for (let turn = 0; turn < 300; turn++) {
      for (const tag of [0, 1]) {
        let episode = replay.newEpisode({ tag });
        for (let t = 0; t < 3 + random(5); t++) episode = replay.record(episode, tag, turn, 0);
        replay.record(episode, tag, turn, 0, { finalState: tag });
      }
      const batch = replay.getBatch(32, halves);
      const wanted = [...new Array(16).fill(1), ...new Array(16).fill(0)];
      assertEquals(tagsOf(replay, batch), wanted, `seed ${seed}, turn ${turn}`);
      assertEquals([...batch.state], wanted);
      assertStrictEquals(replay.setPriority(halves, batch, batch.state.map(() => random(9))), 32);
      for (const action of batch.action) states.add(action);
      draws += 32;
    }
    assert(draws > 9000 && live() > 100 && states.size > 10, `${draws} ${live()} ${states.size}`);
  }
});

Deno.test("probabilities and weights of a mixture of views are those of its parts, in their views", async () => {
  using replay = await plainReplay();
  const options = { alpha: 1, epsilon: 0 };
  const offline = replay.newPickView({ where: { tag: 1 } }).newPickSelector(prioritized(options));
  const online = replay.newPickView({ where: { tag: 0 } }).newPickSelector(
    prioritized({ ...options, normalize: "view" }),
  );
  const mixed = replay.newPickSelector(
    mixture([{ selector: offline, share: 3 }, { selector: online, share: 1 }]),
  );
  const [one, zero] = [episodeOf(replay, 1, 4), episodeOf(replay, 0, 2)];
  // Offline: 1, 2, 3, 4 of 10. Online: 1, 4 of 5.
  const priority = [1, 2, 3, 4, 1, 4];
  const applied = replay.setPriority(
    mixed,
    [one, one, one, one, zero, zero],
    [0, 1, 2, 3, 0, 1],
    priority,
  );
  assertStrictEquals(applied, 6);
  const beta = 0.7;
  const drawn = new Map<number, number>();
  const [batches, size] = [50, 64];
  for (let k = 0; k < batches; k++) {
    const batch = replay.getBatch(size, mixed, { beta });
    const P = Array.from(batch.state, (state) => (state % 100 + 1) / 10);
    const weight = (k: number): number => ((k < 48 ? 4 : 2) * (P[k] ?? 0)) ** -beta;
    for (let k = 48; k < size; k++) P[k] = batch.state[k] === 0 ? 0.2 : 0.8;
    // The first part divides by the largest weight of its picks in the batch, the second by that in its view: of P = 0.2.
    const largest = Math.max(...P.slice(0, 48).map((_, k) => weight(k)));
    for (let k = 0; k < size; k++) {
      assertAlmostEquals(batch.probability[k] ?? NaN, P[k] ?? NaN, 1e-6);
      const wanted = weight(k) / (k < 48 ? largest : 0.4 ** -beta);
      assertAlmostEquals(batch.importanceWeight[k] ?? NaN, wanted, 1e-5);
    }
    for (const state of batch.state) drawn.set(state, (drawn.get(state) ?? 0) + 1);
  }
  // A place of the batch has pick i with the probability share · P. Stratified draws are nearer than independent ones.
  const shares = new Map([[100, 0.075], [101, 0.15], [102, 0.225], [103, 0.3], [0, 0.05], [
    1,
    0.2,
  ]]);
  for (const [state, share] of shares) {
    const sigma = Math.sqrt(share * (1 - share) / (batches * size));
    assertLess(Math.abs((drawn.get(state) ?? 0) / (batches * size) - share), 4 * sigma);
  }
});

Deno.test("setPriority reaches, in each part, the picks of its view only, and counts each pick once", async () => {
  using replay = await plainReplay();
  const options = { alpha: 1, epsilon: 0 };
  const views = [{ tag: 1 }, { tag: 0 }, { tag: [0, 2] }].map((where) =>
    replay.newPickView({ where })
  );
  const [a, b, c] = views.map((view) => view.newPickSelector(prioritized(options)));
  if (a === undefined || b === undefined || c === undefined) throw new Error("no selectors");
  const mixed = replay.newPickSelector(mixture([a, b, c].map((selector) => ({
    selector,
    share: 1,
  }))));
  const handles = [0, 1, 2, 3].map((tag) => episodeOf(replay, tag, 2));
  const gone = episodeOf(replay, 1, 2);
  replay.evict(gone);
  const [zero = -1, one = -1, two = -1, three = -1] = handles;
  // Two picks of tag 0 are in two of the views, that of tag 3 and the evicted one in none.
  const episodes = [zero, zero, one, two, three, gone];
  assertStrictEquals(
    replay.setPriority(mixed, episodes, [0, 1, 1, 1, 0, 0], [3, 9, 3, 4, 5, 6]),
    4,
  );
  assertEquals([...replay.getPriority(mixed, [zero, one, three], [1, 1, 0])], [9, 3, NaN]);
  const chances = (selector: Selector<{ state: Column<"float32", []> }>): string[] => {
    const { state, probability } = replay.getBatch(256, selector);
    return [...new Set(Array.from(state, (x, k) => `${x}: ${probability[k]?.toFixed(4)}`))].sort();
  };
  // New picks have priority 1 in a view, or the largest that was set there before.
  assertEquals(chances(a), ["100: 0.2500", "101: 0.7500"]);
  assertEquals(chances(b), ["0: 0.2500", "1: 0.7500"]);
  assertEquals(chances(c), ["0: 0.1765", "1: 0.5294", "200: 0.0588", "201: 0.2353"]);
  // A batch of one view sets the priorities of the others too, as far as they have its picks.
  const batch = replay.getBatch(4, c);
  const inB = batch.state.filter((state) => state < 100).length;
  assertStrictEquals(replay.setPriority(b, batch, [1, 1, 1, 1]), inB);
  assertStrictEquals(replay.setPriority(a, batch, [1, 1, 1, 1]), 0);
});

Deno.test("a mixture of views is refused where their options differ, and says in which", async () => {
  using replay = await plainReplay();
  const view = replay.newPickView({
    where: { tag: 1 },
    length: 4,
    stride: 2,
    nStep: [1, 3],
    discount: 0.5,
  });
  const selector = view.newPickSelector(uniform());
  const before = visibleState(replay);
  const message = assertThrows(
    () => replay.newPickSelector(mixture([{ selector: selector as Selector, share: 1 }])),
    TypeError,
  ).message;
  assertEquals(
    message,
    "newPickSelector(): the part uniform draws from pick view 1, which differs from pick view 0 in length (4, not 1), " +
      'stride (2, not 1), discount (0.5, not 1), nStep ([1,3], not []), nextState (false, not "copy"); ' +
      "the options of all views in one selector must be the same apart from where",
  );
  // Also where it is deep inside.
  assertThrows(
    () =>
      replay.newPickSelector(mixture([
        { rule: uniform(), share: 1 },
        { rule: mixture([{ selector: selector as Selector, share: 1 }]), share: 1 },
      ])),
    TypeError,
    "apart from where",
  );
  assertEquals(visibleState(replay), before);
  // On a view of the same options it works.
  const other = replay.newPickView({ length: 4, stride: 2, nStep: [1, 3], discount: 0.5 });
  const mixed = other.newPickSelector(mixture([{ selector, share: 1 }]));
  episodeOf(replay, 1, 6);
  const [part] = replay.getBatch(2, mixed).nStep;
  assertStrictEquals(part.n, 1);
});

Deno.test("a part must be a selector of this replay", async () => {
  using replay = await plainReplay();
  using other = await plainReplay();
  const selector = other.newPickSelector(uniform());
  const { message } = assertReplayError(
    () => replay.newPickSelector(mixture([{ selector, share: 1 }])),
    "foreign-selector",
  );
  assertMatch(message, /^newPickSelector\(\): the selector uniform 0 is another replay's/);
  // deno-lint-ignore no-explicit-any
  const loose = mixture as any;
  const forged = { id: 0, kind: "uniform", view: 0, parts: [] };
  assertThrows(
    () => replay.newPickSelector(loose([{ selector: forged, share: 1 }])),
    TypeError,
    "newPickSelector() takes a selector that newPickSelector() gave, got Object",
  );
  assertThrows(
    () => loose([{ selector: uniform(), share: 1 }]),
    TypeError,
    "the selector of part 0 must be one that newPickSelector() gave",
  );
  assertThrows(
    () => loose([{ rule: selector, share: 1 }]),
    TypeError,
    "the rule of part 0 must be a rule such as uniform(), got a Selector; write { selector, share }",
  );
  assertThrows(
    () => loose([{ rule: uniform(), selector, share: 1 }]),
    TypeError,
    "part 0 has a rule or a selector, got both",
  );
  assertThrows(() => loose([selector]), TypeError, "part 0 must be { rule, share } or");
  assertStrictEquals(replay.selectors.length, 0);
});

Deno.test("a batch of which one part has no pick fails before anything is drawn, and names the tags", async () => {
  using replay = await plainReplay();
  const offline = replay.newPickView({ where: { tag: [1, 4] } }).newPickSelector(uniform());
  const online = replay.newPickView({ where: { tag: 0 } }).newPickSelector(uniform());
  const mixed = replay.newPickSelector(
    mixture([{ selector: online, share: 1 }, { selector: offline, share: 1 }]),
  );
  episodeOf(replay, 0, 5);
  const empty = replay.newEpisode({ tag: 4 });
  const bytes = await replay.serialize();
  for (const selector of [mixed, offline]) {
    const { message } = assertReplayError(() => replay.getBatch(8, selector), "empty");
    assertMatch(message, /there is no pick to draw yet: no episode with tag 1 or 4 has a record;/);
  }
  assertEquals(await replay.serialize(), bytes);
  replay.record(empty, 0, 0, 0);
  assertMatch(
    assertReplayError(() => replay.getBatch(8, mixed), "empty").message,
    /: the only episode with tag 1 or 4 has 1 record and is open;/,
  );
  replay.record(empty, 0, 0, 0);
  assertStrictEquals(replay.getBatch(8, mixed).size, 8);
});

Deno.test("the first view may have tags too; policies of eviction know that other episodes have no pick in it", async () => {
  for (const eviction of [fifo(), lfu(), afterDraws(2)]) {
    using replay = await ExperienceReplay.create({
      capacity: 40,
      state: float32(),
      pick: { where: { tag: 1 } },
      eviction,
      seed: 2,
    });
    const selector = replay.newPickSelector(uniform());
    for (let turn = 0; turn < 60; turn++) {
      episodeOf(replay, turn % 3, 3);
      if (replay.pickCount === 0) continue;
      const batch = replay.getBatch(16, selector);
      assertEquals(new Set(tagsOf(replay, batch)), new Set([1]), eviction.name);
    }
    const counts = [...replay.episodes().handle].map((handle) => replay.episode(handle))
      .filter(({ tag }) => tag === 1).reduce((sum, { recordCount }) => sum + recordCount, 0);
    assertStrictEquals(replay.pickCount, counts);
    assert(replay.describe().evictedCount > 30);
  }
});

Deno.test("a replay with tagged views and a mixture of them is saved, and goes on the same", async () => {
  const make = async (): Promise<[Plain, Selector<{ state: Column<"float32", []> }>]> => {
    const replay = await plainReplay(60);
    const [one, two] = [{ tag: 1 }, { tag: [0, 2] }].map((where) =>
      replay.newPickView({ where }).newPickSelector(prioritized())
    );
    if (one === undefined || two === undefined) throw new Error("no selectors");
    const parts = [{ selector: one, share: 2 }, { selector: two, share: 1 }];
    return [replay, replay.newPickSelector(mixture(parts))];
  };
  const go = (replay: Plain, mixed: Selector<{ state: Column<"float32", []> }>): number[] => {
    const seen: number[] = [];
    for (let turn = 0; turn < 30; turn++) {
      episodeOf(replay, turn % 4, 4);
      const batch = replay.getBatch(7, mixed);
      replay.setPriority(mixed, batch, batch.state.map((state) => state + 1));
      seen.push(...batch.pickEpisode, ...batch.pickPosition, ...batch.importanceWeight);
    }
    return seen;
  };
  const [replay, mixed] = await make();
  using _replay = replay;
  for (const tag of [0, 1, 2]) episodeOf(replay, tag, 3);
  go(replay, mixed);
  const bytes = await replay.serialize();
  const future = go(replay, mixed);
  const [other, again] = await make();
  using _other = other;
  await other.unserialize(bytes);
  assertEquals(go(other, again), future);

  // Views and selectors of the kernel come with the snapshot.
  using source = await plainReplay();
  source.newPickView({ where: { tag: 3 } }).newPickSelector(uniform());
  for (const tag of [2, 3]) episodeOf(source, tag, 3);
  using plain = await plainReplay();
  await plain.unserialize(await source.serialize());
  assertEquals(plain.pickViews.map(({ policy }) => policy.where), [undefined, { tag: [3] }]);
  assertEquals(plain.pickViews.map(({ pickCount }) => pickCount), [6, 3]);
  const [loaded] = plain.selectors;
  assertEquals(new Set(tagsOf(plain, plain.getBatch(20, loaded as Selector))), new Set([3]));

  // Other tags do not fit.
  for (const where of [{ tag: [3, 4] }, undefined]) {
    using target = await plainReplay();
    target.newPickView(where === undefined ? {} : { where });
    const { message } = await assertReplayRejects(
      target.unserialize(await source.serialize()),
      "snapshot-mismatch",
    );
    const mine = where === undefined ? "none" : "tag 3 or 4";
    assert(
      message.includes(`policy.where: this replay has ${mine}, the snapshot tag 3`),
      message,
    );
  }
});

Deno.test("laber and withoutReplacement work over parts of several views", async () => {
  using replay = await plainReplay();
  const [one, zero] = [1, 0].map((tag) =>
    replay.newPickView({ where: { tag } }).newPickSelector(withoutReplacement())
  );
  if (one === undefined || zero === undefined) throw new Error("no selectors");
  for (const tag of [0, 1]) episodeOf(replay, tag, 8);
  const parts = mixture<Batch<{ state: Column<"float32", []> }>>([
    { selector: one, share: 1 },
    { selector: zero, share: 1 },
  ]);
  const distinct = replay.getBatch(16, replay.newPickSelector(parts));
  assertEquals(new Set(distinct.state).size, 16); // each of the sixteen picks once
  const error = assertReplayError(
    () => replay.getBatch(18, replay.newPickSelector(parts)),
    "batch-size",
  );
  // The half that the user did not ask for by number is named.
  assertMatch(
    error.message,
    /^getBatch\(\): mixture \d asks its part withoutReplacement 0 for 9 picks: .* got 9$/,
  );
  // Candidates come from both views, and scores decide.
  const best = replay.newPickSelector(laber({
    factor: 2,
    rule: parts,
    score: ({ state }) => state.map((x) => x % 100 === 7 ? 1 : 0),
  }));
  const batch = replay.getBatch(8, best);
  assertEquals(new Set(batch.state), new Set([7, 107]));
});

Deno.test("a composition of your own may draw with selectors of other views", async () => {
  using replay = await plainReplay();
  const tagged = [2, 5].map((tag) =>
    replay.newPickView({ where: { tag } }).newPickSelector(uniform())
  );
  const byTurns: ComposedSelector = {
    name: "byTurns",
    parts: [...tagged as Selector[], newest()],
    begin(): Composition {
      let turn = 0;
      return {
        compose(count, drawer): void {
          for (let k = 0; k < count; k++) drawer.draw(turn++ % 3, 1);
        },
        save: () => Uint8Array.of(turn % 3),
        load: ([saved = 0]) => void (turn = saved),
      };
    },
  };
  const selector = replay.newPickSelector(byTurns);
  assertEquals(selector.parts.map(({ id, view: view }) => [id, view]), [[0, 1], [1, 2], [2, 0]]);
  for (const tag of [2, 5, 0]) episodeOf(replay, tag, 4);
  assertEquals(tagsOf(replay, replay.getBatch(7, selector)), [2, 5, 0, 2, 5, 0, 2]);
});

Deno.test("a new view has the discount of the replay, unless it names its own", async () => {
  using replay = await plainReplay(1000, { discount: 0.5 });
  const [same, own, steps] = [
    replay.newPickView({ length: 2 }),
    replay.newPickView({ discount: 1 }),
    replay.newPickView({ nStep: 3 }),
  ];
  assertEquals([same, own, steps].map(({ policy }) => policy.discount), [0.5, 1, 0.5]);
  episodeOf(replay, 0, 9, false);
  const discounts = (
    view: PickView,
  ): number[] => [...new Set(replay.getBatch(8, view.newPickSelector(uniform())).discount)];
  assertEquals([discounts(same), discounts(own)], [[0.5], [1]]);
  const [part] = replay.getBatch(1, steps.newPickSelector(uniform())).nStep;
  assertEquals([part.reward[0], part.discount[0]], [1.75, 0.125]);
});
