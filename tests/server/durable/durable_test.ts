/** A server whose tables are durable: the field and the option of the program, `checkpoint()` of a client, and a stop. */
import { assert, assertEquals, assertMatch, assertRejects } from "../../_assert.ts";
import { readConfig, serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { ReverbClient } from "@exrp/replay/reverb";
import { assertReplayRejects, testRandom } from "../../replay/_helpers.ts";
import { copyFolder, test } from "../../tables/durable/_folders.ts";
import { inFolder } from "../checkpoints/_folder.ts";
import { startProgram, writeConfig } from "../checkpoints/_program.ts";

const TABLES = { steps: { maxSize: 100 } };

test("a client's checkpoint() returns once all is on the disk", async (folder) => {
  using tables = await Tables.open(`${folder}/live`, { tables: TABLES, flushIntervalMs: 0 });
  const server = await serve({ tables });
  await using client = await ReverbClient.connect(server.address);
  for (let n = 0; n < 10; n++) await client.insert({ n }, { steps: 1 });
  assertEquals(await client.checkpoint(), `${folder}/live`);
  await copyFolder(`${folder}/live`, `${folder}/crashed`);
  assertEquals(await server.checkpoint(), `${folder}/live`);
  await server.stop({ graceMs: 0 });
  using found = await Tables.open(`${folder}/crashed`);
  assertEquals(found.table("steps").size, 10);
  assertEquals(await found.serialize(), await tables.serialize());
});

test("durable tables write checkpoints into a folder of the server's, and load none", async (folder) => {
  using tables = await Tables.open(`${folder}/live`, { tables: TABLES, seed: 1 });
  await tables.insert({ n: 1 }, { steps: 1 });
  const checkpoint = { folder: `${folder}/checkpoints` };
  {
    const server = await serve({ tables, checkpoint });
    assertMatch(await server.checkpoint(), /checkpoints.*\.exrp$/);
    await server.stop();
  }
  await tables.insert({ n: 2 }, { steps: 1 });
  const server = await serve({ tables, checkpoint });
  assertEquals([server.loaded.path, tables.table("steps").size], [undefined, 2]);
  await server.stop();
  // What was written so can be loaded elsewhere.
  using others = await Tables.create({ tables: TABLES });
  const other = await serve({ tables: others, checkpoint });
  assertEquals(others.table("steps").size, 2);
  await other.stop();
  const from = other.loaded.path ?? "";
  await assertReplayRejects(serve({ tables, checkpoint: { from } }), "order");
});

test("the program keeps its tables in the directory of its file or of its option", async (folder) => {
  await inFolder(async (parent) => {
    const config = `${parent}/config.json`;
    await writeConfig(config, { tables: TABLES, directory: "kept", flushIntervalMs: 100 });
    for (const round of [0, 1, 2]) {
      const { port, printed, process, rest } = await startProgram(config);
      assert(
        round === 0 || printed.startsWith(`found ${round} items in ${parent}/kept\n`),
        printed,
      );
      {
        await using client = await ReverbClient.connect(`127.0.0.1:${port}`);
        await client.insert({ n: round }, { steps: 1 });
      }
      process.kill("SIGTERM");
      assertEquals(await rest, "SIGTERM: stopping\nstopped\n");
      assertEquals((await process.status).code, 0);
    }
    using tables = await Tables.open(`${parent}/kept`);
    assertEquals(tables.table("steps").size, 3);

    const { printed, process, rest } = await startProgram(config, `"$@" --directory=${folder}`);
    assert(printed.startsWith("serving steps"), printed);
    process.kill("SIGTERM");
    await rest;
    await process.status;
    using moved = await Tables.open(folder);
    assertEquals(moved.table("steps").size, 0);
    // Two programs can't have one folder.
    await assertRejects(() => startProgram(config), Error, "this folder is open already");
  });
});

test("after the disk has failed, a client's insert ends with the reason, and samples go on", async (folder) => {
  const options = { tables: TABLES, segmentBytes: 2 ** 20, flushIntervalMs: 0 };
  using tables = await Tables.open(folder, options);
  const told: unknown[] = [];
  const server = await serve({ tables, onError: (error) => told.push(error) });
  await using client = await ReverbClient.connect(server.address);
  // The next segment can't be made, as something stands in its place.
  await Deno.mkdir(`${folder}/log-00000002.exrp`);
  const random = testRandom(7);
  await client.insert({ n: new Float32Array(2 ** 19).map(() => random(2 ** 24)) }, { steps: 1 });
  await assertRejects(() => client.checkpoint(), Error, "the system could not");
  await assertRejects(
    () => client.insert({ n: new Float32Array(2 ** 19) }, { steps: 1 }),
    Error,
    "the system could not",
  );
  assertEquals(told.length, 2);
  assertEquals((await tables.table("steps").getBatch(1)).size, 1);
  await server.stop({ graceMs: 0 });
});

Deno.test("the fields of a durable server are checked", () => {
  const read = (more: object) => readConfig(JSON.stringify({ tables: TABLES, ...more }));
  assertEquals(read({ directory: "x", flushIntervalMs: 5 }).directory, "x");
  for (
    const [more, words] of [
      [{ directory: "" }, /directory must be the path of a folder/],
      [{ directory: 3 }, /directory must be the path of a folder/],
      [{ directory: "x", flushIntervalMs: -1 }, /flushIntervalMs/],
      [{ flushIntervalMs: 5 }, /flushIntervalMs needs a directory/],
    ] as const
  ) {
    let message = "";
    try {
      read(more);
    } catch (error) {
      message = (error as Error).message;
    }
    assertMatch(message, words);
  }
});
