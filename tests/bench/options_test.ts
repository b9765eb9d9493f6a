/** The benches' options: what isn't one is named before anything is measured, and parts of a run are not saved. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { type BenchOption, readBenchOptions } from "../../bench/_options.ts";

/** The options of a bench, and their help text. */
function read(
  args: readonly string[],
  names: readonly BenchOption[],
): [ReturnType<typeof readBenchOptions>, string] {
  const said: string[] = [];
  const { log, error } = console;
  console.log = console.error = (line: string) => void said.push(line);
  try {
    return [readBenchOptions(args, "bench:this", "Measures this.", names), said.join("\n")];
  } finally {
    Object.assign(console, { log, error });
  }
}

Deno.test("readBenchOptions() gives what was asked for, and else the whole bench", () => {
  assertEquals(read([], []), [{ quick: false, filter: "", save: false }, ""]);
  assertEquals(read(["--quick", "--filter=a=b"], ["quick", "filter"]), [
    { quick: true, filter: "a=b", save: false },
    "",
  ]);
  assertEquals(read(["--filter", "x"], ["filter"])[0], { quick: false, filter: "x", save: false });
});

Deno.test("readBenchOptions() names an option that there is not, and those that there are", () => {
  const [status, said] = read(["--quikc"], ["quick", "save"]);
  assertEquals(status, 2);
  assertEquals(
    said,
    "unknown option --quikc. Did you mean --quick? The options are --quick, --save, --help.",
  );
  assertEquals(read(["zzz"], ["save"])[0], 2);
  assertEquals(read(["--quick"], ["save"])[0], 2);
  assertEquals(read(["--filter"], ["filter"])[0], 2);
});

Deno.test("readBenchOptions() prints the usage of a bench, with its own options only", () => {
  const [status, said] = read(["--help"], ["save"]);
  assertEquals(status, 0);
  assertEquals(
    said,
    "deno task bench:this [OPTION]\n\nMeasures this.\n\n" +
      "  --save           puts the results where the documentation is made of them\n" +
      "  --help           prints this",
  );
});

Deno.test("readBenchOptions() refuses to save a part of a run", () => {
  const names = ["quick", "filter", "save"] as const;
  for (const partial of ["--quick", "--filter=uniform"]) {
    for (const args of [["--save", partial], [partial, "--save"]]) {
      const [status, said] = read(args, names);
      assertEquals(status, 2);
      assertStringIncludes(said, `--save was asked for with ${partial}.`);
    }
  }
  for (const args of [["--save"], ["--quick", "--filter=save"]]) {
    assertEquals(read(args, names)[1], "");
  }
});

for (const bench of ["check", "floors", "limit", "own", "paper", "report"]) {
  Deno.test(`bench:${bench} ends at once where it has no such option, and prints its usage`, async () => {
    const path = new URL(`../../bench/${bench}.ts`, import.meta.url).href;
    const run = async (option: string): Promise<[number, string]> => {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", path, option],
      }).output();
      return [code, new TextDecoder().decode(code === 0 ? stdout : stderr)];
    };
    const [[wrong, said], [helped, usage]] = await Promise.all([run("--halp"), run("--help")]);
    assertEquals([wrong, helped], [2, 0]);
    assertStringIncludes(said, "unknown option --halp. Did you mean --help?");
    assertStringIncludes(usage, `deno task bench:${bench} [OPTION]`);
  });
}
