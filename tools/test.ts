/**
 * Runs what can be wrong, and ends with one line: `N passed, N failed, N skipped`. `--help` says what there is.
 *
 * @module
 */
import { readArguments } from "./_arguments.ts";
import { add, type Count, inWords, type Job, none, one, program, runJobs } from "./_jobs.ts";
import { listKernelJobs, nativeBuild, nativeRecordings, nativeTests } from "./_native_tests.ts";
import { readTree } from "./_processes.ts";
import { exists, seconds } from "./_repository.ts";
import { leftOut, listTypeScriptJobs, operations, pinned, typesJob } from "./_typescript_tests.ts";

const usage = `deno task test [OPTION]

Builds the kernel, then runs the checks, the TypeScript tests and the examples of the documentation. It leaves out what takes long, and
says what that is.

  --all            leaves out nothing, and makes the docs site: what CI does
  --only=checks    only format, lint, types, generated symbols and the package: \`deno task check\`
  --only=native    only the C++ tests under ASan, UBSan and TSan, and the kernel that CMake builds: \`deno task test:native\`
  --help           prints this`;

function deno(name: string, ...args: string[]): Job {
  return program(name, [Deno.execPath(), ...args]);
}

/** The file behind each export of the package. */
function rooms(): string[] {
  const { exports } = JSON.parse(Deno.readTextFileSync(new URL("../deno.json", import.meta.url)));
  return Object.values<string>(exports);
}

const checks: readonly Job[] = [
  deno("format", "fmt", "--check", "--quiet"),
  deno("lint", "lint", "--quiet"),
  typesJob,
  deno(
    "generated symbols",
    ...["run", "--quiet", "--allow-read", "--allow-env", "--allow-run"],
    ...["tools/generate_symbols.ts", "--check"],
  ),
  deno(
    "generated messages",
    ...["run", "--quiet", "--allow-read", "--allow-write", "--allow-env", "--allow-run"],
    ...["tools/generate_messages.ts", "--check"],
  ),
  deno("workflows", "run", "--quiet", pinned, "--allow-read", "tools/lint_workflows.ts"),
  deno("documentation", "doc", "--lint", "--quiet", ...rooms()),
];

/** What holds for a package: tests/package checks the same, but takes long. */
const packageCheck: Job = deno(
  "package",
  ...["run", "--quiet", pinned, "--allow-read", "--allow-write", "--allow-env", "--allow-run"],
  "tools/make_jsr.ts",
);

/**
 * Only CI runs it each time: it needs the Python package index where its generator was never fetched. The page in the browser, which is
 * a part of the site, needs the kernel.
 */
const site: Job = deno(
  "docs site",
  ...["run", "--quiet", "--allow-read", "--allow-write", "--allow-env", "--allow-run"],
  ...["tools/build_docs.ts", "--out=build/docs"],
);

/** Its lines are shown as they come: it takes a minute where nothing was built before. */
const kernel: Job = {
  name: "kernel",
  run: async () => {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--allow-read", "--allow-write", "--allow-env", "--allow-run"],
        new URL("./build_kernel.ts", import.meta.url).href,
        "--wasm",
      ],
      stdin: "null",
    }).spawn().status;
    return { count: one(code === 0 ? "passed" : "failed"), text: "" };
  },
  isNeeded: true,
};

/** Jobs that run side by side, after all jobs of the stages before. */
interface Stage {
  readonly name: string;
  /** Makes the jobs, once the stage begins. */
  readonly jobs: () => Promise<readonly Job[]> | readonly Job[];
  /** How many run at a time; as many as there are cores by default. */
  readonly width?: number;
}

async function typeScriptJobs(all: boolean): Promise<readonly Job[]> {
  if (await exists(operations)) await Deno.remove(operations, { recursive: true });
  await Deno.mkdir(operations, { recursive: true });
  return await listTypeScriptJobs(all);
}

const cores = navigator.hardwareConcurrency;

/** What runs where nothing else is asked for. */
const everyday: readonly Stage[] = [
  { name: "kernel and checks", jobs: () => [kernel, ...checks] },
  // Many tests wait for most of their time. What only `--all` runs works more.
  { name: "TypeScript tests", jobs: () => typeScriptJobs(false), width: 3 * cores },
];

/** What is tested once CMake has built it. */
const nativeStage: Stage = { name: "C++ tests", jobs: () => [nativeTests, ...listKernelJobs()] };

/** What `--all` runs. The C++ build is one more job beside the TypeScript tests: its compilers take what these leave idle. */
function everything(isNative: boolean): readonly Stage[] {
  const build = isNative ? [nativeBuild] : [];
  return [
    { name: "kernel and checks", jobs: () => [kernel, ...checks] },
    {
      name: isNative ? "TypeScript tests, C++ build" : "TypeScript tests",
      jobs: async () => [...build, site, ...await typeScriptJobs(true)],
      width: 2 * cores + build.length,
    },
    ...isNative ? [nativeStage] : [],
  ];
}

/** The recordings that the C++ tests repeat are of CMake's library here. */
const native: readonly Stage[] = [
  { name: "C++ build", jobs: () => [nativeBuild] },
  { name: "recordings", jobs: () => [nativeRecordings] },
  nativeStage,
];

/** Runs the stages, prints how they went, and returns what they tested. */
async function runStages(stages: readonly Stage[]): Promise<Count> {
  const summary: string[] = [];
  let total = none;
  const names: string[] = [];
  for (const [index, { name, jobs, width }] of stages.entries()) {
    console.log(`\n== ${index + 1}/${stages.length} ${name}`);
    const start = performance.now();
    const { count, failed } = await runJobs(await jobs(), width);
    const time = seconds(performance.now() - start);
    summary.push(`${name.padEnd(28)} ${time.padStart(7)}  ${inWords(count)}`);
    total = add(total, count);
    names.push(...failed.map((job) => job.name));
    if (failed.some((job) => job.isNeeded) && index + 1 < stages.length) {
      summary.push(`${stages.slice(index + 1).map((stage) => stage.name).join(", ")}: not run`);
      break;
    }
  }
  console.log(`\n${summary.join("\n")}`);
  if (names.length > 0) console.log(`failed: ${names.join("; ")}`);
  return total;
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    { all: { type: "boolean" }, only: { type: "string" } },
    usage,
  );
  if (typeof options === "number") return options;
  const { all = false, only } = options;
  if (only !== undefined && (all || only !== "checks" && only !== "native")) {
    console.error(
      all
        ? "--all and --only were given: take one of them"
        : `--only=${only} is unknown: it is checks or native`,
    );
    return 2;
  }
  const start = performance.now();
  console.log(
    `Deno ${Deno.version.deno} on ${Deno.build.target}, ${navigator.hardwareConcurrency} cores`,
  );
  const isNative = (all || only === "native") && Deno.build.os !== "windows";
  const total = await runStages([
    ...only === "checks" ? [{ name: "checks", jobs: () => [...checks, packageCheck] }] : [],
    ...only === undefined && !all ? everyday : [],
    ...all ? everything(isNative) : [],
    ...only === "native" && isNative ? native : [],
  ]);
  const took = readTree(Deno.pid)?.seconds;
  const worked = took === undefined ? "" : `, and ${seconds(1000 * took)} of processor time`;
  console.log(`all took ${seconds(performance.now() - start)}${worked}`);
  if (only === undefined && !all) {
    console.log(
      `Not run: ${leftOut}, C++ under sanitizers. \`deno task test --all\` runs all of it, in about 13 minutes.`,
    );
  }
  if (all && !isNative) {
    console.log("Not run: C++ under sanitizers, which need Linux or macOS.");
  }
  console.log(inWords(total));
  return total.failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
