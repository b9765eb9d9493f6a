/**
 * The house keeps every rule of CONTRIBUTING that a text can break, and a planted breach of each is found. What may import what stands in
 * `_plan.ts`; the rules of imports in `_directions.ts`, of files in `_files.ts`, of C++ in `_kernel.ts`.
 */
import { assert, assertEquals } from "../../_assert.ts";
import { rules as directions } from "./_directions.ts";
import { rules as files } from "./_files.ts";
import { house, Source } from "./_house.ts";
import { listImports, withoutComments } from "./_imports.ts";
import { rules as kernel } from "./_kernel.ts";
import { rulesFile } from "./_plan.ts";

const rules = [...directions, ...files, ...kernel];

for (const { name, find, planted } of rules) {
  Deno.test(`the house keeps: ${name}`, () => {
    assertEquals(find(house.sources, house), []);
  });

  Deno.test(`what is planted against it is found: ${name}`, () => {
    assert(planted.some(([, ...found]) => found.length > 0), "nothing is planted");
    for (const [texts, ...found] of planted) {
      const sources = Object.entries(texts).map(([path, text]) => new Source(path, text));
      assertEquals(find(sources, house.with(sources)), found, JSON.stringify(texts));
    }
  });
}

Deno.test("all of the house is seen", () => {
  for (const part of ["tables", "server", "reverb", "wire", "rate_limiters", "envs", "replay"]) {
    assert(house.parts.includes(part), part);
    assert(house.sources.some((source) => source.part === part), part);
  }
  assert(house.targetsOf("mod.ts").includes("replay/experience_replay.ts"));
  assert(house.targetsOf("tables/table.ts").includes("tables/table_batch.ts"));
  assert(house.targetsOf(rulesFile).includes("selectors/uniform.hpp"));
});

/** What is wrong with the rules as CONTRIBUTING lists them: each of ours is there, and every other names the test that checks it. */
function ruleFaults(contributing: string): string[] {
  const [section = ""] = contributing.split("## How the code reads\n")[1]?.split("\n###") ?? [];
  const bullets = section.split(/\n(?=- )/).slice(1).map((bullet) => bullet.split("\n\n")[0] ?? "");
  const names = bullets.map((bullet) => /^- \*\*([^*]+)\*\*/.exec(bullet)?.[1] ?? bullet);
  const missing = rules.map(({ name }) => name).filter((name) => !names.includes(name));
  const unchecked = names.filter((name, k) => {
    if (rules.some((rule) => rule.name === name)) return false;
    const tests = [...bullets[k]?.matchAll(/`(tests\/[\w/]+\.(?:ts|cpp))`/g) ?? []];
    return tests.length === 0 || !tests.every(([, test = ""]) => house.has(test));
  });
  return [...missing.map((name) => `missing: ${name}`), ...unchecked.map((n) => `unchecked: ${n}`)];
}

Deno.test("CONTRIBUTING has each rule, and names what checks every other", () => {
  const text = house.text("CONTRIBUTING.md");
  assertEquals(ruleFaults(text), []);
  const one = "C++ includes are paths from the root.";
  assertEquals(ruleFaults(text.replace(`**${one}**`, "**Includes are paths.**")), [
    `missing: ${one}`,
    "unchecked: Includes are paths.",
  ]);
  assertEquals(ruleFaults(text.replace("exports_test.ts", "no_test.ts")), [
    "unchecked: Each public name is in one module.",
  ]);
});

Deno.test("imports of every form are found, and none in comments", () => {
  const text =
    `import a from "./a.ts";\nexport * from './b.ts';\nimport "./c.ts";\nawait import("./d.ts");
import {
  e,
} from "./e.ts";
// import f from "./f.ts";
/* from "./g.ts" */ import type { H } from "@exrp/replay/testing"; import i from "node:path";`;
  assertEquals(
    listImports("x/y.ts", withoutComments(text), house.doors).map(({ target }) => target),
    ["x/a.ts", "x/b.ts", "x/c.ts", "x/d.ts", "x/e.ts", "testing/mod.ts", undefined],
  );
});
