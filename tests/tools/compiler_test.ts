/** What the kernel's own compiler refuses: planted C++, compiled by the words that compile the kernel. And what it leaves out of the library. */
import { assertEquals } from "../_assert.ts";
import { commandsFor, hostTriple } from "../../tools/_compiler.ts";
import { builtLibraryPath, run } from "../../tools/_repository.ts";
import { findZig } from "../../tools/_zig.ts";

/** Compiles a text as a file of the kernel, and returns the errors. */
async function errorsOf(text: string): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  try {
    const { command } = await findZig(() => {});
    const { compile } = await commandsFor(hostTriple(), `${folder}/library`);
    const words = compile[0]?.slice(0, compile[0].indexOf("-o")) ?? [];
    await Deno.writeTextFile(`${folder}/planted.cpp`, text);
    const file = ["-o", `${folder}/planted.o`, `${folder}/planted.cpp`];
    const { success, stderr } = await run([...command, ...words, ...file]);
    const errors = [...stderr.matchAll(/: error: (.*)/g)].map(([, error = ""]) => error);
    return success || errors.length > 0 ? errors : [stderr];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const part = "struct Part { ~Part(); int count = 0; };\n";

Deno.test("a static object with a destructor, an exception and a type's name end the kernel's build", async () => {
  const planted = `${part}
    static Part atOnce;
    Part& atFirst() { static Part made; return made; }
    void fail() { throw 1; }
    Part* toPart(struct Whole* whole);
    struct Whole { virtual ~Whole(); };
    struct Large : Whole {};
    Large* toLarge(Whole* whole) { return dynamic_cast<Large*>(whole); }`;
  assertEquals(await errorsOf(planted), [
    "declaration requires an exit-time destructor [-Werror,-Wexit-time-destructors]",
    "declaration requires an exit-time destructor [-Werror,-Wexit-time-destructors]",
    "cannot use 'throw' with exceptions disabled",
    "use of dynamic_cast requires -frtti",
  ]);
});

Deno.test("a static object that is never destroyed does not end it", async () => {
  const text = `${part}
    Part& kept() { static Part* const made = new Part; return *made; }
    int countOf() { return kept().count; }`;
  assertEquals(await errorsOf(text), []);
});

Deno.test("the library that was built has nothing for debuggers, which would be most of it", async () => {
  const text = new TextDecoder("latin1").decode(await Deno.readFile(builtLibraryPath()));
  assertEquals([...text.matchAll(/debug_(?:info|line|str)/g)].map(([name]) => name), []);
});
