/** Examples of the documentation are run, and what they print is compared with the comments behind it. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { checkPrinted, readExamples } from "../../tools/_doc_examples.ts";
import { says } from "../../tools/_printed.ts";
import { testExamples } from "../../tools/_typescript_tests.ts";
import { inRepository } from "../../tools/_repository.ts";

Deno.test("a comment says what was printed, whatever its blanks, and may say more after a colon", () => {
  assertEquals(says("[256, 8, 4]", "[ 256, 8, 4 ]"), true);
  assertEquals(says("3: one for each step", "3"), true);
  assertEquals(says("such as 0.51", "0.76"), true);
  assertEquals(says("[256, 8]", "[ 256, 8, 4 ]"), false);
  assertEquals(says("31", "3"), false);
  assertEquals(says("3", "31"), false);
});

Deno.test("every statement that prints is checked, over several lines and in a loop too; no line moves", () => {
  const lines = [
    "const a = 1; // not this",
    "console.log(a); // 1",
    "console.log(a);",
    "for (const b of [1, 2]) console.log(b); // 1 2",
    "console.log(",
    "  [a, // one",
    "  ].length,",
    "); // 1",
    "a; // nor this",
  ];
  assertEquals(checkPrinted(lines), [
    "const a = 1; // not this",
    'printed$.begin(); console.log(a); printed$.check("1");',
    "printed$.begin(); console.log(a);",
    'printed$.begin(); for (const b of [1, 2]) console.log(b); printed$.check("1 2");',
    "printed$.begin(); console.log(",
    "  [a, // one",
    "  ].length,",
    '); printed$.check("1");',
    "a; // nor this",
  ]);
});

Deno.test("of code the examples alone are run, at their lines, and import from where the code lies", () => {
  const code =
    '/**\n * @example\n * ```ts\n * import { a } from "./a.ts";\n * ```\n */\nexport const b = 1;';
  const { href } = new URL("../../rate_limiters/a.ts", import.meta.url);
  const [example, ...others] = readExamples("rate_limiters/b.ts", code);
  assertEquals(others, []);
  assertEquals(example?.line, 4);
  assertEquals(example?.code.split("\n").length, 5);
  assertStringIncludes(example?.code.split("\n")[3] ?? "", `import { a } from "${href}";`);
});

Deno.test("an example fails if it prints what its comment does not say, or nothing", async () => {
  const page = "build/doc_examples_test.md";
  const examples = [
    "console.log([1, 2]); // [1, 2]",
    "console.log([1, 2]); // [1, 3]",
    "for (const a of []) console.log(a); // 1",
  ];
  await Deno.mkdir(inRepository("build"), { recursive: true });
  await Deno.writeTextFile(
    inRepository(page),
    examples.map((code) => `\`\`\`ts\n${code}\n\`\`\`\n`).join("\n"),
  );
  const { count: { passed, failed }, text } = await testExamples([page], "--no-check");
  await Deno.remove(inRepository(page));
  assertEquals({ passed, failed }, { passed: 1, failed: 2 });
  assertStringIncludes(text, "an example prints\n  [ 1, 2 ]\nbut its comment says\n  [1, 3]");
  assertStringIncludes(text, "doc_examples_test.md.6.ts:6:");
  assertStringIncludes(text, "an example prints\n  nothing\nbut its comment says\n  1");
});
