/**
 * The calls by which kernels and platforms are compared, on a full replay whose states have four floats.
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";

/** How many records the replay holds whose calls are timed. */
export const RECORDS = 2 ** 17;
const EPISODE = 200;
const COUNT = 256;

/** A full replay with both selectors, and what the calls need. */
// deno-lint-ignore explicit-function-return-type -- a long type that only the benches use
export async function full(backend: "native" | "wasm", capacity: number, turns: number) {
  const replay = await ExperienceReplay.create({ capacity, state: float32(4), seed: 1, backend });
  const [even, ranked] = [
    replay.newPickSelector(uniform()),
    replay.newPickSelector(prioritized()),
  ];
  const state = new Float32Array(4);
  let episode = replay.newEpisode();
  for (let k = 0; k < capacity; k++) {
    const ends = k % EPISODE === EPISODE - 1;
    episode = replay.record(episode, state, k & 1, 1, ends ? { finalState: state } : {});
    if (ends) episode = replay.newEpisode();
  }
  const errors = Float32Array.from({ length: COUNT }, (_, k) => ((k * 37) % COUNT) / COUNT);
  for (let k = 0; k < turns; k++) {
    replay.setPriority(ranked, replay.getBatch(COUNT, ranked), errors);
  }
  return { replay, even, ranked, state, errors, episode };
}

/** What {@linkcode full} makes. */
export type Full = Awaited<ReturnType<typeof full>>;

/** A call: its name, how often a round makes it, and itself. */
export type Timed = readonly [name: string, count: number, call: (full: Full) => void];

/** The calls. */
export const calls: readonly Timed[] = [
  ["`record`", 4096, (on) => {
    on.episode = on.replay.record(on.episode, on.state, 1, 1);
  }],
  ["`getBatch(32)`, `uniform()`", 512, ({ replay, even }) => replay.getBatch(32, even)],
  ["`getBatch(256)`, `uniform()`", 128, ({ replay, even }) => replay.getBatch(COUNT, even)],
  ["`getBatch(32)`, `prioritized()`", 256, ({ replay, ranked }) => replay.getBatch(32, ranked)],
  ["`getBatch(256)`, `prioritized()`", 64, ({ replay, ranked }) => replay.getBatch(COUNT, ranked)],
  ["the same, and `setPriority`", 64, ({ replay, ranked, errors }) => {
    replay.setPriority(ranked, replay.getBatch(COUNT, ranked), errors);
  }],
];

/** Makes a call as often as a round does; returns the mean time of one, in µs. */
export function timed([, count, call]: Timed, on: Full): number {
  const start = performance.now();
  for (let k = 0; k < count; k++) call(on);
  return (performance.now() - start) * 1000 / count;
}
