/**
 * Our tables beside Reverb's server, driven by the same random calls: 700 sequences over all selectors, removers, rate limiters and times that
 * an item may be sampled. `EXRP_REVERB_SEED` sets the seed.
 */
import { assertMatch, assertRejects } from "../_assert.ts";
import { openKernel } from "../../ffi/library.ts";
import { KernelSubject } from "./_kernel_subject.ts";
import { startOurs } from "./_ours.ts";
import { besideReverb, plainTable, startReal } from "./_real.ts";
import {
  inParallel,
  rateLimiters,
  runSideBySide,
  tablesWith,
  WireSubject,
} from "./_side_by_side.ts";

const seed = Number(Deno.env.get("EXRP_REVERB_SEED") ?? 261123);
const kernel = await openKernel();

for (const rateLimiter of rateLimiters) {
  const name = Object.values(rateLimiter).join(" ");
  besideReverb(`our server does what Reverb's does, with ${name}, seed ${seed}`, async () => {
    // Each fifth table: the tables themselves are compared below.
    const tables = tablesWith(rateLimiter).filter((_, index) => index % 5 === seed % 5);
    await using real = await startReal(tables);
    await using server = await startOurs(tables);
    await inParallel(
      8,
      tables.map((table, index) => async (): Promise<void> => {
        const ours = new WireSubject(server.port, table.name);
        const theirs = new WireSubject(real.port, table.name);
        try {
          await runSideBySide(table, ours, theirs, seed + index);
        } finally {
          ours.close();
          theirs.close();
        }
      }),
    );
  });

  besideReverb(`tables do what Reverb's do, with ${name}, seed ${seed}`, async () => {
    const tables = tablesWith(rateLimiter);
    await using real = await startReal(tables);
    await inParallel(
      8,
      tables.map((table, index) => async (): Promise<void> => {
        const ours = new KernelSubject(kernel, table, seed);
        const theirs = new WireSubject(real.port, table.name);
        try {
          await runSideBySide(table, ours, theirs, seed + index);
        } finally {
          ours.close();
          theirs.close();
        }
      }),
    );
  });
}

besideReverb("a table that differs in its size, or in its rate limiter, is found out", async () => {
  const table = plainTable("t", { sampler: { kind: "fifo" }, max_size: 5 });
  await using real = await startReal([table]);
  for (
    const other of [
      { ...table, max_size: 6 },
      { ...table, rateLimiter: { kind: "min_size", min_size: 2 } } as const,
      { ...table, remover: { kind: "lifo" } } as const,
    ]
  ) {
    const ours = new KernelSubject(kernel, other, 1);
    const theirs = new WireSubject(real.port, table.name);
    await theirs.reset();
    const run = runSideBySide(table, ours, theirs, 7, { calls: 80, patienceMs: 1000 });
    const { message } = await assertRejects(() => run, Error);
    assertMatch(message, /strictly deep-equal|both count the same items/);
    ours.close();
    theirs.close();
  }
});
