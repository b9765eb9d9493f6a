/** Every reader and writer does the same, wherever the experience is. */
import { assert, assertEquals, assertMatch, assertRejects } from "../_assert.ts";
import { minSize, ReplayError, samplesPerInsert } from "../../mod.ts";
import type { ReplayReader, ReplayWriter, TransitionBatch } from "../../learner/mod.ts";
import { inTime } from "../_wait.ts";
import { onAll, type Steps } from "./_places.ts";

/** One row of a batch, as plain numbers. */
interface Transition {
  readonly state: readonly number[];
  readonly action: number;
  readonly reward: number;
  readonly nextState: readonly number[];
  readonly discount: number;
  readonly hidden: readonly number[];
  readonly note: number;
}

/** The numbers of a state; the first one tells which. Not all can be told apart without their bits. */
const stateOf = (k: number): number[] => [k, -0, 1 / 3, NaN, Infinity, -k].map(Math.fround);
const rewardOf = (k: number): number => Math.fround(k / 3);
const actionOf = (k: number): number => (k % 256) - 128;
const hiddenOf = (k: number): number[] => [k / 4, -0];

/** An episode of so many steps from state `first` on. What comes back are its transitions, made by a plain rule. */
async function writeEpisode(
  writer: ReplayWriter<Steps>,
  first: number,
  count: number,
  ending: "terminated" | "truncated" | "cut",
  nStep = 1,
): Promise<Transition[]> {
  const [state, nextState, hidden] = [new Float32Array(6), new Float32Array(6), [0, 0]];
  for (let t = 0; t < count; t++) {
    const isLast = t === count - 1;
    // One array for all steps: the writer must copy it.
    state.set(stateOf(first + t));
    nextState.set(stateOf(first + t + 1));
    hidden.splice(0, 2, ...hiddenOf(first + t));
    await writer.append({
      state,
      action: actionOf(first + t),
      reward: rewardOf(first + t),
      nextState,
      terminated: isLast && ending === "terminated",
      truncated: isLast && ending === "truncated",
      extras: { hidden, note: first },
    });
  }
  nextState.fill(0);
  if (ending === "cut") await writer.endEpisode();
  return Array.from({ length: count }, (_, t) => {
    const m = Math.min(nStep, count - t);
    let reward = 0;
    for (let j = 0; j < m; j++) reward += 0.5 ** j * rewardOf(first + t + j);
    return {
      state: stateOf(first + t),
      action: actionOf(first + t),
      reward: Math.fround(reward),
      nextState: stateOf(first + t + m),
      discount: ending === "terminated" && t + m === count ? 0 : 0.5 ** m,
      hidden: hiddenOf(first + t),
      note: first,
    };
  });
}

/** The rows of a batch. Its arrays must have the shapes that it says. */
function rowsOf(batch: TransitionBatch<Steps>): Transition[] {
  const { size, state, action, reward, nextState, discount, extras, shape } = batch;
  assertEquals(shape, {
    state: [size, 2, 3],
    action: [size],
    reward: [size],
    nextState: [size, 2, 3],
  });
  assertEquals([state.length, nextState.length, discount.length], [6 * size, 6 * size, size]);
  assert(state instanceof Float32Array && action instanceof Int8Array);
  assert(extras.hidden instanceof Float16Array && reward instanceof Float32Array);
  const part = (array: ArrayLike<number>, k: number, count: number): number[] =>
    Array.from({ length: count }, (_, j) => array[k * count + j] ?? NaN);
  return Array.from({ length: size }, (_, k) => ({
    state: part(state, k, 6),
    action: action[k] ?? NaN,
    reward: reward[k] ?? NaN,
    nextState: part(nextState, k, 6),
    discount: discount[k] ?? NaN,
    hidden: part(extras.hidden, k, 2),
    note: extras.note[k] ?? NaN,
  }));
}

/** Throws unless a batch has only these transitions, and all of them. */
function assertHas(batch: TransitionBatch<Steps>, wanted: readonly Transition[]): void {
  const seen = new Set<number>();
  for (const row of rowsOf(batch)) {
    const [first = NaN] = row.state;
    assertEquals(row, wanted.find(({ state }) => state[0] === first));
    seen.add(first);
  }
  assertEquals(seen.size, wanted.length);
}

for (const nStep of [1, 3]) {
  onAll(
    `a batch has what was written, with ${nStep}-step returns`,
    { nStep },
    async ({ reader, writer }) => {
      const wanted = [
        ...await writeEpisode(writer, 100, 7, "terminated", nStep),
        ...await writeEpisode(writer, 200, 1, "truncated", nStep),
        ...await writeEpisode(writer, 300, 2, "terminated", nStep),
        ...await writeEpisode(writer, 400, 5, "truncated", nStep),
        ...await writeEpisode(writer, 500, 4, "cut", nStep),
      ];
      await writer.flush();
      const batch = await reader.getBatch(1024, { timeoutMs: 60_000 });
      assertHas(batch, wanted);
      assertEquals(new Set(batch.importanceWeight), new Set([1]));
      assertEquals(new Set(batch.probability), new Set([Math.fround(1 / wanted.length)]));
      assertEquals(await reader.stats(), { size: 19, inserted: 19, drawn: 1024 });
    },
  );
}

onAll("the open episode ends as truncated where the writer closes", {}, async (place) => {
  const { reader, writer } = place;
  const state = stateOf(1);
  const step = { state, action: 1, reward: 1, nextState: stateOf(2), terminated: false };
  await writer.append({ ...step, extras: { hidden: [0, 0], note: 0 } });
  await writer.close();
  await writer.close(); // does nothing
  const [row] = rowsOf(await reader.getBatch(1, { timeoutMs: 60_000 }));
  assertEquals([row?.nextState, row?.discount], [stateOf(2), 0.5]);
  const late = writer.append({ ...step, extras: { hidden: [0, 0], note: 0 } });
  assertEquals(
    (await assertRejects(() => late, ReplayError, "the writer is closed")).code,
    "disposed",
  );
});

onAll("priorities change what is drawn", { isPrioritized: true }, async ({ reader, writer }) => {
  await writeEpisode(writer, 1, 4, "terminated");
  await writer.flush();
  const all = await reader.getBatch(256);
  assertEquals(new Set(rowsOf(all).map(({ note }) => note)), new Set([1]));
  // State k has the priority k - 1, so the first one never comes again.
  await reader.setPriority(all, rowsOf(all).map(({ state }) => (state[0] ?? 0) - 1));
  const batch = await reader.getBatch(512, { beta: 0.5 });
  const rows = rowsOf(batch);
  assertEquals(new Set(rows.map(({ state }) => state[0])), new Set([2, 3, 4]));
  const weights = [0, 1, 2, 3].map((priority) => (4 * priority / 6) ** -0.5);
  for (const [k, { state }] of rows.entries()) {
    const priority = (state[0] ?? 0) - 1;
    const [probability = NaN, weight = NaN] = [batch.probability[k], batch.importanceWeight[k]];
    assert(Math.abs(probability - priority / 6) < 1e-6, `${probability} for ${priority}`);
    assert(Math.abs(weight - (weights[priority] ?? 0) / (weights[1] ?? 0)) < 1e-6, `${weight}`);
  }
  // Only the keys are needed, also after they were posted to another thread and back.
  const keys: unknown = structuredClone(batch.keys);
  await reader.setPriority({ keys }, rows.map(({ state }) => state[0] === 3 ? 1 : 0));
  const only = rowsOf(await reader.getBatch(64));
  assertEquals(new Set(only.map(({ state }) => state[0])), new Set([3]));
});

onAll("a stream gives batch after batch", { isPrioritized: true }, async ({ reader, writer }) => {
  const wanted = await writeEpisode(writer, 1, 6, "truncated");
  await writer.flush();
  let [count, betas] = [0, 0];
  const beta = (): number => ++betas / 10;
  for await (const batch of reader.batches(128, { prefetch: 2, beta })) {
    assertHas(batch, wanted);
    await reader.setPriority(batch, new Float32Array(128).fill(2));
    if (++count === 5) break;
  }
  assert(betas >= 5);
  assert((await reader.stats()).drawn >= 5 * 128);
});

/** Ways to wait for a batch. */
const waits: Readonly<
  Record<string, (reader: ReplayReader<Steps>, signal?: AbortSignal) => Promise<unknown>>
> = {
  sample: (reader, signal) => reader.getBatch(8, signal === undefined ? {} : { signal }),
  batches: async (reader, signal) => {
    const stream = reader.batches(8, signal === undefined ? {} : { signal });
    const { value } = await stream.next();
    await stream.return();
    return value;
  },
};

for (const [way, wait] of Object.entries(waits)) {
  onAll(`${way}() waits until data comes`, {}, async ({ reader, writer }) => {
    const waiting = wait(reader);
    await writeEpisode(writer, 1, 3, "terminated");
    await writer.flush();
    const batch = await inTime("a batch comes", waiting) as TransitionBatch<Steps>;
    assertEquals(batch.size, 8);
  });

  onAll(`${way}() waits for the rate limiter`, { rateLimiter: minSize(5) }, async (place) => {
    const { reader, writer } = place;
    await writeEpisode(writer, 1, 4, "terminated");
    await writer.flush();
    const waiting = wait(reader);
    const early = await Promise.race([waiting, reader.stats()]);
    assertEquals(early, { size: 4, inserted: 4, drawn: 0 });
    await writeEpisode(writer, 10, 2, "terminated");
    await writer.flush();
    await inTime("a batch comes", waiting);
  });

  onAll(`a signal ends ${way}() that waits`, {}, async ({ reader }) => {
    const controller = new AbortController();
    const waiting = assertRejects(() => wait(reader, controller.signal), RangeError, "enough");
    await reader.stats();
    controller.abort(new RangeError("enough"));
    await inTime("the wait ends", waiting);
    await assertRejects(() => wait(reader, controller.signal), RangeError, "enough");
  });

  onAll(`close() ends ${way}() that waits`, {}, async ({ reader }) => {
    const waiting = assertRejects(() => wait(reader), ReplayError, "the reader is closed");
    await reader.stats();
    await reader.close();
    assertEquals((await inTime("the wait ends", waiting)).code, "disposed");
    assertEquals((await assertRejects(() => wait(reader), ReplayError)).code, "disposed");
  });
}

onAll("getBatch() that may not wait says that it is too early", {}, async ({ reader, writer }) => {
  const early = await assertRejects(() => reader.getBatch(8, { timeoutMs: 0 }), ReplayError);
  assertEquals(early.code, "timeout");
  await writeEpisode(writer, 1, 1, "terminated");
  await writer.flush();
  assertEquals((await reader.getBatch(8, { timeoutMs: 0 })).size, 8);
});

onAll(
  "a writer and a reader keep pace",
  { rateLimiter: samplesPerInsert(4, { minSize: 10, error: 130 }) },
  async ({ reader, writer }) => {
    const act = async (): Promise<void> => {
      for (let first = 0; first < 900; first += 90) {
        await writeEpisode(writer, first, 90, "terminated");
      }
      await writer.flush();
    };
    const acting = act();
    // 900 steps may have 4 * 900 draws, and 130 more or fewer.
    let drawn = 0;
    for (; drawn < 3456; drawn += 32) await inTime("a batch comes", reader.getBatch(32));
    await inTime("the actor ends", acting);
    assertEquals(await reader.stats(), { size: 900, inserted: 900, drawn });
  },
);

onAll(
  "a step that the rate limiter held back for too long was not taken",
  { rateLimiter: samplesPerInsert(1, { minSize: 1, error: 120 }) },
  async ({ reader, writer }) => {
    const append = (k: number, options: { readonly timeoutMs?: number }): Promise<void> =>
      writer.append({
        state: stateOf(k),
        action: actionOf(k),
        reward: rewardOf(k),
        nextState: stateOf(k + 1),
        terminated: k === 899,
        extras: { hidden: hiddenOf(k), note: 0 },
      }, options);
    const learn = async (): Promise<void> => {
      for (let count = 0; count < 800; count += 32) await reader.getBatch(32);
    };
    let learning: Promise<void> | undefined;
    for (let k = 0; k < 900; k++) {
      try {
        await append(k, learning === undefined ? { timeoutMs: 20 } : {});
      } catch (error) {
        assert(error instanceof ReplayError && error.code === "timeout", String(error));
        assertMatch(error.message, /^append\(\): not done after 20 ms: (?!whenReady)/);
        learning = learn();
        await append(k, {});
      }
    }
    assert(learning !== undefined, "nothing held the writer back");
    await writer.flush();
    await inTime("the learner ends", learning);
    assertEquals(await reader.stats(), { size: 900, inserted: 900, drawn: 800 });
    for (const { state, nextState } of rowsOf(await reader.getBatch(64))) {
      assertEquals(nextState, stateOf((state[0] ?? 0) + 1));
    }
  },
);

onAll("values may change as soon as append() returns its promise", {}, async (place) => {
  const { reader, writer } = place;
  const [state, nextState] = [new Float32Array(6), new Float32Array(6)];
  const extras = { hidden: [0, 0], note: 0 };
  for (let k = 0; k < 7; k++) {
    state.set(stateOf(k));
    nextState.set(stateOf(k + 1));
    const step = { state, action: k, reward: k, nextState, terminated: k === 6 };
    extras.hidden.splice(0, 2, ...hiddenOf(k));
    const taken = writer.append({ ...step, extras });
    for (const array of [state, nextState, extras.hidden]) array.fill(99);
    await taken;
  }
  await writer.flush();
  for (const row of rowsOf(await reader.getBatch(64))) {
    const { action: k } = row;
    assertEquals([row.state, row.nextState], [stateOf(k), stateOf(k + 1)]);
    assertEquals([row.hidden, row.reward], [hiddenOf(k), k]);
  }
});

for (const nStep of [1, 3]) {
  onAll(
    `calls that overlap keep their order, with ${nStep}-step returns`,
    { nStep },
    async (place) => {
      const { reader, writer } = place;
      const extras = { hidden: [0, 0], note: 0 };
      const append = (k: number, terminated: boolean): Promise<void> =>
        writer.append({
          ...{ state: stateOf(k), action: k, reward: k },
          nextState: stateOf(k + 1),
          terminated,
          extras,
        });
      const calls: Promise<void>[] = [];
      for (let k = 0; k < 8; k++) calls.push(append(k, k === 3));
      calls.push(writer.endEpisode());
      for (let k = 10; k < 14; k++) calls.push(append(k, false));
      calls.push(writer.flush(), writer.close(), writer.close());
      await inTime("the calls end", Promise.all(calls));
      const ends = [[0, 4, 0], [4, 8, 1], [10, 14, 1]] as const;
      const batch = await reader.getBatch(512, { timeoutMs: 60_000 });
      const seen = new Set<number>();
      for (const { action: k, reward, nextState, discount } of rowsOf(batch)) {
        const [, end, factor] = ends.find(([first, last]) => k >= first && k < last) ?? [0, 0, 0];
        const n = Math.min(nStep, end - k);
        let sum = 0;
        for (let j = 0; j < n; j++) sum += 0.5 ** j * (k + j);
        const isLast = k + n === end;
        const wanted = [sum, stateOf(k + n), isLast ? factor * 0.5 ** n : 0.5 ** n];
        assertEquals([reward, nextState, discount], wanted);
        seen.add(k);
      }
      assertEquals(seen.size, 12);
    },
  );
}

onAll(
  "an open episode has the transitions whose steps are all written",
  { nStep: 3 },
  async (place) => {
    const { reader, writer } = place;
    for (let k = 0; k < 5; k++) {
      const values = { state: stateOf(k), action: k, reward: k, nextState: stateOf(k + 1) };
      await writer.append({ ...values, terminated: false, extras: { hidden: [0, 0], note: 0 } });
    }
    await writer.flush();
    assertEquals((await reader.stats()).size, 2);
    await writer.endEpisode();
    await writer.flush();
    assertEquals((await reader.stats()).size, 5);
  },
);

onAll("errors say what was wrong", {}, async ({ reader, writer }) => {
  const step = {
    state: stateOf(1),
    action: 1,
    reward: 1,
    nextState: stateOf(2),
    terminated: true,
    extras: { hidden: [0, 0], note: 0 },
  };
  const refused = async (change: object, text: string): Promise<void> => {
    await assertRejects(() => writer.append({ ...step, ...change }), Error, text);
  };
  await refused({ nextState: undefined }, "nextState");
  await refused({ state: [1, 2] }, "state");
  await refused({ action: 200 }, "200");
  // Each of these has values that the column can't hold, or is of another kind.
  await refused({ action: Uint8Array.of(200) }, "action");
  const { extras } = step;
  for (const note of [null, "7", true, [7]]) {
    await refused({ extras: { ...extras, note } }, "extras.note must be a number");
  }
  await refused({ terminated: 2 }, "terminated must be true, false, 1 or 0, got 2");
  await refused({ done: true }, "use terminated and truncated");
  await refused({ extras: { hidden: [0, 0] } }, "note");
  await refused({ extras: { ...step.extras, more: 1 } }, "more");
  // None of them was taken.
  const hidden = Uint16Array.of(1, 2); // numbers, not bits
  await writer.append({ ...step, extras: { ...extras, hidden } });
  await writer.flush();
  assertEquals((await reader.stats()).inserted, 1);
  const batch = await reader.getBatch(2);
  assertEquals([...batch.extras.hidden], [1, 2, 1, 2]);
  await assertRejects(() => reader.setPriority(batch, [1]), RangeError);
  await assertRejects(() => reader.setPriority(batch, [1, -1]), Error, "-1");
  await assertRejects(
    () => reader.setPriority({ keys: 7 }, [1]),
    TypeError,
    "a batch of this reader",
  );
  await assertRejects(() => reader.getBatch(0), RangeError);
  await assertRejects(
    () => reader.getBatch(1, { timeoutMs: 2 ** 31 }), // a timer would take it for 1 ms
    RangeError,
    "getBatch(): timeoutMs must be a finite number from 0 to 2147483647, got 2147483648",
  );
  await assertRejects(() => reader.getBatch(1, { beta: -1 }), RangeError, "beta");
});
