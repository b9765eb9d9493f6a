/** Checkpoints that can't be written or read, and snapshots of the program that do not end. */
import { assert, assertEquals, assertExists, assertRejects } from "../../_assert.ts";
import { ReplayError } from "@exrp/replay";
import { serve } from "@exrp/replay/server";
import { openCheckpoints } from "../../../server/checkpoints/checkpoints.ts";
import { kernelTablesOf } from "../../../tables/tables.ts";
import { insert } from "../_served.ts";
import { checkpointsIn, inFolder, namesIn } from "./_folder.ts";
import { makeTables, serving } from "./_serving.ts";
import { refused } from "../../_refused.ts";
import { pause } from "../../_wait.ts";

Deno.test("a checkpoint that can't be written tells the client why; the old ones stay, and the server goes on", async () => {
  await inFolder(async (folder) => {
    let path = "";
    const errors = await serving({ folder, onStop: false }, async ({ connection }) => {
      await insert(connection, "u", 1n);
      path = (await connection.call("Checkpoint"))["checkpoint_path"];
      await Deno.rename(folder, `${folder}.away`);
      try {
        await assertRejects(
          () => connection.call("Checkpoint"),
          Error,
          "13: checkpoint: can't write",
        );
        await insert(connection, "u", 2n);
      } finally {
        await Deno.rename(`${folder}.away`, folder);
      }
      await connection.call("Checkpoint");
    });
    assertEquals(errors.length, 1);
    const made = await checkpointsIn(folder);
    assertEquals([made.length, made[1]], [2, path]);
  });
});

Deno.test("the last checkpoint that can't be written is an error of stop()", async () => {
  await inFolder(async (folder) => {
    using tables = await makeTables();
    const server = await serve({ tables, checkpoint: { folder } });
    await Deno.rename(folder, `${folder}.away`);
    try {
      await refused(() => server.stop({ graceMs: 0 }), "file", /can't write/);
      await assertRejects(() => fetch(`http://${server.address}/healthz`));
    } finally {
      await Deno.rename(`${folder}.away`, folder);
    }
    await serving({ folder }, () => Promise.resolve()); // the folder is free
  });
});

Deno.test("a stop gives up where the program's own snapshot does not end, and the folder is free", async () => {
  await inFolder(async (folder) => {
    using tables = await makeTables();
    await tables.insert(1, { u: 1 });
    const busyMs = 300;
    const { checkpoints } = await openCheckpoints(tables, { folder }, console.error, busyMs);
    assertExists(checkpoints);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const stalled = tables.serialize(writable);
    assert(kernelTablesOf(tables).isSaving);
    // While the server runs, a checkpoint waits for as long as it takes.
    let isOver = false;
    const waiting = checkpoints.save().finally(() => isOver = true);
    const failed = assertRejects(() => waiting, ReplayError, "has not ended in 0.3 s");
    await pause(2 * busyMs);
    assertEquals(isOver, false);
    const words = /stop\(\): the last checkpoint was not written, because tables.serialize\(\)/;
    await refused(() => checkpoints.close(true), "busy", words);
    await failed;
    assertEquals(await checkpointsIn(folder), []);
    await serving({ folder, onStop: false }, () => Promise.resolve());
    await new Response(readable).bytes();
    await stalled;
  });
});

Deno.test("a stop waits for the program's own snapshot, and then writes the last checkpoint", async () => {
  await inFolder(async (folder) => {
    using tables = await makeTables();
    await tables.insert(1, { u: 1 });
    const server = await serve({ tables, checkpoint: { folder } });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const slow = tables.serialize(writable);
    const stopped = server.stop({ graceMs: 0 });
    await pause(100);
    assertEquals(await checkpointsIn(folder), []);
    await new Response(readable).bytes();
    await slow;
    await stopped;
    assertEquals((await checkpointsIn(folder)).length, 1);
  });
});

/**
 * Lets the system refuse to open a file, or only to make it, as it does for users who may not. Root may read and write every file. Returns what
 * ends it.
 */
function refuseToOpen(file: string, onlyToMake = false): () => void {
  const { openSync } = Deno;
  Deno.openSync = (path, options) => {
    if (path === file && (options?.createNew || !onlyToMake)) {
      throw new Deno.errors.PermissionDenied("Permission denied (os error 13)");
    }
    return openSync(path, options);
  };
  return () => void (Deno.openSync = openSync);
}

Deno.test("a folder that the server may not write into stops the start, and the words say why", async () => {
  await inFolder(async (folder) => {
    using tables = await makeTables();
    const allow = refuseToOpen(`${folder}/.exrp-checkpoints.lock`, true);
    try {
      await refused(
        () => serve({ tables, checkpoint: { folder } }),
        "file",
        /can't write ".*exrp-checkpoints.lock": Permission denied/,
      );
    } finally {
      allow();
    }
  });
});

Deno.test("a newest checkpoint that can't be read stops the start: the one before lacks what only this one has", async () => {
  await inFolder(async (folder) => {
    await serving({ folder }, async ({ connection, server }) => {
      await insert(connection, "u", 1n);
      await server.checkpoint();
      await insert(connection, "u", 2n);
    });
    const [newest = "", older] = await checkpointsIn(folder);
    assertExists(older);
    using tables = await makeTables();
    const allow = refuseToOpen(newest);
    try {
      await refused(
        () => serve({ tables, checkpoint: { folder } }),
        "file",
        /checkpoint-000000002.*Permission denied/,
      );
    } finally {
      allow();
    }
    assertEquals(tables.table("u").size, 0);
    assertEquals((await checkpointsIn(folder)).length, 2);
    // The folder is free again.
    await serving({ folder }, ({ server, tables }) => {
      assertEquals([server.loaded.path, tables.table("u").size], [newest, 2]);
      return Promise.resolve();
    });
  });
});

/** Lets the system refuse to remove files whose paths have these words. Returns what ends it. */
function refuseToRemove(words: string): () => void {
  const { remove } = Deno;
  Deno.remove = (path, options) => {
    if (!String(path).includes(words)) return remove(path, options);
    return Promise.reject(new Deno.errors.PermissionDenied("Operation not permitted (os error 1)"));
  };
  return () => void (Deno.remove = remove);
}

Deno.test("an old checkpoint that can't be removed keeps no older one in the folder, and goes once it can be", async () => {
  await inFolder(async (folder) => {
    const numbers = async (): Promise<number[]> =>
      (await checkpointsIn(folder)).map((path) =>
        Number(path.split("checkpoint-")[1]?.slice(0, 9))
      );
    await serving({ folder, keep: 9, onStop: false }, async ({ server }) => {
      for (let k = 0; k < 3; k++) await server.checkpoint();
    });
    const errors = await serving({ folder, keep: 1, onStop: false }, async ({ server }) => {
      const allow = refuseToRemove("checkpoint-000000003-");
      try {
        await server.checkpoint();
        assertEquals(await numbers(), [4, 3]);
        await server.checkpoint();
        assertEquals(await numbers(), [5, 3]);
      } finally {
        allow();
      }
      await server.checkpoint();
      assertEquals(await numbers(), [6]);
      assertEquals(server.figures().checkpoints?.failed, 0);
    });
    assertEquals(errors.length, 2);
    assert(
      /can't be removed, such as .*checkpoint-000000003-.*not permitted/.test(errors[0] ?? ""),
    );
  });
});

Deno.test("what a killed server left goes at the next start; in Node and Bun, once it has not changed for a day", async () => {
  await inFolder(async (folder) => {
    let path = "";
    await serving({ folder, onStop: false }, async ({ server }) => {
      path = await server.checkpoint();
    });
    const begun = (await Deno.readFile(path)).subarray(0, -100);
    const tails = ["0000001.tmp", "0000002.part", "0000003.part"];
    const [killed = "", young = "", old = ""] = tails.map((tail) => `${path}.exrp-${tail}`);
    const foreign = `${folder}/checkpoint-000000001-20260101T000000Z.exrp.exrp-0000004.part`;
    for (const each of [killed, young, old]) await Deno.writeFile(each, begun);
    await Deno.writeTextFile(foreign, "This file is nobody's but mine.\n");
    const yesterday = new Date(Date.now() - 25 * 3600 * 1000);
    for (const each of [old, foreign]) await Deno.utime(each, yesterday, yesterday);
    await serving({ folder, onStop: false }, () => Promise.resolve());
    const names = await namesIn(folder);
    const isThere = (each: string): boolean => names.some((name) => each.endsWith(`/${name}`));
    assertEquals([killed, young, old, foreign].map(isThere), [false, true, false, true]);
  });
});

Deno.test("the figures, the metrics and the page say which checkpoints were written, and how many could not be", async () => {
  await inFolder(async (folder) => {
    const page = async (address: string, path: string): Promise<string> =>
      await (await fetch(`http://${address}${path}`)).text();
    await serving({ folder, onStop: false }, async ({ connection, server }) => {
      assertEquals(server.figures().checkpoints, { written: 0, failed: 0, last: undefined });
      assert((await page(server.address, "/")).includes("Checkpoints: none was written yet."));
      await insert(connection, "u", 1n);
      await server.checkpoint();
      const before = Date.now() / 1000;
      const path = await server.checkpoint();
      const { written, failed, last } = server.figures().checkpoints ?? {};
      assertExists(last);
      assertEquals([written, failed, last.bytes], [2, 0, (await Deno.stat(path)).size]);
      assert(last.at >= before && last.at <= Date.now() / 1000, `${last.at}`);
      assert(last.seconds > 0, `${last.seconds}`);
      await Deno.rename(folder, `${folder}.away`);
      try {
        await refused(() => server.checkpoint(), "file", /can't write/);
      } finally {
        await Deno.rename(`${folder}.away`, folder);
      }
      assertEquals(server.figures().checkpoints, { written: 2, failed: 1, last });
      const text = await page(server.address, "/");
      assert(/Checkpoints: 2 written, the last on <time [^>]*>20.* UTC<\/time>: /.test(text), text);
      assert(text.includes("<strong>1 could not be written</strong>"), text);
      const metrics = await page(server.address, "/metrics");
      assert(metrics.includes(`\nexrp_checkpoint_last_bytes ${last.bytes}\n`), metrics);
    });
    using tables = await makeTables();
    await using without = await serve({ tables });
    assertEquals(without.figures().checkpoints, undefined);
    assert(!(await page(without.address, "/")).includes("Checkpoints"));
  });
});
