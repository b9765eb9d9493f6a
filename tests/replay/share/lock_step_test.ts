/** An actor and a learner that take turns: a run is the same bit for bit whenever it is made again. */
import { assertEquals, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, mixture, prioritized, uniform } from "@exrp/replay";
import { checkWhole, type HashedReplay, NARROW, schemaOf } from "./_rows.ts";
import type { Turn } from "./_turn_worker.ts";
import { native } from "../../_native.ts";

const SEED = Number(Deno.env.get("EXRP_SHARE_SEED") ?? 261123);
const TURNS = 60;

/** Makes a run; returns what the learner drew, and the snapshot at the end. */
async function run(seed: number): Promise<{ drawn: number[]; snapshot: Uint8Array }> {
  using replay: HashedReplay = await ExperienceReplay.create({
    capacity: 500,
    ...schemaOf(NARROW),
    seed,
  });
  const leaf = replay.newPickSelector(prioritized());
  const mixed = replay.newPickSelector(
    mixture([{ selector: leaf, share: 2 }, { rule: uniform(), share: 1 }]),
  );
  const worker = new Worker(new URL("./_turn_worker.ts", import.meta.url), { type: "module" });
  const turn = (message: Turn): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage(message);
    });
  const drawn: number[] = [];
  await turn({ ticket: replay.share(), seed });
  for (let k = 0; k < TURNS; k++) {
    // The actor records, and draws a batch of its own by the learner's selector.
    drawn.push(...await turn({ steps: 2 + (k * 7) % 40 }));
    const batch = replay.getBatch(32, mixed);
    checkWhole(batch);
    drawn.push(...batch.pickEpisode, ...batch.pickPosition, ...batch.probability);
    replay.setPriority(mixed, batch, Float32Array.from(batch.pickPosition, (t) => 1 + t % 5));
    if (k % 10 === 9) drawn.push(...replay.drain({ minSteps: 1, keep: true }).state);
  }
  await turn({ ends: true });
  worker.terminate();
  return { drawn, snapshot: await replay.serialize() };
}

native.test(`with one actor in lock-step, two runs are the same bit for bit (seed ${SEED})`, async () => {
  const [one, other, another] = [await run(SEED), await run(SEED), await run(SEED + 1)];
  assertEquals(one.drawn, other.drawn);
  assertEquals(one.snapshot, other.snapshot);
  // The comparison would see a difference.
  assertStrictEquals(one.drawn.every((value, k) => value === another.drawn[k]), false);
});
