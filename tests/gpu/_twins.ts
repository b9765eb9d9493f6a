/**
 * Two replays that are alike, one of them with columns on a device; and batches of both that must be the same, to the bit. It runs in browsers, too, so it imports
 * nothing of a platform.
 */
import {
  type Batch,
  bool,
  type Column,
  ExperienceReplay,
  float16,
  float32,
  float64,
  highestPriority,
  int16,
  int32,
  int8,
  mixture,
  type PickOptions,
  prioritized,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { type DeviceArray, onDevice } from "@exrp/replay/gpu";
import {
  centerCrop,
  clip,
  normalize,
  randomCrop,
  randomShift,
  toFloat16,
  toFloat32,
} from "@exrp/replay/transforms";
import { SurpriseFirst } from "../../examples/surprise_first.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { arrayText } from "../../base/inspect.ts";

/** What makes a column. */
type Maker = (...shape: number[]) => Column;

/** What a pair of replays has. */
interface Setup {
  readonly state: unknown;
  readonly extra: Column;
  readonly pick: PickOptions;
  readonly columns: readonly ("state" | "action" | "reward" | "extras.more" | "extras.few")[];
  readonly capacity: number;
  readonly blockLength: number | undefined;
  readonly segmentLength: number | undefined;
  readonly compression: "none" | "fast" | "small";
  /** Whether columns have pictures that change little, so that compression gains. */
  readonly isStill: boolean;
}

/** One of a list. */
function oneOf<T>(random: RandomStream, list: readonly T[]): T {
  return list[random.below(list.length)] as T;
}

function anyShape(random: RandomStream): number[] {
  return oneOf<() => number[]>(random, [
    () => [],
    () => [1 + random.below(9)],
    () => [2 + random.below(6), 2 + random.below(6)],
    () => [1 + random.below(3), 2 + random.below(5), 2 + random.below(5)],
    () => [12 + random.below(4), 12 + random.below(4)],
  ])();
}

/** Of a picture. One in fifty has more than 16 KiB, whose packed form has numbers of 32 bits. */
function stillShape(random: RandomStream): number[] {
  if (random.below(50) === 0) return [130, 127 + random.below(4)];
  return oneOf<() => number[]>(random, [
    () => [12 + random.below(5), 12 + random.below(5)],
    () => [1 + random.below(3), 9 + random.below(5), 16],
    () => [20 + random.below(5), 21],
  ])();
}

const MAKERS: readonly Maker[] = [uint8, uint8, uint8, int8, int16, int32, float32, bool, float64];
const makers = typeof Float16Array === "function" ? [...MAKERS, float16 as Maker] : MAKERS;

/** Transforms that fit a column. */
function anyTransforms(random: RandomStream, column: Column): unknown[] {
  const { shape } = column;
  const list: unknown[] = [];
  if (random.below(3) === 0) {
    list.push(normalize({ clip: random.below(2) === 0 ? false : 2 }));
  }
  const [height = 0, width = 0] = shape.slice(-2);
  const moves = shape.length < 2 ? 0 : random.below(4);
  if (moves >= 2) {
    const tall = 1 + random.below(height);
    const wide = 1 + random.below(width);
    const isLast = shape.length === 3 && random.below(2) === 0;
    const options = { channels: isLast ? "last" : "first" } as const;
    const last = [1 + random.below(shape[0] ?? 1), 1 + random.below(shape[1] ?? 1)] as const;
    const size = isLast ? last : [tall, wide] as const;
    if (random.below(2) === 0) list.push(randomShift(1 + random.below(3), options));
    list.push(oneOf(random, [randomCrop, centerCrop])(...size, options));
  } else if (moves === 1) {
    list.push(randomShift(1 + random.below(4)));
  }
  if (random.below(2) === 0) {
    list.push(toFloat32({ scale: random.uniform(), offset: random.below(2) * random.uniform() }));
  }
  if (random.below(3) === 0) list.push(clip(-0.25, 0.5));
  if (typeof Float16Array === "function" && random.below(4) === 0) list.push(toFloat16());
  return list;
}

/** What a replay has, by these random numbers. */
function anySetup(random: RandomStream, isStill = random.below(3) === 0): Setup {
  const leaf = (): Column =>
    isStill
      ? oneOf(random, [uint8, uint8, ...makers])(...stillShape(random))
      : oneOf(random, makers)(...anyShape(random));
  const isTree = random.below(3) === 0;
  const [image, speed, extra] = [leaf(), leaf(), leaf()];
  const length = oneOf(random, [1, 1, 1, 2, 5]);
  const burnIn = oneOf(random, [0, 0, 3]);
  const stack = oneOf(random, [1, 1, 2, 4]);
  const nStep = oneOf(random, [[], [], [3], [1, 4]]);
  const stackCompact = stack > 1 && random.below(3) === 0;
  const isTransformed = random.below(2) === 0;
  const transform = {
    state: isTree
      ? { image: anyTransforms(random, image), speed: anyTransforms(random, speed) }
      : anyTransforms(random, image),
    reward: random.below(2) === 0 ? [clip(-0.5, 0.5)] : [],
    extras: { more: anyTransforms(random, extra) },
  };
  const reversed = !stackCompact && burnIn === 0 && random.below(4) === 0;
  return {
    state: isTree ? { image, speed } : image,
    extra,
    columns: oneOf<Setup["columns"]>(random, [
      ["state"],
      ["state", "extras.more"],
      ["extras.more"],
      ["action", "state", "reward"],
      ["extras.few", "state"],
    ]),
    capacity: 60 + random.below(200),
    blockLength: oneOf(random, [undefined, 4, 16]),
    segmentLength: oneOf(random, [undefined, 50]),
    compression: isStill
      ? oneOf(random, ["fast", "small"])
      : oneOf(random, ["none", "none", "fast", "small"]),
    isStill,
    pick: {
      length,
      stack,
      discount: 0.9,
      stackPadding: oneOf(random, ["repeat", "zeros"]),
      allowShort: random.below(2) === 0,
      allowOpenEnd: !reversed && random.below(3) === 0,
      ends: random.below(2) === 0,
      returnToGo: random.below(4) === 0,
      ...(stackCompact ? { stackCompact } : {}),
      ...(nStep.length > 0 ? { nStep } : {}),
      ...(random.below(2) === 0 ? { burnIn } : { before: burnIn }),
      ...(reversed ? { reversed } : {}),
      ...(nStep.length === 0 && !stackCompact && !reversed
        ? { nextState: oneOf(random, ["copy", "copy", "overlap", false] as const) }
        : {}),
      ...(isTransformed ? { transform: transform as PickOptions["transform"] } : {}),
    } as PickOptions,
  };
}

/** The same, of wide columns in small blocks, so that many may leave memory. All of these have to be on the device. */
function anySetupWithoutHostCopy(random: RandomStream): Setup {
  return {
    ...anySetup(random, true),
    columns: oneOf<Setup["columns"]>(random, [
      ["state", "extras.more"],
      ["state", "extras.more", "extras.few", "reward"],
    ]),
    blockLength: 4,
    compression: oneOf(random, ["none", "small"]),
  };
}

/** A number of a column. */
function anyNumber(random: RandomStream, { dtype }: Column): number {
  const numbers: Readonly<Record<Column["dtype"], () => number>> = {
    uint8: () => random.below(256),
    int8: () => random.below(256) - 128,
    int16: () => random.below(65536) - 32768,
    int32: () => random.next() | 0,
    bool: () => random.below(2),
    float16: () => random.uniform() * 2 - 1,
    float32: () => random.uniform() * 20 - 10,
    float64: () => random.uniform() * 20 - 10,
  };
  return numbers[dtype]();
}

/** What pictures change from. */
const pictures = new WeakMap<Column, number[]>();

/** A picture like those before, with some runs of other numbers or of one; or now and then one that has nothing of them. */
function stillValue(random: RandomStream, column: Column): number[] {
  const { elementCount: length } = column;
  if (random.below(15) === 0) return Array.from({ length }, () => anyNumber(random, column));
  let picture = pictures.get(column);
  if (picture === undefined) {
    const few = Array.from({ length: 5 }, () => anyNumber(random, column));
    picture = Array.from({ length }, (_, k) => few[Math.floor(k / 9) % 5] as number);
    pictures.set(column, picture);
  }
  // Changes that stay make rows like the one before, and others rows like the key.
  const made = random.below(3) === 0 ? picture : [...picture];
  for (let runs = oneOf(random, [0, 1, 4, 4, 4, 100]); runs > 0; runs--) {
    const begin = random.below(length);
    const end = Math.min(length, begin + oneOf(random, [1, 1, 2, 5, 20, 250]));
    const one = anyNumber(random, column);
    const isFill = random.below(2) === 0;
    for (let k = begin; k < end; k++) made[k] = isFill ? one : anyNumber(random, column);
  }
  return [...made];
}

/** A value of a column. */
function anyValue(random: RandomStream, column: Column, isStill: boolean): number[] {
  if (isStill) return stillValue(random, column);
  return Array.from({ length: column.elementCount }, () => anyNumber(random, column));
}

function columnOf(value: unknown): value is Column {
  return typeof value === "object" && value !== null && "elementCount" in value;
}

function anyState(random: RandomStream, state: unknown, isStill: boolean): unknown {
  const one = (column: Column): unknown => {
    const values = anyValue(random, column, isStill);
    return column.shape.length === 0 ? values[0] : values;
  };
  if (columnOf(state)) return one(state);
  const leaves = Object.entries(state as Record<string, Column>);
  return Object.fromEntries(leaves.map(([name, column]) => [name, one(column)]));
}

/** A replay of any columns, for calls whose types nobody knows. */
// deno-lint-ignore no-explicit-any
type AnyReplay = ExperienceReplay<any>;

/** Two replays that hear the same. */
class Twins implements Disposable {
  readonly replays: readonly [plain: AnyReplay, mirrored: AnyReplay];
  readonly selectors: readonly (readonly [Selector, Selector])[];
  readonly #setup: Setup;
  readonly #random: RandomStream;
  readonly #episodes: [number, number][] = [];

  private constructor(
    setup: Setup,
    random: RandomStream,
    replays: readonly [AnyReplay, AnyReplay],
  ) {
    this.#setup = setup;
    this.#random = random;
    this.replays = replays;
    const rules = [
      () => uniform(),
      () => prioritized({ alpha: 0.7 }),
      () => highestPriority(),
      () => mixture([{ rule: prioritized(), share: 1 }, { rule: uniform(), share: 2 }]),
      // One in TypeScript, whose picks the kernel gathers. Durable replays take none.
      ...(replays[1].durability === undefined ? [() => new SurpriseFirst()] : []),
    ];
    const [a, b] = replays;
    this.selectors = rules.map((rule) => [a.newPickSelector(rule()), b.newPickSelector(rule())]);
  }

  /** The second one is in this folder, if there is one. */
  static async make(setup: Setup, random: RandomStream, folder?: string): Promise<Twins> {
    const { state, extra, pick, capacity, blockLength, segmentLength, compression } = setup;
    const seed = random.below(1000);
    const options = {
      ...{ capacity, seed, pick, compression },
      ...(blockLength === undefined ? {} : { blockLength }),
      ...(segmentLength === undefined ? {} : { segmentLength }),
      state: state as Column,
      extras: { more: extra, few: float32(2) },
    };
    const twins = new Twins(setup, random, [
      await ExperienceReplay.create(options),
      folder === undefined
        ? await ExperienceReplay.create(options)
        : await ExperienceReplay.open(folder, { ...options, resident: RESIDENT }),
    ]);
    for (let k = 0; k < 3; k++) twins.#begin();
    return twins;
  }

  #begin(): void {
    const [a, b] = this.replays;
    this.#episodes.push([a.newEpisode(), b.newEpisode()]);
  }

  /** The same record in both; some end their episode. */
  record(): void {
    const random = this.#random;
    const { state, extra, isStill } = this.#setup;
    const at = random.below(this.#episodes.length);
    const one = anyState(random, state, isStill);
    const values = anyValue(random, extra, isStill);
    const more = extra.shape.length === 0 ? values[0] : values;
    const ends = random.below(12) === 0;
    const few = [random.uniform(), random.uniform()];
    const rest = {
      extras: { more, few },
      ...(ends
        ? { finalState: anyState(random, state, isStill), truncated: random.below(2) === 0 }
        : {}),
    };
    const [action, reward] = [random.below(9), random.uniform() * 2 - 1];
    const handles = this.#episodes[at] as [number, number];
    for (const [k, replay] of this.replays.entries()) {
      handles[k] = replay.record(
        handles[k] as number,
        one as never,
        action as never,
        reward as never,
        rest as never,
      );
    }
    if (!ends) return;
    this.#episodes.splice(at, 1);
    this.#begin();
  }

  /** Other values of a column for a record that is stored. */
  update(): void {
    const random = this.#random;
    const { state, extra, isStill } = this.#setup;
    const handles = this.replays[0].episodes().handle;
    const handle = handles[random.below(handles.length)] ?? 0;
    const { recordCount, firstPosition } = this.replays[0].episode(handle);
    if (recordCount === 0) return;
    const position = firstPosition + random.below(recordCount);
    const values = oneOf<() => object>(random, [
      () => ({ reward: [random.uniform()] }),
      ...(columnOf(state) ? [() => ({ state: anyValue(random, state, isStill) })] : []),
      () => ({ extras: { few: [random.uniform(), random.uniform()] } }),
      () => ({ extras: { more: anyValue(random, extra, isStill) } }),
    ])();
    for (const replay of this.replays) replay.update([handle], [position], values as never);
  }

  [Symbol.dispose](): void {
    for (const replay of this.replays) replay[Symbol.dispose]();
  }
}

function same(where: string, expected: unknown, actual: unknown): void {
  if (!Object.is(expected, actual)) throw new Error(`${where} is ${actual}, not ${expected}`);
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function isDeviceArray(value: unknown): value is DeviceArray {
  return typeof value === "object" && value !== null && "read" in value;
}

/** Compares parts of two batches that have the same structure: numbers, typed arrays, arrays on a device, and objects of these. */
async function compare(where: string, plain: unknown, shown: unknown): Promise<number> {
  if (isDeviceArray(shown)) {
    const expected = plain as Uint8Array;
    const array = await shown.read();
    same(`${where}: the kind of array`, expected.constructor.name, array.constructor.name);
    sameBytes(where, expected, array, shown.shape);
    return 1;
  }
  if (ArrayBuffer.isView(plain)) {
    sameBytes(where, plain, shown as ArrayBufferView, []);
    return 0;
  }
  if (typeof plain !== "object" || plain === null) {
    same(where, plain, shown);
    return 0;
  }
  const counts = await Promise.all(
    Object.entries(plain).map(([name, value]) =>
      compare(`${where}.${name}`, value, (shown as Record<string, unknown>)[name])
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function sameBytes(
  where: string,
  plain: ArrayBufferView,
  shown: ArrayBufferView,
  shape: readonly number[],
): void {
  const [a, b] = [bytesOf(plain), bytesOf(shown)];
  same(`${where}: bytes`, a.length, b.length);
  const wrong = a.findIndex((byte, k) => byte !== b[k]);
  if (wrong < 0) return;
  const element = Math.floor(wrong / (plain as Uint8Array).BYTES_PER_ELEMENT);
  const [is, was] = [shown, plain].map((each) => (each as Uint8Array)[element]);
  throw new Error(`${where} ${arrayText(shown, shape)}[${element}] is ${is}, not ${was}`);
}

const PARTS = [
  ...["state", "nextState", "action", "reward", "extras", "nStep", "seqLen", "nextSeqLen"],
  ...["pickEpisode", "pickPosition", "probability", "importanceWeight", "discount", "learnMask"],
  ...["contextMask", "terminated", "truncated", "returnToGo", "size", "length", "shape"],
] as const;

/** Refuses a batch that differs from the plain one in any bit; returns how many of its arrays are on the device. */
async function sameBatch(
  where: string,
  plain: Batch,
  shown: object,
): Promise<number> {
  const pick = (batch: object): object =>
    Object.fromEntries(PARTS.map((name) => [name, (batch as Record<string, unknown>)[name]]));
  return await compare(where, pick(plain), pick(shown));
}

/** So much that no row leaves memory but those that the device has. */
const RESIDENT = 2 ** 30;

/** Batches of each pair of replays, of few batches and of many: to make shaders ready takes longer than to run them. */
const PER_SETUP = 8;
const PER_SETUP_OF_MANY = 24;
const MANY = 1000;

/** How many blocks were read from the disk since the replay was opened. */
function blocksRead(replay: AnyReplay): number {
  return replay.durability?.residency?.readBlockCount ?? 0;
}

/** What was drawn. */
interface Drawn {
  /** How many arrays were on the device. */
  readonly arrays: number;
  /** How many blocks others than the device's batches read from the disk. */
  readonly blocks: number;
}

/**
 * Draws so many batches of random replays with and without a device. Refuses what differs. With `newFolder`, which makes folders, those on the device are durable and
 * have no host copy; then batches without the device are compared, too, and no batch on the device may read from the disk.
 */
export async function drawEqual(
  device: GPUDevice,
  seed: number,
  batchCount: number,
  newFolder?: (name: string) => string,
): Promise<Drawn> {
  let [arrays, blocks] = [0, 0];
  const perSetup = batchCount < MANY ? PER_SETUP : PER_SETUP_OF_MANY;
  for (let k = 0; k * perSetup < batchCount; k++) {
    const random = new RandomStream(seed, k);
    const setup = newFolder === undefined ? anySetup(random) : anySetupWithoutHostCopy(random);
    const where = `EXRP_SEED=${seed}, setup ${k}: ${JSON.stringify(setup)}`;
    using twins = await Twins.make(setup, random, newFolder?.(`twin_${k}`));
    // Of some replays, rows have gone before they are on a device.
    const before = oneOf(random, [100, 2 * setup.capacity]);
    for (let step = random.below(before); step > 0; step--) twins.record();
    const [plain, mirrored] = twins.replays;
    const columns = setup.columns as readonly "state"[];
    using gpu = onDevice(mirrored, device, { columns, hostCopy: newFolder === undefined });
    for (let draw = 0; draw < perSetup; draw++) {
      for (let step = random.below(60); step > 0; step--) twins.record();
      if (random.below(2) === 0) twins.update();
      if (plain.pickCount === 0) continue;
      const [first, second] = oneOf(random, twins.selectors);
      const size = 1 + random.below(20);
      const beta = random.uniform();
      const expected = plain.getBatch(size, first, { beta });
      // What is on the disk leaves memory with the next batch.
      if (newFolder !== undefined && draw % 2 === 1) await mirrored.flush();
      const before = blocksRead(mirrored);
      using batch = await gpu.getBatch(size, second, { beta });
      same(`${where}, draw ${draw}: blocks read`, before, blocksRead(mirrored));
      // What comes and goes now is none of the batch's business.
      const reading = sameBatch(`${where}, draw ${draw}`, expected, batch);
      for (let step = random.below(60); step > 0; step--) twins.record();
      arrays += await reading;
      const priorities = Float32Array.from({ length: size }, () => random.uniform());
      plain.setPriority(first, expected, priorities);
      mirrored.setPriority(second, batch.pickEpisode, batch.pickPosition, priorities);
      if (newFolder === undefined || draw % 3 > 0 || plain.pickCount === 0) continue;
      using fromHost = mirrored.getBatch(size, second);
      const inHost = plain.getBatch(size, first);
      await sameBatch(`${where}, draw ${draw} without the device`, inHost, fromHost);
    }
    blocks += blocksRead(mirrored);
  }
  return { arrays, blocks };
}
