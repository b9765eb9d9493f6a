/**
 * Workers that end in the middle of a call: whatever the call and however they end, the process lives on and no replay is left.
 *
 * `EXRP_WORKERS` says how many Workers, `EXRP_WORKERS_SEED` with which seed. They run in processes of their own, so that a crash is
 * seen as a status.
 */
import { assertEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";
import { native } from "../_native.ts";

const WORKERS = Number(Deno.env.get("EXRP_WORKERS") ?? 45);
const SEED = Number(Deno.env.get("EXRP_WORKERS_SEED") ?? 261123);

/** Ends Workers in another process. */
async function endWorkers(seed: number, count: number, atOnce: number): Promise<void> {
  const args = ["run", "--quiet", "--no-prompt", "--no-check", "--allow-all"];
  const numbers = [seed, count, atOnce].map(String);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args, inRepository("tests/ffi/_end_workers.ts"), ...numbers],
    stdout: "piped",
    stderr: "piped",
  }).output();
  const said = new TextDecoder().decode(stdout).trim();
  const expected = `${count} Workers ended`;
  assertEquals(
    [code, said],
    [0, expected],
    `seed ${seed}; again: EXRP_WORKERS_SEED=${SEED} EXRP_WORKERS=${WORKERS}\n${
      new TextDecoder().decode(stderr)
    }`,
  );
}

native.test(`${WORKERS} Workers end in the middle of a call (seed ${SEED}): no crash, and no replay is left`, async () => {
  // One at a time: the library would go with each. Then some at once.
  const alone = Math.ceil(WORKERS / 3);
  await endWorkers(SEED, alone, 1);
  await endWorkers(SEED + 1, WORKERS - alone, 4);
});

Deno.test("an uncaught error in the main program while batches are drawn ahead ends it with status 1", async () => {
  const code = `
import { ExperienceReplay, float32, uniform } from "@exrp/replay";
const replay = await ExperienceReplay.create({ capacity: 2000, state: float32(32) });
const steps = { state: new Float32Array(64000), action: new Int32Array(2000), reward: new Float32Array(2000) };
replay.recordMany(replay.newEpisode(), steps);
const stream = replay.batches(200_000, replay.newPickSelector(uniform()), { prefetch: 4 });
await stream.next();
stream.next();
throw new Error("planned");
`;
  for (let turn = 0; turn < 3; turn++) {
    const process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", "--no-check", "--ext=ts", "--allow-all", "-"],
      cwd: inRepository("."),
      stdin: "piped",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const writer = process.stdin.getWriter();
    await writer.write(new TextEncoder().encode(code));
    await writer.close();
    const { code: status, stderr } = await process.output();
    assertEquals(status, 1, new TextDecoder().decode(stderr));
  }
});
