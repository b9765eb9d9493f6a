/**
 * The examples of pages and docstrings, as `deno test --doc` runs them, with the comments behind `console.log` as checks.
 *
 * `console.log(batch.size); // 256` must print `256`. Each file is copied to a temporary folder line by line, and the checks are
 * put into the copy. So a failure names the line of the file. Of code, the copy has the examples alone.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { inRepository } from "./_repository.ts";

const printed = new URL("./_printed.ts", import.meta.url).href;

/** Of a line: the end of a statement, and the comment behind. */
const ending = /^(.*[;}]) \/\/ (.*)$/;

/** An example. */
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

/** Code with its docstrings' examples alone, each on the line where it was. */
function onlyExamples(code: string): string {
  let inside = false;
  return code.split("\n").map((line) => {
    const [, text = ""] = /^\s*\* ?(.*)$/.exec(line) ?? [];
    const wasInside = inside;
    if (text === "```ts") inside = true;
    if (text === "```") inside = false;
    return inside || wasInside ? text : "";
  }).join("\n");
}

/** The text of a page or of code with checks in its examples; they import files from where the original lies. */
export function checkExamples(path: string, text: string): string {
  const here = pathToFileURL(inRepository(path));
  const page = path.endsWith(".ts") ? onlyExamples(text) : text;
  return page.replace(example, (block, code: string) => {
    if (!code.includes("console.log(")) return block;
    const lines = checkPrinted(code.split("\n")).join("\n");
    return `\`\`\`ts\nimport * as printed$ from "${printed}"; ${lines}\`\`\``;
  }).replace(/ from "(\.\.?\/[^"]+)"/g, (_, file) => ` from "${new URL(file, here)}"`);
}

/** Copies the files that have examples into a folder; the paths of the copies. */
export async function copyExamples(folder: string, files: readonly string[]): Promise<string[]> {
  const copies: string[] = [];
  for (const path of files) {
    const text = checkExamples(path, await Deno.readTextFile(inRepository(path)));
    if (!text.includes("```ts\n")) continue;
    const copy = join(folder, path.endsWith(".ts") ? `${path}.md` : path);
    await Deno.mkdir(dirname(copy), { recursive: true });
    await Deno.writeTextFile(copy, text);
    copies.push(copy);
  }
  return copies;
}
