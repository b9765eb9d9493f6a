/**
 * ReverbClient beside Reverb itself: its server, and its client on the other side of a table.
 *
 * The file is long because each case tries all kinds of clients and data side by side, and shows them by the same few functions.
 */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import {
  Condition,
  createPatternConfig,
  ReverbClient,
  ReverbError,
  type SampleBatch,
  type SampleColumn,
  tdError,
  type Tensor,
  tensor,
} from "../../reverb/mod.ts";
import type {
  PatternConfig,
  PatternConfigOptions,
  ReverbDType,
  StepLeaf,
} from "../../reverb/mod.ts";
import { dtypeOfName, DTYPES } from "../../reverb/dtypes.ts";
import { asConfig } from "../server/_as_config.ts";
import { served } from "../server/_served.ts";
import { besideReverb, plainTable, type RealTable, runPython, startReal } from "./_real.ts";
import { PATIENCE_MS, pause, until } from "../_wait.ts";

const PYTHON = new URL("client.py", import.meta.url);

/** A table from which items come in the order in which they went in, each once. */
function line(name: string): RealTable {
  return plainTable(name, {
    sampler: { kind: "fifo" },
    max_times_sampled: 1,
    rateLimiter: { kind: "queue", size: 100_000 },
  });
}

function connect(server: { readonly port: number }): Promise<ReverbClient> {
  return ReverbClient.connect(`127.0.0.1:${server.port}`);
}

/** Runs a test on our own server, and on the real one where it is installed. */
function onBothServers(
  what: string,
  tables: readonly RealTable[],
  fn: (client: ReverbClient) => Promise<void>,
): void {
  besideReverb(`${what}: the real server`, async () => {
    await using server = await startReal(tables);
    await using client = await connect(server);
    await fn(client);
  });
  Deno.test(`${what}: our server`, async () => {
    await using own = await served(asConfig(tables));
    await using client = await connect(own.server);
    await fn(client);
  });
}

/** A column in the form that the script of Python prints. */
interface Shown {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: string | readonly string[];
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function shown(dtype: string, shape: readonly number[], data: SampleColumn["data"]): Shown {
  if (Array.isArray(data)) return { dtype, shape, data: data.map(base64) };
  return {
    dtype,
    shape,
    data: base64(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  };
}

/** A batch of one item in the same form. */
function shownItem(batch: SampleBatch): Shown[] {
  return batch.columns.map(({ dtype, shape: [, ...shape], data }) => shown(dtype, shape, data));
}

const numbers = (column: SampleColumn | undefined): unknown[] => [...column?.data ?? []];

onBothServers("every call of ReverbClient works", [
  plainTable("plain", { sampler: { kind: "prioritized", exponent: 1 }, max_size: 50 }),
  line("line"),
  plainTable("signed", {
    signature: {
      state: { dtype: "float32", shape: [null, 2] },
      reward: { dtype: "float64", shape: [null] },
    },
    remover: { kind: "min_heap" },
    rateLimiter: {
      kind: "sample_to_insert_ratio",
      samples_per_insert: 2,
      min_size: 1,
      error_buffer: 100,
    },
  }),
], async (client) => {
  const info = await client.serverInfo();
  assertEquals(Object.keys(info).sort(), ["line", "plain", "signed"]);
  assertEquals(info.plain?.sampler, { kind: "prioritized", exponent: 1 });
  assertEquals([info.plain?.remover, info.plain?.maxSize], [{ kind: "fifo" }, 50]);
  assertEquals(info.signed?.remover, { kind: "min-heap" });
  assertEquals([info.signed?.rateLimiter.samplesPerInsert, info.signed?.rateLimiter.minDiff], [
    2,
    -98,
  ]);
  assertEquals(info.line?.maxTimesSampled, 1);
  assert(info.signed?.signature !== undefined && info.plain?.signature === undefined);

  await client.insert({ reward: 3, state: Float32Array.of(1, 2) }, { signed: 4, plain: 5 });
  await assertRejects(
    () => client.insert({ reward: 3n, state: Float32Array.of(1, 2) }, { signed: 4 }),
    TypeError,
    'insert(): column "reward" of table "signed" is float64 of shape [any], got int64 of shape []; give tensor(x, { dtype: "float64" })',
  );
  await assertRejects(
    () => client.insert({ reward: 3, state: [1, 2] }, { signed: 4 }),
    TypeError,
    'items of table "signed" have 2 columns (reward, state), got 3 (reward, state/0, state/1)',
  );
  await assertRejects(
    () => client.insert({}, { plain: 4 }),
    TypeError,
    "insert() needs data with at least one value",
  );
  const signed = await client.getBatch("signed", 3);
  assertEquals([signed.size, [...signed.priorities], [...signed.timesSampled]], [3, [4, 4, 4], [
    1,
    2,
    3,
  ]]);
  assertEquals([...signed.probability], [1, 1, 1]);
  assertEquals([...signed.tableSizes], [1, 1, 1]);
  assertEquals(new Set(signed.keys).size, 1);
  const { state, reward } = signed.data as unknown as Record<string, SampleColumn>;
  assertEquals([state?.shape, reward?.shape], [[3, 1, 2], [3, 1]]);
  assertEquals([numbers(state), numbers(reward)], [[1, 2, 1, 2, 1, 2], [3, 3, 3]]);

  for (let k = 0; k < 3; k++) await client.insert([k], { plain: 1, line: 1 });
  const keys = new Map<unknown, bigint>();
  for (let k = 0; k < 50 && keys.size < 3; k++) {
    const batch = await client.getBatch("plain", 1);
    if (batch.columns.length === 1) keys.set(numbers(batch.columns[0])[0], batch.keys[0] ?? 0n);
  }
  const [zero = 0n, one = 0n, two = 0n] = [keys.get(0), keys.get(1), keys.get(2)];
  const priorities = { keys: BigUint64Array.of(zero), priorities: Float64Array.of(1000) };
  await client.setPriority("plain", { updates: priorities, deletes: [one, 12345n] });
  await client.setPriority("plain", { updates: new Map([[two, 0]]) });
  assertEquals((await client.serverInfo()).plain?.currentSize, 3);
  const found: number[] = [];
  for (let k = 0; k < 20; k++) {
    const { columns, priorities } = await client.getBatch("plain", 1);
    if (columns.length === 1) found.push(priorities[0] ?? 0);
  }
  assert(found.length > 10 && found.every((priority) => priority === 1000), String(found));

  assertEquals(numbers((await client.getBatch("line", 3)).columns[0]), [0, 1, 2]);
  assertEquals((await client.serverInfo()).line?.currentSize, 0);
  await client.clear("plain");
  assertEquals((await client.serverInfo()).plain?.currentSize, 0);
});

onBothServers(
  "priorities of the remover's own harm no server",
  [plainTable("plain", { sampler: { kind: "prioritized", exponent: 1 } })],
  async (client) => {
    await client.insert([1], { plain: 2 }, { removerPriorities: { plain: 5 } });
    await using writer = client.writer({ maxSequenceLength: 1 });
    writer.append([1]);
    await writer.createItem("plain", 1, 2, { removerPriority: 5 });
    await writer.flush();
    const { keys } = await client.getBatch("plain", 1);
    const updates = { keys, priorities: [1e9], removerPriorities: [5] };
    await client.setPriority("plain", { updates });
    const { priorities, tableSizes } = await client.getBatch("plain", 1);
    assertEquals([priorities[0], tableSizes[0]], [1e9, 2]);
  },
);

onBothServers("errors of a server have their code and words, and nothing waits without an end", [
  plainTable("plain"),
  plainTable("full", {
    rateLimiter: { kind: "queue", size: 1 },
    max_times_sampled: 1,
  }),
], async (client) => {
  const code = async (call: () => Promise<unknown>, words: string): Promise<string> =>
    (await assertRejects(call, ReverbError, words)).code;
  for (
    const [what, call] of [
      ["getBatch()", () => client.getBatch("none", 1)],
      ["batches()", () => client.batches("none", { batchSize: 1 }).next()],
      ["reset()", () => client.clear("none")],
      ["setPriority()", () => client.setPriority("none", {})],
      ["insert()", () => client.insert([1], { none: 1 })],
    ] as const
  ) {
    const words = `${what}: the server has no table "none"; it has "full", "plain"`;
    assertEquals(await code(call, words), "not-found");
  }
  const late = (): Promise<unknown> => client.getBatch("plain", 2, { timeoutMs: 50 });
  assertEquals(
    await code(late, "0 came; the table's rate limiter lets no more through"),
    "deadline-exceeded",
  );
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 30);
  await assertRejects(() => client.getBatch("plain", 1, { signal: abort.signal }), Error, "enough");
  await assertRejects(
    () => client.insert([1], { plain: NaN }),
    RangeError,
    "finite and not negative",
  );
  await assertRejects(
    () => client.setPriority("plain", { updates: new Map([[1n, -1]]) }),
    RangeError,
    "the priority of key 1",
  );
  await client.insert([1], { full: 1 });
  assertEquals(
    await code(() => client.insert([2], { full: 1 }, { timeoutMs: 50 }), "to be confirmed"),
    "deadline-exceeded",
  );
  // The second item waits on the server still; a sample lets it in.
  assertEquals(numbers((await client.getBatch("full", 1)).columns[0]), [1]);
  const partly = await client.getBatch("full", 5, { timeoutMs: 300, isPartialAllowed: true });
  assertEquals(numbers(partly.columns[0]), [2]);
  // After all that the client works as before.
  await client.insert([3], { plain: 1 });
  assertEquals(numbers((await client.getBatch("plain", 2)).columns[0]), [3, 3]);
  await assertRejects(() => ReverbClient.connect("localhost"), TypeError, "host:port");
  assertEquals(
    await code(() => ReverbClient.connect("127.0.0.1:9", { timeoutMs: 300 }), "127.0.0.1:9"),
    "unavailable",
  );
});

/** Values of all dtypes that numpy has, of shape [2, 3]. */
function everyDType(step: number): Record<string, StepLeaf> {
  const row: Record<string, StepLeaf> = {};
  for (const [k, name] of NUMPY.entries()) {
    const info = dtypeOfName(name);
    if (info?.array === undefined) continue;
    const bytes = new Uint8Array(6 * info.parts * info.array.BYTES_PER_ELEMENT);
    for (let at = 0; at < bytes.length; at++) {
      bytes[at] = name === "bool" ? (at + step) & 1 : (at * 37 + k * 11 + step * 3) & 63;
    }
    row[name] = tensor(new info.array(bytes.buffer), { dtype: name, shape: [2, 3] });
  }
  row.string = tensor([`text ${step}`, "", "é中", "a", "b".repeat(300), "c"], { shape: [2, 3] });
  return row;
}

const NUMPY: readonly ReverbDType[] = [
  ...["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"] as const,
  ...["float16", "float32", "float64", "complex64", "complex128"] as const,
];

besideReverb("the real server saves its tables, and says where", async () => {
  await using server = await startReal([line("line")]);
  await using client = await connect(server);
  assert((await Deno.stat(await client.checkpoint())).isDirectory);
});

besideReverb(
  "every dtype that TypeScript writes is read by Reverb's client, to the bit",
  async () => {
    await using server = await startReal([line("line")]);
    await using client = await connect(server);
    const rows = [0, 1, 2, 3].map(everyDType);
    const writer = client.writer({ maxSequenceLength: 4, chunkLength: 3, deltaEncoded: true });
    for (const row of rows) writer.append(row);
    await writer.createItem("line", 4, 1);
    await writer.close();
    for (const deltaEncoded of [false, true]) {
      await using trajectories = client.trajectoryWriter({
        numKeepAliveRefs: 4,
        chunkLength: 2,
        deltaEncoded,
      });
      for (const row of rows) trajectories.append(row);
      const names = Object.keys(trajectories.history);
      const column = (
        name: string,
      ): { slice(from: number, to: number): never; at(k: number): never } =>
        trajectories.history[name] as never;
      const part = Object.fromEntries(names.map((name) => [name, column(name).slice(1, 3)]));
      const last = Object.fromEntries(names.map((name) => [name, column(name).at(-1)]));
      await trajectories.createItem("line", 2, part);
      await trajectories.createItem("line", 3, last);
      await trajectories.flush();
    }
    const items: { priority: number; columns: Shown[] }[] = JSON.parse(
      await runPython(PYTHON, [server.port, "read", "line", 5]),
    );
    const stacked = (some: readonly Record<string, StepLeaf>[], isSqueezed = false): Shown[] =>
      Object.keys(some[0] ?? {}).sort().map((name) => {
        const tensors = some.map((row) => row[name]) as {
          readonly shape: readonly number[];
          data: SampleColumn["data"];
        }[];
        const shape = isSqueezed ? [2, 3] : [some.length, 2, 3];
        if (name === "string") {
          return {
            dtype: "string",
            shape,
            data: tensors.flatMap(({ data }) => (data as Uint8Array[]).map(base64)),
          };
        }
        const parts = tensors.map(({ data }) => {
          const { buffer, byteOffset, byteLength } = data as Uint8Array;
          return new Uint8Array(buffer, byteOffset, byteLength);
        });
        return {
          dtype: name,
          shape,
          data: base64(new Uint8Array(parts.flatMap((bytes) => [...bytes]))),
        };
      });
    assertEquals(items.map(({ priority }) => priority), [1, 2, 3, 2, 3]);
    const [all, part, last] = [
      stacked(rows),
      stacked(rows.slice(1, 3)),
      stacked(rows.slice(3), true),
    ];
    assertEquals(items.map(({ columns }) => columns), [all, part, last, part, last]);
  },
);

besideReverb(
  "every dtype that Reverb's client writes is read by TypeScript, to the bit",
  async () => {
    await using server = await startReal([line("line")]);
    const wanted: Shown[][] = JSON.parse(
      await runPython(PYTHON, [server.port, "write_dtypes", "line"]),
    );
    await using client = await connect(server);
    for (const columns of wanted) {
      assertEquals(shownItem(await client.getBatch("line", 1)), columns);
    }
  },
);

/** A random number generator that a seed decides. */
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

besideReverb(
  "random trajectories arrive as they were made: by Reverb's client, and in batches",
  async () => {
    const seed = 261123;
    const random = randomOf(seed);
    await using server = await startReal([line("line"), line("again")]);
    await using client = await connect(server);
    const wanted: { priority: number; columns: Shown[] }[] = [];
    for (let round = 0; round < 6; round++) {
      const numKeepAliveRefs = 1 + random(12);
      const writer = client.trajectoryWriter<{ a: Float32Array; b?: bigint | Tensor }>({
        numKeepAliveRefs,
        chunkLength: random(2) === 0 ? "auto" : 1 + random(numKeepAliveRefs),
        deltaEncoded: random(2) === 0,
      });
      for (let k = 0; k < 60; k++) {
        const hasB = random(4) > 0 || k === 0;
        const b = tensor(round * 1000 + k, { dtype: "int64" });
        writer.append(
          hasB ? { a: Float32Array.of(k, round), b } : { a: Float32Array.of(k, round) },
        );
        if (random(3) === 0) continue;
        const { length } = writer.history.a;
        const reach = Math.min(numKeepAliveRefs, length);
        const picks = Array.from({ length: 1 + random(reach) }, () => length - 1 - random(reach));
        const values = picks.flatMap((at) => [k - (length - 1 - at), round]);
        const columns = [shown("float32", [picks.length, 2], Float32Array.from(values))];
        const trajectory = [writer.history.a.pick(picks)];
        if (hasB) {
          trajectory.push(writer.history.b.at(-1));
          columns.push(shown("int64", [], BigInt64Array.of(BigInt(round * 1000 + k))));
        }
        for (const table of ["line", "again"]) await writer.createItem(table, k, trajectory);
        wanted.push({ priority: k, columns });
        if (random(20) === 0) await writer.flush({ blockUntilItems: random(3) });
        if (random(30) === 0) await writer.endEpisode({ clearBuffers: random(2) === 0 });
      }
      await writer.close();
    }
    const items = JSON.parse(await runPython(PYTHON, [server.port, "read", "line", wanted.length]));
    assertEquals(items, wanted);
    for (const { priority, columns } of wanted) {
      const batch = await client.getBatch("again", 1);
      assertEquals([batch.priorities[0], shownItem(batch)], [priority, columns]);
    }
  },
);

/** A program of patterns and steps, for both writers. */
interface Program {
  readonly configs: readonly {
    readonly td: number | null;
    readonly nodes: readonly {
      column: "a" | "b";
      at: number | null;
      start: number;
      stop: number;
      step: number;
    }[];
    readonly conditions: readonly {
      on: string;
      mod: number;
      by: "eq" | "ne" | "ge" | "gt" | "le" | "lt";
      value: number;
    }[];
  }[];
  readonly calls: readonly ({ a: number; b: number | null; done: boolean } | { end: boolean })[];
}

/**
 * A random program. Reverb's writers join all rows of one chunk, also those that are no neighbours, and so send wrong ones for every
 * second step once their chunks have more than one row: after ten items. So programs with such parts make fewer.
 */
function programOf(random: (below: number) => number): Program {
  const isStrided = random(3) === 0;
  const nodes = (): Program["configs"][number]["nodes"] =>
    Array.from({ length: 1 + random(3) }, () => {
      const start = -1 - random(5);
      return {
        column: random(3) === 0 ? "b" as const : "a" as const,
        at: random(3) === 0 ? -1 - random(4) : null,
        start,
        stop: start + 1 + random(-start),
        step: isStrided ? 1 + random(3) : 1,
      };
    });
  const conditions = (): Program["configs"][number]["conditions"] =>
    Array.from({ length: random(3) }, () => {
      const on = ["stepIndex", "stepsSinceApplied", "done", "isEndEpisode"][random(4)] ?? "";
      const mod = random(3) === 0 ? 1 + random(3) : 0;
      const by = mod > 0
        ? (["eq", "ne"] as const)[random(2)]
        : (["eq", "ne", "ge", "gt", "le", "lt"] as const)[random(6)];
      return { on, mod, by: by ?? "eq", value: random(on === "done" || mod > 0 ? 2 : 5) };
    });
  const configs = Array.from({ length: isStrided ? 1 : 1 + random(3) }, () => {
    const some = nodes();
    return {
      td: some.some(({ column }) => column === "b") && random(2) === 0 ? random(11) / 10 : null,
      nodes: some,
      conditions: conditions(),
    };
  });
  const calls = Array.from(
    { length: isStrided ? 9 : 25 },
    (_, k): Program["calls"][number] =>
      random(9) === 0
        ? { end: random(2) === 0 }
        : { a: k, b: random(8) === 0 ? null : random(20) - 10, done: random(4) === 0 },
  );
  return { configs, calls: [...calls, { end: true }] };
}

interface Step {
  readonly a: number;
  readonly b: number;
  readonly done: boolean;
}

function configOf({ td, nodes, conditions }: Program["configs"][number]): PatternConfig {
  const pattern: PatternConfigOptions<Step>["pattern"] = (step) =>
    nodes.map(({ column, at, start, stop, step: every }) =>
      at === null ? step[column].slice(start, stop, every) : step[column].at(at)
    );
  return createPatternConfig<Step>({
    table: "line",
    pattern,
    conditions: conditions.map(({ on, mod, by, value }) => {
      if (on === "isEndEpisode") return Condition.isEndEpisode();
      const left = on === "stepIndex"
        ? Condition.stepIndex()
        : on === "stepsSinceApplied"
        ? Condition.stepsSinceApplied()
        : Condition.data<Step>((step) => step.done);
      return (mod > 0 ? left.mod(mod) : left)[by](value);
    }),
    ...(td === null ? {} : { priority: tdError<Step>(td, (step) => step.b) }),
  });
}

besideReverb(
  "StructuredWriter makes the items that Reverb's makes: random patterns, conditions and steps",
  async () => {
    const seed = 261123;
    const random = randomOf(seed);
    const programs = Array.from({ length: 60 }, () => programOf(random));
    await using server = await startReal([line("line")]);
    await using client = await connect(server);
    const theirs = JSON.parse(
      await runPython(
        PYTHON,
        [server.port, "many_structured", "line", JSON.stringify(programs)],
        120_000,
      ),
    );
    let count = 0;
    for (const [k, program] of programs.entries()) {
      await using writer = client.structuredWriter(program.configs.map(configOf));
      for (const call of program.calls) {
        if ("end" in call) await writer.endEpisode({ clearBuffers: call.end });
        else {await writer.append({
            a: tensor(call.a, { dtype: "int32" }),
            b: call.b,
            done: call.done,
          });}
      }
      await writer.flush();
      const ours = [];
      for (let left = theirs[k].length; left > 0; left--) {
        const batch = await client.getBatch("line", 1);
        ours.push({ priority: batch.priorities[0], columns: shownItem(batch) });
        count += 1;
      }
      assertEquals(ours, theirs[k], `program ${k}: ${JSON.stringify(program)}`);
      assertEquals(
        (await client.serverInfo()).line?.currentSize,
        0,
        `program ${k}: ${JSON.stringify(program)}`,
      );
    }
    assert(count > 100, `${count} items`);
  },
);

onBothServers("a queue that is full lets createItem wait, and a sample lets it go on", [
  plainTable("queue", {
    sampler: { kind: "fifo" },
    max_times_sampled: 1,
    rateLimiter: { kind: "queue", size: 3 },
  }),
], async (client) => {
  const writer = client.trajectoryWriter<{ a: number }>({
    numKeepAliveRefs: 1,
    maxPendingItems: 4,
  });
  let written = 0;
  const writing = (async (): Promise<void> => {
    for (let k = 0; k < 40; k++) {
      writer.append({ a: k });
      await writer.createItem("queue", 1, [writer.history.a.slice(-1)]);
      written += 1;
    }
    await writer.close();
  })();
  await until("some are written", () => written >= 4);
  await pause(300);
  assert(written <= 9, `${written} items were written`);
  const values: unknown[] = [];
  for (let k = 0; k < 10; k++) {
    values.push(...numbers((await client.getBatch("queue", 4)).columns[0]));
  }
  await writing;
  assertEquals(values, Array.from({ length: 40 }, (_, k) => k));
});

onBothServers("batches are asked for ahead, end by count, by time or by signal, and lose nothing", [
  line("line"),
  plainTable("plain"),
], async (client) => {
  const writer = client.writer({ maxSequenceLength: 1 });
  const write = async (from: number, to: number): Promise<void> => {
    for (let k = from; k < to; k++) {
      writer.append([k]);
      await writer.createItem("line", 1, 1);
    }
    await writer.flush();
  };
  await write(0, 100);
  const values: unknown[] = [];
  for await (const batch of client.batches("line", { batchSize: 8, maxBatches: 5 })) {
    values.push(
      ...numbers(batch.columns[0]),
    );
  }
  assertEquals(values, Array.from({ length: 40 }, (_, k) => k));
  assertEquals((await client.serverInfo()).line?.currentSize, 60);
  const sizes: number[] = [];
  for await (
    const batch of client.batches("line", { batchSize: 16, timeoutMs: 200, prefetch: 3 })
  ) sizes.push(batch.size);
  assertEquals(sizes, [16, 16, 16, 12]);
  // A time that is over while nobody waits counts for nothing.
  await write(100, 110);
  const slow = client.batches("line", { batchSize: 4, timeoutMs: 100 });
  const first = await slow.next();
  await pause(400);
  await write(110, 120);
  const rest: unknown[] = numbers(first.value?.columns[0]);
  for await (const batch of slow) rest.push(...numbers(batch.columns[0]));
  assertEquals(rest, Array.from({ length: 20 }, (_, k) => 100 + k));
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 50);
  const waiting = client.batches("plain", { batchSize: 1, signal: abort.signal });
  await assertRejects(() => waiting.next(), Error, "enough");
  await writer.close();
});

onBothServers(
  "items of different lengths come together with their lengths, and mixed items are refused",
  [line("line")],
  async (client) => {
    await using writer = client.trajectoryWriter<{ a: Float32Array }>({ numKeepAliveRefs: 3 });
    for (let k = 0; k < 3; k++) {
      writer.append({ a: Float32Array.of(k, k) });
      await writer.createItem("line", 1, [writer.history.a.slice(0)]);
    }
    await writer.flush();
    const batch = await client.getBatch("line", 3);
    assertEquals(batch.columns[0]?.shape, [6, 2]);
    assertEquals([...batch.columns[0]?.lengths ?? []], [1, 2, 3]);
    assertEquals(numbers(batch.columns[0]), [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2]);
    await client.insert([1], { line: 1 });
    await client.insert([1, 2], { line: 1 });
    const mixed = await assertRejects(() => client.getBatch("line", 2), ReverbError, "one by one");
    assertEquals(mixed.code, "invalid-argument");
  },
);

besideReverb("a server that is killed and comes back gets every item, in order", async () => {
  const tables = [line("line")];
  const first = await startReal(tables);
  const { port } = first;
  await using client = await ReverbClient.connect(`127.0.0.1:${port}`);
  const writer = client.trajectoryWriter<{ a: number }>({
    numKeepAliveRefs: 1,
    maxPendingItems: 1000,
  });
  const write = async (from: number, to: number): Promise<void> => {
    for (let k = from; k < to; k++) {
      writer.append({ a: k });
      await writer.createItem("line", 1, [writer.history.a.slice(-1)]);
    }
  };
  await write(0, 10);
  await writer.flush();
  await first.kill();
  await write(10, 40);
  const late = await assertRejects(() => writer.flush({ timeoutMs: 200 }), ReverbError);
  assertEquals([late.code, writer.pendingItems], ["deadline-exceeded", 30]);
  await assertRejects(() => client.getBatch("line", 1), ReverbError, "127.0.0.1");
  await first[Symbol.asyncDispose]().catch(() => {});
  await using second = await startReal(tables, undefined, port);
  assertEquals(second.port, port);
  await writer.flush({ timeoutMs: PATIENCE_MS });
  const batch = await client.getBatch("line", 30);
  assertEquals(numbers(batch.columns[0]), Array.from({ length: 30 }, (_, k) => 10 + k));
  await writer.close();
});

Deno.test("every dtype of TensorFlow goes through our server and back, to the bit", async () => {
  await using own = await served(asConfig([line("line")]));
  await using client = await connect(own.server);
  const steps = [0, 1, 2].map((step) =>
    DTYPES.map(({ name, array, parts }) => {
      if (array === undefined) return tensor([`text ${step}`, ""], { dtype: name });
      const bytes = new Uint8Array(2 * parts * array.BYTES_PER_ELEMENT);
      for (let at = 0; at < bytes.length; at++) {
        bytes[at] = name === "bool" ? step & 1 : at * 7 + step;
      }
      return tensor(new array(bytes.buffer), { dtype: name });
    })
  );
  for (const deltaEncoded of [false, true]) {
    await using writer = client.trajectoryWriter<Tensor[]>({ numKeepAliveRefs: 3, deltaEncoded });
    for (const step of steps) writer.append(step);
    await writer.createItem("line", 1, writer.history.map((column) => column.slice(-3)));
    await writer.flush();
    const { columns } = await client.getBatch("line", 1);
    assertEquals(columns.map(({ dtype }) => dtype), DTYPES.map(({ name }) => name));
    for (const [k, { dtype, shape, data }] of columns.entries()) {
      assertEquals(shape, [1, 3, 2], dtype);
      assertEquals([...data], steps.flatMap((step) => [...step[k]?.data ?? []]), dtype);
    }
  }
});

Deno.test("our server stops and comes back: a writer sends what was not confirmed, and batches go on", async () => {
  const tables = asConfig([line("line")]);
  const first = await served(tables);
  const { port } = first.server;
  await using client = await connect({ port });
  const writer = client.writer({ maxSequenceLength: 1, maxInFlightItems: 100 });
  const write = async (from: number, to: number): Promise<void> => {
    for (let k = from; k < to; k++) {
      writer.append([k]);
      await writer.createItem("line", 1, 1);
    }
  };
  await write(0, 4);
  await writer.flush();
  const batches = client.batches("line", { batchSize: 2 });
  const values = numbers((await batches.next()).value?.columns[0]);
  await first[Symbol.asyncDispose]();
  await write(10, 20);
  await using second = await served(tables, { port });
  assertEquals(second.server.port, port);
  await writer.flush({ timeoutMs: PATIENCE_MS });
  for (let k = 0; k < 6; k++) values.push(...numbers((await batches.next()).value?.columns[0]));
  await batches.return();
  // Two had been asked for ahead, and so had come before the server stopped.
  assertEquals(values, [0, 1, 2, 3, ...Array.from({ length: 10 }, (_, k) => 10 + k)]);
  await writer.close();
});

/** A table whose signature is a tuple with names, which are not in the order of the alphabet. */
const tupled: RealTable = {
  ...line("tupled"),
  signature: {
    namedTuple: "Step",
    fields: [
      ["state", { dtype: "int64", shape: [null] }],
      ["action", { dtype: "int64", shape: [null] }],
    ],
  },
};

/** Writes items of state 10, 20, … and action 1, 2, … by each kind of writer. */
async function writeTuples(client: ReverbClient): Promise<void> {
  await client.insert({ action: 1n, state: 10n }, { tupled: 1 });
  const writer = client.writer({ maxSequenceLength: 1 });
  writer.append({ action: 2n, state: 20n });
  await writer.createItem("tupled", 1, 1);
  await writer.close();
  const trajectories = client.trajectoryWriter<{ a: bigint; s: bigint }>({
    numKeepAliveRefs: 1,
    validateItems: false, // the order is right all the same
  });
  trajectories.append({ a: 3n, s: 30n });
  const { a, s } = trajectories.history;
  await trajectories.createItem("tupled", 1, { action: a.slice(-1), state: s.slice(-1) });
  await trajectories.close();
  const pattern = createPatternConfig<{ a: bigint; s: bigint }>({
    table: "tupled",
    pattern: (step) => ({ action: step.a.slice(-1), state: step.s.slice(-1) }),
  });
  const structured = client.structuredWriter([pattern]);
  await structured.append({ a: 4n, s: 40n });
  await structured.close();
}

onBothServers("data of a named tuple goes by its names", [tupled], async (client) => {
  await writeTuples(client);
  for (const k of [1n, 2n, 3n, 4n]) {
    const { data } = await client.getBatch<{ state: bigint; action: bigint }>("tupled", 1);
    assertEquals([...data.state.data, ...data.action.data], [10n * k, k]);
  }
  await assertRejects(
    () => client.insert({ action: 1n, stat: 2n }, { tupled: 1 }),
    TypeError,
    'items of table "tupled" have 2 columns (state, action), got 2 (action, stat)',
  );
});

besideReverb(
  "Python reads by its names what we wrote for a named tuple, from either server",
  async () => {
    await using real = await startReal([tupled]);
    await using own = await served(asConfig([tupled]));
    for (const server of [real, own.server]) {
      await using client = await connect(server);
      await writeTuples(client);
      const script = `
import json, sys, reverb
client = reverb.Client(f"localhost:{sys.argv[1]}")
read = client.sample("tupled", 4, emit_timesteps=False, unpack_as_table_signature=True)
print(json.dumps([[type(one.data).__name__, one.data.state.tolist(), one.data.action.tolist()] for one in read]))
`;
      const wanted = [1, 2, 3, 4].map((k) => ["Step", [10 * k], [k]]);
      assertEquals(JSON.parse(await runPython(script, [server.port])), wanted);
    }
  },
);
