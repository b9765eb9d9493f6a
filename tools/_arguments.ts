/**
 * Reads a tool's options: an unknown one is an error that names the option that was probably meant.
 *
 * @module
 */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

/** The values of the options that {@linkcode readArguments} was given. */
export type Values<T extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: T }>
>["values"];

/** How many letters must be added, removed or replaced to make one word of the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const above = row;
    row = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[column] ?? 0) + 1, (row[column - 1] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}

/** The sentence for an option that does not exist. */
function unknown(given: string, names: readonly string[]): string {
  const word = given.replace(/^-+/, "");
  const near = names.map((name) => ({ name, away: distance(word, name) }))
    .filter(({ name, away }) => away <= 2 || name.startsWith(word) && word !== "")
    .sort((one, other) => one.away - other.away)[0];
  const all = names.map((name) => `--${name}`).join(", ");
  const meant = near === undefined ? "" : ` Did you mean --${near.name}?`;
  return `unknown option ${given}.${meant} The options are ${all}.`;
}

/**
 * The options among the arguments of a tool, or its exit status where it has nothing more to do: 0 after `--help`,
 * which prints the usage, and 2 after a wrong option, which prints what is wrong with it.
 */
export function readArguments<const T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
  usage: string,
): Values<T> | number {
  const names = [...Object.keys(options), "help"];
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === "option" && token.name === "help") {
      console.log(usage);
      return 0;
    }
    const isKnown = token.kind === "option" && names.includes(token.name);
    if (isKnown || token.kind === "option-terminator") continue;
    console.error(unknown(token.kind === "option" ? token.rawName : token.value, names));
    return 2;
  }
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(error.message);
    return 2;
  }
}
