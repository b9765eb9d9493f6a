/**
 * How fast a replay that is larger than memory draws. This probe has the figures of `docs/internals/performance.md`, "Larger than memory".
 *
 *     deno run -A bench/probe/resident.ts [--mib=128] [--compression=fast] [--cold] [--folder=]
 *
 * A pool of frames of 84 × 84 takes four times as much as may be in memory. Batches of 256 transitions are drawn in turns from it, and from its twin in memory: from its newest
 * fifth, nine tenths from there and the rest from all, and uniformly. Beside them stand bare reads of as many bytes as a uniform batch reads back, block by block, at random
 * places of the same files: into one place that the caches hold, and spread over as much memory as rows may take, where a replay has to put them. With `--cold`, the files are dropped from the system's memory before each turn (Linux, by `dd`).
 *
 * @module
 */
import { ExperienceReplay, mixture, recent, uint8, uniform } from "@exrp/replay";
import { median } from "../_turns.ts";

const FRAME = 84 * 84;
const COUNT = 256;
const ROUNDS = 21;
const EPISODE = 500;

function option(name: string): string | undefined {
  const found = Deno.args.find((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  return found?.split("=")[1] ?? (found === undefined ? undefined : "");
}

const mib = Number(option("mib") ?? 128);
const isCold = option("cold") !== undefined;
const compression = (option("compression") ?? "none") as "none" | "fast";
const folder = await Deno.makeTempDir({ dir: option("folder") });
const resident = mib * 2 ** 20;
/** With compression, frames of which a tenth differs from the others take an eighth. */
const pooled = Math.round(4 * resident * (compression === "none" ? 1 : 8) / FRAME / EPISODE) *
  EPISODE;

const options = { capacity: pooled, state: uint8(84, 84), seed: 1, compression } as const;

type Draws = Readonly<Record<"newest" | "mixed" | "uniform", () => number>>;

/** Fills a replay, and gives what draws from it: each takes so many milliseconds. */
function make(
  replay: Awaited<ReturnType<typeof ExperienceReplay.create<typeof options.state>>>,
): Draws {
  const base = Uint8Array.from({ length: FRAME }, () => Math.random() * 256);
  const state = new Uint8Array(EPISODE * FRAME);
  for (let done = 0; done < pooled; done += EPISODE) {
    if (compression === "none") {
      for (let at = 0; at < state.length; at += 2 ** 16) {
        crypto.getRandomValues(state.subarray(at, Math.min(at + 2 ** 16, state.length)));
      }
    } else {
      for (let k = 0; k < EPISODE; k++) {
        state.set(base, k * FRAME);
        const at = Math.floor(Math.random() * FRAME * 0.9);
        crypto.getRandomValues(state.subarray(k * FRAME + at, k * FRAME + at + FRAME / 10));
      }
    }
    const zeros = new Array(EPISODE).fill(0);
    replay.recordMany(replay.newEpisode(), {
      ...{ state, action: zeros, reward: zeros },
      finalState: state.subarray(0, FRAME),
    });
  }
  const all = replay.newPickSelector(uniform());
  const newest = replay.newPickSelector(recent({ fraction: 0.2 }));
  const mixed = replay.newPickSelector(mixture([
    { selector: newest, share: 9 },
    { selector: all, share: 1 },
  ]));
  const draw = (selector: typeof all | typeof mixed) => {
    const from = performance.now();
    replay.getBatch(COUNT, selector as typeof all);
    return performance.now() - from;
  };
  return { newest: () => draw(newest), mixed: () => draw(mixed), uniform: () => draw(all) };
}

try {
  using larger = await ExperienceReplay.open(folder, { ...options, resident });
  using twin = await ExperienceReplay.create(options);
  const [of, inMemory] = [make(larger as never), make(twin as never)];
  await larger.flush();
  const logs = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name)
    .filter((name) => name.startsWith("log-")).map((name) => {
      const path = `${folder}/${name}`;
      const file = Deno.openSync(path);
      return { path, file, bytes: file.statSync().size };
    });
  const cool = async (): Promise<void> => {
    if (!isCold) return;
    for (const { path } of logs) {
      const args = [`if=${path}`, "iflag=nocache", "count=0", "status=none"];
      await new Deno.Command("dd", { args }).output();
    }
  };
  const info = () =>
    larger.durability?.residency ?? { rowBytes: 0, readBlockCount: 0, readBytes: 0 };
  let [blockCount, blockBytes] = [0, 0];
  const room = new Uint8Array(resident).fill(1);
  let at = 0;
  const bare = (isSpread: boolean): number => {
    const from = performance.now();
    for (let k = 0; k < blockCount; k++) {
      const found = logs[Math.floor(Math.random() * logs.length)];
      if (found === undefined) continue;
      const { file, bytes } = found;
      file.seekSync(
        Math.floor(Math.random() * Math.max(1, bytes - blockBytes) / 8) * 8,
        Deno.SeekMode.Start,
      );
      at = isSpread && at + 2 * blockBytes <= room.length ? at + blockBytes : 0;
      file.readSync(room.subarray(at, at + blockBytes));
    }
    return performance.now() - from;
  };
  const names = ["newest", "mixed", "uniform"] as const;
  const times = new Map<string, number[]>();
  const note = (name: string, ms: number): void => {
    times.set(name, [...times.get(name) ?? [], ms]);
  };
  const reads = new Map<string, number>();
  for (let round = -2; round < ROUNDS; round++) {
    for (const name of names) {
      // The blocks of the newest are there again.
      for (let k = 0; k < (round < 0 ? 20 : 4); k++) of[name]();
      await cool();
      const before = info();
      const ms = of[name]();
      const after = info();
      const count = after.readBlockCount - before.readBlockCount;
      if (name === "uniform") {
        blockCount = count;
        blockBytes = Math.round((after.readBytes - before.readBytes) / Math.max(1, count));
        for (const name of ["bare reads", "bare reads, spread"]) {
          await cool();
          const bareMs = bare(name !== "bare reads");
          if (round >= 0) note(name, bareMs);
        }
      }
      const memoryMs = inMemory[name]();
      if (round < 0) continue;
      note(`${name}, larger than memory`, ms);
      note(`${name}, in memory`, memoryMs);
      reads.set(name, (reads.get(name) ?? 0) + count / ROUNDS);
    }
  }
  const cpu = (await Deno.readTextFile("/proc/cpuinfo").catch(() => "")).match(
    /model name\s*: (.*)/,
  )?.[1];
  console.log(
    `${cpu}; ${pooled} frames, ${mib} MiB in memory, compression ${compression}, files ${
      isCold ? "cold" : "warm"
    }`,
  );
  const words = (number: number): string => number.toFixed(2).padStart(8);
  console.log(`${"".padEnd(32)}   least  median`);
  for (const [name, all] of times) {
    console.log(`${name.padEnd(32)}${words(Math.min(...all))}${words(median(all))}`);
  }
  for (const [name, count] of reads) {
    console.log(`${`blocks read, ${name}`.padEnd(32)} ${count.toFixed(0)}`);
  }
  console.log(`rows take ${(info().rowBytes / 2 ** 20).toFixed(1)} MiB`);
  for (const { file } of logs) file.close();
} finally {
  await Deno.remove(folder, { recursive: true });
}
