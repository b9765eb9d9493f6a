/**
 * SAC learns tasks whose actions are numbers: to swing up a pendulum, or a pole on a cart. RLPD learns them from half offline data.
 *
 * ```sh
 * deno task sac
 * deno task sac --replay uniform:1 --replay prioritized:3 --seeds 5
 * deno task rlpd
 * ```
 *
 * This file has the command line, the progress bar and the picture. The agents are in `_agent.ts`: read `train()` there first.
 * `docs/continuous_control.md` explains what the replay does for them.
 *
 * @module
 */
import { RandomStream } from "@exrp/replay/selectors";
import { parseArgs } from "node:util";
import { type CurvePoint, isSolved, mean } from "../_curve.ts";
import { integerOf, oneOf, runExample } from "../_options.ts";
import { Progress } from "../_report.ts";
import { type OfflineData, recordPlay, RULES, type Run, train } from "./_agent.ts";
import { bandsSvg, type Curves } from "./_picture.ts";
import { type Task, TASKS } from "./_tasks.ts";

const HELP =
  `Learn to swing up a pendulum by SAC, or a pole on a cart by RLPD from half offline data.

Usage: deno task sac [options]
       deno task rlpd [options]

  --env <name>        pendulum or swing_up; by default pendulum for SAC, and swing_up for RLPD
  --replay <rule:n>   uniform or prioritized, and how many rewards are summed; uniform:1 by default.
                      Give it several times to compare
  --seed <number>     for the task, the networks, the actions and the picks; 1 by default
  --seeds <number>    how many seeds from there on; 1 by default
  --steps <number>    environment steps of each run; by default 8000 for pendulum, 18000 for swing_up
  --rlpd              compare SAC with RLPD, which has a third of the steps
  --control           also run the settings of RLPD without offline data
  -h, --help          print this

The learning curves go to the folder out, as a picture and as numbers.
`;

/** What each batch comes from. */
interface Replay {
  rule: Run["rule"];
  nStep: number;
}

/** What the user may choose. */
export interface Options {
  env: keyof typeof TASKS;
  replays: readonly Replay[];
  seeds: readonly number[];
  steps: number;
  rlpd: boolean;
  control: boolean;
}

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      env: { type: "string" },
      replay: { type: "string", multiple: true, default: ["uniform:1"] },
      seed: { type: "string", default: "1" },
      seeds: { type: "string", default: "1" },
      steps: { type: "string" },
      rlpd: { type: "boolean", default: false },
      control: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const { rlpd, control } = values;
  if (control && !rlpd) throw new TypeError("--control compares with RLPD: give --rlpd, too");
  const env = oneOf(
    "env",
    values.env ?? (rlpd ? "swing_up" : "pendulum"),
    ["pendulum", "swing_up"] as const,
  );
  const first = integerOf("seed", values.seed, 0, 1_000_000);
  return {
    env,
    replays: values.replay.map((text) => {
      const [rule = "", nStep = "1"] = text.split(":");
      return { rule: oneOf("replay", rule, RULES), nStep: integerOf("replay", nStep, 1, 100) };
    }),
    seeds: Array.from({ length: integerOf("seeds", values.seeds, 1, 100) }, (_, k) => first + k),
    steps: integerOf("steps", values.steps ?? String(TASKS[env].steps), 1, 10_000_000),
    rlpd,
    control,
  };
}

/** Steps of offline data, from SAC when it was first half trained, or else at its end. */
const OFFLINE_STEPS = 10_000;

/** Trains one agent, and keeps its curve by its name. */
type Learn = (name: string, run: Run, look?: Parameters<typeof train>[1]) => Promise<void>;

/** Trains one agent, and shows how far it is. Returns its evaluations. */
async function runOne(
  name: string,
  run: Run,
  look: Parameters<typeof train>[1] = () => {},
): Promise<CurvePoint[]> {
  const startedAt = performance.now();
  using progress = new Progress(run.steps);
  const points = await train(run, (seen, networks) => {
    const best = Math.max(...seen.evaluations.map((point) => point.return));
    progress.update(seen.step, { loss: seen.loss, return: seen.return, best });
    look(seen, networks);
  });
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `\n${name}, seed ${run.seed}: ${solvedAfter(run.task, points)}; ` +
      `the last evaluation earned ${points.at(-1)?.return.toFixed(1)}; ${seconds.toFixed(0)} s`,
  );
  return points;
}

/** When a task was solved. */
export function solvedAfter({ solved }: Task, points: readonly CurvePoint[]): string {
  const end = points.findIndex((_, index) => isSolved(points.slice(0, index + 1), solved));
  return end < 0 ? "not solved" : `solved after ${points[end]?.step} steps`;
}

/** Trains SAC, then RLPD with data from it. `isControl` adds the settings of RLPD without offline data. */
async function compareRlpd(run: Run, isControl: boolean, learn: Learn): Promise<void> {
  let offline: OfflineData | undefined;
  await learn("SAC", run, ({ step, evaluations }, networks) => {
    const earned = evaluations.at(-1)?.return ?? -Infinity;
    if (offline !== undefined || (earned < run.task.halfTrained && step < run.steps)) return;
    const seed = 1_000 + run.seed;
    const random = new RandomStream(seed, 1);
    offline = recordPlay(run.task, (state) => networks.act(state, random), {
      count: OFFLINE_STEPS,
      seed,
    });
    const ends = [...offline.truncated, ...offline.terminated];
    const episodes = ends.reduce((sum, end) => sum + end, 0);
    const sum = offline.reward.reduce((a, b) => a + b, 0) / run.task.rewardScale;
    console.log(
      `\nOffline data after ${step} steps: ${episodes} episodes, ` +
        `which earned ${(sum / episodes).toFixed(1)} on average`,
    );
  });
  const rlpd: Run = { ...run, agent: "rlpd", steps: Math.ceil(run.steps / 3) };
  await learn("RLPD", { ...rlpd, offline });
  if (isControl) await learn("RLPD without offline data", rlpd);
}

async function run({ env, replays, seeds, steps, rlpd, control }: Options): Promise<void> {
  const task: Task = TASKS[env];
  const file = `out/${rlpd ? "rlpd" : "sac"}_${env}_seed${seeds[0]}`;
  await Deno.mkdir("out", { recursive: true });
  const all = new Map<string, CurvePoint[][]>();
  for (const seed of seeds) {
    for (const replay of replays) {
      const learn: Learn = async (agent, run, look) => {
        const name = `${agent}, ${replay.rule}, ${replay.nStep}-step`;
        all.set(name, [...all.get(name) ?? [], await runOne(name, run, look)]);
        await Deno.writeTextFile(`${file}.json`, JSON.stringify(Object.fromEntries(all)));
      };
      const plain: Run = { agent: "sac", task, ...replay, seed, steps };
      if (rlpd) await compareRlpd(plain, control, learn);
      else await learn("SAC", plain);
    }
  }
  const curves: Curves[] = [...all].map(([name, points]) => ({ name, seeds: points }));
  const picture = await bandsSvg(
    curves,
    `${task.title}, ${
      seeds.length === 1 ? `seed ${seeds[0]}` : `mean and range of ${seeds.length} seeds`
    }`,
    { title: "return of 10 episodes", domain: task.returns, solved: task.solved.return },
  );
  await Deno.writeTextFile(`${file}.svg`, picture);
  for (const { name, seeds: runs } of curves) {
    const last = mean(runs.map((points) => points.at(-1)?.return ?? NaN));
    console.log(`${name}: ${last.toFixed(1)} in the last evaluation, on average`);
  }
  console.log(
    `Solved means at least ${task.solved.return} in ${task.solved.times} evaluations in a row.\n` +
      `Picture: ${file}.svg`,
  );
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
