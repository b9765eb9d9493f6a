/** The list of episodes: its columns, its filters, returns, the best, and what is refused. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import {
  bool,
  EPISODE_END,
  every,
  ExperienceReplay,
  float16,
  float32,
  float64,
  int16,
  int32,
  int8,
  prioritized,
  uint8,
} from "@exrp/replay";
import type { EpisodeFilter } from "@exrp/replay/types";
import { native } from "../../_native.ts";
import { assertReplayError, testRandom } from "../_helpers.ts";

const make = (capacity = 100) =>
  ExperienceReplay.create({ capacity, state: float32(), segmentLength: 50, seed: 1 });
type Plain = Awaited<ReturnType<typeof make>>;

/** Records an episode of these rewards, and gives its handle. */
function record(
  replay: Plain,
  rewards: readonly number[],
  { tag = 0, end = "terminated" }: { tag?: number; end?: keyof typeof EPISODE_END } = {},
): number {
  const count = rewards.length;
  return replay.recordMany(replay.newEpisode({ tag }), {
    state: new Float32Array(count),
    action: new Int32Array(count),
    reward: rewards,
    ...(end === "open" ? {} : { finalState: 0, truncated: end === "truncated" }),
  });
}

/** The handles that a filter takes. */
const handles = (replay: Plain, filter: EpisodeFilter): number[] => [
  ...replay.episodes(filter).handle,
];

Deno.test("each column says of each episode what episode() says of it", async () => {
  using replay = await make();
  record(replay, [1, 2, 3], { tag: 7 });
  record(replay, [4], { end: "truncated", tag: -1 });
  record(replay, [5, 6], { end: "open" });
  replay.newEpisode({ tag: 9 });
  const { handle, length, firstPosition, tag, end, age, ...rest } = replay.episodes();
  assertEquals([...handle], [0, 1, 2, 3]);
  assertEquals([...length], [3, 1, 2, 0]);
  assertEquals([...firstPosition], [0, 0, 0, 0]);
  assertEquals([...tag], [7, -1, 0, 9]);
  assertEquals([...end], [1, 2, 0, 0]);
  assertEquals([...age], [3, 2, 0, NaN]);
  assertEquals(rest, { size: 4 });
  for (const [k, each] of handle.entries()) {
    const { ending, recordCount, ...same } = replay.episode(each);
    assertStrictEquals(EPISODE_END[ending as keyof typeof EPISODE_END], end[k]);
    assertEquals([same.tag, same.firstPosition, recordCount], [
      tag[k],
      firstPosition[k],
      length[k],
    ]);
  }
});

Deno.test("a filter takes the episodes to which all of it applies", async () => {
  using replay = await make();
  record(replay, [1, 1, 1], { tag: 1 }); // 0
  record(replay, [1], { tag: 2, end: "truncated" }); // 1
  record(replay, [1, 1], { tag: 1, end: "open" }); // 2
  record(replay, [1, 1], { tag: 3 }); // 3
  replay.newEpisode({ tag: 2 }); // 4
  assertEquals(handles(replay, {}), [0, 1, 2, 3, 4]);
  assertEquals(handles(replay, { tag: 1 }), [0, 2]);
  assertEquals(handles(replay, { tag: [3, 1, 3] }), [0, 2, 3]);
  assertEquals(handles(replay, { tag: 4 }), []);
  assertEquals(handles(replay, { ended: true }), [0, 1, 3]);
  assertEquals(handles(replay, { ended: false }), [2, 4]);
  assertEquals(handles(replay, { ended: "terminated" }), [0, 3]);
  assertEquals(handles(replay, { ended: "truncated" }), [1]);
  assertEquals(handles(replay, { lengthMin: 2 }), [0, 2, 3]);
  assertEquals(handles(replay, { lengthMin: 1, lengthMax: 2 }), [1, 2, 3]);
  assertEquals(handles(replay, { lengthMax: 0 }), [4]);
  assertEquals(handles(replay, { tag: 1, ended: "terminated", lengthMin: 2 }), [0]);
  assertEquals(
    handles(replay, { tag: undefined, ended: undefined, best: undefined } as never).length,
    5,
  );
});

Deno.test("the best come first, of equal ones the older", async () => {
  using replay = await make();
  for (const reward of [3, 9, 9, -Infinity, 4, NaN, 9]) record(replay, [reward, 0]);
  assertEquals(handles(replay, { best: 2 }), [1, 2]);
  assertEquals(handles(replay, { best: 4 }), [1, 2, 6, 4]);
  const all = replay.episodes({ best: 100 });
  assertEquals([...all.handle], [1, 2, 6, 4, 0, 3, 5]);
  assertEquals([...all.return], [9, 9, 9, 4, 3, -Infinity, NaN]);
  assertEquals([all.size, ...all.length], [7, 2, 2, 2, 2, 2, 2, 2]);
  assertEquals(handles(replay, { best: 1, ended: false }), []);
  record(replay, [0, 20], { tag: 5 });
  assertEquals(handles(replay, { best: 1 }), [7]);
  assertEquals(handles(replay, { best: 1, discount: 0 }), [1]); // its first reward is larger
  assertEquals([...replay.episodes({ best: 1, tag: 5, discount: 0.5 }).return], [10]);
});

for (const column of [bool, uint8, int8, int16, int32, float16, float32, float64]) {
  Deno.test(`returns of ${column.name} rewards are the sums of the plain definition`, async () => {
    const below = testRandom(column.name.length);
    using replay = await ExperienceReplay.create({
      capacity: 2000,
      state: float32(),
      reward: column(),
      extras: { sometimes: every(4, float32()) },
    });
    const [least, span] = column === bool ? [0, 2] : column === uint8 ? [0, 256] : [-128, 256];
    for (let k = 0; k < 100; k++) {
      const count = 1 + below(30);
      replay.recordMany(replay.newEpisode(), {
        state: new Float32Array(count),
        action: new Int32Array(count),
        reward: Array.from({ length: count }, () => least + below(span)),
        extras: { sometimes: new Float32Array(count) },
        ...(below(3) === 0 ? {} : { finalState: 0 }),
      });
    }
    for (const discount of [1, 0.99, 0.5, 0]) {
      const { handle, return: sums } = replay.episodes({ discount });
      assert(handle.length > 50);
      for (const [k, each] of handle.entries()) {
        let [sum, factor] = [0, 1];
        for (const reward of replay.episodeRecords(each).reward) {
          sum += factor * Number(reward);
          factor *= discount;
        }
        assertStrictEquals(sums[k], sum);
      }
    }
  });
}

Deno.test("episodes that were trimmed, drained, evicted or loaded are listed as they are", async () => {
  using replay = await ExperienceReplay.create({ capacity: 64, state: float32(), seed: 1 });
  let open = replay.newEpisode();
  for (let k = 0; k < 70; k++) open = replay.record(open, k, 0, k);
  let { firstPosition: [first = 0], length: [length = 0], return: [sum] } = replay.episodes({
    discount: 1,
  });
  assert(first > 0);
  assertEquals(first + length, 70);
  assertStrictEquals(sum, length * (first + 69) / 2);
  const next = replay.newEpisode();
  replay.recordMany(next, { state: [0, 0], action: [0, 0], reward: [1, 2], finalState: 0 });

  // What was drained and kept stays in the list, and what was drained and not kept goes.
  replay.drain({ steps: 10, keep: true });
  assertEquals([...replay.episodes().handle], [open, next]);
  const bytes = await replay.serialize();
  const before = replay.episodes({ discount: 0.5 });
  const saving = replay.serialize();
  assertEquals(replay.episodes({ discount: 0.5 }), before); // while a snapshot is written
  await saving;
  using loaded = await ExperienceReplay.create({ capacity: 64, state: float32(), seed: 2 });
  await loaded.unserialize(bytes);
  assertEquals(loaded.episodes({ discount: 0.5 }), before);

  const { size } = replay.drain({ minSteps: 1 });
  assert(size > 0);
  assertEquals([...replay.episodes().handle], [open]);
  ({ firstPosition: [first = 0], length: [length = 0], return: [sum] } = replay.episodes({
    discount: 1,
  }));
  assertEquals([first, length, sum], [69, 1, 69]);
  assertEquals(replay.evict(open), true);
  assertEquals(replay.episodes({ discount: 1 }).size, 0);
  assertEquals(replay.episodes({ best: 3 }).return.length, 0);
});

Deno.test("a list is the caller's own", async () => {
  using replay = await make();
  record(replay, [1, 2]);
  const list = replay.episodes({ discount: 1 });
  record(replay, [3]);
  replay.evict(0);
  assertEquals([[...list.handle], [...list.length], [...list.return]], [[0], [2], [3]]);
  assertEquals(
    String(list),
    "1 episode { handle: float64[1], length: uint32[1], firstPosition: uint32[1], tag: int32[1], end: uint8[1], age: float64[1], return: float64[1] }",
  );
});

Deno.test("the list of chosen episodes draws whole ones by priority", async () => {
  using replay = await make();
  for (const reward of [1, 5, 2]) record(replay, [reward, reward]);
  const view = replay.newPickView({ whole: true, length: 4 });
  const selector = view.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const { handle, size } = replay.episodes();
  const best = new Set(replay.episodes({ best: 1 }).handle);
  const priorities = Float64Array.from(handle, (each) => best.has(each) ? 1 : 0);
  assertStrictEquals(replay.setPriority(selector, handle, new Int32Array(size), priorities), 3);
  assertEquals([...replay.getBatch(20, selector).pickEpisode], new Array(20).fill(1));
});

Deno.test("what is wrong in a filter is said, and nothing is listed", async () => {
  using replay = await make();
  using vectors = await ExperienceReplay.create({
    capacity: 9,
    state: float32(),
    reward: float32(2),
  });
  record(replay, [1]);
  const refused = (
    filter: unknown,
    kind: typeof TypeError,
    text: string,
    of: Plain | typeof vectors = replay,
  ) => {
    assertEquals(assertThrows(() => of.episodes(filter as EpisodeFilter), kind).message, text);
  };
  const names = "It has tag, ended, lengthMin, lengthMax, discount, best";
  refused(3, TypeError, "episodes() takes an object of options, got 3");
  refused({ tagg: 1 }, TypeError, `episodes() has no option "tagg"; did you mean tag? ${names}`);
  refused(
    { returns: true },
    TypeError,
    `episodes() has no option "returns": discount: 1 asks for plain returns. ${names}`,
  );
  refused(
    { tag: "a" },
    TypeError,
    'episodes(): tag must be a whole number or a list of whole numbers, got "a"',
  );
  refused({ tag: [] }, RangeError, "episodes(): tag takes 1 to 16 tags, got 0");
  refused(
    { tag: [1, 0.5] },
    RangeError,
    "episodes(): tag[1] must be an integer from -2147483648 to 2147483647, got 0.5",
  );
  refused(
    { ended: "open" },
    TypeError,
    'episodes(): ended must be true, false, "terminated" or "truncated", got "open"',
  );
  refused(
    { lengthMin: -1 },
    RangeError,
    "episodes(): lengthMin must be an integer from 0 to 268435456, got -1",
  );
  refused(
    { lengthMax: 1.5 },
    RangeError,
    "episodes(): lengthMax must be an integer from 0 to 268435456, got 1.5",
  );
  refused(
    { lengthMin: 5, lengthMax: 4 },
    RangeError,
    "episodes(): lengthMin is 5 and lengthMax is 4, so no episode fits; lengthMin must be at most lengthMax",
  );
  refused(
    { discount: 1.1 },
    RangeError,
    "episodes(): discount must be a finite number from 0 to 1, got 1.1",
  );
  refused({ discount: true }, TypeError, "episodes(): discount must be a number, got true");
  refused(
    { best: 0 },
    RangeError,
    "episodes(): best must be an integer from 1 to 268435456, got 0",
  );
  const vector =
    "returns, which need rewards that are single numbers; the rewards here are float32(2)";
  refused({ discount: 1 }, TypeError, `episodes(): discount asks for ${vector}`, vectors);
  refused({ best: 1 }, TypeError, `episodes(): best asks for ${vector}`, vectors);
  assertStrictEquals(vectors.episodes({ ended: true }).size, 0);
  replay[Symbol.dispose]();
  assertReplayError(() => replay.episodes(), "disposed");
});

native.test("every seat of a shared replay lists the same", async () => {
  using replay = await make();
  using guest = await ExperienceReplay.attach(structuredClone(replay.share()), {
    state: float32(),
  });
  record(guest as Plain, [1, 2], { tag: 3 });
  record(replay, [4]);
  const filter = { discount: 0.5 } as const;
  assertEquals(guest.episodes(filter), replay.episodes(filter));
  assertEquals([...guest.episodes(filter).return], [2, 4]);
  assertEquals([...replay.episodes({ tag: 3, best: 1 }).handle], [0]);
});
