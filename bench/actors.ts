/**
 * Writers and a learner on one replay, beside cpprb's MPPrioritizedReplayBuffer: records a second and learner steps a second at the same
 * time, the worst learner call, images with and without writers, torn rows, and a writer that is killed. Both take turns in one run.
 *
 * `deno task bench:peers --install` installs cpprb. Without it, only ours is measured.
 *
 * @module
 */
import {
  BATCH,
  type Case,
  CHUNK,
  type Done,
  ours,
  survives,
  survivesHere,
  theirs,
} from "./actors/measure.ts";
import { longestGapOf } from "./actors/clock.ts";
import { benchOptions } from "./_options.ts";
import { origin, saveResults } from "./_results.ts";
import { findEnvironment } from "./peers/_environments.ts";
import { type ActorResults, render } from "./report/actors.ts";

const STATE = 15;
const SIZES = [2 ** 16, 2 ** 20];
const WRITERS = [0, 1, 2, 4];
const IMAGE = 84 * 84 * 4;
/** More than the fastest simulators of Atari games give on one core. */
const IMAGE_RATE = 5000;

const { quick, save } = benchOptions(
  "bench:actors",
  "Writers and a learner on one replay, beside cpprb's.",
  ["quick", "save"],
);
const SECONDS = quick ? 0.5 : 2;
const ROUNDS = quick ? 1 : 5;
const KILLS = quick ? 3 : 12;

/** The best of several rounds: most records and steps, and the least of the worst calls. */
function best(rounds: readonly Done[]): Done {
  const most = (of: (done: Done) => number): number => Math.max(...rounds.map(of));
  const least = (of: (done: Done) => number): number => Math.min(...rounds.map(of));
  return {
    records: most(({ records }) => records),
    steps: most(({ steps }) => steps),
    worst: least(({ worst }) => worst),
    batch: least(({ batch }) => batch ?? Infinity),
    torn: rounds.reduce((sum, { torn = 0 }) => sum + torn, 0),
    drawn: rounds.reduce((sum, { drawn = 0 }) => sum + drawn, 0),
  };
}

const found = await findEnvironment("cpprb");
if ("why" in found) console.error(`cpprb: ${found.why}`);
const python = "python" in found ? found.python : undefined;

/** Both, in turns, and how long the machine stops as many threads that do nothing. */
async function both(run: Case): Promise<{ ours: Done; cpprb?: Done; gap: number }> {
  const mine: Done[] = [];
  const other: Done[] = [];
  const gaps: number[] = [];
  const { width, ...rest } = run;
  for (let round = 0; round < ROUNDS; round++) {
    mine.push(await ours(run));
    gaps.push(await longestGapOf(run.writers, run.seconds));
    if (python === undefined) continue;
    other.push(await theirs(python, { ...rest, batch: BATCH, ...(run.checked && { width }) }));
  }
  const gap = Math.min(...gaps);
  return { ours: best(mine), gap, ...(python !== undefined && { cpprb: best(other) }) };
}

const rows: ActorResults["rows"][number][] = [];
for (const size of SIZES) {
  for (const writers of WRITERS) {
    console.error(`capacity ${size}, ${writers} writers`);
    const run = { size, writers, chunk: CHUNK, seconds: SECONDS, width: STATE, image: false };
    rows.push({ size, writers, ...await both(run) });
  }
}

console.error("images");
const image = { size: 4096, chunk: 10, seconds: SECONDS, width: IMAGE, image: true };
const sides = [{ writers: 0, rate: 0 }, { writers: 2, rate: IMAGE_RATE }, { writers: 2, rate: 0 }];
const rounds = sides.map((): Done[] => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [at, side] of sides.entries()) rounds[at]?.push(await ours({ ...image, ...side }));
}
const images = sides.map((side, at) => ({ ...side, ...best(rounds[at] ?? []) }));

console.error("torn rows, and killed writers");
const torn = await both({
  size: 64,
  writers: 3,
  chunk: 10,
  seconds: SECONDS,
  width: 8192,
  image: false,
  checked: true,
});
const survived = { ours: 0, cpprb: 0, of: KILLS };
for (let kill = 0; kill < KILLS; kill++) {
  const after = 0.05 + 0.013 * kill;
  survived.ours += await survivesHere(after) ? 1 : 0;
  if (python !== undefined) survived.cpprb += await survives(python, after) ? 1 : 0;
}

const results: ActorResults = {
  ...await origin("actors", { cpprb: "11.0.0" }),
  rounds: ROUNDS,
  seconds: SECONDS,
  rows,
  images,
  torn,
  survived,
};
console.log(render(JSON.stringify(results)));
if (save) await saveResults(results);
