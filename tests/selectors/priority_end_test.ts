import { highestPriority, lowestPriority } from "@exrp/replay";
import { assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

for (const make of [highestPriority, lowestPriority]) {
  conforms({ name: `${make.name}()`, make, deterministic: true, someOnly: true });
  conforms({
    name: `${make.name}({ initialPriority: 0 })`,
    make: () => make({ initialPriority: 0 }),
    deterministic: true,
    someOnly: true,
  });
}

Deno.test("highestPriority() and lowestPriority(): ties go to the one set least recently", async () => {
  using replay = await smallReplay();
  const episode = recordEpisode(replay, 4);
  const ends = [
    replay.newPickSelector(highestPriority()),
    replay.newPickSelector(lowestPriority()),
  ];
  const set = (position: number, priority: number): void => {
    for (const selector of ends) replay.setPriority(selector, [episode], [position], [priority]);
  };
  const drawn = (): number[][] => ends.map((selector) => [...replay.getBatch(2, selector).state]);
  assertEquals(drawn(), [[0, 0], [0, 0]]); // all 1: the one that came first
  set(0, 1);
  assertEquals(drawn(), [[1, 1], [1, 1]]); // set anew, though to the same value, it goes behind the others
  set(3, 5);
  set(2, 0.5);
  assertEquals(drawn(), [[3, 3], [2, 2]]);
  set(1, 5);
  set(0, 0.5);
  assertEquals(drawn(), [[3, 3], [2, 2]]);
  set(3, 5);
  set(2, 0.5);
  assertEquals(drawn(), [[1, 1], [0, 0]]);
  recordEpisode(replay, 1, 10); // a new one gets the largest so far, and is the latest to have it
  set(1, 4);
  assertEquals(drawn()[0], [3, 3]);
  set(3, 4);
  assertEquals(drawn()[0], [10, 10]);
});

Deno.test("highestPriority() and lowestPriority(): bad options are refused at the call", () => {
  for (const make of [highestPriority, lowestPriority]) {
    const loose = make as (options: unknown) => unknown;
    const cases: [unknown, RegExp][] = [
      [{ initial: 1 }, /\(\) has no option "initial"/],
      [{ initialPriority: -1 }, /initialPriority .* got -1/],
      [{ initialPriority: NaN }, /initialPriority .* got NaN/],
    ];
    for (const [options, text] of cases) {
      const { message } = assertThrows(() => loose(options)) as Error;
      assertMatch(message, text);
      assertMatch(message, new RegExp(`^${make.name}\\(\\)`));
    }
  }
});
