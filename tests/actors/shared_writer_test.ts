/** ActorWriters in Workers on one shared replay: nothing is lost, doubled or out of order, with a rate limiter and without. */
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { ExperienceReplay, float64, int32, prioritized, samplesPerInsert } from "@exrp/replay";
import type { WriterJob } from "./_writer_worker.ts";
import { native } from "../_native.ts";

const SEED = Number(Deno.env.get("EXRP_WRITER_SEED") ?? 261123);
const ACTORS = 3;
const STEPS = amount(1_000, 3_000);

/** Runs a Worker to its end. */
async function runWriter(job: WriterJob): Promise<void> {
  const worker = new Worker(new URL("./_writer_worker.ts", import.meta.url), { type: "module" });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.onmessage = () => resolve();
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(`actor ${job.tag}, seed ${SEED}: ${event.message}`));
  };
  worker.postMessage(job);
  await promise.finally(() => worker.terminate());
}

for (const rateLimiter of ["with", "without"]) {
  native.test(`${ACTORS} Workers write ${STEPS} steps each ${rateLimiter} a rate limiter: each step is there once, in order (seed ${SEED})`, async () => {
    using replay = await ExperienceReplay.create({
      capacity: 2 * ACTORS * STEPS,
      state: float64(),
      extras: { actor: int32() },
    });
    const selector = replay.newPickSelector(prioritized());
    // A chunk has at most 60 records, and each actor may have one on its way.
    if (rateLimiter === "with") {
      replay.setRateLimiter(samplesPerInsert(2, { minSize: 100, error: 600 }));
    }
    const ticket = replay.share();
    let isOver = false;
    const writers = Promise.all(
      Array.from(
        { length: ACTORS },
        (_, tag) => runWriter({ ticket, tag, steps: STEPS, seed: SEED + tag }),
      ),
    ).finally(() => isOver = true);
    let drawn = 0;
    while (!isOver && rateLimiter === "with") {
      // The learner goes on until the actors are done. It may wait for them, so it has a time limit.
      try {
        const batch = await replay.whenReady(() => replay.getBatch(64, selector), {
          timeoutMs: 200,
        });
        replay.setPriority(selector, batch, new Float32Array(64).fill(0.5));
        drawn += 64;
      } catch (error) {
        assertStrictEquals(Reflect.get(error as object, "code"), "timeout");
      }
    }
    await writers;
    if (rateLimiter === "with") assertStrictEquals(replay.rateLimiter?.drawn, drawn);
    const counts = new Int32Array(ACTORS);
    const { state, extras } = replay.drain();
    // Episodes come from the oldest to the newest, so those of one actor are in order.
    for (const [k, actor] of extras.actor.entries()) {
      assertStrictEquals(state[k], counts[actor], `seed ${SEED}, actor ${actor}`);
      counts[actor] = (counts[actor] ?? 0) + 1;
    }
    assertEquals([...counts], new Array(ACTORS).fill(STEPS));
    for (const handle of replay.episodes().handle) {
      const { ending, recordCount } = replay.episode(handle);
      assertEquals([ending === "open", recordCount > 0], [false, true], `seed ${SEED}`);
    }
  });
}
