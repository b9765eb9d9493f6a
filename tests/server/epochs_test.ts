/** Tables without replacement behind a server: what clients draw, by however many requests and streams, is one epoch after another. */
import { assertEquals } from "../_assert.ts";
import { withoutReplacement } from "../../mod.ts";
import { ReverbClient } from "../../reverb/mod.ts";
import { type ReverbServer, serve } from "../../server/serve.ts";
import { Tables } from "../../tables/tables.ts";
import { Connection } from "../reverb/_grpc.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";

/** Serves a table `t` with the numbers from 0 on. */
async function numbered(count: number): Promise<ReverbServer> {
  const tables = await Tables.create({
    tables: { t: { maxSize: count, sampler: withoutReplacement() } },
    seed: 1,
  });
  for (let k = 0; k < count; k++) await tables.table("t").insert(k);
  return await serve({ tables });
}

const connect = (server: ReverbServer): Promise<ReverbClient> =>
  ReverbClient.connect(`127.0.0.1:${server.port}`);

const distinct = (values: Iterable<unknown>): number => new Set(values).size;

Deno.test("one call of a client has no item twice, also where an epoch ends in it", async () => {
  for (const [size, count] of [[100, 100], [8000, 5000], [20_000, 15_000]] as const) {
    await using server = await numbered(size);
    await using client = await connect(server);
    for (let k = 0; k < 4; k++) {
      assertEquals(distinct((await client.getBatch("t", count)).keys), count);
    }
  }
});

Deno.test("batches that are asked for ahead have no item twice, and go through all", async () => {
  for (const prefetch of [0, 2, 1000]) {
    await using server = await numbered(100);
    await using client = await connect(server);
    const keys: bigint[] = [];
    for await (
      const batch of client.batches("t", { batchSize: 40, prefetch, maxBatches: 20 })
    ) {
      assertEquals(distinct(batch.keys), 40);
      keys.push(...batch.keys);
    }
    for (let from = 0; from < keys.length; from += 100) {
      assertEquals(distinct(keys.slice(from, from + 100)), 100);
    }
  }
});

Deno.test("a thousand batches of one item are asked for ahead", async () => {
  await using server = await numbered(2000);
  await using client = await connect(server);
  const keys: bigint[] = [];
  for await (
    const { keys: [key] } of client.batches("t", { batchSize: 1, prefetch: 1000, maxBatches: 2000 })
  ) keys.push(key ?? 0n);
  assertEquals(distinct(keys), 2000);
});

Deno.test("streams of many small requests share an epoch", async () => {
  await using server = await numbered(100);
  const connections = [new Connection(server.port), new Connection(server.port)];
  const calls = connections.flatMap((one) => [one.open("SampleStream"), one.open("SampleStream")]);
  try {
    for (let epoch = 0; epoch < 2; epoch++) {
      const keys: bigint[] = [];
      const ask = async (call: typeof calls[number], counts: readonly number[]): Promise<void> => {
        for (const count of counts) {
          call.send({ table: "t", num_samples: BigInt(count) });
          for (let left = count; left > 0;) {
            const entries = (await call.receive())?.["entries"] ?? [];
            if (entries.length === 0) throw new Error((await call.ending).message);
            for (const { info } of entries) {
              keys.push(info["item"]["key"]);
              assertEquals(info["probability"], 0.01);
            }
            left -= entries.length;
          }
        }
      };
      await Promise.all(calls.map((call) => ask(call, [1, 4, 2, 10, 3, 5])));
      assertEquals([keys.length, distinct(keys)], [100, 100]);
    }
  } finally {
    for (const call of calls) call.cancel();
    for (const one of connections) one.close();
  }
});

besideReverb("Reverb's Python client and its datasets go through all items", async () => {
  const script = `
import sys, reverb, tensorflow as tf
address = "localhost:" + sys.argv[1]
client = reverb.Client(address)
keys = [sample[0].info.key for sample in client.sample("t", 100)]
assert len(set(keys)) == 100, len(set(keys))
print(100)
`;
  const datasets = `
import sys, reverb, tensorflow as tf
for port, ahead in zip(sys.argv[1:], (1, 10, 50, 100, 200)):
    dataset = reverb.TimestepDataset(
        server_address="localhost:" + port, table="t", dtypes=tf.float64, shapes=tf.TensorShape([]),
        max_in_flight_samples_per_worker=ahead)
    keys = [int(sample.info.key) for sample in dataset.take(100)]
    print(len(set(keys)))
`;
  await using one = await numbered(100);
  assertEquals((await runPython(script, [one.port])).trim(), "100");
  const servers = await Promise.all([1, 10, 50, 100, 200].map(() => numbered(100)));
  try {
    const said = await runPython(datasets, servers.map(({ port }) => port), 120_000);
    assertEquals(said.trim().split("\n"), ["100", "100", "100", "100", "100"]);
  } finally {
    for (const server of servers) await server.stop({ graceMs: 0 });
  }
});
