import { assert, assertEquals } from "../_assert.ts";
import { type Ear, LocalBell, SharedBell } from "../../base/bell.ts";
import { inTime, pause, until } from "../_wait.ts";

/** Whether a promise resolves before the tasks that are ready now are done. */
async function isResolved(promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  promise.then(() => resolved = true);
  for (let k = 0; k < 5; k++) await Promise.resolve();
  return resolved;
}

for (
  const [name, make] of [
    ["a local bell", () => new LocalBell()],
    ["a shared bell", () => new SharedBell(new SharedArrayBuffer(SharedBell.bytes))],
  ] as const
) {
  Deno.test(`${name}: rings and wake() end heard(), but not rings of the look itself`, async () => {
    const bell = make();
    assert(!bell.isHeard);
    const ear = bell.listen();
    assert(bell.isHeard);
    ear.ready();
    const heard = ear.heard();
    assert(!await isResolved(heard));
    bell.ring();
    await heard;
    ear.ready();
    bell.ring();
    const own = ear.heard(); // this thread rang while it looked
    assert(!await isResolved(own));
    bell.ring();
    await own;
    ear.ready();
    const next = ear.heard();
    assert(!await isResolved(next)); // the old ring is not heard again
    ear.wake();
    assert(await isResolved(next));
    ear.ready();
    ear.wake();
    assert(await isResolved(ear.heard()));
    ear.close();
    assert(!bell.isHeard);
  });

  Deno.test(`${name}: who begins first is woken first, and a closed ear is free`, async () => {
    const bell = make();
    const order: number[] = [];
    const ears = [0, 1, 2].map(() => bell.listen());
    const heard = ears.map(async (ear: Ear, k) => {
      ear.ready();
      await ear.heard();
      order.push(k);
    });
    ears[1]?.close();
    ears[1]?.close();
    bell.ring();
    await Promise.all(heard);
    assertEquals(order, [1, 0, 2]);
    for (const ear of ears) ear.close();
    assert(!bell.isHeard);
  });
}

Deno.test("a shared bell: a ring of another thread between ready() and heard() is heard, besides one's own", async () => {
  const bell = new SharedBell(new SharedArrayBuffer(SharedBell.bytes));
  const other = new SharedBell(bell.memory);
  const ear = bell.listen();
  ear.ready();
  other.ring();
  assert(await isResolved(ear.heard()));
  ear.ready();
  bell.ring();
  other.ring();
  assert(await isResolved(ear.heard()));
  ear.close();
});

/** A net so long that whoever misses a ring waits for ever. */
const NEVER_MS = 2 ** 31 - 1;

/** Two threads at one bell: this one makes steps, and a Worker answers each. */
class Pair implements Disposable {
  readonly #bell = new SharedBell(new SharedArrayBuffer(SharedBell.bytes));
  readonly #words = new Int32Array(new SharedArrayBuffer(12));
  readonly #ear = this.#bell.listen();
  readonly #worker = new Worker(new URL("./_bell_worker.ts", import.meta.url), { type: "module" });
  readonly #ownNetMs = SharedBell.netMs;

  constructor(steps: number, netMs: number, endsEarly = false) {
    const [memory, words] = [this.#bell.memory, this.#words.buffer];
    SharedBell.netMs = netMs;
    this.#worker.postMessage({ memory, words, steps, netMs, endsEarly });
  }

  /** The newest step that the Worker answered. */
  get answered(): number {
    return Atomics.load(this.#words, 1);
  }

  /** The newest step for which it waited. */
  get awaited(): number {
    return Atomics.load(this.#words, 2);
  }

  make(step: number): void {
    Atomics.store(this.#words, 0, step);
  }

  ring(): void {
    this.#bell.ring();
  }

  async hear(step: number): Promise<void> {
    for (;;) {
      this.#ear.ready();
      if (this.answered >= step) return;
      await inTime(`step ${step} is answered and heard`, this.#ear.heard());
    }
  }

  [Symbol.dispose](): void {
    SharedBell.netMs = this.#ownNetMs;
    this.#ear.close();
    this.#worker.terminate();
  }
}

Deno.test("a shared bell loses no ring between two threads that answer each other", async () => {
  using pair = new Pair(500, NEVER_MS);
  for (let step = 1; step <= 500; step++) {
    pair.make(step);
    pair.ring();
    await pair.hear(step);
  }
});

Deno.test("a change that is not rung is not seen before the net's time: the test above can fail", async () => {
  using pair = new Pair(1, NEVER_MS);
  await until("the Worker waits", () => pair.awaited === 1);
  pair.make(1);
  await pause(200);
  assertEquals(pair.answered, 0);
  pair.ring();
  await pair.hear(1);
});

Deno.test("a change without a ring, by a thread that ended in between, is seen after the net's time", async () => {
  using pair = new Pair(3, 100, true);
  for (let step = 1; step <= 3; step++) {
    pair.make(step);
    pair.ring();
    await pair.hear(step);
  }
});
