/** Every native rule has all that makes it one: its line in kernel/sockets/rules.cpp, its two files and its two tests. */
import { assert, assertEquals } from "@std/assert";
import { exists, inRepository } from "../../tools/_repository.ts";
import { parseAbiHeader } from "../../tools/_abi_header.ts";
import { listPart, withoutComments } from "./_imports.ts";

const { constants } = parseAbiHeader(await Deno.readTextFile(inRepository("kernel", "exrp.h")));
const list = withoutComments(
  await Deno.readTextFile(inRepository("kernel", "sockets", "rules.cpp")),
);

for (
  const [part, group, first] of [["selectors", "SELECTOR", 1], ["eviction", "EVICTION", 0]] as const
) {
  const prefix = `EXRP_${group}_`;
  const numbers = constants.filter(({ name }) => name.startsWith(prefix));

  Deno.test(`each number ${prefix}* of kernel/exrp.h follows the one before, and has a line in kernel/sockets/rules.cpp`, () => {
    assertEquals(numbers.map(({ value }) => value), numbers.map((_, k) => first + k));
    assertEquals(numbers.filter(({ name }) => !new RegExp(`\\{${name}\\b`).test(list)), []);
  });

  Deno.test(`each native rule of ${part}/ has its .hpp in kernel/sockets/rules.cpp, and a test in TypeScript and one in C++`, async () => {
    const missing: string[] = [];
    let ruleCount = 0;
    for (const file of await listPart(part, ".ts")) {
      const rule = file.replace(/\.ts$/, "");
      if (!new RegExp(`\\b${prefix}`).test(await Deno.readTextFile(inRepository(file)))) continue;
      if (!await exists(inRepository(`${rule}.hpp`))) continue;
      ruleCount++;
      if (!list.includes(`#include "${rule}.hpp"`)) {
        missing.push(`kernel/sockets/rules.cpp: ${rule}.hpp`);
      }
      for (const test of [`tests/${rule}_test.ts`, `tests/${rule}_test.cpp`]) {
        if (!await exists(inRepository(test))) missing.push(test);
      }
    }
    assertEquals(missing, []);
    assert(ruleCount > 0, `${part}/ has no native rule`);
  });
}
