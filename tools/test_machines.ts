/**
 * Fleets of shards, actors and learners under faults, for as long as it takes: `deno task test:machines`.
 *
 * @module
 */
import { readArguments } from "./_arguments.ts";
import { inRepository, seconds } from "./_repository.ts";

const usage = `deno task test:machines [OPTION]

Runs the tests of tests/machines and tests/fleet for long: random schedules of faults on a simulated network, on all cores; a crowd of actors and shards
in one process; draws from shards beside one replay's; and processes on machines of their own, which are killed under load. The last needs a NATS server and the
rights of root on Linux. A test that this machine can't run is named as ignored.

  --schedules=N  how many schedules of shards; 10000 by default
  --policies=N   how many schedules of weights, and how many of central inference; 1000 by default
  --actors=N     how many actors the crowd has; 1000 by default
  --shards=N     how many shards it has; 100 by default
  --draws=N      how many draws are compared; 10000000 by default
  --kills=N      how many processes are killed; 200 by default
  --seed=N       repeats a run; each run prints its seed
  --help         prints this

A 0 leaves a part out.`;

/** How late the death of a shard may be noticed: by the median, and by nine of ten, in ms. A heartbeat that is missed for 0.9 s is a death. */
const NOTICED_MS = [1000, 1500] as const;

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
  // Without machines, the test was ignored.
  if (median === undefined) return true;
  if (Number(median) <= NOTICED_MS[0] && Number(most) <= NOTICED_MS[1]) return true;
  console.error(
    `deaths of shards must be noticed within ${NOTICED_MS[0]} ms, and 9 of 10 within ${
      NOTICED_MS[1]
    } ms, on a machine that does nothing else`,
  );
  return false;
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    {
      schedules: { type: "string", default: "10000" },
      policies: { type: "string", default: "1000" },
      actors: { type: "string", default: "1000" },
      shards: { type: "string", default: "100" },
      draws: { type: "string", default: "10000000" },
      kills: { type: "string", default: "200" },
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
  const [schedules, policies, actors, shards, draws, kills] = [
    options.schedules,
    options.policies,
    options.actors,
    options.shards,
    options.draws,
    options.kills,
  ].map(Number) as [number, number, number, number, number, number];
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
    const text = await runTest("kills", ["machines/kills"], [{
      ...seeded,
      EXRP_MACHINE_KILLS: `${kills}`,
    }]);
    isGood = text !== undefined && isInTime(text) && isGood;
  }
  return isGood ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
