/** Broadcast: whole versions only, in real Workers, whoever ends when. `_slots.ts` has the proof. */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { ReplayError } from "@exrp/replay";
import { Slots } from "../../actors/_slots.ts";
import {
  Broadcast,
  type BroadcastArrays,
  type BroadcastRead,
  type BroadcastTicket,
} from "../../actors/mod.ts";
import { testRandom } from "../replay/_helpers.ts";
import type { Job } from "./_broadcast_worker.ts";
import { filled, versionsIn } from "./_filled.ts";
import { PATIENCE_MS, pause } from "../_wait.ts";

const READS = Number(Deno.env.get("EXRP_BROADCAST_READS") ?? 10_000);
const ENDINGS = Number(Deno.env.get("EXRP_BROADCAST_ENDINGS") ?? 8);
const SEED = Number(Deno.env.get("EXRP_BROADCAST_SEED") ?? 261123);

/** The words of the shared memory, as `_slots.ts` has them. */
const WRITER = 1;
const SEQUENCE = 4;

/** Arrays of every dtype, each `length` long. */
function arraysOf(length: number): BroadcastArrays {
  return {
    a: new Float32Array(length),
    b: new Uint8Array(length),
    c: new Int8Array(length),
    d: new Int16Array(length),
    e: new Int32Array(length),
    f: new Float16Array(length),
    g: new Float64Array(length),
  };
}

/** Starts a Worker that publishes, and waits until it has begun; `end()` ends its loop for good. */
async function startWriter(
  ticket: BroadcastTicket,
  count: number,
): Promise<
  { worker: Worker; done: Promise<{ published: number; refused: number }>; end: () => void }
> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL("./_broadcast_worker.ts", import.meta.url), { type: "module" });
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<{ published: number; refused: number }>();
  worker.onmessage = ({ data }) => data === "begun" ? begun.resolve() : done.resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    begun.reject(new Error(event.message));
    done.reject(new Error(event.message));
  };
  const job: Job = { ticket, count, stop };
  worker.postMessage(job);
  await begun.promise;
  const end = (): void => {
    worker.terminate();
    Atomics.store(stop, 0, 1);
  };
  return { worker, done: done.promise, end };
}

Deno.test(`${READS} reads while a Worker publishes at full speed: all are whole, and versions go up`, async () => {
  const broadcast = Broadcast.create(filled(arraysOf(150), 1));
  const { end } = await startWriter(broadcast.ticket, Infinity);
  let last = 0;
  let copies = 0;
  try {
    for (let k = 0; k < READS || copies < READS / 10; k++) {
      const { version, changed, arrays } = broadcast.read();
      assert(version >= last, `version ${version} after ${last}`);
      assertStrictEquals(changed, version !== last);
      if (changed) {
        assertEquals(versionsIn(arrays), [version % 100]);
        copies++;
      }
      last = version;
    }
  } finally {
    end();
  }
});

Deno.test("two Workers publish at once: one at a time, each version once, and all are whole", async () => {
  const broadcast = Broadcast.create(filled(arraysOf(2_000), 1));
  const writers = [
    await startWriter(broadcast.ticket, 3_000),
    await startWriter(broadcast.ticket, 3_000),
  ];
  let isOver = false;
  const results = Promise.all(writers.map(({ done }) => done)).finally(() => isOver = true);
  while (!isOver) {
    for (let k = 0; k < 100; k++) {
      assertStrictEquals(versionsIn(broadcast.read().arrays).length, 1);
    }
    await pause(1);
  }
  for (const { worker } of writers) worker.terminate();
  assertEquals((await results).map(({ published }) => published), [3_000, 3_000]);
  assertStrictEquals(broadcast.version, 6_001);
});

Deno.test(`${ENDINGS} writers end at random moments (seed ${SEED}): readers keep the last whole version, and the next one takes over`, async () => {
  const below = testRandom(SEED);
  const broadcast = Broadcast.create(filled(arraysOf(10_000), 1));
  let cutOff = 0;
  // One of them, at least, has to be in the middle of publish().
  for (let turn = 0; turn < ENDINGS || cutOff === 0; turn++) {
    const { worker, end } = await startWriter(broadcast.ticket, Infinity);
    for (let reads = below(12); reads >= 0; reads--) {
      assertStrictEquals(versionsIn(broadcast.read().arrays).length, 1);
    }
    worker.terminate();
    assertStrictEquals(versionsIn(broadcast.read().arrays).length, 1, `seed ${SEED}`);
    // The thread may still run for a moment, see that it lost its place, and even publish again.
    let version: number | undefined;
    while (version === undefined) {
      if (broadcast.takeOver()) cutOff++;
      try {
        version = broadcast.publish(filled(arraysOf(10_000), 77));
      } catch (error) {
        assertStrictEquals(error instanceof ReplayError && error.code, "busy");
      }
    }
    const read = broadcast.read();
    assert(read.version >= version);
    assertStrictEquals(versionsIn(read.arrays).length, 1);
    end();
  }
});

/** Makes 4 versions in the middle of a copy. */
class Interrupted extends Uint8Array<ArrayBuffer> {
  interrupt: () => void = () => {};

  override set(source: ArrayLike<number>, offset = 0): void {
    const bytes = source as Uint8Array;
    const half = bytes.length / 2;
    super.set(bytes.subarray(0, half), offset);
    this.interrupt();
    super.set(bytes.subarray(half), offset + half);
  }
}

/** Slots without the second look. */
class Careless extends Slots {
  protected override isUntouched(): boolean {
    return true;
  }
}

/** Reads while 4 versions are made in the middle of the copy; returns the bytes that came. */
function readInterrupted(Kind: typeof Slots): { version: number; values: Set<number> } {
  const memory = new SharedArrayBuffer(Slots.bytesFor([64]));
  const writer = new Slots(memory, [64]);
  const write = (): number => writer.write([new Uint8Array(64).fill(writer.version + 1)]);
  write();
  const target = new Interrupted(new ArrayBuffer(64));
  let isFirst = true;
  target.interrupt = () => {
    if (isFirst) { for (let k = 0; k < 4; k++) write(); }
    isFirst = false;
  };
  const version = new Kind(memory, [64]).read([target]);
  return { version, values: new Set(target) };
}

Deno.test("a reader whose slot is used again in the middle of its copy copies again", () => {
  const { version, values } = readInterrupted(Slots);
  assertEquals([version, [...values]], [5, [5]]);
});

Deno.test("the tests see a reader that does not look a second time", () => {
  assertStrictEquals(readInterrupted(Careless).values.size, 2);
});

Deno.test("real threads, too, tear what a reader without the second look gets", async () => {
  const sizes = [64, 64];
  const memory = new SharedArrayBuffer(Slots.bytesFor(sizes));
  const ticket: BroadcastTicket = {
    memory,
    arrays: ["a", "b"].map((name) => ({ name, dtype: "uint8", length: 64 })),
  };
  Broadcast.attach(ticket).publish({ a: new Uint8Array(64), b: new Uint8Array(64) });
  const { end } = await startWriter(ticket, Infinity);
  const target = new Interrupted(new ArrayBuffer(64));
  // So slow that the writer comes round.
  const newest = new Slots(memory, sizes);
  target.interrupt = () => {
    const { version } = newest;
    while (newest.version < version + 4);
  };
  // Without a tear, this never ends.
  const slots = new Careless(memory, sizes);
  do slots.read([target]); while (new Set(target).size === 1);
  end();
});

Deno.test("a writer that was cut off leaves the last whole version, bars others until takeOver(), and its slot is used last", () => {
  const broadcast = Broadcast.create({ weights: Float32Array.of(1) });
  const words = new Int32Array(broadcast.ticket.memory);
  const reader = Broadcast.attach(broadcast.ticket);
  for (let turn = 0; turn < 10; turn++) {
    const { version } = broadcast;
    // What a thread leaves that ends in publish(): its number, and an odd slot.
    const free = [0, 1, 2, 3].map((k) => SEQUENCE + k).filter((word) =>
      (words[word] ?? 1) % 2 === 0
    );
    const { arrays } = reader.read();
    words[WRITER] = 1000 + turn;
    const barred = free.at(-1) ?? SEQUENCE;
    if (free.length > 1 && turn % 2 === 0) words[barred] = (words[barred] ?? 0) + 1;
    const error = assertThrows(() => broadcast.publish({ weights: Float32Array.of(9) }));
    assertInstanceOf(error, ReplayError);
    assertStrictEquals(error.code, "busy");
    assertEquals([reader.version, arrays.weights[0]], [version, version]);
    assertStrictEquals(broadcast.takeOver(), true);
    assertStrictEquals(broadcast.takeOver(), false);
    const next = Float32Array.of(version + 1);
    assertStrictEquals(broadcast.publish({ weights: next }), version + 1);
    assertEquals([...reader.read().arrays.weights], [...next]);
  }
});

/** A source of which a writer stands still before it copies the first piece, as a thread does that lost its core. */
class Stalled extends Uint8Array<ArrayBuffer> {
  meanwhile: () => void = () => {};

  override subarray(from?: number, to?: number): Uint8Array<ArrayBuffer> {
    this.meanwhile();
    return new Uint8Array(this.buffer).subarray(from, to);
  }
}

Deno.test("a writer that lost its place, and still copies a piece, tears no version though others are cut off too", () => {
  const memory = new SharedArrayBuffer(Slots.bytesFor([64]));
  const reader = new Slots(memory, [64]);
  const publish = (): number => reader.write([new Uint8Array(64).fill(reader.version + 1)]);
  let refused = 0;
  /** A writer that is cut off in the middle: `meanwhile` happens before it goes on. */
  const cutOff = (meanwhile: () => void): void => {
    const source = new Stalled(new ArrayBuffer(64)).fill(99);
    source.meanwhile = () => {
      assertStrictEquals(reader.takeOver(), true);
      meanwhile();
    };
    try {
      new Slots(memory, [64]).write([source]);
    } catch (error) {
      assert(error instanceof ReplayError && error.code === "busy");
      refused++;
    }
  };
  publish();
  let version = 0;
  // With three slots of writers that were cut off, and the newest version in the fourth, the next version takes that of the first writer.
  cutOff(() => {
    publish();
    cutOff(() => cutOff(() => version = publish()));
    const target = new Uint8Array(64);
    assertEquals([reader.read([target]), [...new Set(target)]], [version, [version]]);
  });
  assertStrictEquals(refused, 3);
  // All saw that they lost their places, and gave their slots back.
  const words = new Int32Array(memory);
  assertEquals([0, 1, 2, 3].map((k) => (words[SEQUENCE + k] ?? 1) % 2), [0, 0, 0, 0]);
});

Deno.test("versions are exact beyond the 30 bits of the shared word", () => {
  const broadcast = Broadcast.create({ weights: Float32Array.of(1) });
  const words = new Int32Array(broadcast.ticket.memory);
  // As after so many versions: the number stands in slot 1, and its lower bits in the head.
  const before = 5 * 2 ** 30 - 2;
  const slot = (words[0] ?? 0) & 3;
  new Float64Array(broadcast.ticket.memory, 64 + 16 * slot, 1)[0] = before;
  words[0] = ((before % 2 ** 30) << 2) | slot;
  const reader = Broadcast.attach(broadcast.ticket);
  assertStrictEquals(reader.read().version, before);
  const writer = Broadcast.attach(broadcast.ticket);
  for (let k = 1; k <= 5; k++) {
    assertStrictEquals(writer.publish({ weights: Float32Array.of(k) }), before + k);
    assertStrictEquals(reader.version, before + k);
    const { version, arrays } = reader.read();
    assertEquals([version, arrays.weights[0]], [before + k, k]);
  }
});

Deno.test("read() copies only if the version or the place is another one", () => {
  const broadcast = Broadcast.create({ weights: Float32Array.of(1, 2), step: Int32Array.of(3) });
  type Arrays = { weights: Float32Array<ArrayBuffer>; step: Int32Array<ArrayBuffer> };
  const first: BroadcastRead<Arrays> = broadcast.read();
  assertEquals([first.version, first.changed, [...first.arrays.weights]], [1, true, [1, 2]]);
  // What the reader wrote into its arrays stays: nothing was copied.
  first.arrays.weights[0] = 9;
  const second = broadcast.read();
  assertEquals([second.changed, second.arrays.weights[0]], [false, 9]);
  assertStrictEquals(second.arrays, first.arrays);
  assertStrictEquals(broadcast.read(), second); // and nothing was allocated
  const mine = { weights: new Float32Array(2), step: new Int32Array(1) };
  assertEquals(broadcast.read(mine), { version: 1, changed: true, arrays: mine });
  assertEquals([...mine.weights, ...mine.step], [1, 2, 3]);
  assertStrictEquals(broadcast.read(mine).changed, false);
  broadcast.publish({ weights: Float32Array.of(5, 6), step: Int32Array.of(7) });
  assertStrictEquals(broadcast.read(mine).changed, true);
  assertEquals([...mine.weights, ...mine.step], [5, 6, 7]);
  // A transfer took the memory of the broadcast's own arrays.
  const { arrays } = broadcast.read();
  structuredClone(arrays.weights, { transfer: [arrays.weights.buffer] });
  broadcast.publish(mine);
  assertEquals([...broadcast.read().arrays.weights], [5, 6]);
});

Deno.test("regression: read(into) fills an array that was replaced, and refuses one of another length, without a newer version", () => {
  const broadcast = Broadcast.create({ w: Float32Array.of(1, 2) });
  const mine = { w: new Float32Array(2) };
  broadcast.read(mine);
  mine.w = new Float32Array(2);
  assertStrictEquals(broadcast.read(mine).changed, true);
  assertEquals([...mine.w], [1, 2]);
  // Another place in the same buffer is another array, too.
  mine.w = new Float32Array(new Float32Array(4).buffer, 8);
  broadcast.read(mine);
  mine.w = new Float32Array(mine.w.buffer, 0, 2);
  assertStrictEquals(broadcast.read(mine).changed, true);
  assertStrictEquals(broadcast.read(mine).changed, false);
  mine.w = new Float32Array(5);
  assertThrows(() => broadcast.read(mine), RangeError, "w must have 2 elements, got 5");
});

Deno.test("regression: read(into) whose buffer was transferred is an error, and not empty arrays", () => {
  const broadcast = Broadcast.create({ w: Float32Array.of(1, 2), none: new Uint8Array(0) });
  const into = { w: new Float32Array(2), none: new Uint8Array(0) };
  broadcast.read(into);
  assertStrictEquals(broadcast.read(into).changed, false);
  structuredClone(into.w, { transfer: [into.w.buffer] });
  for (const _ of ["no newer version", "again"]) {
    assertThrows(
      () => broadcast.read(into),
      TypeError,
      "read(): into: w has lost its memory: its batch was handed back, or its buffer was transferred; it must be a Float32Array with memory",
    );
  }
  into.w = new Float32Array(2);
  const { changed, arrays } = broadcast.read(into);
  assertEquals([changed, ...arrays.w], [true, 1, 2]);
});

Deno.test("waitFor() hears of a version from a Worker, and ends by its signal or its time", async () => {
  const broadcast = Broadcast.create(arraysOf(10));
  assertStrictEquals(await broadcast.waitFor(1), 1);
  const waiting = broadcast.waitFor(500, { timeoutMs: PATIENCE_MS });
  const { worker, done } = await startWriter(broadcast.ticket, 499);
  assertStrictEquals(await waiting, 500);
  await done;
  worker.terminate();
  const late = await assertRejects(() => broadcast.waitFor(501, { timeoutMs: 20 }));
  assertInstanceOf(late, ReplayError);
  assertStrictEquals(late.code, "timeout");
  assertStrictEquals(
    late.message,
    "waitFor(): version 501 did not come within 20 ms; the newest one is 500",
  );
  const stop = new AbortController();
  const stopped = broadcast.waitFor(501, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assertRejects(() => stopped, Error, "enough");
  await assertRejects(() => broadcast.waitFor(501, { signal: stop.signal }), Error, "enough");
});

Deno.test("waitFor() works where the engine has no Atomics.waitAsync", async () => {
  const { waitAsync } = Atomics;
  Reflect.deleteProperty(Atomics, "waitAsync");
  try {
    const broadcast = Broadcast.create({ weights: new Float32Array(1) });
    const waiting = broadcast.waitFor(2, { timeoutMs: PATIENCE_MS });
    setTimeout(() => broadcast.publish({ weights: new Float32Array(1) }), 10);
    assertStrictEquals(await waiting, 2);
  } finally {
    Object.defineProperty(Atomics, "waitAsync", {
      value: waitAsync,
      configurable: true,
      writable: true,
    });
  }
});

Deno.test("errors of a Broadcast say what came and what was needed", async () => {
  const broadcast = Broadcast.create({ weights: new Float32Array(3), step: new Int32Array(1) });
  const weights = new Float32Array(3);
  const step = new Int32Array(1);
  const says = (call: () => unknown, text: string): void => {
    const error = assertThrows(call);
    assertInstanceOf(error, Error);
    assertStrictEquals(error.message, text);
  };
  says(
    () => broadcast.publish({ weights: new Float32Array(4), step }),
    "publish(): weights must have 3 elements, got 4",
  );
  says(
    () => broadcast.publish({ weights, step: new Float32Array(1) } as never),
    "publish(): step must be int32, got Float32Array(1)",
  );
  says(
    () => broadcast.publish({ weights } as never),
    "publish(): step is missing; it must be int32, 1 long",
  );
  says(
    () => broadcast.publish({ weights, step, stop: step } as never),
    'publish() has no option "stop"; did you mean step? It has weights, step',
  );
  assertStrictEquals(broadcast.version, 1);
  says(
    () => broadcast.read({ weights: new Float32Array(new SharedArrayBuffer(12)), step } as never),
    "read(): into has an array in shared memory, where another thread could change it; give arrays of this thread",
  );
  says(
    () => Broadcast.create({ weights: new Uint32Array(3) } as never),
    "Broadcast.create(): weights must be one of Uint8Array, Int8Array, Int16Array, Int32Array, Float16Array, Float32Array, Float64Array, got Uint32Array(3)",
  );
  says(
    () => Broadcast.create({}),
    "Broadcast.create() takes one or more typed arrays by name, got none",
  );
  says(
    () => Broadcast.create(weights as never),
    "Broadcast.create() takes an object of typed arrays by name, got Float32Array(3)",
  );
  const { memory, arrays } = broadcast.ticket;
  const wrong: [unknown, string][] = [
    [undefined, "undefined"],
    [{ memory: new ArrayBuffer(8), arrays }, "one whose memory is ArrayBuffer"],
    [{ memory, arrays: [] }, "one whose arrays are Array(0)"],
    [
      { memory, arrays: [{ name: "a", dtype: "bool", length: 3 }] },
      'one with an array that is {"name":"a","dtype":"bool","length":3}',
    ],
    [
      { memory, arrays: [{ name: "a", dtype: "int8", length: 3 }] },
      `one whose memory has ${memory.byteLength} bytes in the place of 128`,
    ],
  ];
  for (const [ticket, got] of wrong) {
    says(
      () => Broadcast.attach(ticket as never),
      `Broadcast.attach() takes the ticket of a Broadcast, or a clone of it, got ${got}`,
    );
  }
  await assertRejects(() => broadcast.waitFor(1.5), RangeError, "must be an integer of at least 0");
  await assertRejects(() => broadcast.waitFor(1, { timeout: 1 } as never), TypeError, "timeoutMs");
  assertStrictEquals(
    String(broadcast),
    "Broadcast { version 1, weights: float32[3], step: int32[1] }",
  );
});

Deno.test("a page without SharedArrayBuffer gets an error that names the headers", () => {
  const kept = globalThis.SharedArrayBuffer;
  Reflect.deleteProperty(globalThis, "SharedArrayBuffer");
  try {
    assertThrows(
      () => Broadcast.create({ weights: new Float32Array(1) }),
      TypeError,
      "Cross-Origin-Opener-Policy: same-origin",
    );
  } finally {
    Object.defineProperty(globalThis, "SharedArrayBuffer", {
      value: kept,
      configurable: true,
      writable: true,
    });
  }
});

Deno.test("a version may have a number of one's own, above the newest", async () => {
  const [first, second] = [2 ** 31 + 5, 2 ** 31 + 2 ** 30];
  const broadcast = Broadcast.create({ w: Float32Array.of(1) }, first);
  const reader = Broadcast.attach(broadcast.ticket);
  assertEquals([broadcast.version, reader.version, reader.read().version], Array(3).fill(first));
  assertStrictEquals(broadcast.publish({ w: Float32Array.of(2) }, second), second);
  assertEquals([broadcast.version, reader.version], [second, second]);
  assertEquals([reader.read().version, reader.read().arrays.w[0]], [second, 2]);
  assertStrictEquals(await reader.waitFor(second), second);
  assertStrictEquals(broadcast.publish({ w: Float32Array.of(3) }), second + 1);
  for (const wrong of [first, second + 1, second + 2 ** 30 + 1]) {
    const publish = (): number => broadcast.publish({ w: Float32Array.of(4) }, wrong);
    assertThrows(publish, RangeError, "version must be");
  }
  assertThrows(() => Broadcast.create({ w: Float32Array.of(4) }, 0), RangeError, "version must be");
  assertStrictEquals(reader.read().arrays.w[0], 3);
});
