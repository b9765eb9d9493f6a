/** The driver of the tests counts what `deno test` says. */
import { assertEquals } from "@std/assert";
import { countDenoTests } from "../../tools/test.ts";

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
