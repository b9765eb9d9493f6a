/** The reference pages have every option, every field of a batch and every error code that the code has, and no other. */
import { assertEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

const read = (path: string): Promise<string> => Deno.readTextFile(inRepository(path));

/** The part of a page between a line and a text that comes after it. */
function between(page: string, line: string, end: string): string {
  return page.split(`\n${line}\n`)[1]?.split(end)[0] ?? "";
}

/** The names in code style in the first cells of table rows. */
function firstCells(part: string): string[] {
  return part.split("\n").flatMap((line) => {
    const [, cell = ""] = /^\| ([^|]*`[^|]*) \|/.exec(line) ?? [];
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  });
}

/** The names of an interface's properties. */
function properties(code: string, name: string): string[] {
  const body = code.split(`export interface ${name}`)[1]?.split("\n}\n")[0] ?? "";
  return [...body.matchAll(/^ {2}readonly ([a-zA-Z]+)\??:/gm)].map(([, each = ""]) => each);
}

function assertSame(page: readonly string[], code: readonly string[]): void {
  assertEquals([...page].sort(), [...code].sort());
}

Deno.test("docs/options.md has every option of create and of pick, once", async () => {
  const page = await read("docs/options.md");
  assertSame(
    firstCells(between(page, "## `ExperienceReplay.create(options)`", "\n## ")),
    properties(await read("schema/create_options.ts"), "CreateOptions"),
  );
  assertSame(
    firstCells(between(page, "## `pick`", "These can't be had")),
    properties(await read("schema/pick_options.ts"), "PickOptions"),
  );
});

Deno.test("docs/concepts.md has every field of a batch, and of its n-step returns, once", async () => {
  const page = await read("docs/concepts.md");
  const code = await read("schema/batch.ts");
  const parts = properties(code, "NStepPart").filter((name) => name !== "shape");
  assertSame(
    firstCells(between(page, "## Every field of a batch", "\n## ")).map((name) =>
      name.replace("extras.name", "extras")
    ),
    [
      ...properties(code, "Batch").filter((name) => name !== "nStep"),
      ...parts.map((name) => `nStep[i].${name}`),
    ],
  );
});

Deno.test("docs/errors.md and the table of ReplayError have every code, once", async () => {
  const code = await read("base/errors.ts");
  const [, union = ""] = /export type ReplayErrorCode =([^;]+);/.exec(code) ?? [];
  const codes = [...union.matchAll(/"([a-z-]+)"/g)].map(([, each = ""]) => each);
  assertEquals(codes.length > 40, true);
  assertSame(firstCells(between(await read("docs/errors.md"), "## Codes", "\n## ")), codes);
  const docstring = code.split("\n").filter((line) => line.startsWith(" * | `"));
  assertSame(firstCells(docstring.map((line) => line.slice(3)).join("\n")), codes);
});
