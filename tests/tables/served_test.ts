/** Tables of this process, served: what one side inserts, the other samples. */
import { assertEquals, assertExists, assertRejects } from "../_assert.ts";
import { lowestPriority, oldest } from "../../mod.ts";
import { ReverbClient, tensor } from "../../reverb/mod.ts";
import { serve } from "../../server/serve.ts";
import { Table } from "../../tables/mod.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";
import { Tables } from "../../tables/mod.ts";
import { onBoth } from "./_backends.ts";
import { PATIENCE_MS } from "../_wait.ts";

onBoth("a client of the server and the program itself see the same tables", async (create) => {
  using tables = await create({ tables: { q: Table.queue(2), s: { maxSize: 9 } } });
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(`127.0.0.1:${server.port}`);
  const queue = tables.table("q");
  await client.insert({ a: Float32Array.of(1, 2), b: 3 }, { q: 1, s: 5 });
  assertEquals([tables.table("s").largestPriority, tables.info().chunks], [5, 1]);
  const [here] = (await queue.getBatch(1)).columns;
  assertEquals([here?.dtype, ...here?.data ?? []], ["float32", 1, 2]);

  // Whoever waits on one side goes on by what the other does.
  const waiting = client.getBatch("q", 1, { timeoutMs: PATIENCE_MS });
  const key = await queue.insert({ a: Float32Array.of(7, 8), b: 4 });
  assertEquals([...(await waiting).keys], [key]);
  await queue.insert({ a: Float32Array.of(0, 0), b: 0 });
  await queue.insert({ a: Float32Array.of(0, 0), b: 1 });
  const insert = queue.insert({ a: Float32Array.of(0, 0), b: 2 });
  assertEquals((await client.getBatch("q", 1)).columns[1]?.data, Float64Array.of(0));
  await insert;
  assertEquals(queue.size, 2);
});

onBoth("a client's sample() gets all, or loses nothing", async (create) => {
  using tables = await create({ tables: { q: Table.queue(10) } });
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(`127.0.0.1:${server.port}`);
  const queue = tables.table("q");
  for (let k = 0; k < 3; k++) await queue.insert(k);
  const values = (batch: { columns: readonly { data: unknown }[] }): number[] => [
    ...batch.columns[0]?.data as Float64Array,
  ];
  const late = (timeoutMs: number): Promise<unknown> =>
    assertRejects(() => client.getBatch("q", 5, { timeoutMs }), Error, "0 came");
  await late(0);
  assertEquals([queue.size, queue.info().samples], [3, 0]);
  await late(20);
  assertEquals([queue.size, queue.info().samples], [0, 3]);
  assertEquals(values(await client.getBatch("q", 2, { timeoutMs: 0 })), [0, 1]);
  await queue.insert(3);
  assertEquals(values(await client.getBatch("q", 2)), [2, 3]);
  await queue.insert(4);
  const part = await client.getBatch("q", 5, { timeoutMs: 20, isPartialAllowed: true });
  assertEquals([values(part), queue.canSample()], [[4], false]);
});

onBoth("clients give items priorities of their own for the remover", async (create) => {
  using tables = await create({
    tables: { t: { maxSize: 3, remover: lowestPriority() }, u: { maxSize: 3 } },
  });
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(`127.0.0.1:${server.port}`);
  const table = tables.table("t");
  const shown = (): number[][] =>
    table.items().map(({ priority, removerPriority }) => [priority, removerPriority])
      .toSorted(([a = 0], [b = 0]) => a - b);
  await client.insert([0], { t: 1, u: 1 }, { removerPriorities: { t: 10 } });
  await using writer = client.writer({ maxSequenceLength: 1 });
  writer.append([1]);
  await writer.createItem("t", 1, 2, { removerPriority: 20 });
  await writer.flush();
  await using trajectories = client.trajectoryWriter<number[]>({ numKeepAliveRefs: 1 });
  trajectories.append([2]);
  const [x] = trajectories.history;
  assertExists(x);
  await trajectories.createItem("t", 3, [x.slice(-1)], { removerPriority: 5 });
  await trajectories.flush();
  assertEquals(shown(), [[1, 10], [2, 20], [3, 5]]);
  assertEquals(tables.table("u").items().map((item) => item.removerPriority), [1]);

  const keyOf = (number: number): bigint =>
    table.items().find(({ priority }) => priority === number)?.key ?? 0n;
  const second = keyOf(2);
  await client.setPriority("t", { updates: new Map([[second, 0.5]]) });
  await client.insert([3], { t: 15 });
  assertEquals(shown(), [[0.5, 20], [1, 10], [15, 15]]);
  const updates = { keys: [second], priorities: [2], removerPriorities: [1] };
  await client.setPriority("t", { updates });
  await client.insert([4], { t: 16 });
  assertEquals(shown(), [[1, 10], [15, 15], [16, 16]]);

  const key = keyOf(1);
  const wrong = { keys: [key], priorities: [2], removerPriorities: [NaN] };
  await assertRejects(
    () => client.setPriority("t", { updates: wrong }),
    RangeError,
    `the remover's priority of key ${key}`,
  );
  await assertRejects(
    () => client.setPriority("t", { updates: { ...updates, removerPriorities: [] } }),
    TypeError,
    "removerPriorities? } of one length",
  );
  await assertRejects(
    () => client.insert([0], { t: 1 }, { removerPriorities: { u: 1 } }),
    TypeError,
    'removerPriorities has table "u", which gets no item',
  );
  await assertRejects(
    () => client.insert([0], { t: 1 }, { removerPriorities: { t: -1 } }),
    RangeError,
    'the remover\'s priority for table "t"',
  );
  assertEquals(shown(), [[1, 10], [15, 15], [16, 16]]);
});

besideReverb(
  "mutate_priorities of Reverb's own client leaves the remover's priorities",
  async () => {
    using tables = await Tables.create({
      tables: { t: { maxSize: 9, sampler: oldest(), remover: lowestPriority() } },
    });
    await using server = await serve({ tables });
    const table = tables.table<number>("t");
    const key = await table.insert(1, { priority: 1, removerPriority: 20 });
    await runPython(
      `import sys, reverb
reverb.Client("localhost:" + sys.argv[1]).mutate_priorities("t", updates={int(sys.argv[2]): 0.5})`,
      [server.port, String(key)],
    );
    const [item] = table.items();
    assertEquals([item?.priority, item?.removerPriority], [0.5, 20]);
  },
);

const SCRIPT = `
import sys, json, numpy as np, reverb
client = reverb.Client("localhost:" + sys.argv[1])
rows = []
for sample in client.sample("t", 2):
    rows.append([np.asarray(x).tolist() for x in sample[0].data])
with client.trajectory_writer(num_keep_alive_refs=2) as writer:
    for k in range(2):
        writer.append({"state": np.full(2, k, np.float32), "action": np.int32(k)})
    writer.create_item("t", 1.0, {"state": writer.history["state"][-1:], "action": writer.history["action"][-1:]})
    writer.flush()
print(json.dumps(rows))
`;

besideReverb(
  "Reverb's own client samples what this program inserted, as time steps, and the other way round",
  async () => {
    const signature = {
      action: { dtype: "int32", shape: [1] },
      state: { dtype: "float32", shape: [1, 2] },
    };
    using tables = await Tables.create({
      tables: { t: { maxSize: 9, sampler: oldest(), maxTimesSampled: 1, signature } },
    });
    await using server = await serve({ tables });
    const table = tables.table<{ state: Float32Array; action: number }>("t");
    await table.insert({ state: Float32Array.of(1, 2), action: 3 });
    const states = tensor(Float32Array.of(4, 5), { shape: [1, 2] });
    await tables.table("t").insert({ state: states, action: Int32Array.of(6) }, {
      priorities: [1],
    });
    const rows = JSON.parse(await runPython(SCRIPT, [server.port]));
    assertEquals(rows, [[3, [1, 2]], [6, [4, 5]]]);
    const { data } = await table.getBatch(1);
    assertEquals([[...data.action.data], [...data.state.data]], [[1], [1, 1]]);
  },
);
