/**
 * The parts depend on each other in one direction only:
 * examples, bench, testing → the public doors → replay → schema → selectors, eviction → ffi → base. Returns and stats know no other part
 * but base.
 * Within the kernel, includes run down its floors.
 */
import { assert, assertEquals } from "@std/assert";
import { exists, inRepository } from "../../tools/_repository.ts";
import {
  doorFiles,
  findCircle,
  importGraph,
  listImports,
  listPart,
  resolveImport,
  withoutComments,
} from "./_imports.ts";

/** The parts that each part may import, besides itself. */
const allowed: Record<string, readonly string[]> = {
  "mod.ts": ["replay", "schema", "selectors", "eviction", "pace", "snapshot", "base"],
  "types.ts": ["replay", "schema", "pace"],
  replay: ["schema", "selectors", "eviction", "pace", "stats", "snapshot", "ffi", "base"],
  schema: ["selectors", "eviction", "pace", "ffi", "base"],
  // A native rule carries its number from the generated constants.
  selectors: ["ffi", "base"],
  eviction: ["ffi", "base"],
  pace: ["base"],
  returns: ["base"],
  // Small environments: of the library they know its random numbers only.
  envs: ["selectors", "base"],
  // What stats() returns, and its picture: pure data.
  stats: ["base"],
  // The kernels that a release carries. A clone that was built has the one of WebAssembly only.
  ffi: ["base", "prebuilt"],
  base: [],
  // The bytes, files and streams of snapshots, whatever they are of.
  snapshot: ["ffi", "base"],
  // Tensors and samples, which the kernel packs and unpacks.
  wire: ["ffi", "base"],
  // Reverb's messages, and what speaks them.
  reverb: ["wire", "pace", "ffi", "base"],
  // Tables that many clients write to and sample from, in the kernel.
  tables: ["reverb", "wire", "selectors", "pace", "snapshot", "ffi", "base"],
  // The server of Reverb's protocol; HTTP/2 and gRPC in it know nothing of tables.
  server: ["tables", "reverb", "selectors", "pace", "snapshot", "ffi", "base"],
  // What actors in threads of their own need stands above the library.
  actors: ["mod.ts", "replay", "schema", "base"],
  // The test kit for users' rules stands above the library. From the other parts it imports only their checks of
  // arguments.
  testing: ["mod.ts", "selectors", "eviction", "base"],
  examples: doorFiles,
  // Of the tools only what finds files and compilers, and the version for its results: what it measures goes through the public face.
  // And HTTP/2, which has no public face, and what draws the pictures of the examples.
  bench: [...doorFiles, "server", "tools", "examples", "deno.json"],
};

/** The part that a specifier in a file leads to; undefined for a package from elsewhere. */
function partOf(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return resolveImport(file, specifier);
  return resolveImport(file, specifier)?.split("/")[0];
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

/**
 * What each room of replay/ may import of the others, the highest floor first. A room of one floor knows only rooms of lower floors;
 * `core.ts` is the ground.
 */
const rooms: Record<string, readonly string[]> = {
  "experience_replay.ts": [
    ...[
      "replay_view.ts",
      "share",
      "snapshot",
      "read",
      "draw",
      "record",
      "register",
      "rules",
      "pace",
    ],
    "core.ts",
  ],
  "replay_view.ts": ["describe.ts", "stats", "record", "register", "core.ts"],
  "describe.ts": ["register", "pace", "core.ts"],
  stats: ["register", "rules", "pace", "core.ts"],
  share: ["read", "register", "core.ts"],
  snapshot: ["read", "register", "rules", "pace", "core.ts"],
  read: ["draw", "record", "rules", "core.ts"],
  draw: ["register", "rules", "pace", "core.ts"],
  record: ["rules", "core.ts"],
  register: ["rules", "core.ts"],
  rules: ["core.ts"],
  pace: ["core.ts"],
  "core.ts": [],
};

/** The room of a file of replay/; undefined for a file elsewhere. */
function roomOf(file: string): string | undefined {
  const [part, room] = file.split("/");
  return part === "replay" ? room : undefined;
}

Deno.test("the floors of replay/: a room imports only rooms below it", async () => {
  const floors = Object.keys(rooms);
  for (const [floor, room] of floors.entries()) {
    assertEquals(rooms[room]?.filter((other) => floors.indexOf(other) <= floor), [], room);
  }
  const broken: string[] = [];
  for (const [file, targets] of await importGraph(["replay"])) {
    const room = roomOf(file) ?? "";
    if (rooms[room] === undefined) broken.push(`${file} is in no room that is known`);
    for (const target of targets) {
      const other = roomOf(target);
      if (other === undefined || other === room || rooms[room]?.includes(other)) continue;
      broken.push(`${file} → ${target}`);
    }
  }
  assertEquals(broken, []);
});

/** The parts of the library, without the examples and benches. */
const parts = Object.keys(allowed).filter((part) => part !== "examples" && part !== "bench");

/** The only package: the messages of Reverb are made of it. Nothing that the everyday names need may import it. */
const messageLibrary = "@bufbuild/protobuf";
const messageParts = ["reverb", "server"];

Deno.test("the library imports no package, but for Reverb's messages", async () => {
  const broken: string[] = [];
  for (const part of parts) {
    for (const file of await listPart(part, ".ts")) {
      for (const specifier of listImports(await Deno.readTextFile(inRepository(file)))) {
        if (specifier.startsWith(messageLibrary) && messageParts.includes(part)) continue;
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

/** What asks which platform this is. `ffi/native.ts` and `ffi/embedded.ts` run on Deno only, once `ffi/library.ts` has asked. */
const platformFiles = [
  ...["base/platform.ts", "base/files.ts", "ffi/native.ts", "ffi/embedded.ts"],
  ...["server/pump/deno_sockets.ts", "server/pump/node_sockets.ts", "reverb/_http2.ts"],
];

Deno.test("only the platform's files name Deno, Node's process or Bun", async () => {
  const found = new Set<string>();
  for (const part of parts) {
    for (const file of await listPart(part, ".ts")) {
      const text = withoutComments(await Deno.readTextFile(inRepository(file)));
      // The name of the symbol by which Deno shows objects is a string.
      const code = text.replaceAll('"Deno.customInspect"', "");
      if (/\b(Deno|process|Bun)\s*[.?\[]|\bfrom "node:/.test(code)) found.add(file);
    }
  }
  assertEquals([...found].filter((file) => !platformFiles.includes(file)), []);
  assert(found.size > 0, "no file was found, so the search is wrong");
});

/**
 * The floors of the kernel, the highest first, as the beginnings of paths. A file includes files of its own floor and of those below.
 * `sockets/rules.cpp` is the only one that reaches out of the kernel.
 */
const floors: readonly (readonly string[])[] = [
  ["kernel/abi/"],
  ["kernel/sharing/"],
  ["kernel/calls/", "kernel/snapshot/"],
  ["kernel/replay/", "kernel/tables/"],
  ["kernel/batches/"],
  ["kernel/store/"],
  ["kernel/sockets/", "kernel/wire/"],
  ["kernel/base/", "kernel/exrp.h"],
];

function floorOf(file: string): number {
  return floors.findIndex((names) => names.some((name) => file.startsWith(name)));
}

/** Every C++ file of the library, with the files that it includes by a path. */
async function listIncludes(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const part of ["kernel", "selectors", "eviction"]) {
    for (const file of await listPart(part, ".hpp", ".cpp", ".h")) {
      const text = withoutComments(await Deno.readTextFile(inRepository(file)));
      const targets = text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm);
      found.set(file, [...targets].map(([, target = ""]) => target));
    }
  }
  return found;
}

Deno.test("C++ includes are paths from the root to files that are there", async () => {
  const includes = await listIncludes();
  const broken: string[] = [];
  for (const [file, targets] of includes) {
    for (const target of targets) {
      if (!includes.has(target)) broken.push(`${file} → ${target}`);
    }
  }
  assertEquals(broken, []);
});

Deno.test("C++ includes run down the kernel's floors, and in no circle", async () => {
  const includes = await listIncludes();
  const broken: string[] = [];
  for (const [file, targets] of includes) {
    if (!file.startsWith("kernel/")) continue;
    if (floorOf(file) < 0) broken.push(`${file} is on no floor`);
    for (const target of targets) {
      if (target.startsWith("kernel/") && floorOf(target) < floorOf(file)) {
        broken.push(`${file} → ${target} runs up`);
      }
    }
  }
  assertEquals(broken, []);
  assertEquals(findCircle(includes), undefined);
});

Deno.test("C++ includes: only kernel/sockets/rules.cpp knows rules by name", async () => {
  const broken: string[] = [];
  for (const [file, targets] of await listIncludes()) {
    if (!file.startsWith("kernel/") || file === "kernel/sockets/rules.cpp") continue;
    broken.push(
      ...targets.filter((target) => !target.startsWith("kernel/")).map((it) => `${file} → ${it}`),
    );
    if (file === "kernel/exrp.h") continue;
    const text = withoutComments(await Deno.readTextFile(inRepository(file)));
    for (const [name] of text.matchAll(/\bEXRP_(SELECTOR|EVICTION)_\w+/g)) {
      broken.push(`${file} names ${name}`);
    }
  }
  assertEquals(broken, []);
});

Deno.test("C++ includes: a rule sees sockets, the base and the helpers beside it, no other rule", async () => {
  const broken: string[] = [];
  for (const [file, targets] of await listIncludes()) {
    const [part = ""] = file.split("/");
    if (part === "kernel") continue;
    for (const target of targets) {
      if (target.startsWith("kernel/base/") || target.startsWith("kernel/sockets/")) continue;
      // A helper, which is no rule and so has no .ts, is known to the rules beside it.
      const isRule = await exists(inRepository(target.replace(/\.hpp$/, ".ts")));
      if (!target.startsWith(`${part}/`) || isRule) broken.push(`${file} → ${target}`);
    }
  }
  assertEquals(broken, []);
});

Deno.test("findCircle() finds a circle, and none in a diamond", () => {
  const diamond = new Map([["a", ["b", "c"]], ["b", ["d"]], ["c", ["d"]], ["d", []]]);
  assertEquals(findCircle(diamond), undefined);
  assertEquals(findCircle(new Map([...diamond, ["d", ["b"]]])), ["b", "d", "b"]);
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
