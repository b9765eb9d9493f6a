/**
 * A server with durable tables is killed at random moments while clients write, sample and change priorities: all that was flushed is there, nothing is torn or
 * there twice. `EXRP_KILLS=500` kills more often, and `EXRP_SEED` repeats a run's choices, though not the moments of the system.
 */
import { assert, assertEquals } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { Tables } from "@exrp/replay/tables";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { kernelTablesOf } from "../../../tables/tables.ts";
import { Connection, smallChunk, smallItem } from "../../reverb/_grpc.ts";
import { inFolder } from "../checkpoints/_folder.ts";
import { startProgram, writeConfig } from "../checkpoints/_program.ts";
import { PATIENCE_MS, pause } from "../../_wait.ts";

const kills = Number(Deno.env.get("EXRP_KILLS") ?? amount(3, 6));
const seed = Number(Deno.env.get("EXRP_SEED") ?? 261128);
const tables = {
  u: { maxSize: 100_000, sampler: { power: { exponent: 0.6 } } },
  q: { queue: 100_000 },
};

/** What all clients together did. Keys are the numbers of items; an item's data follows from its key. */
interface Done {
  nextKey: bigint;
  /** Keys that were confirmed, in order. */
  readonly confirmed: bigint[];
  /** How many of them were flushed, by an answer that came. */
  flushed: number;
}

/** Works on a server until it is gone. */
async function work(port: number, done: Done): Promise<void> {
  const connections = [new Connection(port), new Connection(port)] as const;
  const [writing, asking] = connections;
  const insert = async (): Promise<void> => {
    const call = writing.open("InsertStream");
    for (;;) {
      const keys = Array.from({ length: 20 }, () => done.nextKey++);
      call.send({
        chunks: keys.map((key) => smallChunk(key, key / 10n, Number(key % 251n))),
        items: keys.map((key) =>
          smallItem(key, key % 5n === 0n ? "q" : "u", Number(key % 7n), key)
        ),
      });
      for (let left = keys.length; left > 0;) {
        const message = await call.receive();
        if (message === undefined) return;
        done.confirmed.push(...message["keys"]);
        left -= message["keys"].length;
      }
    }
  };
  const flush = async (): Promise<void> => {
    for (;;) {
      const before = done.confirmed.length;
      await asking.call("Checkpoint");
      done.flushed = before;
    }
  };
  const change = async (): Promise<void> => {
    for (let round = 0n;; round++) {
      const updates = done.confirmed.slice(-9).map((key) => ({
        key,
        priority: Number(round % 4n),
      }));
      await asking.call("MutatePriorities", { table: "u", updates });
      const call = asking.open("SampleStream");
      call.send({ table: "u", num_samples: 5n });
      if (await call.receive() === undefined) return;
      call.cancel();
    }
  };
  await Promise.allSettled([insert(), flush(), change()]);
  for (const connection of connections) connection.close();
}

/** All keys of the tables, each in the table that it belongs to. */
function keysOf(held: Tables): bigint[] {
  const kernelTables = kernelTablesOf(held);
  return held.names.flatMap((name, k) =>
    kernelTables.items(k, 0, held.table(name).size).map(({ key }) => {
      assertEquals(name, key % 5n === 0n ? "q" : "u");
      return key;
    })
  );
}

/** The data of items is what their keys say. */
async function checkData(held: Tables): Promise<void> {
  if (held.table("u").size === 0) return;
  const { keys, columns } = await held.table("u").getBatch(500, { timeoutMs: PATIENCE_MS });
  assertEquals(
    Array.from(columns[0]?.data as ArrayLike<number>),
    Array.from(keys, (key) => Number(key % 251n)),
  );
}

Deno.test({
  name:
    `a server of durable tables that is killed ${kills} times loses nothing that was flushed (seed ${seed})`,
  ignore: Deno.env.get("EXRP_BACKEND") === "wasm",
  fn: async () => {
    const random = new RandomStream(seed, 1);
    const done: Done = { nextKey: 1n, confirmed: [], flushed: 0 };
    await inFolder(async (parent) => {
      const directory = `${parent}/kept`;
      const config = `${parent}/config.json`;
      await writeConfig(config, { tables, directory, flushIntervalMs: 20 });
      for (let kill = 0; kill < kills; kill++) {
        const where = `seed ${seed}, kill ${kill}`;
        const { port, process, rest } = await startProgram(config);
        const working = work(port, done);
        while (kill === 0 && done.flushed === 0) await pause(5);
        await pause(random.below(300));
        process.kill("SIGKILL");
        await rest;
        assertEquals((await process.status).signal, "SIGKILL", where);
        await working;
        using held = await Tables.open(directory);
        const { lostItemCount, damage } = held.durability?.recovered ?? {};
        assertEquals([lostItemCount, damage], [0, undefined], where);
        const keys = keysOf(held);
        const known = new Set(keys);
        assertEquals(known.size, keys.length, where);
        const lost = done.confirmed.slice(0, done.flushed).filter((key) => !known.has(key));
        assertEquals(lost, [], where);
        assertEquals(keys.filter((key) => key >= done.nextKey), [], where);
        await checkData(held);
        const broken = new Int32Array(1);
        kernelTablesOf(held).call("check", "exrp_tables_check", broken);
        assertEquals(broken[0], 0, where);
        // What was confirmed and not flushed may be lost, and then nobody asks for it again.
        done.confirmed.splice(0, Infinity, ...done.confirmed.filter((key) => known.has(key)));
        done.flushed = done.confirmed.length;
      }
    });
    assert(done.flushed > 0);
  },
});
