/** The comparison with peers measures our memory in a separate process. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { listDatasets } from "../../bench/peers/_datasets.ts";
import { measureOurMemory } from "../../bench/peers/_our_memory.ts";

Deno.test("measureOurMemory() has what describe() says beside what the process grew by, and a right batch", async () => {
  const datasets = listDatasets(true).filter(({ memory }) => memory);
  assertEquals(datasets.map(({ kind }) => kind), ["uniform", "prioritized"]);
  for (const dataset of datasets) {
    const { grown, described, wrong } = await measureOurMemory({ ...dataset, capacity: 2 ** 14 });
    assertEquals(wrong, "");
    // A record is 76 bytes of values; priorities and what finds records come on top.
    assert(described > 76 * 2 ** 14 && described < 300 * 2 ** 14, `${described}`);
    assert(Number.isFinite(grown));
  }
});

Deno.test("measureOurMemory() says why its process failed", async () => {
  const [dataset] = listDatasets(true);
  assert(dataset !== undefined);
  await assertRejects(() => measureOurMemory({ ...dataset, capacity: -1 }), Error, "capacity");
});
