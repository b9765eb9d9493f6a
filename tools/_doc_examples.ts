/**
 * The examples of pages and docstrings, as modules for one test file, with the comments behind `console.log` as checks.
 *
 * `console.log(batch.size); // 256` must print `256`. Each example is copied to a file of a temporary folder, at the line where it was, and the
 * checks are put into the copy. So a failure names the line of the page. `deno test --doc` gives each example an isolate of its own, which loads the
 * library again; here all share one, which takes a fifth of the time.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { inRepository } from "./_repository.ts";

const printed = new URL("./_printed.ts", import.meta.url).href;

/** Of a line: the end of a statement, and the comment behind. */
const ending = /^(.*[;}]) \/\/ (.*)$/;

/** An example as it stands in a page; behind the stars of a docstring in code. */
const example = /^```ts\n([\s\S]*?)^```$/gm;

/** The lines of an example, each statement that prints with a check of the comment behind it. */
export function checkPrinted(lines: readonly string[]): string[] {
  let inside = false;
  return lines.map((line) => {
    const starts = line.includes("console.log(");
    if (!starts && !inside) return line;
    // A call over several lines ends with the first line that closes it, such as `);`.
    inside = !/[;}]( \/\/ .*)?$/.test(line) || !starts && !/^\s*[)\]}]/.test(line);
    const [, statement, comment] = inside ? [] : ending.exec(line) ?? [];
    const checked = statement === undefined
      ? line
      : `${statement} printed$.check(${JSON.stringify(comment)});`;
    return starts ? `printed$.begin(); ${checked}` : checked;
  });
}

/** Where an example is, and what runs of it. */
export interface Example {
  /** The line of its first statement, from 1. */
  readonly line: number;
  /** A module, with the statements at the lines where they stood. */
  readonly code: string;
}

/** Code as a page: the text of its docstrings, each line where it was. */
function docstrings(code: string): string {
  return code.split("\n").map((line) => /^\s*\* ?(.*)$/.exec(line)?.[1] ?? "").join("\n");
}

/** The examples of a page or of code with checks in them; they import files from where the original lies. */
export function readExamples(path: string, text: string): Example[] {
  const here = pathToFileURL(inRepository(path));
  const page = path.endsWith(".ts") ? docstrings(text) : text;
  return [...page.matchAll(example)].map(({ 1: code = "", index }) => {
    const before = page.slice(0, index).split("\n").length;
    const lines = checkPrinted(code.split("\n")).join("\n")
      .replace(/ from "(\.\.?\/[^"]+)"/g, (_, file) => ` from "${new URL(file, here)}"`);
    const start = `${"\n".repeat(before)}import * as printed$ from "${printed}"; `;
    return { line: before + 1, code: `${start}${lines}` };
  });
}

/** Copies the examples of files into a folder; the path of the test file that runs them. */
export async function copyExamples(folder: string, files: readonly string[]): Promise<string> {
  const tests: string[] = [];
  for (const path of files) {
    for (const { line, code } of readExamples(path, await Deno.readTextFile(inRepository(path)))) {
      const copy = `${path}.${line}.ts`;
      await Deno.mkdir(dirname(join(folder, copy)), { recursive: true });
      await Deno.writeTextFile(join(folder, copy), code);
      tests.push(
        `Deno.test("${path}, line ${line}", async () => {\n  await import("./${copy}");\n});\n`,
      );
    }
  }
  const file = join(folder, "examples_test.ts");
  await Deno.writeTextFile(file, tests.join("\n"));
  return file;
}
