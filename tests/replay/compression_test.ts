/** The option `compression`: the same batches, rows and snapshots as without, in less memory, also after updates, in a folder, and on a shared replay. */
import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { ExperienceReplay, float32, prioritized, uint8 } from "@exrp/replay";
import { normalize, randomShift, toFloat32 } from "@exrp/replay/transforms";
import type { Compression } from "@exrp/replay/types";
import { native } from "../_native.ts";
import { testRandom } from "./_helpers.ts";

const SIDE = 28;
const FRAME = SIDE * SIDE;

const OPTIONS = {
  capacity: 600,
  state: { image: uint8(SIDE, SIDE), speed: float32(3) },
  action: float32(40),
  extras: { wide: float32(50), small: uint8() },
  seed: 5,
} as const;

const PICKS = [
  { stack: { image: 4, speed: 1 } },
  { stack: 3, nextState: "overlap" },
  { stack: 4, stackCompact: true },
  { length: 7, burnIn: 3 },
  { length: 5, stack: 2, reversed: true },
  { length: 20, allowShort: true, nStep: [1, 5] },
  { nStep: 3, stack: 4, stackPadding: "zeros", nextState: false },
  { length: 4, before: 2, allowOpenEnd: true },
  {
    stack: 2,
    transform: {
      state: { image: [normalize(), randomShift(3)], speed: [] },
      extras: { wide: [toFloat32({ scale: 2 })] },
    },
  },
] as const;

/** A replay of any pick: the types of so many options say nothing here. */
type Any = ExperienceReplay;
// deno-lint-ignore no-explicit-any -- the values of columns of any replay
type Values = any;

function make(options: object): Promise<Any> {
  return ExperienceReplay.create({ ...OPTIONS, ...options } as never) as Promise<
    unknown
  > as Promise<
    Any
  >;
}

/** Frames in which a square moves. One in ten is noise. */
function frame(t: number, random: (bound: number) => number): Uint8Array {
  const pixels = new Uint8Array(FRAME);
  const isNoise = t % 10 === 9;
  for (let at = 0; at < FRAME; at++) pixels[at] = isNoise ? random(256) : at >> 5;
  for (let at = 0; at < 16; at++) {
    pixels[((at >> 2) + t % 20) * SIDE + at % 4 + t % 7] = 200 + t % 9;
  }
  return pixels;
}

/** Records some episodes by all calls: one by one, many at once, and one of each of several. */
function fill(replay: Values, seed: number, count: number): void {
  const random = testRandom(seed);
  const state = (t: number) => ({ image: frame(t, random), speed: [t, 1, random(9)] });
  const wide = (t: number) => Array.from({ length: 50 }, (_, k) => k === t % 50 ? t : k);
  const action = (t: number) => Array.from({ length: 40 }, (_, k) => k + (k === 3 ? t : 0));
  const extras = (t: number) => ({ wide: wide(t), small: t % 256 });
  let t = 0;
  let episode = replay.newEpisode();
  while (t < count) {
    const steps = 1 + random(40);
    const kind = random(3);
    if (kind === 0) {
      for (let k = 0; k < steps; k++, t++) {
        const options = {
          extras: extras(t),
          ...(k + 1 < steps ? {} : { finalState: state(t + 1) }),
        };
        episode = replay.record(episode, state(t), action(t), t, options);
      }
      episode = replay.newEpisode();
      continue;
    }
    const states = Array.from({ length: steps }, (_, k) => state(t + k));
    const images = new Uint8Array(steps * FRAME);
    for (const [k, { image }] of states.entries()) images.set(image, k * FRAME);
    const all = {
      state: { image: images, speed: states.flatMap(({ speed }) => speed) },
      action: states.flatMap((_, k) => action(t + k)),
      reward: states.map((_, k) => t + k),
      extras: {
        wide: states.flatMap((_, k) => wide(t + k)),
        small: states.map((_, k) => (t + k) % 256),
      },
    };
    t += steps;
    if (kind === 1) {
      const ends = random(2) === 0 ? {} : { finalState: state(t), truncated: true };
      const next = replay.recordMany(episode, { ...all, ...ends });
      episode = "finalState" in ends ? replay.newEpisode() : next;
    } else {
      const handles = Float64Array.from(states, () => replay.newEpisode());
      const terminated = states.map((_, k) => k % 2 === 0);
      replay.recordBatch(handles, { ...all, nextState: all.state, terminated });
    }
  }
}

/** The bytes of all parts of a batch, by their names. */
function bytesOf(part: unknown, name = "batch"): [string, string][] {
  if (ArrayBuffer.isView(part)) {
    const { buffer, byteOffset, byteLength } = part;
    return [[
      name,
      `${byteLength} bytes of ${hash(new Uint8Array(buffer, byteOffset, byteLength))}`,
    ]];
  }
  if (typeof part !== "object" || part === null) return [[name, String(part)]];
  // `bytes` has what lies between the parts, too.
  return Object.entries(part).filter(([key]) => key !== "bytes")
    .flatMap(([key, value]) => bytesOf(value, `${name}.${key}`));
}

/** FNV-1a. */
function hash(bytes: Uint8Array): number {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

function same(one: Any, two: Any, what: string): void {
  const selectors = [one, two].map((replay) =>
    replay.selectors[0] ?? replay.newPickSelector(prioritized())
  );
  for (const size of [1, 33, 300]) {
    const [a, b] = [one, two].map((replay, k) => {
      const selector = selectors[k];
      assert(selector !== undefined);
      return bytesOf(replay.getBatch(size, selector as never));
    });
    assertEquals(a, b, `${what}, ${size} picks`);
  }
}

for (const [k, pick] of PICKS.entries()) {
  Deno.test(`batches are the same with compression: ${JSON.stringify(pick).slice(0, 70)}`, async () => {
    for (const compression of ["fast", "small"] as const) {
      const seed = 100 + k;
      using plain = await make({ pick });
      using packed = await make({ pick, compression });
      // More than they hold, so that blocks are used again.
      for (let round = 0; round < amount(2, 4); round++) {
        fill(plain, seed + round, 250);
        fill(packed, seed + round, 250);
        same(plain, packed, `seed ${seed}, ${compression}, round ${round}`);
      }
    }
  });
}

Deno.test("images take a fraction of the memory, and noise takes no more than without", async () => {
  const capacity = 3000;
  const bytesWith = async (compression: Compression, isNoise: boolean): Promise<number> => {
    using replay = await ExperienceReplay.create({
      ...{ capacity, state: uint8(84, 84), compression },
    });
    const pixels = Uint8Array.from({ length: 7056 }, (_, at) => at >> 6);
    const words = new Uint32Array(pixels.buffer);
    let state = 1;
    let episode = replay.newEpisode();
    for (let t = 0; t < capacity; t++) {
      pixels[t] = 9;
      // Noise by Marsaglia's xorshift.
      for (let at = 0; isNoise && at < words.length; at++) {
        state ^= state << 13;
        state ^= state >>> 17;
        words[at] = state ^= state << 5;
      }
      episode = replay.record(episode, pixels, 0, 0);
    }
    assertEquals(replay.describe().compression, compression);
    return replay.memoryBytes;
  };
  const plain = await bytesWith("none", false);
  const [fast, small] = [await bytesWith("fast", false), await bytesWith("small", false)];
  assertGreater(plain / fast, 8, `${plain} and ${fast} bytes`);
  assertGreater(plain / small, 12, `${plain} and ${small} bytes`);
  const noise = await bytesWith("small", true);
  assertLess(noise / plain, 1.1, `${noise} and ${plain} bytes`);
  assertGreater(noise / plain, 0.9, `${noise} and ${plain} bytes`);
});

Deno.test("rows that update changes are there, whatever their block was, and so are snapshots of all kinds", async () => {
  const kinds = ["none", "fast", "small"] as const;
  const replays = await Promise.all(kinds.map((compression) => make({ compression })));
  const [plain] = replays;
  assert(plain !== undefined);
  for (const replay of replays as Values[]) {
    fill(replay, 7, 500);
    const random = testRandom(8);
    const handles = ([...replay.episodes().handle] as number[]).filter((handle) =>
      replay.episode(handle).recordCount > 0
    );
    for (let round = 0; round < 30; round++) {
      const episodes = Array.from({ length: 12 }, () => handles[random(handles.length)] ?? 0);
      const positions = episodes.map((handle) => random(replay.episode(handle).recordCount));
      const image = new Uint8Array(12 * FRAME).map(() => random(3) === 0 ? random(256) : 1);
      replay.update(episodes, positions, { state: { image, speed: new Float32Array(36) } });
    }
  }
  const records = (replay: Any): unknown =>
    [...replay.episodes().handle].map((handle) => bytesOf(replay.episodeRecords(handle)));
  const bytes = await Promise.all(replays.map((replay) => replay.serialize()));
  for (const [k, replay] of replays.entries()) {
    assertEquals(records(replay), records(plain), kinds[k]);
    assertEquals(hash(bytes[k] ?? new Uint8Array()), hash(bytes[0] ?? new Uint8Array()), kinds[k]);
    using loaded = await make({ compression: kinds[(k + 1) % 3], blockLength: 32 });
    await loaded.unserialize(bytes[k] ?? new Uint8Array());
    assertEquals(records(loaded), records(plain));
  }
  for (const replay of replays) replay[Symbol.dispose]();
});

Deno.test("a snapshot has the rows of the moment at which it was begun", async () => {
  using replay = await make({ compression: "small" });
  fill(replay, 11, 500);
  const expected = await replay.serialize();
  const pieces: Uint8Array[] = [];
  // Records come, and blocks go, while it is written.
  const target = new WritableStream<Uint8Array>({
    write(piece): void {
      pieces.push(piece.slice());
      if (pieces.length < 4) fill(replay, 11 + pieces.length, 300);
    },
  });
  await replay.serialize(target);
  assertGreater(pieces.length, 3);
  const bytes = new Uint8Array(expected.length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  assertEquals([at, hash(bytes)], [expected.length, hash(expected)]);
});

native.test("a shared replay with compression draws the same, too", async () => {
  using plain = await make({ pick: { stack: { image: 4, speed: 1 } } });
  using packed = await make({ pick: { stack: { image: 4, speed: 1 } }, compression: "small" });
  plain.share();
  packed.share();
  for (let round = 0; round < amount(2, 4); round++) {
    fill(plain, 30 + round, 250);
    fill(packed, 30 + round, 250);
    same(plain, packed, `round ${round}`);
  }
});

Deno.test("an unknown compression is an error", async () => {
  await assertRejects(
    () => make({ compression: "zip" }),
    TypeError,
    'compression must be "none" or "fast" or "small", got "zip"',
  );
});
