/**
 * A program with a durable replay is killed at random moments, and the folder is opened again each time: all that was flushed is there, nothing is torn or
 * there twice. `EXRP_KILLS=1000` kills more often, and `EXRP_SEED` repeats a run's choices, though not the moments of the system. Few kills are enough for what
 * TypeScript adds: the kernel alone is killed hundreds of times by `tests/kernel/durable/kill_test.cpp`.
 *
 * @module
 */

import { assert, assertEquals } from "../../_assert.ts";
import { type Column, ExperienceReplay } from "@exrp/replay";
import { pause } from "../../_wait.ts";
import { testRandom } from "../_helpers.ts";

const KILLS = Number(Deno.env.get("EXRP_KILLS") ?? 6);
const SEED = Number(Deno.env.get("EXRP_SEED") ?? 261128);

type Written = ExperienceReplay<
  { state: Column<"float32", [2]>; action: Column; reward: Column<"float32", []> }
>;

/** Runs the writer, kills it some time after its first flush, and returns how many records it said to be on the disk. */
async function runAndKill(folder: string, seed: number, milliseconds: number): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--quiet", "--lock=deno.lock"],
      ...["tests/replay/durable/_writer.ts", folder, `${seed}`],
    ],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let said = "";
  const errors = new Response(child.stderr).text();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  said += value;
  // A killed writer may leave its last line cut off, and then it counts for nothing.
  const rest = (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      said += value;
    }
  })();
  await pause(milliseconds);
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended by itself, which the next lines tell.
  }
  await rest;
  const { signal } = await child.status;
  assertEquals([signal, await errors], ["SIGKILL", ""]);
  const flushed = [...said.matchAll(/^flushed (\d+)\n/gm)].map(([, count]) => Number(count));
  return flushed.at(-1) ?? 0;
}

/** Checks every record that is stored, and returns how many there ever were. */
function checkRecords(replay: Written): number {
  const { recordedCount } = replay.describe();
  const { handle } = replay.episodes();
  const numbers: number[] = [];
  for (const episode of handle) {
    const { state, action, reward, ending, finalState } = replay.episodeRecords(episode);
    for (const [k, n] of reward.entries()) {
      assertEquals([state[2 * k], state[2 * k + 1], Number(action[k])], [n, n + 0.5, n % 7]);
      if (k > 0) assertEquals(n, (reward[k - 1] ?? NaN) + 1);
      numbers.push(n);
    }
    const last = reward.at(-1);
    if (last === undefined) continue;
    assertEquals(ending, last % 13 === 0 ? "terminated" : "open");
    if (ending === "terminated") assertEquals([...(finalState ?? [])], [-last, 0]);
  }
  assertEquals(new Set(numbers).size, numbers.length);
  assertEquals(Math.max(0, ...numbers), recordedCount);
  return recordedCount;
}

/** Checks that each snapshot is whole, and of its moment. */
async function checkSnapshots(folder: string): Promise<void> {
  for (const { name, path } of ExperienceReplay.snapshots(folder)) {
    const { isWhole, cutBytes } = await ExperienceReplay.verify(path);
    assertEquals([isWhole, cutBytes], [true, 0]);
    using replay: Written = await ExperienceReplay.open(path, { flushIntervalMs: 0 });
    assertEquals(`at-${checkRecords(replay)}`, name);
  }
}

Deno.test({
  name:
    `a durable replay that is killed ${KILLS} times loses nothing that was flushed (seed ${SEED})`,
  fn: async () => {
    const random = testRandom(SEED);
    let folder = await Deno.makeTempDir();
    let more = 0;
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const flushed = await runAndKill(folder, random(2 ** 31), random(400));
        using replay: Written = await ExperienceReplay.open(folder, { segmentBytes: 2 ** 20 });
        const recovered = replay.durability?.recovered;
        assert(recovered !== undefined);
        assertEquals(recovered.lostBlockCount, 0);
        const found = checkRecords(replay);
        assert(found >= flushed, `${flushed} records were flushed, and ${found} are there`);
        more += found > flushed ? 1 : 0;
        await checkSnapshots(folder);
        if (random(8) > 0) continue;
        await Deno.remove(folder, { recursive: true });
        folder = await Deno.makeTempDir();
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
    // Of so many, at least one.
    if (KILLS >= 40) {
      assert(more > 0, "no program was killed between two flushes: it has to write more");
    }
  },
});
