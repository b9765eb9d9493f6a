/** ReverbClient gives each column at its place in the signature, and never one batch of items that differ. */
import { assertEquals, assertRejects } from "../_assert.ts";
import { ReverbClient, ReverbError, type SampleColumn, tensor } from "../../reverb/mod.ts";
import { served } from "../server/_served.ts";

async function connected(
  tables: object,
  act: (client: ReverbClient) => Promise<void>,
): Promise<void> {
  await using all = await served(tables);
  const client = await ReverbClient.connect(all.server.address);
  try {
    await act(client);
  } finally {
    await client.close();
  }
}

Deno.test("columns whose names are numbers stand where the signature has them", async () => {
  const spec = { dtype: "float32", shape: [] };
  const signature = { "9": spec, "10": { b: spec, "1": spec, "02": spec } };
  await connected({ t: { maxSize: 9, signature } }, async (client) => {
    const value = (number: number) => tensor(number, { dtype: "float32" });
    const step = { "9": value(9), "10": { b: value(11), "1": value(1), "02": value(2) } };
    await client.insert(step, { t: 1 });
    const { data } = await client.getBatch("t", 1);
    const got = data as unknown as
      & Record<"9", SampleColumn>
      & Record<"10", Record<string, SampleColumn>>;
    const numbers = (column: SampleColumn | undefined): unknown[] => [...column?.data ?? []];
    assertEquals(numbers(got["9"]), [9]);
    assertEquals(numbers(got["10"]["b"]), [11]);
    assertEquals(numbers(got["10"]["1"]), [1]);
    assertEquals(numbers(got["10"]["02"]), [2]);
  });
});

Deno.test("items whose rows have other shapes, but as many bytes, are no batch", async () => {
  await connected({ t: { maxSize: 9, sampler: "fifo", maxTimesSampled: 1 } }, async (client) => {
    const values = Float32Array.of(1, 2, 3, 4, 5, 6);
    for (const shape of [[2, 3], [3, 2]]) await client.insert(tensor(values, { shape }), { t: 1 });
    const error = await assertRejects(() => client.getBatch("t", 2), ReverbError);
    assertEquals(error.code, "invalid-argument");
  });
});

Deno.test("a type parameter says what a batch has", async () => {
  const signature = { reward: { dtype: "float32", shape: [1] } };
  await connected({ t: { maxSize: 9, signature } }, async (client) => {
    await client.insert({ reward: tensor(2, { dtype: "float32" }) }, { t: 1 });
    const { data: { reward } } = await client.getBatch<{ reward: number }>("t", 1);
    assertEquals([...reward.data], [2]);
    const batches = client.batches<{ reward: number }>("t", { batchSize: 2, maxBatches: 1 });
    for await (const { data } of batches) assertEquals([...data.reward.data], [2, 2]);
  });
});
