/** A misspelt option is an error that names the right one: in the editor, where TypeScript says it, and at run time. */

import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
import { gae } from "@exrp/replay/returns";
import { assertRejects, assertStringIncludes } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

/** Each line of code has one misspelt option, the second word is what it was meant to be. */
const misspelt: readonly (readonly [code: string, meant: string])[] = [
  ["ExperienceReplay.create({ capasity: 9, capacity: 9, state: float32(2) });", "capacity"],
  ["ExperienceReplay.create({ capacity: 9, state: float32(2), sed: 1 });", "seed"],
  [
    "ExperienceReplay.create({ capacity: 9, state: float32(2), pick: { lenght: 8 } });",
    "length",
  ],
  [
    "ExperienceReplay.create({ capacity: 9, state: float32(2), pick: { stack: 2, stakPadding: 'zeros' } });",
    "stackPadding",
  ],
  ["replay.newPickView({ nstep: 3 });", "nStep"],
  ["replay.newPickView({ stack: 4, stackCompakt: true });", "stackCompact"],
  ["replay.newPickView({ where: { tags: 1 } });", "tag"],
  ["replay.newEpisode({ tags: 1 });", "tag"],
  ["replay.record(0, [1, 2], 0, 0, { finalSate: [1, 2] });", "finalState"],
  [
    "replay.recordMany(0, { state: [1, 2], action: [0], reward: [0], finalSate: [1, 2] });",
    "finalState",
  ],
  [
    "replay.recordBatch(new Float64Array(1), { state: [1, 2], action: [0], reward: [0], terminatd: [true] });",
    "terminated",
  ],
  ["replay.recordMany(0, { state: [1, 2], action: [0], reward: [0], tags: 1 });", "tag"],
  ["replay.recordFlat(0, { state: [1, 2], action: [0], reward: [0], tags: [1] });", "tag"],
  ["replay.endEpisode(0, { finalState: [1, 2], truncatd: true });", "truncated"],
  ["replay.getBatch(1, selector, { betta: 1 });", "beta"],
  ["replay.batches(1, selector, { prefech: 1 });", "prefetch"],
  ["replay.drain({ minStep: 1 });", "minSteps"],
  ["prioritized({ alhpa: 1 });", "alpha"],
  ["gae({ reward: [], value: [], nextValue: [], discount: [], seqLen: [], lamda: 1 });", "lambda"],
];

Deno.test("TypeScript names the option that a misspelt one was meant to be", async () => {
  const path = (name: string): string => new URL(`../../${name}`, import.meta.url).href;
  const lines = [
    `import { ExperienceReplay, float32, prioritized, uniform } from "${path("mod.ts")}";`,
    `import { gae } from "${path("returns/mod.ts")}";`,
    "const replay = await ExperienceReplay.create({ capacity: 9, state: float32(2) });",
    "const selector = replay.newPickSelector(uniform());",
    ...misspelt.map(([code]) => code),
  ];
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, lines.join("\n"));
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", inRepository("deno.json"), file],
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stderr);
    if (code === 0) throw new Error("the file compiles");
    for (const [line, meant] of misspelt) {
      const found = text.split("TS").find((error) => error.includes(line));
      assertStringIncludes(found ?? `no error for ${line}`, `Did you mean to write '${meant}'?`);
    }
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("at run time the error names the option that a misspelt one was meant to be", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: float32(2) });
  const selector = replay.newPickSelector(uniform());
  const names = ["replay", "selector", "ExperienceReplay", "float32", "prioritized", "gae"];
  for (const [code, meant] of misspelt) {
    const run = new Function(...names, `return ${code}`);
    await assertRejects(
      async () => await run(replay, selector, ExperienceReplay, float32, prioritized, gae),
      TypeError,
      `did you mean ${meant}?`,
    );
  }
});
