/**
 * Compares a prioritized learner's turn with that of an older commit: a batch of 256 at 2^20 records, then priorities for its picks. Each
 * has a process with its own kernel and TypeScript, and the two take turns. The older commit is checked out and built in
 * `.cache/turn`. The task fails if ours takes more than 0.8 times as long.
 *
 * Run it: `deno task bench:turn`, or with `--against=<commit>`.
 *
 * @module
 */

import { readArguments } from "../tools/_arguments.ts";
import { exists, inRepository, run } from "../tools/_repository.ts";
import { Side } from "./_side.ts";
import { quantile } from "./_turns.ts";

/** The commit that the floor speaks of. */
const BASELINE = "ed48a35";
const RATIO_MAX = 0.8;
const ROUNDS = 150;
const REPEATS = 400;

const values = readArguments(
  Deno.args,
  { against: { type: "string" } },
  `deno task bench:turn [OPTION]\n\nCompares a prioritized learner's turn with that of an older commit.\n\n` +
    `  --against=COMMIT the commit to compare with; ${BASELINE} without it\n  --help           prints this`,
);
if (typeof values === "number") Deno.exit(values);
const against = (values as { readonly against?: string }).against ?? BASELINE;

/** Runs a command in a folder, and ends the program if it fails. */
async function must(folder: string, command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args, cwd: folder }).output();
  if (success) return;
  console.error(`${command} ${args.join(" ")} failed in ${folder}:`);
  console.error(new TextDecoder().decode(stderr));
  Deno.exit(2);
}

/** Checks the commit out and builds its kernel, if that was not done before. */
async function checkOut(commit: string): Promise<string> {
  const head = await run(["git", "rev-parse", "--verify", "--short=12", `${commit}^{commit}`]);
  if (!head.success) {
    console.error(
      `There is no commit ${commit} in this clone. \`git fetch --unshallow\` may bring it.`,
    );
    Deno.exit(2);
  }
  const folder = inRepository(".cache", "turn", head.stdout.trim());
  if (await exists(`${folder}/zig-out/lib`)) return folder;
  console.error(`building ${commit} in ${folder} ...`);
  if (!await exists(folder)) {
    const here = inRepository();
    await must(here, "git", "clone", "--quiet", "--no-checkout", here, folder);
    await must(folder, "git", "checkout", "--quiet", head.stdout.trim());
    // So that the older commit need not fetch the compiler again.
    await Deno.symlink(inRepository(".cache"), `${folder}/.cache`);
  }
  await must(folder, Deno.execPath(), "task", "build");
  return folder;
}

/** A process that measures with the library of a tree, and the mean times that it told. */
class Tree extends Side {
  readonly means: number[] = [];

  constructor(folder: string) {
    const worker = inRepository("bench", "_turn_worker.ts");
    super(folder, [Deno.execPath(), "run", "-A", "--no-check", worker, folder]);
  }

  async measure(): Promise<void> {
    this.means.push(Number(await this.ask(String(REPEATS))));
  }
}

const older = await checkOut(against);
const sides = { ours: new Tree(inRepository()), older: new Tree(older) };
for (const side of Object.values(sides)) await side.line();
for (let round = 0; round < ROUNDS; round++) {
  for (const side of Object.values(sides)) await side.measure();
}
for (const side of Object.values(sides)) await side.close();

const micro = (ns: number): string => (ns / 1e3).toFixed(2);
const [ours, theirs] = [sides.ours.means, sides.older.means];
const ratio = quantile(ours, 0.1) / quantile(theirs, 0.1);
const pairs = quantile(ours.map((mean, round) => mean / (theirs[round] ?? NaN)), 0.5);
console.log(`a prioritized learner's turn of 256 at 2^20, µs: the lowest tenth (median)`);
console.log(`  now      ${micro(quantile(ours, 0.1))} (${micro(quantile(ours, 0.5))})`);
console.log(`  ${against}  ${micro(quantile(theirs, 0.1))} (${micro(quantile(theirs, 0.5))})`);
console.log(
  `ratio of the lowest tenths ${
    ratio.toFixed(3)
  }, at most ${RATIO_MAX}; median of the ratios turn by turn ${pairs.toFixed(3)}`,
);
if (ratio > RATIO_MAX && against === BASELINE) Deno.exit(1);
