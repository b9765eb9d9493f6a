/** The guide from Reverb: its Python runs, its JSON makes the same tables, and the whole program also runs on our server. */
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { readConfig, serve } from "../../server/mod.ts";
import { Tables } from "../../tables/mod.ts";
import { inRepository } from "../../tools/_repository.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";

const page = inRepository("docs", "from_reverb.md");
const [, json = ""] = /```json\n([^]*?)```/.exec(await Deno.readTextFile(page)) ?? [];

Deno.test("the configuration of the guide from Reverb has two tables, and port 8000", () => {
  const { port, tables } = readConfig(json);
  assertEquals([port, Object.keys(tables)], [8000, ["replay", "episodes"]]);
});

besideReverb(
  "the Python of the guide from Reverb runs on Reverb's server and on ours",
  async () => {
    const folder = await Deno.makeTempDir();
    using tables = await Tables.create({ tables: readConfig(json).tables });
    const server = await serve({ tables, checkpoint: { folder, onStop: false } });
    try {
      const script = new URL("from_reverb.py", import.meta.url);
      assertStrictEquals((await runPython(script, [page, server.port])).trim(), "5 blocks");
      assertStrictEquals(tables.table("replay").size, 148);
    } finally {
      await server.stop();
    }
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    assertStrictEquals(names.filter((name) => name.startsWith("checkpoint-")).length, 1);
    await Deno.remove(folder, { recursive: true });
  },
);
