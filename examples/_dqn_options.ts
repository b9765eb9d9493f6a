/**
 * The command line of `dqn_cartpole.ts`.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { integerOf, oneOf } from "./_options.ts";

/** The selectors that the example offers. */
export const SELECTORS = [
  "uniform",
  "withoutReplacement",
  "recent",
  "prioritized",
  "rankBased",
  "pser",
  "combined",
  "curious",
  "ucb",
] as const;
/** The eviction policies that the example offers. */
export const EVICTIONS = [
  "fifo",
  "secondChance",
  "lru",
  "lfu",
  "lowestPriorityFirst",
  "afterDraws",
  "reservoir",
] as const;

/** What the user may choose. */
export interface Options {
  selector: typeof SELECTORS[number];
  eviction: typeof EVICTIONS[number];
  seed: number;
  /** Environment steps at most; training stops earlier once the task is solved. */
  steps: number;
}

const DEFAULTS: Options = {
  selector: "prioritized",
  eviction: "secondChance",
  seed: 1,
  steps: 40_000,
};

/** The choices, in lines that fit a terminal, below the text of their flag. */
function listed(choices: readonly string[]): string {
  const lines = [""];
  for (const choice of choices) {
    const last = lines.length - 1;
    const longer = lines[last] === "" ? choice : `${lines[last]}, ${choice}`;
    if (longer.length <= 56) lines[last] = longer;
    else {
      lines[last] += ",";
      lines.push(choice);
    }
  }
  return lines.join(`\n${" ".repeat(22)}`);
}

/** What `--help` prints. */
export const HELP = `Learn CartPole-v1 by double DQN from an experience replay.

Usage: deno task quickstart [options]

  --selector <rule>   how picks are chosen, ${DEFAULTS.selector} by default:
                      ${listed(SELECTORS)}
  --eviction <rule>   which episode is forgotten, ${DEFAULTS.eviction} by default:
                      ${listed(EVICTIONS)}
  --seed <number>     for the task, the network, the actions and the picks; ${DEFAULTS.seed} by default
  --steps <number>    environment steps at most; ${DEFAULTS.steps} by default
  -h, --help          print this

Training ends sooner once the task is solved. Results go to the folder out.
`;

/**
 * Reads the command line. Returns `"help"` for `--help`.
 *
 * @throws {TypeError} If a flag is unknown, has no value, or has a value that is not allowed.
 */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      selector: { type: "string", default: DEFAULTS.selector },
      eviction: { type: "string", default: DEFAULTS.eviction },
      seed: { type: "string", default: String(DEFAULTS.seed) },
      steps: { type: "string", default: String(DEFAULTS.steps) },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    selector: oneOf("selector", values.selector, SELECTORS),
    eviction: oneOf("eviction", values.eviction, EVICTIONS),
    seed: integerOf("seed", values.seed, 0, 2 ** 31 - 1),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
  };
}
