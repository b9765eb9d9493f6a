/**
 * How long batches with transforms take, divided by the time of plain batches of as many bytes. This probe has the table of
 * `docs/internals/performance.md`, "Transforms".
 *
 *     deno run -A bench/probe/transforms.ts
 *     deno run -A bench/probe/transforms.ts normalize 64
 *
 * The words after the name choose rows by a part of what they say, and sizes. Both kinds of batches take turns, and minima are compared.
 *
 * @module
 */
import { ExperienceReplay, float16, float32, type PickOptions, uint8, uniform } from "@exrp/replay";
import {
  clip,
  normalize,
  type PickTransforms,
  randomShift,
  toFloat16,
  toFloat32,
} from "@exrp/replay/transforms";

type DTypeName = "uint8" | "float16" | "float32";
const ARRAYS = { uint8: Uint8Array, float16: Float16Array, float32: Float32Array };
const COLUMNS = { uint8, float16, float32 };

/** What is drawn: frames that become stacks, or vectors. */
interface Shape {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly capacity: number;
  readonly pick: PickOptions;
}
const FRAMES: Shape = { name: "stacks", sizes: [84, 84], capacity: 4000, pick: { stack: 4 } };
const VECTORS: Shape = { name: "vectors of 15", sizes: [15], capacity: 1 << 16, pick: {} };

interface Row {
  readonly of: Shape;
  readonly from: DTypeName;
  /** The type of a plain batch of as many bytes. */
  readonly to: DTypeName;
  readonly what: string;
  readonly state: PickTransforms["state"];
}

const scaled = toFloat32({ scale: 1 / 255 });
const half = toFloat16({ scale: 1 / 255 });
const shift = randomShift(4);
const ROWS: readonly Row[] = [
  { of: FRAMES, from: "uint8", to: "float32", what: "toFloat32", state: [scaled] },
  {
    of: FRAMES,
    from: "uint8",
    to: "float32",
    what: "toFloat32 with offset, clip",
    state: [toFloat32({ scale: 1 / 255, offset: -0.5 }), clip(-0.4, 0.4)],
  },
  { of: FRAMES, from: "uint8", to: "float32", what: "normalize", state: [normalize()] },
  { of: FRAMES, from: "uint8", to: "float16", what: "toFloat16", state: [half] },
  {
    of: FRAMES,
    from: "uint8",
    to: "float16",
    what: "normalize, toFloat16",
    state: [normalize(), toFloat16()],
  },
  { of: FRAMES, from: "uint8", to: "uint8", what: "randomShift", state: [shift] },
  {
    of: FRAMES,
    from: "uint8",
    to: "float32",
    what: "randomShift, toFloat32",
    state: [shift, scaled],
  },
  {
    of: FRAMES,
    from: "uint8",
    to: "float16",
    what: "randomShift, toFloat16",
    state: [shift, half],
  },
  { of: VECTORS, from: "float32", to: "float32", what: "toFloat32", state: [scaled] },
  { of: VECTORS, from: "float32", to: "float32", what: "normalize", state: [normalize()] },
  { of: VECTORS, from: "float32", to: "float16", what: "toFloat16", state: [half] },
];
const COUNTS = [16, 64, 256];

/** A full replay, and one more record than it holds. */
async function filled({ sizes, capacity }: Shape, dtype: DTypeName): Promise<ExperienceReplay> {
  const length = 200;
  const column = COLUMNS[dtype];
  const state = sizes.length === 1 ? column(sizes[0] ?? 1) : column(84, 84);
  const replay = await ExperienceReplay.create({ capacity, state, segmentLength: length, seed: 1 });
  const width = state.elementCount;
  const steps = {
    state: new ARRAYS[dtype](Array.from({ length: length * width }, (_, k) => k * 7 % 251)),
    action: new Int32Array(length),
    reward: new Float32Array(length),
    finalState: new ARRAYS[dtype](width),
  };
  for (let count = 0; count < capacity; count += length) {
    replay.recordMany(replay.newEpisode(), steps as never);
  }
  return replay as unknown as ExperienceReplay;
}

/** The minima of calls that take turns, in µs. */
function minima(calls: readonly (() => void)[], turnMs: number, turns: number): number[] {
  const repeats = calls.map((call) => {
    call();
    const start = performance.now();
    call();
    return Math.max(1, Math.ceil(turnMs / Math.max(performance.now() - start, 1e-3)));
  });
  const least = calls.map(() => Infinity);
  for (let turn = 0; turn < turns; turn++) {
    for (const [k, call] of calls.entries()) {
      const count = repeats[k] ?? 1;
      const start = performance.now();
      for (let repeat = 0; repeat < count; repeat++) call();
      least[k] = Math.min(least[k] ?? Infinity, (performance.now() - start) * 1e3 / count);
    }
  }
  return least;
}

/** Draws batches of so many picks, each into the same memory. */
function drawers(replay: ExperienceReplay, options: PickOptions): (count: number) => () => void {
  const selector = replay.newPickView(options).newPickSelector(uniform());
  return (count) => {
    const into = replay.getBatch(count, selector);
    return () => void replay.getBatch(count, selector, { into });
  };
}

const words = Deno.args.filter((word) => !/^\d+$/.test(word));
const counts = Deno.args.filter((word) => /^\d+$/.test(word)).map(Number);
const turns = Number(Deno.env.get("TURNS") ?? 60);
const asked = counts.length > 0 ? counts : COUNTS;
console.log(`| batch | ${asked.map((count) => `${count} picks`).join(" | ")} |`);
console.log(`|---|${asked.map(() => "---:|").join("")}`);
const replays = new Map<string, ExperienceReplay>();
const plainDrawers = new Map<string, ReturnType<typeof drawers>>();
for (const { of, from, to, what, state } of ROWS) {
  const name = `${of.name}, ${what}`;
  if (!words.every((word) => name.includes(word))) continue;
  for (const dtype of [from, to]) {
    const key = `${of.name} ${dtype}`;
    if (replays.has(key)) continue;
    const replay = await filled(of, dtype);
    replays.set(key, replay);
    plainDrawers.set(key, drawers(replay, of.pick));
  }
  const stored = replays.get(`${of.name} ${from}`) as ExperienceReplay;
  const plain = plainDrawers.get(`${of.name} ${to}`) as ReturnType<typeof drawers>;
  const transformed = drawers(stored, { ...of.pick, transform: { state } } as PickOptions);
  const cells = asked.map((count) => {
    const [least = NaN, ofTransformed = NaN] = minima([plain(count), transformed(count)], 2, turns);
    return `${(ofTransformed / least).toFixed(2)} of ${least.toFixed(1)}`;
  });
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
