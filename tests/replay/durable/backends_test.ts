/**
 * A folder that one kernel wrote is opened by the other one, again and again: each goes on where the other one stopped. `EXRP_SEED` repeats a run.
 *
 * @module
 */

import { assertEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, prioritized, uint8, uniform } from "@exrp/replay";
import type { AnyReplay } from "../../whole/model/library_subject.ts";
import { assertReplayRejects, testRandom } from "../_helpers.ts";
import { stateOf, withFolder } from "./_folders.ts";

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 2617);
const SEEDS = 3;

/** Changes a replay in a way that follows from `random`, and returns what it drew. */
function change(replay: AnyReplay, random: (below: number) => number): string {
  const [first] = replay.selectors;
  const selector = first ?? replay.newPickSelector(prioritized());
  if (first === undefined) replay.newPickSelector(uniform());
  let episode = replay.newEpisode({ tag: random(3) });
  for (let k = random(400) + 1; k > 0; k--) {
    const ends = random(20) === 0;
    const state = [random(1000), random(1000)];
    const extras = { image: Uint8Array.from({ length: 300 }, (_, at) => (at * k) % 7) };
    const rest = { extras, ...ends ? { finalState: state } : {} };
    episode = replay.record(episode, state, random(3), random(10), rest as never);
    if (ends) episode = replay.newEpisode();
  }
  const batch = replay.getBatch(16, selector, { beta: 0.4 });
  replay.setPriority(selector, batch, batch.reward as never);
  if (random(4) === 0) replay.drain({ keep: true });
  return `${batch.reward.join()} ${batch.probability.join()}`;
}

/** Does the same with a durable replay, whose kernel changes each time, and with one in memory, or closes it without a last flush. */
async function runSeed(folder: string, seed: number): Promise<void> {
  const options = {
    capacity: 500,
    state: float32(2),
    extras: { image: uint8(300) },
    compression: seed % 2 === 0 ? "fast" : "none",
    seed,
  } as never;
  const random = testRandom(seed);
  using twin = await ExperienceReplay.create(options) as unknown as AnyReplay;
  for (let turn = 0; turn < 8; turn++) {
    const backend = (turn + seed) % 2 === 0 ? "native" : "wasm";
    const durable = { segmentBytes: 2 ** 20, flushIntervalMs: 0, backend } as const;
    const all = turn === 0 ? { ...options as object, ...durable } : durable;
    using replay = await ExperienceReplay.open(folder, all as never) as unknown as AnyReplay;
    assertEquals(replay.describe().backend.split(":")[0], backend);
    const what = random(2 ** 31);
    const words = `seed ${seed}, turn ${turn}, ${backend}`;
    assertEquals(change(replay, testRandom(what)), change(twin, testRandom(what)), words);
    await replay.flush();
    assertEquals(await stateOf(replay), await stateOf(twin), words);
    const other = backend === "native" ? "wasm" : "native";
    await assertReplayRejects(
      ExperienceReplay.open(folder, { backend: other } as never),
      "log-taken",
    );
  }
}

Deno.test(`a folder goes on from one kernel to the other one (${SEEDS} seeds from ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + SEEDS; seed++) {
    await withFolder((folder) => runSeed(folder, seed));
  }
});
