/** Checkpoints of a server in this process: what is written, loaded, kept and refused. */
import { assert, assertEquals, assertRejects, assertThrows } from "../../_assert.ts";
import { relative } from "node:path";
import { readConfig, serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { kernelTablesOf } from "../../../tables/tables.ts";
import {
  drainOurs,
  filesOf,
  readRecorded,
  tables as recordedTables,
  withCheckpoint,
} from "../../reverb/_checkpoints.ts";
import { asConfig } from "../_as_config.ts";
import { insert, sample } from "../_served.ts";
import { makeTables, serving } from "./_serving.ts";
import { refused } from "../../_refused.ts";
import { addForeign, checkpointsIn, contentOf, inFolder, namesIn } from "./_folder.ts";
import { pause, until } from "../../_wait.ts";
import { noise } from "../../_noise.ts";

const lock = ".exrp-checkpoints.lock";

Deno.test("a client's checkpoint() answers the path of a new file, and the next server goes on from it", async () => {
  await inFolder(async (parent) => {
    const folder = `${parent}/made/by/it`;
    let path = "";
    await serving({ folder, onStop: false }, async ({ connection, tables, server }) => {
      assertEquals(server.loaded, { path: undefined, damaged: [] });
      for (let key = 1n; key <= 20n; key++) await insert(connection, "p", key, Number(key));
      tables.table("p").setPriority([7n], [7], { removerPriorities: [70] });
      await insert(connection, "q", 50n);
      const call = connection.open("SampleStream");
      call.send({ table: "p", num_samples: 7n });
      await call.receive();
      call.cancel();
      path = (await connection.call("Checkpoint"))["checkpoint_path"];
      assertEquals(await checkpointsIn(folder), [path]);
      assert(/\/checkpoint-000000001-\d{8}T\d{6}Z\.exrp$/.test(path), path);
      await insert(connection, "p", 21n);
      assertEquals(tables.table("p").size, 21);
    });
    await serving({ folder, onStop: false }, async ({ connection, tables, server }) => {
      assertEquals(server.loaded.path, path);
      const info = tables.table("p").info();
      assertEquals([info.size, info.inserts, info.samples], [20, 20, 7]);
      assertEquals(
        kernelTablesOf(tables).items(1, 0, 20).map((item) => [
          item.key,
          item.priority,
          item.removerPriority,
        ]),
        Array.from({ length: 20 }, (_, k) => [BigInt(k + 1), k + 1, k === 6 ? 70 : k + 1]),
      );
      assertEquals((await sample(connection, "q", 1))[0]?.["info"].item.key, 50n);
      const next = (await connection.call("Checkpoint"))["checkpoint_path"];
      assert(next.includes("checkpoint-000000002-"), next);
      assertEquals(await server.checkpoint() > next, true);
    });
    assertEquals((await namesIn(folder)).length, 4);
  });
});

Deno.test("a folder may be relative; clients, which stand elsewhere, get the whole path", async () => {
  await inFolder(async (folder) => {
    await serving(
      { folder: relative(Deno.cwd(), folder), onStop: false },
      async ({ connection }) => {
        const path = (await connection.call("Checkpoint"))["checkpoint_path"];
        assertEquals([path], await checkpointsIn(folder));
      },
    );
  });
});

Deno.test("only the newest checkpoints stay, and nothing else in the folder is touched", async () => {
  await inFolder(async (other) => {
    await inFolder(async (folder) => {
      await serving({ folder: other }, async ({ connection }) => await insert(connection, "u", 1n));
      const [copied = ""] = await checkpointsIn(other);
      const check = await addForeign(folder, await Deno.readFile(copied));
      const before = await namesIn(folder);
      for (let round = 0; round < 3; round++) {
        const errors = await serving({ folder, keep: 2 }, async ({ connection }) => {
          for (let key = 0n; key < 3n; key++) {
            await insert(connection, "u", BigInt(round) * 3n + key + 100n);
            await connection.call("Checkpoint");
          }
        });
        // At first, the newest names are those of a link and of another folder's checkpoint.
        assertEquals(errors, []);
        await check();
      }
      const made = (await namesIn(folder)).filter((name) => !before.includes(name));
      assertEquals(made.map((name) => name.slice(0, 20)), [
        lock.slice(0, 20),
        "checkpoint-000000011",
        "checkpoint-000000012",
      ]);
      const [newest = ""] = await checkpointsIn(folder);
      using tables = await makeTables();
      await tables.unserialize(newest);
      // The copied one had an item, and each round added three.
      assertEquals(tables.table("u").size, 10);
    });
  });
});

Deno.test("a stop writes what was confirmed, unless it was told not to", async () => {
  await inFolder(async (folder) => {
    await serving({ folder }, async ({ connection }) => {
      for (let key = 1n; key <= 50n; key++) await insert(connection, "u", key);
    });
    await serving({ folder, onStop: false }, async ({ connection, tables }) => {
      assertEquals(tables.table("u").size, 50);
      await insert(connection, "u", 51n);
    });
    assertEquals((await checkpointsIn(folder)).length, 1);
  });
});

Deno.test("checkpoints come by themselves from time to time", async () => {
  await inFolder(async (folder) => {
    await serving({ folder, everyMs: 100, keep: 9, onStop: false }, async ({ connection }) => {
      await insert(connection, "u", 1n);
      await until("there are three", async () => (await checkpointsIn(folder)).length >= 3);
    });
    const made = await checkpointsIn(folder);
    await pause(150);
    assertEquals(await checkpointsIn(folder), made);
  });
});

Deno.test("those who ask while a checkpoint is written share the next one, which has all that was confirmed", async () => {
  await inFolder(async (folder) => {
    await serving({ folder, keep: 99, onStop: false }, async ({ connection, server }) => {
      const first = server.checkpoint();
      await Promise.resolve();
      await insert(connection, "u", 1n);
      const rest = Array.from({ length: 20 }, () => connection.call("Checkpoint"));
      const paths = new Set((await Promise.all(rest)).map((answer) => answer["checkpoint_path"]));
      paths.delete(await first);
      assert(paths.size >= 1 && paths.size <= 2, [...paths].join());
      using tables = await makeTables();
      await tables.unserialize([...paths][0] ?? "");
      assertEquals(tables.table("u").size, 1);
    });
  });
});

Deno.test("a folder has one server; when that ends, another may have it", async () => {
  await inFolder(async (folder) => {
    await serving({ folder, onStop: false }, async () => {
      using tables = await makeTables();
      await refused(
        () => serve({ tables, checkpoint: { folder } }),
        "busy",
        /another server writes its checkpoints/,
      );
    });
    await serving({ folder }, () => Promise.resolve());
  });
});

Deno.test("a server that has stopped writes no more: the folder may be another's", async () => {
  await inFolder(async (folder) => {
    using tables = await makeTables();
    const first = await serve({ tables, checkpoint: { folder, keep: 1 } });
    await first.stop();
    await serving({ folder, keep: 1 }, async ({ connection, server }) => {
      await insert(connection, "u", 1n);
      const path = await server.checkpoint();
      await refused(() => first.checkpoint(), "order", /the server has stopped/);
      assertEquals(await checkpointsIn(folder), [path]);
    });
  });
});

Deno.test("a name with a number that is not exact is nobody's checkpoint", async () => {
  await inFolder(async (folder) => {
    const foreign = `${folder}/checkpoint-9007199254740993-20260101T000000Z.exrp`;
    await Deno.writeTextFile(foreign, "mine");
    for (let key = 1n; key <= 2n; key++) {
      await serving({ folder }, async ({ connection, tables }) => {
        assertEquals(tables.table("u").size, Number(key) - 1);
        await insert(connection, "u", key);
      });
    }
    assertEquals((await checkpointsIn(folder)).length, 2);
    assertEquals(await Deno.readTextFile(foreign), "mine");
  });
});

Deno.test("a port that is taken leaves the tables empty, so that another port can load them", async () => {
  await inFolder(async (folder) => {
    await serving({ folder }, async ({ connection }) => await insert(connection, "u", 1n));
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    using tables = await makeTables();
    await assertRejects(() => serve({ tables, port, checkpoint: { folder } }), Error, "listens");
    assertEquals(tables.table("u").size, 0);
    const server = await serve({ tables, checkpoint: { folder } });
    assertEquals(tables.table("u").size, 1);
    await server.stop({ graceMs: 0 });
  });
});

Deno.test("a damaged checkpoint is passed over for the one before, stays, and does not count", async () => {
  await inFolder(async (folder) => {
    await serving({ folder }, async ({ connection, server }) => {
      await insert(connection, "u", 1n);
      await server.checkpoint();
      await insert(connection, "u", 2n);
    });
    const [newest = "", older = ""] = await checkpointsIn(folder);
    const bytes = await Deno.readFile(newest);
    bytes[bytes.length - 60] = (bytes[bytes.length - 60] ?? 0) ^ 4;
    await Deno.writeFile(newest, bytes);
    const errors = await serving({ folder, keep: 1 }, async ({ tables, server }) => {
      assertEquals([server.loaded.path, tables.table("u").size], [older, 1]);
      assertEquals(server.loaded.damaged.map(({ path }) => path), [newest]);
      await server.checkpoint();
    });
    assertEquals(errors.length, 1);
    assert(
      /is damaged, so an older checkpoint was loaded: .*checksum/.test(errors[0] ?? ""),
      errors[0],
    );
    const left = await checkpointsIn(folder);
    assertEquals([left.length, left[1]], [2, newest]);
    assertEquals(await Deno.readFile(newest), bytes);
    for (const path of left) await Deno.truncate(path, 200);
    await refused(
      () => serving({ folder }, () => Promise.resolve()),
      "snapshot-corrupt",
      /none of 2 checkpoints .* can be loaded; .* say load: false/,
    );
    await serving({ folder, load: false }, () => Promise.resolve());
  });
});

Deno.test("a checkpoint that does not fit stops the start; none is passed over for that", async () => {
  await inFolder(async (folder) => {
    await serving({ folder }, async ({ connection }) => await insert(connection, "u", 1n));
    using other = await Tables.create({ tables: { x: { maxSize: 9 } } });
    await refused(
      () => serve({ tables: other, checkpoint: { folder } }),
      "snapshot-mismatch",
      /checkpoint-000000001.*has table "u", which is not here/,
    );
    using full = await makeTables();
    await full.insert(1, { u: 1 });
    await refused(
      () => serve({ tables: full, checkpoint: { folder } }),
      "order",
      /table "u" has 1 items already/,
    );
    // The folder is free again after each.
    const server = await serve({
      tables: full,
      checkpoint: { folder, load: false, onStop: false },
    });
    await server.stop();
    assertEquals(full.table("u").size, 1);
  });
});

Deno.test("`from` is what the tables begin with, once", async () => {
  await inFolder(async (folder) => {
    using tables = await makeTables();
    await tables.insert(1, { u: 1 });
    await tables.serialize(`${folder}/first`);
    const options = { folder: `${folder}/own`, from: `${folder}/first` };
    await serving(options, async ({ server, connection }) => {
      assertEquals(server.loaded.path, `${folder}/first`);
      await insert(connection, "u", 2n);
    });
    await serving(options, async ({ tables, server }) => {
      assertEquals(server.loaded.path?.startsWith(`${folder}/own/`), true);
      assertEquals(tables.table("u").size, 2);
      await Promise.resolve();
    });
    await serving(
      { from: new URL(`file://${folder}/first`) },
      async ({ tables, connection, server }) => {
        assertEquals(tables.table("u").size, 1);
        await assertRejects(() => connection.call("Checkpoint"), Error, "3: no Checkpointer");
        await refused(() => server.checkpoint(), "order", /no checkpoint.folder/);
      },
    );
    await refused(
      () => serving({ from: `${folder}/none` }, () => Promise.resolve()),
      "file",
      /none/,
    );
  });
});

Deno.test("`from` may be a checkpoint of Reverb's own server", async () => {
  const recorded = await readRecorded();
  await withCheckpoint(filesOf(recorded), async (from) => {
    await inFolder(async (folder) => {
      const { tables } = readConfig(JSON.stringify({ tables: asConfig(recordedTables) }));
      using ours = await Tables.create({ tables });
      const server = await serve({ tables: ours, checkpoint: { from, folder } });
      assertEquals(server.loaded.path, from);
      await server.stop();
      using next = await Tables.create({ tables });
      const again = await serve({ tables: next, checkpoint: { from, folder } });
      assertEquals([again.loaded.path], await checkpointsIn(folder));
      await again.stop();
      assertEquals(await drainOurs(next), recorded.items);
    });
  });
});

Deno.test("what a killed server left half-written goes, if it is certainly of this folder", async () => {
  await inFolder(async (folder) => {
    await serving({ folder }, async ({ connection }) => await insert(connection, "u", 1n));
    const [path = ""] = await checkpointsIn(folder);
    const bytes = await Deno.readFile(path);
    const left = path.replace("-000000001-", "-000000002-") + ".exrp-abc0123.tmp";
    await Deno.writeFile(left, bytes); // its number is another one, so it is not certain
    const own = `${path}.exrp-abc0124.tmp`;
    await Deno.writeFile(own, bytes.subarray(0, bytes.length - 50));
    const empty = `${path}.exrp-abc0125.tmp`;
    await Deno.writeFile(empty, new Uint8Array());
    const check = await addForeign(folder);
    await Deno.remove(`${folder}/checkpoint-000000000-20260101T000000Z.exrp.exrp-000000.tmp`);
    await Deno.writeFile(
      `${folder}/checkpoint-000000000-20260101T000000Z.exrp.exrp-000000.tmp`,
      new Uint8Array(),
    );
    await serving({ folder, onStop: false }, () => Promise.resolve());
    await check();
    const names = await namesIn(folder);
    assertEquals([left, own, empty].map((each) => names.includes(each.slice(folder.length + 1))), [
      true,
      false,
      false,
    ]);
  });
});

Deno.test("a foreign file in the place of the lock is left alone, and one that was cut off is mended", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/${lock}`, "mine");
    await refused(
      () => serving({ folder }, () => Promise.resolve()),
      "file",
      /not of this library/,
    );
    assertEquals(await Deno.readTextFile(`${folder}/${lock}`), "mine");
    await Deno.writeTextFile(`${folder}/${lock}`, "exrp checkpoints 0123");
    await serving({ folder }, () => Promise.resolve());
    const text = await Deno.readTextFile(`${folder}/${lock}`);
    await serving({ folder }, () => Promise.resolve());
    assertEquals(await Deno.readTextFile(`${folder}/${lock}`), text);
  });
});

Deno.test("options of checkpoints are checked, in a file too", async () => {
  using tables = await makeTables();
  for (
    const [checkpoint, words] of [
      [{}, "checkpoint needs a folder"],
      [{ folder: "" }, "checkpoint.folder must be a path"],
      [{ folder: "a", kep: 1 }, "kep"],
      [{ folder: "a", keep: 0 }, "checkpoint.keep must be an integer"],
      [{ folder: "a", everyMs: 5 }, "checkpoint.everyMs must be an integer"],
      [{ folder: "a", onStop: 1 }, "checkpoint.onStop must be"],
      [{ from: "a", keep: 2 }, "checkpoint.keep needs"],
      [7, "checkpoint must be an object"],
    ] as const
  ) {
    assertThrows(() => void serve({ tables, checkpoint: checkpoint as never }), Error, words);
    const text = JSON.stringify({ tables: { u: { maxSize: 1 } }, checkpoint });
    assertThrows(() => readConfig(text), Error, words);
  }
  const both = { checkpoint: { folder: "a" }, checkpointer: { save: () => Promise.resolve("") } };
  assertThrows(() => void serve({ tables, ...both }), TypeError, "got both");
  const { checkpoint } = readConfig(
    JSON.stringify({ tables: { u: { maxSize: 1 } }, checkpoint: { folder: "a", keep: 2 } }),
  );
  assertEquals(checkpoint, { folder: "a", keep: 2 });
});

Deno.test("other clients go on while a checkpoint is written", async () => {
  await inFolder(async (folder) => {
    await serving({ folder, onStop: false }, async ({ connection, tables, server }) => {
      const state = noise(20_000);
      for (let k = 0; k < 1000; k++) await tables.table("u").insert(state);
      let isWritten = false;
      const writing = server.checkpoint().then((path) => (isWritten = true, path));
      let during = 0;
      for (let key = 1n; !isWritten; key++) {
        await insert(connection, "p", key);
        if (!isWritten) during++;
      }
      assert(during >= 1, `${during} inserts`);
      using other = await makeTables();
      await other.unserialize(await writing);
      assertEquals(other.table("u").size, 1000);
      assertEquals((await contentOf(await writing)).length > 2e7, true);
    });
  });
});
