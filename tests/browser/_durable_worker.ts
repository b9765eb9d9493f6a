/**
 * The Worker of durable_test.ts: it does what the page asks for, with one durable replay, and says what came of it.
 *
 * @module
 */

/// <reference lib="deno.worker" />
import { type Column, ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { Tables } from "@exrp/replay/tables";
import { pause } from "../_wait.ts";

type Recorded = ExperienceReplay<
  { state: Column<"float32", [2]>; action: Column; reward: Column<"float32", []> }
>;

const OPTIONS = {
  capacity: 3_000,
  state: float32(2),
  seed: 7,
  segmentBytes: 2 ** 20,
  flushIntervalMs: 0,
} as const;

let replay: Recorded | undefined;

function opened(): Recorded {
  if (replay === undefined) throw new Error("no replay is open");
  return replay;
}

/** Records `count` steps behind those that are there. Record n has the state [n, n + 0.5], the action n % 7 and the reward n. */
function recordSteps(to: Recorded, count: number): void {
  const selector = to.selectors[0] ?? to.newPickSelector(prioritized());
  let n = to.describe().recordedCount;
  let episode = to.newEpisode();
  for (let k = 0; k < count; k++) {
    n++;
    const rest = n % 13 === 0 ? { finalState: [-n, 0] } : {};
    episode = to.record(episode, [n, n + 0.5], n % 7, n, rest as never);
    if (n % 13 === 0) episode = to.newEpisode();
    if (n % 50 !== 0) continue;
    const batch = to.getBatch(32, selector, { beta: 0.4 });
    to.setPriority(selector, batch, batch.reward.map((reward) => reward % 5));
  }
}

/** The rewards of the next batches. */
function drawSome(from: Recorded): string {
  const [selector] = from.selectors;
  if (selector === undefined) throw new Error("there is no selector");
  return Array.from({ length: 4 }, () => from.getBatch(16, selector, { beta: 0.4 }).reward.join())
    .join(";");
}

/** All that decides the future, as a sum. */
async function stateOf(of: Recorded): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await of.serialize());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16)).join("");
}

interface Handle {
  write(bytes: Uint8Array): number;
  truncate(bytes: number): void;
  close(): void;
}
interface Entry {
  getFile(): Promise<Blob>;
  createSyncAccessHandle(): Promise<Handle>;
}
interface Entries {
  entries(): AsyncIterable<[string, Entry]>;
  getDirectoryHandle(name: string): Promise<Entries>;
  getFileHandle(name: string, options?: { readonly create: boolean }): Promise<Entry>;
}

/** A folder of the page's file system. */
async function entriesOf(folder: string): Promise<Entries> {
  const { storage } = navigator as unknown as {
    readonly storage: { getDirectory(): Promise<Entries> };
  };
  return await (await storage.getDirectory()).getDirectoryHandle(folder);
}

/** Makes a file anew. */
async function write(directory: Entries, name: string, bytes: Uint8Array): Promise<void> {
  const file = await (await directory.getFileHandle(name, { create: true }))
    .createSyncAccessHandle();
  file.truncate(0);
  file.write(bytes);
  file.close();
}

/** What stands behind the bytes of a file that is to take the place of another, as docs/internals/durable_format.md says. */
function trailerOf(bytes: Uint8Array, name: string): Uint8Array {
  const names = new TextEncoder().encode(name);
  const trailer = new Uint8Array(names.length + 16);
  trailer.set(names);
  const view = new DataView(trailer.buffer, names.length);
  view.setUint32(0, bytes.length, true);
  view.setUint32(4, names.length, true);
  let sum = 0x811c9dc5;
  for (const byte of [...bytes, ...trailer.subarray(0, -8)]) {
    sum = Math.imul(sum ^ byte, 0x01000193);
  }
  view.setUint32(8, sum, true);
  trailer.set(new TextEncoder().encode("MOVE"), names.length + 12);
  return trailer;
}

/** What the page may ask for. */
const calls: Readonly<Record<string, (...numbers: never[]) => unknown>> = {
  async open(folder: string, options: object = {}): Promise<unknown> {
    replay = await ExperienceReplay.open(folder, { ...OPTIONS, ...options }) as unknown as Recorded;
    return replay.durability?.recovered ?? null;
  },
  async openAlone(folder: string): Promise<void> {
    replay = await ExperienceReplay.open(folder) as unknown as Recorded;
  },
  record: (count: number): void => recordSteps(opened(), count),
  flush: (): Promise<void> => opened().flush(),
  draw: (): string => drawSome(opened()),
  state: (): Promise<string> => stateOf(opened()),
  counts: (): number[] => [opened().recordCount, opened().describe().recordedCount],
  durability: (): unknown => opened().durability,
  dispose(): void {
    opened()[Symbol.dispose]();
    replay = undefined;
  },
  /** What a replay in memory draws that did the same: it recorded so many steps, each time. */
  async twin(pieces: readonly number[]): Promise<string> {
    const { segmentBytes: _1, flushIntervalMs: _2, ...options } = OPTIONS;
    using twin = await ExperienceReplay.create(options) as unknown as Recorded;
    for (const count of pieces) recordSteps(twin, count);
    return drawSome(twin);
  },
  /** Records and flushes until the Worker ends, and says after each flush how many records are on the disk. */
  async goOn(): Promise<never> {
    for (let k = 1;; k++) {
      recordSteps(opened(), 1 + (k * 7919) % 400);
      await opened().flush();
      self.postMessage({ said: opened().describe().recordedCount });
      await pause(0);
    }
  },
  /** The records that are stored: each must be whole, and none there twice. */
  check(): number {
    const of = opened();
    const numbers: number[] = [];
    for (const handle of of.episodes().handle) {
      const { state, action, reward } = of.episodeRecords(handle);
      for (const [k, n] of reward.entries()) {
        const isWhole = state[2 * k] === n && state[2 * k + 1] === n + 0.5 && action[k] === n % 7;
        if (!isWhole) throw new Error(`record ${n} is torn`);
        numbers.push(n);
      }
    }
    if (new Set(numbers).size !== numbers.length) throw new Error("a record is there twice");
    return Math.max(0, ...numbers);
  },
  /** The files of a folder, as base64. */
  async files(folder: string): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    for await (const [name, handle] of (await entriesOf(folder)).entries()) {
      const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
      let text = "";
      for (const byte of bytes) text += String.fromCharCode(byte);
      files[name] = btoa(text);
    }
    return files;
  },
  /** Leaves a folder as a crash does while replay.json gets its place: some of it is copied. Or just before: then what would be copied is another file. */
  async breakOff(folder: string, isDecided: boolean): Promise<void> {
    const directory = await entriesOf(folder);
    const file = await (await directory.getFileHandle("replay.json")).getFile();
    const bytes = new Uint8Array(await file.arrayBuffer());
    const trailer = trailerOf(bytes, "replay.json");
    if (isDecided) await write(directory, "replay.json", bytes.subarray(0, bytes.length / 2));
    else bytes[0] = 7;
    await write(directory, "checkpoint.new", Uint8Array.of(...bytes, ...trailer));
  },
  async tables(folder: string, count: number): Promise<number> {
    const options = { tables: { steps: { sampler: prioritized(), maxSize: 1000 } }, seed: 1 };
    using tables = await Tables.open(folder, options);
    for (let k = 0; k < count; k++) await tables.insert({ reward: k }, { steps: 1 + k });
    await tables.flush();
    return tables.table("steps").size;
  },
};

self.onmessage = async ({ data: [id, what, ...values] }: MessageEvent): Promise<void> => {
  try {
    const call = calls[what] as (...values: unknown[]) => unknown;
    self.postMessage({ id, result: await call(...values) });
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    self.postMessage({ id, error: `${code ?? (error as Error).name}: ${message}` });
  }
};
