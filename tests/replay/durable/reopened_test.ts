/**
 * A durable replay is opened again as it was: what checkpoints, groups and updates leave out by mistake shows in its snapshot.
 *
 * @module
 */

import { assertEquals, assertRejects } from "../../_assert.ts";
import {
  every,
  ExperienceReplay,
  fifo,
  float32,
  ReplayError,
  reservoir,
  uniform,
} from "@exrp/replay";
import { onWasm } from "../../_native.ts";
import { pause, until } from "../../_wait.ts";
import type { AnyReplay } from "../../whole/model/library_subject.ts";

const SMALL = { segmentBytes: 2 ** 20, flushIntervalMs: 0 };
const WIDE = 3000;

/** Runs `use` with a folder of its own. */
async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a crash of the system at this moment would leave. Where the log removes a segment meanwhile, it copies anew. */
async function withCopy(folder: string, use: (copy: string) => Promise<void>): Promise<void> {
  await withFolder(async (parent) => {
    for (let turn = 0;; turn++) {
      const copy = `${parent}/${turn}`;
      await Deno.mkdir(copy);
      try {
        for await (const { name } of Deno.readDir(folder)) {
          await Deno.copyFile(`${folder}/${name}`, `${copy}/${name}`);
        }
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) continue;
        throw error;
      }
      return await use(copy);
    }
  });
}

function open(folder: string, options: object): Promise<AnyReplay> {
  return ExperienceReplay.open(folder, { ...SMALL, ...options } as never);
}

/** Closes the replay, opens it again, and compares. */
async function reopened(replay: AnyReplay, folder: string): Promise<AnyReplay> {
  const before = await replay.serialize();
  replay[Symbol.dispose]();
  const again = await open(folder, {});
  assertEquals(sumOf(await again.serialize()), sumOf(before));
  return again;
}

function sumOf(bytes: Uint8Array): number[] {
  let sum = 0;
  for (const byte of bytes) sum = (Math.imul(sum, 31) + byte) | 0;
  return [bytes.length, sum];
}

/** `count` steps, whose states begin with a number that counts. */
function steps(
  count: number,
  from = 0,
  width = WIDE,
): Record<"state" | "action" | "reward", never> {
  const state = new Float32Array(count * width);
  const reward = Float32Array.from({ length: count }, (_, k) => from + k);
  for (let k = 0; k < count; k++) state[k * width] = from + k;
  return { state, action: new Int32Array(count), reward } as never;
}

Deno.test({
  name: "one call of more rows than a command speaks of is one group",
  fn: () =>
    withFolder(async (folder) => {
      const options = { capacity: 300, state: float32(WIDE), eviction: reservoir(), maxAge: 150 };
      const replay = await open(folder, options);
      replay.recordMany(replay.newEpisode(), steps(400));
      (await reopened(replay, folder))[Symbol.dispose]();
    }),
});

Deno.test({
  name: "a block whose records all went after a checkpoint, with one more that came meanwhile",
  fn: () =>
    withFolder(async (folder) => {
      const options = { capacity: 300, state: float32(WIDE), maxAge: 60, blockLength: 16 };
      using replay = await open(folder, options);
      const episode = replay.recordMany(replay.newEpisode(), steps(137));
      for (let k = 0; k < 3; k++) await replay.flush();
      replay.recordMany(episode, steps(1));
      replay.recordMany(replay.newEpisode(), steps(70));
      assertEquals(replay.episode(episode).recordCount, 0);
      await replay.flush();
      await withCopy(folder, async (copy) => {
        using again = await open(copy, {});
        assertEquals(sumOf(await again.serialize()), sumOf(await replay.serialize()));
      });
    }),
});

Deno.test({
  name: "records that were drained before a checkpoint go first after it",
  fn: () =>
    withFolder(async (folder) => {
      const options = {
        capacity: 500,
        state: float32(WIDE),
        segmentLength: 38,
        keepNextState: true,
        eviction: reservoir(),
      };
      const replay = await open(folder, options);
      replay.recordMany(replay.newEpisode(), steps(480));
      replay.drain({ keep: true, steps: 300 });
      await replay.flush();
      await replay.flush();
      replay.recordMany(replay.newEpisode(), steps(150));
      (await reopened(replay, folder))[Symbol.dispose]();
    }),
});

Deno.test({
  name:
    "a drained episode that went behind the last flush does not keep a folder from being opened",
  fn: () =>
    withFolder(async (folder) => {
      using replay = await open(folder, {
        capacity: 100,
        state: float32(WIDE),
        eviction: fifo(),
        segmentLength: 20,
      });
      replay.recordMany(replay.newEpisode(), steps(100));
      replay.drain({ keep: true });
      await replay.flush();
      // The kernel ends groups by itself, as much has come; the log's thread has written them soon.
      for (let k = 0; k < 5; k++) replay.recordMany(replay.newEpisode(), steps(100));
      await until("all is written", () => replay.durability?.queuedBytes === 0);
      await withCopy(folder, async (copy) => {
        using again = await open(copy, {});
        assertEquals(again.recordCount, 100);
        again.drain();
      });
    }),
});

Deno.test({
  name: "updates of rows that are kept for some records only",
  fn: () =>
    withFolder(async (folder) => {
      const options = {
        capacity: 300,
        state: float32(700),
        extras: { goal: every(20, float32(1)) },
        blockLength: 16,
      };
      let replay = await open(folder, options);
      const record = (count: number): void => {
        const goal = Float32Array.from({ length: count }, (_, k) => k);
        episode = replay.recordMany(
          episode,
          { ...steps(count, 0, 700), extras: { goal } } as never,
        );
      };
      const update = (position: number, goal: number): void => {
        const changed = { extras: { goal: Float32Array.of(goal) } };
        replay.update(Float64Array.of(episode), Int32Array.of(position), changed as never);
      };
      let episode = replay.newEpisode();
      record(200);
      await replay.flush();
      // Record 35 has the row that was kept for record 20, which lies in the block before.
      update(35, -1);
      for (let turn = 0; turn < 3; turn++) {
        replay.recordMany(
          replay.newEpisode(),
          { ...steps(20, 0, 700), extras: { goal: new Float32Array(20) } } as never,
        );
        replay = await reopened(replay, folder);
      }
      // The later change counts, though its record goes, and that of the earlier one stays.
      update(59, -2);
      update(41, -3);
      const { recordCount } = replay;
      record(300 - recordCount + 45);
      replay = await reopened(replay, folder);
      update(100, -4);
      await replay.flush();
      record(400);
      replay = await reopened(replay, folder);
      (await reopened(replay, folder))[Symbol.dispose]();
    }),
});

Deno.test({
  name: "an update of the newest record of an episode that then ends at its last state",
  ignore: onWasm,
  fn: () =>
    withFolder(async (folder) => {
      const replay = await open(folder, { capacity: 100, state: float32(2) });
      const other = await ExperienceReplay.attach(replay.share()) as unknown as AnyReplay;
      const episode = other.recordMany(other.newEpisode(), steps(10, 0, 2));
      await replay.flush();
      const state = Float32Array.of(-1, -2);
      replay.update(
        Float64Array.of(episode),
        Int32Array.of(9),
        { state, reward: Float32Array.of(5) } as never,
      );
      other[Symbol.dispose]();
      const again = await reopened(replay, folder);
      assertEquals([...again.episodeRecords(episode).finalState as Float32Array], [-1, -2]);
      again[Symbol.dispose]();
    }),
});

/** A folder whose log begins at a checkpoint, as its first segments have gone. */
async function makeChecked(folder: string): Promise<void> {
  using replay = await open(folder, { capacity: 200, state: float32(WIDE) });
  for (let k = 0; k < 8; k++) {
    replay.recordMany(replay.newEpisode(), steps(100, 100 * k));
    await replay.flush();
  }
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  assertEquals(names.includes("log-00000001.exrp"), false, "the first segment is still there");
}

Deno.test({
  name: "the file that names the checkpoint is damaged or gone: the log itself has the checkpoint",
  fn: () =>
    withFolder(async (folder) => {
      await makeChecked(folder);
      const file = `${folder}/checkpoint.exrp`;
      const bytes = await Deno.readFile(file);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      await Deno.writeFile(file, bytes);
      for (const isThere of [true, false]) {
        await withCopy(folder, async (copy) => {
          if (!isThere) await Deno.remove(`${copy}/checkpoint.exrp`);
          using replay = await open(copy, {});
          const { handle } = replay.episodes();
          const rewards = [...handle].flatMap((each) => [...replay.episodeRecords(each).reward]);
          assertEquals(rewards, Array.from({ length: 200 }, (_, k) => 600 + k));
        });
      }
    }),
});

Deno.test({
  name: "a flipped bit of the file that describes the replay is repaired, and named",
  fn: () =>
    withFolder(async (folder) => {
      (await open(folder, { capacity: 10, state: float32(1), seed: 4 }))[Symbol.dispose]();
      const file = `${folder}/replay.json`;
      const bytes = await Deno.readFile(file);
      // One of each few bytes, so that braces, names, numbers and the sum have their turn.
      for (let at = 0; at < bytes.length; at += 43) {
        const damaged = bytes.slice();
        damaged[at] = (damaged[at] ?? 0) ^ 1 << at % 8;
        await Deno.writeFile(file, damaged);
        const { isWhole, damages } = await ExperienceReplay.verify(folder);
        assertEquals([isWhole, damages.map(({ file, byte, cost }) => [file, byte, cost])], [true, [
          ["replay.json", at, "nothing"],
        ]]);
        using replay = await open(folder, {});
        assertEquals([replay.capacity, replay.durability?.recovered?.repairedCount], [10, 1]);
        assertEquals(await Deno.readFile(file), bytes, `byte ${at}`);
      }
      using again = await open(folder, {});
      assertEquals(again.durability?.recovered?.repairedCount, 0);
    }),
});

Deno.test({
  name: "more damage of the file that describes the replay is told",
  fn: () =>
    withFolder(async (folder) => {
      (await open(folder, { capacity: 10, state: float32(1), seed: 4 }))[Symbol.dispose]();
      const file = `${folder}/replay.json`;
      const text = await Deno.readTextFile(file);
      await Deno.writeTextFile(file, text.replace('"capacity":10', '"capacity":27'));
      const error = await assertRejects(() => open(folder, {}), ReplayError, "replay.json");
      assertEquals(error.code, "log-damaged");
      assertEquals((await ExperienceReplay.verify(folder)).isWhole, false);
    }),
});

Deno.test({
  name:
    "rows of many blocks are lost, and a group was left unfinished: the rest is there, and stays",
  fn: () =>
    withFolder(async (folder) => {
      using replay = await open(folder, { capacity: 400, state: float32(WIDE) });
      for (let k = 0; k < 4; k++) {
        replay.recordMany(replay.newEpisode(), steps(60, 60 * k));
        await replay.flush();
      }
      const first = `${folder}/log-00000001.exrp`;
      await withCopy(folder, async (copy) => {
        const bytes = await Deno.readFile(first);
        // The rows of the first block, in the middle.
        bytes.fill(0x5a, 20_000, 20_100);
        await Deno.writeFile(`${copy}/log-00000001.exrp`, bytes);
        const last = (await Array.fromAsync(Deno.readDir(copy), ({ name }) => name)).filter((
          name,
        ) => name.startsWith("log-")).toSorted().at(-1);
        await Deno.truncate(`${copy}/${last}`, (await Deno.stat(`${copy}/${last}`)).size - 40);
        for (let turn = 0; turn < 3; turn++) {
          using again = await open(copy, {});
          assertEquals((again.durability?.recovered?.lostBlockCount ?? 0) > 0, turn === 0);
          assertEquals(again.durability?.hasFailed, false);
          const { handle } = again.episodes();
          for (const each of handle) {
            const { reward, state } = again.episodeRecords(each);
            for (const [k, value] of reward.entries()) {
              assertEquals((state as Float32Array)[k * WIDE], value);
            }
          }
          again.recordMany(again.newEpisode(), steps(3));
          await again.flush();
        }
      });
    }),
});

Deno.test({
  name: "two replays are made in one folder at once: the one that has it says what is in it",
  fn: () =>
    withFolder(async (folder) => {
      const options = [3, 4, 5, 6].map((capacity) => ({ capacity, state: float32(1) }));
      const opened = await Promise.allSettled(options.map((each) => open(folder, each)));
      const made = opened.flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
      const codes = opened.flatMap((each) => each.status === "fulfilled" ? [] : [each.reason.code]);
      assertEquals([made.length, codes], [1, ["log-taken", "log-taken", "log-taken"]]);
      const [first] = made as [AnyReplay];
      const { capacity } = first.describe();
      first[Symbol.dispose]();
      using again = await open(folder, {});
      assertEquals(again.describe().capacity, capacity);
    }),
});

Deno.test({
  name: "a log without the file that describes it is refused, and no file is made",
  fn: () =>
    withFolder(async (folder) => {
      const options = { capacity: 5, state: float32(1) };
      const replay = await open(folder, options);
      replay.record(replay.newEpisode(), [1] as never, 0 as never, 0 as never, {} as never);
      replay[Symbol.dispose]();
      await Deno.remove(`${folder}/replay.json`);
      for (let k = 0; k < 2; k++) {
        const error = await assertRejects(
          () => open(folder, { ...options, capacity: 9 }),
          ReplayError,
        );
        assertEquals(error.code, "log-mismatch");
      }
    }),
});

Deno.test({
  name: "a crash came before the file that describes a new replay",
  fn: () =>
    withFolder(async (folder) => {
      // Of a log in which nothing happened yet, only the head is there.
      (await open(folder, { capacity: 5, state: float32(1) }))[Symbol.dispose]();
      await Deno.remove(`${folder}/replay.json`);
      await Deno.truncate(`${folder}/log-00000001.exrp`, 32);
      using replay = await open(folder, { capacity: 9, state: float32(1) });
      assertEquals([replay.describe().capacity, replay.durability?.recovered], [9, undefined]);
    }),
});

Deno.test({
  name: "a program that makes no more calls has its records on the disk after the interval",
  fn: () =>
    withFolder(async (folder) => {
      using replay = await open(folder, { capacity: 50, state: float32(1), flushIntervalMs: 20 });
      for (let k = 0; k < 5; k++) {
        replay.record(replay.newEpisode(), [k] as never, 0 as never, 0 as never, {} as never);
      }
      for (let found = 0; found < 5;) {
        await pause(20);
        await withCopy(folder, async (copy) => {
          using again = await open(copy, {});
          found = again.recordCount;
        });
      }
    }),
});

Deno.test({
  name: "another thread's selectors are there again, and it may flush, too",
  ignore: onWasm,
  fn: () =>
    withFolder(async (folder) => {
      const replay = await open(folder, { capacity: 50, state: float32(1) });
      const other = await ExperienceReplay.attach(replay.share()) as unknown as AnyReplay;
      other.newPickSelector(uniform());
      other.record(other.newEpisode(), [1] as never, 0 as never, 0 as never, {} as never);
      await other.flush();
      await withCopy(folder, async (copy) => {
        using again = await open(copy, {});
        assertEquals(again.recordCount, 1);
      });
      other[Symbol.dispose]();
      replay[Symbol.dispose]();
      using again = await open(folder, {});
      assertEquals(again.selectors.map(({ kind }) => kind), ["uniform"]);
    }),
});

Deno.test({
  name: "a seat that ends after a checkpoint ends its episodes, and nobody else's",
  ignore: onWasm,
  fn: () =>
    withFolder(async (folder) => {
      using replay = await open(folder, { capacity: 300, state: float32(WIDE) });
      const attach = async (to: AnyReplay): Promise<AnyReplay> =>
        await ExperienceReplay.attach(to.share()) as unknown as AnyReplay;
      const other = await attach(replay);
      const its = other.recordMany(other.newEpisode(), steps(120));
      for (let k = 0; k < 3; k++) await replay.flush();
      other.recordMany(other.newEpisode(), steps(10));
      await replay.flush();
      await withCopy(folder, async (copy) => {
        using again = await open(copy, {});
        const mine = again.recordMany(again.newEpisode(), steps(10));
        (await attach(again))[Symbol.dispose]();
        assertEquals(again.episode(mine).ending, "open");
      });
      other[Symbol.dispose]();
      assertEquals(replay.episode(its).ending, "truncated");
      await replay.flush();
      await withCopy(folder, async (copy) => {
        using again = await open(copy, {});
        assertEquals(sumOf(await again.serialize()), sumOf(await replay.serialize()));
      });
    }),
});

/** A program whose files may have 256 KiB. The log's thread finds out first, while nothing waits to be written. */
const LIMITED = `
import { ExperienceReplay, float32 } from "@exrp/replay";
const replay = await ExperienceReplay.open(Deno.args[0], { capacity: 2000, state: float32(256), whenDiskFails: "memory" });
const steps = { state: new Float32Array(25600), action: new Int32Array(100), reward: new Float32Array(100) };
for (let k = 0; k < 5; k++) {
  replay.recordMany(replay.newEpisode(), steps);
  console.log(await replay.flush().then(() => "flushed", (error) => error.code + " " + error.message));
}
`;

Deno.test({
  name: "flush() fails where the disk takes no more, and what was flushed before is there",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      const shell = `trap "" XFSZ; ulimit -f 512; exec "$0" eval --no-check "$1" "$2"`;
      const child = new Deno.Command("sh", {
        args: ["-c", shell, Deno.execPath(), LIMITED, `${folder}/new`],
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const isLate = setTimeout(() => child.kill("SIGKILL"), 60_000);
      const { stdout } = await child.output();
      clearTimeout(isLate);
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      const flushed = lines.filter((line) => line === "flushed").length;
      assertEquals(lines.length - flushed > 0, true, lines.join("\n"));
      assertEquals(
        lines.slice(flushed).every((line) => line.startsWith("disk ")),
        true,
        lines.join("\n"),
      );
      using again = await open(`${folder}/new`, {});
      assertEquals(again.recordCount, 100 * flushed);
    }),
});
