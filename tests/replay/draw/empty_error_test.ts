/** The error of a view without picks says which records a pick needs. */
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, type PickOptions, uniform } from "@exrp/replay";
import { assertReplayError, assertReplayRejects } from "../_helpers.ts";

const POLICIES: readonly PickOptions[] = [
  {},
  { length: 5 },
  { length: 5, stride: 2, burnIn: 3 },
  { length: 5, allowShort: true },
  { length: 5, allowOpenEnd: true },
  { length: 5, allowOpenEnd: true, allowShort: true },
  { length: 5, nStep: [3, 7] },
  { length: 2, nStep: 3, allowOpenEnd: true },
  { length: 3, nextState: false },
  { length: 3, reversed: true, before: 0 },
];

/** How many records an episode has when its view gets its first pick. */
async function firstPick(pick: PickOptions, ends: boolean): Promise<number> {
  for (let count = 1; count < 30; count++) {
    using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(), pick });
    const episode = replay.newEpisode();
    for (let k = 1; k < count; k++) replay.record(episode, 0, 0, 0);
    replay.record(episode, 0, 0, 0, ends ? { finalState: 0 } : {});
    if (replay.pickCount > 0) return count;
  }
  throw new Error("no pick");
}

Deno.test("empty: how many records a pick needs, ended and open, is what it needs", async () => {
  for (const pick of POLICIES) {
    using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(), pick });
    const selector = replay.newPickSelector(uniform());
    const { message } = assertReplayError(() => replay.getBatch(4, selector), "empty");
    const [, ended, open] = /needs (\d+) records? of .* ended, or (\d+) of one that is open/
      .exec(message) ?? [];
    const found = [await firstPick(pick, true), await firstPick(pick, false)];
    assertEquals([Number(ended), Number(open)], found, JSON.stringify(pick) + message);
  }
});

Deno.test("empty: says how long the longest episode is, whichever call and selector", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 1000,
    state: float32(),
    pick: { length: 8 },
  });
  const selector = replay.newPickSelector(uniform());
  const whole = replay.newPickView({ whole: true, length: 125 }).newPickSelector(uniform());
  assertMatch(
    assertReplayError(() => replay.getBatch(4, selector), "empty").message,
    /: no record is stored; a pick needs 8 records of an episode that has ended, or 9 of/,
  );
  const first = replay.newEpisode();
  for (let k = 0; k < 5; k++) replay.record(first, 0, 0, 0);
  const error = assertReplayError(() => replay.getBatch(4, selector), "empty");
  assertMatch(error.message, /^getBatch\(\): .*: the only episode has 5 records and is open;/);
  assertEquals(error.detail, [5]);
  const second = replay.newEpisode();
  for (let k = 0; k < 6; k++) replay.record(second, 0, 0, 0, k === 5 ? { finalState: 0 } : {});
  assertMatch(
    (await assertReplayRejects(replay.batches(4, selector).next(), "empty")).message,
    /^batches\(\): .*: the longest of 2 episodes has 6 records and has ended;/,
  );
  replay.evict(second);
  assertMatch(
    assertReplayError(() => replay.getBatch(4, whole), "empty").message,
    /; a pick is one whole episode that has ended, of at most \d+ records and not trimmed \(pick.whole, pick.length \d+\)$/,
  );
});

Deno.test("batches(): a wrong size is an error of batches()", async () => {
  // It spoke of getBatch(), which nobody had called.
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
  const selector = replay.newPickSelector(uniform());
  let error: unknown;
  try {
    replay.batches(0, selector);
  } catch (thrown) {
    error = thrown;
  }
  assert(error instanceof RangeError);
  assertStrictEquals(
    error.message,
    "batches(): size must be an integer from 1 to 16777216, got 0",
  );
});
