/** The tables that `checkpoint.py` fills, the checkpoint that a real server then writes, and what was in it. */
import { plainTable, type RealServer, type RealTable } from "../../bench/reverb/_real_server.ts";
import type { Tables } from "../../tables/mod.ts";
import { runPython, startReal } from "./_real.ts";

const fifo = { kind: "fifo" } as const;
const lifo = { kind: "lifo" } as const;

/** The tables of the checkpoint. */
export const tables: readonly RealTable[] = [
  plainTable("uniform", { max_size: 1000 }),
  plainTable("fifo", { sampler: fifo, remover: lifo, max_size: 50, max_times_sampled: 4 }),
  plainTable("lifo", {
    sampler: lifo,
    max_size: 3,
    rateLimiter: {
      kind: "sample_to_insert_ratio",
      samples_per_insert: 1.5,
      min_size: 1,
      error_buffer: [-20, 20],
    },
  }),
  plainTable("prioritized", {
    sampler: { kind: "prioritized", exponent: 0.6 },
    remover: { kind: "min_heap" },
    max_size: 5,
  }),
  plainTable("heap", { sampler: { kind: "max_heap" }, remover: { kind: "min_heap" }, max_size: 3 }),
  plainTable("queue", {
    sampler: fifo,
    remover: fifo,
    max_size: 10,
    max_times_sampled: 1,
    rateLimiter: { kind: "queue", size: 10 },
  }),
  plainTable("stack", {
    sampler: lifo,
    remover: lifo,
    max_size: 10,
    max_times_sampled: 1,
    rateLimiter: { kind: "stack", size: 10 },
  }),
  plainTable("signed", {
    sampler: fifo,
    signature: {
      window: { dtype: "float32", shape: [3, 2] },
      last: { dtype: "int64", shape: [], name: "last" },
    },
  }),
  plainTable("empty", {
    rateLimiter: {
      kind: "sample_to_insert_ratio",
      samples_per_insert: 8,
      min_size: 100,
      error_buffer: 80,
    },
  }),
];

/** Tables whose samplers draw at random: their items are compared in order of their keys. */
const random: ReadonlySet<string> = new Set(["uniform", "prioritized"]);

/** What `drain.py` says of a server: of its tables, and all items of each, each as one line. */
export interface Drained {
  readonly infos: Readonly<Record<string, unknown>>;
  readonly items: Readonly<Record<string, readonly string[]>>;
}

type Column = readonly [
  dtype: string,
  shape: readonly number[],
  content: string | readonly string[],
];
type Item = readonly [
  key: string,
  priority: number,
  timesSampled: number,
  tableSize: number,
  columns: readonly Column[],
];

/** A checkpoint that was recorded: its files as base64, and what a real server that has loaded it gives. */
export interface RecordedCheckpoint {
  readonly files: Readonly<Record<string, string>>;
  readonly items: Readonly<Record<string, readonly string[]>>;
}

/** Reads the recorded one. */
export async function readRecorded(): Promise<RecordedCheckpoint> {
  return JSON.parse(await Deno.readTextFile(new URL("checkpoint.json", import.meta.url)));
}

/** Writes files into a folder of a checkpoint, which is removed at the end. */
export async function withCheckpoint(
  files: Readonly<Record<string, Uint8Array>>,
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "exrp_checkpoint_" });
  try {
    for (const [name, bytes] of Object.entries(files)) {
      await Deno.writeFile(`${folder}/${name}`, bytes);
    }
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The files of a recorded checkpoint. */
export function filesOf({ files }: RecordedCheckpoint): Record<string, Uint8Array<ArrayBuffer>> {
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Uint8Array.fromBase64(text)]),
  );
}

/** What a server says of its tables, and all its items. It has none afterwards. */
export async function drain(port: number): Promise<Drained> {
  const found = JSON.parse(await runPython(new URL("drain.py", import.meta.url), [port]));
  const tables = Object.entries<readonly Item[]>(found.items);
  return {
    infos: found.infos,
    items: Object.fromEntries(tables.map(([name, items]) => [name, linesOf(name, items)])),
  };
}

/** The same of our tables in this process. Texts have their lengths there, and the items of random samplers are sorted. */
export async function drainOurs(tables: Tables): Promise<Drained["items"]> {
  const found: Record<string, readonly string[]> = {};
  for (const name of [...tables.names].sort()) {
    const table = tables.table(name);
    const items: Item[] = [];
    while (table.size > 0) {
      const batch = await table.getBatch(1);
      const columns = batch.columns.map(({ dtype, shape, data }): Column => [
        dtype,
        shape.slice(1),
        Array.isArray(data) ? data.map((text: Uint8Array) => text.toHex()) : new Uint8Array(
          (data as Uint8Array).buffer,
          (data as Uint8Array).byteOffset,
          data.byteLength,
        )
          .toHex(),
      ]);
      const [key = 0n] = batch.keys;
      const numbers = [batch.priorities, batch.timesSampled, batch.tableSizes].map(([one]) =>
        one ?? NaN
      );
      const [priority = NaN, timesSampled = NaN, tableSize = NaN] = numbers;
      items.push([String(key), priority, timesSampled, tableSize, columns]);
      table.delete([key]);
    }
    found[name] = linesOf(name, items);
  }
  return found;
}

function linesOf(name: string, items: readonly Item[]): string[] {
  const lines = items.map(([key, priority, timesSampled, tableSize, columns]) => {
    const texts = columns.map(([dtype, shape, content]) => `${dtype}[${shape}]:${content}`);
    // Items that are drawn at random meet different sizes.
    const size = random.has(name) ? "" : ` of ${tableSize}`;
    return `${key}${size} ${priority} ${timesSampled} ${texts.join(" ")}`;
  });
  return random.has(name) ? lines.sort() : lines;
}

/** Lets a real server write the checkpoint into `folder`, and returns the checkpoint's own folder. `use` may ask the server afterwards. */
export async function writeReal(
  folder: string,
  use: (server: RealServer) => Promise<void> = async (): Promise<void> => {},
): Promise<string> {
  await using server = await startReal(tables, folder);
  const path = await runPython(new URL("checkpoint.py", import.meta.url), [server.port]);
  await use(server);
  return path.trim();
}

/** What a real server that has loaded the newest checkpoint of `folder` gives. */
export async function drainReal(folder: string): Promise<Drained> {
  await using server = await startReal(tables, folder);
  return await drain(server.port);
}
