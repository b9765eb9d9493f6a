/**
 * Lets our server run for half an hour under all kinds of clients, and says whether its memory stays flat: `deno task reverb:soak`.
 *
 * Reverb's own client of Python writes and samples by every writer and both datasets, as fast as it can, in processes that come and go. Each
 * half a minute prints a line. The first third is to warm up. Then the least memory of the second third is compared with that of the last one:
 * at most 5 % and 20 MB more is flat.
 *
 * @module
 */
import { readArguments } from "../../tools/_arguments.ts";
import { residentBytes, startClient, startOurs } from "./_contest.ts";
import { findReverbPython } from "./_python.ts";

const options = readArguments(
  Deno.args,
  { minutes: { type: "string" } },
  "deno task reverb:soak [--minutes=30]\n\nRuns our server under Reverb's clients, and fails where its memory grows.",
);
if (typeof options === "number") Deno.exit(options);
const minutes = Number(options.minutes ?? 30);
if (!(minutes > 0)) {
  console.error(`--minutes must be a number above 0, got ${options.minutes}`);
  Deno.exit(2);
}
const found = await findReverbPython();
if ("why" in found) {
  console.error(found.why);
  Deno.exit(1);
}
const { python } = found;

const server = await startOurs();
const end = Date.now() + minutes * 60_000;
const samples: { readonly at: number; readonly bytes: number }[] = [];
const counts = { items: 0, drawn: 0, rounds: 0, processes: 0 };
/** Seconds of one order. */
const SECONDS = Math.min(2, minutes);

/** Writes and samples by one process after another. */
async function live(orders: readonly Record<string, unknown>[]): Promise<void> {
  while (Date.now() < end) {
    const one = await startClient(python);
    counts.processes++;
    for (let round = 0; round < 10 && Date.now() < end; round++) {
      for (const order of orders) {
        const { rate = 0 } = await one.ask({ seconds: SECONDS, ...order, port: server.port });
        if (order["case"] === "sample" || order["case"] === "dataset") {
          counts.drawn += 256 * rate * SECONDS;
        } else if (String(order["case"]).includes("writer")) {
          counts.items += rate * SECONDS;
        }
      }
      counts.rounds++;
    }
    await one.stop();
  }
}

async function watch(): Promise<void> {
  const step = Math.min(30_000, minutes * 60_000 / 30);
  const begin = Date.now();
  console.log("minutes  resident MB  items written  items drawn  processes");
  let told = 0;
  while (Date.now() < end) {
    const at = (Date.now() - begin) / 60_000;
    const bytes = await residentBytes(server.pid);
    samples.push({ at, bytes });
    if (Date.now() - told >= step) {
      told = Date.now();
      const cells = [at.toFixed(1), (bytes / 1e6).toFixed(1), Math.round(counts.items)];
      console.log([...cells, Math.round(counts.drawn), counts.processes].join("\t"));
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(1000, step)));
  }
}

// Its first items are there before anybody samples.
const first = await startClient(python);
await first.ask({ case: "fill", port: server.port, count: 1000 });
await first.stop();
await Promise.all([
  live([{ case: "writer" }, { case: "trajectory_writer" }, { case: "insert" }]),
  live([{ case: "structured_writer" }, { case: "images_in", seconds: 0.2 }]),
  live([
    { case: "sample" },
    { case: "dataset", kind: "timestep" },
    { case: "dataset", kind: "trajectory" },
    { case: "mutate", keys: 256 },
  ]),
  watch(),
]);
await server.stop();

/** The least memory within a share of the run: above it is what waits for the collector. */
function least(from: number, to: number): number {
  const within = samples.filter(({ at }) => at >= from * minutes && at < to * minutes);
  return Math.min(...within.map(({ bytes }) => bytes));
}

const [before, after] = [least(1 / 3, 2 / 3), least(2 / 3, 1)];
const isFlat = after <= before * 1.05 + 20e6;
console.log(
  `least memory: ${(before / 1e6).toFixed(1)} MB in the second third, ${
    (after / 1e6).toFixed(1)
  } MB in the last one: ${isFlat ? "flat" : "it grows"}`,
);
Deno.exit(isFlat ? 0 : 1);
