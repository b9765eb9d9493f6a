/** What the published modules lose, and what they keep. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { inlineNumbers, takeNumbers } from "../../tools/_inline_numbers.ts";
import ts from "npm:typescript@6.0.3";
import { leanModule, requireSameProgram } from "../../tools/_lean.ts";
import { inRepository } from "../../tools/_repository.ts";
import { listPublished } from "../../tools/_package.ts";

Deno.test("comments go, and what looks like one stays: in strings, templates and regular expressions", () => {
  const text = `// A head.
const a = "http://x /* no comment */"; // after
const b = \`// \${ /* gone */ a /* gone */ } /** none \${\`//\${b}\`} */\`;
/* gone */ const c = /[/*]\\/\\/"/.test(b) ? 4 / 2 / 1 : 3;
const d = a.replace(/\\/\\*\\*/g, '//"'); /** gone, too */
`;
  assertStrictEquals(
    leanModule("a.ts", text),
    `const a="http://x /* no comment */";
const b=\`// \${a} /** none \${\`//\${b}\`} */\`;
const c= /[/*]\\/\\/"/.test(b)?4/2/1:3;
const d=a.replace(/\\/\\*\\*/g,'//"');
`,
  );
});

Deno.test("tokens that would grow together keep a space, and each statement keeps its line", () => {
  const text = `let i = 1, j = 2;
const k = i + +j - -i + ++j - --i;
const map: Map<string, Array<Set<number>>> = new Map<string, never>();
type Or<T = Map<string, string>> = typeof i extends infer U ? U : T;
const halves = j / /2/.exec("2")!.index, e = 1.5.toFixed(), h = 1 .toFixed();
function* turns() {
  if (i in [j]) return void 0;
  else yield* [i,];
  for (;;);
  do { i++; } while (i < 3);
}
class Open { static readonly #a = 1; get b() { return Open.#a; } async *[Symbol.asyncIterator]() {} }
const f = async (x: unknown) => await x, g = (a: { b: 1; }) => ({ a, });
`;
  const lean = leanModule("a.ts", text);
  assertStrictEquals(
    lean,
    `let i=1,j=2;
const k=i+ +j- -i+ ++j- --i;
const map:Map<string,Array<Set<number>>> =new Map<string,never>();
type Or<T=Map<string,string>> =typeof i extends infer U?U:T;
const halves=j/ /2/.exec("2")!.index,e=1.5.toFixed(),h=1 .toFixed();
function*turns(){if(i in[j])return void 0;
else yield*[i,];
for(;;);
do{i++}while(i<3)}
class Open{static readonly#a=1;get b(){return Open.#a}async*[Symbol.asyncIterator](){}}
const f=async(x:unknown)=>await x,g=(a:{b:1})=>({a});
`,
  );
});

Deno.test("documentation stays at public declarations alone, and comments that tools read stay", () => {
  const text = `/**
 * What it is.
 *
 * @module
 */
/** Of the import. */
import { a } from "./a.ts";

/** Hidden. */
const hidden = 1;

/**
 * Shown.
 *
 * @example
 * \`\`\`ts
 * if (a) {
 *   b();
 * }
 * \`\`\`
 */
// A word to the authors.
export class Shown {
  /** Hidden. */
  #x = 1;
  /** Hidden. */
  private y = 2;
  /** Shown: a. */
  a(): void {
    /** Hidden. */
    this.#x = /*@__PURE__*/ f();
    // @ts-ignore: one file only.
    g();
  }
  /**
   * * Shown, as a list.
   */
  b = 1;
}
`;
  const line = text.split("\n").findIndex((each) => each.startsWith("export class"));
  const declarations = [[line, 0]] as const;
  assertStrictEquals(
    leanModule("a.ts", text, { declarations, ofModule: true }),
    `/**
What it is.

@module
*/
import{a}from"./a.ts";
const hidden=1;
/**
* Shown.
*
* @example
* \`\`\`ts
* if (a) {
*   b();
* }
* \`\`\`
*/
export class Shown{#x=1;
private y=2;
/** Shown: a. */
a():void{this.#x=/*@__PURE__*/f();
// @ts-ignore: one file only.
g()}
/**
* * Shown, as a list.
*/
b=1}
`,
  );
  assert(!leanModule("a.ts", text).includes("/** "));
});

Deno.test("another program is refused", () => {
  requireSameProgram("a.ts", "f(1, 2,);\n/** A. */ g( );", "f(1,2);g()");
  for (
    const [one, other] of [
      ["f(1);", "f(2);"],
      ["f(- -a)", "f(--a)"],
      ["while (a);\nb();", "while (a)\nb();"],
      ["a\n++b", "a++\nb"],
      ["[1, , 2]", "[1, 2]"],
      ["return_(1)", "return _(1)"],
      ["`a b`", "`ab`"],
      ["f();", "f();g();"],
    ] as const
  ) {
    assertThrows(() => requireSameProgram("a.ts", one, other), Error, "another program", one);
  }
});

/** What an editor shows of each documented node: its text, and its tags with theirs. */
function shownByEditors(name: string, text: string): string[] {
  const shown: string[] = [];
  const textOf = (comment: Parameters<typeof ts.getTextOfJSDocComment>[0]): string =>
    ts.getTextOfJSDocComment(comment) ?? "";
  const visit = (node: ts.Node): void => {
    for (const doc of ts.getJSDocCommentsAndTags(node)) {
      if (!ts.isJSDoc(doc) || doc.parent !== node) continue;
      const tags = doc.tags?.map(({ tagName, comment }) => `@${tagName.text} ${textOf(comment)}`);
      shown.push([textOf(doc.comment), ...tags ?? []].join("\n"));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true));
  return shown;
}

Deno.test("each module becomes lean, a lean one stays as it is, and editors show the same documentation", async () => {
  const files = (await listPublished()).filter((file) =>
    file.endsWith(".ts") && !file.startsWith("prebuilt/")
  );
  const again: string[] = [];
  let count = 0;
  for (const file of files) {
    const text = await Deno.readTextFile(inRepository(file));
    const lean = leanModule(file, text);
    if (leanModule(file, lean) !== lean) again.push(file);
    const before = new Set(shownByEditors(file, text));
    const after = shownByEditors(
      file,
      leanModule(file, text, { declarations: "all", ofModule: true }),
    );
    for (const each of after) assert(before.has(each), `${file}: ${each}`);
    count += after.length;
  }
  assertEquals(again, []);
  assert(files.length > 200 && count > 3000, `${files.length} files, ${count} texts`);
});

Deno.test("numbers of the kernel's header are written where they are used, and nothing else changes", () => {
  const header = `export const ONE = 1;
export const symbols = { ONE: 3 };
export const LEAST = -1, OTHER = 2;
export const NONE = -1;
export type Kernel = number;
`;
  const { numbers, rest } = takeNumbers("symbols.ts", header);
  assertEquals([...numbers], [["ONE", "1"], ["NONE", "-1"]]);
  assertStrictEquals(
    rest,
    `
export const symbols = { ONE: 3 };
export const LEAST = -1, OTHER = 2;
export type Kernel = number;
`,
  );
  const inline = (text: string): string =>
    inlineNumbers("a.ts", text, numbers, (from) => from === "./symbols.ts");
  assertStrictEquals(
    inline(`import { ONE } from "./symbols.ts";
import { type Kernel, NONE as none, symbols } from "./symbols.ts";
import { NONE } from "./other.ts";
import * as abi from "./symbols.ts";
const a = { ONE, none: -none, [ONE]: symbols.ONE, ONE: NONE };
switch (f(...[ONE, abi.NONE])) { case ONE: return \`\${ONE} ONE\` + "ONE" + a.ONE + a.abi.ONE; }
const g = (kernel: Kernel = ONE) => ONE;
`),
    `
import {type Kernel,symbols} from "./symbols.ts";
import { NONE } from "./other.ts";
const a = { ONE:1, none: -(-1), [1]: symbols.ONE, ONE: NONE };
switch (f(...[1, (-1)])) { case 1: return \`\${1} ONE\` + "ONE" + a.ONE + a.abi.ONE; }
const g = (kernel: Kernel = 1) => 1;
`,
  );
  const types = `import * as abi from "./symbols.ts";\nlet a: abi.Kernel = 1;\n`;
  assertStrictEquals(inline(types), types);
  for (const use of ["export { ONE };", "let a: typeof ONE;", "function f(ONE) {}"]) {
    assertThrows(
      () => inline(`import { ONE } from "./symbols.ts";\n${use}`),
      Error,
      "a.ts needs the name of ONE",
      use,
    );
  }
});
