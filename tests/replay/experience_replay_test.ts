/** The life of a replay: creation, description, disposal. */
import {
  afterDraws,
  ExperienceReplay,
  float32,
  prioritized,
  ReplayError,
  uint8,
  uniform,
} from "@exrp/replay";
import { assert, assertEquals, assertLess, assertMatch, assertStrictEquals } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { inspect } from "node:util";
import { openKernel } from "../../ffi/library.ts";
import { assertReplayError, assertReplayRejects, recordEpisode, smallReplay } from "./_helpers.ts";

Deno.test("counts follow what is recorded and evicted, and capacity is exact", async () => {
  using replay = await smallReplay({ capacity: 8 });
  recordEpisode(replay, 3);
  recordEpisode(replay, 4);
  assertEquals([replay.episodeCount, replay.recordCount, replay.pickCount], [2, 7, 7]);
  recordEpisode(replay, 2);
  assertEquals([replay.episodeCount, replay.recordCount, replay.pickCount], [2, 6, 6]);
  assertEquals([...replay.episodes().handle], [1, 2]);
  assert(replay.memoryBytes > 0);
});

Deno.test("an episode is cut at segmentLength, and goes on under another handle", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(1),
    segmentLength: 10,
    pick: { discount: 0.5 },
  });
  const first = replay.newEpisode();
  let episode = first;
  for (let step = 0; step < 25; step++) episode = replay.record(episode, [step], 0, 0);
  assertStrictEquals(episode, first + 2);
  assertEquals(replay.episode(first), {
    handle: first,
    ending: "truncated",
    recordCount: 10,
    firstPosition: 0,
    tag: 0,
  });
  assertEquals(replay.episode(episode), {
    handle: episode,
    ending: "open",
    recordCount: 5,
    firstPosition: 0,
    tag: 0,
  });
  // The cut loses no next state: all but the newest record can be drawn, and no discount is 0.
  assertStrictEquals(replay.pickCount, 24);
  const batch = replay.getBatch(500, replay.newPickSelector(uniform()));
  for (const [k, state] of batch.state.entries()) assertStrictEquals(batch.nextState[k], state + 1);
  assertEquals(new Set(batch.discount), new Set([0.5]));
});

Deno.test("equal seeds give equal draws, other seeds others; a random seed can be read", async () => {
  const draw = async (seed?: number): Promise<[number, number[]]> => {
    using replay = await ExperienceReplay.create({
      capacity: 50,
      state: float32(1),
      ...(seed === undefined ? {} : { seed }),
    });
    const selector = replay.newPickSelector(uniform());
    recordEpisode(replay, 50);
    return [replay.seed, [...replay.getBatch(64, selector).state]];
  };
  const [seed, first] = await draw();
  assert(Number.isSafeInteger(seed));
  assertEquals((await draw(seed))[1], first);
  assert((await draw(seed + 1))[1].some((state, k) => state !== first[k]));
});

Deno.test("selectors side by side have draws of their own", async () => {
  using replay = await smallReplay();
  const [a, b] = [replay.newPickSelector(uniform()), replay.newPickSelector(uniform())];
  recordEpisode(replay, 50);
  const [first, second] = [replay.getBatch(64, a), replay.getBatch(64, b)];
  assert(first.state.some((state, k) => state !== second.state[k]));
});

Deno.test("describe() says all that matters, as an object and as text", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 12_345,
    state: uint8(84, 84),
    extras: { logProb: float32() },
    pick: { length: 4, allowShort: true, discount: 0.99 },
    seed: 9,
  });
  replay.newPickSelector(prioritized({ alpha: 0.7 }));
  const description = replay.describe();
  assertStrictEquals(description.capacity, 12_345);
  assertEquals(description.columns[0], {
    name: "state",
    dtype: "uint8",
    shape: [84, 84],
    bytes: 7056,
  });
  assertEquals(description.columns[3], {
    name: "extras.logProb",
    dtype: "float32",
    shape: [],
    bytes: 4,
  });
  assertEquals(description.pick, {
    length: 4,
    allowShort: true,
    allowOpenEnd: false,
    discount: 0.99,
    stride: 1,
    whole: false,
    burnIn: 0,
    before: 0,
    reversed: false,
    stack: 1,
    stackPadding: "repeat",
    stackCompact: false,
    nStep: [],
    nextState: "copy",
    masks: false,
    ends: false,
    returnToGo: false,
  });
  assertStrictEquals(description.selectors[0]?.options.alpha, 0.7);
  assertStrictEquals(description.memory.total, replay.memoryBytes);
  assertStrictEquals(JSON.parse(JSON.stringify(description)).eviction, "fifo");
  for (
    const text of [
      String(description),
      String(replay),
      Deno.inspect(replay),
      Deno.inspect(description),
    ]
  ) {
    assertMatch(text, /records\s+0 of 12_345/);
    assertMatch(text, /state\s+uint8\(84, 84\)/);
    assertMatch(text, /selector 0\s+prioritized\(alpha: 0\.7/);
    assertMatch(text, /seed\s+9/);
  }
});

Deno.test("describe() says the limits and the eviction's options where there are any", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 1000,
    state: float32(1),
    eviction: afterDraws(4),
    capacityBytes: 12 * 500 + 4,
    maxAge: 2000,
  });
  replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
  const description = replay.describe();
  assertEquals([description.capacity, replay.capacity], [500, 500]);
  assertEquals([description.capacityBytes, description.maxAge], [6004, 2000]);
  assertEquals(description.memory.stored, 16);
  assertEquals([description.eviction, description.evictionOptions], ["afterDraws", { draws: 4 }]);
  assertMatch(String(description), /bytes\s+16 of 6_004\n/);
  assertMatch(String(description), /max\. age\s+2_000 records\n/);
  assertMatch(String(description), /eviction\s+afterDraws\(draws: 4\)\n/);
  using plain = await smallReplay();
  assertEquals([plain.describe().capacityBytes, plain.describe().maxAge], [undefined, undefined]);
});

Deno.test("disposal: twice is fine, use afterwards is an error with a name", async () => {
  const replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  const episode = recordEpisode(replay, 5);
  const batch = replay.getBatch(4, selector);
  assertStrictEquals(replay.isDisposed, false);
  replay[Symbol.dispose]();
  replay[Symbol.dispose]();
  assertStrictEquals(replay.isDisposed, true);
  const calls: (() => unknown)[] = [
    () => replay.newEpisode(),
    () => replay.record(episode, [1], 0, 0),
    () => replay.newPickSelector(uniform()),
    () =>
      replay.newPickSelector({
        name: "mine",
        pushed: () => {},
        moved: () => {},
        popped: () => {},
        setPriority: () => {},
        select: () => {},
      }),
    () => replay.getBatch(4, selector),
    () => replay.getBatch(4, selector, { into: batch }),
    () => replay.getBatch(5, selector),
    () => replay.setPriority(selector, [episode], [0], [1]),
    () => replay.evict(episode),
    () => replay.episode(episode),
    () => replay.episodes().handle,
    () => replay.episodeCount,
    () => replay.recordCount,
    () => replay.pickCount,
    () => replay.memoryBytes,
    () => replay.describe(),
  ];
  for (const call of calls) assertReplayError(call, "disposed");
  await assertReplayRejects(replay.serialize(), "disposed");
  await assertReplayRejects(replay.unserialize(new Uint8Array(9)), "disposed");
  assertEquals([replay.capacity, replay.seed], [100, 1]);
  assertStrictEquals(String(replay), "ExperienceReplay (disposed)");
  assertStrictEquals(batch.size, 4); // a batch outlives its replay
});

Deno.test("slots are numbered in 32 bits at the largest capacities too", async () => {
  // Blocks of 16 would make 2^32 slots and a few: their number once wrapped around to 16.
  for (const [capacity, blockLength] of [[2 ** 28 - 4101, 16], [2 ** 28 - 4100, 8]] as const) {
    const column = uint8();
    using replay = await ExperienceReplay.create({
      capacity,
      state: column,
      action: column,
      reward: column,
    });
    assertStrictEquals(replay.describe().blockLength, blockLength);
    let episode = replay.newEpisode();
    for (let step = 0; step < 40; step++) episode = replay.record(episode, step, 0, 0);
    assertStrictEquals(replay.pickCount, 39);
  }
});

const MADE = amount(1_000, 4_000);

Deno.test(`${MADE} replays made and disposed leave nothing behind`, async () => {
  const { symbols } = await openKernel();
  const before = symbols.exrp_replay_count();
  const cycle = async (count: number): Promise<void> => {
    for (let k = 0; k < count; k++) {
      using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
      const selector = replay.newPickSelector(prioritized());
      replay.record(replay.newEpisode(), [1, 2, 3, 4], 0, 0, { finalState: [1, 2, 3, 4] });
      replay.getBatch(2, selector);
    }
  };
  await cycle(MADE / 4);
  const rss = Deno.memoryUsage().rss;
  await cycle(3 * MADE / 4);
  assertStrictEquals(symbols.exrp_replay_count(), before);
  assertLess(Deno.memoryUsage().rss - rss, amount(16, 64) * 2 ** 20);
});

Deno.test("ReplayError carries code, status and detail", () => {
  const error = new ReplayError("empty", "text", { status: 20, detail: [1] });
  assertEquals([error.name, error.code, error.status, error.detail], ["ReplayError", "empty", 20, [
    1,
  ]]);
  assert(error instanceof Error);
});

Deno.test("looking at a replay never throws: while it is loaded it says so", async () => {
  // console.log(replay) threw "busy" in the middle of a load.
  const replay = await smallReplay();
  recordEpisode(replay, 3);
  const seen: string[] = [];
  const look = (): void => {
    seen.push(Deno.inspect(replay), inspect(replay), `${replay}`);
  };
  const bytes = await replay.serialize();
  const source = new ReadableStream<Uint8Array>({
    pull(controller): void {
      look();
      controller.enqueue(bytes);
      controller.close();
    },
  }, { highWaterMark: 0 });
  await replay.unserialize(source);
  assertEquals(new Set(seen), new Set(["ExperienceReplay (busy until unserialize() is done)"]));
  seen.length = 0;
  look();
  assert(seen.every((text) => text.includes("3 of ")));
  replay[Symbol.dispose]();
  seen.length = 0;
  look();
  assertEquals(new Set(seen), new Set(["ExperienceReplay (disposed)"]));
});

Deno.test("memoryBytes is a whole number of bytes", async () => {
  using replay = await ExperienceReplay.create({ capacity: 50, state: float32() });
  for (const rule of [prioritized(), uniform()]) replay.newPickSelector(rule);
  replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
  const { total, index } = replay.describe().memory;
  assertEquals([total, index, replay.memoryBytes].filter((bytes) => !Number.isInteger(bytes)), []);
});

Deno.test("describe() writes less than a MiB in KiB", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32(4) });
  replay.record(replay.newEpisode(), [0, 0, 0, 0], 0, 0);
  const { memory } = replay.describe();
  assert(memory.columns > 0 && memory.columns < 2 ** 20);
  const [line = ""] = String(replay.describe()).match(/memory .*/) ?? [];
  assertMatch(line, /: columns \d+(\.\d\d)? KiB, index /);
  assert(!line.includes("columns 0.00"), line);
});
