/**
 * A durable replay is opened with another capacity, or other limits: what fits stays as it was, the rest goes by the rule of eviction, and it is so from then on.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import {
  afterDraws,
  every,
  fifo,
  float32,
  lru,
  minSize,
  newest,
  prioritized,
  reservoir,
  secondChance,
  uint8,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import { normalize, scale } from "@exrp/replay/transforms";
import { assertReplayRejects, testRandom } from "../_helpers.ts";
import { writeFolder } from "../../../replay/durable/folder.ts";
import type { AnyReplay } from "../../whole/model/library_subject.ts";
import { native } from "../../_native.ts";
import { episodesOf, open, segmentsOf, stateOf, withCopy, withFolder } from "./_folders.ts";

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 2611);
const TURNS = Number(Deno.env.get("EXRP_RESIZES") ?? amount(2, 5));

function test(name: string, fn: (folder: string) => Promise<void>): void {
  Deno.test(name, () => withFolder(fn));
}

/** One that needs more memory than WebAssembly has. */
function nativeTest(name: string, fn: (folder: string) => Promise<void>): void {
  native.test(name, () => withFolder(fn));
}

type Random = (bound: number) => number;

/** Options of many kinds: rules of eviction, wide and kept columns, short segments, transforms. */
function randomOptions(random: Random, capacity: number): object {
  const eviction = [fifo(), lru(), secondChance(), reservoir(), afterDraws(3)][random(5)];
  const wide = random(2) === 0;
  return {
    capacity,
    seed: random(1000),
    state: wide ? uint8(4000) : float32(3),
    ...(random(2) === 0 ? { extras: { goal: every(4, float32(2)) } } : {}),
    ...(random(3) === 0 ? { segmentLength: 20 } : {}),
    ...(random(3) === 0 ? { blockLength: 4 } : {}),
    ...(random(4) === 0 ? { maxAge: capacity } : {}),
    pick: {
      ...(random(3) === 0 ? { length: 3, allowShort: true } : {}),
      ...(random(3) === 0 ? { transform: { reward: [normalize()], state: [scale(0.5)] } } : {}),
    },
    keepNextState: random(2) === 0,
    eviction,
  };
}

/** Records, draws, drains and changes something, in the same way for equal random numbers. */
function work(replay: AnyReplay, random: Random, open: number[]): void {
  const width = replay.columns.state.elementCount;
  const hasGoal = "extras.goal" in flatColumns(replay);
  for (let k = random(6) + 2; k > 0; k--) {
    const count = 1 + random(25);
    const [first = replay.newEpisode({ tag: random(3) })] = random(2) === 0 ? open : [];
    const from = replay.describe().recordedCount;
    const state = replay.columns.state.dtype === "uint8"
      ? Uint8Array.from({ length: count * width }, (_, k) => from + k)
      : Float32Array.from({ length: count * width }, (_, k) => from + k);
    const reward = Float32Array.from({ length: count }, (_, k) => from + k);
    const goal = Float32Array.from({ length: 2 * count }, (_, k) => -from - k);
    const steps = {
      state,
      action: new Int32Array(count),
      reward,
      ...(hasGoal ? { extras: { goal } } : {}),
    };
    const ends = random(3) > 0;
    const last = ends ? { finalState: state.slice(0, width), truncated: random(2) === 0 } : {};
    const episode = replay.recordMany(first, { ...steps, ...last } as never);
    open.length = 0;
    if (!ends) open.push(episode);
  }
  const { selectors } = replay;
  for (const selector of selectors) {
    if (replay.pickCount === 0) break;
    const batch = replay.getBatch(Math.min(1 + random(5), replay.pickCount), selector);
    if (selector.kind !== "prioritized") continue;
    replay.setPriority(selector, batch, Array.from({ length: batch.size }, (_, k) => k % 7));
  }
  if (random(4) === 0) replay.drain({ keep: true, steps: 1 + random(29) });
}

function flatColumns(replay: AnyReplay): Record<string, unknown> {
  const { extras = {} } = replay.columns as { extras?: object };
  return Object.fromEntries(Object.keys(extras).map((name) => [`extras.${name}`, true]));
}

test(`capacities that change again and again (seed ${SEED})`, async (folder) => {
  for (let turn = 0; turn < TURNS; turn++) {
    const random = testRandom(SEED + turn);
    const at = `${folder}/${turn}`;
    const words = `seed ${SEED + turn}`;
    let capacity = 40 + random(200);
    let replay = await open(at, randomOptions(random, capacity));
    for (const rule of [uniform(), prioritized(), newest(), withoutReplacement()]) {
      replay.newPickSelector(rule);
    }
    const handles: number[] = [];
    for (let step = 0; step < 4; step++) {
      work(replay, random, handles);
      if (random(2) === 0) await replay.flush();
      const before = episodesOf(replay);
      const { recordCount } = replay;
      replay[Symbol.dispose]();
      capacity = 30 + random(260);
      replay = await open(at, { capacity });
      const { recovered } = replay.durability ?? {};
      assertEquals(replay.capacity, capacity, words);
      assert(replay.recordCount <= capacity, words);
      assertEquals(recovered?.evictedCount, recordCount - replay.recordCount, words);
      if (capacity >= recordCount) assertEquals(recovered?.evictedCount, 0, words);
      if (recovered?.evictedCount === 0) assertEquals(episodesOf(replay), before, words);
      for (const [handle, records] of episodesOf(replay)) {
        // One that is open, or was drained, may have lost its oldest records.
        assertEquals(records, before.get(handle)?.slice(-records.length), words);
      }
      // The log says the same, read from its beginning or from a checkpoint.
      const state = await stateOf(replay);
      await replay.flush();
      await withCopy(at, async (copy) => {
        const again = await open(copy);
        assertEquals([again.capacity, await stateOf(again)], [capacity, state], words);
        // So is the future.
        const [one, two] = [testRandom(step), testRandom(step)];
        const [mine, its] = [[...handles], [...handles]];
        for (let k = 0; k < 3; k++) {
          work(again, one, mine);
          work(replay, two, its);
        }
        assertEquals(await stateOf(again), await stateOf(replay), words);
        handles.splice(0, handles.length, ...its);
        again[Symbol.dispose]();
      });
    }
    replay[Symbol.dispose]();
  }
});

/** Episodes of ten records, whose rewards count. */
function fill(replay: AnyReplay, from: number, count: number): void {
  const width = replay.columns.state.elementCount;
  for (let n = from; n < from + count; n += 10) {
    const reward = Float32Array.from({ length: 10 }, (_, k) => n + k);
    const state = new Float32Array(10 * width).fill(n);
    replay.recordMany(
      replay.newEpisode(),
      { state, action: new Int32Array(10), reward, finalState: state.slice(0, width) } as never,
    );
  }
}

function rewardsOf(replay: AnyReplay): number[] {
  return [...replay.episodes().handle].flatMap((each) => [...replay.episodeRecords(each).reward]);
}

function range(from: number, end: number): number[] {
  return Array.from({ length: end - from }, (_, k) => from + k);
}

const OPTIONS = { capacity: 200, state: float32(2), seed: 3 } as const;

test("a larger one keeps all, and has room", async (folder) => {
  const first = await open(folder, OPTIONS);
  fill(first, 0, 200);
  first[Symbol.dispose]();
  const larger = await open(folder, { ...OPTIONS, capacity: 500 });
  assertEquals(larger.durability?.recovered?.evictedCount, 0);
  fill(larger, 200, 300);
  assertEquals(rewardsOf(larger), range(0, 500));
  larger[Symbol.dispose]();
  using again = await open(folder);
  assertEquals([again.capacity, again.describe().capacity], [500, 500]);
  assertEquals(rewardsOf(again), range(0, 500));
});

test("a smaller one lets the oldest go, and says how many", async (folder) => {
  const first = await open(folder, OPTIONS);
  fill(first, 0, 200);
  first[Symbol.dispose]();
  const smaller = await open(folder, { capacity: 55 });
  assertEquals(smaller.durability?.recovered?.evictedCount, 150);
  assertEquals(rewardsOf(smaller), range(150, 200));
  smaller[Symbol.dispose]();
  using again = await open(folder);
  assertEquals(again.durability?.recovered?.evictedCount, 0);
  assertEquals([again.capacity, ...rewardsOf(again)], [55, ...range(150, 200)]);
});

test("limits in bytes and in age change, too, and both go through a checkpoint", async (folder) => {
  const wide = { capacity: 300, state: float32(3000) };
  const first = await open(folder, wide);
  fill(first, 0, 300);
  first[Symbol.dispose]();
  const aged = await open(folder, { maxAge: 100 });
  assertEquals(rewardsOf(aged), range(200, 300));
  for (let k = 0; k < 4; k++) {
    fill(aged, 300 + 100 * k, 100);
    await aged.flush();
  }
  assert(!(await segmentsOf(folder)).includes("log-00000001.exrp"), "there is no checkpoint yet");
  aged[Symbol.dispose]();
  // Without them, there are none any more.
  const bounded = await open(folder, { ...wide, capacity: 400, capacityBytes: 50 * 12_100 });
  assertEquals(rewardsOf(bounded).at(-1), 699);
  assert(bounded.recordCount <= 50 && bounded.recordCount >= 40, `${bounded.recordCount}`);
  assertEquals(bounded.describe().maxAge, undefined);
  for (let k = 0; k < 9; k++) {
    fill(bounded, 700 + 40 * k, 40);
    await bounded.flush();
  }
  const state = await stateOf(bounded);
  bounded[Symbol.dispose]();
  using again = await open(folder);
  assertEquals(await stateOf(again), state);
});

test("a crash meanwhile leaves the old capacity or the new one, with all that belongs to it", async (folder) => {
  const first = await open(folder, OPTIONS);
  fill(first, 0, 200);
  first[Symbol.dispose]();
  const [name = ""] = await segmentsOf(folder);
  const before = (await Deno.stat(`${folder}/${name}`)).size;
  const json = await Deno.readFile(`${folder}/replay.json`);
  (await open(folder, { capacity: 50 }))[Symbol.dispose]();
  const after = (await Deno.stat(`${folder}/${name}`)).size;
  const found = new Set<number>();
  for (let bytes = before; bytes <= after; bytes += 8) {
    for (const hasFile of [false, true]) {
      await withCopy(folder, async (copy) => {
        await Deno.truncate(`${copy}/${name}`, bytes);
        if (!hasFile) await Deno.writeFile(`${copy}/replay.json`, json);
        using replay = await open(copy);
        found.add(replay.capacity);
        const from = replay.capacity === 50 ? 150 : 0;
        assertEquals([replay.capacity, ...rewardsOf(replay)], [
          from === 0 ? 200 : 50,
          ...range(from, 200),
        ]);
      });
    }
  }
  assertEquals([...found], [200, 50]);
});

nativeTest("from the largest capacity to a small one, and back", async (folder) => {
  const options = { state: uint8(1), action: uint8(), reward: float32(), seed: 1 };
  let replay = await open(folder, { ...options, capacity: 2 ** 28 });
  fill(replay, 0, 200);
  const { blockLength } = replay.describe();
  for (const capacity of [100, 2 ** 28, 70]) {
    replay[Symbol.dispose]();
    replay = await open(folder, { capacity });
    replay[Symbol.dispose]();
    replay = await open(folder);
    assertEquals([replay.capacity, replay.describe().blockLength], [capacity, blockLength]);
  }
  assertEquals(rewardsOf(replay), range(130, 200));
  replay[Symbol.dispose]();
});

test("a pool that was too large for this machine is opened with a smaller one", async (folder) => {
  const options = { capacity: 200, state: float32(1000), seed: 3 };
  const first = await open(folder, options);
  fill(first, 0, 100);
  first[Symbol.dispose]();
  // What a machine with 1 TiB might have said.
  const config = JSON.parse(await Deno.readTextFile(`${folder}/replay.json`)).config;
  await writeFolder({ path: folder }, { ...config, capacity: 2 ** 28 });
  await assertReplayRejects(open(folder), "memory");
  await assertReplayRejects(open(folder, { capacity: 2 ** 28 - 5000 }), "memory");
  using again = await open(folder, { capacity: 60 });
  assertEquals([again.capacity, ...rewardsOf(again)], [60, ...range(40, 100)]);
});

nativeTest("what can't be is refused, and the folder stays as it was", async (folder) => {
  const first = await open(folder, { ...OPTIONS, segmentLength: 30, pick: { length: 5 } });
  fill(first, 0, 200);
  first.newPickView({ length: 20 });
  first[Symbol.dispose]();
  await assertRejects(() => open(folder, { capacity: 4 }), RangeError, "capacity");
  await assertRejects(() => open(folder, { capacity: 20 }), RangeError, "segmentLength");
  await assertRejects(() => open(folder, { capacity: 2 ** 29 }), RangeError, "capacity");
  await assertRejects(() => open(folder, { maxAge: 2 }), RangeError, "maxAge");
  await assertRejects(() => open(folder, { capacityBytes: 10 }), RangeError, "capacityBytes");
  await assertRejects(() => open(folder, { capacity: 100, seed: 3 }), TypeError, "state");
  await assertReplayRejects(open(folder, { capacity: 2 ** 28 }), "capacity");
  using again = await open(folder);
  assertEquals([again.capacity, ...rewardsOf(again)], [200, ...range(0, 200)]);
});

test("another pick view that needs longer episodes keeps its capacity", async (folder) => {
  const first = await open(folder, OPTIONS);
  fill(first, 0, 100);
  first.newPickView({ length: 60, allowShort: true });
  first[Symbol.dispose]();
  await assertReplayRejects(open(folder, { capacity: 50 }), "capacity");
  using again = await open(folder, { capacity: 60 });
  assertEquals([again.capacity, ...rewardsOf(again)], [60, ...range(40, 100)]);
});

test("a rate limiter has to fit the capacity that is asked for", async (folder) => {
  (await open(folder, OPTIONS))[Symbol.dispose]();
  const rateLimiter = minSize(150);
  await assertRejects(
    () => open(folder, { ...OPTIONS, capacity: 100, rateLimiter }),
    RangeError,
    "rateLimiter",
  );
  using again = await open(folder, { ...OPTIONS, capacity: 300, rateLimiter });
  assertEquals(again.capacity, 300);
});
