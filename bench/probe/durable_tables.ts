/**
 * What durable tables cost, beside tables in memory that take the same calls in turns. Prints the table of docs/tables.md.
 *
 *     deno run --allow-all bench/probe/durable_tables.ts [folder]
 *
 * The folder decides which disk is measured.
 *
 * @module
 */

import { prioritized } from "@exrp/replay";
import { Tables } from "@exrp/replay/tables";

const folder = await Deno.makeTempDir(Deno.args[0] === undefined ? {} : { dir: Deno.args[0] });
const TURNS = 15;

/** The shortest of some turns of both, in ms. */
async function inTurns(
  durable: () => Promise<void>,
  memory: () => Promise<void>,
  settle: () => Promise<void>,
): Promise<[durable: number, memory: number]> {
  const best: [number, number] = [Infinity, Infinity];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [k, run] of [durable, memory].entries()) {
      // What the disk has to do for earlier turns is not measured.
      await settle();
      const start = performance.now();
      await run();
      best[k] = Math.min(best[k] ?? Infinity, performance.now() - start);
    }
  }
  return best;
}

console.log("| | durable | in memory | times as long |\n|---|---:|---:|---:|");
for (const [name, floats, count] of [["4 floats", 4, 2000], ["7,056 bytes", 1764, 1000]] as const) {
  const options = {
    tables: { replay: { sampler: prioritized(), maxSize: 20_000 } },
    seed: 1,
  };
  using durable = await Tables.open(`${folder}/${floats}`, options);
  using memory = await Tables.create(options);
  const state = new Float32Array(floats).map(() => Math.random());
  const insert = async (tables: Tables): Promise<void> => {
    const table = tables.table("replay");
    for (let k = 0; k < count; k++) {
      state[0] = k;
      await table.insert({ state }, { priority: k % 7 });
    }
  };
  const turn = async (tables: Tables): Promise<void> => {
    const table = tables.table("replay");
    for (let k = 0; k < 50; k++) {
      const { keys } = await table.getBatch(256);
      table.setPriority(keys, new Float64Array(256).fill(k % 9));
    }
  };
  const settle = (): Promise<void> => durable.flush();
  for (
    const [what, call, calls] of [
      [`an insert of ${name}`, insert, count],
      [`getBatch of 256 and setPriority, of ${name}`, turn, 50],
    ] as const
  ) {
    const times = await inTurns(() => call(durable), () => call(memory), settle);
    const [a, b] = times.map((ms) => ms * 1000 / calls) as [number, number];
    console.log(`| ${what} | ${a.toFixed(2)} µs | ${b.toFixed(2)} µs | ${(a / b).toFixed(2)} |`);
  }
  // A flush of a few items, beside a bare write and sync of as many bytes.
  using file = await Deno.open(`${folder}/bare-${floats}`, { write: true, create: true });
  const before = durable.durability?.writtenBytes ?? 0;
  const few = async (): Promise<void> => {
    for (let k = 0; k < 10; k++) await durable.table("replay").insert({ state });
    await durable.flush();
  };
  await few();
  const bytes = (durable.durability?.writtenBytes ?? 0) - before;
  const piece = new Uint8Array(bytes);
  const bare = async (): Promise<void> => {
    file.writeSync(piece);
    await file.syncData();
  };
  const [a, b] = await inTurns(few, bare, settle);
  console.log(
    `| a flush of 10 inserts of ${name}, beside a bare write and sync of ${bytes} bytes | ${
      (1000 * a).toFixed(0)
    } µs | ${(1000 * b).toFixed(0)} µs | ${(a / b).toFixed(2)} |`,
  );
}
await Deno.remove(folder, { recursive: true });
