/**
 * Compares our library with its peers, on the same workloads and in one run: `deno task bench:peers`. `--help` lists the options. It
 * writes `bench/results/peers.json` and prints the tables. `deno task bench:report` makes sections of the pages of benchmarks from that
 * file.
 *
 * Every system holds the same records, and one batch of each is checked. Then repeats take turns: ours, the first peer, the second peer
 * and so on, and the minimum counts. A peer that cannot be measured is named with the reason. Without Python, only ours is measured. The
 * status is 1 if a batch was wrong, and 2 if the options are wrong.
 *
 * @module
 */

import { availableParallelism, cpus } from "node:os";
import { dirname } from "node:path";
import { origin } from "../_results.ts";
import { type Dataset, estimateBytes, listCalls, listDatasets } from "./_datasets.ts";
import {
  findEnvironment,
  installEnvironment,
  type PeerName,
  peers,
  workerPath,
} from "./_environments.ts";
import { type OpenedHere, openOurs, OurClock } from "./_ours.ts";
import { type Options, parseOptions, USAGE, UsageError } from "./_options.ts";
import { measureOurMemory } from "./_our_memory.ts";
import { OURS } from "./_names.ts";
import { tablesOf } from "./_report.ts";
import { checkFrames, checkVectors, ContentError, type DrawnBatch } from "./_records.ts";
import { withPart } from "./_part.ts";
import {
  checkPeersResults,
  MEMORY_CALL,
  type Note,
  type PeersResults,
  type Row,
  type System,
} from "./_results.ts";
import { WorkerError, WorkerProcess } from "./_worker_process.ts";

/** The name of ours with fresh outputs. */
const FRESH = "exrp";

/** One peer that can be measured. */
interface Peer extends PeerName {
  readonly python: string;
  worker: WorkerProcess | undefined;
}

/** A system whose calls take turns with those of others. */
interface Timed {
  readonly system: string;
  readonly time: (call: string, seconds: number) => number | Promise<number>;
}

/** One run, and its results so far. */
class Run {
  readonly rows: Row[] = [];
  readonly notes: Note[] = [];
  readonly systems = new Map<string, System>();
  readonly missing: { name: string; why: string }[] = [];
  contentErrors = 0;
  readonly #repeats: number;
  readonly #seconds: number;

  constructor(repeats: number, seconds: number) {
    this.#repeats = repeats;
    this.#seconds = seconds;
  }

  say(text: string): void {
    console.error(text);
  }

  note(group: string, system: string, text: string): void {
    if (text === "") return;
    if (
      this.notes.some((note) =>
        note.group === group && note.system === system && note.text === text
      )
    ) return;
    this.notes.push({ group, system, text });
  }

  /** Adds a figure. Of two figures for the same call, it keeps the smaller. */
  put(
    { group, capacity }: Dataset,
    call: string,
    system: string,
    found: { value?: number; why?: string },
  ): void {
    const at = this.rows.findIndex((row) =>
      row.group === group && row.capacity === capacity && row.call === call && row.system === system
    );
    const before = at < 0 ? undefined : this.rows[at]?.value;
    if (before !== undefined && found.value !== undefined && before <= found.value) return;
    const row = { group, capacity, call, system, ...found };
    if (at < 0) this.rows.push(row);
    else this.rows[at] = row;
  }

  /** Checks a batch. Returns false and says so if it is wrong. */
  check(dataset: Dataset, system: string, batch: DrawnBatch): boolean {
    try {
      if (batch.columns.size === 0) throw new ContentError("there is no batch to check");
      if (dataset.kind === "images") checkFrames(batch);
      else checkVectors(batch);
      return true;
    } catch (error) {
      if (!(error instanceof ContentError)) throw error;
      this.refuse(dataset, system, error.message);
      return false;
    }
  }

  /** Notes that a batch of a system was wrong. */
  refuse(dataset: Dataset, system: string, message: string): void {
    this.contentErrors += 1;
    this.say(`WRONG CONTENT: ${system}, ${dataset.group}: ${message}`);
    for (const call of dataset.memory ? [MEMORY_CALL] : listCalls(dataset)) {
      this.put(dataset, call, system, { why: `a batch was wrong: ${message}` });
    }
  }

  /** Times one call of several systems, in turns. */
  async takeTurns(dataset: Dataset, call: string, systems: readonly Timed[]): Promise<void> {
    const minimum = new Map<string, number>();
    const failed = new Set<string>();
    for (let repeat = 0; repeat < this.#repeats; repeat++) {
      for (let k = 0; k < systems.length; k++) {
        const timed = systems[(repeat + k) % systems.length];
        if (timed === undefined || failed.has(timed.system)) continue;
        try {
          const seconds = await timed.time(call, this.#seconds);
          minimum.set(timed.system, Math.min(seconds, minimum.get(timed.system) ?? Infinity));
        } catch (error) {
          failed.add(timed.system);
          const why = `the call failed: ${error instanceof Error ? error.message : error}`;
          this.put(dataset, call, timed.system, { why });
        }
      }
    }
    for (const [system, value] of minimum) {
      if (!failed.has(system)) this.put(dataset, call, system, { value });
    }
  }
}

/** Finds the environments, and makes them with `install`. Says which are missing. */
async function findPeers(run: Run, { only, install }: Options): Promise<Peer[]> {
  const found: Peer[] = [];
  for (const peer of peers) {
    if (!only.includes(peer.id)) {
      run.missing.push({ name: peer.name, why: "not asked for (--only)" });
      continue;
    }
    const environment = install
      ? await installEnvironment(peer.id, (text) => run.say(text))
      : await findEnvironment(peer.id);
    if ("why" in environment) {
      run.missing.push({ name: peer.name, why: environment.why });
      continue;
    }
    const worker = new WorkerProcess(environment.python, workerPath(peer.id));
    try {
      const { version, packages, python } = await worker.hello();
      const system = { name: peer.name, version, threads: peer.threads };
      run.systems.set(peer.name, { ...system, packages: { ...packages, python } });
      found.push({ ...peer, python: environment.python, worker });
    } catch (error) {
      if (!(error instanceof WorkerError)) throw error;
      await worker.end();
      run.missing.push({ name: peer.name, why: `does not start: ${error.message}` });
    }
  }
  for (const { name, why } of run.missing) run.say(`without ${name}: ${why}`);
  return found;
}

/** Splits the peers into groups. Each group fits into memory together with ours. */
function groupByMemory(dataset: Dataset, all: readonly Peer[]): Peer[][] {
  const room = Deno.systemMemoryInfo().available / 2;
  const each = estimateBytes(dataset);
  const size = Math.max(1, Math.floor(room / each) - 1);
  const groups: Peer[][] = [];
  for (let k = 0; k < all.length; k += size) groups.push(all.slice(k, k + size));
  return groups.length === 0 ? [[]] : groups;
}

async function restart(peer: Peer): Promise<void> {
  await peer.worker?.end();
  peer.worker = new WorkerProcess(peer.python, workerPath(peer.id));
}

/** Fills a peer and checks a batch of it. Returns undefined, and notes why, if the peer cannot take part. */
async function openPeer(run: Run, dataset: Dataset, peer: Peer): Promise<Timed[]> {
  const calls = dataset.memory ? [MEMORY_CALL] : listCalls(dataset);
  if (peer.worker === undefined || dataset.memory) await restart(peer);
  const worker = peer.worker;
  if (worker === undefined) return [];
  try {
    // A small buffer comes first, so that compiling and caching do not count.
    if (dataset.memory) await worker.open({ ...dataset, capacity: 2 ** 12 });
    const opened = await worker.open(dataset);
    run.note(dataset.group, peer.name, opened.note);
    const everything = opened.absent["*"];
    for (const call of calls) {
      const why = everything ?? opened.absent[call];
      if (why !== undefined) run.put(dataset, call, peer.name, { why });
    }
    if (everything !== undefined) return [];
    if (!run.check(dataset, peer.name, await worker.check())) return [];
    if (dataset.memory) {
      const { bytes, records } = opened;
      if (records < dataset.capacity) {
        run.note(dataset.group, peer.name, `Held 2^${Math.log2(records)} records only.`);
      }
      const found = bytes > 0
        ? { value: bytes / records }
        : { why: "this system does not tell it" };
      run.put(dataset, MEMORY_CALL, peer.name, found);
      return [];
    }
    // A call may belong to a variant, which then counts as a system of its own.
    const variants = new Map<string, Set<string>>();
    for (const name of opened.calls) {
      const [call = "", system = peer.name] = name.split("/").reverse();
      variants.set(system, (variants.get(system) ?? new Set()).add(call));
    }
    const base = run.systems.get(peer.name);
    return [...variants].map(([system, known]) => {
      if (base !== undefined && !run.systems.has(system)) {
        run.systems.set(system, { ...base, name: system });
      }
      for (const call of calls) {
        if (!known.has(call) && !(call in opened.absent)) {
          run.put(dataset, call, system, { why: "it has no such operation" });
        }
      }
      const prefix = system === peer.name ? "" : `${system}/`;
      return {
        system,
        time: (call: string, seconds: number) => worker.time(prefix + call, seconds),
      };
    });
  } catch (error) {
    if (!(error instanceof WorkerError)) throw error;
    run.say(`${peer.name}, ${dataset.group}: ${error.message}`);
    for (const call of calls) {
      run.put(dataset, call, peer.name, { why: `the call failed: ${error.message}` });
    }
    if (!error.isAlive) {
      await worker.end();
      peer.worker = undefined;
    }
    return [];
  }
}

/** Makes the systems of ours that have a call: with fresh outputs, with reused ones, and with those that are handed back. */
function timedOurs(opened: OpenedHere, clock: OurClock, call: string): Timed[] {
  const { fresh, into, using: handedBack } = opened.calls.get(call) ?? missingCall(call);
  return [fresh, into, handedBack].flatMap((own, k) =>
    own === undefined ? [] : [{
      system: OURS[k] ?? FRESH,
      time: (_: string, seconds: number) => clock.time(own, seconds),
    }]
  );
}

function missingCall(call: string): never {
  throw new Error(`ours has no call ${call}`);
}

/** Measures the memory of a full buffer: each system in a process of its own, one after the other. */
async function measureMemory(run: Run, dataset: Dataset, group: readonly Peer[]): Promise<void> {
  try {
    const { grown, described, wrong } = await measureOurMemory(dataset);
    const [process, account] = [grown, described].map((bytes) =>
      (bytes / dataset.capacity).toFixed(1)
    );
    run.note(
      dataset.group,
      FRESH,
      `It stores next obs once. Its process grew by ${process}, and \`memoryBytes\` says ${account}. The larger counts.`,
    );
    if (wrong !== "") run.refuse(dataset, FRESH, wrong);
    else {
      const value = Math.max(grown, described) / dataset.capacity;
      run.put(dataset, MEMORY_CALL, FRESH, { value });
    }
  } catch (error) {
    const why = `the call failed: ${error instanceof Error ? error.message : error}`;
    run.put(dataset, MEMORY_CALL, FRESH, { why });
  }
  for (const peer of group) await openPeer(run, dataset, peer);
}

async function measure(run: Run, dataset: Dataset, group: readonly Peer[]): Promise<void> {
  if (dataset.memory) {
    await measureMemory(run, dataset, group);
    return;
  }
  using ours = await openOurs(dataset);
  run.note(dataset.group, FRESH, ours.note);
  if (!ours.check().every((batch) => run.check(dataset, FRESH, batch))) return;
  const theirs: Timed[] = [];
  for (const peer of group) theirs.push(...await openPeer(run, dataset, peer));
  const clock = new OurClock();
  for (const call of listCalls(dataset)) {
    const has = (system: string) =>
      !run.rows.some((row) =>
        row.group === dataset.group && row.capacity === dataset.capacity && row.call === call &&
        row.system === system && row.why !== undefined
      );
    const systems = [
      ...timedOurs(ours, clock, call),
      ...theirs.filter(({ system }) => has(system)),
    ];
    await run.takeTurns(dataset, call, systems);
  }
  for (const { worker } of group) {
    // What is not freed now goes with the next buffer.
    await worker?.close().catch(() => {});
  }
}

async function main(options: Options): Promise<number> {
  const [windowMs, repeats] = options.quick ? [5, 3] : [40, 7];
  const run = new Run(repeats, windowMs / 1e3);
  const packageVersion = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
  ) as { version: string };
  const { commit } = await origin("peers");
  const packages = { deno: Deno.version.deno, v8: Deno.version.v8 };
  for (const name of OURS) {
    run.systems.set(name, { name, version: packageVersion.version, threads: "one", packages });
  }
  const found = await findPeers(run, options);
  try {
    const { groups, quick } = options;
    const datasets = listDatasets(quick).filter(({ group }) =>
      groups === undefined || groups.some((name) => group.startsWith(name))
    );
    for (const dataset of datasets) {
      const able = dataset.kind === "comparison" ? found.filter(({ id }) => id === "numpy") : found;
      for (const group of groupByMemory(dataset, able)) {
        const names = [FRESH, ...group.map(({ name }) => name)].join(", ");
        run.say(`${dataset.group}, N = 2^${Math.log2(dataset.capacity)}: ${names}`);
        await measure(run, dataset, group);
      }
    }
  } finally {
    for (const { worker } of found) await worker?.end();
  }
  const results: PeersResults = {
    format: "exrp-bench-peers",
    version: 1,
    date: new Date().toISOString().slice(0, 10),
    quick: options.quick,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: Deno.systemMemoryInfo().total,
    os: Deno.build.target,
    deno: Deno.version.deno,
    commit,
    windowMs,
    repeats,
    systems: [...run.systems.values()],
    missing: run.missing,
    notes: run.notes,
    rows: run.rows,
  };
  await Deno.mkdir(dirname(options.out), { recursive: true });
  console.log(`${tablesOf(results)}\n`);
  const kept = options.save
    ? withPart(checkPeersResults(JSON.parse(await Deno.readTextFile(options.out))), results)
    : results;
  await Deno.writeTextFile(options.out, `${JSON.stringify(kept, null, 1)}\n`);
  run.say(
    `${run.rows.length} figures of ${run.systems.size} systems; ${run.missing.length} peers are missing`,
  );
  run.say(`written to ${options.out}; the pages of benchmarks are made of bench/results alone`);
  if (run.contentErrors > 0) run.say(`${run.contentErrors} batches were wrong`);
  return run.contentErrors > 0 ? 1 : 0;
}

/** Reads the arguments. If they are wrong, says so and returns undefined. */
function readOptions(): Options | undefined {
  try {
    return parseOptions(Deno.args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    return undefined;
  }
}

if (import.meta.main) {
  const options = readOptions();
  if (options?.help) console.log(USAGE);
  else Deno.exit(options === undefined ? 2 : await main(options));
}
