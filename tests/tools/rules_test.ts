/** Every native rule has all that makes it one: its line in kernel/rules/native_rules.cpp, its two files and its two tests. */
import { assert, assertEquals } from "../_assert.ts";
import { parseAbiHeader } from "../../tools/_abi_header.ts";
import { house } from "./house/_house.ts";
import { withoutComments } from "./house/_imports.ts";
import { rulesFile } from "./house/_plan.ts";

const { constants } = parseAbiHeader(house.text("kernel/exrp.h"));
const list = withoutComments(house.text(rulesFile));

for (
  const [part, group, first] of [["selectors", "SELECTOR", 1], ["eviction", "EVICTION", 0]] as const
) {
  const prefix = `EXRP_${group}_`;
  const numbers = constants.filter(({ name }) => name.startsWith(prefix));

  Deno.test(`each number ${prefix}* of kernel/exrp.h follows the one before, and has a line in ${rulesFile}`, () => {
    assertEquals(numbers.map(({ value }) => value), numbers.map((_, k) => first + k));
    assertEquals(numbers.filter(({ name }) => !new RegExp(`\\{${name}\\b`).test(list)), []);
  });

  Deno.test(`each native rule of ${part}/ has its .hpp in ${rulesFile}, and a test in TypeScript and one in C++`, () => {
    const missing: string[] = [];
    let ruleCount = 0;
    for (
      const { path, text } of house.sources.filter((one) => one.part === part && one.isTypeScript)
    ) {
      const rule = path.replace(/\.ts$/, "");
      if (!new RegExp(`\\b${prefix}`).test(text) || !house.has(`${rule}.hpp`)) continue;
      ruleCount++;
      if (!list.includes(`#include "${rule}.hpp"`)) missing.push(`${rulesFile}: ${rule}.hpp`);
      for (const test of [`tests/${rule}_test.ts`, `tests/${rule}_test.cpp`]) {
        if (!house.has(test)) missing.push(test);
      }
    }
    assertEquals(missing, []);
    assert(ruleCount > 0, `${part}/ has no native rule`);
  });
}
