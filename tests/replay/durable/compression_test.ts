/** A durable replay with compression: its log has the packed rows, and it comes back as it was, also after damage. */
import { assert, assertEquals, assertGreater, assertLess } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { type Column, ExperienceReplay, prioritized, uint8 } from "@exrp/replay";
import type { Compression } from "@exrp/replay/types";
import { assertReplayRejects, testRandom } from "../_helpers.ts";

const BYTES = 2000;

type Opened = ExperienceReplay<
  { state: Column<"uint8", [number]>; pick: { readonly stack: 4 } }
>;

function open(folder: string, compression: Compression): Promise<Opened> {
  return ExperienceReplay.open(folder, {
    ...{ capacity: 900, state: uint8(BYTES), seed: 3, compression, segmentBytes: 2 ** 20 },
    pick: { stack: 4 },
  });
}

/** Episodes of 1 to 60 steps, whose rewards number the records. One state in eight is noise. */
function fill(replay: Opened, from: number, count: number): void {
  const random = testRandom(from);
  const state = (n: number) =>
    Uint8Array.from(
      { length: BYTES },
      (_, at) => n % 8 === 7 ? random(256) : at === n % BYTES ? n : at >> 4,
    );
  let episode = replay.newEpisode();
  let left = 20;
  for (let n = from; n < from + count; n++) {
    const ends = --left === 0;
    episode = replay.record(episode, state(n), n % 3, n, ends ? { finalState: state(n + 1) } : {});
    if (!ends) continue;
    left = 1 + random(60);
    episode = replay.newEpisode();
  }
}

function rows(replay: Opened): unknown {
  return [...replay.episodes().handle].map((handle) => {
    const { state, reward } = replay.episodeRecords(handle);
    return [handle, [...reward], state];
  });
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function logsOf(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
    name.startsWith("log-")
  )
    .sort().map((name) => `${folder}/${name}`);
}

for (const compression of ["fast", "small"] as const) {
  Deno.test(`a replay with compression "${compression}" comes back, with checkpoints and updates`, () =>
    inFolder(async (folder) => {
      using twin = await ExperienceReplay.create({
        ...{ capacity: 900, state: uint8(BYTES), seed: 3, pick: { stack: 4 } },
      });
      const draw = (replay: Opened): unknown => {
        const selector = replay.selectors[0] ?? replay.newPickSelector(prioritized());
        const { state, nextState, reward } = replay.getBatch(40, selector as never);
        return [state, nextState, reward];
      };
      for (let round = 0; round < amount(3, 6); round++) {
        using replay = await open(folder, compression);
        assertEquals(rows(replay), rows(twin as never), `round ${round}`);
        for (const each of [replay, twin as never as Opened]) {
          fill(each, 1 + 700 * round, 700);
          const handles = [...each.episodes().handle].filter((handle) =>
            each.episode(handle).recordCount > 0
          );
          const episodes = handles.slice(0, 20).flatMap((handle) => [handle, handle]);
          const positions = episodes.map((handle, k) => k % each.episode(handle).recordCount);
          const state = new Uint8Array(episodes.length * BYTES).fill(round + 1);
          each.update(episodes, positions, { state });
        }
        assertEquals(draw(replay), draw(twin as never), `round ${round}`);
        await replay.flush();
        assertEquals(replay.durability?.hasFailed, false);
      }
    }));
}

Deno.test("the folder is smaller, too", () =>
  inFolder(async (folder) => {
    const bytesWith = async (compression: Compression): Promise<number> => {
      using replay = await open(`${folder}/${compression}`, compression);
      fill(replay, 1, 900);
      await replay.flush();
      return replay.durability?.writtenBytes ?? NaN;
    };
    const [plain, small] = [await bytesWith("none"), await bytesWith("small")];
    assertGreater(plain / small, 2.5, `${plain} and ${small} bytes`);
  }));

Deno.test("another compression than the folder's is refused by name", () =>
  inFolder(async (folder) => {
    (await open(folder, "fast"))[Symbol.dispose]();
    await assertReplayRejects(open(folder, "small"), "log-mismatch");
    using replay = await ExperienceReplay.open(folder);
    assertEquals(replay.describe().compression, "fast");
  }));

Deno.test("damage in packed rows costs their episodes, and is named", () =>
  inFolder(async (folder) => {
    {
      using replay = await open(folder, "small");
      for (let k = 0; k < 4; k++) {
        fill(replay, 1 + 100 * k, 100);
        await replay.flush();
      }
    }
    const [log] = logsOf(folder);
    assert(log !== undefined);
    const whole = await Deno.readFile(log);
    const seed = 20261128;
    const random = testRandom(seed);
    let lost = 0;
    for (let round = 0; round < 60; round++) {
      const bytes = whole.slice();
      // More bits than can be repaired, so that a payload is damaged, or a head.
      const at = 64 + random(whole.length - 128);
      for (let k = 0; k < 8; k++) bytes[at + k] = random(256);
      // What the round before has written goes: a log that is damaged goes on in another file.
      for (const other of logsOf(folder)) await Deno.remove(other);
      await Deno.writeFile(log, bytes);
      const opened = await open(folder, "small").catch((error: { readonly code?: string }) =>
        error.code
      );
      if (typeof opened !== "object") {
        assertEquals(opened, "log-damaged", `seed ${seed}, round ${round}`);
        continue;
      }
      using replay = opened;
      const { lostBlockCount = 0, cutBytes = 0 } = replay.durability?.recovered ?? {};
      lost += lostBlockCount;
      // What is there is what was recorded.
      const found = [...replay.episodes().handle].flatMap((handle) => {
        const { state, reward } = replay.episodeRecords(handle);
        for (const [k, n] of reward.entries()) {
          if (n % 8 === 7) continue;
          const own = state.subarray(k * BYTES, (k + 1) * BYTES);
          assertEquals([own[0], own[n % BYTES], own[BYTES - 1]], [0, n % 256, 124]);
        }
        return [...reward];
      });
      assert(
        found.length === 400 || lostBlockCount > 0 || cutBytes > 0,
        `seed ${seed}, round ${round}`,
      );
    }
    assertGreater(lost, 5);
    assertLess(lost, 60 * 30);
  }));
