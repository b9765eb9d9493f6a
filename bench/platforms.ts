/**
 * WebAssembly in Node and Bun beside Deno: each has a process with the same npm package, and they take turns. Prints the table of
 * docs/internals/webassembly.md, and exits with 1 where Node takes more than 1.3 times as long as Deno.
 *
 * Run it: `deno task bench:platforms`.
 *
 * @module
 */
import { join } from "node:path";
import { makeNpmPackage } from "../tools/make_npm.ts";
import { inRepository, run } from "../tools/_repository.ts";
import { installRuntimes } from "../tools/_runtimes.ts";
import { calls } from "./_backend_calls.ts";
import { Side } from "./_side.ts";

const ROUNDS = 200;
/** The most that Node may take, in the time that Deno takes. */
const RATIO_MAX = 1.3;

const folder = inRepository("build", "platforms");

/** A process of a platform. */
class Platform extends Side {
  /** The smallest time of each call, in µs. */
  readonly best: number[] = calls.map(() => Infinity);

  constructor(readonly name: string, ...command: readonly [string, ...string[]]) {
    super(folder, command);
  }

  async round(): Promise<void> {
    const times: readonly number[] = JSON.parse(await this.ask("go"));
    for (const [row, time] of times.entries()) {
      this.best[row] = Math.min(this.best[row] ?? Infinity, time);
    }
  }
}

const runtimes = await installRuntimes();
if (typeof runtimes === "string") {
  console.error(runtimes);
  Deno.exit(2);
}
const { node20, node22, node24, bun, esbuild } = runtimes.path;
await makeNpmPackage(join(folder, "npm"));
const library = "@exrp/replay";
await Deno.writeTextFile(
  join(folder, "package.json"),
  JSON.stringify({ type: "module", imports: { "#library": "./npm/package/mod.js" } }),
);
const made = await run([
  ...[esbuild, inRepository("bench", "_platform_worker.ts"), "--bundle", "--format=esm"],
  ...["--platform=node", "--external:#library", `--alias:${library}=#library`],
  `--outfile=${join(folder, "worker.js")}`,
]);
if (!made.success) throw new Error(made.stderr);

const sides = [
  new Platform("Deno", Deno.execPath(), "run", "-A", "worker.js"),
  new Platform("Node 20", node20, "worker.js"),
  new Platform("Node 22", node22, "worker.js"),
  new Platform("Node 24", node24, "worker.js"),
  new Platform("Bun", bun, "worker.js"),
];
const picks = new Set<string>();
for (const side of sides) picks.add(await side.line());
if (picks.size !== 1) throw new Error("the platforms drew different picks");
for (let round = 0; round < ROUNDS; round++) {
  for (const side of sides) await side.round();
}
for (const side of sides) await side.close();

const [deno] = sides;
let broken = false;
console.log(`| call | ${sides.map(({ name }) => name).join(" | ")} |`);
console.log(`|---|${"---|".repeat(sides.length)}`);
for (const [row, [call]] of calls.entries()) {
  const base = deno?.best[row] ?? NaN;
  const cells = sides.map(({ name, best }) => {
    const time = best[row] ?? NaN;
    const ratio = time / base;
    broken ||= name.startsWith("Node") && !(ratio <= RATIO_MAX);
    return name === "Deno" ? time.toFixed(2) : `${time.toFixed(2)} (${ratio.toFixed(2)})`;
  });
  console.log(`| ${call} | ${cells.join(" | ")} |`);
}
if (broken) {
  console.error(`Node takes more than ${RATIO_MAX} times as long as Deno.`);
  Deno.exit(1);
}
