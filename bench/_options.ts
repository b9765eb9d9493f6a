/**
 * The options of the benches. They are checked before anything is measured.
 *
 * @module
 */

import { readArguments } from "../tools/_arguments.ts";

/** An option that a bench may have. */
export type BenchOption = "quick" | "filter" | "save";

/** What a bench was asked for. */
export interface BenchOptions {
  /** A short run, whose figures are only good for a look. */
  readonly quick: boolean;
  /** Only what has this in its name; empty for all. */
  readonly filter: string;
  /** The results are to be put where the documentation is made of them. */
  readonly save: boolean;
}

const KINDS = {
  quick: {
    type: "boolean",
    text: "--quick          a short run, whose figures are only good for a look",
  },
  filter: { type: "string", text: "--filter=PART    only what has PART in its name" },
  save: {
    type: "boolean",
    text: "--save           puts the results where the documentation is made of them",
  },
} as const;

/** What is wrong with these options together; undefined where nothing is. */
function trouble({ quick, filter, save }: BenchOptions): string | undefined {
  const partial = quick ? "--quick" : filter !== "" ? `--filter=${filter}` : undefined;
  if (!save || partial === undefined) return undefined;
  return `--save was asked for with ${partial}. The results of a part of the bench would take the place of the results of all of it, ` +
    "which the pages of benchmarks are made of and later runs are compared with. Nothing was measured. Leave one of the two out.";
}

/**
 * The options among the arguments of a bench that has `names`, or its exit status where it has nothing more to do: 0 after
 * `--help`, and 2 after wrong options, which are named.
 */
export function readBenchOptions(
  args: readonly string[],
  task: string,
  summary: string,
  names: readonly BenchOption[],
): BenchOptions | number {
  const kinds = Object.fromEntries(names.map((name) => [name, { type: KINDS[name].type }]));
  const texts = [...names.map((name) => KINDS[name].text), "--help           prints this"];
  const usage = `deno task ${task} [OPTION]\n\n${summary}\n\n  ${texts.join("\n  ")}`;
  const values = readArguments(args, kinds, usage);
  if (typeof values === "number") return values;
  const { quick = false, filter = "", save = false } = values as Partial<BenchOptions>;
  const options = { quick, filter, save };
  const wrong = trouble(options);
  if (wrong === undefined) return options;
  console.error(wrong);
  return 2;
}

/** The options of the bench that runs; ends the program where it has nothing more to do. */
export function benchOptions(
  task: string,
  summary: string,
  names: readonly BenchOption[],
): BenchOptions {
  const options = readBenchOptions(Deno.args, task, summary, names);
  return typeof options === "number" ? Deno.exit(options) : options;
}
