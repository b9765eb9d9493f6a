/**
 * A program in which `length` of typed arrays lies. It makes calls that give arrays of the library's own to the kernel, and prints how many
 * of them succeeded. It takes the length that
 * they say, and the names of the prototypes; `TypedArray` is that of all.
 *
 * @module
 */

import { Broadcast } from "../../../actors/mod.ts";
import {
  ExperienceReplay,
  fifo,
  float32,
  minSize,
  prioritized,
  ucb,
  uniform,
} from "../../../mod.ts";
import { Tables } from "../../../tables/mod.ts";

const [lie = "0", ...names] = Deno.args;

const options = {
  capacity: 300,
  state: float32(2),
  seed: 1,
  extras: { logProb: float32() },
} as const;
const replay = await ExperienceReplay.create(options);
const limited = await ExperienceReplay.create({ ...options, rateLimiter: minSize(1) });
const tables = await Tables.create({ tables: { t: { maxSize: 100 } }, seed: 1 });
const selector = replay.newPickSelector(prioritized());
replay.newPickSelector(ucb());
const many = {
  state: Float32Array.of(1, 1, 2, 2),
  action: Int32Array.of(0, 0),
  reward: Float32Array.of(0, 0),
  extras: { logProb: Float32Array.of(0, 0) },
};
const finalState = Float32Array.of(3, 3);
const ended = { nextState: new Float32Array(4), terminated: [false, true] };
const add = { extras: { logProb: 0 } };
for (const each of [replay, limited]) {
  const handle = each.newEpisode();
  for (let k = 0; k < 20; k++) each.record(handle, [k, k], 0, 0, add);
  each.recordMany(each.newEpisode(), { ...many, finalState });
}
const batch = replay.getBatch(8, selector);
const saved = await replay.serialize();
const open = replay.newEpisode();

const CALLS: Record<string, () => unknown> = {
  create: () => ExperienceReplay.create(options),
  createEvicting: () => ExperienceReplay.create({ ...options, eviction: fifo(), maxAge: 9 }),
  newPickView: () => replay.newPickView({ nStep: 3 }),
  newPickSelector: () => replay.newPickSelector(uniform()),
  record: () => replay.record(open, [1, 1], 0, 0, add),
  recordStep: () =>
    replay.recordStep(open, {
      state: [1, 1],
      action: 0,
      reward: 0,
      nextState: [2, 2],
      terminated: false,
      ...add,
    }),
  recordMany: () => replay.recordMany(open, many),
  recordBatch: () =>
    replay.recordBatch(Float64Array.of(open, replay.newEpisode()), { ...many, ...ended }),
  recordFlat: () => replay.recordFlat(replay.newEpisode(), { ...many, ...ended }),
  endEpisode: () => replay.endEpisode(open, { finalState }),
  getBatch: () => replay.getBatch(8, selector),
  getBatchInto: () => replay.getBatch(8, selector, { into: batch }),
  setPriority: () => replay.setPriority(selector, batch, new Float32Array(8)),
  getPriority: () => replay.getPriority(selector, batch),
  minibatches: () => [...replay.minibatches(7)],
  drain: () => limited.drain({}),
  episodes: () => replay.episodes({ best: 2 }),
  episodeRecords: () => replay.episodeRecords(batch.pickEpisode[0] ?? 0),
  stats: () => replay.stats(),
  describe: () => replay.describe(),
  memoryBytes: () => replay.memoryBytes,
  clear: () => limited.clear(),
  serialize: () => replay.serialize(),
  unserialize: () => limited.unserialize(saved),
  share: () => replay.share(),
  tablesCreate: () => Tables.create({ tables: { t: { maxSize: 100 } } }),
  tablesInsert: () => tables.table("t").insert({ a: Float32Array.of(1, 2) }),
  tablesSample: () => tables.table("t").getBatch(3, { timeoutMs: 0 }),
  tablesInfo: () => [tables.table("t").info(), tables.table("t").items(), tables.info()],
  tablesChange: () => tables.table("t").setPriority([1n], [2]),
  tablesSerialize: () => tables.serialize(),
  broadcast: () => Broadcast.create({ w: new Float32Array(4) }).read(),
};

let came = 0;
for (const [name, call] of Object.entries(CALLS)) {
  const undo = names.map(pollute);
  // If the process ends, the last name says by which call.
  console.error(name);
  try {
    await call();
    came++;
  } catch {
    // A call may fail by what lies. It must not end the process.
  } finally {
    for (const each of undo) each();
  }
}
// The kernel still stands.
replay.record(replay.newEpisode(), [1, 1], 0, 0, add);
console.log(`${came} of ${Object.keys(CALLS).length}, ${replay.getBatch(8, selector).size} picks`);

function pollute(name: string): () => void {
  const prototype: object = name === "TypedArray"
    ? Object.getPrototypeOf(Uint8Array.prototype)
    : Reflect.get(globalThis, name).prototype;
  const before = Object.getOwnPropertyDescriptor(prototype, "length");
  Object.defineProperty(prototype, "length", { get: () => Number(lie), configurable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(prototype, "length");
    else Object.defineProperty(prototype, "length", before);
  };
}
