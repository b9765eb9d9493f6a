/**
 * What `compression` costs and saves: memory, a record, and batches of 256 stacks, of frames that `deno task bench:packing` has recorded.
 *
 *     deno run --allow-all bench/probe/compression.ts .cache/packing/random.1000.bin
 *
 * Each of the twelve games is an episode, which is recorded again and again until the pool has 96,000 frames. The replays take turns, and it prints the
 * least times.
 *
 * @module
 */
import { ExperienceReplay, uint8, uniform } from "@exrp/replay";

const FRAME = 84 * 84;
const GAMES = 12;
const POOL = 96_000;
const ROUNDS = 30;
const KINDS = ["none", "fast", "small"] as const;

const [file] = Deno.args;
if (file === undefined) throw new Error("Name a file of frames: see the head of this file.");
const bytes = await Deno.readFile(file);
const each = Math.floor(bytes.length / FRAME / GAMES);
const frame = (game: number, t: number): Uint8Array =>
  bytes.subarray((game * each + t) * FRAME, (game * each + t + 1) * FRAME);

const replays = [];
for (const compression of KINDS) {
  replays.push(
    await ExperienceReplay.create({
      ...{ capacity: POOL, state: uint8(84, 84), compression, seed: 1, pick: { stack: 4 } },
    }),
  );
}

// Three turns of recording, each of a third of the pool.
const recordUs = KINDS.map(() => Infinity);
for (let from = 0; from < POOL; from += POOL / 3) {
  for (const [k, replay] of replays.entries()) {
    const start = performance.now();
    let episode = replay.newEpisode();
    for (let n = from; n < from + POOL / 3; n++) {
      const game = Math.floor(n / each) % GAMES;
      const t = n % each;
      if (t + 1 < each) {
        episode = replay.record(episode, frame(game, t), t % 4, 0);
      } else {
        replay.record(episode, frame(game, t), t % 4, 0, { finalState: frame(game, 0) });
        episode = replay.newEpisode();
      }
    }
    const us = (performance.now() - start) * 1e3 / (POOL / 3);
    recordUs[k] = Math.min(recordUs[k] ?? Infinity, us);
  }
}

const plain = replays[0]?.memoryBytes ?? NaN;
console.log("compression | times smaller | record, µs | batches, µs (x none)");
const views = [
  ["stack 4 and its next one", {}],
  ["five frames", { stackCompact: true }],
  ["single frames", { stack: 1, nextState: false }],
  ["sequences of 20", { stack: 1, length: 20, nextState: "overlap" }],
] as const;
const times = new Map<string, number[]>();
for (const [what, pick] of views) {
  const size = what.startsWith("seq") ? 32 : 256;
  const drawers = replays.map((replay) => {
    const view = replay.newPickView({ stack: 4, ...pick } as never);
    const selector = view.newPickSelector(uniform());
    return { replay, selector, into: replay.getBatch(size, selector as never) };
  });
  const least = KINDS.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [k, { replay, selector, into }] of drawers.entries()) {
      // Several in a row, as a learner that draws into one batch.
      for (let again = 0; again < 5; again++) {
        const start = performance.now();
        replay.getBatch(size, selector as never, { into: into as never });
        least[k] = Math.min(least[k] ?? Infinity, (performance.now() - start) * 1e3);
      }
    }
  }
  times.set(`${size} of ${what}`, least);
}
for (const [k, compression] of KINDS.entries()) {
  const smaller = (plain / (replays[k]?.memoryBytes ?? NaN)).toFixed(1);
  const cells = [...times].map(([what, least]) => {
    const [none = NaN] = least;
    return `${what}: ${(least[k] ?? NaN).toFixed(0)} (${((least[k] ?? NaN) / none).toFixed(2)} x)`;
  });
  console.log(
    `${compression} | ${smaller} | ${(recordUs[k] ?? NaN).toFixed(2)} | ${cells.join(", ")}`,
  );
}
for (const replay of replays) replay[Symbol.dispose]();
