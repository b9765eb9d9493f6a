/**
 * Replays that are larger than memory: the same batches as in memory, within the limit, and what happens where blocks can't be read. The file is long because each
 * case has its own folder, and all compare with the same fillings.
 */
import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../_assert.ts";
import { type Column, ExperienceReplay, float32, prioritized, uint8, uniform } from "@exrp/replay";
import { native } from "../../_native.ts";
import { assertReplayError, assertReplayRejects, testRandom } from "../_helpers.ts";
import { pause, until } from "../../_wait.ts";
import { segmentsOf, withCopy, withFolder } from "./_folders.ts";

const BYTES = 700;
const STEPS = 3;
const SEED = Number(Deno.env.get("EXRP_SEED") ?? 2613);

type Opened = ExperienceReplay<
  { state: Column<"uint8", [number]>; pick: { readonly length: 3; readonly stack: 4 } }
>;

const OPTIONS = {
  capacity: 1500,
  state: uint8(BYTES),
  pick: { length: STEPS, stack: 4 },
} as const;

/** About a fourth of what 1500 records take. */
const RESIDENT = 300_000;

function open(folder: string, options: object): Promise<Opened> {
  const all = { ...OPTIONS, segmentBytes: 2 ** 20, flushIntervalMs: 0, ...options };
  return ExperienceReplay.open(folder, all as never) as never;
}

/** The limit holds. */
function checkLimit(replay: Opened): void {
  const { residency } = replay.durability ?? {};
  assert(residency !== undefined);
  assert(residency.rowBytes <= residency.limit, `${residency.rowBytes} of ${residency.limit}`);
  // Other threads may have recorded since.
  assert(replay.describe().memory.columns <= residency.limit);
}

function stateOf(random: (below: number) => number, n: number): Uint8Array<ArrayBuffer> {
  const noise = n % 5 === 0;
  return Uint8Array.from(
    { length: BYTES },
    (_, at) => noise ? random(256) : at === n % BYTES ? n : at >> 3,
  );
}

/** Records steps into episodes of 1 to 60 steps. */
function fill(
  replay: Opened,
  random: (below: number) => number,
  from: number,
  count: number,
): void {
  // Now and then an episode stays open, and goes on later.
  const [last = -1] = [...replay.episodes({ ended: false }).handle].slice(-1);
  let episode = last >= 0 ? last : replay.newEpisode();
  let left = 1 + random(60);
  for (let n = from; n < from + count; n++) {
    const ends = --left === 0 || (n === from + count - 1 && random(4) > 0);
    const finalState = ends ? { finalState: stateOf(random, n + 1) } : {};
    episode = replay.record(episode, stateOf(random, n), n % 3, n, finalState);
    if (!ends) continue;
    left = 1 + random(60);
    if (n < from + count - 1) episode = replay.newEpisode();
  }
}

/** Does something at random, and gives what there is to see of it. */
function step(replay: Opened, seed: number, n: number): unknown {
  const random = testRandom(seed);
  const handles = [...replay.episodes().handle].filter((each) =>
    replay.episode(each).recordCount > 0
  );
  const what = handles.length === 0 ? 0 : random(8);
  if (what <= 2) fill(replay, random, n, 1 + random(100));
  else if (what <= 4) {
    const selector = replay.selectors[random(2)] as never;
    const batch = replay.getBatch(1 + random(60), selector);
    if (random(2) === 0) {
      const priorities = Float32Array.from(
        { length: batch.size },
        (_, k) => (k % 7) + 1,
      );
      replay.setPriority(replay.selectors[0] as never, batch, priorities);
    }
    return [batch.state, batch.nextState, batch.reward, batch.pickEpisode, batch.pickPosition];
  } else if (what === 5) {
    const episodes = Array.from(
      { length: 1 + random(10) },
      () => handles[random(handles.length)] as number,
    );
    const positions = episodes.map((each) => {
      const { recordCount, firstPosition } = replay.episode(each);
      return firstPosition + random(recordCount);
    });
    if (random(2) === 0) {
      const state = Uint8Array.from({ length: episodes.length * BYTES }, () => random(256));
      replay.update(episodes, positions, { state });
    } else replay.update(episodes, positions, { reward: episodes.map(() => random(100)) });
  } else if (what === 6) {
    replay.evict(handles[random(handles.length)] as number);
  } else {
    const handle = handles[random(handles.length)] as number;
    const { state, reward, finalState } = replay.episodeRecords(handle);
    return [state, reward, finalState];
  }
  return replay.recordCount;
}

async function program(
  folder: string,
  seed: number,
  options: object,
  rounds: number,
): Promise<void> {
  const random = testRandom(seed);
  using twin = await ExperienceReplay.create({
    ...OPTIONS,
    seed: 5,
    ...options,
  }) as never as Opened;
  const makeSelectors = (replay: Opened) => {
    replay.newPickSelector(prioritized());
    replay.newPickSelector(uniform());
  };
  makeSelectors(twin);
  let [n, reads] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    using replay = await open(folder, { seed: 5, resident: RESIDENT, ...options });
    checkLimit(replay);
    if (round === 0) makeSelectors(replay);
    for (let count = 0; count < 60; count++, n += 100) {
      const own = random(2 ** 30);
      assertEquals(step(replay, own, n), step(twin, own, n), `seed ${seed}, step ${n / 100}`);
      checkLimit(replay);
    }
    if (random(2) === 0) await replay.flush();
    reads += replay.durability?.residency?.readBlockCount ?? 0;
    assertEquals(replay.durability?.hasFailed, false);
    assertEquals(await replay.serialize(), await twin.serialize(), `seed ${seed}, round ${round}`);
    checkLimit(replay);
  }
  assertGreater(reads, 100);
}

for (const compression of ["none", "fast", "small"] as const) {
  native.test(`a replay larger than memory does what one in memory does (compression ${compression}, seed ${SEED})`, () =>
    withFolder(async (folder) => {
      const seed = SEED + 1;
      await program(folder, seed, { compression }, 4);
    }));
}

native.test("a folder is opened with and without a limit, and with other capacities", () =>
  withFolder(async (folder) => {
    const seed = SEED + 2;
    const random = testRandom(seed);
    using twin = await ExperienceReplay.create({ ...OPTIONS, seed: 5 }) as never as Opened;
    const rows = (replay: Opened): unknown =>
      [...replay.episodes().handle].map((each) => [each, replay.episodeRecords(each).state]);
    let n = 0;
    for (const resident of [undefined, RESIDENT, 2 * RESIDENT, undefined, RESIDENT]) {
      using replay = await open(folder, {
        seed: 5,
        ...(resident === undefined ? {} : { resident }),
      });
      assertEquals(replay.durability?.residency?.limit, resident);
      assertEquals(rows(replay), rows(twin), `seed ${seed}`);
      for (let round = 0; round < 10; round++, n += 100) {
        const own = random(2 ** 30);
        for (const each of [replay, twin]) fill(each, testRandom(own), n, 100);
      }
      if (resident !== undefined) checkLimit(replay);
    }
    {
      using replay = await open(folder, { resident: RESIDENT, capacity: 700 });
      checkLimit(replay);
      assert(replay.recordCount <= 700);
      const handles = [...replay.episodes().handle];
      assertEquals(
        rows(replay),
        (rows(twin) as [number, unknown][]).filter(([handle]) => handles.includes(handle)),
      );
    }
    using replay = await open(folder, { resident: RESIDENT, capacity: 3000 });
    checkLimit(replay);
    assertEquals(replay.describe().capacity, 3000);
  }));

native.test("a block that can't be read is an error of the draws that need it, and of nothing else", () =>
  withFolder(async (folder) => {
    {
      using replay = await open(folder, { resident: RESIDENT });
      replay.newPickSelector(uniform());
      fill(replay, testRandom(1), 0, 1400);
      await replay.flush();
    }
    using replay = await open(folder, { resident: RESIDENT });
    const [selector] = replay.selectors;
    assert(selector !== undefined);
    // Somewhere in the rows of an old record.
    const [log = ""] = await segmentsOf(folder);
    const path = `${folder}/${log}`;
    const bytes = await Deno.readFile(path);
    for (const at of [20_000, 20_100, 20_200]) bytes[at] = ~(bytes[at] ?? 0);
    await Deno.writeFile(path, bytes, { create: false });
    let failed = 0;
    for (let draw = 0; draw < 100; draw++) {
      try {
        replay.getBatch(20, selector as never);
      } catch (error) {
        failed++;
        const { message } = assertReplayError(() => {
          throw error;
        }, "log-damaged");
        assertStringIncludes(message, `${log} is damaged at byte`);
      }
      checkLimit(replay);
    }
    assertGreater(failed, 0);
    assertGreater(100 - failed, 20);
    assertEquals(replay.durability?.hasFailed, false);
    fill(replay, testRandom(2), 1400, 10);
    await replay.flush();
    const { damages } = await ExperienceReplay.verify(folder);
    assertEquals(damages.map(({ file, cost }) => [file, cost]), [[log, "episodes"]]);
    await withCopy(folder, async (copy) => {
      using again = await open(copy, { resident: RESIDENT });
      assertEquals(again.durability?.recovered?.lostBlockCount, 1);
      for (let draw = 0; draw < 50; draw++) again.getBatch(20, again.selectors[0] as never);
    });
  }));

native.test("several threads share a replay that is larger than memory", () =>
  withFolder(async (folder) => {
    using replay = await open(folder, { resident: RESIDENT });
    const selector = replay.newPickSelector(uniform());
    fill(replay, testRandom(1), 0, 500);
    const ticket = replay.share();
    const source = `
      import { ExperienceReplay } from "${import.meta.resolve("@exrp/replay")}";
      self.onmessage = async ({ data: { ticket, from } }) => {
        using replay = await ExperienceReplay.attach(ticket);
        const selector = replay.selectors[0];
        let [bad, episode] = [0, 0];
        for (let n = from; n < from + 600; n++) {
          const state = new Uint8Array(${BYTES}).fill(n);
          if (n % 5 === 0) episode = replay.newEpisode();
          episode = replay.record(episode, state, 0, n, n % 5 === 4 ? { finalState: state } : {});
          if (n % 4 !== 0) continue;
          const { state: states, reward } = replay.getBatch(8, selector);
          for (const [row, value] of reward.entries()) {
            if (value < 10000) continue;
            const at = (4 * row + 3) * ${BYTES};
            if (states.subarray(at, at + ${BYTES}).some((byte) => byte !== value % 256)) bad++;
          }
        }
        self.postMessage(bad);
      };`;
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const workers = [1, 2].map((k) => {
      const worker = new Worker(url, { type: "module" });
      const done = new Promise<unknown>((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = reject;
      });
      worker.postMessage({ ticket, from: 10_000 * k });
      return { worker, done };
    });
    let isDone = false;
    const all = Promise.all(workers.map(({ done }) => done)).finally(() => isDone = true);
    await until("both Workers are done", () => {
      checkLimit(replay);
      replay.getBatch(16, selector);
      return isDone;
    });
    assertEquals(await all, [0, 0]);
    for (const { worker } of workers) worker.terminate();
    URL.revokeObjectURL(url);
    assertEquals(replay.describe().recordedCount, 1700);
    checkLimit(replay);
    assertGreater(replay.durability?.residency?.readBlockCount ?? 0, 10);
  }));

native.test("draws ahead read blocks back, too", () =>
  withFolder(async (folder) => {
    using replay = await open(folder, { resident: RESIDENT, seed: 5 });
    using twin = await ExperienceReplay.create({ ...OPTIONS, seed: 5 }) as never as Opened;
    const batches: unknown[][] = [];
    for (const each of [replay, twin]) {
      fill(each, testRandom(1), 0, 1400);
      const selector = each.newPickSelector(uniform());
      const own: unknown[] = [];
      let count = 0;
      for await (const { state, nextState, reward } of each.batches(24, selector)) {
        own.push([state.slice(), nextState?.slice(), reward.slice()]);
        if (++count === 30) break;
      }
      batches.push(own);
    }
    assertEquals(batches[0], batches[1]);
    assertGreater(replay.durability?.residency?.readBlockCount ?? 0, 100);
    checkLimit(replay);
  }));

native.test("a limit is compared with what the new capacity needs", () =>
  withFolder(async (folder) => {
    // Rows of the extra stay in memory.
    const options = { state: float32(64), extras: { small: float32(30) }, seed: 1 };
    const large = { ...options, capacity: 20_000, resident: 4_000_000 };
    (await ExperienceReplay.open(folder, large))[Symbol.dispose]();
    const error = await assertReplayRejects(
      ExperienceReplay.open(folder, { ...options, capacity: 20_000, resident: 400_000 }),
      "memory",
    );
    assertMatch(error.message, /resident is too small/);
    const small = { ...options, capacity: 1000, resident: 400_000 };
    using replay = await ExperienceReplay.open(folder, small);
    assertEquals(replay.durability?.residency?.limit, 400_000);
  }));

native.test("a limit that is too small says what is needed", () =>
  withFolder(async (folder) => {
    for (const resident of [0, 1.5, -1, NaN]) {
      await assertRejects(() => open(folder, { resident }), RangeError, "resident");
    }
    const { message } = await assertReplayRejects(open(folder, { resident: 10_000 }), "memory");
    assertMatch(message, /resident is too small: rows need \d{6} bytes .* 10000\./);
    await assertRejects(
      () => ExperienceReplay.create({ ...OPTIONS, resident: RESIDENT } as never),
      TypeError,
      "resident",
    );
    using replay = await open(folder, { resident: RESIDENT });
    fill(replay, testRandom(1), 0, 1000);
    const handles = [...replay.episodes().handle].slice(0, -1);
    // Rows of more blocks than may be in memory, all of which change.
    const state = new Uint8Array(handles.length * BYTES);
    assertReplayError(() => replay.update(handles, handles.map(() => 0), { state }), "memory");
    checkLimit(replay);
    assertEquals(replay.recordCount, 1000);
  }));

native.test("a replay larger than memory takes the episodes of another one, which is not read whole either", () =>
  withFolder(async (folder) => {
    {
      using source = await open(`${folder}/source`, { resident: RESIDENT });
      fill(source, testRandom(1), 0, 1400);
    }
    using replay = await open(`${folder}/own`, { resident: RESIDENT });
    using twin = await ExperienceReplay.create({ ...OPTIONS, seed: 5 }) as never as Opened;
    const [own, same] = [
      await replay.append(`${folder}/source`),
      await twin.append(`${folder}/source`),
    ];
    assertEquals(own, same);
    assertGreater(own.recordCount, 1000);
    for (const each of replay.episodes().handle) {
      assertEquals(replay.episodeRecords(each).state, twin.episodeRecords(each).state);
    }
    checkLimit(replay);
  }));

/** Records whole episodes of so many steps, whose states have so many bytes. */
function fillEpisodes(replay: Opened, count: number, steps: number, bytes: number): void {
  const state = new Uint8Array(bytes);
  for (let k = 0; k < count; k++) {
    let episode = replay.newEpisode();
    for (let n = 0; n < steps; n++) {
      state.fill(n);
      episode = replay.record(episode, state, 0, n, n < steps - 1 ? {} : { finalState: state });
    }
  }
}

native.test("a draw of a shared replay ends its group while its own copies wait", () =>
  withFolder(async (folder) => {
    const state = uint8(4000);
    const options = { state, capacity: 2000, resident: 2_000_000, flushIntervalMs: 1 };
    using replay = await open(folder, options);
    const selector = replay.newPickSelector(uniform());
    replay.share();
    fillEpisodes(replay, 90, 20, 4000);
    await replay.flush();
    for (let round = 0; round < 60; round++) {
      fillEpisodes(replay, 1, 20, 4000);
      const handles = [...replay.episodes({ ended: true }).handle];
      const some = Array.from(
        { length: 40 },
        (_, k) => handles[(round * 7 + k * 3) % handles.length] as number,
      );
      replay.update(some, some.map(() => 5), { reward: some.map(() => round) });
      for (let draw = 0; draw < 3; draw++) {
        // So that a draw ends the group.
        await pause(2);
        replay.getBatch(4, selector);
      }
    }
    assertGreater(replay.durability?.residency?.readBlockCount ?? 0, 100);
  }));

for (const what of ["is missing", "is damaged"] as const) {
  native.test(`where a part of the log ${what}, no more is written than otherwise`, () =>
    withFolder(async (folder) => {
      const state = uint8(4000);
      using replay = await open(folder, { state, capacity: 4000, resident: 1_500_000 });
      fillEpisodes(replay, 150, 20, 4000);
      await replay.flush();
      const [handle = 0] = [...replay.episodes().handle].slice(3);
      const [log = ""] = await segmentsOf(folder);
      const bytes = await Deno.readFile(`${folder}/${log}`);
      if (what === "is missing") await Deno.rename(`${folder}/${log}`, `${folder}/away`);
      else {
        await Deno.writeFile(`${folder}/${log}`, bytes.fill(165, 196_608, 270_000), {
          create: false,
        });
      }
      // The next checkpoint wants to write its block again.
      replay.update([handle], [3], { reward: [1] });
      const before = replay.durability?.writtenBytes ?? 0;
      for (let round = 0; round < 160; round++) {
        fillEpisodes(replay, 3, 20, 4000);
        const old = [...replay.episodes().handle].filter((each) => each > 20);
        for (let k = 0; k < 3; k++) {
          replay.evict(old[(round * 31 + k * 17) % old.length] as number);
        }
        await replay.flush();
      }
      const { writtenBytes = 0, logBytes = 0 } = replay.durability ?? {};
      const recordedBytes = 160 * 60 * 4000;
      assert((writtenBytes - before) < 4 * recordedBytes, `${writtenBytes - before} bytes`);
      if (what === "is missing") return;
      assert(logBytes < 40_000_000, `${logBytes} bytes`);
      assert(!(await segmentsOf(folder)).includes(log));
      await withCopy(folder, async (copy) => {
        using again = await open(copy, { state, capacity: 4000, resident: 1_500_000 });
        assertGreater(again.durability?.recovered?.lostBlockCount ?? 0, 0);
        checkLimit(again);
        for (const each of again.episodes().handle) again.episodeRecords(each);
      });
    }));
}

native.test("a folder is opened with another capacity after updates of more than fits", () =>
  withFolder(async (folder) => {
    {
      using replay = await open(folder, { resident: RESIDENT });
      fillEpisodes(replay, 60, 20, BYTES);
      await replay.flush();
      for (const handle of [...replay.episodes().handle]) {
        for (const at of [2, 18]) {
          replay.update([handle], [at], { state: new Uint8Array(BYTES).fill(7) });
        }
      }
      await replay.flush();
    }
    for (const capacity of [1400, 1500, 1400]) {
      using replay = await open(folder, { resident: RESIDENT, capacity });
      checkLimit(replay);
      assertEquals(replay.recordCount, 1200);
      const [handle = 0] = [...replay.episodes().handle].slice(-1);
      assertEquals(replay.episodeRecords(handle).state[18 * BYTES], 7);
    }
  }));

native.test("an update that is refused gives back what it has read", () =>
  withFolder(async (folder) => {
    using replay = await open(folder, { resident: RESIDENT });
    fillEpisodes(replay, 50, 20, BYTES);
    await replay.flush();
    const handles = [...replay.episodes().handle];
    const twice = [...handles, ...handles];
    const state = new Uint8Array(twice.length * BYTES);
    const positions = twice.map((_, k) => k < handles.length ? 0 : 17);
    assertReplayError(() => replay.update(twice, positions, { state }), "memory");
    fillEpisodes(replay, 20, 20, BYTES);
    checkLimit(replay);
  }));

native.test("many episodes that go on in step fit with a block each", () =>
  withFolder(async (folder) => {
    const options = { state: uint8(4000), capacity: 4000, resident: 2_400_000 };
    using replay = await open(folder, options);
    const episodes = Array.from({ length: 20 }, () => replay.newEpisode());
    const state = new Uint8Array(4000);
    const record = (k: number, n: number) => {
      episodes[k] = replay.record(episodes[k] as number, state.fill(n), 0, n);
    };
    for (let n = 0; n < 100; n++) {
      for (const k of episodes.keys()) {
        try {
          record(k, n);
        } catch (error) {
          assertReplayError(() => {
            throw error;
          }, "memory");
          // What could not leave, as it was not on the disk.
          await replay.flush();
          record(k, n);
        }
        checkLimit(replay);
      }
    }
    assertEquals(replay.recordCount, 2000);
    for (const [k, handle] of episodes.entries()) {
      const { state: states } = replay.episodeRecords(handle);
      for (let n = 0; n < 100; n++) assertEquals(states[n * 4000], n, `episode ${k}, step ${n}`);
    }
  }));
