/** What is particular to the reader and the writer of a replay. */
import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "../_assert.ts";
import { replayReader, replayWriter } from "../../learner/mod.ts";
import {
  ExperienceReplay,
  float32,
  float64,
  ReplayError,
  samplesPerInsert,
  uniform,
} from "../../mod.ts";
import type { PickOptions } from "../../mod.ts";

const capacity = 100;
const state = float32();

Deno.test("a reader refuses picks that are no transitions, and says what it needs", async () => {
  const refused: readonly (readonly [PickOptions, string])[] = [
    [{ length: 4 }, "picks of one step, got 4 rows"],
    [{ burnIn: 2 }, "picks of one step, got 3 rows"],
    [{ nStep: [1, 3] }, "one n-step return at most, got 2"],
    [{ allowOpenEnd: true }, "next states of all picks, got allowOpenEnd"],
    [{ allowOpenEnd: true, nStep: [3] }, "next states of all picks, got allowOpenEnd"],
    [{ nextState: false }, 'nextState "copy", got false'],
  ];
  for (const [pick, text] of refused) {
    using replay = await ExperienceReplay.create({ capacity, state, pick });
    const selector = replay.newPickSelector(uniform());
    assertThrows(() => replayReader(replay, selector), TypeError, text);
  }
  using replay = await ExperienceReplay.create({ capacity, state, reward: float64() });
  const selector = replay.newPickSelector(uniform());
  assertThrows(() => replayReader(replay, selector), TypeError, "an n-step return, got float64()");
  replayReader(replay, replay.newPickView({ nStep: 1 }).newPickSelector(uniform()));
});

Deno.test("a reader refuses what is no replay, and a selector of another one", async () => {
  using replay = await ExperienceReplay.create({ capacity, state });
  using other = await ExperienceReplay.create({ capacity, state });
  const selector = other.newPickSelector(uniform());
  replay.newPickSelector(uniform());
  const error = assertThrows(() => replayReader(replay, selector), ReplayError);
  assertStrictEquals(error.code, "foreign-selector");
  assertThrows(() => replayReader({} as typeof replay, selector), TypeError, "takes a replay");
  assertThrows(() => replayWriter({} as typeof replay), TypeError, "takes a replay");
});

Deno.test("stacks keep their dimension, and a disposed batch gives its memory back", async () => {
  using replay = await ExperienceReplay.create({ capacity, state, pick: { stack: 3 } });
  await using reader = replayReader(replay, replay.newPickSelector(uniform()));
  await using writer = replayWriter(replay);
  await writer.append({ state: 1, action: 0, reward: 0, nextState: 2, terminated: true });
  await writer.flush();
  const batch = await reader.getBatch(1);
  assertEquals([batch.shape.state, batch.shape.nextState], [[1, 3], [1, 3]]);
  assertEquals([...batch.state, ...batch.nextState], [1, 1, 1, 1, 1, 2]);
  batch[Symbol.dispose]();
  assertEquals([batch.state.length, batch.reward.length], [0, 0]);
});

Deno.test("a stream goes on after everything was evicted, once there is something again", async () => {
  using replay = await ExperienceReplay.create({ capacity, state });
  const reader = replayReader(replay, replay.newPickSelector(uniform()));
  const record = (first: number): number =>
    replay.record(replay.newEpisode(), first, 0, 0, { finalState: first + 1 });
  record(1);
  const stream = reader.batches(2, { prefetch: 0 });
  const next = async (): Promise<number | undefined> => (await stream.next()).value?.state[0];
  assertStrictEquals(await next(), 1);
  assertStrictEquals(await next(), 1);
  replay.clear();
  const waiting = next();
  await reader.stats();
  record(5);
  assertStrictEquals(await waiting, 5);
  await stream.return();
  await reader.close();
  await assertRejects(() => reader.stats(), ReplayError, "the reader is closed");
});

Deno.test("append() says that flushSteps are too many for the rate limiter", async () => {
  const rateLimiter = samplesPerInsert(4, { minSize: 10, error: 40 });
  using replay = await ExperienceReplay.create({ capacity, state, rateLimiter });
  const append = async (flushSteps: number): Promise<void> => {
    const writer = replayWriter(replay, { flushSteps });
    for (let k = 0; k <= flushSteps; k++) {
      await writer.append({ state: k, action: 0, reward: 0, nextState: k + 1, terminated: false });
    }
  };
  const error = await assertRejects(() => append(50), ReplayError, "make the calls smaller");
  assertStrictEquals(error.code, "rate-limiter-size");
  await append(5);
  assertStrictEquals(replay.recordCount, 5);
});
