/** A tool's options are read, and an unknown option is an error that names the right one. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

async function run(tool: string, ...args: string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", inRepository("tools", tool), ...args],
  }).output();
  return { code, text: new TextDecoder().decode(code === 0 ? stdout : stderr) };
}

const wrong: [string, string[], string][] = [
  ["test.ts", ["--onyl=native"], "unknown option --onyl. Did you mean --only?"],
  ["test.ts", ["native"], "unknown option native. The options are --all, --only, --help."],
  ["test.ts", ["--only=nativ"], "--only=nativ is unknown: it is checks or native"],
  ["test.ts", ["--only"], "argument missing"],
  ["test.ts", ["--all", "--only=checks"], "take one of them"],
  ["build_kernel.ts", ["--forse"], "unknown option --forse. Did you mean --force?"],
  ["prebuild.ts", ["--onli=x"], "unknown option --onli. Did you mean --only?"],
  ["generate_symbols.ts", ["-c"], "unknown option -c. Did you mean --check?"],
];
for (const [tool, args, words] of wrong) {
  Deno.test(`tools/${tool} ${args.join(" ")} ends with 2 and says what is wrong`, async () => {
    const { code, text } = await run(tool, ...args);
    assertEquals(code, 2);
    assertStringIncludes(text, words);
  });
}

for (const tool of ["test.ts", "build_kernel.ts", "generate_symbols.ts"]) {
  Deno.test(`tools/${tool} --help prints the options and does nothing`, async () => {
    const { code, text } = await run(tool, "--help");
    assertEquals(code, 0);
    assertStringIncludes(text, "--help");
  });
}
