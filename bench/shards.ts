/**
 * Shards over NATS on this machine: records a second into two shards, flushes included, and the time of a batch from four.
 *
 * Every process is of its own: the server, the shards, the actors. So all figures are of the whole machine, and the table says how much processor time each record
 * took in all of them.
 *
 * @module
 */

import { connectShards } from "@exrp/replay/shards";
import { connect } from "npm:@nats-io/transport-node@3.4.0";
import { findNats, startNats } from "../tools/_nats.ts";
import { inRepository } from "../tools/_repository.ts";

const path = await findNats();
if (path === undefined) {
  console.error("there is no nats-server: run deno task nats:install");
  Deno.exit(1);
}

const only = Deno.args.find((each) => each.startsWith("--filter="))?.slice(9) ?? "";
const [row, frame] = ["float32(17)", "uint8(84, 84)"];

function deno(script: string, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--quiet",
      "--config",
      inRepository("deno.json"),
      script,
      ...args,
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

/** Waits for a line of a child, and goes on to read what follows. */
function lines(child: Deno.ChildProcess): (text: string) => Promise<void> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  return async (text) => {
    while (!said.includes(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`a child ended before it said ${text}: ${said}`);
      said += value;
    }
  };
}

/** The processor time of a process, in s. */
async function seconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

interface Run {
  readonly address: string;
  readonly pids: number[];
}

/** Runs with shards of one schema. */
async function withShards(
  count: number,
  state: string,
  capacity: number,
  run: (of: Run) => Promise<void>,
): Promise<void> {
  const nats = await startNats(path as string, "max_payload: 8MB\nmax_pending: 64MB");
  const folder = await Deno.makeTempDir({ prefix: "exrp-bench-shards-" });
  const shards: Deno.ChildProcess[] = [];
  try {
    for (let k = 0; k < count; k++) {
      const file = `${folder}/${k}.json`;
      const selectors = ["prioritized"];
      const replay = { capacity, state, compression: "small" };
      const config = { name: `s${k}`, directory: `r${k}`, replay, selectors };
      await Deno.writeTextFile(
        file,
        JSON.stringify({ ...config, nats: { servers: nats.address } }),
      );
      shards.push(deno(inRepository("shards", "main.ts"), ["--config", file]));
    }
    await Promise.all(shards.map((shard) => lines(shard)("serving")));
    await run({ address: nats.address, pids: shards.map(({ pid }) => pid) });
  } finally {
    for (const shard of shards) shard.kill("SIGKILL");
    for (const shard of shards) {
      await shard.stdin.close().catch(() => {});
      await shard.status;
    }
    await nats.kill();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Fails unless the shards have so many records. */
async function checkCount({ address, pids }: Run, count: number): Promise<void> {
  const connection = await connect({ servers: address });
  const shards = await connectShards(connection, { shards: pids.length });
  const found = shards.figures().shards.reduce((sum, { recorded }) => sum + recorded, 0);
  await shards.close();
  await connection.close();
  if (found !== count) throw new Error(`the shards have ${found} records, and ${count} were sent`);
}

/** Records into all shards at once, by an actor each; returns seconds, and processor seconds. */
async function record(
  { address, pids }: Run,
  what: string,
  count: number,
  call: number,
): Promise<[wall: number, shards: number, actors: number]> {
  const actors = pids.map((_, k) =>
    deno(inRepository("bench", "shards", "actor.ts"), [
      address,
      `s${k}`,
      what,
      `${count}`,
      `${call}`,
    ])
  );
  const says = actors.map(lines);
  await Promise.all(says.map((say) => say("ready")));
  const used = async (of: readonly number[]): Promise<number> =>
    (await Promise.all(of.map(seconds))).reduce((sum, each) => sum + each, 0);
  const actorPids = actors.map(({ pid }) => pid);
  const [shardsBefore, actorsBefore] = [await used(pids), await used(actorPids)];
  const begin = performance.now();
  for (const { stdin } of actors) {
    const writer = stdin.getWriter();
    await writer.write(new Uint8Array(1));
    writer.releaseLock();
  }
  await Promise.all(says.map((say) => say("confirmed")));
  const wall = (performance.now() - begin) / 1000;
  const [shardsUsed, actorsUsed] = [await used(pids), await used(actorPids)];
  for (const actor of actors) {
    await actor.stdin.close().catch(() => {});
    await actor.status;
  }
  return [wall, shardsUsed - shardsBefore, actorsUsed - actorsBefore];
}

if ("rows".includes(only)) {
  const [count, call] = [1_000_000, 2000];
  await withShards(2, row, 1_000_000, async (run) => {
    for (let k = 0; k < 2; k++) {
      const [wall, shards, actors] = await record(run, "rows", count, call);
      const rate = 2 * count / wall;
      await checkCount(run, 2 * count * (k + 1));
      console.log(
        `rows of 76 bytes into 2 shards: ${Math.round(rate / 1000)}k a second, shards ${
          (shards / (2 * count) * 1e6).toFixed(2)
        } µs a row, actors ${(actors / (2 * count) * 1e6).toFixed(2)}`,
      );
    }
  });
}
if ("frames".includes(only)) {
  const [count, call] = [100_000, 500];
  await withShards(2, frame, 200_000, async (run) => {
    const [wall, shards, actors] = await record(run, "frames", count, call);
    const rate = 2 * count / wall;
    await checkCount(run, 2 * count);
    console.log(
      `frames of 84 x 84 into 2 shards: ${Math.round(rate / 1000)}k a second, shards ${
        (shards / (2 * count) * 1e6).toFixed(2)
      } µs a frame, actors ${(actors / (2 * count) * 1e6).toFixed(2)}`,
    );
  });
}
if ("batches".includes(only)) {
  await withShards(4, row, 100_000, async (run) => {
    await record(run, "rows", 50_000, 2000);
    const connection = await connect({ servers: run.address });
    const shards = await connectShards(connection, { shards: 4 });
    const times: number[] = [];
    for (let k = 0; k < 3000; k++) {
      const begin = performance.now();
      const batch = await shards.getBatch(256);
      times.push(performance.now() - begin);
      batch[Symbol.dispose]();
    }
    const late = times.slice(1000).sort((a, b) => a - b);
    const at = (part: number): string => (late[Math.floor(part * late.length)] ?? 0).toFixed(2);
    console.log(`a batch of 256 from 4 shards: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
    await shards.close();
    await connection.close();
  });
}
