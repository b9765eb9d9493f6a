/** The rule of the guide keeps its contract, and does what it is for. */
import { ExperienceReplay, float32 } from "@exrp/replay";
import { conforms } from "@exrp/replay/testing";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../_assert.ts";
import { SurpriseFirst } from "../../examples/surprise_first.ts";

Deno.test("SurpriseFirst conforms", () =>
  conforms({ make: () => new SurpriseFirst(), stationary: true }));

Deno.test("SurpriseFirst conforms where some priorities surprise and some do not", () =>
  conforms({ make: () => new SurpriseFirst({ threshold: 1, share: 0.5 }), stationary: true }));

Deno.test("SurpriseFirst draws surprises with their share, and keeps them when others are evicted", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
  const selector = replay.newPickSelector(new SurpriseFirst({ threshold: 1, share: 0.5 }));
  const [first, second] = [0, 10].map((state) => {
    const episode = replay.newEpisode();
    for (let step = 0; step < 9; step++) replay.record(episode, [state + step], 0, 0);
    return replay.record(episode, [state + 9], 0, 0, { finalState: [0] });
  }) as [number, number];
  for (const episode of [first, second]) {
    const positions = Array.from({ length: 10 }, (_, k) => k);
    const priorities = positions.map((k) => episode === second && k < 2 ? 1 : 0.99);
    replay.setPriority(selector, positions.map(() => episode), positions, priorities);
  }
  for (const count of [20, 10]) {
    const { state, probability } = replay.getBatch(1000, selector);
    for (const [k, value] of state.entries()) {
      const surprise = value === 10 || value === 11;
      assertAlmostEquals(probability[k] ?? NaN, 0.5 / count + (surprise ? 0.25 : 0), 1e-7);
    }
    const surprises = state.filter((value) => value === 10 || value === 11).length;
    assert(surprises > 500, `${surprises} of 1000`);
    replay.evict(first);
  }
});

Deno.test("SurpriseFirst refuses bytes that are not its own", () => {
  const rule = new SurpriseFirst();
  for (let index = 0; index < 3; index++) rule.pushed(index);
  const right = rule.save();
  for (const words of [[1, 0, 1], [1, 0, 1, 1], [1, 0, 1, 3], [1, 0, 1, 2, 3], [4, 0, 1, 2], []]) {
    const bytes = new Uint8Array(Uint32Array.from(words).buffer);
    assertThrows(() => rule.load(bytes), RangeError, "these bytes do not name");
    assertEquals(rule.save(), right);
  }
});
