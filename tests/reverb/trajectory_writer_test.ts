/** What TrajectoryWriter sends, message by message, without a network. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import {
  type ColumnHistory,
  ReverbError,
  type StepData,
  tensor,
  type TrajectoryWriter,
} from "../../reverb/mod.ts";
import type { TrajectoryWriterOptions } from "../../reverb/mod.ts";
import { newTrajectoryWriter } from "../../reverb/trajectory_writer.ts";
import { doorTo, FakeChannel } from "./_fake_channel.ts";
import { pause } from "../_wait.ts";

interface Step {
  readonly state: Float32Array;
  readonly reward?: number;
}

function writerTo<D = Step>(
  channel: FakeChannel,
  options: Partial<TrajectoryWriterOptions> = {},
): TrajectoryWriter<D> {
  return newTrajectoryWriter<D>(doorTo(channel), { numKeepAliveRefs: 4, ...options });
}

/** Lets timers of no time run. */
function turn(): Promise<void> {
  return pause(5);
}

const step = (k: number): Step => ({ state: Float32Array.of(k, -k), reward: k });

Deno.test("each column has its own chunks, and an item has slices of them", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 2 });
  for (let k = 0; k < 4; k++) writer.append(step(k));
  const { state, reward } = writer.history;
  await writer.createItem("t", 0.5, { b: state.slice(-3), a: reward.at(-1) });
  await writer.flush();
  assertEquals(channel.items.length, 1);
  const [item] = channel.items;
  assert(item !== undefined);
  assertEquals([item.table, item.priority], ["t", 0.5]);
  // By sorted keys: a, then b.
  const columns = item.flatTrajectory?.columns ?? [];
  assertEquals(columns.map(({ squeeze }) => squeeze), [true, false]);
  assertEquals(
    columns.map(({ chunkSlices }) =>
      chunkSlices.map(({ offset, length, index }) => [offset, length, index])
    ),
    [[[1, 1, 0]], [[1, 1, 0], [0, 2, 0]]],
  );
  assertEquals(channel.values(item), [[3], [1, -1, 2, -2, 3, -3]]);
  for (const chunk of channel.chunks.values()) {
    assertEquals(chunk.dataTensorsLen, 1);
    const { start, end, sparse } = chunk.sequenceRange ?? {};
    assertEquals([(end ?? 0) - (start ?? 0), sparse], [1, false]);
  }
  // The first chunk of rewards was not needed, so it was never sent.
  assertEquals(channel.chunks.size, 3);
  await writer.close();
  assert(channel.isEnded);
});

Deno.test("history is read by the rules of Python's slices", () => {
  const writer = writerTo(new FakeChannel(), { numKeepAliveRefs: 4 });
  assertThrows(() => writer.history, TypeError, "nothing was appended");
  for (let k = 0; k < 6; k++) writer.append(step(k));
  const { reward } = writer.history;
  const values = (column: { values(): ArrayLike<unknown> }): unknown[] =>
    Array.from(column.values());
  assertEquals(reward.length, 6);
  assertEquals(values(reward.slice(-3)), [3, 4, 5]);
  assertEquals(values(reward.slice(-4, -1, 2)), [2, 4]);
  assertEquals(values(reward.slice(2, 4)), [2, 3]);
  assertEquals(values(reward.at(-2)), [4]);
  assertEquals(values(reward.at(5)), [5]);
  assertEquals(values(reward.pick([-1, -4])), [5, 2]);
  assertEquals(reward.at(-1).shape, []);
  assertEquals(writer.history.state.slice(-2).shape, [2, 2]);
  assertEquals(values(reward.slice(-4).slice(1, 3)), [3, 4]);
  assertEquals(values(reward.slice(-4).at(-1)), [5]);
  assertThrows(
    () => reward.slice(-5),
    RangeError,
    "step 1 of 6 is too old; raise numKeepAliveRefs to reach further back",
  );
  writer.append({ state: Float32Array.of(6, -6) });
  const words = "history of reward: step 6 of 7 has no value; take other steps, or give reward a";
  assertThrows(() => reward.slice(-2), RangeError, words);
  assertThrows(() => reward.at(2), RangeError, "step 2 of 7 is too old");
  writer.append(step(7));
  assertThrows(() => reward.slice(-9), RangeError, "can't begin at -9");
  assertThrows(() => reward.at(8), RangeError, "no step 8");
  assertThrows(() => reward.slice(8), RangeError, "empty");
});

Deno.test("rows that are not neighbours are slices of their own", async () => {
  // Reverb's own writer joins all rows of one chunk, and so sends other rows than those that were asked for.
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 4 });
  for (let k = 0; k < 4; k++) writer.append(step(k));
  await writer.createItem("t", 1, [writer.history.reward.pick([0, 2, 3, 1])]);
  await writer.flush();
  const [item] = channel.items;
  assert(item !== undefined);
  assertEquals(channel.values(item), [[0, 2, 3, 1]]);
  await writer.close();
});

Deno.test("a chunk is sent once, and kept as long as the history or an item needs it", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { numKeepAliveRefs: 2, chunkLength: 1 });
  for (let k = 0; k < 10; k++) {
    writer.append({ state: Float32Array.of(k, k) });
    if (k === 0) continue;
    await writer.createItem("t", 1, [writer.history.state.slice(-2)]);
    await writer.flush();
    assertEquals(channel.kept.size, 2);
  }
  const sent = channel.messages.flatMap(({ chunks }) => chunks.map(({ chunkKey }) => chunkKey));
  assertEquals(sent.length, new Set(sent).size);
  assertEquals(sent.length, 10);
  await writer.endEpisode();
  writer.append({ state: Float32Array.of(0, 0) });
  await writer.createItem("t", 1, [writer.history.state.slice(-1)]);
  await writer.flush();
  assertEquals(channel.kept.size, 1);
  await writer.close();
});

Deno.test("a step that is refused has changed nothing", async () => {
  const channel = new FakeChannel();
  const writer = writerTo<StepData>(channel);
  writer.append({ a: Float32Array.of(1, 2), b: { c: 1 } });
  const refused: [StepData, string][] = [
    [{ a: Float32Array.of(1, 2, 3) }, "a is a column of float32 of shape [2]"],
    [{ a: Float64Array.of(1, 2) }, "got float64 of shape [2]"],
    [{ b: { c: 2 }, a: 3 }, "a is a column of float32"],
    [{ b: 3 }, "b is a value, and was parts in an earlier step"],
    [{ a: { x: 1 } }, "a is parts, and was a value"],
    [{ b: { c: "text" } }, "got string"],
    [
      { a: new Date() as unknown as string },
      "a must be a value, an array or a plain object, got Date",
    ],
    [{ d: 1, a: Int8Array.of(1) }, "a is a column of float32"],
  ];
  for (const [data, words] of refused) assertThrows(() => writer.append(data), TypeError, words);
  writer.configure(["e"], { dtype: "int8" });
  assertThrows(() => writer.append({ e: 200 }), RangeError, "e: int8 can't hold 200");
  assertEquals(writer.episodeSteps, 1);
  writer.append({ a: Float32Array.of(3, 4), b: { c: 2 } });
  const { a, b } = writer.history as unknown as { a: ColumnHistory; b: { c: ColumnHistory } };
  await writer.createItem("t", 1, [a.slice(-2), b.c.slice(-2)]);
  await writer.flush();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[1, 2, 3, 4], [1, 2]]]);
  await writer.close();
});

Deno.test("partial steps fill one step, and give no value twice", async () => {
  const channel = new FakeChannel();
  const writer = writerTo<{ a?: number; b?: number }>(channel);
  writer.append({ a: 1 }, { partialStep: true });
  assertEquals([writer.episodeSteps, writer.isStepOpen], [0, true]);
  await writer.createItem("t", 1, [writer.history.a.slice(-1)]);
  assertThrows(() => writer.append({ a: 2 }), TypeError, "a has a value in this step already");
  writer.append({ b: 10 });
  assertEquals([writer.episodeSteps, writer.isStepOpen], [1, false]);
  writer.append({ a: 2 });
  assertThrows(() => writer.history.b.at(-1), RangeError, "has no value");
  await writer.createItem("t", 1, { a: writer.history.a.slice(-2), b: writer.history.b.at(0) });
  await writer.flush();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[1]], [[1, 2], [10]]]);
  await writer.close();
});

Deno.test("configure sets the chunks of one column, before and after it came", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { numKeepAliveRefs: 6, chunkLength: 6 });
  writer.configure(["state"], { chunkLength: 3, numKeepAliveRefs: 3 });
  writer.configure(["reward"], { dtype: "int32" });
  assertThrows(() => writer.configure(["state"], { chunkLength: 4 }), RangeError, "chunkLength");
  for (let k = 0; k < 6; k++) writer.append(step(k));
  assertThrows(() => writer.history.state.slice(-4), RangeError, "too old");
  await writer.createItem("t", 1, [
    writer.history.state.slice(-3),
    writer.history.reward.slice(-6),
  ]);
  await writer.flush();
  const [item] = channel.items;
  const lengths = item?.flatTrajectory?.columns.map(({ chunkSlices }) =>
    chunkSlices.map(({ length }) => length)
  );
  assertEquals(lengths, [[3], [6]]);
  const reward = [...channel.chunks.values()].at(-1);
  assertStrictEquals(reward?.data?.tensors[0]?.dtype, 3);
  writer.configure(["reward"], { chunkLength: 1, numKeepAliveRefs: 2 });
  assertThrows(
    () => writer.configure(["reward"], { dtype: "int64" }),
    TypeError,
    "has its dtype already",
  );
  assertEquals([...writer.history.reward.slice(-2).values()], [4, 5]);
  writer.append(step(6));
  await writer.createItem("t", 1, [writer.history.reward.slice(-2)]);
  await writer.flush();
  const second = channel.items[1];
  assert(second !== undefined);
  assertEquals(channel.values(second), [[5, 6]]);
  await writer.close();
});

Deno.test("createItem waits while too many items are unconfirmed, and refuses calls that do not wait", async () => {
  const channel = new FakeChannel();
  channel.isConfirming = false;
  const writer = writerTo(channel, { maxPendingItems: 4 });
  const create = async (): Promise<void> => {
    writer.append(step(1));
    await writer.createItem("t", 1, [writer.history.state.slice(-1)]);
  };
  for (let k = 0; k < 4; k++) await create();
  let isDone = false;
  const fifth = create().then(() => isDone = true);
  await turn();
  assertEquals([isDone, writer.pendingItems], [false, 5]);
  const more = [create(), create(), create()];
  await assertRejects(create, ReverbError, "8 items wait, and the writer lets at most 4 wait");
  await turn();
  channel.confirm(channel.items.slice(0, 6).map(({ key }) => key));
  await fifth;
  await Promise.all(more);
  assertEquals(writer.pendingItems, 2);
  channel.confirm(channel.items.map(({ key }) => key));
  await writer.close();
});

Deno.test("after a lost connection, what was not confirmed comes again: in order, with its keys and chunks", async () => {
  const channel = new FakeChannel();
  channel.isConfirming = false;
  const writer = writerTo(channel, { chunkLength: 1 });
  for (let k = 0; k < 5; k++) {
    writer.append(step(k));
    await writer.createItem("t", k, [writer.history.reward.slice(-1)]);
  }
  await turn();
  const keys = channel.items.map(({ key }) => key);
  assertEquals(keys.length, 5);
  channel.confirm([keys[1] ?? 0n]);
  channel.end();
  channel.isConfirming = true;
  await writer.flush();
  assertEquals(channel.streams, 2);
  const again = channel.items.slice(5);
  assertEquals(again.map(({ key }) => key), keys.filter((_, k) => k !== 1));
  assertEquals(again.map((item) => channel.values(item)), [[[0]], [[2]], [[3]], [[4]]]);
  await writer.close();
});

Deno.test("an error of the server ends the writer: whoever waits hears of it, and so does each later call", async () => {
  const channel = new FakeChannel();
  channel.isConfirming = false;
  const writer = writerTo(channel);
  writer.append(step(1));
  await writer.createItem("t", 1, [writer.history.state.slice(-1)]);
  const flushed = assertRejects(
    () => writer.flush(),
    ReverbError,
    "no table (1 item was not confirmed",
  );
  channel.end(new ReverbError("not-found", "no table"));
  await flushed;
  assertThrows(() => writer.append(step(2)), ReverbError, "no table");
  await assertRejects(() => writer.flush(), ReverbError, "no table");
  assertEquals(channel.streams, 1);
});

Deno.test("flush gives up after its time or by its signal, and the items stay on their way", async () => {
  const channel = new FakeChannel();
  channel.isConfirming = false;
  const writer = writerTo(channel);
  writer.append(step(1));
  await writer.createItem("t", 1, [writer.history.state.slice(-1)]);
  const late = await assertRejects(() => writer.flush({ timeoutMs: 20 }), ReverbError);
  assertEquals(late.code, "deadline-exceeded");
  assert(late.message.includes("0 items wait to be sent, and 1 to be confirmed"), late.message);
  for (const table of ["u", "t"]) {
    await writer.createItem(table, 1, [writer.history.state.slice(-1)]);
  }
  const words = 'the rate limiters of tables "t", "u" may hold them back';
  await assertRejects(() => writer.flush({ timeoutMs: 5 }), ReverbError, words);
  await assertRejects(() => writer.endEpisode({ timeoutMs: 5 }), ReverbError, words);
  const signal = AbortSignal.timeout(20);
  await assertRejects(() => writer.flush({ signal }), DOMException, "aborted due to timeout");
  await assertRejects(() => writer.endEpisode({ timeoutMs: 5 }), ReverbError);
  assertEquals(writer.episodeSteps, 1);
  channel.confirm(channel.items.map(({ key }) => key));
  await writer.endEpisode();
  assertEquals(writer.episodeSteps, 0);
  await writer.close();
});

Deno.test("flush lets some items wait whose chunks are not complete", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 4 });
  for (let k = 0; k < 3; k++) {
    writer.append(step(k));
    await writer.createItem("t", 1, [writer.history.reward.slice(-1)]);
  }
  await turn();
  assertEquals(channel.items.length, 0);
  // All three are in one chunk, so the last goes along.
  await writer.flush({ blockUntilItems: 1 });
  await writer.flush();
  assertEquals(channel.items.length, 3);
  assertEquals(channel.chunks.size, 1);
  await writer.close();
});

Deno.test("items reach back into an episode that ended, where the history is kept", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 2 });
  for (let k = 0; k < 3; k++) writer.append(step(k));
  await writer.endEpisode({ clearBuffers: false });
  writer.append(step(3));
  assertEquals([writer.episodeSteps, writer.history.reward.length], [1, 4]);
  await writer.createItem("t", 1, [writer.history.reward.slice(-4)]);
  await writer.flush();
  const [item] = channel.items;
  assert(item !== undefined);
  assertEquals(channel.values(item), [[0, 1, 2, 3]]);
  const ranges = [...channel.chunks.values()].map(({ sequenceRange }) => sequenceRange);
  assertEquals(ranges.map((range) => [range?.start, range?.end]), [[0, 1], [2, 2], [0, 0]]);
  assertEquals(new Set(ranges.map((range) => range?.episodeId)).size, 2);
  await writer.endEpisode();
  assertEquals(writer.history.reward.length, 0);
  await writer.close();
});

Deno.test("a chunk says where steps are missing in it", async () => {
  const channel = new FakeChannel();
  const writer = writerTo<{ a?: number; b: number }>(channel, { chunkLength: 3 });
  for (let k = 0; k < 4; k++) writer.append(k === 1 ? { b: k } : { a: k, b: k });
  await writer.createItem("t", 1, [writer.history.a.pick([0, 2, 3]), writer.history.b.slice(0, 3)]);
  await writer.flush();
  const ranges = [...channel.chunks.values()].map(({ sequenceRange }) => sequenceRange);
  assertEquals(ranges.map((range) => [range?.start, range?.end, range?.sparse]), [[0, 3, true], [
    0,
    2,
    false,
  ]]);
  await writer.close();
});

Deno.test("chunks grow where items share many steps", async () => {
  // The first step after 10 items: Reverb's writers try 3 where they had 1.
  const channel = new FakeChannel();
  const writer = writerTo<{ a: Float32Array }>(channel, {
    numKeepAliveRefs: 20,
    chunkLength: "auto",
  });
  for (let k = 0; k < 300; k++) {
    writer.append({ a: new Float32Array(64).fill(k) });
    if (k < 19) continue;
    await writer.createItem("t", 1, [writer.history.a.slice(-20)]);
    if (k % 10 === 0) await writer.flush({ blockUntilItems: 5 });
  }
  await writer.flush();
  const lengths = [...channel.chunks.values()].map(({ data }) =>
    Number(data?.tensors[0]?.tensorShape?.dim[0]?.size)
  );
  assertEquals(lengths.slice(0, 10), new Array(10).fill(1));
  assert(Math.max(...lengths) >= 3, String(lengths));
  assertEquals(channel.items.length, 281);
  for (const [k, item] of channel.items.entries()) {
    const [values = []] = channel.values(item);
    assertEquals([values[0], values.at(-1)], [k, k + 19]);
  }
  await writer.close();
});

Deno.test("delta encoding, texts and whole numbers arrive as they were", async () => {
  const channel = new FakeChannel();
  const writer = writerTo<{ i: unknown; s: string; big: bigint; flag: boolean; frame: Uint8Array }>(
    channel,
    {
      numKeepAliveRefs: 8,
      chunkLength: 8,
      deltaEncoded: true,
    },
  );
  for (let k = 0; k < 8; k++) {
    const i = tensor([k, 2 ** 31 - 1 - k, -(2 ** 31) + k], { dtype: "int32" });
    writer.append({
      i,
      s: `text ${k}`,
      big: -(2n ** 63n) + BigInt(k),
      flag: k % 2 === 0,
      frame: new Uint8Array([k, 255 - k]),
    });
  }
  const { i, s, big, flag, frame } = writer.history as unknown as Record<
    string,
    typeof writer.history.s
  >;
  assert(i && s && big && flag && frame);
  await writer.createItem("t", 1, {
    a: i.slice(-2),
    b: s.slice(-8),
    c: big.slice(-2),
    d: flag.slice(-3),
    e: frame.slice(-2),
  });
  await writer.flush();
  assertEquals(
    [...channel.chunks.values()].map(({ deltaEncoded }) => deltaEncoded),
    new Array(5).fill(true),
  );
  const [item] = channel.items;
  assert(item !== undefined);
  assertEquals(channel.values(item), [
    [6, 2 ** 31 - 7, -(2 ** 31) + 6, 7, 2 ** 31 - 8, -(2 ** 31) + 7],
    Array.from({ length: 8 }, (_, k) => `text ${k}`),
    [-(2n ** 63n) + 6n, -(2n ** 63n) + 7n],
    [0, 1, 0],
    [6, 249, 7, 248],
  ]);
  await writer.close();
});

Deno.test("arguments are checked before anything is sent", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel);
  writer.append(step(1));
  const { state } = writer.history;
  for (const priority of [-1, NaN, Infinity]) {
    await assertRejects(
      () => writer.createItem("t", priority, [state.slice(-1)]),
      RangeError,
      "finite and not negative",
    );
  }
  await assertRejects(
    () => writer.createItem("", 1, [state.slice(-1)]),
    TypeError,
    "name of a table",
  );
  await assertRejects(() => writer.createItem("t", 1, []), TypeError, "at least one column");
  const history = state as unknown as ReturnType<typeof state.at>;
  const whole = await assertRejects(() => writer.createItem("t", 1, [history]), TypeError);
  const start = "createItem(): 0 must be a part of writer.history";
  assert(whole.message.startsWith(start) && whole.message.endsWith("got ColumnHistory"));
  await assertRejects(
    () => writer.flush({ timeoutMS: 3 } as object),
    TypeError,
    "did you mean timeoutMs",
  );
  assertThrows(
    () => writerTo(channel, { numKeepAliveRefs: 2, chunkLength: 3 }),
    RangeError,
    "chunkLength",
  );
  await writer.close();
  assertEquals(channel.items.length, 0);
});

Deno.test("a list in a step is many columns, and the words say how to append one", async () => {
  const channel = new FakeChannel();
  const writer = writerTo<StepData>(channel);
  writer.append({ obs: [0, 0], one: tensor([0, 0]), other: Float32Array.of(0, 0) });
  const { obs, one, other } = writer.history as unknown as Record<string, ColumnHistory>;
  assert(obs !== undefined && one !== undefined && other !== undefined);
  await assertRejects(
    () => writer.createItem("t", 1, { obs: obs.slice(-1) }),
    TypeError,
    "createItem(): obs/0 must be a part of writer.history, such as history.x.slice(-5), got ColumnHistory; a list in a step is one column for each of its parts: append Float32Array.of(…) or tensor([…])",
  );
  await writer.createItem("t", 1, { one: one.slice(-1), other: other.slice(-1) });
  await writer.close();
  assertEquals(channel.items.length, 1);
});
