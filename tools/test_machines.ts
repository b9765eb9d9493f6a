/**
 * Fleets of shards, actors and learners under faults, for as long as it takes: `deno task test:machines`.
 *
 * @module
 */
import { readArguments } from "./_arguments.ts";
import { inRepository, seconds } from "./_repository.ts";

const usage = `deno task test:machines [OPTION]

Runs the tests of tests/machines and tests/fleet for long: random schedules of faults on a simulated network, on all cores; a crowd of actors and shards
in one process; draws from shards beside one replay's; and processes on machines of their own, which are killed under load, or learn. These need a NATS server and
the rights of root on Linux. A test that this machine can't run is named as ignored.

  --schedules=N  how many schedules of shards; 10000 by default
  --policies=N   how many schedules of weights, and how many of central inference; 1000 by default
  --pauses=N     how many schedules of a learner that stands still; 1000 by default
  --actors=N     how many actors the crowd has; 1000 by default
  --shards=N     how many shards it has; 100 by default
  --draws=N      how many draws are compared; 10000000 by default
  --kills=N      how many processes are killed; 200 by default
  --lossy=N      how many are killed over slow cables that lose packets; 50 by default
  --learn=N      with how many seeds each architecture learns; 1 by default
  --seed=N       repeats a run; each run prints its seed
  --help         prints this

A 0 leaves a part out.`;

/** How late the death of a shard may be noticed: by the median, and by nine of ten, in ms. A heartbeat that is missed for 0.9 s is a death. */
const NOTICED_MS = [1000, 1500] as const;
/** For how long a learner may stand still, by nine of ten, in ms. `pauses_test.ts` asks it of all, without a clock. */
const PAUSE_MS = 2000;

/** Runs tests of some files, as many processes side by side as there are environments; returns what they printed, or undefined where one failed. */
async function runTest(
  name: string,
  files: readonly string[],
  environments: readonly Record<string, string>[],
): Promise<string | undefined> {
  const begin = performance.now();
  const results = await Promise.all(environments.map(async (env) => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["test", "--lock=deno.lock", "--no-check", "--allow-all"],
        ...files.map((file) => `tests/${file}_test.ts`),
      ],
      env,
      cwd: inRepository(),
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      await Deno.stdout.write(new TextEncoder().encode(part));
    }
    return { text, isGood: (await child.status).success };
  }));
  console.log(`${name}: ${seconds(performance.now() - begin)}`);
  if (!results.every(({ isGood }) => isGood)) return undefined;
  return results.map(({ text }) => text).join("\n");
}

/** Where files of short lives cost least: in memory, where the system has such a folder. */
async function memoryFolder(): Promise<Record<string, string>> {
  const folder = "/dev/shm";
  const isThere = await Deno.stat(folder).then(({ isDirectory }) => isDirectory, () => false);
  return isThere ? { TMPDIR: folder } : {};
}

/** Whether deaths were noticed in time, by what the test printed. */
function isInTime(text: string): boolean {
  const [, median, most] =
    /a shard's death was noticed after: median (\d+) ms, 90 of 100 (\d+) ms/.exec(text) ?? [];
  const pauses = text.matchAll(/the learner stood still, .* 90 of 100 (\d+) ms/g);
  const late = [
    ...Number(median) > NOTICED_MS[0] || Number(most) > NOTICED_MS[1]
      ? [
        `deaths of shards must be noticed within ${NOTICED_MS.join(" ms, and 9 of 10 within ")} ms`,
      ]
      : [],
    ...[...pauses].some(([, pause]) => Number(pause) > PAUSE_MS)
      ? [`9 of 10 pauses of the learner must be within ${PAUSE_MS} ms`]
      : [],
  ];
  for (const words of late) console.error(`${words}, on a machine that does nothing else`);
  return late.length === 0;
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    {
      schedules: { type: "string", default: "10000" },
      policies: { type: "string", default: "1000" },
      pauses: { type: "string", default: "1000" },
      actors: { type: "string", default: "1000" },
      shards: { type: "string", default: "100" },
      draws: { type: "string", default: "10000000" },
      kills: { type: "string", default: "200" },
      lossy: { type: "string", default: "50" },
      learn: { type: "string", default: "1" },
      seed: { type: "string" },
    },
    usage,
  );
  if (typeof options === "number") return options;
  const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31));
  for (const [name, value] of Object.entries({ ...options, seed: String(seed) })) {
    if (/^\d+$/.test(value ?? "")) continue;
    console.error(`--${name} must be a whole number, got ${value}`);
    return 2;
  }
  console.log(`seed ${seed}`);
  const memory = await memoryFolder();
  const numbers = Object.entries(options).map(([name, value]) => [name, Number(value)]);
  const { schedules, policies, pauses, actors, shards, draws, kills, lossy, learn } = Object
    .fromEntries(numbers) as Record<Exclude<keyof typeof options, "seed">, number>;
  let isGood = true;
  if (schedules > 0) {
    const cores = navigator.hardwareConcurrency;
    const each = Math.ceil(schedules / cores);
    const environments = Array.from({ length: cores }, (_, core) => ({
      ...memory,
      EXRP_MACHINE_SCHEDULES: `${each}`,
      // No two of them have a seed in common.
      EXRP_MACHINE_SEED: `${seed + core * each}`,
    }));
    isGood = await runTest("schedules", ["machines/schedules"], environments) !== undefined &&
      isGood;
  }
  if (policies > 0) {
    const env = { EXRP_SCHEDULES: `${policies}`, EXRP_SEED: `${seed}` };
    const files = ["fleet/broadcast", "fleet/inference"];
    isGood = await runTest("weights and inference", files, [env]) !== undefined && isGood;
  }
  const seeded = { EXRP_MACHINE_SEED: `${seed}` };
  if (pauses > 0) {
    const env = { ...seeded, EXRP_MACHINE_SCHEDULES: `${pauses}` };
    isGood = await runTest("pauses", ["machines/pauses"], [env]) !== undefined && isGood;
  }
  if (actors > 0 && shards > 0) {
    const env = { EXRP_CROWD_ACTORS: `${actors}`, EXRP_CROWD_SHARDS: `${shards}` };
    isGood = await runTest("the crowd", ["machines/crowd"], [{ ...memory, ...seeded, ...env }]) !==
        undefined && isGood;
  }
  if (draws > 0) {
    const env = { ...seeded, EXRP_MACHINE_DRAWS: `${draws}` };
    isGood = await runTest("draws", ["machines/draws"], [env]) !== undefined && isGood;
  }
  if (kills > 0) {
    const env = { EXRP_MACHINE_KILLS: `${kills}`, EXRP_MACHINE_LOSSY_KILLS: "0" };
    const text = await runTest("kills", ["machines/kills"], [{ ...seeded, ...env }]);
    isGood = text !== undefined && isInTime(text) && isGood;
  }
  if (lossy > 0) {
    const env = { EXRP_MACHINE_KILLS: "0", EXRP_MACHINE_LOSSY_KILLS: `${lossy}` };
    const files = ["machines/cables", "machines/kills"];
    isGood = await runTest("slow cables", files, [{ ...seeded, ...env }]) !== undefined && isGood;
  }
  if (learn > 0) {
    // Agents have seeds up to a million.
    const env = { EXRP_MACHINE_SEED: `${seed % 1_000_000}`, EXRP_MACHINE_SEEDS: `${learn}` };
    isGood = await runTest("learning", ["machines/learn"], [env]) !== undefined && isGood;
  }
  return isGood ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
