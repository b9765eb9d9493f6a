/** The picture of stats(): well formed, labelled, and drawn to scale. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";
import {
  ExperienceReplay,
  float32,
  highestPriority,
  newest,
  prioritized,
  ReplayError,
  uniform,
} from "@exrp/replay";
import { type ReplayStats, type SelectorStats, statsSvg } from "@exrp/replay/stats";

/** A replay of `count` records, of one episode. */
// deno-lint-ignore explicit-function-return-type
async function filled(count: number) {
  const replay = await ExperienceReplay.create({
    capacity: 1000,
    state: float32(1),
    segmentLength: 1000,
    seed: 1,
  });
  let episode = replay.newEpisode();
  for (let t = 0; t < count; t++) episode = replay.record(episode, [t], 0, 0);
  return replay;
}

/** All texts of a picture, in order. */
function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = ""]) => text);
}

/** Every tag is closed, every number is finite, and everything lies in the picture. */
function check(svg: string): void {
  assert(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg" width="820"'), svg.slice(0, 200));
  assert(!/NaN|Infinity|undefined/.test(svg), svg);
  const open: string[] = [];
  for (
    const [, close, name = "", self] of svg.matchAll(/<(\/?)([a-z]+)(?: [\w:-]+="[^"<]*")*(\/?)>/g)
  ) {
    if (self === "/") continue;
    if (close === "/") assertEquals(open.pop(), name);
    else open.push(name);
  }
  assertEquals(open, []);
  const height = Number(/height="(\d+)"/.exec(svg)?.[1]);
  for (const [, x, y] of svg.matchAll(/ x="([-\d.]+)" y="([-\d.]+)"/g)) {
    assert(
      Number(x) >= 0 && Number(x) <= 820 && Number(y) >= 0 && Number(y) <= height,
      `${x} ${y}`,
    );
  }
}

Deno.test("statsSvg() of an empty replay, of one record, and of many is well formed", async () => {
  using empty = await filled(0);
  check(statsSvg(empty));
  assertStringIncludes(statsSvg(empty), "no record is stored");
  const selector = empty.newPickSelector(uniform());
  check(statsSvg(empty));
  assertStringIncludes(statsSvg(empty), "no draw is noted");
  empty.record(empty.newEpisode(), [0], 0, 0, { finalState: [0] });
  empty.getBatch(1, selector);
  check(statsSvg(empty));
  for (let k = 0; k < 9; k++) empty.newPickSelector(prioritized());
  check(statsSvg(empty));
  assertStringIncludes(statsSvg(empty), "2 more selectors are not shown");
});

Deno.test("statsSvg() says what is stored and drawn, and its lines are to scale", async () => {
  using replay = await filled(1000);
  const [all, news] = [
    replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 })),
    replay.newPickSelector(newest()),
  ];
  for (let k = 0; k < 10; k++) [all, news].forEach((selector) => replay.getBatch(32, selector));
  replay.setPriority(
    all,
    new Array(10).fill(0),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    new Array(10).fill(100),
  );
  const svg = statsSvg(replay, { title: "Cart <Pole>" });
  check(svg);
  const texts = textsOf(svg);
  for (
    const text of [
      "Cart &lt;Pole&gt;",
      "1,000 of 1,000 records (100 %) in 1 episode of mean length 1,000; 1 open",
      "1,000 records written; 640 picks drawn, 0.64 for each record written",
      "share that is at most so old",
      "0 prioritized",
      "999 picks in pick view 0",
      "320 drawn, 0.32 a record",
      "weight (logarithmic)",
      "it keeps no weights",
      "stored: median 499",
      "1 newest: median 1",
    ]
  ) {
    assert(texts.includes(text), `${text} is not among ${texts.join(" | ")}`);
  }
  // The line of `newest` is at 100 % from the end of the first bin on, and begins at 0.
  const { ages, selectors } = replay.stats();
  const lines = [
    ...svg.matchAll(/<path d="M([^"]+)" fill="none" stroke="#[0-9a-f]+" stroke-width="2"/g),
  ]
    .map(([, path = ""]) => path.split("L").map((point) => point.split(" ").map(Number)));
  const line = lines.find((points) =>
    points.length === ages.histogram.edges.length && points[1]?.[1] === points.at(-1)?.[1]
  );
  assertEquals(line?.length, ages.histogram.edges.length);
  assertAlmostEquals((line?.[0]?.[1] ?? 0) - (line?.[1]?.[1] ?? 0), 150, 0.01);
  assertAlmostEquals((line?.at(-1)?.[0] ?? 0) - (line?.[0]?.[0] ?? 0), 500, 0.01);
  // And that of `prioritized` rises as the noted draws say.
  const counts = selectors[0]?.noted.ages.histogram.counts ?? [];
  const first = lines.find((points) => points.length === counts.length + 1);
  const [bottom = 0, next = 0] = [first?.[0]?.[1], first?.[1]?.[1]];
  assertAlmostEquals((bottom - next) / 150, (counts[0] ?? 0) / 320, 0.001);
});

Deno.test("statsSvg() of the smallest and largest priorities is well formed", async () => {
  const extremes = [Number.MIN_VALUE, 1.5e-323, 1e-320, Number.MAX_VALUE, 1e308, 1, 0];
  for (const some of [extremes, [Number.MIN_VALUE, 1e-323], [Number.MAX_VALUE, 1e308], [1], [0]]) {
    using replay = await filled(some.length + 1);
    const selector = replay.newPickSelector(highestPriority());
    const places = some.map((_, k) => k);
    replay.setPriority(selector, some.map(() => 0), places, some);
    const { priorities } = replay.stats().selectors[0] as SelectorStats;
    const binned = priorities?.histogram.counts.reduce((a, b) => a + b, priorities.zeroCount) ?? 0;
    // The largest number of all is above the last edge.
    assert(binned >= some.length - 1, String(some));
    check(statsSvg(replay));
  }
});

Deno.test("statsSvg() takes a replay or its stats, knows its options, and says what it needs", async () => {
  const replay = await filled(10);
  const stats: ReplayStats = replay.stats();
  assertEquals(statsSvg(stats), statsSvg(replay));
  const dark = statsSvg(stats, { theme: "dark" });
  check(dark);
  assert(dark !== statsSvg(stats));
  assertEquals(textsOf(dark), textsOf(statsSvg(stats)));
  const wrong = statsSvg as unknown as (...values: unknown[]) => string;
  assertThrows(() => wrong({}), TypeError, "statsSvg() takes a replay, or what its stats() gave");
  assertThrows(() => wrong(undefined), TypeError, "statsSvg() takes a replay");
  assertThrows(() => wrong(stats, { theme: "grey" }), TypeError, 'theme must be "light" or "dark"');
  assertThrows(() => wrong(stats, { titel: "x" }), TypeError, "titel");
  assertThrows(() => wrong(stats, { title: 3 }), TypeError, "title must be a string, got 3");
  replay[Symbol.dispose]();
  assertThrows(() => statsSvg(replay), ReplayError, "disposed");
  assertEquals(statsSvg(stats).length > 0, true); // they are numbers, which stay
});

Deno.test("docs/look_inside.md says the numbers of its picture", async () => {
  const page = await Deno.readTextFile(inRepository("docs/look_inside.md"));
  const svg = await Deno.readTextFile(inRepository("docs/images/look_inside.svg"));
  check(svg);
  const texts = textsOf(svg).join("\n");
  const number = (of: RegExp): string => {
    const found = of.exec(texts)?.[1];
    assert(found !== undefined, `${of} is not in ${texts}`);
    return found;
  };
  for (
    const [said, of] of [
      [" of NUMBER picks:", /^([\d,]+) picks in pick view 0$/m],
      [": NUMBER %.", /^effective sample size .*\(([\d.]+) %\)$/m],
      ["of NUMBER noted draws", /^times, in ([\d,]+) noted draws$/m],
      ["NUMBER were different picks", /^number of picks, ([\d,]+) in all$/m],
      ["are NUMBER here", /^.* drawn, ([\d.]+) a record$/m],
    ] as const
  ) {
    assertStringIncludes(page, said.replace("NUMBER", number(of)));
  }
});
