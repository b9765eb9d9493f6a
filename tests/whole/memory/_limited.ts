/**
 * A program that fills a large replay in a process that may not have enough memory for it: `setrlimit(RLIMIT_DATA)` counts the memory that
 * can be written to, as a system that overcommits nothing does. It prints what happened as JSON.
 *
 * @module
 */

import { ExperienceReplay, float32, prioritized, ReplayError } from "../../../mod.ts";
import type { Limited } from "./_measure.ts";

const RLIMIT_DATA = 2;
const MANY = 1000;

const libc = Deno.dlopen("libc.so.6", {
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
});

function dataBytes(): number {
  const line = /^VmData:\s+(\d+)/m.exec(Deno.readTextFileSync("/proc/self/status"));
  return 1024 * Number(line?.[1]);
}

function setLimit(limit: BigUint64Array<ArrayBuffer>): void {
  if (libc.symbols.setrlimit(RLIMIT_DATA, limit) !== 0) throw new Error("setrlimit() failed");
}

const before = new BigUint64Array(2);
if (libc.symbols.getrlimit(RLIMIT_DATA, before) !== 0) throw new Error("getrlimit() failed");

// 400 MB when it is full, and its table and selector as much again.
using replay = await ExperienceReplay.create({ capacity: 2 ** 24, state: float32(4) });
const selector = replay.newPickSelector(prioritized());
const steps = {
  state: new Float32Array(4 * MANY),
  action: new Int32Array(MANY),
  reward: new Float32Array(MANY),
};
const write = (): void => {
  const number = replay.recordCount / MANY;
  steps.state.fill(number);
  replay.recordMany(episode, steps);
};
const episode = replay.newEpisode();
for (let times = 0; times < 10; times++) write();

const tight = new BigUint64Array(before);
tight[0] = BigInt(dataBytes() + 64 * 2 ** 20);
setLimit(tight);
let refusal: unknown;
while (refusal === undefined && replay.recordCount < replay.capacity) {
  try {
    write();
  } catch (error) {
    refusal = error;
  }
}
setLimit(before);
const refusedAt = replay.recordCount;
for (let times = 0; times < 100; times++) write();
// Each record has the number of its call.
const { state, pickPosition } = replay.getBatch(5000, selector);
const wrong = pickPosition.reduce(
  (sum, position, k) => state[4 * k] === Math.floor(position / MANY) ? sum : sum + 1,
  0,
);
const limited: Limited = {
  refusal: refusal instanceof ReplayError ? `${refusal.code}: ${refusal.message}` : String(refusal),
  refusedAt,
  wentOnTo: replay.recordCount,
  wrong,
};
console.log(JSON.stringify(limited));
