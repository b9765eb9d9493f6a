import { recent } from "@exrp/replay";
import { recentCount } from "@exrp/replay/selectors";
import { assert, assertEquals, assertMatch, assertStrictEquals, assertThrows } from "../_assert.ts";
import { recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({
  name: "recent({ fraction: 1 })",
  make: () => recent({ fraction: 1 }),
  stationary: true,
});
conforms({
  name: "recent({ newest: 3 })",
  make: () => recent({ newest: 3 }),
  someOnly: true,
});
conforms({
  name: "recent({ eta: 0.99, updates: 50 })",
  make: () => recent({ eta: 0.99, updates: 50 }),
  someOnly: true,
});

Deno.test("recent(): the window is c_k, batch by batch, and then begins again", async () => {
  using replay = await smallReplay({ capacity: 4096 });
  const options = { eta: 0.997, updates: 4, newest: 70 };
  const selector = replay.newPickSelector(recent(options));
  recordEpisode(replay, 1000);
  const expected = [1, 2, 3, 4].map((k) => Math.max(70, Math.floor(1000 * 0.997 ** (250 * k))));
  assertEquals(expected, [471, 222, 105, 70]);
  for (let round = 0; round < 12; round++) {
    const batch = replay.getBatch(2000, selector, { beta: 1 });
    const window = expected[round % 4] ?? NaN;
    assertStrictEquals(window, recentCount(1000, round % 4 + 1, options));
    const oldest = batch.state.reduce((least, state) => Math.min(least, state));
    assert(oldest >= 1000 - window && oldest < 1000 - window + 20, `${oldest} of ${window}`);
    assert(batch.probability.every((p) => p === Math.fround(1 / window)));
    assert(batch.importanceWeight.every((weight) => weight === 1));
  }
});

Deno.test("recent(): the window follows what is forgotten, whatever the order", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(recent({ newest: 3 }));
  const episodes = [0, 10, 20, 30].map((state) => recordEpisode(replay, 2, state));
  const seen = (): number[] => [...new Set(replay.getBatch(200, selector).state)].sort();
  assertEquals(seen(), [21, 30, 31]);
  replay.evict(episodes[3] ?? NaN);
  assertEquals(seen(), [11, 20, 21]);
  replay.evict(episodes[1] ?? NaN);
  assertEquals(seen(), [1, 20, 21]);
  replay.evict(episodes[2] ?? NaN);
  assertEquals(seen(), [0, 1]);
});

Deno.test("recent(): bad options are refused at the call", () => {
  const cases: [unknown, RegExp][] = [
    [{}, /recent\(\) needs newest, fraction or eta/],
    [{ updates: 3 }, /recent\(\) needs newest, fraction or eta/],
    [{ newst: 1 }, /recent\(\) has no option "newst"/],
    [{ newest: 0 }, /newest must be an integer .* got 0/],
    [{ newest: 1.5 }, /newest .* got 1.5/],
    [{ fraction: 1.1 }, /fraction .* got 1.1/],
    [{ eta: -0.1 }, /eta .* got -0.1/],
    [{ eta: 1, updates: 0 }, /updates .* got 0/],
    [undefined, /takes an object of options/],
  ];
  const make = recent as (options: unknown) => unknown;
  for (const [options, text] of cases) {
    assertMatch((assertThrows(() => make(options)) as Error).message, text);
  }
  assertThrows(() => recentCount(10, 0, { newest: 1 }), RangeError, "recentCount(): k");
  assertThrows(() => recentCount(10, 11, { eta: 1, updates: 10 }), RangeError, "recentCount(): k");
  assertThrows(() => recentCount(-1, 1, { newest: 1 }), RangeError, "recentCount(): size");
});
