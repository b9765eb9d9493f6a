/** What TypeScript says of a wrong call can be understood, and what is right compiles. */

import { assert, assertEquals, assertStringIncludes } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

/** Checks lines of code one by one; returns the error of each, or an empty text. */
async function errorsOf(lines: readonly string[]): Promise<string[]> {
  const mod = new URL("../../mod.ts", import.meta.url).href;
  const head = [
    `import { type Column, ExperienceReplay, float32, laber, mixture, uniform, prioritized } from "${mod}";`,
    "const replay = await ExperienceReplay.create({ capacity: 9, state: float32(1) });",
    "const returns = await ExperienceReplay.create({ capacity: 9, state: float32(1), pick: { nStep: [1, 3] } });",
    "const any: ExperienceReplay = replay;",
    "const selector = replay.newPickSelector(uniform());",
    "const batch = replay.getBatch(3, selector);",
  ];
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, [...head, ...lines].join("\n"));
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", inRepository("deno.json"), file],
      env: { NO_COLOR: "1" },
    }).output();
    const errors = new TextDecoder().decode(stderr).split(/(?=TS\d+ \[ERROR\])/);
    // TypeScript writes this of the file of the class, so it stands apart from the lines.
    assert(!new TextDecoder().decode(stderr).includes("against this implementation"));
    return lines.map((_, k) => {
      const place = `${file.slice(1)}:${head.length + k + 1}:`;
      return errors.filter((error) => error.includes(place)).join("\n");
    });
  } finally {
    await Deno.remove(file);
  }
}

const wrongCalls: readonly (readonly [code: string, text: string])[] = [
  ["replay.record(0, 'a', 0, 0);", "'string' is not assignable to parameter of type"],
  ["any.record(0, [0], 0, 0);", "Expected 5 arguments"],
  ["replay.setPriority(selector, batch, 'abc' as string | boolean);", "'NumberArray'"],
  ["replay.setPriority(batch, selector, [1]);", "not assignable to parameter of type 'Selector"],
  [
    "replay.setPriority(selector, [1], [1]);",
    "is missing the following properties from type 'Batch<AnySchema>'",
  ],
];

const nLists = [
  "const mutable: ExperienceReplay<{ state: Column<'float32', [1]>; pick: { nStep: [1, 3] } }> = returns;",
  "const fixed: ExperienceReplay<{ state: Column<'float32', [1]>; pick: { nStep: readonly [1, 3] } }> = mutable;",
  "const wrong: ExperienceReplay<{ state: Column<'float32', [1]>; pick: { nStep: [1, 4] } }> = returns;",
];

/** Lines, and whether each is wrong. */
const mixtures: readonly (readonly [code: string, isWrong: boolean])[] = [
  [
    "const one = returns.newPickView({ nStep: [1, 3], where: { tag: 1 } }).newPickSelector(prioritized());",
    false,
  ],
  [
    "const two = returns.newPickView({ nStep: [1, 3], where: { tag: [0, 2] } }).newPickSelector(uniform());",
    false,
  ],
  [
    "const halves = returns.newPickSelector(mixture([{ selector: one, share: 1 }, { selector: two, share: 1 }]));",
    false,
  ],
  ["const three: 3 = returns.getBatch(3, halves).nStep[1].n as 3, part = halves.parts[0];", false],
  ["const count: 2 = returns.getBatch(3, halves).nStep.length;", false],
  [
    "returns.newPickSelector(mixture([{ rule: uniform(), share: 1 }, { selector: one, share: 1 }]));",
    false,
  ],
  [
    "returns.newPickSelector(laber({ rule: mixture([{ selector: one, share: 1 }]), score: ({ nStep }) => nStep[1].reward }));",
    false,
  ],
  // The first view of `replay` has no n-step returns.
  ["const other = replay.newPickView({ nStep: [1, 3] });", false],
  [
    "replay.newPickSelector(mixture([{ selector: other.newPickSelector(uniform()), share: 1 }]));",
    true,
  ],
  [
    "other.newPickSelector(mixture([{ selector: other.newPickSelector(uniform()), share: 1 }]));",
    false,
  ],
  ["mixture([{ share: 1 }]);", true],
  ["mixture([{ selector: uniform(), share: 1 }]);", true],
];

/** The errors of all lines, in one turn of the compiler, which takes seconds. */
const checked = errorsOf([
  ...wrongCalls.map(([code]) => code),
  ...nLists,
  ...mixtures.map(([code]) => code),
]);

Deno.test("the errors of record() and setPriority() say what is needed, and nothing of an implementation", async () => {
  const errors = await checked;
  for (const [k, [code, text]] of wrongCalls.entries()) {
    assertStringIncludes(errors[k] ?? "", text, code);
  }
});

Deno.test("the n of n-step returns may be written as a list that can change", async () => {
  const errors = (await checked).slice(wrongCalls.length, wrongCalls.length + nLists.length);
  assertEquals(errors.map((error) => error !== ""), [false, false, true], errors.join("\n"));
});

Deno.test("TypeScript knows the batches of a mixture of views, and refuses one of views that differ in them", async () => {
  const errors = (await checked).slice(-mixtures.length);
  const wanted = mixtures.map(([, isWrong]) => isWrong);
  assertEquals(errors.map((error) => error !== ""), wanted, errors.join("\n"));
});
