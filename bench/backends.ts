/**
 * The native kernel beside WebAssembly: time a call, in turn in one process, and resident memory of full replays, each in a process of its
 * own. Prints the tables of docs/internals/webassembly.md: `deno run -A bench/backends.ts`.
 *
 * @module
 */
import { ExperienceReplay, prioritized, uint8 } from "@exrp/replay";
import { calls, full, RECORDS, timed } from "./_backend_calls.ts";

const ROUNDS = 60;
const MIB = 2 ** 20;

async function times(): Promise<void> {
  const sides = [await full("native", RECORDS, 1024), await full("wasm", RECORDS, 1024)];
  const best = calls.map(() => sides.map(() => Infinity));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [row, call] of calls.entries()) {
      for (const [side, on] of sides.entries()) {
        const each = timed(call, on);
        const found = best[row];
        if (found !== undefined) found[side] = Math.min(found[side] ?? Infinity, each);
      }
    }
  }
  for (const [row, [name]] of calls.entries()) {
    const [native = 0, wasm = 0] = best[row] ?? [];
    console.log(
      `| ${name} | ${native.toFixed(2)} | ${wasm.toFixed(2)} | ${(wasm / native).toFixed(2)} |`,
    );
  }
}

/** Resident memory of this process without garbage, in MiB. */
function resident(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return Deno.memoryUsage().rss / MIB;
}

/** Fills a replay and prints what it took beyond the process that had a small one. */
async function memory(backend: "native" | "wasm", what: string): Promise<void> {
  (await full(backend, 1000, 1000)).replay[Symbol.dispose]();
  const before = resident();
  const held = what === "images" ? await images(backend) : await full(backend, Number(what), 100);
  console.log((resident() - before).toFixed(1));
  held.replay[Symbol.dispose]();
}

// deno-lint-ignore explicit-function-return-type -- as above
async function images(backend: "native" | "wasm") {
  const capacity = 2 ** 14;
  const replay = await ExperienceReplay.create({ capacity, state: uint8(84, 84), backend });
  const selector = replay.newPickSelector(prioritized());
  const state = new Uint8Array(84 * 84).fill(3);
  const episode = replay.newEpisode();
  for (let k = 0; k < capacity; k++) replay.record(episode, state, 1, 1);
  replay.getBatch(32, selector);
  return { replay };
}

async function memories(): Promise<void> {
  for (const what of [String(2 ** 17), String(2 ** 20), "images"]) {
    const sides: string[] = [];
    for (const backend of ["native", "wasm"]) {
      const { stdout } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--no-check",
          "--v8-flags=--expose-gc",
          new URL(import.meta.url).pathname,
          backend,
          what,
        ],
      }).output();
      sides.push(new TextDecoder().decode(stdout).trim());
    }
    console.log(`| ${what} | ${sides.join(" | ")} |`);
  }
}

const [backend, what] = Deno.args;
if ((backend === "native" || backend === "wasm") && what !== undefined) {
  await memory(backend, what);
} else {
  await times();
  await memories();
}
