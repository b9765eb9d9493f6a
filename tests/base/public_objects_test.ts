/** console.log and notebooks show every object that the library makes, and never throw: also what is gone, busy or drawn right now. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../_assert.ts";
import { inspect } from "node:util";
import * as everyday from "@exrp/replay";
import * as eviction from "@exrp/replay/eviction";
import * as returns from "@exrp/replay/returns";
import * as selectors from "@exrp/replay/selectors";
import * as stats from "@exrp/replay/stats";
import { ExperienceReplay, float32, ReplayError, uniform } from "@exrp/replay";

const DISPLAY = Symbol.for("Jupyter.display");

/** What a notebook gets; undefined for an object that has no representation of its own. */
function displayed(value: unknown): Record<string, string> | undefined {
  const display: unknown = Reflect.get(Object(value), DISPLAY);
  return typeof display === "function" ? display.call(value) : undefined;
}

// deno-lint-ignore explicit-function-return-type
async function busyReplay() {
  const replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(2),
    extras: { achieved: float32(), desired: float32() },
    pick: { length: 2, allowShort: true },
    seed: 1,
  });
  const selector = replay.newPickSelector(uniform());
  const table = replay.newPickView({ length: 1, nStep: 2, allowShort: true });
  const returnsOf = table.newPickSelector(uniform());
  const episode = replay.newEpisode();
  const extras = { achieved: 1, desired: 2 };
  for (let t = 0; t < 5; t++) replay.record(episode, [t, 0], 0, 1, { extras });
  replay.record(episode, [9, 9], 0, 1, { extras, finalState: [8, 8] });
  return { replay, selector, table, returnsOf, episode };
}

/** A value for each function that makes objects; `null` for what makes none. */
const made: Record<string, (() => unknown) | null> = {
  ...Object.fromEntries(
    ["bool", "float16", "float32", "float64", "int16", "int32", "int8", "uint8"]
      .map((
        name,
      ) => [name, () => (everyday as unknown as Record<string, () => unknown>)[name]?.()]),
  ),
  every: () => everyday.every(2, float32(3)),
  Column: () => float32(2),
  KeptColumn: () => everyday.every(2, float32(3)),
  ...Object.fromEntries(
    [
      ...["uniform", "prioritized", "rankBased", "pser", "curious", "ucb", "newest", "oldest"],
      ...[
        "highestPriority",
        "lowestPriority",
        "withoutReplacement",
        "fifo",
        "secondChance",
      ],
      ...["lru", "lfu", "lowestPriorityFirst", "reservoir"],
    ].map((name) => [name, () => (everyday as unknown as Record<string, () => unknown>)[name]?.()]),
  ),
  recent: () => everyday.recent({ newest: 10 }),
  combined: () => everyday.combined({ rest: uniform() }),
  laber: () => everyday.laber({ score: () => [] }),
  mixture: () => everyday.mixture([{ rule: uniform(), share: 1 }]),
  power: () => selectors.power(),
  afterDraws: () => everyday.afterDraws(3),
  minSize: () => everyday.minSize(10),
  queue: () => everyday.queue(10),
  samplesPerInsert: () => everyday.samplesPerInsert(8, { minSize: 10, error: 32 }),
  NativeSelector: () => uniform(),
  NativeEviction: () => everyday.fifo(),
  RandomStream: null,
  recentCount: null,
  gae: () =>
    returns.gae({
      reward: [1, 1],
      value: [0, 0],
      nextValue: [0, 0],
      discount: [1, 1],
      seqLen: [2],
      lambda: 1,
    }),
  vtrace: () =>
    returns.vtrace({
      ...{ reward: [1, 1], value: [0, 0], nextValue: [0, 0], discount: [1, 1], seqLen: [2] },
      ...{ logProbBehaviour: [0, 0], logProbTarget: [0, 0] },
    }),
  // Typed arrays and numbers are shown as what they are.
  ...Object.fromEntries(
    ["annealed", "lambdaReturn", "nStepReturn", "retrace", "sequencePriority", "statsSvg"]
      .map((name) => [name, null]),
  ),
  // The other tests show these.
  EPISODE_END: null,
  spaceColumns: null,
  ReplayError: null,
  ExperienceReplay: null,
  ReplayView: null,
};

for (const [room, exported] of Object.entries({ everyday, eviction, returns, selectors, stats })) {
  for (const name of Object.keys(exported)) {
    Deno.test(`console.log of what ${name} of ${room} makes is one line`, () => {
      const make = made[name];
      assert(make !== undefined, `${name} is new: say here what it makes`);
      if (make === null) return;
      const text = Deno.inspect(make());
      assertEquals(inspect(make()), text);
      assertEquals(String(make()), text);
      assert(!text.includes("\n") && text.length < 200, text);
      assertMatch(
        text,
        new RegExp(
          `^(Kept)?${
            name === "KeptColumn" || name === "Column" || name.startsWith("Native") ? "" : name
          }`,
        ),
      );
    });
  }
}

Deno.test("console.log of what a replay gives is one line or a table, and notebooks get both", async () => {
  const { replay, selector, table, returnsOf, episode } = await busyReplay();
  const batch = replay.getBatch(4, selector);
  const withReturns = replay.getBatch(4, returnsOf);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    reward: (achieved) => achieved,
  });
  const drained = replay.drain({ keep: true });
  const own = { advantage: new Float32Array(6), logits: new Float64Array(12) };
  const lines: Record<string, unknown> = {
    "Selector 0: uniform": selector,
    "PickView 1: 6 picks of length 1": table,
    "Batch 4×2 { state: float32[4,2,2],": batch,
    "Batch 4×1 {": withReturns,
    "NStepPart n = 2 { reward: float32[4,1], nextState: float32[4,1,2], discount: float32[4,1] }":
      withReturns.nStep[0],
    "Hindsight: strategy future": hindsight,
    "Relabelled ": hindsight.relabel(batch),
    "EpisodeRecords of episode 0 (terminated): 6 records { state: float32[6,2],": replay
      .episodeRecords(episode),
    "Drained 6 steps in 1 segment": drained,
    "TimeMajor 6 steps of 1 actor { state: float32[6,1,2], action: int32[6,1], reward: float32[6,1], achieved: float32[6,1], desired: float32[6,1] } own { advantage: float32[6,1], logits: float64[6,1,2] }":
      drained.timeMajor(own),
    "TimeMajor 6 steps of 1 actor { state: float32[6,1,2], action: int32[6,1], reward: float32[6,1], achieved: float32[6,1], desired: float32[6,1] }":
      drained.timeMajor(),
    "Minibatch 4 steps of epoch 0 { state: float32[4,2], action: int32[4], reward: float32[4], achieved: float32[4], desired: float32[4] } own { advantage: float32[4], logits: float64[4,2] }":
      drained.minibatches(4, { own }).next().value,
    "RecordColumns { state: float32(2), action: int32(), reward: float32(), achieved: float32(), desired: float32() }":
      replay.columns,
    "Episode 0: terminated, 6 records, tag 0": replay.episode(episode),
    "Object [AsyncGenerator] {}": replay.batches(2, selector),
  };
  for (const [start, value] of Object.entries(lines)) {
    const text = Deno.inspect(value);
    assertEquals(inspect(value).replaceAll("'", '"'), text);
    if (!text.startsWith("Object ")) assertEquals(String(value), text);
    assert(text.startsWith(start) && !text.includes("\n"), text);
  }
  for (
    const [start, value] of [
      ["ExperienceReplay", replay],
      ["ExperienceReplay", replay.describe()],
      [
        "ReplayStats",
        replay.stats(),
      ],
    ] as const
  ) {
    const text = Deno.inspect(value);
    assertEquals(inspect(value), text);
    assertEquals(String(value), text);
    assertMatch(text, new RegExp(`^${start}\n {2}[a-z]`));
  }
  assertMatch(Deno.inspect(new ReplayError("empty", "no picks")), /^ReplayError: no picks\n/);

  for (
    const value of [
      replay,
      replay.describe(),
      replay.stats(),
      table,
      batch,
      withReturns,
      replay.drain({ keep: true }),
    ]
  ) {
    const bundle = displayed(value);
    assertEquals(Object.keys(bundle ?? {}), ["text/plain", "text/html"]);
    assertEquals(bundle?.["text/plain"], Deno.inspect(value));
    checkHtml(bundle?.["text/html"] ?? "");
  }
  assertStringIncludes(displayed(replay)?.["text/html"] ?? "", "<svg ");
  assertStringIncludes(displayed(batch)?.["text/html"] ?? "", "float32[4,2,2]");

  // Neither shows in loops, JSON and comparisons.
  assertEquals(JSON.stringify(replay.stats()).includes("Jupyter"), false);
  assertEquals(Object.keys(replay.stats()), [
    "records",
    "bytes",
    "episodes",
    "ages",
    "drawnCount",
    "drawsPerRecord",
    "rateLimiter",
    "selectors",
  ]);

  for (const gone of [batch, withReturns]) {
    gone[Symbol.dispose]();
    assertStringIncludes(displayed(gone)?.["text/html"] ?? "", "handed back");
  }
  const moved = replay.getBatch(4, selector);
  structuredClone(moved.bytes.buffer, { transfer: [moved.bytes.buffer] });
  const stale = replay.getBatch(4, returnsOf).nStep[0];
  for (const value of [moved, stale]) assertEquals(typeof Deno.inspect(value), "string");
  checkHtml(displayed(moved)?.["text/html"] ?? "");

  // Busy: while a snapshot is loaded from a stream.
  const saved = await replay.serialize();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const loading = replay.unserialize(readable);
  assertMatch(Deno.inspect(replay), /^ExperienceReplay \(busy until unserialize\(\) is done\)$/);
  assertEquals(
    displayed(replay)?.["text/html"],
    "<pre>ExperienceReplay (busy until unserialize() is done)</pre>",
  );
  assertMatch(Deno.inspect(table), /^PickView 1: picks of length 1/);
  checkHtml(displayed(table)?.["text/html"] ?? "");
  const writer = writable.getWriter();
  await Promise.all([writer.write(saved), writer.close(), loading]);

  replay[Symbol.dispose]();
  assertEquals(Deno.inspect(replay), "ExperienceReplay (disposed)");
  assertEquals(displayed(replay)?.["text/html"], "<pre>ExperienceReplay (disposed)</pre>");
  for (const value of [table, selector, hindsight, batch]) {
    assertEquals(typeof Deno.inspect(value), "string");
  }
  checkHtml(displayed(table)?.["text/html"] ?? "");
  for (const value of [replay, table, batch]) {
    const impostor = Object.create(Object.getPrototypeOf(value));
    assertEquals(typeof String(impostor), "string");
    assertEquals(typeof Deno.inspect(impostor), "string");
    assertEquals(typeof displayed(impostor)?.["text/html"], "string");
  }
});

Deno.test("notebooks: names of rules can't bring markup into the page", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(),
    extras: { "<b>&": float32() } as const,
  });
  const name = `<script>alert("1")</script>\u0000 & ${"long ".repeat(40)}`;
  const selector = replay.newPickSelector({
    name,
    pushed: () => {},
    moved: () => {},
    popped: () => {},
    setPriority: () => {},
    select: (_, { index, probability }) => {
      index.fill(0);
      probability.fill(1);
    },
  });
  replay.record(replay.newEpisode(), 0, 0, 0, { extras: { "<b>&": 1 }, finalState: 0 });
  const batch = replay.getBatch(1, selector);
  for (const value of [replay, replay.stats(), batch]) {
    const html = displayed(value)?.["text/html"] ?? "";
    checkHtml(html);
    assert(!/<(script|b)>/.test(html), html);
  }
  assertStringIncludes(displayed(batch)?.["text/html"] ?? "", "&lt;b&gt;&amp;");
  assertStringIncludes(displayed(replay)?.["text/html"] ?? "", "&lt;script&gt;");
});

/** Every tag is closed in order, and no text has a bare special sign. */
function checkHtml(html: string): void {
  assert(html.length > 0, "no HTML");
  const open: string[] = [];
  for (
    const [, close, name = "", , self] of html.matchAll(
      /<(\/?)([a-z]+)((?: [\w:-]+="[^"<]*")*)(\/?)>/gi,
    )
  ) {
    if (self === "/") continue;
    if (close === "/") assertEquals(open.pop(), name, html);
    else open.push(name);
  }
  assertEquals(open, [], html);
  const left = html.replace(/<\/?[a-z]+(?: [\w:-]+="[^"<]*")*\/?>/gi, "").replace(
    /&(amp|lt|gt|quot);/g,
    "",
  );
  assert(!/[<>&]/.test(left), left);
}
