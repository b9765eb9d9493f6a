/**
 * The side of `bench:turn` that measures. It works with the library of one tree, whose folder is its argument. For each line on its
 * standard input, it measures as many turns as the line says, and answers with their mean nanoseconds.
 *
 * @module
 */

import { pathToFileURL } from "node:url";

/** What both trees have of the library. */
interface Library {
  readonly ExperienceReplay: {
    create(options: unknown): Promise<Replay>;
  };
  float32(length: number): unknown;
  prioritized(options: unknown): unknown;
}
interface Batch {
  readonly pickEpisode: Float64Array;
  readonly pickPosition: Int32Array;
}
interface Replay {
  newEpisode(): number;
  newPickSelector(rule: unknown): unknown;
  recordMany(episode: number, steps: unknown): number;
  getBatch(count: number, selector: unknown, options: unknown): Batch;
  setPriority(
    selector: unknown,
    episodes: Float64Array,
    positions: Int32Array,
    priorities: Float32Array,
  ): unknown;
}

const CAPACITY = 2 ** 20;
const LENGTH = 200;
const COUNT = 256;

/** A learner's turn: a prioritized batch of 256, then other priorities for its picks. */
async function makeTurn(folder: string): Promise<() => void> {
  const library = await import(`${pathToFileURL(folder)}/mod.ts`) as unknown as Library;
  const replay = await library.ExperienceReplay.create({
    capacity: CAPACITY,
    state: library.float32(4),
    segmentLength: LENGTH,
    seed: 1,
  });
  const selector = replay.newPickSelector(library.prioritized({ alpha: 0.6 }));
  const steps = {
    state: new Float32Array(4 * LENGTH),
    action: new Int32Array(LENGTH),
    reward: new Float32Array(LENGTH),
    finalState: new Float32Array(4),
    truncated: true,
  };
  for (let count = 0; count < 1.2 * CAPACITY; count += LENGTH) {
    replay.recordMany(replay.newEpisode(), steps);
  }
  const into = replay.getBatch(COUNT, selector, { beta: 0.4 });
  const errors = Array.from({ length: 64 }, () => new Float32Array(COUNT).map(Math.random));
  let turn = 0;
  return () => {
    const { pickEpisode, pickPosition } = replay.getBatch(COUNT, selector, { beta: 0.4, into });
    const priorities = errors[turn++ % errors.length] ?? new Float32Array(COUNT);
    replay.setPriority(selector, pickEpisode, pickPosition, priorities);
  };
}

const turn = await makeTurn(Deno.args[0] ?? "");
for (let warm = 0; warm < 6000; warm++) turn();
console.log("ready");
const decoder = new TextDecoder();
for await (const chunk of Deno.stdin.readable) {
  for (const line of decoder.decode(chunk).trim().split("\n")) {
    const repeats = Number(line);
    for (let warm = 0; warm < repeats / 4; warm++) turn();
    const start = performance.now();
    for (let repeat = 0; repeat < repeats; repeat++) turn();
    console.log((performance.now() - start) * 1e6 / repeats);
  }
}
