/**
 * An object with only the prototype of a class of the library gave unclear errors: "Cannot read private member" or
 * "Cannot read properties of undefined". Or the kernel was called with undefined numbers.
 */
import {
  type Column,
  every,
  ExperienceReplay,
  fifo,
  float32,
  prioritized,
  uniform,
} from "@exrp/replay";
import { assertEquals, assertInstanceOf, assertMatch } from "../../_assert.ts";

/** An object with the prototype of `real`, and nothing else. */
function impostor<T extends object>(real: T): T {
  return Object.create(Object.getPrototypeOf(real));
}

Deno.test("an object with only the right prototype is a TypeError that names it, in every call", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32(1) });
  replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
  const selector = replay.newPickSelector(prioritized());
  const batch = replay.getBatch(1, selector);
  const [table] = replay.pickViews;
  const fake = impostor(selector);
  const create = (options: object): Promise<unknown> =>
    ExperienceReplay.create({ capacity: 10, state: float32(1), ...options });
  const calls: readonly (readonly [RegExp, () => unknown])[] = [
    [/^getBatch\(\) takes a selector .* prototype of Selector$/, () => replay.getBatch(1, fake)],
    [/^batches\(\) takes a selector .* prototype of Selector$/, () => replay.batches(1, fake)],
    [/^setPriority\(\) takes a selector/, () => replay.setPriority(fake, [0], [0], [1])],
    [
      /into must be a batch .* prototype of Batch$/,
      () => replay.getBatch(1, selector, { into: impostor(batch) }),
    ],
    [
      /into must be a batch .* got null$/,
      () => replay.getBatch(1, selector, { into: null as never }),
    ],
    [/^only a batch that getBatch\(\) returned/, () => impostor(batch)[Symbol.dispose]()],
    [
      /^newPickSelector\(\) takes uniform\(\), .* prototype of NativeSelector$/,
      () => replay.newPickSelector(impostor(uniform())),
    ],
    [
      /state must be a column .* prototype of Column$/,
      () => create({ state: impostor(float32(1)) }),
    ],
    [/every\(\): column must be a column/, () => every(2, impostor<Column>(float32(1)))],
    [
      /eviction must be fifo\(\), .* prototype of NativeEviction$/,
      () => create({ eviction: impostor(fifo()) }),
    ],
    [/^pickCount is that of a pick view/, () => impostor(table).pickCount],
    [
      /^newPickSelector\(\) is that of a pick view/,
      () => impostor(table).newPickSelector(uniform()),
    ],
    [/^getBatch\(\) takes a selector/, () => replay.getBatch(1, new Proxy(selector, {}))],
  ];
  for (const [expected, call] of calls) {
    let error: unknown;
    try {
      await call();
    } catch (thrown) {
      error = thrown;
    }
    assertInstanceOf(error, TypeError, `${expected}: ${error}`);
    assertMatch(error.message, expected);
  }
  assertEquals(replay.selectors.length, 1);
});
