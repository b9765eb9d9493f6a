/**
 * How long programs of a clone take that only start: one that imports the library, and one that also draws a batch, by the native kernel and
 * by WebAssembly. Each is compared with an empty module, and they take turns. The minimum counts, because other work makes single starts longer.
 *
 * Run it: `deno task bench:start`.
 *
 * @module
 */
import { join } from "node:path";
import { inRepository } from "../tools/_repository.ts";
import { benchOptions } from "./_options.ts";

const { quick } = benchOptions("bench:start", "Times programs that only start.", ["quick"]);
const TURNS = quick ? 3 : 20;

const DRAW = `import { ExperienceReplay, float32, uniform } from "@exrp/replay";
using replay = await ExperienceReplay.create({ capacity: 9, state: float32(4) });
replay.record(replay.newEpisode(), [1, 2, 3, 4], 0, 0, { finalState: [5, 6, 7, 8] });
replay.getBatch(32, replay.newPickSelector(uniform()));
console.log(replay.describe().backend.split(":")[0]);
`;
const granted = `--allow-ffi=${inRepository("zig-out", "lib")}`;

/** Programs, with their flags and what they print. */
const starts = [
  { name: "an empty module", code: "", flags: [], printed: "", ms: Infinity },
  { name: "import", code: 'import "@exrp/replay";', flags: [], printed: "", ms: Infinity },
  { name: "a batch, native", code: DRAW, flags: [granted], printed: "native\n", ms: Infinity },
  { name: "a batch, WebAssembly", code: DRAW, flags: [], printed: "wasm\n", ms: Infinity },
];

const folder = await Deno.makeTempDir();
try {
  const config = ["--config", inRepository("deno.json")];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [k, start] of starts.entries()) {
      const file = join(folder, `${k}.ts`);
      if (turn === 0) await Deno.writeTextFile(file, start.code);
      const flags = ["--quiet", "--no-check", "--no-prompt", "--cached-only", ...start.flags];
      const begin = performance.now();
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", ...config, ...flags, file],
      }).output();
      const ms = performance.now() - begin;
      const decoder = new TextDecoder();
      if (decoder.decode(stdout) !== start.printed) throw new Error(decoder.decode(stderr));
      start.ms = Math.min(start.ms, ms);
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
const [empty] = starts;
for (const { name, ms } of starts) {
  const ratio = (ms / (empty?.ms ?? NaN)).toFixed(1);
  console.log(`${name.padEnd(20)} ${ms.toFixed(0).padStart(5)} ms  ${ratio.padStart(5)} times`);
}
