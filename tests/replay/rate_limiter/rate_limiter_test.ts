import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import {
  ExperienceReplay,
  float32,
  minSize,
  mixture,
  newest,
  queue,
  type ReplayError,
  samplesPerInsert,
  type Selector,
  uniform,
} from "@exrp/replay";
import type { RateLimiter, RateLimiterState } from "@exrp/replay/types";
import type { PickSelector, Selection } from "@exrp/replay/selectors";
import { assertReplayError, assertReplayRejects, testRandom } from "../_helpers.ts";
import { PATIENCE_MS, pause } from "../../_wait.ts";

const options = { capacity: 1000, state: float32() } as const;

/** The rate limiter of a replay that has one. */
function rateLimiterOf(replay: ExperienceReplay): RateLimiterState {
  assert(replay.rateLimiter !== undefined);
  return replay.rateLimiter;
}

/** A selector of our own, which draws the first pick, and counts how often it was asked. */
class First implements PickSelector {
  readonly name = "first";
  readonly weighted = false;
  asked = 0;
  fails = false;

  pushed(): void {}
  moved(): void {}
  popped(): void {}
  setPriority(): void {}

  select(_count: number, out: Selection): void {
    this.asked++;
    if (this.fails) throw new Error("no");
    out.index.fill(0);
    out.probability.fill(1);
  }
}

/** The plain model: Reverb's counts and formulas, and one rule for calls of many records below `minSize`. */
class Model {
  readonly rule: RateLimiter["numbers"];
  inserts = 0;
  samples = 0;

  constructor({ numbers }: RateLimiter) {
    this.rule = numbers;
  }

  canSample(count: number, stored: number): boolean {
    const { ratio, minSize, differenceMin } = this.rule;
    return stored >= minSize && this.inserts * ratio - this.samples - count >= differenceMin;
  }

  canInsert(count: number, stored: number): boolean {
    const { ratio, minSize, differenceMin, differenceMax } = this.rule;
    if (stored + count <= minSize) return true;
    if (stored < minSize && count * ratio <= differenceMax - differenceMin) return true;
    return (this.inserts + count) * ratio - this.samples <= differenceMax;
  }
}

for (const backend of ["native", "wasm"] as const) {
  Deno.test(`random calls of every kind follow the model of a rate limiter, on ${backend}`, async () => {
    const seed = 261123;
    const random = testRandom(seed);
    const rules = [
      samplesPerInsert(4, { minSize: 20, error: 60 }),
      samplesPerInsert(0.3, { minSize: 10, error: [-5, 8] }),
      minSize(30),
      queue(40),
    ];
    for (const rateLimiter of rules) {
      using replay = await ExperienceReplay.create({
        ...options,
        capacity: 100,
        backend,
        rateLimiter,
      });
      const own = new First();
      const selectors: Selector[] = [
        replay.newPickSelector(uniform()),
        replay.newPickSelector(own),
      ];
      selectors.push(
        replay.newPickSelector(mixture([{ rule: uniform(), share: 1 }, {
          rule: newest(),
          share: 1,
        }])),
      );
      const model = new Model(rateLimiter);
      let episode = replay.newEpisode();
      episode = replay.record(episode, 0, 0, 0, { finalState: 1 });
      model.inserts++;
      episode = replay.newEpisode();
      const handles = Float64Array.from([0, 0, 0], () => replay.newEpisode());
      const zeros = (n: number): number[] => new Array<number>(n).fill(0);
      const refusals = { record: 0, draw: 0 };
      for (let k = 0; k < 400; k++) {
        const stored = replay.recordCount;
        const count = 1 + random(6);
        // Times of mostly records and of mostly draws, so that both are held back.
        const kind = random(4) === 0
          ? random(8)
          : Math.floor(k / 40) % 2 === 1
          ? random(5)
          : 5 + random(3);
        const values = { state: zeros(count), action: zeros(count), reward: zeros(count) };
        let [n, call, isDraw] = [1, (): unknown => undefined, false];
        if (kind === 0) call = () => episode = replay.record(episode, 0, 0, 0);
        else if (kind === 1) {
          const step = {
            state: 0,
            action: 0,
            reward: 0,
            terminated: random(4) === 0,
            nextState: 0,
          };
          call = () => episode = replay.recordStep(episode, step);
        } else if (kind === 2) {
          [n, call] = [count, () => episode = replay.recordMany(episode, values)];
        } else if (kind === 3) {
          const three = { state: zeros(3), action: zeros(3), reward: zeros(3) };
          [n, call] = [3, () => replay.recordBatch(handles, three)];
        } else if (kind === 4) {
          const truncated = zeros(count);
          truncated[random(count)] = 1;
          const flat = { ...values, truncated, nextStateUnknown: true };
          [n, call] = [count - 1, () => episode = replay.recordFlat(episode, flat).episode];
        } else {
          const selector = selectors[kind - 5] as Selector;
          const size = 1 + random(12);
          [n, call, isDraw] = [size, () => replay.getBatch(size, selector), true];
        }
        const allowed = isDraw ? model.canSample(n, stored) : n === 0 || model.canInsert(n, stored);
        const text = `seed ${seed}, ${rateLimiter}, call ${k}, ${isDraw ? "draw" : "record"} ${n}`;
        const asked = own.asked;
        if (allowed) {
          call();
          if (isDraw) model.samples += n;
          else model.inserts += n;
        } else {
          const before = rateLimiterOf(replay);
          const error = assertThrows(call) as ReplayError;
          assert(
            error.code === "rate-limiter" || error.code === "rate-limiter-size",
            `${text}: ${error}`,
          );
          assertEquals(rateLimiterOf(replay), before, text);
          assertStrictEquals(replay.recordCount, stored, text);
          assertStrictEquals(own.asked, asked, text);
          refusals[isDraw ? "draw" : "record"]++;
        }
        const state = rateLimiterOf(replay);
        assertEquals([state.recorded, state.drawn], [model.inserts, model.samples], text);
        const { picksAllowed, recordsAllowed } = state;
        const now = replay.recordCount;
        assertStrictEquals(picksAllowed >= 1, model.canSample(1, now), text);
        assertStrictEquals(recordsAllowed >= 1, model.canInsert(1, now), text);
        if (picksAllowed >= 1 && picksAllowed < Infinity) {
          assert(model.canSample(picksAllowed, now), text);
          assert(!model.canSample(picksAllowed + 1, now), text);
        }
      }
      assert(refusals.draw > 0, `${rateLimiter}`);
      if (rateLimiter.name !== "minSize") assert(refusals.record > 0, `${rateLimiter}`);
    }
  });
}

Deno.test("an error of the rate limiter says what was tried, what is allowed, and what to wait for", async () => {
  const rateLimiter = samplesPerInsert(2, { minSize: 3, error: 4 });
  using replay = await ExperienceReplay.create({ ...options, rateLimiter });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  const draw = (size: number) => () => replay.getBatch(size, selector);
  for (let t = 0; t < 2; t++) episode = replay.record(episode, t, 0, 0);
  assertEquals(
    assertReplayError(draw(2), "rate-limiter").message,
    "getBatch(): the rate limiter allows 0 more now, and the call asks for 2 picks; it can go on when more records were stored, and whenReady() waits for that (records stored: 2)",
  );
  for (let t = 2; t < 5; t++) episode = replay.record(episode, t, 0, 0);
  assertEquals(
    assertReplayError(() => replay.record(episode, 5, 0, 0), "rate-limiter").message,
    "record(): the rate limiter allows 0 more now, and the call has 1 record; it can go on when more picks were drawn, and whenReady() waits for that (records stored: 5)",
  );
  assertEquals(
    assertReplayError(draw(9), "rate-limiter-size").message,
    "getBatch(): the rate limiter never allows 9 picks at once: that needs a band of at least 9; make the calls smaller, or the error of samplesPerInsert() at least 4.5, or the size of queue() at least 9",
  );
  // Two calls that wait for each other: the second one hears of it.
  draw(2)();
  const three = { state: [0, 1, 2], action: [0, 0, 0], reward: [0, 0, 0] };
  assertReplayError(() => replay.recordMany(episode, three), "rate-limiter");
  assertEquals(
    assertReplayError(draw(7), "rate-limiter-size").message,
    "getBatch(): 7 picks and a call of 3 records wait for each other: together they need a band of at least 13; make the calls smaller, or the error of samplesPerInsert() at least 6.5, or the size of queue() at least 13",
  );
  draw(2)(); // a smaller one still may
});

Deno.test("an actor and a learner in turn keep the ratio, whoever is faster, and end together", async () => {
  const rateLimiter = samplesPerInsert(8, { minSize: 50, error: 100 });
  using replay = await ExperienceReplay.create({ ...options, rateLimiter });
  const selector = replay.newPickSelector(uniform());
  const seen: number[] = [];
  const act = async (): Promise<void> => {
    let episode = replay.newEpisode();
    for (let t = 0; t < 500; t++) {
      episode = await replay.whenReady(() => replay.record(episode, t, 0, 0));
    }
  };
  const controller = new AbortController();
  const { signal } = controller;
  const learn = async (): Promise<void> => {
    for await (const batch of replay.batches(32, selector, { prefetch: 1, signal })) {
      assertStrictEquals(batch.size, 32);
      seen.push(rateLimiterOf(replay).difference);
    }
  };
  const learning = learn().catch((error: Error) => assertEquals(error.message, "enough"));
  await act();
  while (rateLimiterOf(replay).picksAllowed >= 32) await pause(1);
  controller.abort(new Error("enough"));
  await learning;
  assert(seen.length > 100);
  for (const difference of seen) assert(difference >= 300 && difference <= 500, `${difference}`);
  const { drawn } = rateLimiterOf(replay);
  assert(drawn >= 8 * 500 - 500 && drawn <= 8 * 500 - 300, `${drawn}`);
});

Deno.test("batches() waits for the rate limiter, with and without drawing ahead, until the signal aborts", async () => {
  for (const prefetch of [0, 2]) {
    for (const rule of [uniform(), new First()]) {
      using replay = await ExperienceReplay.create({ ...options, rateLimiter: queue(8) });
      const selector = replay.newPickSelector(rule);
      const controller = new AbortController();
      const stream = replay.batches(4, selector, { prefetch, signal: controller.signal });
      const got: number[] = [];
      const reading = (async () => {
        for await (const batch of stream) got.push(batch.size);
      })();
      const settled = reading.catch((error: unknown) => error);
      let episode = replay.newEpisode();
      for (let t = 0; t < 17; t++) {
        episode = await replay.whenReady(() => replay.record(episode, t, 0, 0), {
          timeoutMs: PATIENCE_MS,
        });
      }
      while (got.length < 4) await pause(1);
      assertStrictEquals(rateLimiterOf(replay).drawn, 16);
      controller.abort(new Error("enough"));
      assertEquals(String(await settled), "Error: enough");
      assertStrictEquals(rateLimiterOf(replay).drawn, 16); // 17 records allow no fifth batch
    }
  }
});

Deno.test("batches() hands out what was drawn ahead, even if the rate limiter held the batch before it back", async () => {
  using replay = await ExperienceReplay.create({ ...options, rateLimiter: minSize(4) });
  const selector = replay.newPickSelector(uniform());
  const stream = replay.batches(4, selector, { prefetch: 2 });
  // All three are ordered while the rate limiter allows none.
  const first = stream.next();
  await pause(20);
  replay.setRateLimiter(queue(8));
  let episode = replay.newEpisode();
  for (let t = 0; t < 8; t++) episode = replay.record(episode, t, 0, 0);
  await first;
  // The second one finds the two that were held back, and one more that is drawn.
  await stream.next();
  assertStrictEquals(rateLimiterOf(replay).drawn, 8);
  await stream.return();
});

Deno.test("what waits for the rate limiter ends by abort, timeout and disposal, and hears of a new rate limiter", async () => {
  using replay = await ExperienceReplay.create({ ...options, rateLimiter: minSize(100) });
  const selector = replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
  const draw = (): unknown => replay.getBatch(4, selector);
  const late = await assertReplayRejects(replay.whenReady(draw, { timeoutMs: 5 }), "timeout");
  assertStrictEquals((late.cause as ReplayError).code, "rate-limiter");
  const controller = new AbortController();
  const aborted = replay.whenReady(draw, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await aborted.then(() => assert(false), (error) => assertEquals(error.message, "enough"));

  const waiting = replay.whenReady(draw);
  replay.setRateLimiter(undefined);
  await waiting;
  assertStrictEquals(replay.rateLimiter, undefined);
  replay.setRateLimiter(minSize(2));
  const disposed = replay.whenReady(draw);
  replay[Symbol.dispose]();
  await assertReplayRejects(disposed, "disposed");
  assertReplayError(() => replay.rateLimiter, "disposed");
  assertReplayError(() => replay.setRateLimiter(undefined), "disposed");
});

Deno.test("whenReady: a function that begins an episode before its call is held back is refused, as it would begin many", async () => {
  using replay = await ExperienceReplay.create({ ...options, rateLimiter: queue(1) });
  const record = (): unknown => replay.record(replay.newEpisode(), 1, 0, 0);
  await replay.whenReady(record);
  await assertRejects(
    () => replay.whenReady(record),
    TypeError,
    "began an episode before its call was held back; call newEpisode() before",
  );
  assertEquals([replay.recordCount, replay.episodeCount], [1, 3]);
});

Deno.test("whenReady: two functions that do a part of their work each time leave time for others", async () => {
  // Each wakes the other. They once would have done so for ever, without a turn for anything else.
  using replay = await ExperienceReplay.create({ ...options, rateLimiter: queue(4) });
  const writer = async (): Promise<void> => {
    let episode = replay.newEpisode();
    let left = 50;
    await replay.whenReady(() => {
      for (; left > 0; left--) episode = replay.record(episode, left, 0, 0);
    });
    replay.endEpisode(episode, { finalState: 0 });
  };
  const writers = Promise.all([writer(), writer()]);
  const got: number[] = [];
  while (got.length < 100) {
    got.push(...(await replay.whenReady(() => replay.drain({ minSteps: 1 }))).state);
    if (got.length >= 98) break; // the newest step of each waits for its end
  }
  await writers;
  got.push(...replay.drain().state);
  assertEquals(got.length, 100);
});

Deno.test("a draw that fails is not counted, nor one of a rule that throws in the middle", async () => {
  using replay = await ExperienceReplay.create({ ...options, rateLimiter: queue(8) });
  const rule = new First();
  const selector = replay.newPickSelector(rule);
  replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
  rule.fails = true;
  assertThrows(() => replay.getBatch(1, selector), Error, "no");
  assertStrictEquals(rateLimiterOf(replay).drawn, 0);
  rule.fails = false;
  replay.getBatch(1, selector);
  assertStrictEquals(rateLimiterOf(replay).drawn, 1);
  assertReplayError(() => replay.getBatch(1, selector), "rate-limiter");
});

Deno.test("a queue hands each step out once, in order, and loses none, though the actor is faster", async () => {
  using replay = await ExperienceReplay.create({
    ...options,
    capacity: 64,
    rateLimiter: queue(64),
  });
  const count = 5000;
  const act = async (): Promise<void> => {
    const random = testRandom(7);
    const handles = Float64Array.of(replay.newEpisode(), replay.newEpisode());
    for (let t = 0; t < count; t += 2) {
      const state = [t, t + 1];
      const terminated = [random(9) === 0 ? 1 : 0, random(50) === 0 ? 1 : 0];
      const steps = { state, action: [0, 0], reward: [0, 0], terminated, nextState: state };
      await replay.whenReady(() => replay.recordBatch(handles, steps));
    }
  };
  const acting = act();
  const got: number[] = [];
  while (got.length < count) {
    const drained = await replay.whenReady(() => replay.drain({ minSteps: 8 }));
    assertStrictEquals(drained.lost, 0);
    got.push(...drained.state);
    assertStrictEquals(rateLimiterOf(replay).drawn, got.length);
  }
  await acting;
  const numbers = got.toSorted((a, b) => a - b);
  assertEquals(numbers, Array.from({ length: count }, (_, t) => t));
  for (const parity of [0, 1]) {
    const own = got.filter((t) => t % 2 === parity);
    assertEquals(own, own.toSorted((a, b) => a - b)); // each environment's in order
  }
});

Deno.test("a queue on a replay that has records begins with those that were not handed out", async () => {
  using replay = await ExperienceReplay.create(options);
  for (let t = 0; t < 20; t++) replay.record(replay.newEpisode(), t, 0, 0, { finalState: 0 });
  replay.drain({ steps: 5 });
  replay.setRateLimiter(queue(20));
  assertStrictEquals(rateLimiterOf(replay).difference, 15);
  assertStrictEquals(rateLimiterOf(replay).recordsAllowed, 5);
  replay.evict(replay.episodes().handle[0] ?? -1); // lost, and counted by the next drain
  assertStrictEquals(replay.drain({ steps: 14 }).lost, 1);
  assertStrictEquals(rateLimiterOf(replay).difference, 0);
  replay.setRateLimiter(samplesPerInsert(2, { minSize: 10, error: 8 }));
  assertEquals([rateLimiterOf(replay).recorded, replay.recordCount], [0, 0]);
});

Deno.test("a snapshot has the counts of the rate limiter, and an old one or another rate limiter begins anew", async () => {
  const rateLimiter = samplesPerInsert(2, { minSize: 4, error: 6 });
  using replay = await ExperienceReplay.create({ ...options, rateLimiter, seed: 1 });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  for (let t = 0; t < 6; t++) episode = replay.record(episode, t, 0, 0);
  replay.getBatch(5, selector);
  const bytes = await replay.serialize();
  const numbers = async (rule?: RateLimiter): Promise<RateLimiterState | undefined> => {
    const more = rule === undefined ? {} : { rateLimiter: rule };
    using other = await ExperienceReplay.create({ ...options, ...more });
    await other.unserialize(new Blob([bytes]).stream());
    return other.rateLimiter;
  };
  assertEquals(await numbers(rateLimiter), rateLimiterOf(replay));
  assertEquals(await numbers(samplesPerInsert(2, { minSize: 4, error: 6 })), rateLimiterOf(replay));
  assertStrictEquals(await numbers(), undefined);
  const other = await numbers(samplesPerInsert(2, { minSize: 4, error: 7 }));
  assertEquals([other?.recorded, other?.drawn], [4, 0]);

  // A snapshot without counts: what it holds counts, as far as minSize.
  using plain = await ExperienceReplay.create({ ...options });
  plain.newPickSelector(uniform());
  for (let t = 0; t < 9; t++) plain.record(plain.newEpisode(), t, 0, 0, { finalState: 0 });
  await replay.unserialize(await plain.serialize());
  assertEquals([rateLimiterOf(replay).recorded, rateLimiterOf(replay).drawn], [4, 0]);
  assert(rateLimiterOf(replay).picksAllowed > 0);
});

Deno.test("describe() and stats() show the rate limiter", async () => {
  const rateLimiter = samplesPerInsert(2, { minSize: 4, error: 6 });
  using replay = await ExperienceReplay.create({ ...options, rateLimiter });
  for (let t = 0; t < 5; t++) replay.record(replay.newEpisode(), t, 0, 0, { finalState: 0 });
  replay.getBatch(3, replay.newPickSelector(uniform()));
  assertEquals(replay.describe().rateLimiter, replay.rateLimiter);
  const shown = [String(replay.describe()), String(replay.stats())].map((text) =>
    text.split("\n").find((line) => line.trim().startsWith("rate limiter"))?.trim().replace(
      / +/g,
      " ",
    )
  );
  assertEquals(shown, [
    "rate limiter 2 picks a record from 4 records on; the difference is 7, held from 2 to 14",
    "rate limiter 3 picks drawn for 5 records; the difference is 7, held from 2 to 14",
  ]);
  const { recorded, drawn } = rateLimiterOf(replay);
  assertEquals([replay.stats().rateLimiter?.recorded, replay.stats().rateLimiter?.drawn], [
    recorded,
    drawn,
  ]);
  replay.setRateLimiter(minSize(9));
  assert(String(replay.describe()).includes("picks are drawn from 9 records on"));
});
