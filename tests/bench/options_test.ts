/** The benches' options: what isn't one is named before anything is measured, and parts of a run are not saved. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { optionsTrouble } from "../../bench/_results.ts";

Deno.test("optionsTrouble() names an option that there is not, and those that there are", () => {
  assertEquals(
    optionsTrouble(["--quick", "--help"], ["quick", "save"]),
    "unknown option --help; there are --quick, --save",
  );
  assertEquals(optionsTrouble(["zzz"], ["save"]), "unknown option zzz; there is --save");
  assertEquals(optionsTrouble(["--quicker"], []), "unknown option --quicker; there is none");
});

Deno.test("optionsTrouble() refuses to save a part of a run", () => {
  const names = ["quick", "filter", "save"];
  for (const partial of ["--quick", "--filter=uniform", "--filter"]) {
    for (const args of [["--save", partial], [partial, "--save"]]) {
      assertStringIncludes(
        optionsTrouble(args, names) ?? "",
        `--save was asked for with ${partial}:`,
      );
    }
  }
  for (const args of [[], ["--save"], ["--quick", "--filter=save"]]) {
    assertEquals(optionsTrouble(args, names), undefined);
  }
});

for (const bench of ["check", "floors", "limit", "own", "paper"]) {
  Deno.test(`bench:${bench} ends at once where it has no such option`, async () => {
    const path = new URL(`../../bench/${bench}.ts`, import.meta.url).href;
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", path, "--help"],
    }).output();
    assertEquals(code, 2);
    assertStringIncludes(new TextDecoder().decode(stderr), "unknown option --help; there ");
  });
}
