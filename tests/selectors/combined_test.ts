import { combined, newest, prioritized, uniform } from "@exrp/replay";
import type { ComposedSelector, SelectorRule } from "@exrp/replay/selectors";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import {
  assertReplayError,
  assertReplayRejects,
  recordEpisode,
  smallReplay,
} from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({
  name: "combined({ newest: 2, rest: uniform() })",
  make: (): SelectorRule => combined({ newest: 2, rest: uniform() }),
});
conforms({
  name: "combined({ rest: prioritized() })",
  make: (): SelectorRule => combined({ rest: prioritized() }),
});

Deno.test("combined: the newest come first, each once, then the rest by its own rule", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    combined({ newest: 3, rest: prioritized({ alpha: 1, epsilon: 0 }) }),
  );
  const episode = recordEpisode(replay, 10);
  const priorities = Array.from({ length: 10 }, (_, k) => k === 4 ? 1 : 0);
  const positions = priorities.map((_, k) => k);
  replay.setPriority(selector, positions.map(() => episode), positions, priorities);
  const batch = replay.getBatch(8, selector);
  assertEquals([...batch.state], [9, 8, 7, 4, 4, 4, 4, 4]);
  assertEquals([...batch.probability], new Array(8).fill(1));
  assertEquals([...batch.importanceWeight], new Array(8).fill(1));
  assertEquals([...replay.getBatch(2, selector).state], [9, 8]);
});

Deno.test("combined: where there are fewer picks than newest ones, they come again", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(combined({ newest: 5, rest: uniform() }));
  recordEpisode(replay, 2);
  assertEquals([...replay.getBatch(5, selector).state], [1, 0, 1, 0, 1]);
});

Deno.test("a composed selector has parts, which are selectors of the replay", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(
    combined({ rest: combined({ newest: 2, rest: uniform() }) }),
  );
  assertEquals(replay.selectors.map(({ kind }) => kind), [
    "newest",
    "newest",
    "uniform",
    "combined",
    "combined",
  ]);
  assertStrictEquals(selector.id, 4);
  assertEquals(selector.parts.map(({ id }) => id), [0, 3]);
  assertEquals(selector.parts[1]?.parts.map(({ id }) => id), [1, 2]);
  recordEpisode(replay, 6);
  assertEquals([...replay.getBatch(3, selector).state], [5, 5, 4]);
  assert(String(replay.describe()).includes("of selectors 0, 3"));
});

Deno.test("one value of combined() serves many replays, each with a state of its own", async () => {
  const rule = combined({ rest: uniform() });
  using one = await smallReplay({ seed: 1 });
  using two = await smallReplay({ seed: 1 });
  const [a, b] = [one.newPickSelector(rule), two.newPickSelector(rule)];
  recordEpisode(one, 9);
  recordEpisode(two, 9);
  assertEquals(one.getBatch(20, a).bytes, two.getBatch(20, b).bytes);
});

Deno.test("a composed selector is saved with its parts, and needs to be there when it is loaded", async () => {
  using replay = await smallReplay();
  const make = (): SelectorRule => combined({ newest: 2, rest: uniform() });
  const selector = replay.newPickSelector(make());
  recordEpisode(replay, 9);
  const bytes = await replay.serialize();
  const expected = replay.getBatch(20, selector).bytes;
  using other = await smallReplay({ seed: 5 });
  const error = await assertReplayRejects(other.unserialize(bytes), "snapshot-mismatch");
  assert(error.message.includes("composed of selectors 0, 1"), error.message);
  const loaded = other.newPickSelector(make());
  await other.unserialize(bytes);
  assertEquals(other.getBatch(20, loaded).bytes, expected);

  using third = await smallReplay();
  third.newPickSelector(combined({ newest: 3, rest: uniform() }));
  await assertReplayRejects(third.unserialize(bytes), "snapshot-mismatch");
});

Deno.test("combined: bad input", async () => {
  // deno-lint-ignore no-explicit-any
  const loose = combined as any;
  assertThrows(() => loose({ newest: 0, rest: uniform() }), RangeError, "newest");
  assertThrows(() => loose({ rest: "uniform" }), TypeError, "rest");
  assertThrows(
    () => loose(uniform()),
    TypeError,
    "combined() takes { newest, rest }, got NativeSelector",
  );
  assertThrows(() => loose({ rest: uniform(), oldest: 1 }), TypeError, "oldest");
  assertThrows(() => loose(), TypeError);
  using replay = await smallReplay();
  const selector = replay.newPickSelector(combined({ rest: uniform() }));
  assertReplayError(() => replay.getBatch(4, selector), "empty");
});

function composing(compose: ReturnType<ComposedSelector["begin"]>["compose"]): ComposedSelector {
  return {
    name: "mine",
    parts: [uniform(), newest()],
    begin: (): ReturnType<ComposedSelector["begin"]> => ({
      compose,
      save: (): Uint8Array => new Uint8Array(),
      load: (): void => {},
    }),
  };
}

Deno.test("what a composition may not do is refused, and says what it did", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 5);
  const cases: [ComposedSelector, string][] = [
    [composing((_, drawer) => drawer.draw(0, 3)), "filled 3 of 4 places"],
    [composing((_, drawer) => drawer.draw(0, 5)), "would fill 5 places after 0 of 4"],
    [composing((_, drawer) => drawer.draw(0, 1.5)), "would fill 1.5 places"],
    [composing((count, drawer) => drawer.draw(2, count)), "has parts 0 to 1"],
    [composing((_, drawer) => drawer.keep([0], [1], [1])), "without drawing any"],
    [
      composing((count, drawer) => {
        drawer.candidates(0, 2);
        drawer.keep(new Array(count).fill(2), new Array(count).fill(1), new Array(count).fill(1));
      }),
      "would keep candidate 2; there are 0 to 1",
    ],
    [
      composing((count, drawer) => {
        drawer.candidates(0, 2);
        drawer.keep(new Array(count).fill(0), new Array(count).fill(0), new Array(count).fill(1));
      }),
      "probability 0",
    ],
    [
      composing((count, drawer) => {
        drawer.candidates(0, 2);
        drawer.keep(new Array(count).fill(0), [1], new Array(count).fill(1));
      }),
      "with 1 probabilities",
    ],
  ];
  for (const [rule, message] of cases) {
    const selector = replay.newPickSelector(rule);
    const error = assertReplayError(() => replay.getBatch(4, selector), "rule");
    assert(error.message.includes(message), error.message);
  }
  // deno-lint-ignore no-explicit-any
  const loose = replay as any;
  assertThrows(
    () => loose.newPickSelector({ name: "x", parts: [], begin: () => {} }),
    TypeError,
    "no parts",
  );
  assertThrows(
    () => loose.newPickSelector({ name: "x", parts: [1], begin: () => {} }),
    TypeError,
    "part 0",
  );
});

Deno.test("a composition can't be drawn with while it draws", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 5);
  const rule = composing((count, drawer) => {
    replay.getBatch(1, selector);
    drawer.draw(0, count);
  });
  const selector = replay.newPickSelector(rule);
  assertReplayError(() => replay.getBatch(4, selector), "busy");
});
