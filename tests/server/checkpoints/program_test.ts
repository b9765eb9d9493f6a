/** Checkpoints of the program of `deno task serve`: when it is told to stop, when the disk is full, and with Reverb's own client. */
import { assert, assertEquals, assertMatch, assertRejects } from "../../_assert.ts";
import { readConfig } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { main } from "../../../server/main.ts";
import { kernelTablesOf } from "../../../tables/tables.ts";
import { Connection, smallChunk, smallItem } from "../../reverb/_grpc.ts";
import { besideReverb, runPython } from "../../reverb/_real.ts";
import { insert } from "../_served.ts";
import { checkpointsIn, contentOf, inFolder, namesIn } from "./_folder.ts";
import { startProgram, writeConfig } from "./_program.ts";
import { pause, until } from "../../_wait.ts";
import { noise } from "../../_noise.ts";

const tables = { u: { maxSize: 1_000_000 } };
const onWindows = Deno.build.os === "windows";

/** The keys in a checkpoint. */
async function keysIn(path: string | undefined): Promise<Set<bigint>> {
  using held = await Tables.create({ tables: readConfig(JSON.stringify({ tables })).tables });
  await held.unserialize(path ?? "");
  const items = kernelTablesOf(held).items(0, 0, held.table("u").size);
  return new Set(items.map(({ key }) => key));
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  Deno.test({
    name:
      `${signal} while clients insert: all that was confirmed is in the last checkpoint, and the program ends well`,
    ignore: onWindows,
    fn: async () => {
      await inFolder(async (folder) => {
        const config = `${folder}/config.json`;
        await writeConfig(config, { tables, checkpoint: { folder: `${folder}/c`, keep: 1 } });
        const program = await startProgram(config);
        const confirmed = new Set<bigint>();
        const clients = Array.from({ length: 3 }, () => new Connection(program.port));
        const endings = clients.map(async (client, k) => {
          const call = client.open("InsertStream");
          for (let next = BigInt(k) * 1_000_000n + 1n;; next += 10n) {
            const keys = Array.from({ length: 10 }, (_, n) => next + BigInt(n));
            call.send({
              chunks: keys.map((key) => smallChunk(key)),
              items: keys.map((key) => smallItem(key, "u", 1, key)),
            });
            for (let left = 10; left > 0;) {
              const message = await call.receive();
              if (message === undefined) return (await call.ending).code;
              for (const key of message["keys"]) confirmed.add(key);
              left -= message["keys"].length;
            }
          }
        });
        await until("some are confirmed", () => confirmed.size >= 2000);
        program.process.kill(signal);
        // Ctrl-C reaches the program twice: from the terminal, and by way of `deno task`.
        await pause(5);
        try {
          program.process.kill(signal);
        } catch (error) {
          assert(error instanceof TypeError, "only a program that has ended takes no signal");
        }
        for (const code of await Promise.all(endings)) {
          assert(code === 14 || code === -1, `${code}`);
        }
        for (const client of clients) client.close();
        assertEquals((await program.process.status).code, 0);
        // On WebAssembly the program says so first.
        const said = (await program.rest).replace(/^the tables run on WebAssembly.*\n/, "");
        assertEquals(said, `${signal}: stopping\nstopped\n`);
        const [path, ...others] = await checkpointsIn(`${folder}/c`);
        assertEquals(others, []);
        const saved = await keysIn(path);
        assertEquals([...confirmed].filter((key) => !saved.has(key)), []);
        assert(saved.size >= confirmed.size);
      });
    },
  });
}

Deno.test("a signal half a second after the first one ends the program at once", async () => {
  await inFolder(async (folder) => {
    const config = `${folder}/config.json`;
    await writeConfig(config, { tables });
    const listeners = new Map<string, () => void>();
    const exits: number[] = [];
    const platform: typeof Deno = Object.create(Deno, {
      args: { value: [`--config=${config}`] },
      addSignalListener: { value: (name: string, call: () => void) => listeners.set(name, call) },
      exit: { value: (status: number) => exits.push(status) },
    });
    const running = main(platform);
    await until("it listens to signals", () => listeners.has("SIGINT"));
    const { now } = performance;
    try {
      for (const time of [1000, 1499, 1500]) {
        assertEquals(exits, []);
        performance.now = () => time;
        listeners.get("SIGINT")?.();
      }
    } finally {
      performance.now = now;
    }
    assertEquals([exits, await running], [[130], 0]);
  });
});

Deno.test({
  name: "when the disk is full, the client hears why, old checkpoints stay, and the server goes on",
  ignore: onWindows,
  fn: async () => {
    await inFolder(async (folder) => {
      const config = `${folder}/config.json`;
      await writeConfig(config, { tables, checkpoint: { folder: `${folder}/c` } });
      // No file of the program may grow beyond 4 MiB: the write that reaches that fails, as on a full disk.
      const program = await startProgram(config, `trap "" XFSZ; ulimit -f 4096; exec "$@"`);
      const connection = new Connection(program.port);
      await insert(connection, "u", 1n);
      const { checkpoint_path } = await connection.call("Checkpoint");
      const before = await contentOf(checkpoint_path);
      const call = connection.open("InsertStream");
      const chunk = (key: bigint): object => ({
        ...smallChunk(key),
        data: { tensors: [noise(60_000, Number(key))] },
      });
      for (let key = 2n; key < 102n; key++) {
        call.send({ chunks: [chunk(key)], items: [smallItem(key, "u", 1, key)] });
        assertEquals((await call.receive())?.["keys"], [key]);
      }
      for (let round = 0; round < 2; round++) {
        const error = await assertRejects(() => connection.call("Checkpoint"), Error);
        assertMatch(
          error.message,
          /^13: checkpoint: can't write ".*checkpoint-00000000[23].*": .*(too large|EFBIG)/i,
        );
        assertEquals(await namesIn(`${folder}/c`), [
          ".exrp-checkpoints.lock",
          checkpoint_path.slice(folder.length + 3),
        ]);
      }
      assertEquals(await contentOf(checkpoint_path), before);
      await insert(connection, "u", 200n);
      await connection.call("MutatePriorities", {
        table: "u",
        delete_keys: Array.from({ length: 100 }, (_, k) => BigInt(k + 2)),
      });
      const last = (await connection.call("Checkpoint"))["checkpoint_path"];
      assertEquals(await keysIn(last), new Set([1n, 200n]));
      connection.close();
      program.process.kill("SIGTERM");
      assertEquals((await program.process.status).code, 0);
      const said = await program.rest;
      assertEquals(said.match(/serve: checkpoint: can't write/g)?.length, 2, said);
    });
  },
});

besideReverb(
  "Reverb's client asks for a checkpoint, the server is killed, and the next one has the same items",
  async () => {
    await inFolder(async (folder) => {
      const config = `${folder}/config.json`;
      await writeConfig(config, {
        tables: { t: { sampler: "fifo", maxSize: 100, maxTimesSampled: 2 } },
        checkpoint: { folder: `${folder}/c` },
      });
      const script = (steps: string): string => `
import sys, json, numpy as np, reverb
client = reverb.Client("127.0.0.1:" + sys.argv[1])
def drawn(count):
  return [[str(s.info.key), s.info.priority, s.info.times_sampled, [x.tolist() for x in s.data]] for s in client.sample("t", count, emit_timesteps=False)]
${steps}
`;
      const first = await startProgram(config);
      const said = await runPython(
        script(`
with client.trajectory_writer(num_keep_alive_refs=3) as writer:
  for k in range(20):
    writer.append({"x": np.float32([k, k + 0.5]), "n": np.int64(k)})
    if k >= 2:
      writer.create_item("t", k / 3, {"x": writer.history["x"][-3:], "n": writer.history["n"][-1]})
  writer.flush()
before = drawn(3)
path = client.checkpoint()
print(json.dumps([path, drawn(10)]))
`),
        [first.port],
        60_000,
      );
      const [path, after] = JSON.parse(said);
      assertEquals(await checkpointsIn(`${folder}/c`), [path]);
      first.process.kill("SIGKILL");
      await first.rest;
      const second = await startProgram(config);
      const again = JSON.parse(
        await runPython(script("print(json.dumps(drawn(10)))"), [second.port], 60_000),
      );
      assertEquals(again, after);
      assertEquals(again.length, 10);
      second.process.kill("SIGTERM");
      await second.rest;
    });
  },
);
