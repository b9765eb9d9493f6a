/**
 * Does offline data help, and how should it be drawn? An agent learns to leave a maze. It has the records of another policy, which goes
 * a long way round, and it makes records of its own. Each batch is half offline and half online, both halves by priority.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/half_offline.ts`
 *
 * Half and half is from Ball et al., "Efficient Online Reinforcement Learning with Offline Data" (2023), which calls it symmetric
 * sampling. We know it from descriptions.
 *
 * What to read first: {@linkcode WAYS}, which says how each way draws, and {@linkcode learn}, which has the whole algorithm.
 *
 * @module
 */

// @ts-types="@types/asciichart"
import asciichart from "asciichart";
import {
  type Column,
  ExperienceReplay,
  mixture,
  prioritized,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { GridMaze } from "@exrp/replay/envs";
import { RandomStream, type SelectorRule } from "@exrp/replay/selectors";
import { median } from "./cliffwalk.ts";

/** `S` is the start, `G` the goal, `#` a wall. The offline policy knows the door at the left only, which is a long way round. */
const maze = new GridMaze([
  "..............G",
  "...............",
  "...............",
  "...............",
  "...............",
  ".###########.##",
  "...............",
  "...............",
  "...............",
  "...............",
  "..............S",
], { stepLimit: 200 });
const [UP, RIGHT, LEFT] = [0, 1, 3];

/** The tags of the episodes. */
const [ONLINE, OFFLINE] = [0, 1];

const SETTINGS = {
  offlineEpisodes: 200,
  discount: 0.95,
  exploration: 0.3, // chance of a random action
  batchSize: 4,
  every: 250, // steps between two looks at what was learned
  steps: 5_000,
};

/** A state is a cell of the maze, an action one of the four moves. */
interface Move {
  readonly state: Column<"uint8", []>;
  readonly action: Column<"uint8", []>;
}
type MazeReplay = ExperienceReplay<Move>;

/** The ways to draw that are compared. */
export const WAYS: Readonly<Record<string, (replay: MazeReplay) => Selector<Move>>> = {
  "online data only": (replay) =>
    replay.newPickView({ where: { tag: ONLINE } }).newPickSelector(byPriority()),
  "all data, uniformly": (replay) => replay.newPickSelector(uniform()),
  "all data, by priority": (replay) => replay.newPickSelector(byPriority()),
  "half and half, uniformly": (replay) => halfAndHalf(replay, uniform),
  "half and half, by priority": (replay) => halfAndHalf(replay, byPriority),
};

/** In this maze a value is right at once, so that its next error is 0. A larger epsilon draws it again. */
function byPriority(): SelectorRule {
  return prioritized({ alpha: 0.4, epsilon: 0.01 });
}

/** One half of each batch from each kind of episode, each drawn by a rule of its own. */
function halfAndHalf(replay: MazeReplay, rule: () => SelectorRule): Selector<Move> {
  const offline = replay.newPickView({ where: { tag: OFFLINE } }).newPickSelector(rule());
  const online = replay.newPickView({ where: { tag: ONLINE } }).newPickSelector(rule());
  return replay.newPickSelector(mixture([
    { selector: offline, share: 1 },
    { selector: online, share: 1 },
  ]));
}

/** What the offline policy does: it goes through the door at the left, and every other step goes anywhere. */
function mediocre(cell: number, random: RandomStream): number {
  if (random.below(2) === 0) return random.below(4);
  const [x, y] = [cell % maze.width, Math.floor(cell / maze.width)];
  if (y > 4) return x > 0 && y !== 5 ? LEFT : UP;
  return x < maze.width - 1 ? RIGHT : UP;
}

/** Records one episode of a policy, and calls `after` after each step. */
function play(
  replay: MazeReplay,
  tag: number,
  policy: (cell: number) => number,
  after: () => void = () => {},
): void {
  let episode = replay.newEpisode({ tag });
  let cell = maze.reset();
  while (true) {
    const action = policy(cell);
    const { state: next, reward, terminated, truncated } = maze.step(action);
    const isOver = terminated || truncated;
    const ending = isOver ? { finalState: next, truncated } : undefined;
    episode = replay.record(episode, cell, action, reward, ending);
    after();
    if (isOver) return;
    cell = next;
  }
}

/** What a learner knows: a value for each state and action, `[states, 4]`. */
class Values {
  readonly values = new Float64Array(4 * maze.stateCount);

  best(cell: number, random?: RandomStream): number {
    const four = this.values.subarray(4 * cell, 4 * cell + 4);
    const top = Math.max(...four);
    const ties = [0, 1, 2, 3].filter((action) => four[action] === top);
    return ties[random?.below(ties.length) ?? 0] ?? 0;
  }

  /** The steps to the goal, if it always does what it holds to be best; as many as an episode may have if it never comes there. */
  steps(): number {
    let [cell, steps] = [maze.start, 0];
    while (cell !== maze.goal && steps < maze.stepLimit) {
      cell = maze.nextState(cell, this.best(cell));
      steps++;
    }
    return steps;
  }

  /** Learns from one batch, and gives the replay the errors. */
  update(replay: MazeReplay, selector: Selector<Move>): void {
    const batch = replay.getBatch(SETTINGS.batchSize, selector, { beta: 0.4 });
    const errors = new Float64Array(batch.size);
    for (let k = 0; k < batch.size; k++) {
      const at = 4 * (batch.state[k] ?? 0) + (batch.action[k] ?? 0);
      const next = 4 * (batch.nextState[k] ?? 0);
      const value = Math.max(...this.values.subarray(next, next + 4));
      const error = (batch.reward[k] ?? 0) + (batch.discount[k] ?? 0) * value -
        (this.values[at] ?? 0);
      errors[k] = Math.abs(error);
      // A move always leads to the same cell. So a value may move to its target at once, as far as the weight lets it.
      this.values[at] = (this.values[at] ?? 0) + (batch.importanceWeight[k] ?? 0) * error;
    }
    replay.setPriority(selector, batch, errors);
  }
}

/**
 * Learns in one way. Returns how many steps to the goal the learner would need, each time that {@linkcode SETTINGS} says to look.
 */
export async function learn(way: string, seed: number): Promise<number[]> {
  using replay = await ExperienceReplay.create({
    capacity: 60_000,
    state: uint8(),
    action: uint8(),
    pick: { discount: SETTINGS.discount },
    seed,
  });
  const selector = WAYS[way]?.(replay);
  if (selector === undefined) throw new RangeError(`there is no way ${way}`);
  const random = new RandomStream(seed);
  for (let k = 0; k < SETTINGS.offlineEpisodes; k++) {
    play(replay, OFFLINE, (cell) => mediocre(cell, random));
  }
  const learned = new Values();
  const curve: number[] = [];
  let steps = 0;
  while (steps < SETTINGS.steps) {
    const policy = (cell: number): number =>
      random.uniform() < SETTINGS.exploration ? random.below(4) : learned.best(cell, random);
    play(replay, ONLINE, policy, () => {
      // The newest record is no pick yet, and there is none online at first.
      if (++steps > 1) learned.update(replay, selector);
      if (steps % SETTINGS.every === 0) curve.push(learned.steps());
    });
  }
  return curve;
}

/** How many steps the shortest way has. */
export const SHORTEST = 14;

/** After how many steps the learner knew the shortest way for the first time; Infinity if it never did. */
export function stepsToLearn(curve: readonly number[]): number {
  const first = curve.indexOf(SHORTEST);
  return first < 0 ? Infinity : SETTINGS.every * (first + 1);
}

if (import.meta.main) {
  const seeds = [1, 2, 3, 4, 5];
  const shown: number[][] = [];
  console.log(`steps until the shortest way is known, seeds ${seeds.join(", ")}\n`);
  for (const way of Object.keys(WAYS)) {
    const curves: number[][] = [];
    for (const seed of seeds) curves.push(await learn(way, seed));
    const counts = curves.map(stepsToLearn);
    console.log(`${way.padEnd(28)}${counts.join(", ")}; median ${median(counts)}`);
    if (!way.endsWith("priority")) continue;
    shown.push((curves[0] ?? []).map((_, k) => median(curves.map((curve) => curve[k] ?? NaN))));
  }
  const { every, steps } = SETTINGS;
  console.log(`\nsteps to the goal (medians), looked at every ${every} of ${steps} steps:`);
  console.log("green by priority from all data, blue from half and half\n");
  const colors = [asciichart.green, asciichart.blue];
  console.log(
    asciichart.plot(shown, { height: 12, colors, format: (y) => y.toFixed(0).padStart(6) }),
  );
}
