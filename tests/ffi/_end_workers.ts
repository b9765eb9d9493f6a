/**
 * Ends Workers at random moments of their calls, in a process of its own, which a test can watch crash:
 * `deno run … _end_workers.ts <seed> <how many Workers> <how many at once>`. Afterwards no replay may be left, and the kernel must work.
 *
 * The main thread does not open the kernel before the end: the Workers' isolates are the only ones that hold it.
 *
 * @module
 */

import { openKernel } from "../../ffi/library.ts";
import { testRandom } from "../replay/_helpers.ts";
import { CALLS, ENDINGS, type Job } from "./_worker_calls.ts";
import { inTime, pause, until } from "../_wait.ts";

const [seed = 1, count = 1, atOnce = 1] = Deno.args.map(Number);
const below = testRandom(seed);

/** Starts a Worker and ends it `delayMs` after it is in the middle of its calls. */
async function endOne({ delayMs, ...job }: Job & { readonly delayMs: number }): Promise<void> {
  const name = JSON.stringify(job);
  const worker = new Worker(new URL("./_worker_calls.ts", import.meta.url), {
    type: "module",
    name,
  });
  const awaited = job.ending === "terminate" ? "ready" : "ending";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.onmessage = ({ data }) => {
    if (data === awaited) resolve();
  };
  worker.onerror = (event) => {
    event.preventDefault();
    if (event.message.includes("planned")) resolve();
    else reject(new Error(`${name}: ${event.message}`));
  };
  await inTime(`${awaited}: ${name}`, promise);
  await pause(delayMs);
  worker.terminate();
}

// Every call meets every ending, as their counts have no common factor.
const jobs = Array.from({ length: count }, (_, k) => ({
  call: CALLS[k % CALLS.length] ?? "record",
  ending: ENDINGS[k % ENDINGS.length] ?? "terminate",
  turns: below(40),
  delayMs: below(25),
}));
await Promise.all(Array.from({ length: atOnce }, async () => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await endOne(job);
}));

// Threads of the operating system end a little later than their Workers.
const { symbols } = await openKernel();
await until("no replay of a Worker is left", () => symbols.exrp_replay_count() === 0);
const { ExperienceReplay, float32, uniform } = await import("@exrp/replay");
const replay = await ExperienceReplay.create({ capacity: 1000, state: float32(1) });
for (let k = 0; k < 500; k++) replay.record(replay.newEpisode(), [k], 0, 0, { finalState: [0] });
replay.getBatch(100, replay.newPickSelector(uniform()));
if (symbols.exrp_replay_count() !== 1) Deno.exit(2);
console.log(`${count} Workers ended`);
