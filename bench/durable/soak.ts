/**
 * Lets a durable replay run for half an hour as Ape-X uses one, and says whether it takes more and more of anything: `deno task durable:soak`.
 *
 * Actors in Workers record pictures into a full pool, and a learner draws stacks of them by priority and sets new priorities. Episodes give way at random, so
 * the log has to be compacted. A snapshot is made and removed each minute. Every 20 seconds, an actor is ended without a word, and another takes its place.
 *
 * The first third is to warm up. Then the last third is compared with the second one: the median memory of the process may be 2 % more, and the least
 * number of its descriptors none. The task sets MALLOC_ARENA_MAX, as docs/memory.md says: else holes in the heaps of threads grow for half an hour. The folder
 * must stay below the bound that docs/durable.md names. At the end, it is checked and opened again. Linux only.
 *
 * @module
 */
import { ExperienceReplay, prioritized, reservoir, samplesPerInsert } from "@exrp/replay";
import { Broadcast, endActor } from "@exrp/replay/actors";
import type { ShareTicket } from "@exrp/replay/types";
import { readArguments } from "../../tools/_arguments.ts";
import { type Job, SCHEMA } from "./actor.ts";

const options = readArguments(
  Deno.args,
  { minutes: { type: "string" }, seed: { type: "string" } },
  "deno task durable:soak [--minutes=30] [--seed=N]\n\nRuns a durable replay under Ape-X's load, and fails if its memory, its descriptors or its folder grow.",
);
if (typeof options === "number") Deno.exit(options);
const minutes = Number(options.minutes ?? 30);
const seed = Number(options.seed ?? Date.now() % 2 ** 31);
if (!(minutes > 0) || !Number.isSafeInteger(seed) || seed < 0) {
  console.error("--minutes must be a number above 0, and --seed a whole number");
  Deno.exit(2);
}

/** What a folder takes at most, as docs/durable.md says: so many times the replay's memory, and so many bytes more. */
const [TIMES, BYTES] = [3, 256 * 2 ** 20];
const ACTORS = 3;
const length = minutes * 60_000;
const folder = await Deno.makeTempDir({ prefix: "exrp_soak_" });
const replay = await ExperienceReplay.open(folder, {
  ...SCHEMA,
  capacity: 400_000,
  compression: "small",
  eviction: reservoir(),
  rateLimiter: samplesPerInsert(8, { minSize: 1000, error: 20_000 }),
  seed,
});
const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
const broadcast = Broadcast.create({ stop: Uint8Array.of(0) });
const stopping = new AbortController();
const failure = Promise.withResolvers<never>();
failure.promise.catch(() => {}); // told by Promise.race below
const counts = { drawn: 0, actors: 0, snapshots: 0 };
const begin = Date.now();
const isOver = (): boolean => Date.now() - begin >= length;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// ---- actors ----

interface Actor {
  readonly worker: Worker;
  readonly ticket: ShareTicket<typeof SCHEMA>;
  /** Resolves once it has written its last steps. */
  readonly done: Promise<void>;
}

function startActor(): Actor {
  const worker = new Worker(new URL("./actor.ts", import.meta.url), { type: "module" });
  const done = Promise.withResolvers<void>();
  worker.onmessage = (): void => done.resolve();
  worker.onerror = (event): void => {
    event.preventDefault();
    failure.reject(new Error(`an actor failed: ${event.message}`));
  };
  const ticket = replay.share();
  const job: Job = { replay: ticket, broadcast: broadcast.ticket, seed: seed + ++counts.actors };
  worker.postMessage(job);
  return { worker, ticket, done: done.promise };
}

const actors = Array.from({ length: ACTORS }, startActor);

/** Ends the oldest actor, and starts another, again and again. */
async function replaceActors(): Promise<void> {
  while (!isOver()) {
    await pause(Math.min(20_000, length / 90));
    const oldest = actors.shift();
    if (oldest !== undefined) endActor(replay, oldest.worker, oldest.ticket);
    actors.push(startActor());
  }
}

// ---- the learner ----

async function learn(): Promise<void> {
  const errors = new Float32Array(256);
  const { signal } = stopping;
  for await (const batch of replay.batches(256, selector, { beta: 0.4, reuse: true, signal })) {
    for (const k of errors.keys()) errors[k] = Math.abs(batch.nStep[0].reward[k] ?? 0);
    replay.setPriority(selector, batch, errors);
    counts.drawn += batch.size;
    if (counts.drawn % 2560 === 0) await pause(0); // lets timers and messages come in
  }
}

async function makeSnapshots(): Promise<void> {
  while (!isOver()) {
    await pause(Math.min(60_000, length / 30));
    const name = `snapshot-${counts.snapshots++}`;
    await replay.snapshot(name);
    await replay.flush();
    await ExperienceReplay.removeSnapshot(folder, name);
  }
}

// ---- what is watched ----

interface Sample {
  readonly at: number;
  readonly resident: number;
  readonly descriptors: number;
  readonly disk: number;
}

const samples: Sample[] = [];

/** Bytes of all files in a folder, each once: snapshots share theirs. */
async function bytesIn(path: string, seen = new Set<number | null>()): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) {
      bytes += await bytesIn(`${path}/${name}`, seen);
      continue;
    }
    const { ino, size } = await Deno.stat(`${path}/${name}`);
    if (!seen.has(ino)) bytes += size;
    seen.add(ino);
  }
  return bytes;
}

/** The same of the replay's folder. Files and snapshots go at any moment, so it may take some looks. */
async function diskBytes(): Promise<number> {
  for (;;) {
    try {
      return await bytesIn(folder);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

async function sample(): Promise<Sample> {
  const status = await Deno.readTextFile("/proc/self/status");
  let descriptors = 0;
  for await (const _ of Deno.readDir("/proc/self/fd")) descriptors++;
  return {
    at: (Date.now() - begin) / length,
    resident: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024,
    descriptors,
    disk: await diskBytes(),
  };
}

const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);

async function watch(): Promise<void> {
  console.log(
    `seed ${seed}\nminutes  resident MB  replay MB  descriptors  folder MB  written GB  records  draws  actors  snapshots`,
  );
  let lines = 0;
  while (!isOver()) {
    await pause(Math.min(1000, length / 300));
    const now = await sample();
    samples.push(now);
    if (now.at * 60 < lines) continue;
    lines++;
    const { recorded = 0, drawn = 0 } = replay.rateLimiter ?? {};
    const written = (replay.durability?.writtenBytes ?? 0) / 1e9;
    console.log(
      [
        ...[(now.at * minutes).toFixed(1), mb(now.resident), mb(replay.memoryBytes)],
        ...[now.descriptors, mb(now.disk), written.toFixed(2)],
        ...[recorded, drawn, counts.actors, counts.snapshots],
      ].join("\t"),
    );
  }
}

const learning = learn().catch((error) => {
  if (!stopping.signal.aborted) throw error;
});
await Promise.race([
  Promise.all([replaceActors(), makeSnapshots(), watch()]),
  learning.then(() => Promise.reject(new Error("the learner has ended"))),
  failure.promise,
]);

// The end: nobody waits for the rate limiter any more, and each actor writes its last steps.
broadcast.publish({ stop: Uint8Array.of(1) });
replay.setRateLimiter(undefined);
await Promise.race([Promise.all(actors.map(({ done }) => done)), failure.promise]);
stopping.abort();
await learning;
for (const { worker, ticket } of actors) endActor(replay, worker, ticket);
const held = replay.describe();
await replay.flush();
replay[Symbol.dispose]();

// ---- the verdict ----

/** A number of the second third, and of the last one. */
function both(
  of: "resident" | "descriptors" | "disk",
  pick: (...numbers: number[]) => number,
): [number, number] {
  const within = (from: number, to: number): number[] =>
    samples.filter(({ at }) => at >= from && at < to).map((each) => each[of]);
  return [pick(...within(1 / 3, 2 / 3)), pick(...within(2 / 3, 1))];
}

function median(...numbers: number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? NaN;
}

let failed = 0;
function judge(what: string, isGood: boolean): void {
  console.log(`${isGood ? "good" : "BAD "}  ${what}`);
  failed += isGood ? 0 : 1;
}

{
  // What waits for collectors comes and goes, so neither the least nor the most says much.
  const [before, after] = both("resident", median);
  judge(`median memory: ${mb(before)} MB, then ${mb(after)} MB`, after <= before * 1.02);
}
{
  const [before, after] = both("descriptors", Math.min);
  judge(`least descriptors: ${before}, then ${after}`, after <= before);
}
{
  const [before, after] = both("disk", Math.max);
  const bound = TIMES * held.memory.total + BYTES;
  judge(
    `most of the folder: ${mb(before)} MB, then ${mb(after)} MB; at most ${mb(bound)} MB`,
    Math.max(before, after) <= bound,
  );
}
const { damages } = await ExperienceReplay.verify(folder);
judge(`damages in the folder: ${damages.length}`, damages.length === 0);
{
  using again = await ExperienceReplay.open(folder);
  const { recordCount, episodeCount } = again.describe();
  judge(
    `opened again: ${recordCount} records in ${episodeCount} episodes; there were ${held.recordCount} in ${held.episodeCount}`,
    recordCount === held.recordCount && episodeCount === held.episodeCount,
  );
}
await Deno.remove(folder, { recursive: true });
Deno.exit(failed === 0 ? 0 : 1);
