/**
 * Transforms of batches, by a slow twin, and what they have in common with all else that a replay does. The file is long because transforms meet
 * nearly every part of a replay.
 */
import {
  type Batch,
  Column,
  combined,
  type DType,
  every,
  ExperienceReplay,
  float16,
  float32,
  int32,
  laber,
  mixture,
  uint8,
  uniform,
} from "@exrp/replay";
import {
  centerCrop,
  clip,
  normalize,
  randomCrop,
  randomShift,
  scale,
  toFloat16,
  toFloat32,
  type Transform,
} from "@exrp/replay/transforms";
import { replayReader } from "@exrp/replay/learner";
import { native } from "../../_native.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { bitsOf, transformRow } from "../../whole/model/transforms_model.ts";
import { assertReplayError, assertReplayRejects, testRandom } from "../_helpers.ts";

const SEED = 11;
const PICTURE = uint8(2, 6, 5);

/** A picture whose bytes differ. */
function picture(of: number, count = PICTURE.elementCount): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: count }, (_, k) => (k * 5 + of * 7) % 256);
}

/** All numbers of a batch. Between its parts may be anything. */
function contents({ state, nextState, action, reward, extras, nStep }: Batch): string {
  const returns = nStep.flatMap((part) => [part.reward, part.nextState, part.discount]);
  return [state, nextState, action, reward, ...Object.values(extras), ...returns].join(" ");
}

/** Records episodes of pictures, each with its number as reward. */
function recordPictures(replay: ExperienceReplay<{ state: typeof PICTURE }>, count: number): void {
  let episode = replay.newEpisode();
  for (let t = 0; t < count; t++) {
    const ends = t % 7 === 6;
    const options = ends ? { finalState: picture(t + 100) } : {};
    episode = replay.record(episode, picture(t), t, t, options);
    if (ends) episode = replay.newEpisode();
  }
}

/** Numbers as they are read: every NaN is the same. */
function assertNumbers(actual: ArrayLike<number>, expected: ArrayLike<number>, what: string): void {
  assertStrictEquals(actual.length, expected.length, what);
  for (let k = 0; k < actual.length; k++) {
    const [a, b] = [actual[k], expected[k]];
    if (!Object.is(a, b) && !(a === 0 && b === 0)) assertStrictEquals(a, b, `${what} at ${k}`);
  }
}

const DTYPES: readonly DType[] = [
  ...["uint8", "int8", "int16", "int32", "float16", "float32", "float64", "bool"] as const,
];

/** Numbers of a dtype, among them those at its ends. */
function numbersFor(dtype: DType, count: number, random: (bound: number) => number): number[] {
  const special = [
    NaN,
    Infinity,
    -Infinity,
    -0,
    65504,
    65520,
    2 ** -24,
    2 ** -26,
    3.4e38,
    1e300,
    1e-310,
  ];
  return Array.from({ length: count }, () => {
    if (dtype === "bool") return random(2);
    if (dtype === "uint8") return random(256);
    if (dtype === "int8") return random(256) - 128;
    if (dtype === "int16") return random(65536) - 32768;
    if (dtype === "int32") return random(2 ** 32) - 2 ** 31;
    if (random(10) === 0) return special[random(special.length)] ?? 0;
    return (random(2 ** 20) - 2 ** 19) * 2 ** (random(50) - 40);
  });
}

Deno.test(`transforms of every dtype are those of the slow twin, seed ${SEED}`, async () => {
  const random = testRandom(SEED);
  for (let round = 0; round < 60; round++) {
    const dtype = DTYPES[round % DTYPES.length] ?? "uint8";
    const isLast = random(2) === 1;
    const channels = isLast ? "last" : "first";
    const shape = [1 + random(3), 2 + random(6), 1 + random(8)];
    const [height, width] = isLast
      ? [shape[0] ?? 1, shape[1] ?? 1]
      : [shape[1] ?? 1, shape[2] ?? 1];
    const [rows, columns] = [1 + random(height), 1 + random(width)];
    const lists: readonly Transform[][] = [
      [toFloat32({ scale: 1 / 255, offset: -0.5 })],
      [toFloat16({ scale: 3 })],
      [toFloat16()],
      [scale(0.1), clip(-1, 1), toFloat32({ scale: 2, offset: 1e-3 })],
      [randomShift(3, { channels }), toFloat32({ scale: 1 / 255 })],
      [randomCrop(rows, columns, { channels })],
      [centerCrop(rows, columns, { channels }), clip(0, 9), toFloat16()],
      [
        randomShift(9, { channels }),
        randomCrop(rows, columns, { channels }),
        randomShift(1, { channels }),
      ],
    ];
    const list = lists[random(lists.length)] ?? [];
    const column = new Column(dtype, shape);
    using replay = await ExperienceReplay.create({
      capacity: 10,
      state: column,
      pick: { transform: { state: list } },
      seed: round,
    });
    const make = {
      uint8: Uint8Array,
      int8: Int8Array,
      int16: Int16Array,
      int32: Int32Array,
      bool: Uint8Array,
      float16: Float16Array,
      float32: Float32Array,
      float64: Float64Array,
    }[dtype];
    const [state, finalState] = [0, 1].map(() =>
      make.from(numbersFor(dtype, column.elementCount, random))
    );
    assert(state !== undefined && finalState !== undefined);
    replay.record(replay.newEpisode(), state, 0, 0, { finalState });
    const selector = replay.newPickSelector(uniform());
    for (let drawn = 0; drawn < 2; drawn++) {
      const batch: Batch = replay.getBatch(3, selector);
      const count = batch.state.length / 3;
      for (let pick = 0; pick < 3; pick++) {
        for (
          const [part, [array, stored]] of [[batch.state, state], [batch.nextState, finalState]]
            .entries()
        ) {
          assert(array !== undefined && stored !== undefined);
          const bits = bitsOf({ seed: round, view: 0, drawn, pick, part });
          const bytes = transformRow(column, list, new Uint8Array(stored.buffer), bits);
          const View = array.constructor as typeof Float32Array;
          const expected = new View(bytes.buffer as ArrayBuffer);
          const seen = array.subarray(pick * count, (pick + 1) * count);
          assertNumbers(seen, expected, `${column}, ${JSON.stringify(list)}, part ${part}`);
        }
      }
    }
  }
});

Deno.test("every float16 becomes its float32, and floats become the nearest float16", async () => {
  const random = testRandom(SEED);
  const halves = new Float16Array(Uint16Array.from({ length: 65536 }, (_, k) => k).buffer);
  const floats = new Float32Array(
    Uint32Array.from({ length: 65536 }, () => random(2 ** 32)).buffer,
  );
  // Those between two float16, and their neighbours.
  for (let k = 0; k < 60000; k += 2) {
    const middle = ((halves[k >> 1] ?? 0) + (halves[(k >> 1) + 1] ?? 0)) / 2;
    floats[k] = middle;
    new Uint32Array(floats.buffer)[k + 1] = (new Uint32Array(floats.buffer)[k] ?? 0) + random(3) -
      1;
  }
  using replay = await ExperienceReplay.create({
    capacity: 2,
    state: float16(65536),
    extras: { floats: float32(65536) },
    pick: { transform: { state: [toFloat32()], extras: { floats: [toFloat16()] } } },
  });
  replay.record(replay.newEpisode(), halves, 0, 0, { finalState: halves, extras: { floats } });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  assertNumbers(batch.state, Float32Array.from(halves), "halves");
  assertNumbers(batch.extras.floats, Float16Array.from(floats), "floats");
});

/** Where in the picture with `pad` a shifted one was cut out. */
function shiftOf(
  shown: ArrayLike<number>,
  stored: Uint8Array,
  height: number,
  width: number,
  pad: number,
): string[] {
  const found: string[] = [];
  for (let dy = -pad; dy <= pad; dy++) {
    for (let dx = -pad; dx <= pad; dx++) {
      let same = true;
      for (let k = 0; same && k < stored.length; k++) {
        const [y, x] = [Math.floor(k / width) % height, k % width];
        const row = Math.min(Math.max(y + dy, 0), height - 1);
        const column = Math.min(Math.max(x + dx, 0), width - 1);
        const from = k - y * width - x + row * width + column;
        same = shown[k] === stored[from];
      }
      if (same) found.push(`${dy} ${dx}`);
    }
  }
  return found;
}

Deno.test("randomShift() moves all frames and rows of a pick alike, and its next states by their own", async () => {
  const size = 9 * 9;
  const frame = (t: number): Uint8Array =>
    Uint8Array.from({ length: size }, (_, k) => (k * 3 + t) % 251);
  using replay = await ExperienceReplay.create({
    capacity: 50,
    state: uint8(9, 9),
    pick: {
      length: 2,
      stack: 2,
      nStep: 1,
      nextState: "copy",
      transform: { state: [randomShift(4)] },
    },
    seed: SEED,
  });
  let episode = replay.newEpisode();
  for (let t = 0; t < 20; t++) episode = replay.record(episode, frame(t), 0, 0);
  const batch = replay.getBatch(300, replay.newPickSelector(uniform()));
  const places = new Map<string, number>();
  let alike = 0;
  for (let pick = 0; pick < 300; pick++) {
    const position = batch.pickPosition[pick] ?? 0;
    const partPlaces = [batch.state, batch.nextState, batch.nStep[0].nextState].map(
      (array, part) => {
        const found = new Set<string>();
        for (let k = 0; k < 4; k++) {
          const at = (pick * 4 + k) * size;
          const t = Math.max(0, position + (part === 0 ? 0 : 1) + (k >> 1) - 1 + (k & 1));
          const here = shiftOf(array.subarray(at, at + size), frame(t), 9, 9, 4);
          assertStrictEquals(here.length, 1, `pick ${pick}, part ${part}, frame ${k}`);
          found.add(here[0] ?? "");
        }
        assertStrictEquals(found.size, 1, `pick ${pick}, part ${part}: ${[...found]}`);
        return [...found][0] ?? "";
      },
    );
    for (const place of partPlaces) places.set(place, (places.get(place) ?? 0) + 1);
    if (partPlaces[0] === partPlaces[1]) alike++;
  }
  assertStrictEquals(places.size, 81, "all places occur");
  assert(alike < 30, `${alike} of 300 picks have one place for states and next states`);
});

Deno.test("rows of padding stay zero, whatever is added to the others", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(2),
    pick: {
      length: 3,
      before: 1,
      allowShort: true,
      transform: {
        state: [toFloat32({ offset: 5 })],
        reward: [toFloat32({ offset: 7 })],
        action: [normalize()],
      },
    },
  });
  replay.record(replay.newEpisode(), [1, 1], 3, 1, { finalState: [2, 2] });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  assertEquals([...batch.state], [0, 0, 6, 6, 0, 0, 0, 0]);
  assertEquals([...batch.nextState], [0, 0, 7, 7, 0, 0, 0, 0]);
  assertEquals([...batch.reward], [0, 8, 0, 0]);
  assertEquals([...batch.action], [0, 0, 0, 0]);
});

Deno.test("returns are of transformed rewards, also where a batch shows them as float16", async () => {
  for (const last of [[], [toFloat16()]]) {
    using replay = await ExperienceReplay.create({
      capacity: 10,
      state: float32(),
      reward: int32(),
      pick: {
        nStep: [2],
        discount: 0.5,
        returnToGo: true,
        transform: { reward: [scale(0.1), clip(-1, 1), ...last] },
      },
    });
    let episode = replay.newEpisode();
    for (const reward of [100, 4, -3]) episode = replay.record(episode, 0, 0, reward);
    replay.endEpisode(episode, { finalState: 0 });
    const batch = replay.getBatch(200, replay.newPickSelector(uniform()));
    const f = Math.fround;
    const shown = [1, f(4 * f(0.1)), f(-3 * f(0.1))];
    for (let k = 0; k < 200; k++) {
      const at = batch.pickPosition[k] ?? 0;
      const here = shown[at] ?? NaN;
      assertStrictEquals(batch.reward[k], last.length > 0 ? new Float16Array([here])[0] : here);
      assertStrictEquals(batch.nStep[0].reward[k], f(here + 0.5 * (shown[at + 1] ?? 0)));
      assertStrictEquals(
        batch.returnToGo[k],
        f(shown.slice(at).reduceRight((sum, each) => sum + each, 0)),
      );
    }
  }
});

Deno.test(`running statistics are those of a plain computation in two passes, seed ${SEED}`, async () => {
  const random = testRandom(SEED);
  using replay = await ExperienceReplay.create({ capacity: 50, state: float32(3), seed: SEED });
  const rows: number[][] = [];
  let episode = replay.newEpisode();
  const record = (count: number): void => {
    for (let t = 0; t < count; t++) {
      const row = [random(1000) / 7 - 50, 1e6 + random(100), 3].map(Math.fround);
      rows.push(row);
      episode = replay.record(episode, row, 0, t);
    }
  };
  record(20);
  assertStrictEquals(replay.columnStatistics("state"), undefined);
  const view = replay.newPickView({
    transform: { state: [normalize({ epsilon: 0.5, clip: 1.25 })] },
  });
  const check = (): { mean: number[]; variance: number[] } => {
    const found = replay.columnStatistics("state");
    assert(found !== undefined);
    assertStrictEquals(found.count, rows.length);
    const mean = [0, 1, 2].map((k) =>
      rows.reduce((sum, row) => sum + (row[k] ?? 0), 0) / rows.length
    );
    const variance = mean.map((m, k) =>
      rows.reduce((sum, row) => sum + ((row[k] ?? 0) - m) ** 2, 0) / rows.length
    );
    for (let k = 0; k < 3; k++) {
      assert(
        Math.abs((found.mean[k] ?? NaN) - (mean[k] ?? NaN)) < 1e-9 * (1 + Math.abs(mean[k] ?? 0)),
      );
      assert(
        Math.abs((found.variance[k] ?? NaN) - (variance[k] ?? NaN)) <
          1e-9 * (1 + (variance[k] ?? 0)),
      );
    }
    return { mean, variance };
  };
  check();
  // Records that go stay in them, and so do values that an update changes.
  record(200);
  const { mean, variance } = check();
  const before = replay.columnStatistics("state");
  replay.update([episode], [219], { state: [[0, 0, 0]].flat() });
  assertEquals(replay.columnStatistics("state"), before);
  rows[219] = [0, 0, 0];

  const batch = replay.getBatch(100, view.newPickSelector(uniform()));
  for (let pick = 0; pick < 100; pick++) {
    const stored = rows[batch.pickPosition[pick] ?? 0] ?? [];
    for (let k = 0; k < 3; k++) {
      const normal = ((stored[k] ?? 0) - (mean[k] ?? 0)) / Math.sqrt((variance[k] ?? 0) + 0.5);
      const expected = Math.min(Math.max(normal, -1.25), 1.25);
      const shown = batch.state[3 * pick + k] ?? NaN;
      assert(Math.abs(shown - expected) < 1e-4, `${shown} should be near ${expected}`);
    }
  }
});

Deno.test("values that are not finite move no mean, and no result is beyond the clip", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(),
    pick: { transform: { state: [normalize()] } },
  });
  let episode = replay.newEpisode();
  for (const state of [1, 3, NaN, Infinity, -Infinity]) {
    episode = replay.record(episode, state, 0, 0);
  }
  const { count, mean, variance } = replay.columnStatistics("state") ?? {};
  assertEquals([count, mean?.[0], variance?.[0]], [5, 2, 0.4]);
  const { state } = replay.getBatch(100, replay.newPickSelector(uniform()));
  assert(state.every((each) => Number.isNaN(each) || Math.abs(each) <= 10));
  assert(state.includes(10));
});

/** What a replay with transforms of all kinds draws. */
async function transformed(
  backend: "native" | "wasm" | undefined,
  seed = SEED,
): Promise<ExperienceReplay<{ state: typeof PICTURE }>> {
  const replay = await ExperienceReplay.create({
    capacity: 40,
    state: PICTURE,
    seed,
    pick: {
      length: 2,
      stack: 2,
      nStep: [1, 3],
      allowShort: true,
      nextState: "copy",
      transform: {
        state: [normalize(), randomShift(2), randomCrop(5, 4), toFloat16({ scale: 0.5 })],
        reward: [normalize({ epsilon: 0.1 }), clip(-1, 1)],
      },
    },
    ...(backend === undefined ? {} : { backend }),
  });
  return replay as unknown as ExperienceReplay<{ state: typeof PICTURE }>;
}

native.test("WebAssembly makes the same bytes as the native kernel", async () => {
  const all: string[] = [];
  for (const backend of ["native", "wasm"] as const) {
    using replay = await transformed(backend);
    const selector = replay.newPickSelector(uniform());
    recordPictures(replay, 30);
    const batches = [replay.getBatch(32, selector), replay.getBatch(9, selector)];
    recordPictures(replay, 30);
    batches.push(replay.getBatch(32, selector));
    all.push(batches.map(contents).join(" "));
  }
  assertStrictEquals(all[0], all[1]);
});

Deno.test("a snapshot keeps the statistics and the places: the next batches are equal", async () => {
  using replay = await transformed(undefined);
  const selector = replay.newPickSelector(uniform());
  recordPictures(replay, 60);
  replay.getBatch(8, selector);
  const bytes = await replay.serialize();
  const before = replay.columnStatistics("state");
  const next = [1, 2].map(() => contents(replay.getBatch(20, selector)));
  recordPictures(replay, 5);
  const later = contents(replay.getBatch(20, selector));
  for (const seed of [SEED, 99]) {
    using other = await transformed(undefined, seed);
    other.newPickSelector(uniform());
    await other.unserialize(bytes);
    assertEquals(other.columnStatistics("state"), before);
    const [loaded] = other.selectors;
    assert(loaded !== undefined);
    assertEquals([1, 2].map(() => contents(other.getBatch(20, loaded))), next);
    recordPictures(other, 5);
    assertStrictEquals(contents(other.getBatch(20, loaded)), later);
  }
});

Deno.test("a snapshot brings views with transforms, and does not fit other transforms", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: uint8(4, 4), seed: SEED });
  const view = replay.newPickView({ transform: { state: [randomCrop(2, 2), toFloat32()] } });
  const selector = view.newPickSelector(uniform());
  replay.record(replay.newEpisode(), picture(1, 16), 0, 0, { finalState: picture(2, 16) });
  replay.getBatch(4, selector);
  const bytes = await replay.serialize();
  const next = contents(replay.getBatch(4, selector));

  using plain = await ExperienceReplay.create({ capacity: 10, state: uint8(4, 4) });
  await plain.unserialize(bytes);
  const [made] = plain.selectors;
  assert(made !== undefined);
  assertStrictEquals(contents(plain.getBatch(4, made)), next);

  using other = await ExperienceReplay.create({ capacity: 10, state: uint8(4, 4) });
  other.newPickView({ transform: { state: [randomCrop(2, 2)] } });
  const error = await assertReplayRejects(other.unserialize(bytes), "snapshot-mismatch");
  assertMatch(error.message, /pick view 1: policy\.transform/);
});

Deno.test("batches() ahead has the places of the same calls of getBatch()", async () => {
  const expected: string[] = [];
  const seen: string[] = [];
  for (const into of [expected, seen]) {
    using replay = await transformed(undefined);
    const selector = replay.newPickSelector(uniform());
    recordPictures(replay, 30);
    if (into === expected) {
      for (let k = 0; k < 5; k++) into.push(contents(replay.getBatch(16, selector)));
      continue;
    }
    for await (const batch of replay.batches(16, selector, { prefetch: 2 })) {
      into.push(contents(batch));
      if (into.length === 5) break;
    }
  }
  assertEquals(seen, expected);
});

native.test("a shared replay draws the same, where large copies wait for the lock", async () => {
  const drawn: string[] = [];
  for (const isShared of [false, true]) {
    using replay = await ExperienceReplay.create({
      capacity: 20,
      state: uint8(40, 40),
      pick: { length: 3, transform: { state: [randomShift(4), toFloat32({ scale: 1 / 255 })] } },
      extras: { large: uint8(1600) },
      seed: SEED,
    });
    const selector = replay.newPickSelector(uniform());
    let episode = replay.newEpisode();
    for (let t = 0; t < 15; t++) {
      const extras = { large: picture(t + 50, 1600) };
      episode = replay.record(episode, picture(t, 1600), 0, 0, { extras });
    }
    if (isShared) replay.share();
    drawn.push([1, 2].map(() => contents(replay.getBatch(50, selector))).join());
  }
  assertStrictEquals(drawn[0], drawn[1]);
});

native.test("who attaches gets the transforms of each view, and names those of the first", async () => {
  const transform = { state: [toFloat32({ scale: 0.5 })] };
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    pick: { transform },
  });
  replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), [2, 4], 0, 0, { finalState: [6, 8] });
  const ticket: unknown = structuredClone(replay.share());
  using guest = await ExperienceReplay.attach(ticket, { state: uint8(2), pick: { transform } });
  const [selector] = guest.selectors;
  assert(selector !== undefined);
  assertEquals([...guest.getBatch(1, selector).state], [1, 2]);
  const view = guest.newPickView({ transform: { state: [toFloat16()] } });
  assertEquals([...guest.getBatch(1, view.newPickSelector(uniform())).state], [2, 4]);
  const stranger = ExperienceReplay.attach(ticket, { state: uint8(2) });
  const error = await assertReplayRejects(stranger, "ticket-mismatch");
  assertMatch(error.message, /pick\.transform/);
});

Deno.test("all else gives stored values", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    extras: { kept: every(2, uint8(1)) },
    pick: {
      transform: {
        state: [toFloat32({ offset: 0.5 })],
        extras: { kept: [toFloat32({ offset: 0.25 })] },
      },
    },
  });
  const episode = replay.newEpisode();
  replay.record(episode, [2, 4], 0, 3, { finalState: [6, 8], extras: { kept: [9] } });
  const batch = replay.getBatch(2, replay.newPickSelector(uniform()));
  assertEquals(batch.shape.extras.kept, [2, 1]);
  assertEquals([...batch.extras.kept], [9.25, 9.25]);
  assertEquals([...batch.nextState], [6.5, 8.5, 6.5, 8.5]);
  assertEquals(replay.episodeRecords(episode).state, Uint8Array.of(2, 4));
  // A batch names records, so it may be used for an update of them.
  assertStrictEquals(replay.update(batch, { reward: Float32Array.of(8, 8) }), 2);
  assertEquals(replay.drain().state, Uint8Array.of(2, 4));
});

Deno.test("selectors that are made of others draw transformed batches", async () => {
  for (
    const rule of [
      mixture([{ rule: uniform(), share: 0.5 }, { rule: uniform(), share: 0.5 }]),
      combined({ newest: 2, rest: uniform() }),
      laber({ rule: uniform(), factor: 3, score: (batch: Batch) => batch.reward as Float32Array }),
    ]
  ) {
    using replay = await ExperienceReplay.create({
      capacity: 30,
      state: uint8(1, 3),
      pick: {
        transform: { state: [randomShift(1), toFloat32()], reward: [toFloat32({ offset: 1 })] },
      },
      seed: SEED,
    });
    let episode = replay.newEpisode();
    for (let t = 0; t < 20; t++) episode = replay.record(episode, [t, t + 50, t + 100], 0, t);
    const batch = replay.getBatch(64, replay.newPickSelector(rule));
    const offsets = new Set<number>();
    for (let k = 0; k < 64; k++) {
      const t = batch.pickPosition[k] ?? NaN;
      assertStrictEquals(batch.reward[k], t + 1);
      const line = [...batch.state.subarray(3 * k, 3 * k + 3)].map((each) => (each - t) / 50);
      assert(
        ["001", "012", "122", "0,0,1", "112"].some((each) =>
          each.replaceAll(",", "") === line.join("")
        ),
        line.join(),
      );
      offsets.add(line[0] ?? NaN);
    }
    assert(offsets.size > 1, "not all are at one place");
  }
});

Deno.test("views that differ in transforms can't be mixed, and their batches are no room for each other", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: uint8(2) });
  const plain = replay.newPickSelector(uniform());
  const view = replay.newPickView({ transform: { state: [toFloat32()] } });
  const selector = view.newPickSelector(uniform());
  const rule = mixture([{ selector: plain, share: 1 }, { rule: uniform(), share: 1 }]);
  assertMatch(assertThrows(() => view.newPickSelector(rule as never)).message, /transform/);
  replay.record(replay.newEpisode(), [1, 2], 0, 0, { finalState: [3, 4] });
  const batch = replay.getBatch(2, selector);
  assertStrictEquals(replay.getBatch(2, selector, { into: batch }), batch);
  assertMatch(
    assertThrows(() => replay.getBatch(2, plain, { into: batch as never })).message,
    /transforms of state: toFloat32\(1, 0\)/,
  );
});

Deno.test("batches with transforms of rewards or goals can't be relabelled, and readers take none", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(2),
    extras: { achieved: float32(1), desired: float32(1) },
    pick: { transform: { extras: { desired: [scale(2)] } } },
  });
  replay.record(replay.newEpisode(), [1, 2], 0, 0, {
    finalState: [3, 4],
    extras: { achieved: [1], desired: [2] },
  });
  const options = { achieved: "achieved", desired: "desired", reward: () => [0] } as const;
  const hindsight = replay.newHindsight(options);
  const selector = replay.newPickSelector(uniform());
  const batch: Batch = replay.getBatch(1, selector);
  const before = contents(batch);
  const error = assertThrows(() => hindsight.relabel(batch as never));
  assertMatch(error.message, /transforms of extras\.desired can't be relabelled/);
  assertStrictEquals(contents(batch), before);
  const other = replay.newPickView({ transform: { state: [scale(2)] } }).newPickSelector(uniform());
  assertEquals(hindsight.relabel(replay.getBatch(1, other) as never).mask.length, 1);
  assertMatch(
    assertThrows(() => replayReader(replay as never, selector as never)).message,
    /no transforms/,
  );
});

Deno.test("columnStatistics() takes names of columns", async () => {
  const replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(2),
    extras: { value: float32() },
    pick: { transform: { extras: { value: [normalize()] } } },
  });
  assertEquals(replay.columnStatistics("extras.value"), {
    count: 0,
    mean: Float64Array.of(0),
    variance: Float64Array.of(1),
  });
  assertMatch(
    assertThrows(() => replay.columnStatistics("value")).message,
    /takes the name of a column, one of state, action, reward, extras\.value; got "value"/,
  );
  replay[Symbol.dispose]();
  assertReplayError(() => replay.columnStatistics("state"), "disposed");
});

Deno.test("each leaf of a state has transforms of its own", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: { eyes: [uint8(4, 4), uint8(2, 2)], speed: float32(2) },
    pick: {
      nStep: 1,
      nextState: "copy",
      transform: { state: { eyes: [[centerCrop(2, 2)]], speed: [normalize(), scale(2)] } },
    },
    seed: SEED,
  });
  const state = (of: number) => ({
    eyes: [picture(of, 16), Uint8Array.of(1, 2, 3, 4)] as const,
    speed: [of, 7],
  });
  let episode = replay.newEpisode();
  for (const frame of [0, 2]) episode = replay.record(episode, state(frame), 0, 1);
  replay.endEpisode(episode, { finalState: state(4) });
  assertEquals(replay.columnStatistics("state.speed")?.mean, Float64Array.of(1, 7));
  assertStrictEquals(replay.columnStatistics("state.eyes[0]"), undefined);
  const batch = replay.getBatch(20, replay.newPickSelector(uniform()));
  const speed: Float32Array<ArrayBuffer> = batch.state.speed;
  const shape: readonly [number, number, 2, 2] = batch.shape.state.eyes[0];
  assertEquals([...shape], [20, 1, 2, 2]);
  for (let k = 0; k < 20; k++) {
    const at = batch.pickPosition[k] ?? NaN;
    assertEquals([...speed.subarray(2 * k, 2 * k + 2)], [at === 0 ? -2 : 2, 0]);
    const stored = picture(2 * at, 16);
    const middle = [5, 6, 9, 10].map((each) => stored[each]);
    assertEquals([...batch.state.eyes[0].subarray(4 * k, 4 * k + 4)], middle);
    assertEquals([...batch.nStep[0].nextState.eyes[1].subarray(4 * k, 4 * k + 4)], [1, 2, 3, 4]);
  }
  const view = (transform: unknown) => () => replay.newPickView({ transform: transform as never });
  assertMatch(
    assertThrows(view({ state: [scale(2)] })).message,
    /has a list for state, which is no column; there are state\.eyes\[0\], state\.eyes\[1\], state\.speed/,
  );
  assertMatch(
    assertThrows(view({ state: { eyes: [[], [centerCrop(3, 3)]] } })).message,
    /transform\.state\.eyes\[1\]: centerCrop\(3, 3\) is larger than the picture/,
  );
  const bytes = await replay.serialize();
  const next = replay.getBatch(5, replay.selectors[0] as never).bytes.join();
  await replay.unserialize(bytes);
  assertStrictEquals(replay.getBatch(5, replay.selectors[0] as never).bytes.join(), next);
});
