/** Reverb's unmodified Python client, on our server. */
import { assert, assertEquals } from "../_assert.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";
import { plainTables, served } from "./_served.ts";

const script = new URL("reverb_client.py", import.meta.url);

besideReverb(
  "Reverb's Python client does all that it can do with our server, and nothing harms others",
  async () => {
    await using site = await served({
      ...plainTables,
      best: { sampler: "maxHeap", remover: "minHeap", maxSize: 2 },
      once: { queue: 1000 },
      signed: {
        maxSize: 100,
        signature: [{ dtype: "float32", shape: [2] }, { dtype: "int32", shape: [] }],
      },
      whole: {
        maxSize: 100,
        signature: [{ dtype: "float32", shape: [null, 2] }, { dtype: "int32", shape: [null] }],
      },
    }, { checkpointer: { save: () => Promise.resolve("/checkpoints/1") } });
    const said = (await runPython(script, [site.server.port], 120_000)).trim().split("\n");
    const checks = [...(await Deno.readTextFile(script)).matchAll(/^@check\ndef (\w+)/gm)];
    assert(checks.length >= 20);
    assertEquals(said, [...checks.map(([, name]) => name), "end"]);
    const { chunks, tables } = site.server.figures();
    assertEquals([chunks, tables.reduce((sum, { size }) => sum + size, 0)], [0, 0]);
  },
);
