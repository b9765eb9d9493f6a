/**
 * A program that draws wide batches and then ends: `deno run … _wide_batches.ts <seed> <how it ends>`. It prints a digest of what it drew.
 *
 * @module
 */

import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
import { pause } from "../../_wait.ts";
import { noise } from "../../_noise.ts";
import { testRandom } from "../_helpers.ts";

const [seed = "1", ending = "end"] = Deno.args;
const below = testRandom(Number(seed));

// The types of a Worker's global scope are not those of the main thread's.
const self = globalThis as unknown as { readonly name: string; postMessage(said: string): void };

/** A replay of random frames and options, whose batches take some megabytes. */
async function draw(turns: number): Promise<string> {
  const side = 20 + below(60);
  const stack = 1 + below(4);
  const stackCompact = below(2) === 0;
  const length = 1 + below(4);
  const nextState = stackCompact ? undefined : (["copy", "overlap", false] as const)[below(3)];
  using replay = await ExperienceReplay.create({
    capacity: 500,
    state: uint8(side, side),
    extras: { other: uint8(2000) },
    pick: {
      ...{ stack, length, allowShort: below(2) === 0 },
      ...(stackCompact && stack > 1 ? { stackCompact } : {}),
      ...(nextState === undefined ? {} : { nextState }),
    },
    seed: Number(seed),
  });
  for (let count = 0; count < 500;) {
    const steps = 1 + below(40);
    replay.recordMany(replay.newEpisode(), {
      state: noise(steps * side * side, below(2 ** 31)),
      action: new Int32Array(steps),
      reward: new Float32Array(steps),
      extras: { other: noise(steps * 2000, below(2 ** 31)) },
      finalState: new Uint8Array(side * side).fill(7),
    });
    count += steps;
  }
  const selector = replay.newPickSelector(uniform());
  const size = 1 + Math.floor(3e6 / (side * side * stack * length));
  let into = replay.getBatch(size, selector);
  let digest = "";
  for (let turn = 0; turn < turns; turn++) {
    into = replay.getBatch(size, selector, { into });
    const hash = await crypto.subtle.digest("SHA-256", into.bytes);
    digest += new Uint8Array(hash).toHex().slice(0, 16);
  }
  return `${side} ${stack} ${length} ${stackCompact} ${nextState} ${into.bytes.length} ${digest}`;
}

/** Draws for ever, in a Worker. */
async function drawForEver(): Promise<never> {
  using replay = await ExperienceReplay.create({ capacity: 300, state: uint8(84, 84), seed: 1 });
  const frames = new Uint8Array(200 * 84 * 84).fill(3);
  const columns = { action: new Int32Array(200), reward: new Float32Array(200) };
  replay.recordMany(replay.newEpisode(), { state: frames, ...columns });
  const selector = replay.newPickSelector(uniform());
  let into = replay.getBatch(1000, selector);
  for (let turn = 0;; turn++) {
    into = replay.getBatch(1000, selector, { into });
    if (turn === 3) self.postMessage("drawing");
    // Deno ends a Worker between its calls to the event loop.
    if (turn % 8 === 7) await pause(0);
  }
}

if (self.name === "drawing") await drawForEver();
console.log(await draw(3));
if (ending === "terminate" || ending === "exitBeside") {
  for (let k = 0; k < 6; k++) {
    const worker = new Worker(import.meta.url, { type: "module", name: "drawing" });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    worker.onmessage = resolve;
    worker.onerror = reject;
    await promise;
    if (ending === "exitBeside" && k === 1) Deno.exit(5);
    if (ending === "terminate" && k % 2 === 1) await pause(below(5));
    if (ending === "terminate") worker.terminate();
  }
  // The second thread still works.
  console.log(await draw(3));
}
if (ending === "exit") Deno.exit(5);
if (ending === "throw") throw new Error("planned");
