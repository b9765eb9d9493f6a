/** What waits when its own client is closed says so, and does not blame the server. */
import { assertEquals, assertRejects } from "@std/assert";
import { ReverbClient, ReverbError } from "../../reverb/mod.ts";
import { served, until } from "../server/_served.ts";

Deno.test("what waits when its own client is closed says that the client was closed", async () => {
  await using site = await served({ e: { maxSize: 5 }, q: { queue: 1 } });
  const client = await ReverbClient.connect(site.server.address);
  await client.insert(1, { q: 1 });
  const waits = [
    client.sample("e", 1),
    client.insert(2, { q: 1 }),
    client.batches("e", { batchSize: 1 }).next(),
  ];
  const said = waits.map((wait) =>
    assertRejects(() => wait as Promise<unknown>, ReverbError, "the client was closed")
  );
  const waiting = (): (number | undefined)[] =>
    site.server.figures().tables.map((table) => table.waitingInserts + table.waitingSamplers);
  await until("they wait", () => Math.max(...waiting().map((count) => count ?? 0)) === 2);
  await client.close();
  const errors = await Promise.all(said);
  assertEquals(errors.map(({ code }) => code), Array(3).fill("cancelled"));
});
