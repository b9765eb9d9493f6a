/**
 * Our server beside Reverb's: the same unmodified client of Python, dm-reverb 0.14.0, writes into both and samples from both, in turns, in
 * one run. `deno task reverb:install` installs it.
 *
 * @module
 */
import { benchOptions } from "./_options.ts";
import { noneMatches, origin, saveResults } from "./_results.ts";
import { digits } from "./_section.ts";
import { median } from "./_turns.ts";
import { findReverbPython } from "./reverb/_python.ts";
import {
  type Contestant,
  cpuSeconds,
  residentBytes,
  startClient,
  startOurs,
  startTheirs,
  type Worker,
} from "./reverb/_contest.ts";
import { render, type ReverbResults, type ReverbRow } from "./report/reverb.ts";

const { quick, filter, save } = benchOptions(
  "bench:reverb",
  "Our server beside Reverb's, with Reverb's own client of Python.",
  ["quick", "filter", "save"],
);
// Many short turns: where others have the machine for seconds at a time, the best of a few long ones tells of them, not of the servers.
const SECONDS = quick ? 0.3 : 0.4;
const ROUNDS = quick ? 2 : 30;
/** The same, of the turns for the worst calls. */
const WORST_SECONDS = quick ? 0.6 : 2;
const WORST_ROUNDS = quick ? 2 : 7;
const ITEMS = quick ? 10_000 : 100_000;
/** What is in the table while it is sampled. */
const FILL = 20_000;
const BATCH = 256;

/** What is measured. */
interface Case {
  readonly name: string;
  readonly unit: string;
  /** Ours must be at least so many times better. */
  readonly floor: number;
  /** Less is better. */
  readonly isCost?: boolean;
  /** The figure of one turn. */
  readonly run: (server: Contestant) => Promise<number>;
  /** What must be in the tables before. */
  readonly needs?: "items" | "images";
}

const found = await findReverbPython();
if ("why" in found) {
  console.error(found.why);
  Deno.exit(1);
}
const { python } = found;

const clients: Worker[] = [];

async function client(index = 0): Promise<Worker> {
  while (clients.length <= index) clients.push(await startClient(python));
  const one = clients[index];
  if (one === undefined) throw new Error(`there is no client ${index}`);
  return one;
}

/** Lets clients do the same at once, and adds their rates. */
async function together(
  count: number,
  server: Contestant,
  order: Record<string, unknown>,
): Promise<number> {
  const all: Worker[] = [];
  for (let index = 0; index < count; index++) all.push(await client(index));
  const at = Date.now() / 1000 + 0.05;
  const answers = await Promise.all(
    all.map((one) => one.ask({ ...order, port: server.port, seconds: SECONDS, at })),
  );
  return answers.reduce((sum, { rate = 0 }) => sum + rate, 0);
}

function writers(name: string, order: string, floor: number, counts = [1, 2, 4]): Case[] {
  return counts.map((count) => ({
    name: `${name}, ${count} ${count === 1 ? "process" : "processes"}`,
    unit: "items/s",
    floor,
    run: (server) => together(count, server, { case: order }),
  }));
}

function reader(name: string, floor: number, order: Record<string, unknown>): Case {
  return {
    name,
    unit: "items/s",
    floor,
    needs: "items",
    run: async (server) => BATCH * await together(1, server, order),
  };
}

/** Images a second that a dataset reads, or with `isCount` how many it read. */
async function imagesRead(server: Contestant, isCount = false): Promise<number> {
  const order = { case: "dataset", kind: "trajectory", table: "images", port: server.port };
  const { rate = 0, count = 0 } = await (await client()).ask({ ...order, seconds: SECONDS });
  return BATCH * (isCount ? count : rate);
}

const cases: readonly Case[] = [
  ...writers("client.writer", "writer", 1.2),
  ...writers("trajectory_writer, flush at 64", "trajectory_writer", 1.2),
  ...writers("structured_writer, flush at 64", "structured_writer", 1.2),
  ...writers("client.insert", "insert", 1),
  reader("client.sample(256)", 1.2, { case: "sample" }),
  reader("TimestepDataset, batches of 256", 1.2, { case: "dataset", kind: "timestep" }),
  reader("TrajectoryDataset, batches of 256", 1.2, { case: "dataset", kind: "trajectory" }),
  {
    name: "server_info",
    unit: "calls/s",
    floor: 1,
    run: (server) => together(1, server, { case: "server_info" }),
  },
  {
    name: "images 84×84×4 by client.writer",
    unit: "bytes/s",
    floor: 1,
    run: (server) => together(1, server, { case: "images_in" }),
  },
  {
    name: "images 84×84×4 by client.sample(256)",
    unit: "bytes/s",
    floor: 1,
    needs: "images",
    run: (server) => together(1, server, { case: "images_out" }),
  },
  {
    name: "images 84×84×4 by TrajectoryDataset",
    unit: "items/s",
    floor: 1,
    needs: "images",
    run: (server) => imagesRead(server),
  },
  {
    // Other programs on the same cores slow a server of one thread more than one of many. Its own work is the same.
    name: "processor time for an image by TrajectoryDataset",
    unit: "µs",
    floor: 1,
    isCost: true,
    needs: "images",
    run: async (server) => {
      const before = await cpuSeconds(server.pid);
      const rate = await imagesRead(server, true);
      return 1e6 * (await cpuSeconds(server.pid) - before) / rate;
    },
  },
  ...[1, 32, 256, 2048].map((keys): Case => ({
    name: `mutate_priorities, ${keys} ${keys === 1 ? "key" : "keys"}`,
    unit: "calls/s",
    floor: 1,
    needs: "items",
    run: (server) => together(1, server, { case: "mutate", keys }),
  })),
];

const MEMORY = "memory of an item of 140 bytes";
const WORST = ["insert", "sample", "mutate"] as const;
const worstNames = WORST.map((call) => `worst ${call} beside two writers`);
/** The same calls to a server that serves nobody else, while the writers keep another one busy: what is left is the machine's part. */
const idleNames = WORST.map((call) => `worst ${call} of an idle server beside them`);
const names = [...cases.map(({ name }) => name), MEMORY, ...worstNames, ...idleNames];
const isWanted = (name: string): boolean => name.includes(filter);
if (!names.some(isWanted)) noneMatches(filter, names);

async function prepare(server: Contestant, needs: Case["needs"]): Promise<void> {
  const one = await client();
  const { port } = server;
  for (const table of ["uniform", "images"]) await one.ask({ case: "reset", port, table });
  if (needs === "items") await one.ask({ case: "fill", port, count: FILL });
  if (needs === "images") await one.ask({ case: "images_in", port, seconds: SECONDS });
}

/** The best of several rounds in turns. */
async function both(one: Case, theirs: Contestant, ours: Contestant): Promise<ReverbRow> {
  const figures: [number[], number[]] = [[], []];
  for (const [index, server] of [theirs, ours].entries()) {
    await prepare(server, one.needs);
    // A first turn warms up.
    await one.run(server);
    if (figures[index] === undefined) break;
  }
  for (let round = 0; round < ROUNDS; round++) {
    figures[0].push(await one.run(theirs));
    figures[1].push(await one.run(ours));
  }
  const best = (values: number[]): number => Math[one.isCost ? "min" : "max"](...values);
  const { name, unit, floor, isCost = false } = one;
  const ratios = figures[1].map((mine, round) => {
    const ratio = mine / (figures[0][round] ?? NaN);
    return isCost ? 1 / ratio : ratio;
  });
  return {
    name,
    unit,
    floor,
    isCost,
    reverb: best(figures[0]),
    ours: best(figures[1]),
    median: median(ratios),
  };
}

/** Bytes of a server's memory for each item of a fresh server. */
async function memoryOf(start: () => Promise<Contestant>): Promise<number> {
  const server = await start();
  const one = await client();
  const order = { case: "fill", port: server.port };
  await one.ask({ ...order, count: 1000 });
  const before = await residentBytes(server.pid);
  await one.ask({ ...order, count: ITEMS });
  const after = await residentBytes(server.pid);
  await server.stop();
  return (after - before) / ITEMS;
}

/** The longest calls of a client, in seconds, while two others write into `busy`. */
async function worstOf(server: Contestant, busy = server): Promise<Record<string, number>> {
  const [one, two, three] = [await client(0), await client(1), await client(2)];
  const at = Date.now() / 1000 + 0.1;
  const load = { case: "trajectory_writer", port: busy.port, seconds: WORST_SECONDS + 0.6, at };
  const asked = { case: "worst", port: server.port, seconds: WORST_SECONDS, at: at + 0.3 };
  const [longest] = await Promise.all([one.ask(asked), two.ask(load), three.ask(load)]);
  return longest;
}

const rows: ReverbRow[] = [];

function show(row: ReverbRow): void {
  rows.push(row);
  const { name, unit, reverb, ours, isCost, floor } = row;
  const factor = isCost ? reverb / ours : ours / reverb;
  const verdict = floor !== undefined && factor < floor ? `  BELOW ${floor}` : "";
  console.error(
    `${name.padEnd(44)} Reverb ${digits(reverb).padStart(13)}  ours ${digits(ours).padStart(13)} ${
      unit.padEnd(8)
    } ${factor.toFixed(2)}×${
      row.median === undefined ? "" : ` (median ${row.median.toFixed(2)}×)`
    }${verdict}`,
  );
}

const theirs = await startTheirs(python);
const ours = await startOurs();
for (const one of cases) if (isWanted(one.name)) show(await both(one, theirs, ours));
if ([...worstNames, ...idleNames].some(isWanted)) {
  const [idleTheirs, idleOurs] = [await startTheirs(python), await startOurs()];
  for (const server of [theirs, ours, idleTheirs, idleOurs]) await prepare(server, "items");
  const worst: Record<string, number>[][] = [[], [], [], []];
  for (let round = 0; round < WORST_ROUNDS; round++) {
    worst[0]?.push(await worstOf(theirs));
    worst[1]?.push(await worstOf(ours));
    worst[2]?.push(await worstOf(idleTheirs, theirs));
    worst[3]?.push(await worstOf(idleOurs, ours));
  }
  const least = (side: number, call: string): number =>
    1e3 * Math.min(...worst[side]?.map((longest) => longest[call] ?? NaN) ?? []);
  const sides = [{ of: worstNames, at: 0, floor: 2 }, { of: idleNames, at: 2, floor: undefined }];
  for (const { of, at, floor } of sides) {
    for (const [index, call] of WORST.entries()) {
      const name = of[index] ?? "";
      const figures = { reverb: least(at, call), ours: least(at + 1, call) };
      if (isWanted(name)) show({ name, unit: "ms", floor, isCost: true, ...figures });
    }
  }
  await idleTheirs.stop();
  await idleOurs.stop();
}
await theirs.stop();
await ours.stop();
if (isWanted(MEMORY)) {
  const figures = {
    reverb: await memoryOf(() => startTheirs(python)),
    ours: await memoryOf(startOurs),
  };
  // At most 1,000 bytes where Reverb takes 5,738.
  show({ name: MEMORY, unit: "bytes", floor: 5.738, isCost: true, ...figures });
}
for (const one of clients) await one.stop();

const results: ReverbResults = {
  ...await origin("reverb", { "dm-reverb": "0.14.0", tensorflow: "2.15.1" }),
  rounds: ROUNDS,
  seconds: SECONDS,
  worstRounds: WORST_ROUNDS,
  worstSeconds: WORST_SECONDS,
  items: ITEMS,
  rows,
};
console.log(render(JSON.stringify(results)));
if (save) await saveResults(results);
