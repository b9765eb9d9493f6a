/** Examples of the documentation are run, and what they print is compared with the comments behind it. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { checkExamples, checkPrinted } from "../../tools/_doc_examples.ts";
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

Deno.test("of code the examples alone are run, from where the code lies", () => {
  const code =
    '/**\n * @example\n * ```ts\n * import { a } from "./a.ts";\n * ```\n */\nexport const b = 1;';
  const { href } = new URL("../../rate_limiters/a.ts", import.meta.url);
  assertEquals(
    checkExamples("rate_limiters/b.ts", code),
    `\n\n\`\`\`ts\nimport { a } from "${href}";\n\`\`\`\n\n`,
  );
});

Deno.test("a page whose example prints what its comment does not say fails, and so does one that prints nothing", async () => {
  const page = "build/doc_examples_test.md";
  const test = async (...lines: string[]) => {
    await Deno.mkdir(inRepository("build"), { recursive: true });
    await Deno.writeTextFile(inRepository(page), ["# A page", "```ts", ...lines, "```"].join("\n"));
    const { count, text } = await testExamples([page]);
    await Deno.remove(inRepository(page));
    return [count.passed, count.failed, text] as const;
  };
  assertEquals((await test("console.log([1, 2]); // [1, 2]")).slice(0, 2), [1, 0]);
  const [, failed, text] = await test("console.log([1, 2]); // [1, 3]");
  assertEquals(failed, 1);
  assertStringIncludes(text, "an example prints\n  [ 1, 2 ]\nbut its comment says\n  [1, 3]");
  assertEquals((await test("for (const a of []) console.log(a); // 1")).slice(0, 2), [0, 1]);
});
