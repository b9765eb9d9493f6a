/**
 * The parts depend on each other in one direction only:
 * examples, bench → mod.ts → replay → selectors, eviction, ffi → kernel; testing → mod.ts. Returns knows no other part but base.
 */
import { assertEquals } from "@std/assert";
import { exists, inRepository, listTree } from "../../tools/_repository.ts";

/** The public doors: the file behind each export of deno.json. */
const { exports } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
const ROOMS = Object.values<string>(exports).map((path) => path.replace("./", ""));

/** What each part may import besides itself. */
const allowed: Record<string, readonly string[]> = {
  "mod.ts": ["replay", "schema", "selectors", "eviction", "base"],
  replay: ["schema", "selectors", "eviction", "ffi", "base"],
  schema: ["selectors", "eviction", "ffi", "base"],
  // A native rule carries its number from the generated constants.
  selectors: ["ffi", "base"],
  eviction: ["ffi", "base"],
  returns: ["base"],
  ffi: ["base"],
  base: ["ffi"],
  // What users test their rules with stands above the library; of the other parts only their checks of arguments.
  testing: ["mod.ts", "selectors", "eviction", "base"],
  examples: ROOMS,
  // Of the tools only what finds files and compilers, and the version for its results: what it measures goes through the public face.
  bench: [...ROOMS, "tools", "deno.json"],
};

async function listPart(part: string, ...extensions: string[]): Promise<string[]> {
  if (!(await exists(inRepository(part)))) return [];
  return part.endsWith(".ts") ? [part] : await listTree(part, ...extensions);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/[^\n]*/g, "");
}

/** The specifiers of a module's imports and re-exports. */
function listImports(text: string): string[] {
  const pattern = /\b(?:from|import)\s*\(?\s*(["'])([^"'\n]+)\1/g;
  return [...withoutComments(text).matchAll(pattern)].map((match) => match[2] ?? "");
}

/** The part that a specifier in a file leads to; undefined for a package from elsewhere. */
function partOf(file: string, specifier: string): string | undefined {
  if (specifier === "@exrp/replay" || specifier.startsWith("@exrp/replay/")) {
    return exports[specifier.replace("@exrp/replay", ".")]?.replace("./", "");
  }
  if (!specifier.startsWith(".")) return undefined;
  const path = new URL(specifier, `file:///${file}`).pathname.slice(1);
  return path.split("/")[0];
}

for (const [part, others] of Object.entries(allowed)) {
  Deno.test(`${part} imports only ${["itself", ...others].join(", ")}`, async () => {
    const broken: string[] = [];
    for (const file of await listPart(part, ".ts")) {
      for (const specifier of listImports(await Deno.readTextFile(inRepository(file)))) {
        const target = partOf(file, specifier);
        if (target !== undefined && target !== part && !others.includes(target)) {
          broken.push(`${file} → ${specifier}`);
        }
      }
    }
    assertEquals(broken, []);
  });
}

Deno.test("the library imports no package", async () => {
  const broken: string[] = [];
  for (
    const part of [
      ...["mod.ts", "replay", "schema", "selectors", "eviction", "returns", "testing", "ffi"],
      "base",
    ]
  ) {
    for (const file of await listPart(part, ".ts")) {
      for (const specifier of listImports(await Deno.readTextFile(inRepository(file)))) {
        if (!specifier.startsWith(".") && !specifier.startsWith("node:")) {
          broken.push(`${file} → ${specifier}`);
        }
      }
    }
  }
  assertEquals(broken, []);
});

/** Loads the loops that move the same bytes without a replay: another library, not the kernel. */
const limitLibrary = "bench/_limit_library.ts";

Deno.test("only ffi/ calls Deno.dlopen and Deno.Unsafe", async () => {
  const broken: string[] = [];
  for (const part of Object.keys(allowed)) {
    if (part === "ffi") continue;
    for (const file of await listPart(part, ".ts")) {
      if (file === limitLibrary) continue;
      const text = withoutComments(await Deno.readTextFile(inRepository(file)));
      if (/\bDeno\s*\.\s*(dlopen|Unsafe\w+)/.test(text)) broken.push(file);
    }
  }
  assertEquals(broken, []);
});

Deno.test("C++ includes: only kernel/rules.hpp knows rules by name, and rules know no other rule", async () => {
  const broken: string[] = [];
  for (const part of ["kernel", "selectors", "eviction"]) {
    for (const file of await listPart(part, ".hpp", ".cpp", ".h")) {
      const text = withoutComments(await Deno.readTextFile(inRepository(file)));
      for (const [, target = ""] of text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) {
        if (!target.includes("/")) broken.push(`${file} → ${target}: write the path from the root`);
        const [folder = ""] = target.split("/");
        if (folder === "kernel" || file === "kernel/rules.hpp") continue;
        // A helper, which is no rule and so has no .ts, is known to the rules beside it.
        const isRule = await exists(inRepository(target.replace(/\.hpp$/, ".ts")));
        const isNeighbour = folder === part && !isRule;
        if (!isNeighbour) broken.push(`${file} → ${target}`);
      }
    }
  }
  assertEquals(broken, []);
});

Deno.test("listImports() finds imports of every form and none in comments", () => {
  const text =
    `import a from "./a.ts";\nexport * from './b.ts';\nimport "./c.ts";\nawait import("./d.ts");
import {
  e,
} from "./e.ts";
// import f from "./f.ts";
/* from "./g.ts" */ import type { H } from "@exrp/replay";`;
  assertEquals(listImports(text), [
    "./a.ts",
    "./b.ts",
    "./c.ts",
    "./d.ts",
    "./e.ts",
    "@exrp/replay",
  ]);
  assertEquals(partOf("examples/a.ts", "../replay/b.ts"), "replay");
  assertEquals(partOf("mod.ts", "./ffi/b.ts"), "ffi");
  assertEquals(partOf("examples/a.ts", "@exrp/replay"), "mod.ts");
  assertEquals(partOf("examples/a.ts", "@exrp/replay/testing"), "testing/mod.ts");
  assertEquals(partOf("examples/a.ts", "node:path"), undefined);
});
