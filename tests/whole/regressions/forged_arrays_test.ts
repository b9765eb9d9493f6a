/**
 * Forged typed arrays crashed the process, or let errors show memory beside them. The library trusted a changed
 * prototype, or an array's own property `length` or `BYTES_PER_ELEMENT`.
 *
 * The file is long because it tries every forged array at every call that takes arrays.
 */
import {
  bool,
  type Column,
  ExperienceReplay,
  float16,
  float32,
  float64,
  int16,
  int32,
  int8,
  lowestPriorityFirst,
  mixture,
  prioritized,
  ReplayError,
  uint8,
} from "@exrp/replay";
import { gae } from "@exrp/replay/returns";
import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";
import { assert, assertEquals, assertInstanceOf, assertStrictEquals } from "../../_assert.ts";
import { visibleState } from "../../replay/_helpers.ts";

type Honest = Float32Array | Float64Array | Int32Array | Uint8Array | Int8Array | Int16Array;
type Forge = (honest: Honest) => unknown;

function sameKind(honest: Honest, count: number): Honest {
  return Reflect.construct(honest.constructor as FunctionConstructor, [count]);
}

function prototypeOf(honest: Honest): object {
  return Object.getPrototypeOf(honest);
}

/** Values that are not such an array, or claim another kind. Each is a TypeError in every call. */
const FORGES: Readonly<Record<string, Forge>> = {
  "memory of a smaller kind": (honest) => {
    const small = honest instanceof Uint8Array
      ? new Int8Array(honest.length)
      : new Uint8Array(honest.length);
    return Object.setPrototypeOf(small, prototypeOf(honest));
  },
  "memory of BigInts": (honest) =>
    Object.setPrototypeOf(new BigInt64Array(honest.length), prototypeOf(honest)),
  "too short, with a length of its own": (honest) =>
    Object.defineProperty(sameKind(honest, 0), "length", { value: honest.length }),
  "too long, with a length of its own": (honest) =>
    Object.defineProperty(sameKind(honest, honest.length + 3), "length", { value: honest.length }),
  "too short, with an inherited length": (honest) => {
    const prototype = Object.create(prototypeOf(honest), { length: { value: honest.length } });
    return Object.setPrototypeOf(sameKind(honest, 0), prototype);
  },
  "detached, with a length of its own": (honest) => {
    const gone = sameKind(honest, honest.length);
    (gone.buffer as ArrayBuffer).transfer();
    return Object.defineProperty(gone, "length", { value: honest.length });
  },
  "detached": (honest) => {
    const gone = sameKind(honest, honest.length);
    (gone.buffer as ArrayBuffer).transfer();
    return gone;
  },
  "a DataView": (honest) => new DataView(honest.buffer),
  "a DataView with an array's prototype": (honest) =>
    Object.setPrototypeOf(new DataView(honest.buffer), prototypeOf(honest)),
  "a buffer with an array's prototype": (honest) =>
    Object.setPrototypeOf(new ArrayBuffer(honest.byteLength), prototypeOf(honest)),
  "an object with an array's prototype": (honest) => Object.create(prototypeOf(honest)),
  "an object with all of an array's properties": (honest) =>
    Object.create(prototypeOf(honest), {
      length: { value: honest.length },
      buffer: { value: honest.buffer },
      byteOffset: { value: 0 },
      byteLength: { value: honest.byteLength },
      [Symbol.toStringTag]: { value: honest[Symbol.toStringTag] },
    }),
  "a Proxy": (honest) => new Proxy(honest, {}),
};

/** Arrays with false properties that nobody reads, or with unusual memory. The library accepts them. */
const HARMLESS: Readonly<Record<string, Forge>> = {
  "with an element size of its own": (honest) =>
    Object.defineProperty(honest.slice(), "BYTES_PER_ELEMENT", { value: 64 }),
  "with a byteLength of its own": (honest) =>
    Object.defineProperty(honest.slice(), "byteLength", { value: 2 ** 20 }),
  "with a byteOffset and a buffer of its own": (honest) =>
    Object.defineProperties(honest.slice(), {
      byteOffset: { value: 2 ** 20 },
      buffer: { value: new ArrayBuffer(2) },
    }),
  "with methods of its own": (honest) =>
    Object.defineProperties(honest.slice(), {
      subarray: { value: () => new Uint8Array(0) },
      slice: { value: () => new Uint8Array(0) },
      constructor: { value: DataView },
    }),
  "on a resizable buffer, tracking its length": (honest) => {
    const { byteLength } = honest;
    const buffer = new ArrayBuffer(2 * byteLength, { maxByteLength: 4 * byteLength });
    const tracking = Reflect.construct(honest.constructor as FunctionConstructor, [buffer]);
    buffer.resize(byteLength);
    tracking.set(honest);
    return tracking;
  },
  "of a subclass": (honest) => {
    class Sub extends (honest.constructor as Uint8ArrayConstructor) {}
    return new Sub(honest as Uint8Array);
  },
};

/** Draws the newest pick; keeps nothing. */
class Newest implements PickSelector {
  readonly name = "newest";
  count = 0;
  pushed(): void {
    this.count++;
  }
  moved(): void {}
  popped(): void {
    this.count--;
  }
  setPriority(): void {}
  select(_size: number, out: Selection, _random: RandomStream): void {
    out.index.fill(this.count - 1);
    out.probability.fill(1);
  }
}

/** A replay whose calls take whatever is given, as those of plain JavaScript do. */
interface LooseReplay extends Omit<ExperienceReplay, "getBatch" | "setPriority" | "newHindsight"> {
  newEpisode(): number;
  record(...values: unknown[]): number;
  recordStep(...values: unknown[]): number;
  recordMany(...values: unknown[]): number;
  recordBatch(...values: unknown[]): number;
  endEpisode(...values: unknown[]): boolean;
  setPriority(...values: unknown[]): number;
  getBatch(...values: unknown[]): LooseBatch;
  newHindsight(options: unknown): { relabel(batch: unknown): unknown };
}

interface LooseBatch extends Disposable {
  readonly bytes: Uint8Array;
  readonly state: Float32Array<ArrayBuffer>;
  readonly seqLen: Int32Array;
}

const COUNT = 4;

async function makeReplay(): Promise<LooseReplay> {
  const replay = await ExperienceReplay.create({
    capacity: 64,
    state: float32(COUNT),
    action: int32(COUNT),
    reward: float64(),
    extras: { goal: uint8(COUNT), reached: uint8(COUNT) },
    segmentLength: 32,
    seed: 1,
  });
  const episode = replay.newEpisode();
  for (let k = 0; k < 8; k++) replay.record(episode, ...step(), options());
  return replay as unknown as LooseReplay;
}

function step(): [Float32Array, Int32Array, number] {
  return [new Float32Array(COUNT), new Int32Array(COUNT), 1];
}

function options(): { extras: { goal: Uint8Array; reached: Uint8Array } } {
  return { extras: { goal: new Uint8Array(COUNT), reached: new Uint8Array(COUNT) } };
}

interface Entry {
  readonly honest: Honest;
  /** Calls with `value` in one place and honest arrays elsewhere. */
  readonly call: (replay: LooseReplay, value: never) => unknown;
}

function many(): Record<string, unknown> {
  return {
    state: new Float32Array(2 * COUNT),
    action: new Int32Array(2 * COUNT),
    reward: new Float64Array(2),
    extras: { goal: new Uint8Array(2 * COUNT), reached: new Uint8Array(2 * COUNT) },
  };
}

const manyExtras = { reached: new Uint8Array(2 * COUNT) };

/** A `recordMany` with one part exchanged. */
function manyEntry(honest: Honest, part: string): Entry {
  return {
    honest,
    call: (replay, value) => replay.recordMany(0, { ...many(), [part]: value } as never),
  };
}

/** A `recordBatch` of two environments with one part exchanged. */
function batchEntry(honest: Honest, part: string): Entry {
  return {
    honest,
    call: (replay, value) => {
      const done = part === "nextState" ? { terminated: [true, true] } : {};
      const next = { nextState: new Float32Array(2 * COUNT) };
      const steps = { ...many(), ...done, ...next, [part]: value };
      return replay.recordBatch(
        Float64Array.of(-1, -1).map(() => replay.newEpisode()),
        steps as never,
      );
    },
  };
}

function flatEntry(honest: Honest, part: string): Entry {
  return {
    honest,
    call: (replay, value) => {
      const ends = { terminated: [true, false], nextState: new Float32Array(2 * COUNT) };
      const steps = { ...many(), ...ends, [part]: value };
      return replay.recordFlat(replay.newEpisode(), steps as never);
    },
  };
}

const handles = new Float64Array(2);
const positions = Int32Array.of(1, 2);
const priorities = new Float32Array([3, 5]);

const ENTRIES: Readonly<Record<string, Entry>> = {
  "record(): state": {
    honest: new Float32Array(COUNT),
    call: (replay, value) => replay.record(0, value, step()[1], 1, options()),
  },
  "record(): action": {
    honest: new Int32Array(COUNT),
    call: (replay, value) => replay.record(0, step()[0], value, 1, options()),
  },
  "record(): extras": {
    honest: new Uint8Array(COUNT),
    call: (replay, value) =>
      replay.record(0, ...step(), { extras: { ...options().extras, goal: value } }),
  },
  "record(): finalState": {
    honest: new Float32Array(COUNT),
    call: (replay, value) => replay.record(0, ...step(), { ...options(), finalState: value }),
  },
  "recordStep(): nextState": {
    honest: new Float32Array(COUNT),
    call: (replay, value) => {
      const [state, action, reward] = step();
      const end = { terminated: true, truncated: false, nextState: value };
      return replay.recordStep(0, { state, action, reward, ...end, ...options() });
    },
  },
  "endEpisode(): finalState": {
    honest: new Float32Array(COUNT),
    call: (replay, value) => replay.endEpisode(0, { finalState: value }),
  },
  "recordMany(): state": manyEntry(new Float32Array(2 * COUNT), "state"),
  "recordMany(): action": manyEntry(new Int32Array(2 * COUNT), "action"),
  "recordMany(): reward": manyEntry(new Float64Array(2), "reward"),
  "recordMany(): priority": manyEntry(new Float32Array(2), "priority"),
  "recordMany(): finalState": manyEntry(new Float32Array(COUNT), "finalState"),
  "recordMany(): extras": {
    honest: new Uint8Array(2 * COUNT),
    call: (replay, goal) =>
      replay.recordMany(0, { ...many(), extras: { goal, ...manyExtras } } as never),
  },
  "recordBatch(): episodes": {
    honest: new Float64Array(1),
    call: (replay, value) =>
      replay.recordBatch(value, {
        state: new Float32Array(COUNT),
        action: new Int32Array(COUNT),
        reward: [1],
        ...options(),
      } as never),
  },
  "recordBatch(): state": batchEntry(new Float32Array(2 * COUNT), "state"),
  "recordBatch(): nextState": batchEntry(new Float32Array(2 * COUNT), "nextState"),
  "recordBatch(): terminated": batchEntry(new Uint8Array(2), "terminated"),
  "recordBatch(): truncated": batchEntry(new Uint8Array(2), "truncated"),
  "recordBatch(): priority": batchEntry(new Float64Array(2), "priority"),
  "recordFlat(): state": flatEntry(new Float32Array(2 * COUNT), "state"),
  "recordFlat(): nextState": flatEntry(new Float32Array(2 * COUNT), "nextState"),
  "recordFlat(): terminated": flatEntry(new Uint8Array(2), "terminated"),
  "recordFlat(): priority": flatEntry(new Float64Array(2), "priority"),
  "setPriority(): pickEpisode": {
    honest: handles,
    call: (replay, value) => prioritize(replay, value, positions, priorities),
  },
  "setPriority(): pickPosition": {
    honest: positions,
    call: (replay, value) => prioritize(replay, handles, value, priorities),
  },
  "setPriority(): priority as float32": {
    honest: priorities,
    call: (replay, value) => prioritize(replay, handles, positions, value),
  },
  "setPriority(): priority as float64": {
    honest: Float64Array.of(3, 5),
    call: (replay, value) => prioritize(replay, handles, positions, value),
  },
  "setPriority() of a rule in TypeScript": {
    honest: handles,
    call: (replay, value) => prioritize(replay, value, positions, priorities, 1),
  },
  "relabel(): rewards": {
    honest: new Float64Array(2),
    call: (replay, value) => relabel(replay, () => value),
  },
  "relabel(): the batch's pickEpisode": {
    honest: new Float64Array(2),
    call: (replay, pickEpisode) => relabel(replay, () => [0, 0], { pickEpisode }),
  },
  "relabel(): the batch's extra": {
    honest: new Uint8Array(2 * COUNT),
    call: (replay, goal) =>
      relabel(replay, () => [0, 0], { extras: { goal, reached: new Uint8Array(2 * COUNT) } }),
  },
};

function prioritize(
  replay: LooseReplay,
  episodes: Float64Array,
  places: Int32Array,
  values: Float32Array,
  selector = 0,
): void {
  const given = replay.selectors[selector];
  assert(given !== undefined);
  assertStrictEquals(replay.setPriority(given, episodes, places, values), 2);
}

function relabel(
  replay: LooseReplay,
  reward: () => never[] | number[],
  exchanged: object = {},
): void {
  const [selector] = replay.selectors;
  assert(selector !== undefined);
  const batch = replay.getBatch(2, selector);
  for (const [name, value] of Object.entries(exchanged)) {
    Object.defineProperty(batch, name, { value });
  }
  const options = { achieved: "reached", desired: "goal", strategy: "final", share: 1, reward };
  replay.newHindsight(options as never).relabel(batch as never);
}

for (const [name, { honest, call }] of Object.entries(ENTRIES)) {
  Deno.test(`forged arrays never reach the kernel: ${name}`, async () => {
    using replay = await makeReplay();
    replay.newPickSelector(prioritized());
    replay.newPickSelector(new Newest());
    call(replay, honest as never);
    for (const [how, forge] of Object.entries(HARMLESS)) {
      using other = await makeReplay();
      other.newPickSelector(prioritized());
      other.newPickSelector(new Newest());
      try {
        call(other, forge(honest) as never);
      } catch (cause) {
        throw new Error(`an array ${how} was refused`, { cause });
      }
      assertEquals(
        visibleState(other as unknown as ExperienceReplay),
        visibleState(replay as unknown as ExperienceReplay),
        how,
      );
    }
    using untouched = await makeReplay();
    untouched.newPickSelector(prioritized());
    untouched.newPickSelector(new Newest());
    // Some calls begin episodes of their own before the one that is looked at.
    const before = [untouched.recordCount, untouched.pickCount];
    for (const [how, forge] of Object.entries(FORGES)) {
      const error = thrownBy(() => call(untouched, forge(honest) as never));
      assertInstanceOf(error, TypeError, `${how}: ${error}`);
      assert(/\(\)/.test(error.message), `${how}: ${error}`);
      assert(!/Cannot read|receiver|incompatible/.test(error.message), `${how}: ${error}`);
      assertEquals([untouched.recordCount, untouched.pickCount], before, how);
      assertStrictEquals(untouched.episode(0).ending, "open");
    }
  });
}

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return "nothing was thrown";
}

Deno.test("forged arrays are refused as a state of any dtype", async () => {
  const columns: readonly (Column & { readonly shape: readonly number[] })[] = [
    uint8(3),
    int8(3),
    int16(3),
    int32(3),
    float16(3),
    float32(3),
    float64(3),
    bool(3),
    // Long ones are copied another way.
    float32(100),
    uint8(100),
  ];
  for (const column of columns) {
    using replay = await ExperienceReplay.create({ capacity: 64, state: column });
    const episode = replay.newEpisode();
    replay.record(episode, new Array(column.elementCount).fill(0) as never, 0, 0);
    const [honest] = [replay.episodeRecords(episode).state as unknown as Honest];
    replay.record(episode, honest as never, 0, 0);
    for (const [how, forge] of Object.entries(FORGES)) {
      const error = thrownBy(() => replay.record(episode, forge(honest) as never, 0, 0));
      assertInstanceOf(error, TypeError, `${column}, ${how}: ${error}`);
    }
    assertStrictEquals(replay.recordCount, 2);
  }
});

Deno.test("an array that its buffer has shrunk away from has no elements", async () => {
  using replay = await makeReplay();
  replay.newPickSelector(prioritized());
  const buffer = new ArrayBuffer(32, { maxByteLength: 64 });
  const fixed = new Float64Array(buffer, 0, 2);
  buffer.resize(8);
  const error = thrownBy(() => prioritize(replay, fixed, positions, priorities));
  assertInstanceOf(error, RangeError);
  assert(error.message.includes("got 0, 2 and 2"), error.message);
});

Deno.test("shared memory is copied, or refused where the kernel writes to it", async () => {
  using replay = await makeReplay();
  replay.newPickSelector(prioritized());
  const shared = new Float64Array(new SharedArrayBuffer(16));
  const disguised = new Float64Array(
    Object.setPrototypeOf(new SharedArrayBuffer(16), ArrayBuffer.prototype),
  );
  for (const array of [shared, disguised]) {
    prioritize(replay, array, positions, priorities);
    const error = thrownBy(() => replay.recordBatch(array as never, many() as never));
    assertInstanceOf(error, TypeError);
    assert(error.message.includes("recordBatch(): episodes lies in a SharedArrayBuffer"));
  }
});

Deno.test("a batch given as into has its memory counted, not what its arrays say", async () => {
  using replay = await makeReplay();
  const selector = replay.newPickSelector(prioritized());
  const lies: Readonly<Record<string, (batch: { bytes: Uint8Array }) => void>> = {
    length: ({ bytes }) => Object.defineProperty(bytes, "length", { value: bytes.length }),
    byteLength: ({ bytes }) => Object.defineProperty(bytes, "byteLength", { value: bytes.length }),
    prototype: ({ bytes }) => Object.setPrototypeOf(bytes, Float64Array.prototype),
  };
  for (const [how, lie] of Object.entries(lies)) {
    const batch = replay.getBatch(8, selector);
    lie(batch);
    batch.state.buffer.transfer();
    const error = thrownBy(() => replay.getBatch(8, selector, { into: batch }));
    assertInstanceOf(error, TypeError, `${how}: ${error}`);
    assert(error.message.includes("lost its memory"), error.message);
  }
  const smaller = replay.getBatch(4, selector);
  Object.assign(smaller, { size: 8 });
  Object.defineProperty(smaller.bytes, "length", { value: 2 ** 20 });
  assertInstanceOf(
    thrownBy(() => replay.getBatch(8, selector, { into: smaller })),
    RangeError,
  );
  // Handed back with lies about its buffer: the memory moves on all the same.
  const batch = replay.getBatch(8, selector);
  const { buffer } = batch.state;
  Object.defineProperty(batch.bytes, "buffer", { value: new ArrayBuffer(batch.bytes.length) });
  Object.defineProperty(buffer, "transfer", { value: () => new ArrayBuffer(1) });
  batch[Symbol.dispose]();
  assert(buffer.detached);
  assertStrictEquals(replay.getBatch(8, selector).seqLen[7], 1);
});

Deno.test("a rule in TypeScript can't replace or remove the arrays that it fills", async () => {
  const ways: Readonly<Record<string, (out: Selection) => void>> = {
    exchanges: (out) => Object.assign(out, { index: new Uint32Array(1), probability: [1] }),
    detaches: (out) => void out.index.buffer.transfer(),
    "detaches and lies": (out) => {
      Object.defineProperty(out.index, "length", { value: out.index.length });
      Object.defineProperty(out.probability, "length", { value: out.probability.length });
      out.index.buffer.transfer();
      out.probability.buffer.transfer();
    },
  };
  for (const [how, take] of Object.entries(ways)) {
    using replay = await makeReplay();
    class Forger extends Newest {
      override select(size: number, out: Selection, random: RandomStream): void {
        super.select(size, out, random);
        take(out);
      }
    }
    const selector = replay.newPickSelector(new Forger());
    const error = thrownBy(() => replay.getBatch(1000, selector));
    assert(error instanceof ReplayError || error instanceof TypeError, `${how}: ${error}`);
  }
});

Deno.test("a rule in TypeScript that transfers the arrays of setPriority() does no harm", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 64,
    state: float32(1),
    eviction: lowestPriorityFirst(),
  });
  const episode = replay.newEpisode();
  for (let k = 0; k < 8; k++) replay.record(episode, [k], 0, 0);
  const arrays = [new Float64Array(2), Int32Array.of(1, 2), Float64Array.of(3, 5)] as const;
  class Taker extends Newest {
    override setPriority(): void {
      for (const { buffer } of arrays) buffer.transfer();
    }
  }
  const selector = replay.newPickSelector(new Taker());
  assertStrictEquals(replay.setPriority(selector, ...arrays), 2);
  assertEquals(arrays.map(({ length }) => length), [0, 0, 0]);
});

Deno.test("a part behind a rule that transfers the arrays of setPriority() gets its priorities", async () => {
  // The kernel was handed empty arrays with the count of the full ones.
  using replay = await ExperienceReplay.create({ capacity: 64, state: float32(1) });
  const episode = replay.newEpisode();
  const arrays = [new Float64Array(2).fill(episode), Int32Array.of(0, 1), Float64Array.of(3, 5)];
  for (let k = 0; k < 8; k++) replay.record(episode, [k], 0, 0);
  class Taker extends Newest {
    override setPriority(): void {
      for (const { buffer } of arrays) buffer.transfer();
    }
  }
  const rules = [{ rule: new Taker(), share: 1 }, { rule: prioritized(), share: 1 }];
  const selector = replay.newPickSelector(mixture(rules));
  const [episodes = [], positions = [], priorities = []] = arrays;
  assertStrictEquals(replay.setPriority(selector, episodes, positions, priorities), 2);
  const [, part] = selector.parts;
  assert(part !== undefined);
  const kept = replay.getPriority(part, [episode, episode], [0, 1]);
  assertEquals([...kept].map(Math.round), [3, 5]);
});

Deno.test("a forged array from save() of a rule is refused", async () => {
  for (const [how, forge] of Object.entries(FORGES)) {
    using replay = await makeReplay();
    class Saved extends Newest {
      save(): Uint8Array {
        return forge(new Uint8Array(8)) as Uint8Array;
      }
      load(): void {}
    }
    replay.newPickSelector(new Saved());
    let error: unknown;
    try {
      await replay.serialize();
    } catch (thrown) {
      error = thrown;
    }
    assert(error instanceof TypeError || error instanceof ReplayError, `${how}: ${error}`);
    assert(error.message.includes("save() of the selector newest"), `${how}: ${error}`);
  }
});

Deno.test("unserialize() takes forged bytes neither whole nor as a stream", async () => {
  using replay = await makeReplay();
  const before = visibleState(replay as unknown as ExperienceReplay);
  const honest = await replay.serialize();
  for (const [how, forge] of Object.entries(FORGES)) {
    for (const isStream of [false, true]) {
      const forged = forge(honest) as Uint8Array;
      const source = isStream ? ReadableStream.from([forged]) : forged;
      let error: unknown;
      try {
        await replay.unserialize(source);
      } catch (thrown) {
        error = thrown;
      }
      assertInstanceOf(error, TypeError, `${how}: ${error}`);
      assert(error.message.includes("unserialize()"), `${how}: ${error}`);
      assertEquals(visibleState(replay as unknown as ExperienceReplay), before, how);
    }
  }
  for (const [how, forge] of Object.entries(HARMLESS)) {
    await replay.unserialize(forge(honest) as Uint8Array);
    assertEquals(visibleState(replay as unknown as ExperienceReplay), before, how);
  }
});

Deno.test("the functions of returns refuse arrays with a false length, and results of another kind", () => {
  const given = {
    reward: new Float32Array(4),
    discount: new Float32Array(4),
    value: new Float32Array(4),
    nextValue: new Float32Array(4),
    seqLen: new Int32Array(2).fill(2),
    lambda: 1,
  };
  assertStrictEquals(gae(given as never).advantage.length, 4);
  for (const how of ["too short, with a length of its own", "too long, with a length of its own"]) {
    const value = FORGES[how]?.(new Float32Array(4));
    assertInstanceOf(thrownBy(() => gae({ ...given, value } as never)), TypeError, how);
  }
});
