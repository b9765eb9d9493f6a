/**
 * The side of bench/platforms.ts that measures, in Deno, Node or Bun. It prints the picks of one batch. For each line on its standard
 * input, it makes a round of the calls on WebAssembly, and answers with their mean times in µs.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { calls, full, RECORDS, timed } from "./_backend_calls.ts";

const on = await full("wasm", RECORDS, 1024);
console.log(on.replay.getBatch(32, on.ranked).pickPosition.join());
for await (const _ of createInterface({ input: process.stdin })) {
  const times = calls.map((call) => {
    const [name, count, run] = call;
    // The others have used the caches meanwhile.
    timed([name, count / 4, run], on);
    return timed(call, on);
  });
  console.log(JSON.stringify(times));
}
