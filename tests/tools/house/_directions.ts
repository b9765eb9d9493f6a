/** The rules of imports, and breaches of them. */
import type { House, Rule, Source } from "./_house.ts";
import { findCircle } from "./_imports.ts";
import * as plan from "./_plan.ts";

/** The part that an import leads to; of a name of the public face the file that is its door. */
function partOf(specifier: string, target: string): string {
  return specifier.startsWith("@") ? target : target.split("/")[0] ?? "";
}

/** What the parts of the library import of each other, against `plan.parts` and `plan.narrow`. */
function* partFaults(sources: readonly Source[], house: House): Generator<string> {
  const rows = Object.keys(plan.parts);
  for (const part of house.parts) {
    if (!rows.includes(part)) {
      yield `deno.json publishes ${part}, and _plan.ts does not say what it may import`;
    }
  }
  for (const row of [...rows, ...Object.keys(plan.narrow)]) {
    if (!house.hasPart(row)) yield `_plan.ts says what ${row} may import, which is not there`;
  }
  const doors = [...house.doors.values()];
  for (const source of sources.filter(({ isTypeScript }) => isTypeScript)) {
    const narrow = Object.keys(plan.narrow).find((room) => source.path.startsWith(`${room}/`));
    const allowed = plan.narrow[narrow ?? ""] ?? plan.parts[source.part];
    if (allowed === undefined) continue;
    for (const { specifier, target } of house.importsOf(source)) {
      if (target === undefined) continue;
      const part = partOf(specifier, target);
      if (part === source.part || allowed.includes(part)) continue;
      if (!(allowed.includes("doors") && doors.includes(part))) yield `${source.path} → ${target}`;
    }
  }
}

/** What the rooms of a part import of each other, against `plan.rooms`. */
function* roomFaults(sources: readonly Source[], house: House): Generator<string> {
  for (const [part, rooms] of Object.entries(plan.rooms)) {
    const order = Object.keys(rooms);
    for (const [k, room] of order.entries()) {
      if (!house.hasPart(`${part}/${room}`)) {
        yield `_plan.ts has a room ${part}/${room}, which is not there`;
      }
      const wrong = rooms[room]?.filter((other) => order.indexOf(other) <= k) ?? [];
      if (wrong.length > 0) yield `_plan.ts: ${wrong.join(", ")} is not below ${part}/${room}`;
    }
    const roomOf = (path: string): string | undefined => {
      const [first, room] = path.split("/");
      return first === part ? room : undefined;
    };
    for (const source of sources.filter((one) => one.part === part && one.isTypeScript)) {
      const room = roomOf(source.path) ?? "";
      if (rooms[room] === undefined) yield `${source.path} is in no room of _plan.ts`;
      for (const target of house.targetsOf(source.path)) {
        const other = roomOf(target);
        if (other === undefined || other === room || rooms[room]?.includes(other)) continue;
        yield `${source.path} → ${target}`;
      }
    }
  }
}

/** What the floors of a part import of each other, against `plan.floors`. */
function* floorFaults(sources: readonly Source[], house: House): Generator<string> {
  for (const [part, floors] of Object.entries(plan.floors)) {
    const floorOf = (path: string): number =>
      floors.findIndex((names) => names.some((name) => path.startsWith(`${part}/${name}`)));
    for (const name of floors.flat()) {
      if (!house.sources.some(({ path }) => path.startsWith(`${part}/${name}`))) {
        yield `_plan.ts has a floor for ${part}/${name}, which is not there`;
      }
    }
    for (const source of sources.filter((one) => one.part === part)) {
      const floor = floorOf(source.path);
      if (source.path.endsWith(".txt")) continue;
      if (floor < 0) yield `${source.path} is on no floor of _plan.ts`;
      for (const target of house.targetsOf(source.path)) {
        if (target.startsWith(`${part}/`) && floorOf(target) < floor) {
          yield `${source.path} → ${target} runs up`;
        }
      }
    }
  }
}

/** Whether a file is a rule's: of `selectors/` or `eviction/`. */
function isOfRules(path: string): boolean {
  return path.startsWith("selectors/") || path.startsWith("eviction/");
}

/** What C++ of the kernel and of rules knows of rules. */
function* ruleFaults(sources: readonly Source[], house: House): Generator<string> {
  for (const { path, isCpp, code } of sources) {
    if (!isCpp || path === plan.rulesFile) continue;
    const targets = house.targetsOf(path);
    if (path.startsWith("kernel/")) {
      yield* targets.filter((to) => !to.startsWith("kernel/")).map((to) => `${path} → ${to}`);
      if (path === "kernel/exrp.h") continue;
      for (const [name] of code.matchAll(/\bEXRP_(SELECTOR|EVICTION)_\w+/g)) {
        yield `${path} names ${name}`;
      }
    } else if (isOfRules(path)) {
      for (const target of targets) {
        if (plan.seenByRules.some((folder) => target.startsWith(folder))) continue;
        // A helper, which is no rule and so has no .ts, is known to the rules beside it.
        const isRule = house.has(target.replace(/\.hpp$/, ".ts"));
        if (isRule || target.split("/")[0] !== path.split("/")[0]) yield `${path} → ${target}`;
      }
    }
  }
}

const planted = `import "@exrp/replay";`;

export const rules: readonly Rule[] = [
  {
    name: "No file imports itself by way of others, not even its types.",
    find: (sources, house) => {
      const targetsOf = (path: string): string[] => house.targetsOf(path);
      const circle = findCircle(sources.map(({ path }) => path), targetsOf);
      return circle === undefined ? [] : [circle.join(" → ")];
    },
    planted: [
      [{ "wire/keys.ts": 'import "./keys.ts";' }, "wire/keys.ts → wire/keys.ts"],
      [
        {
          "tables/a.ts": 'import { b } from "./b.ts";\nimport { d } from "./leaf.ts";',
          "tables/b.ts": 'export type { C } from "../server/c.ts";',
          "server/c.ts": 'import type {\n  A,\n} from "../tables/a.ts";',
          "tables/leaf.ts": "",
        },
        "tables/a.ts → tables/b.ts → server/c.ts → tables/a.ts",
      ],
      [
        { "tests/a.ts": 'const { b } = await import("./b.ts");', "tests/b.ts": "import './a.ts';" },
        "tests/a.ts → tests/b.ts → tests/a.ts",
      ],
      [
        {
          "kernel/a.hpp": '#include "eviction/b.hpp"',
          "eviction/b.hpp": '#include "kernel/a.hpp"',
        },
        "kernel/a.hpp → eviction/b.hpp → kernel/a.hpp",
      ],
      [{ // a diamond
        "a.ts": 'import "./b.ts"; import "./c.ts"; // import "./a.ts";',
        "b.ts": 'import "./d.ts"; /* import "./a.ts" */',
        "c.ts": 'import "./d.ts";',
        "d.ts": "",
      }],
    ],
  },
  {
    name: "Imports go one way.",
    find: (sources, house) => [
      ...partFaults(sources, house),
      ...roomFaults(sources, house),
      ...floorFaults(sources, house),
    ],
    planted: [
      [{ "base/bytes.ts": 'import "../ffi/library.ts";' }, "base/bytes.ts → ffi/library.ts"],
      [
        { "wire/keys.ts": 'import "../tables/kernel_tables.ts";' },
        "wire/keys.ts → tables/kernel_tables.ts",
      ],
      [{ "rate_limiters/queue.ts": planted }, "rate_limiters/queue.ts → mod.ts"],
      [
        { "envs/mod.ts": 'import "../tables/kernel_tables.ts";' },
        "envs/mod.ts → tables/kernel_tables.ts",
      ],
      [{ "examples/a.ts": 'import "../replay/core.ts";' }, "examples/a.ts → replay/core.ts"],
      [{ "examples/a.ts": 'import "@exrp/replay/testing";' }],
      [
        { "bench/a.ts": 'import "../tables/kernel_tables.ts";' },
        "bench/a.ts → tables/kernel_tables.ts",
      ],
      [
        { "net/http2/a.ts": 'import "../../reverb/errors.ts";' },
        "net/http2/a.ts → reverb/errors.ts",
      ],
      [
        { "net/grpc/a.ts": 'import "../../tables/kernel_tables.ts";' },
        "net/grpc/a.ts → tables/kernel_tables.ts",
      ],
      [{ "net/http2/a.ts": 'import "../grpc/b.ts";' }, "net/http2/a.ts → net/grpc/b.ts"],
      [{ "server/a.ts": "" }, "server/a.ts is in no room of _plan.ts"],
      [{ "replay/record/a.ts": 'import "../draw/b.ts";' }, "replay/record/a.ts → replay/draw/b.ts"],
      [
        { "tables/kernel_tables.ts": 'import "./tables.ts";' },
        "tables/kernel_tables.ts → tables/tables.ts runs up",
      ],
      [{ "tables/a.ts": "" }, "tables/a.ts is on no floor of _plan.ts"],
      [
        { "reverb/tensor.ts": 'import "./client.ts";' },
        "reverb/tensor.ts → reverb/client.ts runs up",
      ],
      [
        { "kernel/store/a.hpp": '#include "kernel/replay.hpp"' },
        "kernel/store/a.hpp → kernel/replay.hpp runs up",
      ],
      [{ "kernel/a.hpp": "" }, "kernel/a.hpp is on no floor of _plan.ts"],
      [
        { "deno.json": '{"exports":{},"publish":{"include":["mod.ts","robots","README.md"]}}' },
        "deno.json publishes robots, and _plan.ts does not say what it may import",
      ],
    ],
  },
  {
    name: "`net/` says no word of what it carries.",
    find: (sources) =>
      sources.filter(({ part }) => part === "net").flatMap(({ path, text }) => {
        const tables = plan.tablesOfHeaders.includes(path) ? [] : ["table"];
        const words = [...plan.carried, ...tables];
        const said = text.match(new RegExp(`\\b(?:${words.join("|")})s?\\b`, "gi")) ?? [];
        return said.map((word) => `${path} says ${word}`);
      }),
    planted: [
      [{ "net/a.ts": "/** Tells Reverb. */" }, "net/a.ts says Reverb"],
      [
        { "net/grpc/a.ts": "// An item of a table." },
        ...["net/grpc/a.ts says item", "net/grpc/a.ts says table"],
      ],
      [{ "net/http2/hpack.ts": "// the table of samplers" }, "net/http2/hpack.ts says samplers"],
      [{ "net/http2/a.ts": "f(reserved, suitable);", "server/a/b.ts": "// Reverb" }],
    ],
  },
  {
    name: "A file whose name begins with `_` serves its own folder and the folders in it.",
    find: (sources, house) =>
      sources.filter(({ part }) => part !== "tests").flatMap(({ path }) =>
        house.targetsOf(path).filter((target) => {
          const [, folder] = /^(.*)\/_[^/]*$/.exec(target) ?? [];
          return folder !== undefined && house.isLibrary(target) && !path.startsWith(`${folder}/`);
        }).map((target) => `${path} → ${target}`)
      ),
    planted: [
      [{ "tables/a.ts": 'import "../reverb/_b.ts";' }, "tables/a.ts → reverb/_b.ts"],
      [{ "tables/a.ts": 'import "./b/_c.ts";' }, "tables/a.ts → tables/b/_c.ts"],
      [{ "bench/a.ts": 'import "../server/_b.ts";' }, "bench/a.ts → server/_b.ts"],
      [
        { "eviction/a.hpp": '#include "selectors/_b.hpp"' },
        "eviction/a.hpp → selectors/_b.hpp",
      ],
      [{
        "tables/a.ts": 'import "./_b.ts";',
        "tables/b/c.ts": 'import "../_b.ts";',
        "tests/tables/a_test.ts": 'import "../../tables/_b.ts";',
        "bench/a.ts": 'import "../tools/_b.ts";',
      }],
    ],
  },
  {
    name: "The library imports no package.",
    find: (sources, house) =>
      sources.filter(({ path, isTypeScript }) => isTypeScript && house.isLibrary(path)).flatMap((
        source,
      ) =>
        house.importsOf(source).filter(({ specifier }) => {
          if (specifier.startsWith(".") || specifier.startsWith("node:")) return false;
          const known = Object.keys(plan.packages).find((name) => specifier.startsWith(name));
          return !plan.packages[known ?? ""]?.includes(source.part);
        }).map(({ specifier }) => `${source.path} → ${specifier}`)
      ),
    planted: [
      [{ "replay/a.ts": 'import "npm:lodash";' }, "replay/a.ts → npm:lodash"],
      [{ "base/a.ts": 'import "@std/assert";' }, "base/a.ts → @std/assert"],
      [{ "wire/a.ts": 'import "@bufbuild/protobuf";' }, "wire/a.ts → @bufbuild/protobuf"],
      [{
        "reverb/a.ts": 'import "@bufbuild/protobuf/codegenv2";',
        "reverb/b.ts": "/** import '@std/assert' */",
        "bench/a.ts": 'import "npm:vega";',
      }],
    ],
  },
  {
    name: "Only `ffi/` opens a library.",
    find: (sources, house) =>
      sources.filter(({ path, part, isTypeScript, code }) =>
        isTypeScript && part !== "ffi" && !plan.otherLibraries.includes(path) &&
        (house.isLibrary(path) || part === "examples" || part === "bench") &&
        /\bDeno\s*\.\s*(?:dlopen|Unsafe\w+)/.test(code)
      ).map(({ path }) => `${path} calls Deno.dlopen or Deno.Unsafe…`),
    planted: [
      [
        { "server/a.ts": "const lib = Deno\n  .dlopen(path, {});" },
        "server/a.ts calls Deno.dlopen or Deno.Unsafe…",
      ],
      [
        { "replay/a.ts": "new Deno.UnsafePointerView(at);" },
        "replay/a.ts calls Deno.dlopen or Deno.Unsafe…",
      ],
      [{ "ffi/a.ts": "Deno.dlopen(path, {});", "base/a.ts": "// Deno.dlopen()" }],
    ],
  },
  {
    name: "Only the files of the platform name Deno, Node or Bun.",
    find: (sources, house) =>
      sources.filter(({ path, isTypeScript, code }) =>
        isTypeScript && house.isLibrary(path) && !plan.platformFiles.includes(path) &&
        // The name of the symbol by which Deno shows objects is a string.
        /\b(?:Deno|process|Bun)\s*[.?\[]|\bfrom "node:/.test(
          code.replaceAll('"Deno.customInspect"', ""),
        )
      ).map(({ path }) => `${path} asks the platform itself`),
    planted: [
      [{ "tables/a.ts": "await Deno.readFile(path);" }, "tables/a.ts asks the platform itself"],
      [{ "server/a.ts": "process.exit(1);" }, "server/a.ts asks the platform itself"],
      [
        { "reverb/a.ts": 'import http2 from "node:http2";' },
        "reverb/a.ts asks the platform itself",
      ],
      [{ "replay/a.ts": 'Symbol.for("Deno.customInspect");', "bench/a.ts": "Deno.cwd();" }],
    ],
  },
  {
    name: "C++ includes are paths from the root.",
    find: (sources, house) =>
      sources.filter(({ path, isCpp }) => isCpp && house.isLibrary(path)).flatMap(({ path }) =>
        house.targetsOf(path).filter((to) => !house.has(to)).map((to) => `${path} → ${to}`)
      ),
    planted: [
      [{ "kernel/store/a.hpp": '#include "store.hpp"' }, "kernel/store/a.hpp → store.hpp"],
      [{ "kernel/a.cpp": '#include <vector>\n#include "kernel/exrp.h"' }],
    ],
  },
  {
    name: "One file of the kernel knows rules by name, and no rule knows another.",
    find: (sources, house) => [...ruleFaults(sources, house)],
    planted: [
      [{ "kernel/a.cpp": '#include "eviction/lru.hpp"' }, "kernel/a.cpp → eviction/lru.hpp"],
      [
        { "kernel/a.cpp": "if (kind == EXRP_SELECTOR_UNIFORM) return;" },
        "kernel/a.cpp names EXRP_SELECTOR_UNIFORM",
      ],
      [{ "eviction/a.hpp": '#include "eviction/lru.hpp"' }, "eviction/a.hpp → eviction/lru.hpp"],
      [{ "eviction/a.hpp": '#include "kernel/replay.hpp"' }, "eviction/a.hpp → kernel/replay.hpp"],
      [
        { "eviction/a.hpp": '#include "selectors/_age_order.hpp"' },
        "eviction/a.hpp → selectors/_age_order.hpp",
      ],
      [{
        "selectors/a.hpp": '#include "selectors/_age_order.hpp"\n#include "kernel/base/queue.hpp"',
      }],
    ],
  },
];
