/** No file imports itself by way of others, not even its types: each can be read after those it imports. */
import { assert, assertEquals } from "../_assert.ts";
import { findCircle, importGraph, listImports, publishedParts, resolveImport } from "./_imports.ts";

Deno.test("the library, its examples and its benches have no circle of imports", async () => {
  const graph = await importGraph([...publishedParts, "examples", "bench", "tools"]);
  // The walk began where it should, and went on: an empty graph has no circles either.
  assert(graph.get("mod.ts")?.includes("replay/experience_replay.ts"));
  assert(graph.get("replay/experience_replay.ts")?.includes("schema/columns.ts"));
  assert(graph.get("tables/table.ts")?.includes("tables/table_batch.ts"));
  assertEquals(findCircle(graph), undefined);
});

Deno.test("the tests have no circle of imports", async () => {
  const graph = await importGraph([...publishedParts, "examples", "bench", "tools", "tests"]);
  assertEquals(findCircle(graph), undefined);
});

Deno.test("findCircle() finds a circle of types only", () => {
  const files: Record<string, string> = {
    "mod.ts": 'export * from "./a/first.ts";',
    "a/first.ts": 'import { b } from "../b/second.ts";\nimport { d } from "./leaf.ts";',
    "a/leaf.ts": "",
    "b/second.ts": 'import type { C } from "./third.ts";',
    "b/third.ts": 'import type {\n  First,\n} from "../a/first.ts";',
  };
  const graphOf = (texts: Record<string, string>): Map<string, string[]> =>
    new Map(
      Object.entries(texts).map(([file, text]) => [
        file,
        listImports(text).map((specifier) => resolveImport(file, specifier) ?? ""),
      ]),
    );
  assertEquals(findCircle(graphOf(files)), [
    "a/first.ts",
    "b/second.ts",
    "b/third.ts",
    "a/first.ts",
  ]);
  assertEquals(findCircle(graphOf({ ...files, "b/third.ts": "" })), undefined);
  assertEquals(findCircle(graphOf({ "a.ts": 'import "./a.ts";' })), ["a.ts", "a.ts"]);
});
