/**
 * The C++ tests under sanitizers, and the kernel that the system's compiler makes: kernel/CMakeLists.txt is the second
 * way to the library, and builds both.
 *
 * @module
 */
import { inRepository, libraryFileName, listFiles, run } from "./_repository.ts";
import { capture, type Count, type Job, none, one, type Result } from "./_jobs.ts";
import { denoTest, operations } from "./_typescript_tests.ts";

/** Where CMake builds. */
export const folder = "build/cmake";

/** What is missing here for the C++ tests; undefined where nothing is. */
async function missing(): Promise<string | undefined> {
  if (!(await run(["ctest", "--version"])).success) {
    return "cmake is missing (Debian: apt-get install cmake make g++)";
  }
  for (const name of [Deno.env.get("CXX") ?? "c++", "g++", "clang++"]) {
    if ((await run([name, "--version"])).success) return undefined;
  }
  return "a C++ compiler is missing (Debian: apt-get install g++)";
}

/** Builds these targets by CMake, side by side. */
export async function buildTargets(targets: readonly string[]): Promise<Result> {
  const lack = await missing();
  if (lack !== undefined) return { count: one("failed"), text: lack };
  const parallel = String(navigator.hardwareConcurrency);
  const configured = await capture(["cmake", "-S", "kernel", "-B", folder]);
  // Compilers give way to tests that run beside them.
  const { code, text } = configured.code !== 0 ? configured : await capture(
    ["nice", "cmake", "--build", folder, "--target", ...targets, "--parallel", parallel],
  );
  const lacksSanitizer = /cannot find.*lib[atu]b?san|library.*[atu]b?san.*not found/.test(text);
  const hint = lacksSanitizer
    ? "\nThe compiler's sanitizers are missing (Fedora: dnf install libasan libubsan libtsan; g++ of Debian brings them)"
    : "";
  return { count: one(code === 0 ? "passed" : "failed"), text: text + hint };
}

/** `deno test` of some tests with the library that CMake built. */
function withThatKernel(name: string, args: readonly string[], seeds = ""): Job {
  return {
    name,
    run: () =>
      denoTest(["--no-check", "--permit-no-files", ...args], {
        EXRP_KERNEL: inRepository(...folder.split("/"), libraryFileName()),
        EXRP_MODEL_SEEDS: seeds,
        EXRP_OPERATIONS_DIR: operations,
        // More Workers than with Zig's library.
        EXRP_WORKERS: "90",
      }),
  };
}

/** The counts of `ctest`, from the line before its summary. */
export function countCTests(text: string, code: number): Count {
  const match = /(\d+)% tests passed(?:, (\d+) tests? failed)? out of (\d+)/.exec(text);
  const failed = Number(match?.[2] ?? 0);
  const count = { ...none, passed: Number(match?.[3] ?? 0) - failed, failed };
  return code !== 0 && failed === 0 || match === null ? { ...count, failed: failed + 1 } : count;
}

/** Runs the programs that were built. */
async function runPrograms(): Promise<Result> {
  const kept = (await listFiles("tests/kernel/operations", ".ops")).length;
  const fresh = (await listFiles("build/operations", ".ops")).length;
  console.log(`recordings to replay: ${fresh} of the model test, and ${kept} that are kept`);
  const parallel = String(navigator.hardwareConcurrency);
  const { code, text } = await capture(
    ["ctest", "--test-dir", folder, "--output-on-failure", "--parallel", parallel],
  );
  return { count: countCTests(text, code), text };
}

/** What is built by CMake, before anything of it can be tested. */
export const nativeBuild: Job = {
  name: "CMake's library and the C++ tests",
  run: () => buildTargets(["exrp", "exrp_tests_address", "exrp_tests_thread"]),
  isNeeded: true,
};

const model = "tests/whole/model/model_test.ts";

/** Records operations for the native replay, where the model test did not record those of Zig's library, which compares the two. */
export const nativeRecordings: Job = withThatKernel(
  "recordings of the model test",
  ["--filter", "recorded", model],
);

/**
 * The TypeScript tests that hold CMake's library to what Zig's is held to. The model test agrees only where each number
 * of each batch is the same.
 */
export function listKernelJobs(): Job[] {
  return [
    withThatKernel("the model agrees with CMake's library", ["--filter", "agrees", model], "40"),
    // The other tests of the folder look for a library, make bundles, or leave WebAssembly without memory.
    withThatKernel(
      "tests/ffi with CMake's library",
      ["symbols", "status_errors", "open_count", "wasm", "workers"].map((name) =>
        `tests/ffi/${name}_test.ts`
      ),
    ),
  ];
}

/** The C++ tests under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer. */
export const nativeTests: Job = { name: "C++ tests under ASan, UBSan and TSan", run: runPrograms };
