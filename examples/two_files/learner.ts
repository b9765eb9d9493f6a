/**
 * A small Ape-X agent for CartPole (Horgan et al. 2018). This program learns, and actors in Workers (`actor.ts`) play.
 *
 * Run it in the clone, after `deno task build`:
 * `deno run --allow-read=. --allow-ffi=zig-out/lib examples/two_files/learner.ts`
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized, samplesPerInsert } from "@exrp/replay";
import { Broadcast, endActor } from "@exrp/replay/actors";
import { CartPole } from "@exrp/replay/envs";
import type { Job, Told } from "./actor.ts";
import { newWeights, update, valuesOf } from "./network.ts";

const [STEPS, BATCH, ACTORS] = [Number(Deno.args[0] ?? 60_000), 64, 3];

using replay = await ExperienceReplay.create({
  capacity: 20_000,
  state: float32(4),
  pick: { nStep: 3, discount: 0.99 },
  // Whoever is ahead waits: 8 picks for each step, so one batch for 8 steps.
  rateLimiter: samplesPerInsert(8, { minSize: 1000, error: 4000 }),
});
const selector = replay.newPickSelector(prioritized({ alpha: 0.6 })); // before share()
const weights = newWeights();
const broadcast = Broadcast.create({ weights, stop: Uint8Array.of(0) });

// Start the actors. `failed` rejects if one of them throws.
const failed = Promise.withResolvers<never>();
failed.promise.catch(() => {}); // told by Promise.race below
const returns: number[] = [];
const actors: { readonly worker: Worker; readonly ticket: Job["replay"] }[] = [];
const left: Promise<void>[] = []; // one for each actor
for (let index = 0; index < ACTORS; index++) {
  const worker = new Worker(new URL("./actor.ts", import.meta.url), { type: "module" });
  const done = Promise.withResolvers<void>();
  worker.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data === "done") done.resolve();
    else returns.push(data.episodeReturn);
  };
  worker.onerror = (event) => {
    event.preventDefault(); // or Deno ends this program at once
    failed.reject(new Error(`actor ${index}: ${event.message}`));
  };
  const ticket = replay.share(); // one for each actor
  const job: Job = { replay: ticket, broadcast: broadcast.ticket, index, count: ACTORS };
  worker.postMessage(job);
  actors.push({ worker, ticket });
  left.push(done.promise);
}

try {
  for (let count = 1; (replay.rateLimiter?.recorded ?? 0) < STEPS; count++) {
    // Waits until the rate limiter lets the batch go. If all actors are gone, the time limit ends the wait.
    const drawn = replay.whenReady(() => replay.getBatch(BATCH, selector, { beta: 0.4 }), {
      timeoutMs: 60_000,
    });
    const batch = await Promise.race([drawn, failed.promise]);

    const [{ reward, nextState, discount }] = batch.nStep;
    const weight = batch.importanceWeight;
    const { state, action } = batch;
    const errors = update(weights, { state, action, reward, nextState, discount, weight });
    replay.setPriority(selector, batch, errors.map(Math.abs));

    if (count % 10 === 0) {
      broadcast.publish({ weights, stop: Uint8Array.of(0) });
      await new Promise((resolve) => setTimeout(resolve)); // lets the actors' messages come in
    }
    if (count % 1000 === 0) {
      const last = returns.slice(-30);
      const mean = last.reduce((sum, each) => sum + each, 0) / last.length;
      console.log(
        `${replay.rateLimiter?.recorded} steps, the last episodes earn ${mean.toFixed(0)}`,
      );
    }
  }

  // The end: tell the actors, let those go on that wait for the rate limiter, and wait until all have left.
  broadcast.publish({ weights, stop: Uint8Array.of(1) });
  replay.setRateLimiter(undefined);
  await Promise.race([Promise.all(left), failed.promise]);
} finally {
  for (const { worker, ticket } of actors) endActor(replay, worker, ticket); // after an error, too
}

// Play without exploring.
const environment = new CartPole(1_000_000);
let total = 0;
for (let episode = 0; episode < 10; episode++) {
  let state = environment.reset();
  for (let isOver = false; !isOver; total++) {
    const values = valuesOf(weights, state);
    const step = environment.step(values[1] > values[0] ? 1 : 0);
    state = step.state;
    isOver = step.terminated || step.truncated;
  }
}
console.log(`10 episodes without exploring earn ${total / 10} on average, of 500`);
