/** What the older Writer sends, message by message, without a network. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import { tensor, type Writer, type WriterOptions } from "../../reverb/mod.ts";
import { newTrajectoryWriter } from "../../reverb/trajectory_writer.ts";
import { newWriter } from "../../reverb/writer.ts";
import { doorTo, FakeChannel } from "./_fake_channel.ts";
import { pause } from "../_wait.ts";

function writerTo(channel: FakeChannel, options: Partial<WriterOptions> = {}): Writer {
  return newWriter(doorTo(channel), { maxSequenceLength: 4, ...options });
}

const step = (k: number): { x: Float32Array; n: number } => ({ x: Float32Array.of(k, -k), n: k });

Deno.test("a chunk has all columns, and items are its last steps", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 2 });
  for (let k = 0; k < 5; k++) writer.append(step(k));
  await writer.createItem("t", 4, 2);
  await writer.createItem("t", 1, 3);
  await writer.flush();
  assertEquals(channel.items.map(({ priority }) => priority), [2, 3]);
  assertEquals(channel.items.map((item) => channel.values(item)), [
    [[1, 2, 3, 4], [1, -1, 2, -2, 3, -3, 4, -4]],
    [[4], [4, -4]],
  ]);
  const slices = channel.items[0]?.flatTrajectory?.columns.map(({ chunkSlices }) =>
    chunkSlices.map(({ offset, length, index }) => [offset, length, index])
  );
  assertEquals(slices, [[[1, 1, 0], [0, 2, 0], [0, 1, 0]], [[1, 1, 1], [0, 2, 1], [0, 1, 1]]]);
  const ranges = [...channel.chunks.values()].map(({ sequenceRange }) => sequenceRange);
  assertEquals(ranges.map((range) => [range?.start, range?.end]), [[0, 1], [2, 3], [4, 4]]);
  assertEquals(new Set(ranges.map((range) => range?.episodeId)).size, 1);
  await writer.close();
  assert(channel.isEnded);
});

Deno.test("an item waits for its chunk, and goes with it", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 3 });
  writer.append(step(0));
  await writer.createItem("t", 1, 1);
  await pause(5);
  assertEquals([channel.items.length, writer.pendingItems], [0, 1]);
  writer.append(step(1));
  writer.append(step(2));
  await writer.flush();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[0], [0, -0]]]);
  assertEquals(channel.chunks.size, 1);
  await writer.close();
});

Deno.test("chunks that no item can reach are let go", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { maxSequenceLength: 3, chunkLength: 1 });
  for (let k = 0; k < 20; k++) {
    writer.append(step(k));
    if (k < 2) continue;
    await writer.createItem("t", 3, 1);
    await writer.flush();
    assertEquals(channel.kept.size, 3);
  }
  assertEquals(channel.chunks.size, 20);
  await writer.close();
});

Deno.test("a reach takes memory for the steps that came only", async () => {
  const channel = new FakeChannel();
  const reach = 2 ** 29; // a list so long would not fit into memory
  const writer = writerTo(channel, { maxSequenceLength: reach });
  const options = { numKeepAliveRefs: reach, chunkLength: 2 };
  const other = newTrajectoryWriter<{ n: number }>(doorTo(channel), options);
  for (let n = 0; n < 3; n++) {
    writer.append([n]);
    other.append({ n });
  }
  await writer.createItem("t", 3, 1);
  await writer.close();
  await other.createItem("t", 1, [other.history.n.slice(0)]);
  await other.close();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[0, 1, 2]], [[0, 1, 2]]]);
});

Deno.test("appendSequence appends the rows of its leaves", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel, { chunkLength: 2, deltaEncoded: true });
  const words = tensor(["a", "b", "c", "d"]);
  const x = tensor([1, 2, 3, 4, 5, 6, 7, 8], { dtype: "int32", shape: [4, 2] });
  writer.appendSequence([x, words]);
  await writer.createItem("t", 3, 1);
  await writer.flush();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[3, 4, 5, 6, 7, 8], [
    "b",
    "c",
    "d",
  ]]]);
  const one = new FakeChannel();
  const other = writerTo(one, { chunkLength: 2, deltaEncoded: true });
  for (let k = 0; k < 4; k++) {
    other.append([tensor([2 * k + 1, 2 * k + 2], { dtype: "int32" }), "abcd".charAt(k)]);
  }
  await other.createItem("t", 3, 1);
  await other.flush();
  const tensors = (channel: FakeChannel): unknown =>
    [...channel.chunks.values()].map(({ data }) => data?.tensors);
  assertEquals(tensors(one), tensors(channel));
  const ragged = [Float32Array.of(1, 2), Float32Array.of(1)];
  assertThrows(
    () => writerTo(channel).appendSequence(ragged),
    RangeError,
    "1 has 1 steps, the first column 2",
  );
  assertThrows(() => writerTo(channel).appendSequence([1]), TypeError, "counts the steps");
  await writer.close();
  await other.close();
});

Deno.test("what does not fit is refused, and changes nothing", async () => {
  const channel = new FakeChannel();
  const writer = writerTo(channel);
  writer.append(step(0));
  assertThrows(
    () => writer.append({ x: Float32Array.of(1) }),
    TypeError,
    "append(): a step has 2 columns (n, x), got 1 (x)",
  );
  assertThrows(
    () => writer.append({ x: Float32Array.of(1), nn: 1 }),
    TypeError,
    "append(): a step has 2 columns (n, x), got 2 (nn, x)",
  );
  assertThrows(() => writer.append({ x: Float32Array.of(1), n: 1 }), TypeError, "x is a column of");
  await assertRejects(() => writer.createItem("t", 2, 1), RangeError, "there are 1 steps");
  await assertRejects(() => writer.createItem("t", 5, 1), RangeError, "numTimesteps");
  await assertRejects(() => writer.createItem("t", 1, -1), RangeError, "not negative");
  await writer.createItem("t", 1, 1);
  await writer.close();
  assertEquals(channel.items.map((item) => channel.values(item)), [[[0], [0, -0]]]);
});

Deno.test("createItem waits while too many items are unconfirmed", async () => {
  const channel = new FakeChannel();
  channel.isConfirming = false;
  const writer = writerTo(channel, { maxInFlightItems: 2 });
  writer.append(step(0));
  await writer.createItem("t", 1, 1);
  await writer.createItem("t", 1, 1);
  let isDone = false;
  const third = writer.createItem("t", 1, 1).then(() => isDone = true);
  await pause(5);
  assertEquals(isDone, false);
  channel.confirm(channel.items.map(({ key }) => key));
  await third;
  channel.isConfirming = true;
  channel.confirm(channel.items.map(({ key }) => key));
  await writer.close();
});
