/** Reverb's own client and server work together here, as the tests beside ours need it. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { findReverbPython } from "../../bench/reverb/_python.ts";
import { besideReverb, plainTable, runPython, startReal } from "./_real.ts";

besideReverb("the real client writes into the real server, whose limits are asked", async () => {
  await using server = await startReal([
    plainTable("plain"),
    plainTable("queue", {
      sampler: { kind: "fifo" },
      max_times_sampled: 1,
      rateLimiter: { kind: "queue", size: 2 },
    }),
  ]);
  const script = `
import sys, json, numpy as np, reverb
client = reverb.Client("localhost:" + sys.argv[1])
for table in ("plain", "queue"):
    client.insert([np.zeros(3, np.float32)], {table: 2.0})
print(json.dumps({name: info.current_size for name, info in client.server_info().items()}))
`;
  assertEquals(JSON.parse(await runPython(script, [server.port])), { plain: 1, queue: 1 });
  assertEquals(await server.canSample("queue", 1), true);
  assertEquals(await server.canSample("queue", 2), false);
  assertEquals(await server.canInsert("queue", 1), true);
  assertEquals(await server.canInsert("queue", 2), false);
});

Deno.test("a Python that EXRP_REVERB_PYTHON names must be there", async () => {
  const before = Deno.env.get("EXRP_REVERB_PYTHON");
  Deno.env.set("EXRP_REVERB_PYTHON", "/no/such/python");
  try {
    await assertRejects(findReverbPython, Error, "/no/such/python, and there is no such file");
    Deno.env.set("EXRP_REVERB_PYTHON", Deno.execPath());
    assert("python" in await findReverbPython());
  } finally {
    if (before === undefined) Deno.env.delete("EXRP_REVERB_PYTHON");
    else Deno.env.set("EXRP_REVERB_PYTHON", before);
  }
});
