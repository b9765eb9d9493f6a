/** The programs that run with the npm package in Node, Bun, Deno and Chromium. */
import { readManifest } from "../../tools/_package.ts";

const { name } = await readManifest();

/** Records 300 steps, draws a batch, and sets its priorities. */
const RECORDED = `const selector = replay.newPickSelector(prioritized());
const environment = new CartPole(1);
let [state, episode] = [environment.reset(), replay.newEpisode()];
for (let step = 0; step < 300; step++) {
  const { state: next, reward, terminated } = environment.step(step % 2);
  episode = replay.record(episode, state, step % 2, reward, terminated ? { finalState: next } : {});
  if (terminated) episode = replay.newEpisode();
  state = terminated ? environment.reset() : next;
}
const batch = replay.getBatch(32, selector);
replay.setPriority(selector, batch, Float32Array.from({ length: 32 }, (_, k) => k / 32));
`;

/** Plain JavaScript without `using`, which Node 20 and 22 do not read. */
export const PROGRAM = `import { ExperienceReplay, float16, float32, prioritized } from "${name}";
import { CartPole } from "${name}/envs";

const lines = [];
const make = () => ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 1, pick: { nStep: 3 } });
const replay = await make();
${RECORDED}lines.push(JSON.stringify([...batch.state]));

await replay.serialize("replay.exrp");
const second = await make();
const again = second.newPickSelector(prioritized());
await second.unserialize("replay.exrp");
lines.push(JSON.stringify([...second.getBatch(64, again).state]));
await replay.serialize("replay.exrp");

if (typeof Float16Array === "undefined") {
  try { float16(2); } catch (error) { lines.push(error.message); }
} else lines.push("float16() needs Float16Array, and it is there: " + float16(2).elementBytes);
const { backend } = replay.describe();
second[Symbol.dispose]();
replay[Symbol.dispose]();
console.log(JSON.stringify({ backend: String(backend).split(":")[0], lines }));
`;

/** What a program without top-level `await` prints, which other formats than ESM don't have. */
export const SCRIPT = `import { ExperienceReplay, float32 } from "${name}";
ExperienceReplay.create({ capacity: 9, state: float32(2) }).then((replay) => {
  globalThis.told = replay.capacity + " " + replay.describe().kernel;
  console.log(globalThis.told);
});
`;

/** Records, draws and saves; tells what it drew before and after, and what it saved. */
export const PAGE = `import { ExperienceReplay, float32, prioritized } from "${name}";
import { CartPole } from "${name}/envs";

const replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 1, pick: { nStep: 3 } });
${RECORDED}const saved = [...await replay.serialize()];
const backend = replay.describe().backend.split(":")[0];
globalThis.told = { backend, drawn: [...batch.state], saved, then: [...replay.getBatch(64, selector).state] };
console.log(JSON.stringify(told));
`;

/** Puts in place of `Symbol` one that has all but `dispose` and `asyncDispose`, as in browsers that lack it. */
export const WITHOUT_DISPOSE = `const real = Symbol;
globalThis.Symbol = Object.assign((name) => real(name), { prototype: real.prototype });
for (const key of Reflect.ownKeys(real)) {
  if (!/^(dispose|asyncDispose|prototype)$/.test(String(key))) Object.defineProperty(Symbol, key, Object.getOwnPropertyDescriptor(real, key));
}
if (Symbol.dispose !== undefined || Symbol.asyncDispose !== undefined || Symbol.for("a") !== real.for("a")) throw new Error("Symbol is as it was");
`;

/** Goes on with a durable replay, and prints how many records there ever were and what was drawn next. */
export const DURABLE = `import { ExperienceReplay, float32, prioritized } from "${name}";
const options = { capacity: 100, state: float32(1), seed: 1, flushIntervalMs: 0 };
const replay = await ExperienceReplay.open("folder", options);
const selector = replay.selectors[0] ?? replay.newPickSelector(prioritized());
let episode = replay.newEpisode();
for (let k = 0; k < 70; k++) episode = replay.record(episode, [k], 0, k);
await replay.flush();
const { reward } = replay.getBatch(4, selector);
await replay.flush();
console.log(replay.describe().recordedCount, reward.join());
replay[Symbol.dispose]();
`;
