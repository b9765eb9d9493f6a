/**
 * Crashes of durable replays, for as long as it takes: `deno task test:crashes`.
 *
 * @module
 */
import { readArguments } from "./_arguments.ts";
import { buildTargets, folder } from "./_native_tests.ts";
import { inRepository, seconds } from "./_repository.ts";

const usage = `deno task test:crashes [OPTION]

Builds C++ tests of durable replays, and runs each for long, on all cores: random schedules on a disk that crashes, fails and
lies; processes that are killed; and damaged folders, logs and packed rows, under ASan and UBSan.

  --schedules=N  how many schedules; 1000000 by default
  --kills=N      how many processes are killed; 10000 by default
  --folders=N    how many damaged folders are opened; 1000000 by default
  --logs=N       how many damaged logs are read; 1000000 by default
  --rows=N       how many damaged packed rows are read; 1000000 by default
  --seed=N       repeats a run; each run prints its seed
  --help         prints this`;

/** What runs, and the variables that say how often and from which seed on. */
const programs = [
  ["schedules", "plain_kernel_durable_schedules_test", "EXRP_CRASH_SCHEDULES", "EXRP_CRASH_SEED"],
  ["kills", "plain_kernel_durable_kill_test", "EXRP_KILLS", "EXRP_CRASH_SEED"],
  ["folders", "address_kernel_durable_fuzz_test", "EXRP_FUZZ_COUNT", "EXRP_FUZZ_SEED"],
  ["logs", "address_kernel_log_fuzz_test", "EXRP_FUZZ_COUNT", "EXRP_FUZZ_SEED"],
  ["rows", "address_kernel_packing_fuzz_test", "EXRP_FUZZ_COUNT", "EXRP_FUZZ_SEED"],
] as const;

/** Before GCC 14, sanitizers sometimes fail where Linux places memory at random: kernel/CMakeLists.txt starts its programs so, too. */
async function launcher(): Promise<readonly string[]> {
  const prefix = ["setarch", "-R"];
  try {
    const { success } = await new Deno.Command("setarch", { args: ["-R", "true"], stderr: "null" })
      .output();
    return success ? prefix : [];
  } catch {
    return [];
  }
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    {
      schedules: { type: "string", default: "1000000" },
      kills: { type: "string", default: "10000" },
      folders: { type: "string", default: "1000000" },
      logs: { type: "string", default: "1000000" },
      rows: { type: "string", default: "1000000" },
      seed: { type: "string" },
    },
    usage,
  );
  if (typeof options === "number") return options;
  const seed = options.seed ?? String(Math.floor(Math.random() * 2 ** 32));
  for (const [name, value] of Object.entries({ ...options, seed })) {
    if (/^\d+$/.test(value ?? "")) continue;
    console.error(`--${name} must be a whole number, got ${value}`);
    return 2;
  }
  const wanted = programs.filter(([what]) => Number(options[what]) > 0);
  const { count, text } = await buildTargets(wanted.map(([, target]) => target));
  if (count.failed > 0) {
    console.error(text);
    return 1;
  }
  const start = await launcher();
  const cores = navigator.hardwareConcurrency;
  let failed = 0;
  for (const [what, target, countName, seedName] of wanted) {
    const begin = performance.now();
    const each = Math.ceil(Number(options[what]) / cores);
    const [command = "", ...rest] = [...start, inRepository(...folder.split("/"), target)];
    const runs = Array.from({ length: cores }, (_, core) =>
      new Deno.Command(command, {
        args: rest,
        // No two of them have a seed in common.
        env: { [countName]: String(each), [seedName]: String(Number(seed) + core * each) },
      }).spawn().status);
    for (const { success } of await Promise.all(runs)) failed += success ? 0 : 1;
    console.log(`${each * cores} ${what}, seed ${seed}, ${seconds(performance.now() - begin)}`);
  }
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
