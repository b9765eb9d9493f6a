/** Batches one after the other, the next ones drawn by another thread. */

import { ExperienceReplay, fifo, float32, lru, mixture, prioritized, uniform } from "@exrp/replay";
import type { PickSelector } from "@exrp/replay/selectors";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { streamBatches } from "../../../replay/draw/batches.ts";
import { assertReplayRejects, recordEpisode, type SmallReplay, smallReplay } from "../_helpers.ts";
import { pause } from "../../_wait.ts";

/** A learner: draws a batch, sets priorities, records, and repeats. Returns the batches' bytes. */
async function learn(prefetch: number, reuse: boolean, seed: number): Promise<string[]> {
  using replay = await smallReplay({ capacity: 60, segmentLength: 20, seed, eviction: lru() });
  const selector = replay.newPickSelector(prioritized({ alpha: 0.7 }));
  recordEpisode(replay, 10);
  const seen: string[] = [];
  let turn = 0;
  for await (
    const batch of replay.batches(16, selector, {
      prefetch,
      reuse,
      beta: () => turn / 50,
    })
  ) {
    seen.push(batch.bytes.toHex());
    const priorities = Float64Array.from(batch.pickPosition, (p, k) => (p * 7 + k + turn) % 5);
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
    recordEpisode(replay, 1 + turn % 9, 100 * turn);
    if (++turn === 40) break;
  }
  return seen;
}

/** The same, drawn by hand in the order in which `batches` promises to draw. */
async function byHand(prefetch: number, seed: number): Promise<string[]> {
  using replay = await smallReplay({ capacity: 60, segmentLength: 20, seed, eviction: lru() });
  const selector = replay.newPickSelector(prioritized({ alpha: 0.7 }));
  recordEpisode(replay, 10);
  const seen: string[] = [];
  let turn = 0;
  const draw = () => replay.getBatch(16, selector, { beta: turn / 50 });
  const ahead: ReturnType<typeof draw>[] = [];
  for (; turn < 40; turn++) {
    while (ahead.length < prefetch + 1) ahead.push(draw());
    const batch = ahead.shift();
    if (batch === undefined) break;
    seen.push(batch.bytes.toHex());
    const priorities = Float64Array.from(batch.pickPosition, (p, k) => (p * 7 + k + turn) % 5);
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
    recordEpisode(replay, 1 + turn % 9, 100 * turn);
  }
  return seen;
}

for (const prefetch of [0, 1, 3]) {
  for (const reuse of [false, true]) {
    Deno.test(`batches: prefetch ${prefetch}, reuse ${reuse}: drawn as of the moments that it promises`, async () => {
      for (const seed of [1, 2, 3]) {
        assertEquals(
          await learn(prefetch, reuse, seed),
          await byHand(prefetch, seed),
          `seed ${seed}`,
        );
      }
    });
  }
}

Deno.test("batches: memory is used again only where that was asked for", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 10);
  for (const reuse of [false, true]) {
    const seen = new Set<unknown>();
    let count = 0;
    for await (const batch of replay.batches(8, selector, { reuse })) {
      seen.add(batch);
      if (++count === 20) break;
    }
    assertEquals(seen.size, reuse ? 2 : 20);
  }
});

Deno.test("batches: rules in TypeScript, composed ones and an eviction policy of the user's work too", async () => {
  const mine = (): PickSelector => ({
    name: "mine",
    pushed: () => {},
    moved: () => {},
    popped: () => {},
    setPriority: () => {},
    select: (_, out) => {
      out.index.fill(0);
      out.probability.fill(1);
    },
  });
  using replay = await smallReplay();
  recordEpisode(replay, 10);
  for (
    const rule of [mine(), mixture([{ rule: uniform(), share: 1 }, { rule: mine(), share: 1 }])]
  ) {
    let count = 0;
    for await (const batch of replay.batches(8, replay.newPickSelector(rule))) {
      assertEquals(batch.size, 8);
      if (++count === 5) break;
    }
  }
  assertStrictEquals(fifo().name, "fifo");
});

Deno.test("batches: the signal ends it with its reason, before and while it waits", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 10);
  const reason = new EvalError("enough");
  const controller = new AbortController();
  let count = 0;
  await assertRejects(
    async () => {
      for await (const _ of replay.batches(8, selector, { signal: controller.signal })) {
        if (++count === 3) controller.abort(reason);
      }
    },
    EvalError,
    "enough",
  );
  assertEquals(count, 3);
  const stream = replay.batches(8, selector, { signal: controller.signal });
  await assertRejects(() => stream.next(), EvalError, "enough");
  assertEquals((await stream.next()).done, true);
});

Deno.test("batches: an empty replay is an error at the first batch, and no unhandled one", async () => {
  using replay = await smallReplay();
  const stream = replay.batches(8, replay.newPickSelector(uniform()));
  await assertReplayRejects(stream.next(), "empty");
});

Deno.test("batches: a replay that is freed meanwhile ends it with a named error", async () => {
  const replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 10);
  const stream = replay.batches(8, selector, { prefetch: 2 });
  await stream.next();
  const waiting = stream.next();
  replay[Symbol.dispose]();
  // What was drawn before is handed out still, or is not: then come at most the others that were ordered.
  const all = async (): Promise<void> => {
    await waiting;
    for (let k = 0; k < 4; k++) await stream.next();
  };
  await assertReplayRejects(all(), "disposed");
  assertEquals((await stream.next()).done, true);
});

Deno.test("batches: a snapshot that is loaded meanwhile: later batches are of what was loaded", async () => {
  using replay = await smallReplay({ seed: 4 });
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 10, 1000);
  const bytes = await replay.serialize();
  using other: SmallReplay = await smallReplay({ seed: 5 });
  const own = other.newPickSelector(uniform());
  recordEpisode(other, 10);
  const stream = other.batches(8, own);
  const first = (await stream.next()).value;
  assert(first instanceof Object && first.state.every((state) => state < 10));
  await other.unserialize(bytes);
  await stream.next();
  for (let k = 0; k < 3; k++) {
    const batch = (await stream.next()).value;
    assert(batch instanceof Object && batch.state.every((state) => state >= 1000));
  }
  await stream.return();
  assertEquals(selector.id, own.id);
});

Deno.test("batches: a snapshot that is loaded in between gives the same batches, however fast the other thread is", async () => {
  const drawn = async (pauseMs: number): Promise<number[]> => {
    using replay = await ExperienceReplay.create({ capacity: 5000, state: float32(64), seed: 5 });
    const selector = replay.newPickSelector(uniform());
    replay.recordMany(replay.newEpisode(), {
      state: new Float32Array(64 * 5000),
      action: new Int32Array(5000),
      reward: new Float32Array(5000),
    });
    const bytes = await replay.serialize();
    const positions: number[] = [];
    let turn = 0;
    for await (const batch of replay.batches(3000, selector, { prefetch: 2 })) {
      positions.push(...batch.pickPosition.subarray(0, 5));
      if (pauseMs > 0) await pause(pauseMs);
      if (++turn % 3 === 0) await replay.unserialize(bytes);
      if (turn === 12) return positions;
    }
    return positions;
  };
  const atOnce = await drawn(0);
  for (let again = 0; again < 4; again++) assertEquals(await drawn(again % 2 * 5), atOnce);
});

Deno.test("batches: large batches while this thread records all the time", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 5000,
    state: float32(64, 16),
    segmentLength: 50,
    seed: 3,
  });
  const selector = replay.newPickSelector(uniform());
  const record = (value: number): void => {
    replay.recordMany(replay.newEpisode(), {
      state: new Float32Array(20 * 1024).fill(value),
      action: new Int32Array(20).fill(value),
      reward: new Float32Array(20),
      finalState: new Float32Array(1024).fill(value),
    });
  };
  for (let k = 0; k < 250; k++) record(k);
  let turn = 250;
  for await (const batch of replay.batches(512, selector, { prefetch: 2, reuse: true })) {
    for (let k = 0; k < 512; k++) {
      const value = batch.action[k];
      if (batch.state[1024 * k] !== value || batch.nextState[1024 * k + 1023] !== value) {
        throw new Error(`pick ${k} is torn: ${batch.state[1024 * k]}, ${value}`);
      }
    }
    record(turn++);
    await pause(0);
    record(turn++);
    if (turn > 320) break;
  }
});

Deno.test("batches: bad input is refused at once", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  // deno-lint-ignore no-explicit-any
  const loose = replay as any;
  assertThrows(() => loose.batches(0, selector), RangeError, "size");
  assertThrows(() => loose.batches(8, "uniform"), TypeError, "batches()");
  assertThrows(() => loose.batches(8, selector, { prefetch: 17 }), RangeError, "prefetch");
  assertThrows(() => loose.batches(8, selector, { ahead: 1 }), TypeError, "ahead");
  assertThrows(() => loose.batches(8, selector, { signal: {} }), TypeError, "signal");
  assertThrows(() => loose.batches(8, selector, { beta: -1 }), RangeError, "beta");
  assertThrows(() => loose.batches(8, selector, { reuse: 1 }), TypeError, "reuse");
});

Deno.test("batches: after an abort the stream ends once the kernel has drawn what was ordered, and not before", async () => {
  // The batch that was waited for was once forgotten: the stream ended while the kernel still wrote to it.
  const drawn: PromiseWithResolvers<number>[] = [];
  const stream = streamBatches<number>({
    epoch: () => 0,
    draw: () => 0,
    drawAhead: () => {
      const order = Promise.withResolvers<number>();
      drawn.push(order);
      return order.promise;
    },
    drawInTime: () => Promise.resolve(0),
    lend: () => {},
  }, { reuse: true, prefetch: 1, signal: AbortSignal.timeout(1) });
  let hasEnded = false;
  const ended = assertRejects(() => stream.next(), DOMException).then(() => hasEnded = true);
  await pause(20);
  assertEquals(drawn.length, 2);
  drawn[1]?.resolve(1);
  await pause(20);
  assertEquals(hasEnded, false);
  drawn[0]?.resolve(0);
  await ended;
});

Deno.test("batches: memory that was transferred while it is drawn into is an error, not an empty batch", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 10);
  const stream = replay.batches(8, replay.newPickSelector(uniform()), { reuse: true });
  const { value: batch } = await stream.next();
  assert(batch !== undefined);
  // From here on another batch is drawn into the first one's memory.
  await stream.next();
  batch.bytes.buffer.transfer();
  const error = await assertRejects(() => stream.next(), TypeError);
  assertMatch(error.message, /batches\(\): the buffer of a batch was transferred/);
});

Deno.test("batches: what is drawn into again is refused by every call that takes a batch", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 60,
    state: float32(),
    extras: { achieved: float32(), desired: float32() },
    seed: 1,
  });
  const selector = replay.newPickSelector(prioritized());
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    reward: (achieved) => achieved,
  });
  let episode = replay.newEpisode();
  for (let t = 0; t < 20; t++) {
    episode = replay.record(episode, t, 0, 0, { extras: { achieved: t, desired: -1 } });
  }
  const stream = replay.batches(8, selector, { reuse: true });
  const { value: first } = await stream.next();
  const { value: second } = await stream.next();
  assert(first !== undefined && second !== undefined);
  const priorities = new Float32Array(8).fill(1);
  const calls: Record<string, () => unknown> = {
    "setPriority(): batch": () => replay.setPriority(selector, first, priorities),
    "getBatch(): into": () => replay.getBatch(8, selector, { into: first }),
    "relabel(): batch": () => hindsight.relabel(first),
  };
  for (const isOver of [false, true]) {
    if (isOver) await stream.return();
    for (const [name, call] of Object.entries(calls)) {
      const { message } = assertThrows(call, TypeError);
      assertStrictEquals(
        message,
        `${name} is a batch that batches() draws into again; with reuse a batch is yours only until you ask for the next one`,
      );
    }
  }
  // The last one that was handed out is yours.
  assertStrictEquals(replay.setPriority(selector, second, priorities), 8);
  hindsight.relabel(second);
  assertStrictEquals(replay.getBatch(8, selector, { into: second }), second);
});
