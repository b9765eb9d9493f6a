/** A rate limiter between threads: actors in Workers and a learner here, who wait for each other. */
import { assert, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, queue, samplesPerInsert, uniform } from "@exrp/replay";
import { SharedBell } from "../../../base/bell.ts";
import { assertReplayRejects } from "../_helpers.ts";
import type { Task } from "./_worker.ts";
import { inTime, PATIENCE_MS, pause } from "../../_wait.ts";
import { native } from "../../_native.ts";

const LIMIT = { timeoutMs: PATIENCE_MS };

/** A Worker at its task, and promises of what it tells. It ends with its scope, also where a test fails. */
class Actor implements Disposable {
  readonly worker: Worker;
  readonly begun: Promise<unknown>;
  readonly done: Promise<unknown>;

  constructor(task: Task) {
    this.worker = new Worker(new URL("./_worker.ts", import.meta.url), { type: "module" });
    const told = (word: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        this.worker.addEventListener("message", ({ data }) => data === word && resolve(data));
        this.worker.addEventListener("error", (event) => reject(new Error(event.message)));
      });
    this.begun = told("begun");
    this.done = told("done");
    this.worker.postMessage(task);
  }

  [Symbol.dispose](): void {
    this.worker.terminate();
  }
}

native.test("two actors in Workers and a learner keep the band, and no ring between them is lost", async () => {
  // Who misses a ring waits for ever.
  const [netMs, ownNetMs] = [2 ** 31 - 1, SharedBell.netMs];
  SharedBell.netMs = netMs;
  using _own = { [Symbol.dispose]: () => void (SharedBell.netMs = ownNetMs) };
  const rateLimiter = samplesPerInsert(4, { minSize: 40, error: 64 });
  using replay = await ExperienceReplay.create({ capacity: 500, state: float32(), rateLimiter });
  const selector = replay.newPickSelector(uniform());
  const task = { ticket: replay.share(), chunks: 100, size: 5, netMs };
  using first = new Actor({ ...task, first: 0 });
  using second = new Actor({ ...task, first: 1000 });
  const actors = [first, second];
  await Promise.all(actors.map(({ begun }) => begun));
  let batches = 0;
  // 1,000 records allow up to 3,904 picks.
  for (; batches < 122; batches++) {
    const batch = await replay.whenReady(() => replay.getBatch(32, selector), LIMIT);
    assertStrictEquals(batch.size, 32);
    const { difference = NaN } = replay.rateLimiter ?? {};
    assert(difference >= 96 && difference <= 224, String(difference));
  }
  await inTime("both actors are done", Promise.all(actors.map(({ done }) => done)));
  const { recorded, drawn, difference } = replay.rateLimiter ?? {};
  assertEquals([recorded, drawn, difference], [1000, 32 * 122, 96]);
});

native.test("a queue between Workers: the learner gets each step once, each actor's in order", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 200,
    state: float32(),
    rateLimiter: queue(40),
  });
  const task = { ticket: replay.share(), chunks: 60, size: 5 };
  using first = new Actor({ ...task, first: 0 });
  using second = new Actor({ ...task, first: 1000 });
  const actors = [first, second];
  const got: number[] = [];
  while (got.length < 600) {
    const drained = await replay.whenReady(() => replay.drain(), LIMIT);
    assertStrictEquals(drained.lost, 0);
    got.push(...drained.state);
    assert((replay.rateLimiter?.difference ?? NaN) <= 40);
  }
  await Promise.all(actors.map(({ done }) => done));
  for (const k of [0, 1]) {
    const own = got.filter((state) => Math.floor(state / 1000) === k);
    assertEquals(own, Array.from({ length: 300 }, (_, t) => 1000 * k + t));
  }
});

native.test("a Worker that is ended while it waits holds nobody up, and one that is revoked hears of it", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 200,
    state: float32(),
    rateLimiter: queue(10),
  });
  const ticket = replay.share();
  using ended = new Actor({ ticket, chunks: 1000, size: 5, first: 0 });
  assertStrictEquals(await replay.waitFor({ records: 10, ...LIMIT }), 10); // now it waits
  ended.worker.terminate();
  assertStrictEquals((await replay.whenReady(() => replay.drain(), LIMIT)).size, 10);
  using next = new Actor({ ticket, chunks: 2, size: 5, first: 0 });
  // The Worker that ends may have recorded some more, so the learner goes on until the next one is done.
  let isDone = false;
  next.done.finally(() => isDone = true);
  while (!isDone) {
    replay.drain();
    await pause(2);
  }
  await next.done;

  using guest = await ExperienceReplay.attach(replay.share(), { state: float32() });
  const full = replay.newEpisode();
  while ((replay.rateLimiter?.recordsAllowed ?? 0) > 0) replay.record(full, 1, 0, 0);
  const other = replay.share();
  using barred = await ExperienceReplay.attach(other, { state: float32() });
  const episodes = [barred.newEpisode(), replay.newEpisode()] as const;
  const waiting = barred.whenReady(() => barred.record(episodes[0], 1, 0, 0), LIMIT);
  replay.revoke(other);
  await assertReplayRejects(waiting, "revoked");

  // Another thread's new rate limiter is this one's, too.
  assertStrictEquals(replay.rateLimiter?.recordsAllowed, 0);
  const recording = replay.whenReady(() => replay.record(episodes[1], 1, 0, 0), LIMIT);
  guest.setRateLimiter(undefined);
  await recording;
  assertStrictEquals(replay.rateLimiter, undefined);
});
