import { assert, assertEquals } from "@std/assert";
import { type Ear, LocalBell, SharedBell } from "../../base/bell.ts";

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

function startWorker(): Worker {
  return new Worker(new URL("./_bell_worker.ts", import.meta.url), { type: "module" });
}

/** Steps with a Worker that answers each; returns the time from the first answer to the last, in ms. */
async function stepTogether(steps: number, rings: boolean, endsEarly: boolean): Promise<number> {
  const bell = new SharedBell(new SharedArrayBuffer(SharedBell.bytes));
  const words = new Int32Array(new SharedArrayBuffer(8));
  const worker = startWorker();
  worker.postMessage({ memory: bell.memory, words: words.buffer, steps, rings, endsEarly });
  const ear = bell.listen();
  let begin = 0;
  for (let step = 1; step <= steps; step++) {
    Atomics.store(words, 0, step);
    if (rings) bell.ring();
    for (;;) {
      ear.ready();
      if (Atomics.load(words, 1) >= step) break;
      await ear.heard();
    }
    if (step === 1) begin = performance.now();
  }
  ear.close();
  const took = performance.now() - begin;
  worker.terminate();
  return took;
}

Deno.test("a shared bell loses no ring between two threads that answer each other", async () => {
  const steps = 500;
  // Each ring that is lost takes 100 ms. Without any, a step takes a fraction of 1 ms, or a few on a busy machine.
  const took = await stepTogether(steps, true, false);
  assert(took < steps * 20, `${took} ms for ${steps} steps`);
});

Deno.test("the same with a bell that is not rung takes 100 ms a step: the test above can fail", async () => {
  const took = await stepTogether(6, false, false);
  assert(took > 5 * 80, `${took} ms`);
});

Deno.test("a change without a ring, by a thread that ended in between, is seen after 100 ms", async () => {
  const took = await stepTogether(3, true, true);
  assert(took > 80, `${took} ms`);
});
