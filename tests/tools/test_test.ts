/** The driver of the tests counts what `deno test` and `ctest` say, and leaves no test file out. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { runJobs } from "../../tools/_jobs.ts";
import { countCTests } from "../../tools/_native_tests.ts";
import { inRepository, listTree } from "../../tools/_repository.ts";
import { countDenoTests, listParts, tellTrouble } from "../../tools/_typescript_tests.ts";

Deno.test("countDenoTests() adds up passed, failed and ignored tests", () => {
  const text = "noise\n\nok | 12 passed (3 steps) | 0 failed | 2 ignored (1 step) (45ms)\n";
  assertEquals(countDenoTests(text, 0), { passed: 12, failed: 0, skipped: 2 });
  assertEquals(countDenoTests("FAILED | 1 passed | 3 failed (1s)\n", 1), {
    passed: 1,
    failed: 3,
    skipped: 0,
  });
});

Deno.test("countDenoTests() counts a crash at exit after passing tests as a failure", () => {
  assertEquals(countDenoTests("ok | 5 passed | 0 failed (1s)\n", 139), {
    passed: 5,
    failed: 1,
    skipped: 0,
  });
  assertEquals(countDenoTests("error: Module not found\n", 1), {
    passed: 0,
    failed: 1,
    skipped: 0,
  });
});

Deno.test("countCTests() reads the line that ctest ends with", () => {
  const passed = "100% tests passed, 0 tests failed out of 38\n\nTotal Test time (real) = 1 sec\n";
  assertEquals(countCTests(passed, 0), { passed: 38, failed: 0, skipped: 0 });
  const failed = "95% tests passed, 2 tests failed out of 38\n";
  assertEquals(countCTests(failed, 8), { passed: 36, failed: 2, skipped: 0 });
  assertEquals(countCTests("No tests were found!!!\n", 0), { passed: 0, failed: 1, skipped: 0 });
});

Deno.test("every test file belongs to exactly one process", async () => {
  const parts = await listParts();
  for (const file of await listTree("tests", "_test.ts")) {
    const holding = parts.filter((part) => file === part || file.startsWith(`${part}/`));
    assertEquals(holding.length, 1, `${file} runs in ${holding.length} processes`);
  }
});

Deno.test("docs/internals/testing.md names every folder of tests, and every file that is in none", async () => {
  const page = await Deno.readTextFile(inRepository("docs", "internals", "testing.md"));
  for (const part of await listParts()) {
    // One row tells of tests/replay and all that is in it.
    const named = part.replace(/^(tests\/.+)\/\w+_test\.ts$|^(tests\/replay)\/.*$/, "$1$2");
    assertStringIncludes(page, `\`${named}\``);
  }
});

Deno.test("runJobs() runs as many jobs at a time as it may, and shows what failed", async () => {
  let [running, most] = [0, 0];
  const lines: string[] = [];
  const jobs = [1, 2, 3, 4].map((number) => ({
    name: `job ${number}`,
    run: async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
      const failed = number === 3 ? 1 : 0;
      return { count: { passed: number, failed, skipped: 0 }, text: `said by ${number}` };
    },
  }));
  const { count, failed } = await runJobs(jobs, 2, (line) => lines.push(line));
  assertEquals(most, 2);
  assertEquals(count, { passed: 10, failed: 1, skipped: 0 });
  assertEquals(failed, jobs.slice(2, 3));
  assertEquals(lines.filter((line) => line.startsWith("said by")), ["said by 3"]);
  assertStringIncludes(lines.join("\n"), "job 3: FAILED, 3 passed, 1 failed, 0 skipped");
});

Deno.test("ThreadSanitizer misses no thread: no header of the C++ tests includes <thread>", async () => {
  const found: string[] = [];
  for (const folder of ["kernel", "selectors", "eviction"]) {
    for (const file of await listTree(`tests/${folder}`, ".hpp")) {
      const text = await Deno.readTextFile(inRepository(file));
      if (/#\s*include\s*<(thread|future)>/.test(text)) found.push(file);
    }
  }
  assertEquals(found, []);
});

Deno.test({
  name: "the C++ tests fail where cmake is missing, and say what to install",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "-A", inRepository("tools", "test.ts"), "--only=native"],
      env: { PATH: "/nowhere" },
    }).output();
    const text = new TextDecoder().decode(stdout);
    assertEquals(code, 1);
    assertStringIncludes(text, "cmake is missing (Debian: apt-get install cmake make g++)");
    assertEquals(text.trimEnd().split("\n").at(-1), "0 passed, 1 failed, 0 skipped");
  },
});

Deno.test("tellTrouble() keeps what failed and what did not run, and the end of a crash", () => {
  const failed = "a ... ok (1ms)\nb ... ignored (0ms)\nc ... FAILED\n\n ERRORS \n\nc => why\n";
  assertEquals(tellTrouble(failed), "b ... ignored (0ms)\n\n ERRORS \n\nc => why\n");
  const passed = "a ... ok (1ms)\nb ... ignored (0ms)\n\nok | 1 passed | 0 failed | 1 ignored\n";
  assertEquals(tellTrouble(passed), "b ... ignored (0ms)");
  const crashed = "a ... ok (1ms)\nb ...\n`deno test` ended with status 139\n";
  assertEquals(tellTrouble(crashed), crashed);
});
