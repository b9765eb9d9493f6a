/** What waits when its own client is closed says so, and does not blame the server. */
import { assertEquals, assertRejects } from "../_assert.ts";
import { ReverbClient, ReverbError } from "../../reverb/mod.ts";
import { served } from "../server/_served.ts";
import { until } from "../_wait.ts";

Deno.test("what waits when its own client is closed says that the client was closed", async () => {
  await using site = await served({ e: { maxSize: 5 }, q: { queue: 1 } });
  const client = await ReverbClient.connect(site.server.address);
  await client.insert(1, { q: 1 });
  const waits = [
    client.getBatch("e", 1),
    client.insert(2, { q: 1 }),
    client.batches("e", { batchSize: 1 }).next(),
  ];
  const said = waits.map((wait) =>
    assertRejects(() => wait as Promise<unknown>, ReverbError, "the client was closed")
  );
  const waiting = (): (number | undefined)[] =>
    site.server.figures().tables.map((table) => table.insertsWaiting + table.samplersWaiting);
  await until("they wait", () => Math.max(...waiting().map((count) => count ?? 0)) === 2);
  await client.close();
  const errors = await Promise.all(said);
  assertEquals(errors.map(({ code }) => code), Array(3).fill("cancelled"));
});

Deno.test("a client that is closed before its writers says that their items may be lost", async () => {
  await using site = await served({ t: { maxSize: 9 } });
  const client = await ReverbClient.connect(site.server.address);
  const closed = client.writer({ maxSequenceLength: 1 });
  closed.append({ x: 1 });
  await closed.createItem("t", 1, 1);
  await closed.close();
  const writer = client.trajectoryWriter<{ x: number }>({ numKeepAliveRefs: 9, chunkLength: 9 });
  for (let k = 0; k < 3; k++) {
    writer.append({ x: k });
    await writer.createItem("t", 1, { x: writer.history.x.slice(-1) });
  }
  const other = await ReverbClient.connect(site.server.address);
  const waiting = other.trajectoryWriter<{ x: number }>({ numKeepAliveRefs: 9, chunkLength: 9 });
  waiting.append({ x: 1 });
  await waiting.createItem("t", 1, { x: waiting.history.x.slice(-1) });
  await other[Symbol.asyncDispose](); // what ends a program may be an error of its own
  const error = await assertRejects(() => client.close(), ReverbError, "3 items");
  assertEquals(error.code, "cancelled");
  await client.close();
  assertEquals(site.server.figures().tables.map(({ size }) => size), [1]);
});
