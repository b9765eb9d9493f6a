/**
 * A server that is killed at random moments while clients write and checkpoints are being made. `EXRP_KILLS=500` kills more often, and `EXRP_SEED` repeats
 * a run's choices, though not the moments of the system.
 */
import { assert, assertEquals } from "../../_assert.ts";
import { readConfig, serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { ReplayError } from "@exrp/replay";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { kernelTablesOf } from "../../../tables/tables.ts";
import { Connection, smallChunk, smallItem } from "../../reverb/_grpc.ts";
import { addForeign, checkpointsIn, contentOf, inFolder, namesIn } from "./_folder.ts";
import { type Program, startProgram, writeConfig } from "./_program.ts";
import { PATIENCE_MS, pause, until } from "../../_wait.ts";

const kills = Number(Deno.env.get("EXRP_KILLS") ?? 20);
const seed = Number(Deno.env.get("EXRP_SEED") ?? 261123);
const tables = {
  u: { maxSize: 100_000, sampler: { power: { exponent: 0.6 } } },
  q: { queue: 100_000 },
};

/** What all clients together did. Keys are the numbers of items; an item's data and episode follow from its key. */
interface Done {
  nextKey: bigint;
  /** Keys that were confirmed, in order. */
  readonly confirmed: bigint[];
  /** How many of them a checkpoint has that was answered. */
  saved: number;
  /** Checkpoints that were answered. */
  checkpoints: number;
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
  const save = async (): Promise<void> => {
    for (;;) {
      const before = done.confirmed.length;
      await asking.call("Checkpoint");
      done.saved = before;
      done.checkpoints++;
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
  await Promise.allSettled([insert(), save(), change()]);
  for (const connection of connections) connection.close();
}

/** The newest whole checkpoint, as the test finds it by itself. */
async function newestWhole(folder: string): Promise<{ path: string; held: Tables }> {
  for (const path of await checkpointsIn(folder)) {
    const made = await Tables.create({ tables: readConfig(JSON.stringify({ tables })).tables });
    try {
      await made.unserialize(path);
      return { path, held: made };
    } catch (error) {
      assert(error instanceof ReplayError, String(error));
      made[Symbol.dispose]();
    }
  }
  throw new Error(`${folder} has no whole checkpoint`);
}

/** All keys of the tables, in order. */
function keysOf(held: Tables): bigint[] {
  const kernelTables = kernelTablesOf(held);
  return held.names.flatMap((name, k) =>
    kernelTables.items(k, 0, held.table(name).size).map(({ key }) => key)
  ).sort((a, b) => a < b ? -1 : 1);
}

/** The data of all items is what their keys say. */
async function checkData(held: Tables): Promise<void> {
  const { size } = held.table("q");
  if (size === 0) return;
  const { keys, columns } = await held.table("q").getBatch(size, { timeoutMs: PATIENCE_MS });
  const data = columns[0]?.data as ArrayLike<number>;
  assertEquals(Array.from(data), Array.from(keys, (key) => Number(key % 251n)));
}

Deno.test(`after ${kills} kills at random moments, the tables are those of the last whole checkpoint, and files of others as they were (seed ${seed})`, async () => {
  const random = new RandomStream(seed, 1);
  const done: Done = { nextKey: 1n, confirmed: [], saved: 0, checkpoints: 0 };
  let left: string[] = [];
  let killedInWriting = 0;
  await inFolder(async (parent) => {
    const folder = `${parent}/checkpoints`;
    {
      using empty = await Tables.create({ tables: readConfig(JSON.stringify({ tables })).tables });
      await (await serve({ tables: empty, checkpoint: { folder } })).stop();
    }
    const check = await addForeign(folder);
    const foreign = await namesIn(folder);
    await writeConfig(`${parent}/config.json`, {
      tables,
      checkpoint: { folder, everyMs: 100, keep: 20 },
    });
    for (let round = 0; round <= kills || killedInWriting === 0; round++) {
      const where = `seed ${seed}, kill ${round}`;
      const { path, held } = await newestWhole(folder);
      using expected = held;
      // Whatever was confirmed before a checkpoint that was answered is there, and nothing that nobody sent.
      const keys = keysOf(expected);
      const known = new Set(keys);
      const lost = done.confirmed.slice(0, done.saved).filter((key) => !known.has(key));
      assertEquals(lost, [], where);
      assertEquals(keys.filter((key) => key >= done.nextKey), [], where);
      const content = await contentOf(path);
      const program: Program = await startProgram(`${parent}/config.json`);
      assertEquals(/^loaded \d+ items from (.*)$/m.exec(program.printed)?.[1], path, where);
      const connection = new Connection(program.port);
      const { checkpoint_path } = await connection.call("Checkpoint");
      connection.close();
      // Items, priorities, times sampled, data, and what selectors and rate limiters know: bit by bit.
      assertEquals(await contentOf(checkpoint_path), content, where);
      const names = await namesIn(folder);
      // The server itself may be writing another one.
      assertEquals(names.filter((name) => left.includes(name)), [], where);
      await checkData(expected);
      // What was confirmed after the last whole checkpoint is lost with the kill.
      done.confirmed.splice(0, done.confirmed.length, ...keys);
      done.saved = keys.length;
      const [confirmed, answered] = [done.confirmed.length, done.checkpoints];
      const working = work(program.port, done);
      const isLeft = (name: string): boolean => name.endsWith(".tmp") && !foreign.includes(name);
      await until("it works", () => done.confirmed.length > confirmed);
      // Every third kill comes after a checkpoint, and every second one in the middle of one.
      if (round % 3 === 0) {
        await until("a checkpoint was answered", () => done.checkpoints > answered);
      }
      await pause(random.below(100));
      if (round % 2 === 0) {
        await until("one is being written", async () => (await namesIn(folder)).some(isLeft));
      }
      program.process.kill("SIGKILL");
      assertEquals((await program.process.status).signal, "SIGKILL", where);
      await Promise.all([working, program.rest]);
      left = (await namesIn(folder)).filter(isLeft);
      if (left.length > 0) killedInWriting++;
      await check();
    }
  });
  assert(done.checkpoints > kills / 4, `${done.checkpoints} checkpoints were answered`);
  assert(done.nextKey > 20n * BigInt(kills), `${done.nextKey} items`);
  console.log(
    `${done.nextKey} items, ${done.checkpoints} checkpoints, ${killedInWriting} kills within one`,
  );
});
