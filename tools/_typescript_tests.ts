/**
 * The TypeScript tests as jobs: a process for each folder of tests/, tests/replay/ and tests/whole/, so that tests which measure
 * memory or end the process disturb no other folder. The tests of the model take longest, so each of their files has a process.
 *
 * @module
 */
import { copyExamples } from "./_doc_examples.ts";
import { inRepository, listTree } from "./_repository.ts";
import { listPages } from "./_site_pages.ts";
import { capture, type Count, type Job, none, one, type Result } from "./_jobs.ts";

/** Folders whose every folder is a job, and so is each file beside these. */
const deep = ["tests/replay", "tests/whole"];

/** Folders whose every file is a job. */
const split = ["tests/whole/model"];

/** What builds packages is one job: only one build runs at a time, and who waits for another one's would seem to hang. */
const builders = ["tests/package", "tests/prebuilt"];

/** What takes longest begins first, or the other cores wait for it at the end. */
const first = [
  builders.join(", "),
  ...["tests/examples", "tests/whole/memory"],
  ...[
    "tests/server",
    "tests/shards",
    "tests/replay/durable",
    "tests/replay/share",
    "tests/whole/model/faults_test.ts",
    "tests/whole/model/model_test.ts",
    "tests/net",
  ],
];

/** The tests that only `--all` runs, because they take long: by what they are about. */
const long: Readonly<Record<string, readonly string[]>> = {
  "packages for all systems": ["tests/package", "tests/prebuilt"],
  "browsers": ["tests/browser"],
  "notebooks": ["tests/notebooks"],
  "files of Python's libraries, and large ones": [
    "tests/interchange/memory_test.ts",
    "tests/interchange/python_test.ts",
  ],
  "long random runs": [
    "tests/whole/model/faults_test.ts",
    "tests/whole/properties/pick_properties_test.ts",
    "tests/whole/statistics/reservoir_test.ts",
  ],
  "killed processes and Workers": [
    "tests/interchange/kill_test.ts",
    "tests/server/checkpoints/kill_test.ts",
    "tests/replay/durable/kill_test.ts",
    "tests/replay/share/ended_workers_test.ts",
    "tests/ffi/workers_test.ts",
    "tests/tools/cluster_test.ts",
    "tests/machines/kills_test.ts",
  ],
  "crowds of actors and shards": ["tests/machines/crowd_test.ts"],
  "files for containers": ["tests/tools/deploy_test.ts"],
  "memory that full replays, tables and large folders take": [
    "tests/whole/memory",
    "tests/tables/memory_test.ts",
    "tests/replay/append/memory_test.ts",
  ],
  "what the compiler says of wrong types": [
    "tests/schema/misspelt_options_test.ts",
    "tests/schema/readable_types_test.ts",
    "tests/schema/type_errors_test.ts",
  ],
  "selectors and durable folders on WebAssembly": [],
  "examples as programs and agents that learn": [
    "tests/examples/examples_test.ts",
    "tests/examples/apex_cartpole_test.ts",
    "tests/examples/cliffwalk_test.ts",
    "tests/examples/continuous_control_test.ts",
    "tests/examples/gpu_pixels_test.ts",
    "tests/examples/half_offline_test.ts",
    "tests/examples/impala_cartpole_test.ts",
    "tests/examples/many_machines_test.ts",
    "tests/examples/ppo_cartpole_test.ts",
    "tests/examples/r2d2_memory_test.ts",
    "tests/examples/reverb_test.ts",
  ],
};

/** What is left out where not all is run. */
export const leftOut: string = Object.keys(long).join(", ");

/** What the tests of the model run: seeds, natively, on WebAssembly and of durable replays, and recordings for the native replay. */
const model = {
  all: { seeds: "90", wasmSeeds: "16", shared: "24", recordings: "12", durable: "50" },
  everyday: { seeds: "12", wasmSeeds: "3", shared: "8", recordings: "2", durable: "6" },
} as const;

/** How many schedules of fleets run. */
const fleets = { all: "20", everyday: "8" } as const;

/** Where the model tests leave recorded operations for the native replay: EXRP_OPERATIONS_DIR/*.ops */
export const operations: string = inRepository("build", "operations");

/** Pages that quote pieces of examples, which tests/examples holds them to: a piece does not run by itself. */
const quoting = ["docs/quickstart.md", "docs/write_your_own_selector.md"];

/** The code and the pages whose examples are run. */
export async function listDocumented(): Promise<string[]> {
  const pages = ["README.md", ...await listPages()].filter((page) => !quoting.includes(page));
  const { publish } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
  const code: string[] = [];
  for (const path of publish.include as string[]) {
    if (/^[a-z]+$/.test(path)) code.push(...await listTree(path, ".ts"));
    else if (/^[a-z]+\.ts$/.test(path)) code.push(path);
  }
  return [...code, ...pages];
}

/** The configuration for files outside of the repository. */
const configured = ["--config", inRepository("deno.json")];

/** Makes a folder with the examples of files while `use` runs, which gets the test file that runs them all. */
async function withExamples<T>(
  files: readonly string[],
  use: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    return await use(await copyExamples(folder, files));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs the examples of files, and compares what they print with the comments behind it. */
export async function testExamples(
  files: readonly string[],
  ...args: readonly string[]
): Promise<Result> {
  return await withExamples(files, (path) => denoTest([...configured, ...args, path]));
}

/** Checks the types of the repository and of all examples together: each check of its own would check the library again. */
export const typesJob: Job = {
  name: "types",
  run: async () =>
    await withExamples(await listDocumented(), async (path) => {
      const command = [Deno.execPath(), "check", "--quiet", pinned, ...configured, ".", path];
      const { code, text } = await capture(command);
      return { count: one(code === 0 ? "passed" : "failed"), text };
    }),
};

/** Versions and contents of npm's packages are those of the lock file. */
export const pinned = "--lock=deno.lock";

/** The counts of `deno test`, from the line it ends with. */
export function countDenoTests(text: string, code: number): Count {
  let { passed, failed, skipped } = none;
  for (const line of text.split("\n")) {
    const match = /^(?:ok|FAILED) \| (\d+) passed.*?\| (\d+) failed(.*)$/.exec(line.trim());
    if (!match) continue;
    passed += Number(match[1]);
    failed += Number(match[2]);
    skipped += Number(/(\d+) ignored/.exec(match[3] ?? "")?.[1] ?? 0);
  }
  // Ended by an error that is no test's: a type error, a crash at exit.
  if (code !== 0 && failed === 0) failed = 1;
  return { passed, failed, skipped };
}

/** What `deno test` printed of tests that failed or did not run; the end of it where it names none. */
export function tellTrouble(text: string): string {
  const errors = text.indexOf("\n ERRORS \n");
  const lines = text.slice(0, errors < 0 ? undefined : errors).split("\n");
  const ignored = lines.filter((line) => line.includes(" ... ignored"));
  if (errors >= 0) return [...ignored, text.slice(errors)].join("\n");
  return ignored.length > 0 && /^ok \|/m.test(text)
    ? ignored.join("\n")
    : lines.slice(-60).join("\n");
}

/** Runs `deno test`. */
export async function denoTest(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Result> {
  const command = [Deno.execPath(), "test", pinned, "--allow-all", ...args];
  const { code, text } = await capture(command, { env, isWatched: true });
  return { count: countDenoTests(text, code), text: tellTrouble(text) };
}

/** What each process of `deno test` is given: every test file is in one of these files and folders. */
export async function listParts(): Promise<string[]> {
  const parts = new Set<string>();
  for (const file of await listTree("tests", "_test.ts")) {
    const depth = deep.some((folder) => file.startsWith(`${folder}/`)) ? 3 : 2;
    const folder = file.split("/").slice(0, depth).join("/");
    parts.add(split.includes(folder) ? file : folder);
  }
  return [...first.filter((part) => parts.delete(part)), ...parts];
}

/**
 * The TypeScript tests and the examples of the documentation, whose types {@linkcode typesJob} has checked before.
 *
 * @param isAll Whether to run what takes long, too.
 */
export async function listTypeScriptJobs(isAll: boolean): Promise<Job[]> {
  const { seeds, wasmSeeds, shared, recordings, durable } = isAll ? model.all : model.everyday;
  const schedules = isAll ? fleets.all : fleets.everyday;
  // tests/_amount.ts reads it.
  const more: Record<string, string> = isAll ? { EXRP_ALL: "1" } : {};
  const ignored = isAll ? [] : Object.values(long).flat();
  const parts = (await listParts()).filter((part) => !ignored.includes(part));
  const building = builders.filter((part) => parts.includes(part));
  const groups = parts.filter((part) => !building.includes(part)).map((part) => [part]);
  if (building.length > 0) groups.unshift(building);
  const tests = groups.map((group): Job => ({
    name: group.join(", "),
    run: () => {
      const without = ignored.filter((file) => group.some((part) => file.startsWith(`${part}/`)));
      const ignore = without.length > 0 ? [`--ignore=${without.join(",")}`] : [];
      return denoTest(["--no-check", ...ignore, ...group], {
        ...more,
        EXRP_OPERATIONS_DIR: operations,
        EXRP_MODEL_SEEDS: seeds,
        EXRP_MODEL_SHARED: shared,
        EXRP_MODEL_RECORDINGS: recordings,
        EXRP_DURABLE_SEEDS: durable,
        EXRP_MACHINE_SCHEDULES: schedules,
      });
    },
  }));
  const onWasm = [
    ...["tests/whole/model/model_test.ts", "tests/whole/model/durable_test.ts"],
    ...isAll
      ? ["tests/selectors", "tests/replay/durable/durable_test.ts", "tests/tables/durable"]
      : [],
  ];
  const wasm: Job = {
    name: `on WebAssembly: ${onWasm.join(", ")}`,
    run: () =>
      denoTest(["--no-check", ...onWasm], {
        ...more,
        EXRP_BACKEND: "wasm",
        EXRP_MODEL_SEEDS: wasmSeeds,
        EXRP_MODEL_RECORDINGS: "2",
        EXRP_DURABLE_SEEDS: "4",
      }),
  };
  const examples: Job = {
    name: "examples in docstrings, docs/ and README.md",
    run: async () => testExamples(await listDocumented(), "--no-check"),
  };
  const isFirst = (job: Job): boolean => first.includes(job.name);
  return [
    ...tests.filter(isFirst),
    examples,
    wasm,
    ...tests.filter((job) => !isFirst(job)),
  ];
}
