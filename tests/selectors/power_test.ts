import { power } from "@exrp/replay/selectors";
import { assertAlmostEquals, assertEquals, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

for (const exponent of [0, 0.7, 1, 2]) {
  conforms({
    name: `power({ exponent: ${exponent} })`,
    make: () => power({ exponent }),
    stationary: true,
    zeroIsNever: true,
    followsPriority: exponent > 0,
  });
}

Deno.test("power(): a priority of 0 is never drawn, even with exponent 0; and all 0 is uniform", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(power({ exponent: 0 }));
  const episode = recordEpisode(replay, 4);
  const set = (priorities: number[]): void =>
    void replay.setPriority(selector, new Array(4).fill(episode), [0, 1, 2, 3], priorities);
  set([0, 1, 1000, 0]);
  const batch = replay.getBatch(200, selector);
  assertEquals([...new Set(batch.pickPosition)].sort(), [1, 2]);
  for (const probability of batch.probability) assertEquals(probability, 0.5);
  set([0, 0, 0, 0]);
  const all = replay.getBatch(200, selector);
  assertEquals([...new Set(all.pickPosition)].sort(), [0, 1, 2, 3]);
  for (const probability of all.probability) assertAlmostEquals(probability, 0.25, 1e-9);
});

Deno.test("power(): bad options are refused at the call", () => {
  assertThrows(() => power({ alpha: 1 } as never), TypeError, 'power() has no option "alpha"');
  assertThrows(() => power({ exponent: -1 }), RangeError, "power(): exponent");
  assertThrows(() => power({ exponent: NaN }), RangeError, "power(): exponent");
  assertThrows(() => power({ initialPriority: 0 }), RangeError, "power(): initialPriority");
});
