/** A person can read what an editor shows of a replay, a batch and a selector: the labels of `create`, and nothing that is as by default. */

import { assertStringIncludes } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

const code = `
const plain = await ExperienceReplay.create({ capacity: 9, state: float32(4) });
const frames = await ExperienceReplay.create({
  capacity: 9,
  state: uint8(84, 84),
  action: float32(2),
  extras: { logProb: float32() },
  pick: { length: 8, stack: 4, nStep: [1, 3] },
});
const leaves = await ExperienceReplay.create({
  capacity: 9,
  state: { image: uint8(84, 84), pose: [float32(3), float32()] },
  pick: { stack: { image: 4 } },
});
const ofLeaves = leaves.getBatch(1, leaves.newPickSelector(uniform()));
const selector = plain.newPickSelector(uniform());
const compact = frames.newPickView({ stack: 4, stackCompact: true, nStep: 3 });
const ofCompact = frames.getBatch(1, compact.newPickSelector(uniform()));
`;

/** An expression, and the type that TypeScript writes. */
const shown: readonly (readonly [expression: string, type: string])[] = [
  ["plain", 'ExperienceReplay<{ readonly state: Column<"float32", [4]>; }>'],
  ["selector", 'Selector<{ readonly state: Column<"float32", [4]>; }>'],
  ["plain.getBatch(1, selector)", 'Batch<{ readonly state: Column<"float32", [4]>; }>'],
  ["plain.drain()", 'Drained<{ readonly state: Column<"float32", [4]>; }>'],
  ["plain.getBatch(1, selector).shape.state", "readonly [number, number, 4]"],
  [
    "frames",
    'ExperienceReplay<{ readonly state: Column<"uint8", [84, 84]>; readonly action: Column<"float32", [2]>; readonly extras: { logProb: Column<"float32", []>; }; readonly pick: { readonly stack: 4; readonly nStep: readonly [...]; }; }>',
  ],
  [
    "compact",
    'PickView<{ readonly state: Column<"uint8", [84, 84]>; readonly action: Column<"float32", [2]>; readonly extras: { logProb: Column<"float32", []>; }; readonly pick: { readonly stack: 4; readonly stackCompact: true; readonly nStep: 3; }; }>',
  ],
  [
    "leaves",
    'ExperienceReplay<{ readonly state: { readonly image: Column<"uint8", [84, 84]>; readonly pose: readonly [Column<"float32", [3]>, Column<"float32", []>]; }; readonly pick: { readonly stack: { readonly image: 4; }; }; }>',
  ],
  ["ofLeaves.shape.state.image", "readonly [number, number, 4, 84, 84]"],
  ["ofLeaves.state.pose[1]", "Float32Array<ArrayBuffer>"],
  ["ofCompact.shape.state", "readonly [number, number, 84, 84]"],
  ["ofCompact.nStep[0].shape.nextState", "readonly [number, number, 4, 84, 84]"],
];

Deno.test("types are shown as they would be written", async () => {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  const mod = new URL("../../mod.ts", import.meta.url).href;
  const checks = shown.map(([expression], k) => `const n${k}: never = ${expression};`);
  const text = [
    `import { ExperienceReplay, float32, uint8, uniform } from "${mod}";`,
    code,
    ...checks,
  ].join("\n");
  try {
    await Deno.writeTextFile(file, text);
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", inRepository("deno.json"), file],
      env: { NO_COLOR: "1" },
    }).output();
    const errors = new TextDecoder().decode(stderr).split("TS2322");
    for (const [k, [expression, type]] of shown.entries()) {
      const error = errors.find((each) => each.includes(`const n${k}: never`)) ?? "no error";
      assertStringIncludes(error, `Type '${type}' is not assignable to type 'never'`, expression);
    }
  } finally {
    await Deno.remove(file);
  }
});
