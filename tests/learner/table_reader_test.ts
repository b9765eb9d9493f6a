/** What is particular to the readers and writers of tables. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { tableReader, tableWriter } from "../../learner/mod.ts";
import { every, float32, float64, oldest, queue, ReplayError, uint8 } from "../../mod.ts";
import { ReverbClient, ReverbError } from "../../reverb/mod.ts";
import { serve } from "../../server/mod.ts";
import { Tables } from "../../tables/mod.ts";
import { inTime } from "../_wait.ts";

const state = float32(2);
const step = { state: [1, 2], action: 3, reward: 4, nextState: [5, 6], terminated: true };

const newTables = (): Promise<Tables> =>
  Tables.create({ tables: { steps: { maxSize: 10, sampler: oldest() } } });

Deno.test("items that another program wrote are drawn, rows of one step too", async () => {
  using tables = await newTables();
  const item = {
    state: Float32Array.of(1, 2),
    action: Int32Array.of(3),
    reward: Float32Array.of(4),
    nextState: Float32Array.of(5, 6),
    discount: Float32Array.of(0.5),
  };
  await tables.table("steps").insert(item);
  const batch = await tableReader(tables, "steps", { state }).getBatch(1);
  assertEquals(batch.shape.state, [1, 2]);
  assertEquals([...batch.state, ...batch.action, ...batch.nextState], [1, 2, 3, 5, 6]);
  assertEquals([...batch.importanceWeight], [1]);
});

Deno.test("items with other columns are refused by the name of the first that differs", async () => {
  using tables = await newTables();
  const writer = tableWriter(tables, "steps", { state });
  await writer.append(step);
  await writer.flush();
  const refused = async (columns: Parameters<typeof tableReader>[2], text: string) => {
    await assertRejects(() => tableReader(tables, "steps", columns).getBatch(1), TypeError, text);
  };
  await refused({ state: float32(3) }, "nextState of the table's items must be float32(3)");
  await refused(
    { state: uint8(2) },
    "nextState of the table's items must be uint8(2), got float32",
  );
  await refused({ state, action: float32() }, "action of the table's items must be float32()");
  await refused(
    { state, extras: { note: float32() } },
    "must have the columns action, discount, extras.note, nextState, reward, state; got action, discount, nextState, reward, state",
  );
  await writer.close();
});

Deno.test("items with an extra that the reader does not name are refused", async () => {
  using tables = await newTables();
  const writer = tableWriter(tables, "steps", { state, extras: { a: float32(2) } });
  await writer.append({ ...step, extras: { a: [98, 99] } });
  await writer.flush();
  const text = "columns action, discount, nextState, reward, state; got ";
  const local = tableReader(tables, "steps", { state });
  await assertRejects(
    () => local.getBatch(1),
    TypeError,
    `${text}action, discount, extras.a, nextState`,
  );
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(server.address);
  const remote = tableReader(client, "steps", { state });
  await assertRejects(() => remote.getBatch(1), TypeError, `${text}6 columns without names`);
});

Deno.test("a signature with an order of its own tells which column is which", async () => {
  const one = { dtype: "float32", shape: [] };
  const fields = [
    ["action", { dtype: "int32", shape: [] }],
    ["reward", one],
    ["state", one],
    ["extras", { "a.extras.b": one }],
    ["discount", one],
    ["nextState", one],
  ] as const;
  const signature = { namedTuple: "Step", fields };
  const steps = { maxSize: 10, sampler: oldest(), signature };
  using tables = await Tables.create({ tables: { steps } });
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(server.address);
  const columns = { state: float32(), extras: { "a.extras.b": float32() } };
  for (const place of [tables, client]) {
    const writer = tableWriter(place, "steps", columns, { discount: 0.5 });
    const flags = { terminated: false, truncated: true };
    const extras = { "a.extras.b": 5 };
    await writer.append({ state: 1, action: 2, reward: 3, nextState: 4, ...flags, extras });
    await writer.close();
    const batch = await tableReader(place, "steps", columns).getBatch(1);
    const { state: [first], action: [action], reward: [reward], nextState: [next] } = batch;
    assertEquals([first, action, reward, next, batch.discount[0]], [1, 2, 3, 4, 0.5]);
    assertEquals(batch.extras, { "a.extras.b": Float32Array.of(5) });
  }
});

Deno.test("columns, options and tables that can't be are refused at once", async () => {
  using tables = await newTables();
  assertThrows(() => tableReader(tables, "steps", { state: 7 as never }), TypeError, "a column");
  assertThrows(
    () => tableReader(tables, "steps", { state, reward: float64() }),
    TypeError,
    "float32",
  );
  const extras = { hidden: every(2, float32()) };
  assertThrows(() => tableWriter(tables, "steps", { state, extras }), TypeError, "extras.hidden");
  assertThrows(() => tableWriter(tables, "steps", { state }, { nStep: 0 }), RangeError, "nStep");
  assertThrows(() => tableReader(tables, "step", { state }), ReplayError, '"step"');
  assertThrows(() => tableWriter(tables, "step", { state }), ReplayError, '"step"');
});

Deno.test("a server without the table says so", async () => {
  using tables = await newTables();
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(server.address);
  const reader = tableReader(client, "step", { state });
  const error = await assertRejects(() => reader.getBatch(1), ReverbError, '"step"');
  assertEquals(error.code, "not-found");
  const unknown = await assertRejects(() => reader.stats(), ReplayError, '"step"');
  assertEquals(unknown.code, "table-unknown");
});

Deno.test("a writer's items share their states, and have the priority that was asked for", async () => {
  using tables = await newTables();
  const options = { nStep: 3, discount: 0.5, priority: 2 };
  const writer = tableWriter(tables, "steps", { state: uint8(1000) }, options);
  const picture = (k: number): Uint8Array =>
    Uint8Array.from({ length: 1000 }, (_, at) => 97 * k * at * at + at);
  for (let k = 0; k < 9; k++) {
    const nextState = picture(k + 1);
    await writer.append({
      state: picture(k),
      action: 0,
      reward: 1,
      nextState,
      terminated: k === 8,
    });
  }
  await writer.close();
  const { size, bytes, largestPriority, episodes } = tables.table("steps").info();
  assertEquals([size, largestPriority, episodes], [9, 2, 1]);
  assert(bytes < 11_500, `${bytes} bytes for 10 states of 1,000`); // twice each would be 18,000
});

Deno.test("a call that waits for an earlier one ends by its own limits", async () => {
  const steps = {
    ...{ maxSize: 10, maxTimesSampled: 1, rateLimiter: queue(1) },
    ...{ sampler: oldest(), remover: oldest() },
  };
  using tables = await Tables.create({ tables: { steps } });
  const writer = tableWriter(tables, "steps", { state }, { nStep: 2 });
  await writer.append({ ...step, terminated: false });
  await writer.append(step);
  const held = writer.flush(); // two items, and room for one
  const text = "an earlier call of this writer was not done after 0 ms";
  const calls = [
    () => writer.append(step, { timeoutMs: 0 }),
    () => writer.close({ timeoutMs: 0 }),
  ];
  for (const call of calls) {
    assertEquals((await assertRejects(call, ReplayError, text)).code, "timeout");
  }
  const controller = new AbortController();
  const waiting = writer.append(step, { signal: controller.signal });
  controller.abort(new RangeError("enough"));
  await assertRejects(() => waiting, RangeError, "enough");
  const closing = writer.close();
  const reader = tableReader(tables, "steps", { state });
  const batch = await reader.getBatch(2);
  assertEquals([...batch.reward, ...batch.discount], [8, 4, 0, 0]);
  await inTime("the calls end", Promise.all([held, closing]));
  assertEquals(await reader.stats(), { size: 0, inserted: 2, drawn: 2 });
});

Deno.test("a writer that failed halfway throws the same error from then on", async () => {
  using tables = await newTables();
  const table = tables.table("steps");
  await table.insert({ other: 1 }); // an item of another program
  const writer = tableWriter(tables, "steps", { state }, { nStep: 2 });
  const open = { ...step, terminated: false };
  await writer.append(open);
  await writer.append(open);
  const error = await assertRejects(() => writer.append(open), TypeError, "other");
  table.clear(); // a step that is given again would now stand twice in its episode
  const calls = [
    () => writer.append(open),
    () => writer.endEpisode(),
    () => writer.flush(),
    () => writer.close(),
  ];
  for (const call of calls) assertStrictEquals(await assertRejects(call), error);
  await writer.close(); // does nothing
  assertEquals(table.size, 0);
  assertEquals((await assertRejects(() => writer.append(open), ReplayError)).code, "disposed");
});

Deno.test("regression: flush() of a writer whose server has gone waited for ever", async () => {
  using tables = await newTables();
  const server = await serve({ tables });
  await using client = await ReverbClient.connect(server.address);
  const writer = tableWriter(client, "steps", { state });
  await writer.append(step);
  await writer.flush();
  await server[Symbol.asyncDispose]();
  await writer.append(step);
  // Each look at this clock takes a second.
  const { now } = performance;
  let shift = 0;
  performance.now = () => now.call(performance) + (shift += 1000);
  try {
    const flushing = assertRejects(() => writer.flush(), ReverbError, "1 item was not confirmed");
    assertEquals((await inTime("flush() ends", flushing)).code, "unavailable");
  } finally {
    performance.now = now;
  }
  await assertRejects(() => writer.append(step), ReverbError, "this writer can't go on");
  await assertRejects(() => writer.close(), ReverbError, "this writer can't go on");
});
