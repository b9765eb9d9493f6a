// deno-lint-ignore-file explicit-function-return-type -- JavaScript has no types
/**
 * Tries the package as its users have it, in Deno, Node or Bun: `deno run -A tools/smoke.mjs [BACKEND] [DIGEST]`.
 *
 * It records, draws, sets priorities, saves and loads. It prints the backend and a digest of everything that was drawn. The same
 * seed gives the same batches everywhere, so the digest must be the same on every system: the release compares them.
 *
 * BACKEND is `native`, `wasm` or `any`; another backend than this is an error. DIGEST is the digest that must come out.
 *
 * @module
 */
import * as library from "@exrp/replay";
import { gae } from "@exrp/replay/returns";
import process from "node:process";

const { ExperienceReplay, float32, int32, uint8 } = library;
const rules = [
  "uniform",
  "withoutReplacement",
  "prioritized",
  "rankBased",
  "pser",
  "curious",
  "ucb",
  "newest",
  "oldest",
  "highestPriority",
  "lowestPriority",
];

function newReplay() {
  return ExperienceReplay.create({
    capacity: 2000,
    state: float32(3),
    action: int32(),
    extras: { flag: uint8() },
    pick: { length: 4, allowShort: true, nStep: 3, discount: 0.99 },
    eviction: library.secondChance(),
    seed: 2026,
  });
}

/** Records episodes of 1 to 40 steps, from a small generator of numbers. */
function recordEpisodes(replay) {
  let state = 1;
  const next = () => state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  for (let run = 0; run < 150; run++) {
    let episode = replay.newEpisode();
    const length = 1 + next() % 40;
    for (let t = 0; t < length; t++) {
      const values = [next() / 2 ** 31, t, run];
      const options = { extras: { flag: next() % 2 }, priority: 1 + next() % 8 };
      if (t === length - 1) {
        Object.assign(options, { finalState: [0, t + 1, run], truncated: run % 3 === 0 });
      }
      episode = replay.record(episode, values, next() % 5, next() / 2 ** 31, options);
    }
  }
}

/** The bytes of all typed arrays of a batch, in a fixed order. */
function* arraysOf(batch) {
  const { state, action, reward, discount, seqLen, pickEpisode, pickPosition } = batch;
  yield* [state, action, reward, discount, seqLen, pickEpisode, pickPosition];
  yield* [batch.extras.flag, batch.probability, batch.importanceWeight];
  for (const part of batch.nStep) yield* [part.reward, part.nextState, part.discount];
}

async function sha256(arrays) {
  const bytes = arrays.map(({ buffer, byteOffset, byteLength }) =>
    new Uint8Array(buffer, byteOffset, byteLength)
  );
  const all = new Uint8Array(bytes.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const each of bytes) {
    all.set(each, at);
    at += each.length;
  }
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function draw(replay, selectors, seen) {
  for (let turn = 0; turn < 20; turn++) {
    for (const selector of selectors) {
      const batch = replay.getBatch(32, selector, { beta: 0.4 });
      for (const array of arraysOf(batch)) seen.push(array.slice());
      const errors = batch.reward.filter((_, k) => k % 4 === 0).map((reward) => reward + 0.1);
      replay.setPriority(selector, batch, errors);
    }
  }
}

const [expectedBackend = "any", expectedDigest] = process.argv.slice(2);
const replay = await newReplay();
const selectors = rules.map((rule) => replay.newPickSelector(library[rule]()));
recordEpisodes(replay);
const seen = [];
draw(replay, selectors, seen);
const snapshot = await replay.serialize();
const second = await newReplay();
const again = rules.map((rule) => second.newPickSelector(library[rule]()));
await second.unserialize(snapshot);
draw(second, again, seen);
const { reward, discount } = replay.getBatch(16, selectors[0]);
const zeros = new Float32Array(reward.length);
const { advantage } = gae({
  reward,
  value: zeros,
  nextValue: zeros,
  discount,
  seqLen: Array(16).fill(4),
});
seen.push(advantage);

const backend = replay.describe().backend;
const digest = await sha256(seen);
console.log(`${backend}\n${digest}`);
replay[Symbol.dispose]();
second[Symbol.dispose]();
if (expectedBackend !== "any" && !backend.startsWith(expectedBackend)) {
  console.error(`the backend is ${backend}, but ${expectedBackend} was expected`);
  process.exitCode = 1;
}
if (expectedDigest !== undefined && digest !== expectedDigest) {
  console.error(`the digest is ${digest}, but ${expectedDigest} was expected`);
  process.exitCode = 1;
}
