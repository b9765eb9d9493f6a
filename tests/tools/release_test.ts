/** What a release is made of: its workflow, its notes, and the program that compares its batches between systems. */
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";
import { builtLibraryPath, inRepository, run } from "../../tools/_repository.ts";
import { findLooseActions, lintWorkflow } from "../../tools/lint_workflows.ts";
import { notesOf } from "../../tools/release_notes.ts";

const path = ".github/workflows/release.yml";
const workflow = await Deno.readTextFile(inRepository(path));

Deno.test("the release workflow is well formed, and its actions are pinned to commits", async () => {
  assertEquals(await lintWorkflow(path, workflow), []);
  assertEquals(findLooseActions(path, workflow), []);
  const tasks = Object.keys(JSON.parse(await Deno.readTextFile(inRepository("deno.json"))).tasks);
  for (const [, task = ""] of workflow.matchAll(/deno task ([a-z][a-z:]*)/g)) {
    assert(tasks.includes(task), `the workflow runs the task ${task}`);
  }
});

Deno.test("the npm package names the repository, without which npm refuses its provenance", () => {
  assertMatch(workflow, /npm publish .*--provenance/);
  assertMatch(workflow, /deno task npm "--repository=\$GITHUB_SERVER_URL\/\$GITHUB_REPOSITORY"/);
});

Deno.test("the linter finds an unknown runner, permission, output and action", async () => {
  const changed = [
    ["runs-on: ubuntu-24.04", "runs-on: ubuntu-99.04", /label "ubuntu-99.04" is unknown/],
    ["pages: write", "page: write", /unknown permission scope "page"/],
    ["steps.smoke.outputs", "steps.smoek.outputs", /property "smoek" is not defined/],
  ] as const;
  for (const [from, to, says] of changed) {
    assert(workflow.includes(from), from);
    const [first = ""] = await lintWorkflow(path, workflow.replace(from, to));
    assertMatch(first, says);
  }
  const loose = findLooseActions("a.yml", "steps:\n  - uses: actions/checkout@v7\n");
  assertEquals(loose, ["a.yml:2: actions/checkout@v7 is not pinned to a commit"]);
});

Deno.test("the notes of a release are its section of the change log, and its tag is the version", () => {
  const log =
    "# Changes\n\n## Unreleased\n\n- c\n\n## 1.2.0\n\n- b\n\n### Fixed\n\n- d\n\n## 1.1.0\n\n## 1.0.0\n\n- a\n";
  assertEquals(notesOf("v1.2.0", "1.2.0", log), { notes: "- b\n\n### Fixed\n\n- d" });
  assertEquals(notesOf("v1.0.0", "1.0.0", log), { notes: "- a" });
  assertEquals(notesOf("v1.1.0", "1.1.0", log), {
    wrong: "the section of CHANGELOG.md for 1.1.0 is empty",
  });
  assertEquals(notesOf("v1.3.0", "1.3.0", log), {
    wrong: 'CHANGELOG.md has no section "## 1.3.0"',
  });
  assertEquals(notesOf("v2.0.0", "1.2.0", log), {
    wrong: "the tag is v2.0.0, but deno.json has version 1.2.0: the tag must be v1.2.0",
  });
});

Deno.test("the smoke test draws the same twice and on WebAssembly, and refuses another digest or backend", async () => {
  const smoke = (...args: string[]): ReturnType<typeof run> =>
    run([
      ...[Deno.execPath(), "run", "--quiet", "--no-prompt", `--allow-ffi=${builtLibraryPath()}`],
      ...["--allow-read", inRepository("tools", "smoke.mjs"), ...args],
    ], { env: { NO_COLOR: "1" } });
  const first = await smoke("native");
  assertStrictEquals(first.code, 0, first.stderr);
  const digest = first.stdout.trim().split("\n").at(-1) ?? "";
  assertMatch(digest, /^[0-9a-f]{64}$/);
  const second = await smoke("native", digest);
  assertStrictEquals(second.code, 0, second.stderr);
  const sandboxed = await run([
    ...[Deno.execPath(), "run", "--quiet", "--no-prompt", inRepository("tools", "smoke.mjs")],
    ...["wasm", digest],
  ], { env: { NO_COLOR: "1" } });
  assertStrictEquals(sandboxed.code, 0, sandboxed.stderr);
  const other = await smoke(
    "elsewhere",
    digest.replace(/^./, (first) => first === "0" ? "1" : "0"),
  );
  assertStrictEquals(other.code, 1);
  assertMatch(other.stderr, /the backend is native.*, but elsewhere was expected/);
  assertMatch(other.stderr, /the digest is .* was expected/);
});
