/** Opening a large folder leaves rows on the disk: who needs them reads them, or a thread does. Nobody else sees a difference, also where rows are damaged. */
import { assert, assertEquals, assertGreater, assertStringIncludes } from "../../_assert.ts";
import { type Column, ExperienceReplay, prioritized, uint8 } from "@exrp/replay";
import { native } from "../../_native.ts";
import { until } from "../../_wait.ts";
import { segmentsOf, withCopy, withFolder } from "./_folders.ts";

const BYTES = 20_000;
const LENGTH = 50;
const EPISODES = 80;
/** Small files, so that checkpoints come often, and with a limit nothing is read but by who needs it. */
const SMALL = { segmentBytes: 2 ** 22, flushIntervalMs: 0 };
const BOUNDED = { ...SMALL, resident: 20_000_000 };
const OPTIONS = { capacity: LENGTH * EPISODES, state: uint8(BYTES), seed: 3 };

type Opened = ExperienceReplay<{ state: Column<"uint8", [number]> }>;

function open(folder: string, options: object): Promise<Opened> {
  return ExperienceReplay.open(folder, { ...OPTIONS, ...options });
}

/** The state of a record: no two are the same. */
function stateOf(n: number): Uint8Array<ArrayBuffer> {
  const state = new Uint8Array(BYTES).fill(n % 251);
  new DataView(state.buffer).setUint32(0, n);
  return state;
}

/** Fills a folder with 80 MB. All its episodes have ended. */
async function fill(folder: string): Promise<void> {
  using replay = await open(folder, BOUNDED);
  replay.newPickSelector(prioritized());
  for (let episode = 0; episode < EPISODES; episode++) {
    let handle = replay.newEpisode();
    for (let k = 0; k < LENGTH; k++) {
      const n = episode * LENGTH + k;
      const end = k === LENGTH - 1 ? { finalState: stateOf(n + 1) } : {};
      handle = replay.record(handle, stateOf(n), n % 5, n, end);
    }
    await replay.flush();
  }
}

/** The numbers of what the next draws show. */
function draws(replay: Opened, count: number): number[] {
  const [selector] = replay.selectors;
  assert(selector !== undefined);
  return Array.from({ length: count }, () => {
    const { state, reward, nextState } = replay.getBatch(16, selector);
    const numbers = new DataView(state.buffer, state.byteOffset);
    const next = new DataView(nextState.buffer, nextState.byteOffset);
    for (let row = 0; row < 16; row++) {
      assertEquals(numbers.getUint32(row * BYTES), reward[row]);
      assertEquals(state[row * BYTES + BYTES - 1], (reward[row] ?? 0) % 251);
      assertEquals(next.getUint32(row * BYTES), (reward[row] ?? 0) + 1);
    }
    return Array.from(reward);
  }).flat();
}

/** Every record is what it was. */
function checkAll(replay: Opened): void {
  for (const handle of replay.episodes().handle) {
    const { state, reward } = replay.episodeRecords(handle);
    const numbers = new DataView(state.buffer, state.byteOffset);
    reward.forEach((n, at) => {
      assertEquals(numbers.getUint32(at * BYTES), n);
      assertEquals(state[(at + 1) * BYTES - 1], n % 251);
    });
  }
}

function unreadOf(replay: Opened): number {
  return replay.durability?.unreadBlockCount ?? NaN;
}

native.test("rows are read when they are needed, or by a thread, and come to the same", () =>
  withFolder(async (folder) => {
    await fill(folder);
    await withCopy(folder, async (copy) => {
      using bounded = await open(folder, BOUNDED);
      // Of ended episodes no row is needed at once, also not of those that came after the last checkpoint.
      const blocks = Math.ceil((LENGTH + 1) / bounded.describe().blockLength);
      assertEquals(unreadOf(bounded), EPISODES * blocks);
      using whole = await open(copy, SMALL);
      assertEquals(draws(bounded, 10), draws(whole, 10));
      assertEquals(
        bounded.episodes({ discount: 1 }).return,
        whole.episodes({ discount: 1 }).return,
      );
      // The returns need the rewards of all records.
      assertEquals(unreadOf(bounded), 0);
      await until("all rows are in memory", () => unreadOf(whole) === 0);
      assertEquals(draws(bounded, 10), draws(whole, 10));
      checkAll(whole);
      checkAll(bounded);
      assertEquals(bounded.durability?.recovered?.lostBlockCount, 0);
    });
  }));

native.test("unread records are updated, trimmed, evicted and saved like others", () =>
  withFolder(async (folder) => {
    await fill(folder);
    for (const options of [BOUNDED, SMALL]) {
      await withCopy(folder, async (copy) => {
        const expected = new Map<number, number>();
        {
          using replay = await open(copy, options);
          const [first = 0, second = 0, third = 0] = replay.episodes().handle;
          replay.evict(first);
          replay.update([second], [7], { reward: [-5] });
          replay.update([third], [20], { state: stateOf(9999) });
          expected.set(second, -5).set(third, 9999);
          // Other records go, unread ones first, as the replay is full.
          for (let k = 0; k < 10; k++) {
            replay.record(replay.newEpisode(), stateOf(1), 0, 1, { finalState: stateOf(2) });
          }
          using saved = await ExperienceReplay.create(OPTIONS);
          saved.newPickSelector(prioritized());
          await saved.unserialize(await replay.serialize());
          assertEquals(saved.episodeRecords(third).state, replay.episodeRecords(third).state);
        }
        using again = await open(copy, options);
        const [second = 0, third = 0] = expected.keys();
        assertEquals(again.episodeRecords(second).reward[7], -5);
        assertEquals(
          new DataView(again.episodeRecords(third).state.buffer).getUint32(20 * BYTES),
          9999,
        );
        assert(!Array.from(again.episodes().handle).includes(0));
      });
    }
  }));

/** Spoils some bytes in the middle of the first file. */
async function spoil(folder: string): Promise<{ readonly file: string; readonly byte: number }> {
  const [file = ""] = await segmentsOf(folder);
  const byte = 2 ** 21;
  using opened = await Deno.open(`${folder}/${file}`, { write: true });
  await opened.seek(byte, Deno.SeekMode.Start);
  await opened.write(Uint8Array.from({ length: 64 }, (_, k) => 37 * k + 11));
  return { file, byte };
}

for (const moment of ["before", "after"] as const) {
  native.test(`rows that are damaged ${moment} opening cost their episode, and are named`, () =>
    withFolder(async (folder) => {
      await fill(folder);
      let spoiled = moment === "before" ? await spoil(folder) : undefined;
      {
        using replay = await open(folder, BOUNDED);
        spoiled ??= await spoil(folder);
        const unread = unreadOf(replay);
        assertGreater(unread, 100);
        assertEquals(replay.durability?.recovered?.lostBlockCount, 0);
        let refused = 0;
        for (const handle of replay.episodes().handle) {
          try {
            replay.episodeRecords(handle);
          } catch (error) {
            const { code, message } = error as { code?: string; message: string };
            assertEquals(code, "log-damaged");
            assertStringIncludes(message, spoiled.file);
            refused++;
          }
        }
        assertEquals(refused, 1);
        const { lostBlockCount, damage = "" } = replay.durability?.recovered ?? {};
        assertEquals(lostBlockCount, 1);
        assertStringIncludes(damage, `${spoiled.file}, byte `);
        const { damages } = await ExperienceReplay.verify(folder);
        assertEquals(damages.map(({ file, cost }) => [file, cost]), [[spoiled.file, "episodes"]]);
        await replay.flush();
        assertEquals([replay.recordCount, unreadOf(replay)], [LENGTH * (EPISODES - 1), 0]);
        draws(replay, 20);
      }
      using replay = await open(folder, SMALL);
      await until("all rows are in memory", () => unreadOf(replay) === 0);
      assertEquals(replay.recordCount, LENGTH * (EPISODES - 1));
      assertEquals(replay.durability?.recovered?.lostBlockCount, 0);
      checkAll(replay);
    }));
}

native.test("a thread finds damaged rows, and their episode goes with the next flush", () =>
  withFolder(async (folder) => {
    await fill(folder);
    const { file } = await spoil(folder);
    using replay = await open(folder, SMALL);
    // What is lost counts as unread until its episode is gone.
    await until("all others are in memory", () => unreadOf(replay) === 1);
    assertStringIncludes(replay.durability?.recovered?.damage ?? "", file);
    await replay.flush();
    assertEquals([replay.recordCount, unreadOf(replay)], [LENGTH * (EPISODES - 1), 0]);
    checkAll(replay);
  }));

native.test("a replay that is disposed while its rows are read leaves the folder as it was", () =>
  withFolder(async (folder) => {
    await fill(folder);
    for (let turn = 0; turn < 5; turn++) {
      using replay = await open(folder, SMALL);
      draws(replay, turn);
    }
    using replay = await open(folder, SMALL);
    checkAll(replay);
  }));
