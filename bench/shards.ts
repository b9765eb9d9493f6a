/**
 * Shards over NATS on this machine: records a second into two shards, flushes included; the processor time of a record with one, two and four; the time of a batch
 * from four; and a learner's steps with 64 actors and without.
 *
 * Every process is of its own: the server, the shards, the actors. So all figures are of the whole machine, and the table says how much processor time each record
 * took in all of them.
 *
 * @module
 */

import { connectShards } from "@exrp/replay/shards";
import { connect } from "npm:@nats-io/transport-node@3.4.0";
import { readArguments } from "../tools/_arguments.ts";
import { findNats, startNats } from "../tools/_nats.ts";
import { inRepository } from "../tools/_repository.ts";

const options = readArguments(
  Deno.args,
  { filter: { type: "string" } },
  "deno task bench:shards [--filter=rows|frames|linear|learner|batches]: shards over NATS on this machine",
);
if (typeof options === "number") Deno.exit(options);

const path = await findNats();
if (path === undefined) {
  console.error("there is no nats-server: run deno task nats:install");
  Deno.exit(1);
}

const only = options.filter ?? "";
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

/** The processor time of each thread of some processes, in s. The system knows it to the nanosecond. */
async function threadTimes(pids: readonly number[]): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const pid of pids) {
    for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
      try {
        const text = await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`);
        times.set(name, Number(text.split(" ")[0]) / 1e9);
      } catch {
        // The thread has ended.
      }
    }
  }
  return times;
}

/** The processor time between two readings, in s. NaN if a thread has ended in between, as its time is gone with it. */
function between(before: Map<string, number>, now: Map<string, number>): number {
  for (const thread of before.keys()) if (!now.has(thread)) return NaN;
  let sum = 0;
  for (const [thread, time] of now) sum += time - (before.get(thread) ?? 0);
  return sum;
}

interface Run {
  readonly address: string;
  readonly pids: number[];
  readonly serverPid: number;
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
    await run({
      address: nats.address,
      pids: shards.map(({ pid }) => pid),
      serverPid: nats.pid,
    });
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

/** Records into all shards at once, by an actor each; returns seconds, and processor seconds of shards, actors and the server: NaN where a thread has ended. */
async function record(
  { address, pids, serverPid }: Run,
  what: string,
  count: number,
  call: number,
  rate = Infinity,
): Promise<[wall: number, shards: number, actors: number, server: number]> {
  const children = pids.map((_, k) =>
    deno(inRepository("bench", "shards", "actor.ts"), [
      address,
      `s${k}`,
      what,
      `${count}`,
      `${call}`,
      `${rate}`,
    ])
  );
  const says = children.map(lines);
  await Promise.all(says.map((say) => say("ready")));
  const actorPids = children.map(({ pid }) => pid);
  const usedNow = (): Promise<Map<string, number>[]> =>
    Promise.all([pids, actorPids, [serverPid]].map(threadTimes));
  const before = await usedNow();
  const begin = performance.now();
  for (const { stdin } of children) {
    const writer = stdin.getWriter();
    await writer.write(new Uint8Array(1));
    writer.releaseLock();
  }
  await Promise.all(says.map((say) => say("confirmed")));
  const wall = (performance.now() - begin) / 1000;
  const now = await usedNow();
  for (const actor of children) {
    await actor.stdin.close().catch(() => {});
    await actor.status;
  }
  const used = now.map((each, k) => between(before[k] ?? new Map(), each));
  const [shards = 0, actors = 0, server = 0] = used;
  return [wall, shards, actors, server];
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
/** The processor time of a row, in µs, of shards that get so many rows a second each: that of the shards, of the actors and of the server. */
async function timeOfRow(shards: number, rate: number): Promise<readonly number[]> {
  const [count, call] = [2 * rate, 2000];
  let times: readonly number[] = [];
  await withShards(shards, row, 2 * count, async (run) => {
    await record(run, "rows", rate, call, rate);
    do {
      const [_wall, ...used] = await record(run, "rows", count, call, rate);
      times = used.map((seconds) => seconds / (shards * count) * 1e6);
    } while (times.some(Number.isNaN)); // a thread has ended meanwhile
  });
  return times;
}

if ("linear".includes(only)) {
  // By processor time, as four shards at full speed do not fit on two cores. Processes that run at once cost each other more on such a machine, so each shard
  // gets few rows. The least of three runs, in turns.
  const rate = 50_000;
  const sizes = [1, 2, 4];
  const least = new Map<number, readonly number[]>();
  for (let turn = 0; turn < 3; turn++) {
    for (const shards of sizes) {
      const times = await timeOfRow(shards, rate);
      least.set(shards, times.map((time, k) => Math.min(time, least.get(shards)?.[k] ?? Infinity)));
    }
  }
  const sum = (times: readonly number[] = []): number => times.reduce((all, each) => all + each, 0);
  for (const [shards, times] of least) {
    const [ofShards = 0, ofActors = 0, ofServer = 0] = times;
    const [one = 0] = least.get(1) ?? [];
    console.log(
      `${rate / 1000}k rows of 76 bytes a second into each of ${shards} shards, µs a row: shards ${
        ofShards.toFixed(2)
      }, actors ${ofActors.toFixed(2)}, server ${ofServer.toFixed(2)}; ${
        (one / ofShards).toFixed(2)
      } of linear by the shards' processor time, ${
        (sum(least.get(1)) / sum(times)).toFixed(2)
      } by that of all`,
    );
  }
}
if ("learner".includes(only)) {
  const [actors, rate, size, windows, windowMs] = [64, 100, 256, 5, 1500];
  await withShards(4, row, 200_000, async (run) => {
    await record(run, "rows", 50_000, 2000);
    const connection = await connect({ servers: run.address });
    const shards = await connectShards(connection, { shards: 4 });
    const script = inRepository("bench", "shards", "crowd.ts");
    const crowds = [0, 1].map(() => deno(script, [run.address, `${actors / 2}`, `${rate}`]));
    await Promise.all(crowds.map((crowd) => lines(crowd)("ready")));
    // Both in turns: the actors stand still, or they do not. A step computes for so long, as one on a small network does.
    for (const computeMs of [0, 5]) {
      const steps: Record<"without" | "with", number[]> = { without: [], with: [] };
      for (let k = 0; k < 2 * windows; k++) {
        const which = k % 2 === 0 ? "without" : "with";
        for (const crowd of crowds) crowd.kill(which === "with" ? "SIGCONT" : "SIGSTOP");
        await new Promise((resolve) => setTimeout(resolve, 500));
        let count = 0;
        const begin = performance.now();
        for await (const batch of shards.batches(size, { prefetch: 2 })) {
          for (const end = performance.now() + computeMs; performance.now() < end;);
          shards.setPriority(batch, batch.importanceWeight);
          batch[Symbol.dispose]();
          count++;
          if (performance.now() - begin > windowMs) break;
        }
        steps[which].push(count / (performance.now() - begin) * 1000);
      }
      const [without, with_] = [Math.max(...steps.without), Math.max(...steps.with)];
      console.log(
        `a learner's steps of ${size} from 4 shards, of which ${computeMs} ms are its own: ${
          without.toFixed(0)
        } a second, and ${with_.toFixed(0)} with ${actors} actors that record ${
          rate * actors
        } rows a second: ${((1 - with_ / without) * 100).toFixed(1)} % slower`,
      );
    }
    for (const crowd of crowds) {
      crowd.kill("SIGKILL");
      await crowd.status;
      await crowd.stdin.close().catch(() => {});
    }
    await shards.close();
    await connection.close();
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
