/**
 * The command line of the agents among the examples.
 *
 * @module
 */

/**
 * Reads the command line and runs the example. Returns the exit status: 2 if the command line is wrong, else what `run` gives, or 0.
 *
 * @param parse Reads the command line. It returns `"help"` for `--help`, and throws a `TypeError` for what is wrong.
 * @param help What `--help` prints.
 */
export async function runExample<Options>(
  args: string[],
  parse: (args: string[]) => Options | "help",
  help: string,
  run: (options: Options) => Promise<number | void>,
): Promise<number> {
  let options: Options | "help";
  try {
    options = parse(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nTry --help.`);
    return 2;
  }
  if (options !== "help") return await run(options) ?? 0;
  console.log(help);
  return 0;
}

/** The value of a flag that takes one of `choices`. */
export function oneOf<Choice extends string>(
  flag: string,
  value: string,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) {
    throw new TypeError(`--${flag} is one of ${choices.join(", ")}, not "${value}"`);
  }
  return choice;
}

/** The value of a flag that takes an integer from `min` to `max`. */
export function integerOf(flag: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new TypeError(`--${flag} is an integer from ${min} to ${max}, not "${value}"`);
  }
  return number;
}
