/**
 * No example ignores the handle that a call returns to go on with. A reader copies examples, and a handle that is ignored may be
 * that of an episode which is no longer there.
 *
 * @module
 */

import { assertEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

const FOLDERS = [
  "actors",
  "docs",
  "examples",
  "eviction",
  "replay",
  "returns",
  "schema",
  "selectors",
  "testing",
];
const FILES = ["README.md", "mod.ts", "types.ts"];

/** The text from an opening bracket to its closing one. */
function inBrackets(text: string, open: number): string {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")" && --depth === 0) return text.slice(open, at + 1);
  }
  return text.slice(open);
}

/** The lines of calls whose episode goes on, and whose result nothing takes. */
function ignoredHandles(text: string): number[] {
  const lines: number[] = [];
  for (const { 0: call, index } of text.matchAll(/\b\w+\.record(?:Step|Many)?\(/g)) {
    const args = inBrackets(text, index + call.length - 1);
    // A statement begins after another one, after a bracket of `for` or `if`, or after the star of a docstring.
    const before = text.slice(0, index).replace(/\n\s*\*?\s*$/, "\n").trimEnd();
    const beginsStatement = /(?:[;{}]|```ts|\)|\*\/|\/\/.*)$/.test(before) || before === "";
    const goesOn = !/\bfinalState\b/.test(args) || call.includes("recordStep");
    const isCode = args.includes(",");
    if (beginsStatement && goesOn && isCode) lines.push(text.slice(0, index).split("\n").length);
  }
  return lines;
}

async function* textsOf(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(inRepository(folder))) {
    if (isDirectory) yield* textsOf(`${folder}/${name}`);
    else if (/\.(?:ts|md)$/.test(name)) yield `${folder}/${name}`;
  }
}

Deno.test("no example ignores the handle that a recording call returns", async () => {
  const ignored: string[] = [];
  const files = [...FILES];
  for (const folder of FOLDERS) for await (const file of textsOf(folder)) files.push(file);
  for (const file of files) {
    const text = await Deno.readTextFile(inRepository(file));
    for (const line of ignoredHandles(text)) ignored.push(`${file}:${line}`);
  }
  assertEquals(ignored, []);
});

Deno.test("the look for ignored handles sees one that is ignored, and none that is kept", () => {
  const end = "{ finalState: 2 }";
  assertEquals(ignoredHandles("let e = 0;\nreplay.record(e, 1, 0, 0);"), [2]);
  assertEquals(ignoredHandles("for (;;) replay.recordMany(e, { state: [1] });"), [1]);
  assertEquals(ignoredHandles(" * let e = 0;\n * replay.recordStep(e, { state: [1] });"), [2]);
  assertEquals(ignoredHandles(`let e = 0;\nreplay.record(e, 1, 0, 0, ${end});`), []);
  assertEquals(ignoredHandles("let e = 0;\ne = replay.record(e, 1, 0, 0);"), []);
  assertEquals(ignoredHandles("return replay.record(e, 1, 0, 0);"), []);
});
